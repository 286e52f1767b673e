#!/bin/sh
# The whole session of detentctl against a real detentd with host kernels: import,
# submit, solve, pins, tune, jobs, commit, log, show, fetch, status.  Then bad input,
# during which nothing changes.
set -eu
. "$top_srcdir/tests/daemon.sh"
for_both='--deployment host-small --workload chat'
quiet=1

refused () # CODE ARGUMENT...: one line
{
    code "$@"
    one_line
    says '^detentctl: '
}

daemon_start

# --- before anything is there
code 0 log
has 'No commits'
refused 4 fetch $for_both
refused 4 pins host-small
refused 4 tune $for_both
refused 4 commit $for_both -m early

# --- the session
import_sample 100
code 0 trace submit "$tmp/chat.dtrace" --workload chat --json
json 'assert not o["trace"]["known"] and o["trace"]["calls"] > 100'
trace=$(json 'print(o["trace"]["digest"])')
code 0 trace submit "$tmp/chat.dtrace" --workload chat
has 'it was there already'
code 0 trace list
has "^$(echo "$trace" | cut -c1-12) .*chat"
code 0 solve "$host"
has 'choose.block_n .*32, 64, 128'
has 'free by claim'
has 'legal 15'
has 'illegal: choose.block_n=32 choose.split_stride=256: kv_length='
code 0 solve "$host" --why-illegal --json
json 'a=o["sites"][0]["assignments"]; assert a["illegal"]==len(a["why_illegal"])==3 and a["why_illegal"][0]["assignment"]["choose.split_stride"]==256'
code 0 solve "$host" --json
json 's=o["sites"][0]; assert s["cached"] and [p["name"] for p in s["pins"]]==["choose.block_n","choose.split_stride"]'
json 'o=o["sites"][0]; [o.pop(k) for k in ("cached","solve_us","key","question")]; print(json.dumps(o,sort_keys=True))' > "$tmp/asked"
code 0 solve "$host" --offline --json
json 'o=o["sites"][0]; [o.pop(k) for k in ("cached","solve_us","key","question")]; print(json.dumps(o,sort_keys=True))' > "$tmp/offline"
diff "$tmp/asked" "$tmp/offline" || fail "detentd and --offline differ"
code 0 pins host-small
has 'choose.split_stride'
code 0 pins host-small --json
json 'assert o["deployment"]=="host-small"'
code 0 explain split_stride --deployment host-small
has 'choose.split_stride is a pin of attention/decoder'
has ' 256 .*at most 64 splits'
refused 4 explain nothing --deployment host-small
refused 4 export $for_both --format c

code 0 tune $for_both --budget 5 --max-calls 6 --json
json 'j=o["job"]; assert j["state"]=="done" and j["tuple"] and j["sites"][0]["measurements"]>0'
json 'j=o["job"]; assert j["caches"]=="warm" and j["clock"]=="CLOCK_MONOTONIC_RAW"'
tuple=$(json 'print(o["job"]["tuple"])')
job=$(json 'print(o["job"]["job"])')
code 0 jobs
has "$job .*tune .*done"
code 0 jobs --json
json 'assert o["jobs"][0]["caches"]=="warm"'
code 0 attach "$job" --json
json 'assert o["job"]["caches"]=="warm" and o["job"]["clock"]=="CLOCK_MONOTONIC_RAW"'
code 0 attach "$job"
has 'measurements by CLOCK_MONOTONIC_RAW, caches warm$'
has "$tuple"
refused 4 cancel "$job"

# The same again: what it recalls and what is forced are notes, a line each.
code 0 tune $for_both --budget 5 --max-calls 6 --force decoder:block_n=64,decoder:split_stride=512
has '^  forced: attention/decoder: block_n=64$'
has '^  forced: attention/decoder: split_stride=512$'
if grep -q '\\x' "$tmp/out"; then fail 'a note is escaped'; fi
code 0 jobs --json
code 0 show "$(json 'print(o["jobs"][0]["tuple"])')"
has '^  forced: attention/decoder: block_n=64$'
has '^  forced: attention/decoder: split_stride=512$'

code 0 tune $for_both --budget 30 --exhaustive --detach --json
second=$(json 'print(o["job"]["job"])')
code 0 cancel "$second"
refused 130 attach "$second"
says 'was cancelled'

# An interrupt detaches; the job goes on until it is cancelled.  (A shell starts jobs
# in the background with SIGINT ignored; python undoes that.)
"$PYTHON3" -c 'import os,signal,sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
    "$ctl" tune $for_both --budget 30 --exhaustive >/dev/null 2>"$tmp/told" &
pid=$!
until_jobs '"running" in j.values()'
sleep 0.5
kill -INT "$pid"
got=0
wait "$pid" || got=$?
[ "$got" -eq 130 ] || fail "interrupted tune: exit $got"
grep -q 'goes on in detentd' "$tmp/told" || fail "an interrupt does not say that the job goes on"
third=$(sed -n 's/.*; job \([0-9]*\) goes on.*/\1/p' "$tmp/told")
code 0 jobs
has "$third .*running"
code 0 cancel "$third"

code 0 commit $for_both -m 'first tuple' --tuple "$tuple"
has 'sequence    1 of host-small for chat'
code 0 log --json
json 'c=o["commits"]; assert len(c)==1 and c[0]["author"]=="tester" and c[0]["parent"] is None and not c[0]["sampled"]'
commit=$(json 'print(o["commits"][0]["digest"])')
code 0 commit $for_both -m 'the same again' --author somebody --parent "$commit"
refused 6 commit $for_both -m 'too late' --parent "$commit"
code 0 log
[ "$(wc -l < "$tmp/out")" -eq 3 ] || fail "log: not a header and two commits"
has 'the same again'
code 0 log --limit 1 --json
json 'assert len(o["commits"])==1 and o["commits"][0]["sequence"]==2'
code 0 show "$(echo "$commit" | cut -c1-8)"
has 'choose.block_n='
has 'backend.device'
code 0 show $for_both --json
json 'assert o["commit"]["sequence"]==2 and o["environment"]["model"]=="small-mqa"'
code 0 show "$tuple" --json
json "assert o['tuple']=='$tuple'"
code 0 fetch $for_both -o "$tmp/bundle" --json
json 'assert o["bundle"]["sequence"]==2 and o["bundle"]["selectors"][0]["pinned_bytes"]>0'
head -c 10 "$tmp/bundle" | grep -q DTBUNDLE1 || fail "the bundle is none"
code 0 fetch $for_both --snapshot "$commit" --json
json 'assert o["bundle"]["sequence"]==1'
code 0 export $for_both --format blob -o "$tmp/blob"
code 0 export $for_both --format c -o "$tmp/selector.c"
grep -q '^int detent_attention_decoder_select' "$tmp/selector.c" || fail "export: no function"
if command -v "${CC:-cc}" > /dev/null; then
    ${CC:-cc} -std=c11 -Wall -Wextra -Werror -c "$tmp/selector.c" -o "$tmp/selector.o" || fail "export does not compile"
fi
refused 4 export $for_both --format c --site nowhere
code 0 status
has "^store .*$tmp/state"
code 0 status --json
json 's=o["status"]; assert s["commits"]==2 and s["traces"]==1 and s["cache_hits"]>=1'

# --- bad input changes nothing
state ()
{
    code 0 status --json
    json '[o["status"].pop(k) for k in ("uptime_s","store_bytes","cache_hits","cache_misses")]; print(o)'
    code 0 log --json
    cat "$tmp/out"
    code 0 trace list --json
    cat "$tmp/out"
    code 0 jobs --json
    cat "$tmp/out"
}
until_jobs '"running" not in j.values()'
state > "$tmp/before"
zeros=0000000000000000000000000000000000000000000000000000000000000000
refused 2 frobnicate
refused 2 solve "$host" --stric=1
refused 4 solve "$tmp/none.yaml"
printf 'name: [\n' > "$tmp/broken.yaml"
refused 2 solve "$tmp/broken.yaml"
mkdir "$tmp/bad"
sed 's/^name: .*/name: bad/' "$host" > "$tmp/bad/bad.yaml"
sed 's/block_n = 128/block_n = nothing/' "$DETENT_PROGRAMS/attention.py" > "$tmp/bad/attention.py"
code 2 solve "$tmp/bad/bad.yaml"
says '^detentctl: .*attention.py:[0-9]*:[0-9]*: '
says '^ *^'
sed 's/(1, 2, 4), default=2/(1, 2, 4), default=3/' "$DETENT_PROGRAMS/attention.py" > "$tmp/bad/attention.py"
code 2 solve "$tmp/bad/bad.yaml"
head -c 1000 "$tmp/chat.dtrace" > "$tmp/cut.dtrace"
refused 2 trace submit "$tmp/cut.dtrace" --workload chat
refused 2 trace submit "$tmp/chat.dtrace" --workload 'a/b'
refused 4 tune --deployment nowhere --workload chat
refused 4 tune --deployment host-small --workload nowhere
refused 4 tune $for_both --trace $zeros
refused 4 commit --deployment host-small --workload nowhere -m x
refused 4 commit $for_both -m x --tuple $zeros
refused 6 commit $for_both -m x --parent $zeros
refused 4 show 0000000000
refused 4 show --deployment host-small --workload nowhere
refused 4 fetch --deployment nowhere --workload chat
refused 4 fetch $for_both --snapshot $zeros
refused 4 attach 12345
refused 4 cancel 12345
refused 4 pins nowhere
state > "$tmp/after"
diff "$tmp/before" "$tmp/after" || fail "bad input changed something"

# Who follows a job is told which, if detentd goes away under it.
"$ctl" tune $for_both --budget 60 --exhaustive --anew > /dev/null 2> "$tmp/followed" &
follows=$!
until_jobs '"running" in j.values()'
daemon_kill
got=0
wait $follows || got=$?
[ $got -eq 3 ] && grep -q 'tune: job [0-9]*: detentd does not answer at .*the connection broke' "$tmp/followed" \
    || fail "followed as detentd was killed: exit $got, $(cat "$tmp/followed")"
refused 3 status

# A signing key is made once, and when it is lost; that is told.
[ "$(grep -c 'made a signing key' "$tmp/log")" -eq 1 ] || fail 'the log says nothing of the key that was made'
rm "$tmp/state/node.key"
daemon_start
[ "$(grep -c 'made a signing key' "$tmp/log")" -eq 2 ] || fail 'the log says nothing of another key'
code 0 fetch $for_both
daemon_stop
echo "session: $checks checks"
