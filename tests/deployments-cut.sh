#!/bin/sh
# The pins of the shipped deployments are a least cut.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
PYTHONDONTWRITEBYTECODE=1 exec "$PYTHON3" "$top_srcdir/tests/deployments_cut.py" \
    "$top_builddir/detentctl/detentctl" "$top_srcdir"
