#!/bin/sh
# Edges of values, of bytes in a file, and of depth: tests/selir_edges.py.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
exec "$PYTHON3" "$top_srcdir/tests/selir_edges.py" "$top_builddir/tests/selir_eval"
