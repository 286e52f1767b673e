#!/bin/sh
# Every construct of Python is accepted, or refused by name: tests/selir_refusals.py.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
exec "$PYTHON3" "$top_srcdir/tests/selir_refusals.py" "$top_builddir/tests/selir_eval"
