#!/bin/sh
# A short session whose daemon runs under valgrind: submit, solve, tune, commit, fetch,
# some refusals, stop.  No invalid access, no use of what was not set, no leak.
set -eu
command -v valgrind >/dev/null || { echo "valgrind is not there"; exit 77; }
[ -z "${SANITIZERS-}" ] || { echo "a sanitized build does not run under valgrind"; exit 77; }
ctl=$top_builddir/detentctl/detentctl
libtool=$top_builddir/libtool
tmp=$(mktemp -d "${TMPDIR:-/tmp}/dt.XXXXXX")
daemon=
finish ()
{
    status=$?
    if [ -n "$daemon" ]; then
        kill "$daemon" 2>/dev/null || true
        wait "$daemon" 2>/dev/null || true
    fi
    rm -rf "$tmp"
    exit "$status"
}
trap finish EXIT
mkdir -m 700 "$tmp/state" "$tmp/run"
DETENT_ENDPOINT=ipc://$tmp/run/detentd.sock
DETENT_PROGRAMS=$top_srcdir/programs/detent
DETENT_AUTHOR=tester
export DETENT_ENDPOINT DETENT_PROGRAMS DETENT_AUTHOR
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

"$libtool" --mode=execute valgrind --quiet --error-exitcode=99 --leak-check=full \
    --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect \
    "$top_builddir/detentd/detentd" --state-dir "$tmp/state" --runtime-dir "$tmp/run" \
    --backend-dir "$top_builddir/.libs" --profiler "$top_builddir/detent-profiler" \
    --foreground >"$tmp/log" 2>&1 &
daemon=$!
tries=0
until "$ctl" --timeout 5 status >/dev/null 2>&1; do
    tries=$((tries + 1))
    kill -0 "$daemon" 2>/dev/null && [ "$tries" -lt 300 ] || fail "detentd does not start"
    sleep 0.2
done

code 0 trace import "$top_srcdir/trace/samples/azure_conv_sample.csv" --format azure-csv \
    --deployment "$host" --requests 30 -o "$tmp/chat.dtrace"
code 0 trace submit "$tmp/chat.dtrace" --workload chat
code 0 solve "$host"
code 0 solve "$host"
code 0 pins host-small
code 0 tune $for_both --budget 1 --max-calls 2
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

kill "$daemon"
got=0
wait "$daemon" || got=$?
daemon=
[ "$got" -eq 0 ] || fail "detentd under valgrind: exit $got"
! grep -q '^==' "$tmp/log" || fail "valgrind has something to say"
