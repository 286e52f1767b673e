#!/bin/sh
# FlashAttention-3's assignments on Llama-3.1-70B, in both engines: legal ones by trying points, illegal
# ones by their counterexamples.  The whole by hand: EACH=500 TOTAL=1000000 tests/legality.sh, with the
# variables that `make check` sets.
set -eu
for engine in sglang vllm; do
    "$top_builddir/tests/legality" "$top_srcdir/deployments/llama-3.1-70b-tp4-h100-$engine.yaml" \
        "$top_srcdir/programs/$engine" "${EACH:-5}" "${TOTAL:-20000}"
done
