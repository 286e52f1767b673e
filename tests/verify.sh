#!/bin/sh
# detent-verify and detent-ref against a bundle of real selectors, the host backend
# and a sample of a real trace: stock changes rows, Detent none; with one pinned
# value varied, Detent's rows fail too.
set -eu
bin=$top_builddir
dir=$(mktemp -d)
finish ()
{
    exec 8>&- 9>&- # what the servers wait for
    wait
    rm -rf "$dir"
}
trap finish EXIT
die () { echo "FAIL: $*" >&2; exit 1; }

endpoint=ipc://$dir/s
plugin=$bin/.libs/detent-backend-host.so
log=$top_srcdir/trace/samples/azure_conv_sample.csv
common="--endpoint $endpoint --deployment host-small --workload chat --backend $plugin"

# status WANT COMMAND...: run it into $dir/out and $dir/err.
status ()
{
    want=$1
    shift
    have=0
    "$@" >"$dir/out" 2>"$dir/err" || have=$?
    [ "$have" = "$want" ] || { cat "$dir/out" "$dir/err" >&2; die "$*: status $have, not $want"; }
}
one_line () { [ "$(wc -l < "$dir/err")" = 1 ] || { cat "$dir/err" >&2; die "not one line"; }; }

"$bin/tests/make_trace" "$log" "$dir/t.dtrace" 60
status 3 "$bin/detent-verify" $common --trace "$dir/t.dtrace"
one_line
grep -q 'is it running?' "$dir/err" || die "no remedy: $(cat "$dir/err")"

serving () # NAME: until its server is ready
{
    tries=0
    until grep -qs ready "$dir/$1.ready"; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || die "serve_bundle does not start"
        sleep 0.1
    done
}

mkfifo "$dir/in" "$dir/planted.in"
"$bin/tests/serve_bundle" "$endpoint" "$plugin" 2 <"$dir/in" >"$dir/shipped.ready" &
exec 9>"$dir/in"
serving shipped

# What the battery finds, and that it is the same each time.
rows=300
status 0 "$bin/detent-verify" $common --trace "$dir/t.dtrace" --rows $rows
cat "$dir/out"
grep -q '^Detent  *[0-9][0-9]*  *0 ' "$dir/out" || die "Detent changed rows"
grep -q '^stock  *[0-9][0-9]*  *[1-9]' "$dir/out" || die "stock changed no row"
grep -q '^The first row that stock changed: request ' "$dir/out" || die "no first change"
status 0 "$bin/detent-verify" $common --trace "$dir/t.dtrace" --rows $rows --json
${PYTHON3:-python3} - "$dir/out" $rows <<'END'
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
status 1 "$bin/tests/verify_varying" $common --trace "$dir/t.dtrace" --rows $rows
grep -q '^Detent  *[0-9][0-9]*  *[1-9]' "$dir/out" || die "varied pins changed nothing"
grep -q 'must not serve' "$dir/out" || die "no verdict"

# Bug log B38: a value that is not a number is reported, equal as its bits may be.
planted=$bin/tests/.libs/backend-planted.so
export DT_PLANT=nan
"$bin/tests/serve_bundle" "$endpoint-planted" "$planted" 2 <"$dir/planted.in" >"$dir/planted.ready" &
exec 8>"$dir/planted.in"
serving planted
timeout 300 "$bin/detent-verify" --endpoint "$endpoint-planted" --deployment host-small \
    --workload chat --backend "$planted" --trace "$dir/t.dtrace" \
    --rows $rows >"$dir/out" 2>"$dir/err" || [ $? = 1 ] || die "planted: $(cat "$dir/err")"
nan='^[0-9][0-9]* rows of Detent hold a value that is not a number'
grep -q "$nan" "$dir/out" || { cat "$dir/out" >&2; die "no word of NaN"; }

# A zero of the other sign is another value, and so is a NaN of another payload; the same
# NaN is the same.
bits () # PLANT CHANGED: Detent's rows that changed, as a pattern
{
    DT_PLANT=$1 timeout 300 "$bin/detent-verify" --endpoint "$endpoint-planted" \
        --deployment host-small --workload chat --backend "$planted" --trace "$dir/t.dtrace" \
        --rows $rows >"$dir/out" 2>"$dir/err" || [ $? = 1 ] || die "$1: $(cat "$dir/err")"
    grep -q "^Detent  *[0-9][0-9]*  *$2 " "$dir/out" || { cat "$dir/out" >&2; die "$1"; }
}
bits minus '[1-9][0-9]*'
! grep -q "$nan" "$dir/out" || die "a zero is called NaN"
bits payload '[1-9][0-9]*'
grep -q "$nan" "$dir/out" || die "no word of NaN: payload"
bits same_nan 0
grep -q "$nan" "$dir/out" || die "no word of NaN: same_nan"

# Bad input: one line and the documented status.
status 9 "$bin/detent-verify" $common --trace "$dir/t.dtrace" --units 1
one_line
status 4 "$bin/detent-verify" $common --trace "$dir/t.dtrace" --site other
one_line
status 4 "$bin/detent-verify" $common --trace "$dir/none"
one_line
head -c 200 "$dir/t.dtrace" >"$dir/cut.dtrace"
status 2 "$bin/detent-verify" $common --trace "$dir/cut.dtrace"
one_line
status 2 "$bin/detent-verify" $common
status 2 "$bin/detent-verify" $common --trace "$dir/t.dtrace" --rows none

# The example engine: it records what it ran, and stops where it must.
status 0 "$bin/detent-ref" $common --trace "$dir/t.dtrace" --calls 20 --record "$dir/r.dtrace"
grep -q '^20 calls, .* pinned selection$' "$dir/out" || die "$(cat "$dir/out")"
status 0 "$bin/detent-verify" $common --trace "$dir/r.dtrace" --rows 20
status 1 "$bin/detent-ref" $common --trace "$dir/cut.dtrace"
one_line
echo "PASS"
