#!/bin/sh
# detentctl without a daemon: help, wrong usage, bad files.  Each error is one clear
# line with the documented exit code, and --json parses.
set -eu
. "$top_srcdir/tests/lib.sh"
DETENT_ENDPOINT=ipc://$tmp/none.sock
DETENT_PROGRAMS=$top_srcdir/programs/detent
export DETENT_ENDPOINT DETENT_PROGRAMS
unset DETENT_RUNTIME_DIR
limit=10

# want CODE LINES PATTERN ARGUMENT...: exit code, lines on stderr, a pattern there.
want ()
{
    want=$1 lines=$2 pattern=$3
    shift 3
    code "$want" "$@"
    [ "$lines" = any ] || [ "$(wc -l < "$tmp/err")" -eq "$lines" ] \
        || fail "detentctl $*: not $lines lines on stderr"
    [ -z "$pattern" ] || says "$pattern"
}

# Help of each command, with nothing on stderr; its first line is the usage.
"$ctl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\( [a-z]\{2,\}\)\{0,1\}\)  .*/\1/p' > "$tmp/commands"
[ "$(wc -l < "$tmp/commands")" -ge 21 ] || fail "only $(wc -l < "$tmp/commands") commands in --help"
while read -r command; do
    # shellcheck disable=SC2086 # a command may be two words
    want 0 0 '' $command --help
    has "^usage: detentctl $command \[OPTION\]"
done < "$tmp/commands"
want 0 0 '' --help
want 0 0 '' --version

# Usage.
want 2 1 'no command given'
want 2 1 "did you mean 'status'" statsu
want 2 1 "unknown command 'frobnicate'" frobnicate
want 2 1 "did you mean 'trace submit'" trace submti
want 2 1 'one more word' trace
want 2 1 "did you mean '--strict'" solve x.yaml --strcit
want 2 1 "unknown option '-x'" solve -x
want 2 1 'takes an argument: ADDRESS' status --endpoint
want 2 1 'takes no argument' status --json=yes
want 2 1 'argument missing: FILE' solve
want 2 1 "unexpected argument 'b'" solve a b
want 2 1 '--workload NAME is missing' tune --deployment a
want 2 1 'is not a name' fetch --deployment 'A B' --workload c
want 2 1 'is not a number' attach seven
want 2 1 'whole number' log --limit -1
want 2 1 'number of seconds' status --timeout soon
for device in -1 1024 18446744073709551616 0x1 first '' ' 1' 1.0; do
    want 2 1 'device.* is not a whole number from 0 to 1023' \
        tune --deployment a --workload b --device "$device"
    want 2 1 'device.* is not a whole number from 0 to 1023' certify a --device "$device"
done
want 2 1 'takes an argument: N' tune --deployment a --workload b --device
want 2 1 'device does not go with' certify --list --device 1
want 2 1 '64 hex digits' tune --deployment a --workload b --trace 12
want 2 1 'hex digits of a digest' show xyz
want 2 1 'takes a PREFIX, or' show
want 2 1 'message is empty' commit --deployment a --workload b -m ''
want 2 1 'there is one for bash' completion fish
want 2 1 'none of graph, simplified' solve "$host" --dump tree
want 2 1 'exclude each other' solve "$host" --dump graph --dot
want 2 1 'takes --deployment NAME or --file FILE' explain x
want 2 1 '--format FORMAT is missing' export --deployment a --workload b
want 2 1 'neither c nor blob' export --deployment a --workload b --format rust

# The daemon is not there: at once, not after a timeout.
for command in status jobs log 'attach 1' 'cancel 1' 'trace list' 'pins host-small' \
    'fetch --deployment a --workload b' 'commit --deployment a --workload b -m x' \
    'tune --deployment a --workload b' 'explain x --deployment a' \
    'export --deployment a --workload b --format c' "solve $host"; do
    # shellcheck disable=SC2086 # split on purpose
    want 3 1 'detentd does not answer' --timeout 5 $command
done
# shellcheck disable=SC2016
want 2 1 'write ipc://' status --endpoint http://x

# Files.
want 4 1 'No such file' solve "$tmp/none.yaml"
want 4 1 'No such file' trace show "$tmp/none.dtrace"
want 4 1 'No such file' trace submit "$tmp/none.dtrace" --workload a
: > "$tmp/empty.yaml"
want 2 1 '' solve "$tmp/empty.yaml"
want 2 1 '' deployment check "$tmp/empty.yaml"
want 2 1 '' trace show "$tmp/empty.yaml"
mkfifo "$tmp/fifo"
for file in "$tmp/fifo" "$tmp" /dev/null; do
    want 2 1 'not a regular file' solve "$file"
    want 2 1 'not a regular file' trace show "$file"
done
import="trace import $top_srcdir/trace/samples/azure_conv_sample.csv --format azure-csv --requests 3 --deployment $host"
# shellcheck disable=SC2086 # split on purpose
want 2 1 'not a regular file' $import -o "$tmp/fifo"
[ -p "$tmp/fifo" ] || fail "a pipe was replaced by a file"
# shellcheck disable=SC2086
want 2 1 'is a folder' $import -o "$tmp"
# shellcheck disable=SC2086
want 2 1 'name is empty' $import -o ''
# A name with a line end in it does not make a second line.
want 2 1 'is not a name' fetch --workload c --deployment 'a
b'
want 4 1 'No such file' solve 'a
b'
printf 'version: 1\nname: [unclosed\n' > "$tmp/broken.yaml"
want 2 1 'broken.yaml:[0-9]*:[0-9]*: ' solve "$tmp/broken.yaml"
want 2 1 'broken.yaml:[0-9]*:[0-9]*: ' deployment check "$tmp/broken.yaml"
sed 's/^model:/modle:/' "$host" > "$tmp/key.yaml"
want 2 1 "modle" deployment check "$tmp/key.yaml"
sed 's/attention\.py/nowhere.py/' "$host" > "$tmp/program.yaml"
want 4 1 'nowhere.py of attention/decoder is neither' solve "$tmp/program.yaml"
mkdir "$tmp/beside"
cp "$host" "$tmp/beside/d.yaml"
sed 's/^    block_n = 128/    while True: pass/; s/block_n = 128/block_n = missing_name/' \
    "$DETENT_PROGRAMS/attention.py" > "$tmp/beside/attention.py"
want 2 any '^ *^' deployment check "$tmp/beside/d.yaml"
says 'attention.py:[0-9]*:[0-9]*: '
printf 'a: \033[31m\007x\n' > "$tmp/beside/evil.yaml"
want 2 any '' deployment check "$tmp/beside/evil.yaml"
! grep -q "$(printf '\033')" "$tmp/err" || fail "a control character was printed raw"

# Graphs and stories, solved here.  Without the pins no source reaches a binding point.
for what in graph simplified residual code; do
    want 0 0 '' solve "$host" --dump $what
    has "^# attention/decoder: $what"
    [ "$(wc -l < "$tmp/out")" -gt 10 ] || fail "--dump $what"
done
want 0 0 '' solve "$host" --dot
"$PYTHON3" - "$tmp/out" <<'P' || fail "the dot graph"
import re, sys
text = open(sys.argv[1]).read()
assert text.startswith('digraph "attention/decoder" {') and text.rstrip().endswith("}")
node = dict(re.findall(r"^  (\w+) \[(.*)\];$", text, re.M))
edges = re.findall(r"^  (\w+) -> (\w+);$", text, re.M)
pins = {n for n, label in node.items() if "PIN " in label}
assert len(pins) == 2 and all(a in node and b in node for a, b in edges)
def reached(without):
    seen = {n for n, label in node.items() if "lightblue" in label} - without
    while more := {b for a, b in edges if a in seen} - seen - without:
        seen |= more
    return {n for n in seen if "peripheries=2" in node[n]}
assert len(reached(set())) == 2 and not reached(pins)
P
want 0 0 '' explain split_stride --file "$host"
has 'is a pin of attention/decoder'
has 'from the inputs requests, longest_query, longest_kv'
has 'a split kernel takes at most 64'
want 0 0 '' explain choose.block_n --file "$host" --json
json 'p=o["pin"]; assert [c["value"] for c in p["candidates"]]==[32,64,128] and p["inputs"]=="longest_query" and p["line"]'
want 4 1 'its pins: choose.block_n, choose.split_stride' explain waves --file "$host"

# JSON: parses, also when it is an error, which has its code and name.
want 3 1 '' status --json
json 'assert o["error"]["name"]=="unreachable" and o["error"]["exit"]==3'
want 2 1 '' --json frobnicate
json 'assert o["error"]["name"]=="usage"'
want 2 1 '' frobnicate --json
json 'assert o["error"]["name"]=="usage"'
want 2 any '' deployment check --json "$tmp/beside/evil.yaml"
json 'assert o["error"]["exit"]==2'
want 0 0 '' deployment check --json "$host"
json 'assert o["deployment"]=="host-small" and o["sites"][0]["family"]=="attention"'

# Completion is a script that bash reads.
want 0 0 '' completion bash
if command -v bash >/dev/null; then
    bash -n "$tmp/out" || fail "bash does not read its completion"
    [ "$(bash -c '. "$0"; COMP_WORDS=(detentctl trace im); COMP_CWORD=2; _detentctl; echo "${COMPREPLY[@]}"' "$tmp/out")" = import ] \
        || fail "completion of 'trace im'"
    [ "$(bash -c '. "$0"; COMP_WORDS=(detentctl st); COMP_CWORD=1; _detentctl; echo "${COMPREPLY[@]}"' "$tmp/out")" = status ] \
        || fail "completion of 'st'"
    [ "$(bash -c '. "$0"; COMP_WORDS=(detentctl ""); COMP_CWORD=1; _detentctl; printf "%s\n" "${COMPREPLY[@]}" | sort | uniq -d' "$tmp/out")" = '' ] \
        || fail "a command is completed twice"
    [ "$(bash -c '. "$0"; COMP_WORDS=(detentctl solve --st); COMP_CWORD=2; _detentctl; echo "${COMPREPLY[@]}"' "$tmp/out")" = --strict ] \
        || fail "completion of 'solve --st'"
fi
# Output that cannot be written is an error.
if [ -e /dev/full ]; then
    got=0
    "$ctl" --help > /dev/full 2>"$tmp/err" || got=$?
    [ "$got" -eq 10 ] || fail "--help > /dev/full: exit $got"
fi
echo "ctl-usage: $checks checks"
