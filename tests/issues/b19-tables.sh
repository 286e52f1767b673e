#!/bin/sh
# A table whose keys are buckets (16, 32), with a "version" among
# them, and values above the last.  The bucket is the program's own lookup, so solving,
# tuning, verifying and serving all use that one; a row is legal only if it is for every
# input that falls to it.  (Free tables: tests/test_libdetent.c, b19_table_edges.)
set -eu
. "$top_srcdir/tests/lib.sh"

echo '{"16": {"step": 1}, "version": "3.2.0", "32": {"step": 2}}' > "$tmp/t.json"
cat > "$tmp/rows.py" <<'E'
from __future__ import annotations
from selir import Batch, Facts, Record, Runtime, require, selection, table


class Model(Facts):
    tuned: str
    most: int
    metadata: bool


class Call(Batch):
    tokens: Runtime[range(1, facts.most + 1)]


class Choice(Record):
    step: int


@selection(family="gemm")
def choose(facts: Model, call: Call) -> Choice:
    rows = table(facts.tuned)
    keys = [key for key in rows if key != "version" or not facts.metadata]
    sizes = [int(key) for key in keys]
    row = sum(int(call.tokens > size) for size in sizes)
    require(row < len(keys), "tokens are beyond the table")
    step = [rows[key]["step"] for key in keys][min(row, len(keys) - 1)]
    require(step * 16 >= call.tokens, "a step takes at most 16 tokens")
    return Choice(step=step)
E
# deployment MOST METADATA
deployment ()
{
    trial "most: $1" "family: gemm, site: s, program: rows.py, facts: {tuned: t.json, metadata: $2}"
}
solve ()
{
    code "$1" solve --offline --why-illegal "$tmp/d.yaml"
    cat "$tmp/out" "$tmp/err" | grep -q -e "$2" || fail "no '$2'"
}

# 17 is the first that falls to the second row: the first row is illegal for it
deployment 32 true
solve 0 'illegal: choose.step=1: .*tokens=17: a step takes at most 16 tokens'
solve 0 'legal 1 '
# all fall to the first row up to 16
deployment 16 true
solve 0 'No pins'
# 33 and 16384 are beyond the table: no row is legal for them
for most in 33 16384; do
    deployment $most true
    solve 5 'no assignment is legal'
done
deployment 33 true
solve 5 'tokens=33: tokens are beyond the table'
# a key that is no number is an error by its name, unless the program knows it
deployment 32 false
solve 2 "version"
echo "b19-tables: $checks checks"
