#!/bin/sh
# usage: kill-rounds.sh [ROUNDS]: kill detentd at so many random moments (default 50).
# Run by hand from the build's top folder, after `make check` has built the programs.
set -eu
top_builddir=${top_builddir:-$(pwd)}
export top_builddir
CK_RUN_CASE=kill DETENT_KILL_ROUNDS=${1:-50} exec "$top_builddir/tests/test_kill"
