#!/bin/sh
# Arrows between folders go one way: every #include of the tree against the list
# below, which is section 2 of the design.  Prints file:line of each that is not
# on it.  Then bad includes are planted in a copy, to see that they are caught.
set -eu
top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# folder: what it may include besides itself and the public "detent/..." headers.
# An entry is a folder or one header; * is anything.
rules='
include:
base:
schema:
kernels:
programs:
man:
systemd:
doc:
selir:     base
trace:     base
proto:     base
solver:    selir base
tuner:     solver selir trace base
profiler:  base proto
libdetent: base trace proto selir/vm.h
verify:    base trace
engines:   base trace
detentctl: base trace proto solver selir
detentd:   base selir solver tuner trace proto schema
tools:     *
bench:     *
tests:     *
'

# Files of the tree, of folders that have a rule; generated ones are elsewhere.
sources ()
{
    echo "$rules" | sed -n 's/:.*//p' | while read -r folder; do
        [ ! -d "$1/$folder" ] || find "$1/$folder" -type f \
            \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.inc' \)
    done | LC_ALL=C sort
}

# check ROOT: prints what is wrong; fails if anything is.
check ()
{
    for part in "$1"/*/local.mk; do
        [ -f "$part" ] || continue
        folder=$(basename "$(dirname "$part")")
        echo "$rules" | grep -q "^$folder:" || echo "$folder/: no rule in tests/check-layers.sh"
    done > "$tmp/bad"
    sources "$1" > "$tmp/list"
    [ -s "$tmp/list" ] || { echo "no sources under $1"; return 1; }
    xargs awk -v root="$1/" -v rules="$rules" '
    BEGIN {
        n = split (rules, line, "\n")
        for (i = 1; i <= n; i++) {
            m = split (line[i], word, /[: ]+/)
            for (k = 2; k <= m; k++)
                if (word[k] != "")
                    may[word[1], word[k]] = 1
        }
    }
    function bad(why) {
        print file ":" FNR ": " why ": " $0
    }
    FNR == 1 {
        file = substr (FILENAME, length (root) + 1)
        folder = file
        sub (/\/.*/, "", folder)
    }
    /^[ \t]*#[ \t]*include[ \t]*["<]/ {
        what = $0
        sub (/^[^"<]*/, "", what)
        quoted = substr (what, 1, 1) == "\""
        what = substr (what, 2)
        sub (/[">].*/, "", what)
        to = what
        sub (/\/.*/, "", to)
        if (quoted) {
            if (what == "config.h")
                next
            if (what !~ /\// || what ~ /(^|\/)\.\.?\//)
                bad("not written from the top of the tree")
            else if (to != folder && to != "detent" && !((folder, "*") in may) \
                     && !((folder, to) in may) && !((folder, what) in may))
                bad(folder " may not include this")
            else if (what == "base/log.h" && folder ~ /^(selir|solver|trace|tuner|proto|libdetent)$/)
                bad("libraries return text and do not log")
            next
        }
        if (what == "sqlite3.h" && file !~ /^detentd\/store[^\/]*\.[ch]$/ && folder !~ /^(tests|bench)$/)
            bad("only detentd/store*.c speaks SQL")
        if (what ~ /^(cuda|cublas|cupti|nccl|nvml|nvtx|nvrtc|curand|cooperative_groups|mma\.h|cub\/|thrust\/|cute\/|cutlass\/)/ \
            && file !~ /^kernels\/([^\/]+\/)?cuda\// && file !~ /^profiler\/[^\/]*cupti[^\/]*$/ \
            && file !~ /^tests\/gpu\// && file !~ /^bench\/gpu_/)
            bad("CUDA headers are for kernels/*/cuda and the CUPTI clock")
    }' < "$tmp/list" >> "$tmp/bad"
    cat "$tmp/bad"
    [ ! -s "$tmp/bad" ]
}

check "$top" || { echo "FAIL: includes against the arrows of the design"; exit 1; }

# The check itself: each plant must be found, at its file and line.
mkdir "$tmp/copy"
sources "$top" | while read -r file; do
    copy=$tmp/copy/${file#"$top"/}
    mkdir -p "$(dirname "$copy")"
    cp "$file" "$copy"
done
caught=0
plant () # FILE INCLUDE
{
    file=$tmp/copy/$1
    mkdir -p "$(dirname "$file")"
    printf '/* planted */\n\n  #  include %s // here\n' "$2" > "$file"
    if check "$tmp/copy" > "$tmp/out"; then
        echo "FAIL: $1 may include $2"
        exit 1
    fi
    if [ "$(wc -l < "$tmp/out")" -ne 1 ] || ! grep -q "^$1:3: " "$tmp/out"; then
        echo "FAIL: $1 includes $2, and the answer is:"
        cat "$tmp/out"
        exit 1
    fi
    rm "$file"
    caught=$((caught + 1))
}
plant base/planted.c '"selir/graph.h"'
plant base/planted.h '"err.h"'
plant selir/planted.c '"solver/cut.h"'
plant selir/planted.c '"../solver/cut.h"'
plant selir/planted.c '"base/log.h"'
plant solver/planted.c '"tuner/tune.h"'
plant tuner/planted.c '"detentd/store.h"'
plant trace/planted.c '"selir/vm.h"'
plant libdetent/planted.c '"selir/parse.h"'
plant detentctl/planted.c '"detentd/store.h"'
plant detentctl/planted.c '<sqlite3.h>'
plant detentd/planted.c '<sqlite3.h>'
plant kernels/gemm/cuda/planted.cu '"base/err.h"'
plant kernels/gemm/host/planted.c '<cuda_runtime.h>'
plant profiler/planted.c '<cupti.h>'
plant profiler/planted.c '"kernels/gemm/gemm.h"'
plant engines/ref/planted.c '"libdetent/select.h"'
plant include/detent/planted.h '"base/err.h"'
allow () # FILE INCLUDE
{
    mkdir -p "$(dirname "$tmp/copy/$1")"
    printf '#include %s\n' "$2" > "$tmp/copy/$1"
    check "$tmp/copy" > "$tmp/out" || { echo "FAIL: $1 may not include $2"; cat "$tmp/out"; exit 1; }
    rm "$tmp/copy/$1"
}
allow libdetent/planted.c '"selir/vm.h"'
allow detentd/store_planted.c '<sqlite3.h>'
allow kernels/gemm/cuda/planted.cu '<cuda_runtime.h>'
allow kernels/cuda/planted.c '<cupti.h>'
allow profiler/clock_cupti.c '<cupti.h>'
allow kernels/gemm/host/planted.c '"detent/backend.h"'
echo "check-layers: $(wc -l < "$tmp/list") files keep the arrows; $caught planted includes caught"
