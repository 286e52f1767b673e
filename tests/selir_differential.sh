#!/bin/sh
# Random SelIR programs: Detent beside CPython.  PROGRAMS=n SEED=s for others.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
exec "$PYTHON3" "$top_srcdir/tests/selir_differential.py" "$top_builddir/tests/selir_eval" \
    "${PROGRAMS:-250}" "${SEED:-detent}"
