#!/bin/sh
# Through `detentctl solve --offline`: a local that is unset on one path makes the inputs
# of that path illegal, though no selection point needs the value that is wrong there;
# behind a pin, nobody computes it.
set -eu
. "$top_srcdir/tests/lib.sh"

trial 'most: 32' 'family: attention, site: s, program: p.py, facts: {}'

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
    code "$1" solve --offline "$tmp/d.yaml"
}

solve 5 <<'E'
if call.requests > 4:
    s = 2
return Choice(x=7 // s)
E
says 'UnboundLocalError (p.py:17:'

solve 5 <<'E'
unused = 7 // call.requests
return Choice(x=1)
E
says 'ZeroDivisionError (p.py:15:'

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
