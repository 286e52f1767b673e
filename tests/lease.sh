#!/bin/sh
# With two real detentds: a device is measured on by one job at a time, across
# daemons too.  The second's tune is held while the first's runs, and goes on once the
# first is killed, with its worker; in one daemon the second job is queued.  Meanwhile the
# second measures on another device.
set -eu
. "$top_srcdir/tests/daemon.sh"
chat='--deployment host-small --workload chat'

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
import_sample 20
prepare
code 0 tune $chat --budget 600 --exhaustive --detach
code 0 tune $chat --detach
until_jobs 'j[1]=="running" and job[1]["measurements"]>0 and j[2]=="queued"'

daemon_at 2
others=$daemon backends=$tmp/quick
daemon_start
prepare
code 0 tune $chat --budget 5 --detach
until_jobs 'j[1]=="held" and "device host: another detentd measures on it" in job[1]["what"]'
# The other device is free, also of this one's job that waits.
code 0 tune $chat --budget 5 --device 1 --json
json 'assert (o["job"]["device"], o["job"]["backend"]) == (1, "host")'
until_jobs 'j[1]=="held" and j[2]=="done"'
code 0 coverage host-small --json
json 'assert o["unknown"] is None, o["unknown"]'
daemon_at
until_jobs 'j[1]=="running"'

# Nothing of the first is asked to end; its worker ends with its socket.
daemon_kill "$others"
others=
daemon_at 2
until_jobs 'j[1]=="done"'
# Of another device of the same model, so its times serve here too.
json 'job, = (x for x in o["jobs"] if x["job"] == 1); site, = job["sites"]
assert job["device"] == 0 and site["recalled"] > 0, job'
daemon_stop
# What ran when the first was killed has failed, and where.
daemon_at
daemon_start
until_jobs 'j[1]=="failed" and job[1]["device"]==0 and "stopped while it ran" in job[1]["what"]'
daemon_stop
# Each leaves its lock free for the next, and the file for all.
ls "$locks"/detent-host.lock > /dev/null || fail 'no lock'
flock -n "$locks/detent-host.lock" true || fail 'a lock is left'
flock -n "$locks/detent-host-1.lock" true || fail 'a lock is left, or there was none'
echo "lease: $checks checks"
