#!/bin/sh
# Cuts through `detentctl solve --offline`: no cut needed, only the output itself, none
# possible, the cut nearest the sinks.  Then inputs that no call of the family has,
# and a claim about no field.
set -eu
. "$top_srcdir/tests/lib.sh"

trial 'most: 64' 'family: attention, site: s, program: p.py, facts: {debug: false}'

# program INPUT < body of choose
program ()
{
    cat > "$tmp/p.py" <<E
from __future__ import annotations
from selir import Batch, Facts, Own, Record, Runtime, Unpinnable, selection


class Model(Facts):
    most: int
    debug: bool


class Call(Batch):
    $1
    total_kv: Unpinnable[range(1, 1 << 40)]


class Choice(Record):
    splits: int


@selection(family="attention")
def choose(facts: Model, call: Call) -> Choice:
    M = call.requests
E
    cat >> "$tmp/p.py"
}
# solve CODE PATTERN [FILE]: exit code, and a pattern in stdout or stderr
solve ()
{
    code "$1" solve --offline "${3:-$tmp/d.yaml}"
    cat "$tmp/out" "$tmp/err" | grep -q -e "$2" || fail "no '$2'"
    [ "$1" -eq 0 ] || [ "$(grep -c '^detentctl: ' "$tmp/err")" -eq 1 ] || fail 'not one error'
}
runtime='requests: Runtime[range(1, 65)]'

# (a) only the output itself, (b) and (d) nothing, (c) one path
program "$runtime" <<'E'
    return Choice(splits=M)
E
solve 0 'requests cuts requests -> splits'
solve 0 'depends'
program "$runtime" <<'E'
    return Choice(splits=4)
E
solve 0 'No pins: no batch-dependent input reaches a binding selection point'
program "$runtime" <<'E'
    return Choice(splits=call.total_kv * 3)
E
solve 1 'splits cannot be made invariant: no value on the path total_kv -> splits'
program "$runtime" <<'E'
    splits = 4
    if facts.debug:
        splits = M
    return Choice(splits=splits)
E
solve 0 'No pins'

# (a) one pin at the end, with and without d -> c; (b) two; (c) a value used twice
# counts once
for more in '' ' + d'; do
    program "$runtime" <<E
    a = M // 2
    b = M // 3
    d = M % 5
    c = a * b$more
    e = d * 3
    f = min(c + e, 9)
    return Choice(splits=f)
E
    solve 0 '^choose.f '
    [ "$(grep -c ' cuts ' "$tmp/out")" -eq 1 ] || fail 'not one pin'
done
sed -i 's/splits=f)/splits=f * f + f)/' "$tmp/p.py"
solve 0 'point.splits cuts'
[ "$(grep -c ' cuts ' "$tmp/out")" -eq 1 ] || fail 'a value that is used twice counts twice'
program2 () # two fields
{
    program "$runtime" < "$1"
    sed -i 's/    splits: int/    splits: int\n    other: int/' "$tmp/p.py"
}
cat > "$tmp/body" <<'E'
    a = M % 2
    b = M % 3
    d1 = M % 5
    d2 = M % 7
    c = a + b * 2 + d1 * 6
    e = d1 + d2 * 5
    return Choice(splits=c, other=e)
E
program2 "$tmp/body"
# M itself is one value on every path: the cut of size 1 is the minimum
solve 0 'requests cuts'
[ "$(grep -c ' cuts ' "$tmp/out")" -eq 1 ] || fail 'not one pin'
program2 "$tmp/body"
sed -i 's/requests: Runtime/requests: Unpinnable/' "$tmp/p.py"
solve 0 '^choose.c '
grep -q '^choose.e ' "$tmp/out" || fail 'e is no pin'
[ "$(grep -c ' cuts ' "$tmp/out")" -eq 2 ] || fail 'not two pins'

# A program's inputs are the family's, of the family's class
program 'reqests: Runtime[range(1, 65)]' <<'E'
    return Choice(splits=4)
E
sed -i '/M = call/d' "$tmp/p.py"
solve 2 'a call has no quantity "reqests"; did you mean "requests"?'
program 'requests: Own[range(1, 65)]' <<'E'
    return Choice(splits=4)
E
solve 2 '"requests" is a quantity of the whole call: declare it Runtime or Unpinnable'
code 2 deployment check "$tmp/d.yaml"
says 'declare it Runtime'

# a claim about a field that is not there
program "$runtime" <<'E'
    return Choice(splits=M)
E
cat "$tmp/d.yaml" - > "$tmp/claims.yaml" <<'E'
claims:
  - {family: attention, field: split, reason: "r", source: "s"}
E
solve 2 'has no field "split"; did you mean "splits"?' "$tmp/claims.yaml"
code 2 deployment check "$tmp/claims.yaml"
says 'did you mean "splits"?'
echo "b13-cuts: $checks checks"
