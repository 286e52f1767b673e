#!/bin/sh
# A machine without a GPU, and the CUDA backend on it: a deployment is solved, and what
# needs the device says in one line that there is none.
set -eu
. "$top_srcdir/tests/daemon.sh"
[ -f "$top_builddir/.libs/detent-backend-cuda.so" ] || { echo 'SKIP: built without CUDA'; exit 77; }
[ ! -e /dev/nvidiactl ] || { echo 'SKIP: there is a GPU'; exit 77; }
host=$top_srcdir/deployments/qwen3-30b-a3b-tp2-h200.yaml
name=qwen3-30b-a3b-tp2-h200
said () # ARGUMENT...: ends with 10, and one line about the device
{
    code 10 "$@"
    one_line
    says 'cuda: no device'
}
daemon_start
import_sample 10
code 0 trace submit "$tmp/chat.dtrace" --workload chat
code 0 solve "$host"
said certify "$name"
code 4 certify "$name" --site nowhere
says "has no site \*/nowhere"
said tune --deployment "$name" --workload chat
code 1 coverage "$name"
has 'could not be judged here: .*no device'
code 0 status
! grep -q '^held' "$tmp/out" || fail 'a device that is not there is held'
daemon_stop
exits 1 "$top_builddir/detent-gemm-scan"
one_line
says 'no device'
echo 'no-device: certify and tune say so'
