#!/bin/sh
# usage: kill-rounds.sh [ROUNDS]: kill detentd at so many random moments (default 50), while
# commits, submits of traces and tunes go on.  Run by hand from the build's top folder,
# after `make check` has built the programs; $top_srcdir: the sources (default: .).
set -eu
top_builddir=${top_builddir:-$(pwd)}
top_srcdir=${top_srcdir:-.}
export top_builddir top_srcdir
rounds=${1:-50}
CK_RUN_CASE=kill DETENT_KILL_ROUNDS=$rounds "$top_builddir/tests/test_kill"

. "$top_srcdir/tests/daemon.sh"
# SIGKILL within about 0.3 s
kill_soon ()
{
    (sleep "0.$(awk -v r="$round$1" 'BEGIN { srand (r); printf "%03d", rand () * 300 }')"
     kill -9 "$daemon") &
    killer=$!
}
ended ()
{
    wait "$killer" || true
    wait "$daemon" 2>/dev/null || true
}

: > "$tmp/acknowledged"
round=0
daemon_start
"$ctl" solve "$host" > /dev/null
serial=1
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))

    # submits: each that was acknowledged is there
    kill_soon submit
    while "$ctl" trace import "$top_srcdir/trace/samples/azure_conv_sample.csv" --format azure-csv \
              --deployment "$host" --requests $((2 + serial % 250)) -o "$tmp/t.dtrace" > /dev/null
          "$ctl" --timeout 2 trace submit "$tmp/t.dtrace" --workload "w$serial" > /dev/null 2>&1; do
        echo "w$serial" >> "$tmp/acknowledged"
        serial=$((serial + 1))
    done
    ended
    daemon_start
    "$ctl" trace list --json > "$tmp/list"
    while read -r workload; do
        grep -q "\"$workload\"" "$tmp/list" || fail "round $round: the trace of $workload is lost"
    done < "$tmp/acknowledged"

    # tunes: the job that was cut short has failed, what it measured is counted, and the
    # next one runs
    [ -s "$tmp/acknowledged" ] || continue
    workload=$(head -n 1 "$tmp/acknowledged")
    kill_soon tune
    "$ctl" --timeout 2 tune --deployment host-small --workload "$workload" --budget 2 \
        --max-calls 4 > /dev/null 2>&1 || true
    ended
    daemon_start
    "$ctl" jobs --json > "$tmp/jobs"
    ! grep -q '"running"\|"queued"' "$tmp/jobs" || fail "round $round: a job of a dead daemon still runs"
done
"$ctl" tune --deployment host-small --workload "$(head -n 1 "$tmp/acknowledged")" --budget 2 \
    --max-calls 4 > /dev/null || fail 'no tune runs any more'
echo "kill-rounds: $rounds rounds, $(wc -l < "$tmp/acknowledged") traces acknowledged"
