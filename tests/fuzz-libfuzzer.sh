#!/bin/sh
# Build every fuzz target with libFuzzer and run each for FUZZ_SECONDS (30): it looks for
# inputs that the corpora lack.  FUZZ_TARGETS="parse simplify" for some of them only.
# New inputs and findings stay in $top_builddir/tests/fuzz/found/TARGET.  Ends with a
# line "N passed, N failed".
set -eu
CLANG=${CLANG:-clang}
command -v "$CLANG" >/dev/null 2>&1 || { echo "no $CLANG: skipped"; exit 77; }
: "${FUZZ_SECONDS:=30}" "${FUZZ_LIBS:=-lsodium -lxxhash -lzstd -ljansson -lyaml}"
work=$top_builddir/tests/fuzz/libfuzzer
mkdir -p "$work"
flags="-std=gnu17 -g -O1 -D_GNU_SOURCE -DDT_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=all
    -I$top_srcdir -I$top_srcdir/include -I$top_builddir"

rm -f "$work"/*.o "$work/lib.a"
for file in "$top_srcdir"/base/*.c "$top_srcdir"/selir/*.c "$top_srcdir"/trace/*.c "$top_srcdir"/solver/*.c; do
    folder=${file%/*}
    # shellcheck disable=SC2086
    "$CLANG" $flags -fsanitize=fuzzer-no-link -c "$file" -o "$work/${folder##*/}_$(basename "$file" .c).o"
done
ar rcs "$work/lib.a" "$work"/*.o

passed=0 failed=0
for source in "$top_srcdir"/tests/fuzz/fuzz_*.c; do
    name=$(basename "$source" .c)
    name=${name#fuzz_}
    case " ${FUZZ_TARGETS:-$name} " in *" $name "*) ;; *) continue ;; esac
    # shellcheck disable=SC2086
    "$CLANG" $flags -fsanitize=fuzzer "$source" "$work/lib.a" -o "$work/$name" $FUZZ_LIBS -lm
    found=$top_builddir/tests/fuzz/found/$name
    mkdir -p "$found"
    echo "fuzz_$name: $FUZZ_SECONDS s"
    if "$work/$name" -max_total_time="$FUZZ_SECONDS" -max_len=4096 -timeout=25 -rss_limit_mb=2048 \
        -artifact_prefix="$found/bad-" -print_final_stats=1 "$found" \
        "$top_srcdir/tests/fuzz/corpus/$name" >"$found.log" 2>&1; then
        passed=$((passed + 1))
    else
        echo "fuzz_$name failed: $found.log"
        tail -n 40 "$found.log"
        failed=$((failed + 1))
    fi
    grep -E 'number_of_executed_units|peak_rss' "$found.log" || true
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
