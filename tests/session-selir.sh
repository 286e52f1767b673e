#!/bin/sh
# Programs on which languages like Python have gone wrong, through a real detentd: the
# values it finds are CPython's, a refusal has its place and code and is the one that
# `solve --offline` gives, and nothing of it is stored.
set -eu
. "$top_srcdir/tests/daemon.sh"
DETENT_PROGRAMS=$tmp

trial 'max_batch: 32, max_context: 32768, max_query: 512, token_budget: 512' \
    'family: attention, site: decoder, program: p.py, facts: {}'

# program DOMAIN LINE...: one whose M has the domain; the lines are the body.
program ()
{
    cat > "$tmp/p.py" <<P
from selir import Batch, Facts, Record, Runtime, selection
class F(Facts):
    pass
class C(Batch):
    longest_query: Runtime[$1]
class R(Record):
    x: int
@selection(family="attention")
def choose(facts: F, call: C) -> R:
    M = call.longest_query
P
    shift
    for line; do printf '    %s\n' "$line"; done >> "$tmp/p.py"
}
solve () # CODE OPTION...
{
    want=$1
    shift
    code "$want" solve "$tmp/d.yaml" "$@"
}
solutions ()
{
    "$ctl" status --json | "$PYTHON3" -c 'import json,sys; print(json.load(sys.stdin)["status"]["solutions"])'
}

# values DOMAIN EXPRESSION WANT: what the expression can be, ascending.
values ()
{
    program "$1" "return R(x=$2)"
    solve 0 --json
    found=$("$PYTHON3" -c '
import json, sys
pins = json.load(open(sys.argv[1]))["sites"][0]["pins"]
print(*[v for p in pins for v in p["candidates"]])' "$tmp/out")
    [ "$found" = "$3" ] || fail "$2: $found, not $3"
}

# refused CODE PATTERN: by the daemon as without it; nothing is stored.
refused ()
{
    before=$(solutions)
    solve "$1"
    says "$2"
    cp "$tmp/err" "$tmp/asked"
    solve "$1" --offline
    diff "$tmp/asked" "$tmp/err" || fail "detentd and --offline differ"
    [ "$(solutions)" = "$before" ] || fail "something was stored"
}

daemon_start

# --- floors, chains, short circuits, precedence
values '(1, 128, 300, 301)' '(M - 300) // 128' '-3 -2 0'
values '(1, 128, 300, 301)' '(M - 300) % 128' '0 1 84 85'
values '(1, 128, 300, 301)' '-(-M // 128)' '1 3'
values '(1, 30, 100)' 'int(1 < M < 64)' '0 1'
values '(1, 2, 3)' 'M * int(not 1 < 0 < 1 // 0)' '1 2 3'
values '(1, 2, 7)' '(M - 1) and 14 // (M - 1)' '0 2 14'
values '(1, 2)' 'int((M == 1) or (8 // (M - 1) > 9))' '0 1'
values '(1, 2)' '-M ** 2 + 2 ** 3 ** 2' '508 511'
values '(1, 2)' '8 >> M + 1' '1 2'
program 'range(1, 9)' 'return R(x=1_000)'
solve 0 --json

# --- 64 bits, and what raises for all inputs
program 'range(1, 9)' 'return R(x=M // (3 - 3))'
refused 5 'p.py:11:16: ZeroDivisionError: the program raises on every input'
program 'range(1, 9)' 'return R(x=M + 7 // (3 - 3))'
refused 2 'p.py:11:20: ZeroDivisionError'
program 'range(1, 9)' 'return R(x=-9223372036854775808 // -1)'
refused 2 'p.py:11:16: OverflowError'
program 'range(1, 9)' 'return R(x=152064 * 8192 * 8192 * 1048576)'
refused 2 'p.py:11:16: OverflowError'

# --- floats are no part of a call
program '0.5, 1.0' 'return R(x=int(M * 2))'
refused 2 'site decoder, program p.py: the domain of input longest_query is of floats, and a call gives ints'

# --- a name that is not set; depth; bytes; what is not in the language
program 'range(1, 9)' 'for i in range(0):' '    s = 2' 'return R(x=7 // s)'
refused 2 'p.py:13:21: UnboundLocalError'
deep=$("$PYTHON3" -c 'print("(" * 5000 + "1" + ")" * 5000)')
program 'range(1, 9)' "return R(x=$deep)"
refused 2 'p.py:11:115: more than 100 open brackets'
program 'range(1, 9)' 'return R(x=M)'
printf '\000' >> "$tmp/p.py"
refused 2 'p.py:12:1: the file has a zero byte'
program 'range(1, 9)' 'while M > 1:' '    pass' 'return R(x=M)'
refused 2 'p.py:11:5: a while loop is not in the language here'
program 'range(1, 9)' 'return R(x=(y := M))'
refused 2 'p.py:11:1[0-9]: '
program 'range(1, 9)' 'return R(x=len(f"{M}"))'
refused 2 'p.py:11:20: '
program 'range(1, 9)' 'return R(x=0777)'
refused 2 'p.py:11:16: an int that starts with 0'

daemon_stop
echo "session-selir: $checks checks"
