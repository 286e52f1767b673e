#!/bin/sh
# A trace of products of 0, 1, 0 and 7 rows, tuned, committed and
# verified: the empty calls are counted, start nothing, and harm no later one; and a
# program that divides by the rows says where.  (Bits of M = 1 against M = 64: tests/
# test_gemm_invariance.c; K = 0, N = 1 and launches of no rows: tests/test_gemm.c.)
set -eu
. "$top_srcdir/tests/daemon.sh"
for_both='--deployment trial --workload w'

trial 'max_batch: 8, token_budget: 16' \
    'family: gemm, site: product, program: gemm.py, facts: {n: 64, k: 128, bf16: true, output_bf16: false, units: 2}'
cat >> "$tmp/d.yaml" <<'E2'
claims:
  - {family: gemm, field: tile_m, reason: r, source: s}
  - {family: gemm, field: tile_n, reason: r, source: s}
  - {family: gemm, field: order, reason: r, source: s}
E2
backends=$tmp/backends
mkdir "$backends"
ln -s "$top_builddir/.libs/backend-steady.so" "$backends/detent-backend-host.so"
ln -s "$top_builddir/.libs/detent-backend-host.so" "$backends/host.so"
daemon_start
"$top_builddir/tests/make_tokens" trial product "$tmp/t.dtrace" 0 1 0 7
code 0 trace submit "$tmp/t.dtrace" --workload w
has '4 calls, 3 distinct'
code 0 solve "$tmp/d.yaml"
code 0 tune $for_both --budget 60 --json
"$PYTHON3" - "$tmp/out" <<'E2' || fail "the tune's costs"
import json, math, sys
text = open(sys.argv[1]).read()
assert "NaN" not in text and "Infinity" not in text, text
E2
code 0 commit $for_both -m empty
for rows in 20 200; do
    exits 0 "$top_builddir/detent-verify" $for_both --trace "$tmp/t.dtrace" \
        --backend "$top_builddir/.libs/detent-backend-host.so" --family gemm --site product \
        --rows "$rows"
    grep -q '^Detent  *[0-9][0-9]*  *0 ' "$tmp/out" || fail "Detent changed rows"
done
daemon_stop

sed 's/^    splits = 1$/    splits = 1 + 1 \/\/ (2 * call.tokens)/' "$DETENT_PROGRAMS/gemm.py" > "$tmp/divides.py"
! cmp -s "$tmp/divides.py" "$DETENT_PROGRAMS/gemm.py" || fail "nothing divides"
facts=n=64,k=128,bf16=true,output_bf16=false,units=2,token_budget=16
code 2 selir run "$tmp/divides.py" --facts "$facts" --inputs tokens=0
says 'divides.py:[0-9]*:[0-9]*: .*ZeroDivisionError'
code 0 selir run "$tmp/divides.py" --facts "$facts" --inputs tokens=1
echo "b35: ok"
