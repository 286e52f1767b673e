#!/bin/sh
# A machine without a GPU, and the CUDA backend on it: a deployment is solved, and what
# needs the device says in one line that there is none.
set -eu
. "$top_srcdir/tests/daemon.sh"
fail () { echo "FAIL: $*"; cat "$tmp/out" "$tmp/err" "$tmp/log" 2>/dev/null; exit 1; }
[ -f "$top_builddir/.libs/detent-backend-cuda.so" ] || { echo 'SKIP: built without CUDA'; exit 77; }
[ ! -e /dev/nvidiactl ] || { echo 'SKIP: there is a GPU'; exit 77; }
deployment=$top_srcdir/deployments/qwen3-30b-a3b-tp2-h200.yaml
name=qwen3-30b-a3b-tp2-h200
DETENT_AUTHOR=tester
export DETENT_AUTHOR
said () # ARGUMENT...: ends with 10, and one line about the device
{
    got=0
    timeout 60 "$ctl" "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" -eq 10 ] || fail "detentctl $*: exit $got, not 10"
    [ "$(grep -c . "$tmp/err")" -eq 1 ] && grep -q 'cuda: no device' "$tmp/err" || fail "detentctl $*"
}
daemon_start
"$ctl" trace import "$top_srcdir/trace/samples/azure_conv_sample.csv" --format azure-csv \
    --deployment "$deployment" --requests 10 -o "$tmp/chat.dtrace" >"$tmp/out" 2>"$tmp/err" || fail import
"$ctl" trace submit "$tmp/chat.dtrace" --workload chat >"$tmp/out" 2>"$tmp/err" || fail submit
"$ctl" solve "$deployment" >"$tmp/out" 2>"$tmp/err" || fail solve
said certify "$name"
said tune --deployment "$name" --workload chat
! "$ctl" coverage "$name" >"$tmp/out" 2>"$tmp/err" || fail coverage
grep -q 'could not be judged here: .*no device' "$tmp/out" || fail 'coverage does not say why'
"$ctl" status >"$tmp/out" 2>"$tmp/err" || fail status
! grep -q '^held' "$tmp/out" || fail 'a device that is not there is held'
daemon_stop
echo 'no-device: certify and tune say so'
