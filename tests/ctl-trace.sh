#!/bin/sh
# detentctl trace import and show: both public formats, limits from the deployment,
# the same bytes each time, and truncated or changed files refused.
set -eu
. "$top_srcdir/tests/lib.sh"
samples=$top_srcdir/trace/samples
trace () { json 'o=o["trace"]; s=o["sites"][0]; '"$1"; } # PYTHON over o and its first site

code 0 trace import "$samples/azure_conv_sample.csv" --format azure-csv --deployment "$host" \
    --requests 60 -o "$tmp/a.dtrace" --json
trace 'assert s["calls"] > 60 and s["max_requests"] <= 32 and o["limits"]["token_budget"] == 128'
trace 'assert o["importer"] == "azure-csv" and "requests=60" in o["options"]'
trace 'assert s["max"]["query_len"] <= 128 and s["max"]["kv_len"] <= 32768'
cp "$tmp/out" "$tmp/first"
code 0 trace show "$tmp/a.dtrace" --json
cmp -s "$tmp/out" "$tmp/first" || fail "show differs from import"
code 0 trace import "$samples/azure_conv_sample.csv" --format azure-csv --deployment "$host" \
    --requests 60 -o "$tmp/b.dtrace"
cmp "$tmp/a.dtrace" "$tmp/b.dtrace" || fail "two imports differ"

code 0 trace import "$samples/mooncake_conversation_sample.jsonl" --format mooncake-jsonl \
    --deployment "$host" --requests 20 --steps 100 --max-batch 4 --token-budget 64 \
    --prefix-cache-blocks 1000 -o "$tmp/m.dtrace" --json
trace 'assert s["calls"] == 100 and s["max_requests"] <= 4 and s["max"]["query_len"] <= 64'

# What is broken is refused with 2, and nothing is written.
size=$(wc -c < "$tmp/a.dtrace")
for n in 0 4 8 30 $((size / 2)) $((size - 1)); do
    head -c "$n" "$tmp/a.dtrace" > "$tmp/cut.dtrace"
    code 2 trace show "$tmp/cut.dtrace"
    one_line
    code 2 trace submit "$tmp/cut.dtrace" --workload w
done
# What is whole is kept on demand, counted, and said in the provenance.
code 0 trace import "$samples/azure_conv_sample.csv" --format azure-csv --deployment "$host" \
    -o "$tmp/whole.dtrace" --json
whole=$(trace 'print(s["distinct"])')
damage () # NAME PYTHON: a function of the file's bytes
{
    "$PYTHON3" -c "import sys; d=open('$tmp/whole.dtrace','rb').read(); open('$tmp/$1.dtrace','wb').write($2)"
}
damage cut 'd[:-100]'
damage hole 'd[:len(d)*6//10] + d[len(d)*6//10+17:]'
damage grown 'd + b"and more"'
damage flipped 'd[:len(d)//2] + bytes([d[len(d)//2] ^ 1]) + d[len(d)//2+1:]'
for f in cut hole grown flipped; do
    code 2 trace import "$tmp/$f.dtrace" --format dtrace -o "$tmp/none.dtrace"
    says 'block [0-9]* at byte [0-9]*'
done
for f in cut hole flipped; do
    code 0 trace import "$tmp/$f.dtrace" --format dtrace --salvage -o "$tmp/saved.dtrace" --json
    says 'salvaged: [0-9]* calls'
    trace "assert 0 < s['distinct'] < $whole and 'salvaged: ' in o['options']"
    code 0 trace show "$tmp/saved.dtrace"
done
code 0 trace import "$tmp/whole.dtrace" --format dtrace --salvage -o "$tmp/saved.dtrace"
cmp "$tmp/whole.dtrace" "$tmp/saved.dtrace" || fail "a whole trace changed"
mkfifo "$tmp/pipe"
code 2 trace import "$tmp/pipe" --format dtrace -o "$tmp/none.dtrace"
says 'not a regular file'
gzip -c "$tmp/whole.dtrace" > "$tmp/packed.dtrace"
: > "$tmp/nothing.dtrace"
for f in packed nothing; do
    code 2 trace import "$tmp/$f.dtrace" --format dtrace -o "$tmp/none.dtrace"
    code 2 trace import "$tmp/$f.dtrace" --format dtrace --salvage -o "$tmp/none.dtrace"
done
# Two writers, one inside a line of the other's.
{ head -n 20 "$samples/azure_conv_sample.csv"; printf '2023-11-16 18:1'
  sed -n '21,30p' "$samples/azure_conv_sample.csv"; } > "$tmp/two.csv"
code 2 trace import "$tmp/two.csv" --format azure-csv --deployment "$host" -o "$tmp/none.dtrace"
says 'line 21: .*byte [0-9]'
head -c 30 "$tmp/whole.dtrace" > "$tmp/cut.dtrace"
code 2 trace import "$tmp/cut.dtrace" --format dtrace --salvage -o "$tmp/none.dtrace"
{ head -n 20 "$samples/azure_conv_sample.csv"; printf '2023-11-16 18:1'; } > "$tmp/half.csv"
sed '5s/,/;/' "$tmp/half.csv" > "$tmp/bad.csv"
code 2 trace import "$tmp/bad.csv" --format azure-csv --deployment "$host" -o "$tmp/none.dtrace"
says 'line 5: .*byte [0-9]'
code 0 trace import "$tmp/bad.csv" --format azure-csv --deployment "$host" --salvage \
    -o "$tmp/saved.dtrace" --json
trace 'assert "requests=18 salvaged: 2 lines left out, the first: line 5" in o["options"]'
code 2 trace import "$samples/azure_conv_sample.csv" --format mooncake-jsonl --deployment "$host" \
    -o "$tmp/none.dtrace"
one_line
code 2 trace import "$samples/azure_conv_sample.csv" --format csv --deployment "$host" \
    -o "$tmp/none.dtrace"
says 'dtrace, azure-csv, mooncake-jsonl'
code 2 trace import "$samples/azure_conv_sample.csv" --format azure-csv --deployment "$host" \
    --max-batch 0 -o "$tmp/none.dtrace"
code 4 trace import "$tmp/nolog.csv" --format azure-csv --deployment "$host" -o "$tmp/none.dtrace"
[ ! -e "$tmp/none.dtrace" ] || fail "a refused import wrote its output"
echo "ctl-trace: ok"
