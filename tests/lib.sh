# Sourced by tests of whole programs: a folder of their own, what runs a program there and
# looks at its end, and the end of all that was started.  Sets ctl, tmp, host, checks.
ctl=$top_builddir/detentctl/detentctl
host=$top_srcdir/deployments/host-small.yaml
tmp=$(mktemp -d "${TMPDIR:-/tmp}/dt.XXXXXX")
checks=0  # that were passed
limit=300 # seconds that a program may take
quiet=    # not empty: what ends with 0 says nothing on stderr
daemon= others= # processes that are to end with the test
finish ()
{
    status=$?
    for pid in $daemon $others; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$tmp"
    exit "$status"
}
trap finish EXIT

fail ()
{
    exec >&2 # in a $(...) too
    echo "FAIL: $*"
    for f in p.py out err log log2; do
        [ -f "$tmp/$f" ] && { echo "--- $f"; tail -n 40 "$tmp/$f" | cut -c 1-1000; }
    done
    exit 1
}
passed () { checks=$((checks + 1)); }

# exits CODE COMMAND...: its output is in $tmp/out and $tmp/err.
exits ()
{
    want=$1 got=0
    shift
    timeout "$limit" "$@" > "$tmp/out" 2> "$tmp/err" || got=$?
    [ "$got" -eq "$want" ] || fail "$*: exit $got, not $want"
    [ -z "$quiet" ] || [ "$want" -ne 0 ] || [ ! -s "$tmp/err" ] || fail "$*: something on stderr"
    passed
}
# code CODE ARGUMENT...: of detentctl
code ()
{
    want=$1
    shift
    exits "$want" "$ctl" "$@"
}
one_line () { [ "$(wc -l < "$tmp/err")" -eq 1 ] || fail "not one line on stderr"; }
has () { grep -q -e "$1" "$tmp/out" || fail "no '$1' in its output"; passed; }
says () { grep -q -e "$1" "$tmp/err" || fail "no '$1' on stderr"; passed; }
json () # PYTHON over o; prints what it prints
{
    "$PYTHON3" -c 'import json,sys; o=json.load(open(sys.argv[1])); assert o["version"]==1; '"$1" \
        "$tmp/out" || fail "JSON: $1"
    passed
}
soon () # COMMAND...: until it succeeds
{
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ "$tries" -lt 300 ] || fail "never: $*"
        sleep 0.2
    done
}

# trial LIMITS SITE: $tmp/d.yaml, a deployment of one site.
trial ()
{
    cat > "$tmp/d.yaml" <<E
version: 1
name: trial
model: m
engine: {name: e, build: "1"}
backend: host
parallelism: {tp: 1}
limits: {$1}
sites:
  - {calls_per_step: 1, $2}
E
}
