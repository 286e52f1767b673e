#!/bin/sh
# detentctl selir check and run, without a daemon: values and errors as CPython has
# them, refusals by name and place, hostile files.
set -eu
. "$top_srcdir/tests/lib.sh"
DETENT_ENDPOINT=ipc://$tmp/none.sock
export DETENT_ENDPOINT
attention=$top_srcdir/programs/detent/attention.py
limit=20

# want CODE PATTERN ARGUMENT...: exit code, and a pattern in stdout and stderr.
want ()
{
    want=$1 pattern=$2
    shift 2
    code "$want" "$@"
    [ -z "$pattern" ] || cat "$tmp/out" "$tmp/err" | grep -q -e "$pattern" || fail "no '$pattern'"
}

# opening TYPE...: the program up to the body of choose; one field out0, out1, ... a type.
opening ()
{
    cat <<'P'
from __future__ import annotations
from selir import Batch, Facts, Own, Record, Runtime, assume, knob, require, selection


class Model(Facts):
    K: int


class Call(Batch):
    M: Runtime[range(0, 1001)]
    n: Own[range(0, 9)]


class Choice(Record):
P
    i=0
    for type; do
        echo "    out$i: $type"
        i=$((i + 1))
    done
    cat <<'P'


@selection(family="trial")
def choose(facts: Model, call: Call) -> Choice:
    M, n, K = call.M, call.n, facts.K
P
}
run () { want=$1 pattern=$2 M=$3; want "$want" "$pattern" selir run "$tmp/p.py" --facts K=4096 --inputs "M=$M,n=${4:-0}"; }
# expr TYPE EXPRESSION M RESULT
expr ()
{
    { opening "$1"; echo "    return Choice(out0=$2)"; } > "$tmp/p.py"
    run 0 "^out0 = $4\$" "$3"
}
# body LINES: statements that set out0
body () { { opening int; printf '%s\n' "$@"; echo "    return Choice(out0=out0)"; } > "$tmp/p.py"; }

# --- floor division and modulo
for v in 1:-3:85 128:-2:84 300:0:0 301:0:1; do
    m=${v%%:*} rest=${v#*:}
    expr int '(M - 300) // 128' "$m" "${rest%:*}"
    expr int '(M - 300) % 128' "$m" "${rest#*:}"
done
expr int '-(-M // 128)' 300 3
expr int '(0 - M) // 2' 7 -4
expr int '(0 - M) % 2' 7 1
expr int 'M // (0 - 2)' 7 -4
expr int 'M % (0 - 2)' 7 -1
expr int '(0 - M) // (0 - 2)' 7 3
expr int '(M - 7) // -3' 7 0
expr int 'K // M' 8 512
run 2 'p.py:[0-9]*:[0-9]*: ZeroDivisionError' 0
says '^ *^'

# --- the edges of 64 bits
body '    x = -9223372036854775808 + M' '    out0 = x % -1'
run 0 '^out0 = 0$' 0
body '    x = -9223372036854775808 + M' '    out0 = x // -1'
run 0 '^out0 = 9223372036854775807$' 1
run 2 'p.py:[0-9]*:[0-9]*: OverflowError' 0
body '    out0 = (M + 152063) * 8192 * 8192 * 1048576'
run 2 'OverflowError' 1

# --- chained comparison
expr bool '1 < M < 64' 100 False
expr bool '1 < M < 64' 10 True
expr bool '1 < 2 == True' 0 False
expr bool '1 < M < 1 // M' 0 False
expr bool '3 > 2 in [2]' 0 True

# --- and, or
expr int 'False or 42' 0 42
expr int 'M and K // M' 0 0
expr int 'M and K // M' 2 2048
expr bool '(M == 0) or (K // M > 8)' 0 True
expr bool 'M == 1 or M == 2 or M == 3 or M == 4' 4 True

# --- precedence
expr int '-2 ** 2' 0 -4
expr int '2 ** 3 ** 2' 0 512
expr bool 'not 0 == 1' 0 True
expr int '-7 % 4' 0 1
expr int '1 if 0 else 2 or 3' 0 2
expr int '8 >> 1 + 1' 0 2
expr bool '1 | 2 == 2' 0 False
expr bool 'M | 2 == 2' 1 False

# --- set on one branch only
body '    if M > 4:' '        s = 2' '    out0 = s'
run 0 '^out0 = 2$' 8
run 2 'p.py:[0-9]*:[0-9]*: UnboundLocalError' 1
says 'out0 = s'
body '    if M > 4:' '        s = 2' '    elif M > 2:' '        s = 1' '    out0 = s'
run 0 '^out0 = 1$' 3
run 2 'UnboundLocalError' 1

# --- depth
deep () { "$PYTHON3" -c "print('    out0 = ' + '(' * $1 + 'M' + ')' * ($1))"; }
for depth in 5000 1000000; do
    body "$(deep $depth | cut -c1-1000000)"
    want 2 'p.py:[0-9]*:[0-9]*: ' selir check "$tmp/p.py"
done
body "    out0 = $("$PYTHON3" -c 'print("[" * 100000)')"
want 2 'p.py:[0-9]*:[0-9]*: ' selir check "$tmp/p.py"
{ opening int; "$PYTHON3" -c 'for i in range(101): print("    " * (i + 1) + "if M:")
print("    " * 102 + "pass")'; echo '    return Choice(out0=1)'; } > "$tmp/p.py"
want 2 'p.py:[0-9]*:[0-9]*: ' selir check "$tmp/p.py"

# --- bytes at the edge
body '    out0 = M + 1'
cp "$tmp/p.py" "$tmp/plain"
same () { run 0 '^out0 = 8$' 7; }
same
sed 's/$/\r/' "$tmp/plain" > "$tmp/p.py"; same
tr '\n' '\r' < "$tmp/plain" > "$tmp/p.py"; same
{ printf '\357\273\277'; cat "$tmp/plain"; } > "$tmp/p.py"; same
{ printf '\r\n\r\n'; cat "$tmp/plain"; } > "$tmp/p.py"; same
{ printf '\f'; cat "$tmp/plain"; } > "$tmp/p.py"; same
printf '%s' "$(cat "$tmp/plain")" > "$tmp/p.py"; same
bad () { want 2 'p.py:[0-9]*:[0-9]*: ' selir check "$tmp/p.py"; }
{ printf '\357\273\277\357\273\277'; cat "$tmp/plain"; } > "$tmp/p.py"; bad
{ cat "$tmp/plain"; printf '\0\n'; } > "$tmp/p.py"; bad
{ cat "$tmp/plain"; printf 'x = 1 \\\n'; } > "$tmp/p.py"; bad
{ opening int; printf '\tout0 = 1\n        return Choice(out0=out0)\n'; } > "$tmp/p.py"; bad
: > "$tmp/p.py"; bad

# --- what is not in the language is refused by name, in one diagnostic
refuse () # WHAT LINE...
{
    what=$1
    shift
    body "$@" '    out0 = 1'
    want 2 "p.py:[0-9]*:[0-9]*: .*$what" selir check "$tmp/p.py" --facts K=1
    [ "$(grep -c 'p.py:[0-9]*:[0-9]*: ' "$tmp/err")" -eq 1 ] || fail "a cascade"
    code 2 selir check "$tmp/p.py" --syntax
    [ "$(wc -l < "$tmp/out")" -eq 1 ] && [ ! -s "$tmp/err" ] \
        && grep -q "^p.py:[0-9]*:[0-9]*: " "$tmp/out" || fail "--syntax is not one line"
}
refuse 'f-string' '    x = f"{M}"'
refuse ':=' '    x = (y := 1)'
refuse 'while' '    while M:' '        pass'
refuse 'try' '    try:' '        pass' '    finally:' '        pass'
refuse 'with' '    with M:' '        pass'
refuse 'match' '    match M:' '        case 1:' '            pass'
refuse 'global' '    global x'
refuse 'async' '    async def f():' '        pass'
refuse 'def' '    def f():' '        return 1'
refuse '' '    x = [1, 2][0:1]'
refuse '' '    x = 0777'
body '    x = "%d" % M' '    out0 = 1' # types are found while specialising
want 2 'p.py:[0-9]*:[0-9]*: ' selir check "$tmp/p.py" --facts K=1
expr int '1_000 + M' 1 1001

# --- run: requests, knobs, conditions, domains
{
    opening int int bool
    cat <<'P'
    w = knob("w", (1, 2), default=2)
    require(n < 8, "n is small")
    assume(M != 13, "no bad luck")
    return Choice(out0=M * w, out1=M + n, out2=n == 0)
P
} > "$tmp/p.py"
run 0 '^out1 = 5/8/6$' 5 0/3/1
has '^out0 = 10$'
has '^out2 = True/False/False$'
want 0 '^out0 = 5$' selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0 --knobs w=1
want 2 "knob w = 3 is none of 1, 2" selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0 --knobs w=3
sed -i 's/w = .*/w = 2 if M * knob("share", (0.8, 0.85), default=0.8) < 4.25 else 1/' "$tmp/p.py"
want 0 '^out0 = 10$' selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0
want 0 '^out0 = 5$' selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0 --knobs share=0.850
want 2 "knob share = 0.9 is none of 0.8, 0.85" selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0 --knobs share=0.9
want 2 "knob share = x is none of 0.8, 0.85" selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0 --knobs share=x
want 2 "no knob 'W'" selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0 --knobs W=1
want 5 'request 1: p.py:[0-9]*:[0-9]*: require failed: n is small' selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0/8
want 5 'assume failed: no bad luck' selir run "$tmp/p.py" --facts K=1 --inputs M=13,n=0
want 5 'M = 1001 is outside its domain 0..1000' selir run "$tmp/p.py" --facts K=1 --inputs M=1001,n=0
want 5 'M = x is outside' selir run "$tmp/p.py" --facts K=1 --inputs M=x,n=0
want 2 "input 'n' is missing" selir run "$tmp/p.py" --facts K=1 --inputs M=5
want 2 "no input 'm'" selir run "$tmp/p.py" --facts K=1 --inputs m=5,n=1
want 2 "fact 'K'.*missing" selir run "$tmp/p.py" --inputs M=5,n=1
want 2 "fact 'K' is a bool" selir run "$tmp/p.py" --facts K=True --inputs M=5,n=1
want 2 "'J'" selir run "$tmp/p.py" --facts K=1,J=2 --inputs M=5,n=1
want 2 'gives K twice' selir run "$tmp/p.py" --facts K=1,K=2 --inputs M=5,n=1
want 2 'is not NAME=VALUE' selir run "$tmp/p.py" --facts K --inputs M=5,n=1
want 0 '' selir run "$tmp/p.py" --facts K=1 --inputs M=5,n=0/3 --json
json 'assert o["requests"]==2 and o["fields"]=={"out0":10,"out1":[5,8],"out2":[True,False]}, o'

# --- a domain of floats: members by their bits
sed '/^    w = /,$d; s/M: Runtime.*/M: Runtime[0.5, -0.0, 1e-3]/; s/out0: int/out0: float/' "$tmp/p.py" > "$tmp/f.py"
echo '    return Choice(out0=M - 0.25 if M else M, out1=n, out2=M < 0.25)' >> "$tmp/f.py"
want 0 '^out0 = 0.25$' selir run "$tmp/f.py" --facts K=1 --inputs M=0.50,n=0
want 0 '^out0 = -0.0$' selir run "$tmp/f.py" --facts K=1 --inputs M=-0.0,n=0
want 5 'M = 0.0 is outside its domain -0.0, 0.001, 0.5' selir run "$tmp/f.py" --facts K=1 --inputs M=0.0,n=0
want 5 'M = 0.25 is outside its domain' selir run "$tmp/f.py" --facts K=1 --inputs M=0.25,n=0

# --- imports, data files, and facts of a deployment
mkdir "$tmp/m"
sed 's|^class Model|from shared import twice\n\n\nclass Model|; s|out0=M \* w|out0=twice(M)|' "$tmp/p.py" > "$tmp/m/p.py"
printf 'def twice(x: int) -> int:\n    return 2 * x\n' > "$tmp/m/shared.py"
want 0 '^out0 = 14$' selir run "$tmp/m/p.py" --facts K=1 --inputs M=7,n=0
rm "$tmp/m/shared.py"
want 2 'p.py:[0-9]*:[0-9]*: .*shared' selir check "$tmp/m/p.py"
sed 's/K: int/k: str/; s/ facts.K$/ table(facts.k)["k"]/; s/selection$/selection, table/; s/M \* w/M * K/' "$tmp/p.py" > "$tmp/m/p.py"
mkdir "$tmp/d"
sed '/^sites:/,$d' "$host" > "$tmp/d/d.yaml"
cat >> "$tmp/d/d.yaml" <<'Y'
sites:
  - {family: trial, site: a, program: p.py, calls_per_step: 1, facts: {k: k.json}}
claims: []
Y
want 4 'data file k.json of the facts is not in .*/m$' selir run "$tmp/m/p.py" --facts k=k.json --inputs M=7,n=0
want 4 'k.json of the facts is neither in .*/d nor in .*/m$' selir run "$tmp/m/p.py" --deployment "$tmp/d/d.yaml" --inputs M=7,n=0
echo '{"k": 3}' > "$tmp/m/k.json"
want 0 '^out0 = 21$' selir run "$tmp/m/p.py" --facts k=k.json --inputs M=7,n=0
want 0 '^p.py: family trial; [0-9]* values' selir check "$tmp/m/p.py" --facts k=k.json
echo '{"k": 4}' > "$tmp/d/k.json"
want 0 '^out0 = 28$' selir run "$tmp/m/p.py" --deployment "$tmp/d/d.yaml" --inputs M=7,n=0
want 2 'k of the facts: a data file has no folder: m/k.json' selir run "$tmp/m/p.py" --facts k=m/k.json --inputs M=7,n=0
want 2 'there is no data file .k' selir run "$tmp/m/p.py" --facts k=k --inputs M=7,n=0
want 0 '^attention.py: family attention; checked without its 11 facts' selir check "$attention"
want 0 'attention.py: family attention; [0-9]* values' selir check "$attention" --deployment "$host"
want 0 '' selir check "$attention" --syntax
[ ! -s "$tmp/out" ] || fail "--syntax says something of a good program"
inputs=requests=2,longest_query=1,longest_kv=5000,total_kv=9000,query_length=1,kv_length=4000/5000
want 0 '^block_n = 128$' selir run "$attention" --deployment "$host" --inputs $inputs
want 0 '^tile_m = [0-9]*/[0-9]*$' selir run "$attention" --deployment "$host" --site attention/decoder --inputs $inputs
# A window shows 256 of the keys: one split holds them, and a block is no longer than it.
want 0 '^split_stride = 4096$' selir run "$attention" --deployment "$host" --inputs $inputs
want 0 '^split_stride = 0$' selir run "$attention" --deployment "$host" --facts window=0,units=1 --inputs $inputs
want 0 '^split_stride = 256$' selir run "$attention" --deployment "$host" --facts window=256 --inputs $inputs
want 0 '^block_n = 32$' selir run "$attention" --deployment "$host" --facts window=40 --inputs $inputs
want 5 'at most 64 splits' selir run "$attention" --deployment "$host" --facts units=64 \
    --inputs requests=1,longest_query=1,longest_kv=32768,total_kv=32768,query_length=1,kv_length=32768
want 0 '^split_stride = 256$' selir run "$attention" --deployment "$host" --facts units=64,window=1024 \
    --inputs requests=1,longest_query=1,longest_kv=32768,total_kv=32768,query_length=1,kv_length=32768
want 5 'max_batch\|requests = 2 is outside its domain 1..1' selir run "$attention" --deployment "$host" --facts max_batch=1 --inputs $inputs
want 4 "no site 'x'" selir run "$attention" --deployment "$host" --site x --inputs $inputs
want 2 'goes with --deployment' selir run "$attention" --site x --inputs $inputs
want 4 'none.py' selir check "$tmp/none.py"
want 4 'none.py' selir check "$tmp/none.py" --syntax
want 2 'ends in .py' selir check "$host"
echo "ctl-selir: $checks checks"
