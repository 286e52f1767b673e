#!/bin/sh
# The arithmetic of every op beside CPython's.  CASES=n SEED=s for others.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
exec "$PYTHON3" "$top_srcdir/tests/op_python.py" "$top_builddir/tests/op_cases" \
    "${CASES:-20000}" "${SEED:-7}"
