#!/bin/sh
# vLLM's programs: choices worked out by hand, and Detent's vm beside CPython.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
exec "$PYTHON3" "$top_srcdir/tests/programs_vllm.py" "$top_builddir/tests/selir_eval"
