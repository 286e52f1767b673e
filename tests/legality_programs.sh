#!/bin/sh
# Verdicts on random programs with small domains, beside CPython on every point of them.
# PROGRAMS=n SEED=s for others; by hand PROGRAMS=1000, a minute or two.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
exec "$PYTHON3" "$top_srcdir/tests/legality_programs.py" "$top_builddir/detentctl/detentctl" \
    "${PROGRAMS:-60}" "${SEED:-detent}"
