#!/bin/sh
# The shipped deployments, solved offline: pins, candidates and legal assignments.
set -eu
[ -n "${PYTHON3:-}" ] || { echo "no python3: skipped"; exit 77; }
exec "$PYTHON3" "$top_srcdir/tests/deployments.py" "$top_builddir/detentctl/detentctl" "$top_srcdir"
