#!/bin/sh
# The size of cuts of graphs of 10,000 values against LEMON's flow value.  Skipped
# where LEMON or a C++ compiler is missing: it is used by this test alone.
set -u
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
pkg-config --exists lemon 2>/dev/null || { echo "no LEMON: skipped"; exit 77; }
${CXX:-c++} -O1 -o "$dir/flow" "$top_srcdir/tests/lemon_flow.cc" 2>"$dir/log" \
    || { echo "no C++ compiler that takes LEMON: skipped"; exit 77; }
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    "$top_builddir/tests/cut_graphs" "$seed" 10000 >"$dir/graph" || { echo "no cut of $seed"; exit 1; }
    "$dir/flow" <"$dir/graph" || exit 1
done
