#!/bin/sh
# What an unlucky or hostile user does to jobs, with a real detentd: locks of devices that
# are no files, values that are forced where nothing is, and more jobs at once than there
# are places.
set -eu
. "$top_srcdir/tests/daemon.sh"
chat='--deployment host-small --workload chat'

refused () # CODE TEXT ARGUMENT...: one line, with the text
{
    want=$1 text=$2
    shift 2
    code "$want" "$@"
    one_line
    says "$text"
}

backends=$tmp/backends locks=$tmp/locks
mkdir "$backends" "$locks"
ln -s "$top_builddir/.libs/backend-told.so" "$backends/detent-backend-host.so"
daemon_start
import_sample 20
code 0 trace submit "$tmp/chat.dtrace" --workload chat
code 0 solve "$host"

# --- who releases is told that there is nothing to release
code 0 jobs release
has '^No device is held.$'

# --- the lock is no file: the job fails at once, and the next one has its turn
lock=$locks/detent-host.lock
mkfifo "$lock"
refused 10 'lock .*: not a file; see --lock-dir' tune $chat --max-calls 2
rm "$lock"
ln -s /dev/null "$lock"
refused 10 'lock .*: not a file' tune $chat --max-calls 2
rm "$lock"
mkdir "$lock"
refused 10 'lock .*: not a file' tune $chat --max-calls 2
rmdir "$lock" "$locks"
refused 10 'lock .*: No such file or directory; see --lock-dir' tune $chat --max-calls 2
mkdir "$locks"
code 0 tune $chat --max-calls 2

# --- a value that would be forced on nothing is refused, not left out
refused 4 "nowhere:block_n is forced, and deployment 'host-small' has no such site" \
    tune $chat --force nowhere:block_n=64
refused 4 'no such site' certify host-small --assignment nowhere:block_n=64
refused 4 'has no site gemm/' \
    certify host-small --family gemm --assignment decoder:block_n=64
refused 2 'is not SITE:NAME=VALUE' tune $chat --force ''
refused 2 'is not SITE:NAME=VALUE' certify host-small --assignment ,
refused 2 "name is not UTF-8" tune $chat --force "decoder:$(printf 'a\377')=64"
refused 2 "value has a control character" tune $chat --force "decoder:block_n=$(printf '6\n4')"
refused 2 "name has 300 bytes" tune $chat --force "decoder:$(printf '%0300d' 0)=64"

# --- a device that is not there is one line, and holds nothing
refused 10 'no device 2; there are 2' tune $chat --device 2
refused 10 'no device 1023; there are 2' certify host-small --device 1023
code 0 status --json
json 'assert o["status"]["held"] == []'

# --- nor is what goes with another use of certify
zeros=000000000000
refused 2 'one of --list, --show and --revoke' certify --list --revoke $zeros --why x
refused 2 "unexpected argument 'host-small'" certify host-small --revoke $zeros --why x
refused 2 'seed does not go with' certify host-small --list --seed 2

# --- more at once than there are places, for a device that is lost: those that were taken
# have a number, wait through a restart, and can be cancelled
echo 'gone cudaErrorUnknown' > "$backends/fault"
code 10 tune $chat
"$PYTHON3" - "$tmp/state/detent.db" > "$tmp/ended" <<'END'
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT max (id) FROM job").fetchone()[0])
END
ended=$(cat "$tmp/ended") clients=
for i in $(seq 80); do
    "$ctl" tune $chat --detach > "$tmp/client.$i" 2>&1 &
    clients="$clients $!"
done
for pid in $clients; do
    wait "$pid" || true
done
taken=$(cat "$tmp"/client.* | grep -c ': tune of host-small')
[ "$taken" -le 32 ] || fail "$taken jobs have a place"
[ "$(cat "$tmp"/client.* | grep -c 'at most 32 may')" -eq $((80 - taken)) ] || fail "$(cat "$tmp"/client.*)"
until_jobs 'list(j.values()).count("held") == '"$taken"
daemon_kill
daemon_start
code 0 jobs --limit 0
[ "$(wc -l < "$tmp/out")" -eq $((taken + 1)) ] || fail 'not all that wait are listed, or others are'
refused 2 'at most 1000 jobs' jobs --limit 1001
for i in $(seq $((ended + 1)) $((ended + taken))); do
    code 0 cancel "$i"
done
until_jobs 'list(j.values()).count("cancelled") == '"$taken"

# --- the deployment moves to another backend while a job is held: that one is held then
code 0 tune $chat --detach
until_jobs '"held" in j.values()'
ln -s "$top_builddir/.libs/backend-told.so" "$backends/detent-backend-other.so"
cp "$top_srcdir/programs/detent/attention.py" "$tmp"
sed 's/^backend: .*/backend: other/' "$host" > "$tmp/other.yaml"
code 0 solve "$tmp/other.yaml"
code 0 jobs release
until_jobs '"held" not in j.values()'
code 0 status --json
has '"device": "other:0"'
code 0 solve "$host"
daemon_stop

# --- a stop leaves all in one file
[ ! -s "$tmp/state/detent.db-wal" ] || fail 'a stop leaves what was written out of the database'

# --- the clock is set back: the newest is still what came last
rm "$backends/fault"
"$PYTHON3" - "$tmp/state/detent.db" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("UPDATE trace SET time_ns = time_ns + 3600000000000")
db.execute("UPDATE job SET ended_ns = ended_ns + 3600000000000")
db.commit()
END
daemon_start
code 0 jobs release
import_sample 30
code 0 trace submit "$tmp/chat.dtrace" --workload chat --json
newer=$(json 'print(o["trace"]["digest"])')
code 0 trace list
sed -n 2p "$tmp/out" | grep -q "^$(echo "$newer" | cut -c1-12)" || fail "the newest trace is not $newer"
code 0 tune $chat --force decoder:block_n=32
tuple=$(sed -n 's/^tuple //p' "$tmp/out")
"$PYTHON3" - "$tmp/state/detent.db" "$newer" <<'END' || fail 'another trace was replayed'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
trace, = db.execute("SELECT hex (trace) FROM measurement ORDER BY id DESC LIMIT 1").fetchone()
sys.exit(trace.lower() != sys.argv[2])
END
code 0 commit $chat -m 'what was tuned last'
code 0 show $chat --json
has "\"tuple\": \"$tuple\""
daemon_stop

# --- a file that reaches its limit is a full disk: the job fails, detentd serves on
blocks=$(($(wc -c < "$tmp/state/detent.db") / 512 + 400))
daemon_start sh -c "ulimit -f $blocks"' && exec "$@"' sh
got=0
for i in $(seq 50); do
    "$ctl" tune $chat --anew > "$tmp/out" 2> "$tmp/err" || got=$?
    [ "$got" -eq 0 ] || break
done
[ "$got" -eq 10 ] || fail "tunes end with $got, not 10"
says 'store .*/detent.db: '
code 0 status
daemon_stop
daemon_start
code 0 tune $chat --anew
got=0
(ulimit -f 1 && exec "$ctl" trace import "$top_srcdir/trace/samples/azure_conv_sample.csv" \
    --format azure-csv --deployment "$host" -o "$tmp/large.dtrace" 2> "$tmp/err") || got=$?
[ "$got" -eq 10 ] || fail "an import into a file at its limit: exit $got, not 10"
[ ! -e "$tmp/large.dtrace" ] || fail 'part of a trace is left'
daemon_stop
echo "hostile: $checks checks"
