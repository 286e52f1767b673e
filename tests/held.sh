#!/bin/sh
# With real processes: a device is lost in the third of ten tunes, and when it
# is opened.  That tune fails with the code's name, the others wait for the device through
# two restarts, another device's tune and fetches work, and all go on once it answers.
# Then, what the device was like is kept with the measurements.  The kernels are
# tests/backend-faulty.c's, which does as a file beside it says.
set -eu
. "$top_srcdir/tests/daemon.sh"
chat='--workload chat'

tune () # CODE DEPLOYMENT OPTION...
{
    want_tune=$1 of=$2
    shift 2
    code "$want_tune" tune --deployment "$of" $chat --budget 5 --anew "$@"
}
detached () { tune 0 host-small --detach; }

backends=$tmp/backends
mkdir "$backends"
ln -s "$top_builddir/.libs/backend-told.so" "$backends/detent-backend-host.so"
ln -s "$top_builddir/.libs/backend-steady.so" "$backends/detent-backend-other.so"
ln -s "$top_builddir/.libs/detent-backend-host.so" "$backends/host.so"
sed 's/^name: .*/name: other/; s/^backend: .*/backend: other/' "$host" > "$tmp/other.yaml"
cp "$top_srcdir/programs/detent/attention.py" "$tmp"
fault () { echo "$*" > "$backends/fault"; }
fault1 () { echo "$*" > "$backends/fault1"; }
well () { rm -f "$backends/fault" "$backends/lost" "$backends/fault1" "$backends/lost1"; }

daemon_start
import_sample 20
code 0 trace submit "$tmp/chat.dtrace" $chat
code 0 solve "$host"
code 0 solve "$tmp/other.yaml"

# --- two are done, the third loses the device, seven wait
tune 0 host-small
code 0 commit --deployment host-small $chat -m good
code 0 fetch --deployment host-small $chat --json
good=$(json 'print(o)')
tune 0 host-small
fault lost 3 cudaErrorECCUncorrectable
for i in 3 4 5 6 7 8 9 10; do detached; done
until_jobs 'j[3]=="failed" and all(j[i]=="held" for i in range(4, 11))'
code 0 jobs
has ' 4 .*held .*device host:0: .*cudaErrorECCUncorrectable'
code 10 attach 3
says 'job 3 failed: .*cudaErrorECCUncorrectable'
code 0 status --json
json 'h, = o["status"]["held"]; assert h["device"] == "host:0", h
assert "cudaErrorECCUncorrectable" in h["why"], h'
code 0 status
has '^held  *host:0 since .*cudaErrorECCUncorrectable'
code 0 fetch --deployment host-small $chat --json
[ "$(json 'print(o)')" = "$good" ] || fail 'another tuple is served'
tune 0 other --max-calls 2

# --- the other device of the same backend works, whoever waits for the first
tune 0 host-small --device 1 --json
json 'j = o["job"]; assert (j["state"], j["device"], j["devices"], j["backend"], j["device_model"]) \
    == ("done", 1, 1, "host", "test"), j'
code 0 attach 12
has '^  on device host:1, test$'
code 1 certify host-small --device 1 --json # nothing is seen of an exchange there
json 'j = o["job"]; assert (j["state"], j["device"], j["backend"]) == ("done", 1, "host"), j'
code 0 jobs
has '^ *13  *certify .* 1  *host-small'
has '^ *4  *tune .*held .* 0  *host-small'
until_jobs 'all(j[i]=="held" for i in range(4, 11))'

# --- both are lost, each for its own jobs
fault1 lost 3 cudaErrorLaunchFailure
tune 10 host-small --device 1
says 'cudaErrorLaunchFailure'
tune 0 host-small --device 1 --detach
until_jobs 'j[15]=="held" and "device host:1: " in job[15]["what"] and job[15]["device"]==1'
code 0 status --json
json 'h = o["status"]["held"]; assert [x["device"] for x in h] == ["host:0", "host:1"], h'

# --- they wait through a restart in order, and through another
daemon_stop
daemon_start
until_jobs 'all(j[i]=="held" for i in range(4, 11))'
daemon_kill
daemon_start
until_jobs 'all(j[i]=="held" for i in range(4, 11)) and j[3]=="failed" and j[15]=="held"'
code 0 status --json
json 'h = o["status"]["held"]; assert [x["device"] for x in h] == ["host:0", "host:1"], h'
# That of the second goes on, there, once it answers; those of the first wait.
rm -f "$backends/fault1" "$backends/lost1"
until_jobs 'j[15]=="done" and (job[15]["device"], job[15]["devices"])==(1, 1) and j[4]=="held"'
code 0 cancel 10
until_jobs 'j[10]=="cancelled" and j[9]=="held"'

# --- who computes is asked without a context, so what is lost or measured on is no matter
code 0 coverage host-small --json
json 'assert o["unknown"] is None, o["unknown"]'

# --- its trial disturbs nobody: not who holds the lease, nor another process that works on it
last_trial () # TEXT
{
    code 0 status --json
    "$PYTHON3" -c 'import json,sys; h, = json.load(open(sys.argv[1]))["status"]["held"]
sys.exit(sys.argv[2] not in str(h["tried"]))' "$tmp/out" "$1"
}
exec 8< "$tmp/run/detent-host.lock"
flock 8
well
soon last_trial 'device host: another detentd measures on it'
code 0 coverage host-small --json
json 'assert o["unknown"] is None, o["unknown"]'
fault busy process 7 computes on device 0
exec 8<&-
soon last_trial 'process 7 computes'
code 0 status
has '^held  *host:0 since .*cudaErrorECCUncorrectable; its last trial: .*process 7 computes'
until_jobs 'all(j[i]=="held" for i in range(4, 10))'

# --- the device answers: all go on by themselves, in their order
well
until_jobs 'all(j[i]=="done" for i in range(4, 10))'
code 0 status --json
json 'assert o["status"]["held"] == []'

# --- it cannot be opened
fault gone cudaErrorDevicesUnavailable
tune 10 host-small
says 'cudaErrorDevicesUnavailable'
detached
until_jobs 'j[17]=="held"'
code 4 jobs release host:1
says 'device host:1 is not held'
# Released too early: that job fails, and the device is held again.
code 0 jobs release host:0
has '^released  *host:0'
until_jobs 'j[17]=="failed"'
detached
until_jobs 'j[18]=="held"'
well
code 0 jobs release --json
until_jobs 'j[18]=="done"'

# --- who follows a job is told that it is held, and gets its end
fault gone cudaErrorUnknown
tune 10 host-small
"$ctl" tune --deployment host-small $chat --budget 5 > "$tmp/followed" 2> "$tmp/told" &
others=$!
until_jobs 'j.get(20)=="held"'
well
wait "$others" || fail 'the tune that was held'
grep -q 'job 20 is held: device host:0: .*cudaErrorUnknown' "$tmp/told" || { cat "$tmp/told"; fail "nobody was told"; }

# --- the device's clocks and reasons stay with what they explain
fault state 1980 2619 4 0
tune 0 host-small --json
json 'j=o["job"]; assert (j["clock_mhz"], j["clock_mhz_least"], j["memory_mhz"], j["clock_reasons"],
    j["contended"]) == (1980, 1980, 2619, 4, 0), j'
code 0 jobs --json
json 'assert o["jobs"][0]["clock_mhz"] == 1980'
code 0 attach 21
has 'clock 1980 MHz (least 1980), memory 2619 MHz (least 2619), event reasons 0x4'
"$PYTHON3" - "$tmp/state/detent.db" <<'END' || fail 'measurements without a state'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
rows = db.execute("SELECT DISTINCT clock_mhz, memory_mhz, reasons FROM measurement WHERE job = 21").fetchall()
assert rows == [(1980, 2619, 4)], rows
rows = db.execute("SELECT DISTINCT clock_mhz, memory_mhz, reasons FROM measurement WHERE job = 1").fetchall()
assert rows == [(None, None, None)], rows
# What is timed for tables is kept too, and no later tune takes it for its own.
rows = db.execute("SELECT DISTINCT free, plan IS NULL FROM measurement WHERE job = 11").fetchall()
assert (None, 0) in rows and any(f and "=" in f for f, _ in rows), rows
assert all(none == (f is not None) for f, none in rows), rows
END

# --- beside another process, only when told to, and marked
fault other 3 another process
tune 10 host-small
fault state 1980 2619 0 2
tune 0 host-small --shared --json
json 'assert o["job"]["contended"] == 2'
# Not known is not nobody.
fault state 1980 2619 0
tune 0 host-small --shared --json
json 'assert o["job"]["contended"] is None'
tune 0 host-small --shared
has 'contended: not known'
# Nor without clocks, nor of a certification.
fault state 0 0 0
tune 0 host-small --shared
has 'contended: not known'
code 1 certify host-small --shared
has 'contended: not known'
# A job that takes others has its device tried beside them.
fault1 gone cudaErrorUnknown
tune 10 host-small --device 1
tune 0 host-small --device 1 --shared --detach
until_jobs 'j[29]=="held"'
fault1 busy process 7 computes on device 1
until_jobs 'j[29]=="done"'
# A device that is there no more: its job is not left waiting, and says why it fails.
fault1 gone cudaErrorUnknown
tune 10 host-small --device 1
tune 0 host-small --device 1 --detach
until_jobs 'j[31]=="held"'
rm "$backends/detent-backend-host.so"
until_jobs 'j[31]=="failed" and "detent-backend-host.so" in job[31]["what"]'
code 0 status --json
json 'assert o["status"]["held"] == []'
daemon_stop
echo "held: $checks checks"
