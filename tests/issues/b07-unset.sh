#!/bin/sh
# B07 of the bug log through `detentctl solve --offline`: a local that is unset on one
# path makes the inputs of that path illegal, though no selection point needs the value
# that is wrong there; behind a pin, nobody computes it.
set -eu
ctl=$top_builddir/detentctl/detentctl
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail () { echo "FAIL: $*"; cat "$tmp/p.py" "$tmp/out" "$tmp/err"; exit 1; }

cat > "$tmp/d.yaml" <<'E'
version: 1
name: trial
model: m
engine: {name: e, build: "1"}
backend: host
parallelism: {tp: 1}
limits: {most: 32}
sites:
  - {family: attention, site: s, program: p.py, calls_per_step: 1, facts: {}}
E

# solve WANT < body of choose: the exit code
solve ()
{
    cat > "$tmp/p.py" <<'E'
from __future__ import annotations
from selir import Batch, Facts, Record, Runtime, selection

class Model(Facts):
    most: int

class Call(Batch):
    requests: Runtime[range(0, facts.most + 1)]

class Choice(Record):
    x: int

@selection(family="attention")
def choose(facts: Model, call: Call) -> Choice:
E
    sed 's/^/    /' >> "$tmp/p.py"
    have=0
    "$ctl" solve --offline "$tmp/d.yaml" > "$tmp/out" 2> "$tmp/err" || have=$?
    [ "$have" = "$1" ] || fail "exit code $have, not $1"
}

solve 5 <<'E'
if call.requests > 4:
    s = 2
return Choice(x=7 // s)
E
grep -q 'UnboundLocalError (p.py:17:' "$tmp/err" || fail 'no class and place'

solve 5 <<'E'
unused = 7 // call.requests
return Choice(x=1)
E
grep -q 'ZeroDivisionError (p.py:15:' "$tmp/err" || fail 'no class and place'

solve 0 <<'E'
if call.requests > 4:
    s = 2
else:
    s = 1
return Choice(x=7 // s)
E

solve 0 <<'E'
x = 100 // call.requests
return Choice(x=x + 1)
E
echo 'b07-unset: 4 programs as they should be'
