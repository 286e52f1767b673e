#!/bin/sh
# A store on a full disk: what is committed is served, also by a detentd that starts there
# after a stop and after a kill; what would be written is refused, and goes on once there is
# room.  The disk is a small one of its own, where a mount may be made.
set -eu
if [ -z "${FULL_DISK-}" ]; then
    unshare -rm mount -t tmpfs none /mnt 2> /dev/null \
        || { echo 'no mount may be made here'; exit 77; }
    FULL_DISK=1 exec unshare -rm "$0"
fi
. "$top_srcdir/tests/daemon.sh"

mount -t tmpfs -o size=3m,mode=700 full "$tmp/state"
fill () { cat /dev/zero > "$tmp/state/fill" 2> /dev/null || true; }
for_chat='--deployment host-small --workload chat'
tune="tune $for_chat --max-calls 2 --no-tables"

daemon_start
import_sample 20
code 0 trace submit "$tmp/chat.dtrace" --workload chat
code 0 solve "$host"
code 0 $tune --budget 1
code 0 commit $for_chat -m first

# After a stop.
fill
daemon_stop
daemon_start
code 0 fetch $for_chat
code 10 commit $for_chat -m second
says 'no space left; nothing was changed'
rm "$tmp/state/fill"
code 0 commit $for_chat -m second

# After a kill, with a job under way.
code 0 $tune --budget 60 --exhaustive --anew --detach
until_jobs 'j[2]=="running"'
fill
daemon_kill
daemon_start
code 0 fetch $for_chat
code 0 jobs
grep -q 'shown as they were: store .*no space left' "$tmp/log" || fail 'the log says nothing of it'
rm "$tmp/state/fill"
daemon_stop
daemon_start
until_jobs 'j[2]=="failed" and job[2]["what"]=="detentd stopped while it ran"'
code 0 log --json
json 'assert len(o["commits"]) == 2'
daemon_stop
umount "$tmp/state"
echo "$checks checks"
