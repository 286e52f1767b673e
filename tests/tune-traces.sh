#!/bin/sh
# By hand: import, submit and tune whole request logs on the host's families, and print the
# peak memory of each process and what was estimated.
# usage: top_srcdir=. top_builddir=BUILD tests/tune-traces.sh FOLDER [BUDGET [CALLS]]
#   FOLDER holds azure_*.csv and mooncake_*.jsonl; BUDGET: seconds for each site (default
#   20), CALLS: replayed for each (default 24)
set -eu
data=$1
budget=${2:-20}
calls=${3:-24}
deployment=${DEPLOYMENT:-$top_srcdir/deployments/host-families.yaml}
ctl=$top_builddir/detentctl/detentctl
tmp=$(mktemp -d)
mkdir -m 700 "$tmp/run" "$tmp/state"
# Its memory is read while it runs: a process that ends takes its high-water mark along.
"$top_builddir/detentd/detentd" --state-dir "$tmp/state" --runtime-dir "$tmp/run" \
    --backend-dir "$top_builddir/.libs" --profiler "$top_builddir/detent-profiler" 2> "$tmp/log" &
daemon=$!
trap 'kill $daemon; wait $daemon || true; rm -rf "$tmp"' EXIT
export DETENT_ENDPOINT="ipc://$tmp/run/detentd.sock"
export DETENT_PROGRAMS="${DETENT_PROGRAMS:-$top_srcdir/programs/detent}"
while [ ! -S "$tmp/run/detentd.sock" ]; do sleep 0.1; done
peak () { sed -n 's/^VmHWM:[[:space:]]*//p' "/proc/$1/status"; }
"$ctl" solve "$deployment" > "$tmp/out"
name=$(sed -n 's/^name: *//p' "$deployment")
for log in "$data"/azure_*.csv "$data"/mooncake_*.jsonl; do
    workload=$(basename "$log" | sed 's/\..*//; s/_/-/g')
    case $log in
        *.csv) format=azure-csv; cache=0 ;;
        *) format=mooncake-jsonl; cache=100000 ;;
    esac
    set -- trace import "$log" --format "$format" --deployment "$deployment" \
        --prefix-cache-blocks "$cache" -o "$tmp/t.dtrace" --json
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -f 'import: %M kB at most, %e s' "$ctl" "$@" > "$tmp/out"
    else
        "$ctl" "$@" > "$tmp/out"
    fi
    "$ctl" trace submit "$tmp/t.dtrace" --workload "$workload"
    "$ctl" tune --deployment "$name" --workload "$workload" --budget "$budget" --max-calls "$calls"
    echo "$workload: detentd $(peak $daemon) at most so far"
done
