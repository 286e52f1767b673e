#!/bin/sh
# Replay each fuzz target's corpus: tests/fuzz/corpus/NAME goes to fuzz_NAME.
set -eu
failed=0
for target in "$top_builddir"/tests/fuzz/fuzz_*; do
    name=${target##*/fuzz_}
    case $name in *.*) continue ;; esac
    [ -x "$target" ] && [ -f "$target" ] || continue
    echo "fuzz_$name: $(ls "$top_srcdir/tests/fuzz/corpus/$name" | wc -l) files in the corpus"
    "$target" "$top_srcdir/tests/fuzz/corpus/$name" || { echo "fuzz_$name failed"; failed=1; }
done
exit $failed
