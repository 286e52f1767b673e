#!/bin/sh
# Bug log B29 with two real detentds: a device is measured on by one job at a time, across
# daemons too.  The second's tune is held while the first's runs, and goes on once the
# first is killed, with its worker; in one daemon the second job is queued.
set -eu
. "$top_srcdir/tests/daemon.sh"
host=$top_srcdir/deployments/host-small.yaml
chat='--deployment host-small --workload chat'
checks=0

fail ()
{
    echo "FAIL: $*"
    for f in out err log log2; do
        [ -f "$tmp/$f" ] && { echo "--- $f"; tail -40 "$tmp/$f"; }
    done
    exit 1
}
code () # CODE ARGUMENT...
{
    want=$1
    shift
    got=0
    timeout 120 "$ctl" "$@" >"$tmp/out" 2>"$tmp/err" || got=$?
    [ "$got" -eq "$want" ] || fail "detentctl $*: exit $got, not $want"
    checks=$((checks + 1))
}
until_jobs () # PYTHON over j, the jobs by number
{
    tries=0
    until code 0 jobs --json && "$PYTHON3" -c 'import json,sys
j={x["job"]: x for x in json.load(open(sys.argv[1]))["jobs"]}; sys.exit(not ('"$1"'))' "$tmp/out"
    do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "jobs never: $1"
        sleep 0.2
    done
    checks=$((checks + 1))
}
at () { DETENT_ENDPOINT=ipc://$tmp/$1/detentd.sock; } # the daemon that is asked from now on
prepare ()
{
    code 0 trace submit "$tmp/chat.dtrace" --workload chat
    code 0 solve "$host"
}
mkdir "$tmp/locks" "$tmp/backends"
backends=$tmp/backends locks=$tmp/locks
# The first measures for long: its backend dawdles.  The second's is quick.
ln -s "$top_builddir/.libs/backend-told.so" "$tmp/backends/detent-backend-host.so"
echo noise > "$tmp/backends/fault"
mkdir "$tmp/quick" && ln -s "$top_builddir/.libs/backend-told.so" "$tmp/quick/detent-backend-host.so"
daemon_start
code 0 trace import "$top_srcdir/trace/samples/azure_conv_sample.csv" --format azure-csv \
    --deployment "$host" --requests 20 -o "$tmp/chat.dtrace"
prepare
code 0 tune $chat --budget 600 --exhaustive --detach
code 0 tune $chat --detach
until_jobs 'j[1]["state"]=="running" and j[1]["measurements"]>0 and j[2]["state"]=="queued"'

mkdir -m 700 "$tmp/state2" "$tmp/run2"
"$top_builddir/detentd/detentd" --state-dir "$tmp/state2" --runtime-dir "$tmp/run2" \
    --lock-dir "$locks" --backend-dir "$tmp/quick" --profiler "$top_builddir/detent-profiler" \
    --foreground >> "$tmp/log2" 2>&1 &
others=$!
at run2
tries=0
until "$ctl" --timeout 5 status > /dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || fail 'the second detentd does not start'
    sleep 0.1
done
prepare
code 0 tune $chat --budget 5 --detach
until_jobs 'j[1]["state"]=="held" and "device host: another detentd measures on it" in j[1]["what"]'
at run
until_jobs 'j[1]["state"]=="running"'

# Nothing of the first is asked to end; its worker ends with its socket.
kill -9 "$daemon"
wait "$daemon" || true
daemon=
at run2
until_jobs 'j[1]["state"]=="done"'
kill "$others"
wait "$others" || fail 'the second detentd did not end well'
others=
# Each leaves its lock free for the next, and the file for all.
ls "$locks"/detent-host.lock > /dev/null || fail 'no lock'
flock -n "$locks/detent-host.lock" true || fail 'a lock is left'
echo "lease: $checks checks"
