#!/bin/sh
# By hand: import, submit and tune whole request logs on the host's families, and print the
# peak memory of each process and what was estimated.
# usage: top_srcdir=. top_builddir=BUILD tests/tune-traces.sh FOLDER [BUDGET [CALLS]]
#   FOLDER holds azure_*.csv and mooncake_*.jsonl; BUDGET: seconds for each site (default
#   20), CALLS: replayed for each (default 6: a long prompt's may take seconds on a busy
#   machine, and all finalists are timed on each of them three times at least)
set -eu
data=$1
budget=${2:-20}
calls=${3:-6}
deployment=${DEPLOYMENT:-$top_srcdir/deployments/host-families.yaml}
programs=${DETENT_PROGRAMS:-$top_srcdir/programs/detent}
. "$top_srcdir/tests/daemon.sh"
DETENT_PROGRAMS=$programs
daemon_start
# The high-water marks of the daemon, its workers and detentctl, read twice a second: the
# most of each by name, in kB.
watch ()
{
    while sleep 0.5; do
        { cat "$tmp/peaks"; cat /proc/[0-9]*/status 2> /dev/null; } | awk -v d="$daemon" -v me="$$" '
            NF == 2 && $1 ~ /^detent/ { if ($2 + 0 > most[$1] + 0) most[$1] = $2 + 0 }
            $1 == "Name:" { name = $2 } $1 == "Pid:" { pid = $2 } $1 == "PPid:" { parent = $2 }
            $1 == "VmHWM:" && (pid == d || parent == d || parent == me) && name ~ /^detent/ {
                if ($2 + 0 > most[name] + 0) most[name] = $2 + 0 }
            END { for (name in most) print name, most[name] }' > "$tmp/most"
        mv "$tmp/most" "$tmp/peaks"
    done
}
: > "$tmp/peaks"
watch &
others=$! # its memory is read while it runs: one that ends takes its mark along
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
    sed "s/^/$workload: at most so far, kB: /" "$tmp/peaks"
done
