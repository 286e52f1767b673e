#!/bin/sh
# A short session whose daemon runs under valgrind: submit, solve, tune, commit, fetch,
# some refusals, stop.  No invalid access, no use of what was not set, no leak.
set -eu
command -v valgrind >/dev/null || { echo "valgrind is not there"; exit 77; }
[ -z "${SANITIZERS-}" ] || { echo "a sanitized build does not run under valgrind"; exit 77; }
. "$top_srcdir/tests/daemon.sh"
export DETENT_AUTHOR=tester
host=$top_srcdir/deployments/host-small.yaml
for_both='--deployment host-small --workload chat'

fail ()
{
    echo "FAIL: $*"
    cat "$tmp/out" "$tmp/err" "$tmp/log" 2>/dev/null || true
    exit 1
}
code () # CODE ARGUMENT...
{
    want=$1
    shift
    got=0
    timeout 280 "$ctl" --timeout 250 "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" -eq "$want" ] || fail "detentctl $*: exit $got, not $want"
}

daemon_start "$top_builddir/libtool" --mode=execute valgrind --quiet --error-exitcode=99 \
    --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect

code 0 trace import "$top_srcdir/trace/samples/azure_conv_sample.csv" --format azure-csv \
    --deployment "$host" --requests 30 -o "$tmp/chat.dtrace"
code 0 trace submit "$tmp/chat.dtrace" --workload chat
code 0 solve "$host"
code 0 solve "$host"
code 0 pins host-small
code 0 tune $for_both --budget 10 --max-calls 2
code 0 tune $for_both --budget 60 --exhaustive --detach
code 0 cancel 2
code 0 commit $for_both -m 'first tuple'
code 0 commit $for_both -m 'second'
code 0 log
code 0 jobs
code 0 show $for_both
code 0 fetch $for_both -o "$tmp/bundle"
code 0 status
head -c 1000 "$tmp/chat.dtrace" > "$tmp/cut.dtrace"
code 2 trace submit "$tmp/cut.dtrace" --workload chat
code 4 fetch --deployment nowhere --workload chat
mkdir "$tmp/bad"
sed 's/^name: .*/name: bad/' "$host" > "$tmp/bad/bad.yaml"
sed 's/block_n = 128/block_n = nothing/' "$DETENT_PROGRAMS/attention.py" > "$tmp/bad/attention.py"
code 2 solve "$tmp/bad/bad.yaml"

daemon_stop
! grep -q '^==' "$tmp/log" || fail "valgrind has something to say"
