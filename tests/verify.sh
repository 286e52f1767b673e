#!/bin/sh
# detent-verify and detent-ref against a bundle of real selectors, the host backend
# and a sample of a real trace: stock changes rows, Detent none; with one pinned
# value varied, Detent's rows fail too.
set -eu
. "$top_srcdir/tests/lib.sh"
bin=$top_builddir
endpoint=ipc://$tmp/s
plugin=$bin/.libs/detent-backend-host.so
log=$top_srcdir/trace/samples/azure_conv_sample.csv
common="--endpoint $endpoint --deployment host-small --workload chat --backend $plugin"

"$bin/tests/make_trace" "$log" "$tmp/t.dtrace" 60
exits 3 "$bin/detent-verify" $common --trace "$tmp/t.dtrace"
one_line
says 'is it running?'

serve () # NAME ENDPOINT BACKEND: until its input is closed
{
    mkfifo "$tmp/$1.in"
    "$bin/tests/serve_bundle" "$2" "$3" 2 <"$tmp/$1.in" >"$tmp/$1.ready" &
    others="$others $!"
}
serve shipped "$endpoint" "$plugin"
exec 9>"$tmp/shipped.in"
soon grep -q ready "$tmp/shipped.ready"

# What the battery finds, and that it is the same each time: did Detent change a row?
rows=300
none='^Detent  *[0-9][0-9]*  *0 ' some='^Detent  *[0-9][0-9]*  *[1-9]'
exits 0 "$bin/detent-verify" $common --trace "$tmp/t.dtrace" --rows $rows
cat "$tmp/out"
has "$none"
has '^stock  *[0-9][0-9]*  *[1-9]'
has '^The first row that stock changed: request '
exits 0 "$bin/detent-verify" $common --trace "$tmp/t.dtrace" --rows $rows --json
"$PYTHON3" - "$tmp/out" $rows <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["version"] == 1 and r["site"] == "decoder", r
assert r["detent"]["compared"] >= int(sys.argv[2]) and r["detent"]["changed"] == 0, r
assert r["stock"]["compared"] == r["detent"]["compared"] and r["stock"]["changed"] > 0, r
a, b = r["stock"]["first"]["runs"]
assert a["parameters"] != b["parameters"] and a["value"] != b["value"], r
assert len(r["tuple"]) == len(r["bits"]) == 64 and r["time_ratio"] > 0, r
END

# It can fail.
exits 1 "$bin/tests/verify_varying" $common --trace "$tmp/t.dtrace" --rows $rows
has "$some"
has 'must not serve'

# A value that is not a number is reported, equal as its bits may be.
planted=$bin/tests/.libs/backend-planted.so
export DT_PLANT=nan
serve planted "$endpoint-planted" "$planted"
exec 8>"$tmp/planted.in"
soon grep -q ready "$tmp/planted.ready"
verify_planted () # CODE PLANT
{
    DT_PLANT=$2
    exits "$1" "$bin/detent-verify" --endpoint "$endpoint-planted" --deployment host-small \
        --workload chat --backend "$planted" --trace "$tmp/t.dtrace" --rows $rows
}
verify_planted 1 nan
nan='^[0-9][0-9]* rows of Detent hold a value that is not a number'
has "$nan"

# A zero of the other sign is another value, and so is a NaN of another payload; the same
# NaN is the same.
verify_planted 1 minus
has "$some"
! grep -q "$nan" "$tmp/out" || fail "a zero is called NaN"
verify_planted 1 payload
has "$some"
has "$nan"
verify_planted 0 same_nan
has "$none"
has "$nan"

# Bad input: one line and the documented status.
exits 9 "$bin/detent-verify" $common --trace "$tmp/t.dtrace" --units 1
one_line
exits 4 "$bin/detent-verify" $common --trace "$tmp/t.dtrace" --site other
one_line
says 'has no call of site other of the tuple'
exits 4 "$bin/detent-verify" --endpoint "$endpoint" --deployment host-small --workload chat \
    --trace "$tmp/t.dtrace" --backend nowhere.so
one_line
says 'nowhere.so: .*; nor is it in /'
exits 4 "$bin/detent-verify" $common --trace "$tmp/none"
one_line
head -c 200 "$tmp/t.dtrace" >"$tmp/cut.dtrace"
exits 2 "$bin/detent-verify" $common --trace "$tmp/cut.dtrace"
one_line
exits 2 "$bin/detent-verify" $common
one_line
says '--trace is missing'
exits 2 "$bin/detent-verify" $common --trace "$tmp/t.dtrace" --rows none
one_line
says "--rows: 'none'"
exits 2 "$bin/detent-verify" $common --trace "$tmp/t.dtrace" more
says "unexpected argument 'more'"

# A result that nobody can read is no yes.
for what in --version "$common --trace $tmp/t.dtrace --rows 20" "$common --trace $tmp/t.dtrace --rows 20 --json"
do
    exits 10 sh -c 'exec "$@" > /dev/full' - "$bin/detent-verify" $what
    says 'standard output: '
done

# The example engine: it records what it ran, and stops where it must.
exits 0 "$bin/detent-ref" $common --trace "$tmp/t.dtrace" --calls 20 --record "$tmp/r.dtrace"
has '^20 calls, .* pinned selection$'
exits 0 "$bin/detent-verify" $common --trace "$tmp/r.dtrace" --rows 20
exits 1 "$bin/detent-ref" $common --trace "$tmp/cut.dtrace"
one_line

# The least of an engine, which needs what is installed alone.
! grep '^#include "' "$top_srcdir/engines/ref/select.c" || fail 'select.c includes what is not installed'
ask () { DETENT_ENDPOINT=$endpoint exits "$@"; }
ask 0 "$bin/detent-select" host-small chat "$plugin" 1 900 1 30
has '^block_n = [0-9]*$'
has '^split_stride = [0-9]*$'
has '^workers_per_request = [0-9]*'
ask 1 "$bin/detent-select" host-small chat "$plugin" 1 -5
one_line
ask 1 "$bin/detent-select" host-small chat "$plugin" 1
echo "PASS"
