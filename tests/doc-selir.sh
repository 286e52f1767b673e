#!/bin/sh
# Every example of doc/selir.md, through detentctl and through CPython.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
exec "$PYTHON3" "$top_srcdir/tests/doc_selir.py" "$(cd "$top_srcdir" && pwd)" "$(cd "$top_builddir" && pwd)/detentctl/detentctl"
