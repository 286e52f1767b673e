#!/bin/sh
# A short session whose daemon runs under valgrind: submit, solve, tune, commit, fetch,
# some refusals, stop.  No invalid access, no use of what was not set, no leak.
set -eu
command -v valgrind >/dev/null || { echo "valgrind is not there"; exit 77; }
[ -z "${SANITIZERS-}" ] || { echo "a sanitized build does not run under valgrind"; exit 77; }
. "$top_srcdir/tests/daemon.sh"
for_both='--deployment host-small --workload chat'

asked () # CODE ARGUMENT...: with patience
{
    want=$1
    shift
    code "$want" --timeout 250 "$@"
}

daemon_start "$top_builddir/libtool" --mode=execute valgrind --quiet --error-exitcode=99 \
    --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect

import_sample 30
asked 0 trace submit "$tmp/chat.dtrace" --workload chat
asked 0 solve "$host"
asked 0 solve "$host"
asked 0 pins host-small
asked 0 tune $for_both --budget 10 --max-calls 2
asked 0 tune $for_both --budget 60 --exhaustive --detach
asked 0 cancel 2
asked 0 commit $for_both -m 'first tuple'
asked 0 commit $for_both -m 'second'
asked 0 log
asked 0 jobs
asked 0 show $for_both
asked 0 fetch $for_both -o "$tmp/bundle"
asked 0 status
head -c 1000 "$tmp/chat.dtrace" > "$tmp/cut.dtrace"
asked 2 trace submit "$tmp/cut.dtrace" --workload chat
asked 4 fetch --deployment nowhere --workload chat
mkdir "$tmp/bad"
sed 's/^name: .*/name: bad/' "$host" > "$tmp/bad/bad.yaml"
sed 's/block_n = 128/block_n = nothing/' "$DETENT_PROGRAMS/attention.py" > "$tmp/bad/attention.py"
asked 2 solve "$tmp/bad/bad.yaml"

daemon_stop
! grep -q '^==' "$tmp/log" || fail "valgrind has something to say"
