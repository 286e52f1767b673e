# Part of tests/gpu/run: the closing table: each figure that a bar is held against, of the
# steps that ran.
# shellcheck shell=sh disable=SC2154,SC2034  # of run

figure () # WHAT LOG SED-SCRIPT
{
    [ -f "$out/$2.log" ] || return 0
    sed -n "$3" "$out/$2.log" | while IFS= read -r text; do
        printf '%-34s %s\n' "$1" "$text"
    done
}

figures_of_tune () # DEPLOYMENT
{
    for how in tune exhaustive; do
        figure "$how, $1" "$1-$how" 's/^job [0-9]*: tune of [^,]*, \(.*\)/\1/p; /MERGED MEASURED/,/^$/{/./p}'
    done
    grep -q '^bits' "$out/$1-exhaustive.log" 2>/dev/null || return 0
    if [ "$(grep '^bits' "$out/$1-tune.log")" = "$(grep '^bits' "$out/$1-exhaustive.log")" ]; then
        printf '%-34s %s\n' "loss, $1" 'none: both choose the same assignments'
    else
        printf '%-34s %s\n' "loss, $1" 'the exhaustive tune chooses other assignments: see its ratios'
    fi
}

# The rows that the bars name, of bench/gpu-allreduce: in a graph, and call by call.
figures_of_sums ()
{
    [ -f "$out/sums-bench.log" ] || return 0
    awk '$1 == 16384 || $1 == 67108864 {
        printf "%-34s in a graph %s of NCCL (%s us), call by call %s (%s us)\n", "all-reduce, " $1 " bytes",
               $(NF - 3), $2, $NF, $(NF - 2) }' "$out/sums-bench.log"
}

figures ()
{
    echo '== figures'
    figure 'kernel against itself' noise 's/^noise: //p'
    figure 'CUPTI beside events' clocks 's/^clocks: //p'
    figure 'idle daemon' idle 's/^idle: //p'
    figure 'records' records 's/^million: //p'
    figure 'cold beside warm' caches 's/^caches: //p'
    figure 'emptying the L2 cache' caches 's/^sweeps: //p'
    figure 'gemm beside the first pick' bench 's/^all 112 points: //p'
    for what in values bits alone workspace; do
        figure "gemm, $what" $what 's/^[a-z]*: \([0-9]* checks.*\)/\1/p'
    done
    for what in bits offsets repeats; do
        figure "all-reduce, $what" sums-$what 's/^[a-z]*: \([0-9]* checks.*\)/\1/p'
    done
    figure 'all-reduce, two processes' pair 's/^\(rank .*\)/\1/p'
    figure 'all-reduce, many processes' many 's/^\(rank .*\)/\1/p'
    figures_of_sums
    for what in planted-split-k planted-epilogue planted-workspace sums-ring sums-hop sums-barrier; do
        figure "must fail: $what" $what 's/^[a-z]*: \([0-9]* checks.*\)/\1/p'
    done
    figure 'must fail: many-ring' many-ring 's/^\(rank .*\)/\1/p'
    for what in product-none product-split_k product-epilogue product-workspace sum-none sum-ring \
            sum-hop_two_shot sum-barrier; do
        figure "certify: $what" certify-$what 's/^\(gemm\|allreduce\)  *[a-z]* *\(.*\)/\2/p'
    done
    for what in gemm-memcheck gemm-racecheck all-reduce-memcheck all-reduce-racecheck; do
        figure "$what" $what 's/^=* *\(.*SUMMARY.*\)/\1/p'
    done
    for one in qwen3-30b-a3b-tp2-h200 qwen3-30b-a3b-h200 llama-3.1-70b-tp4-h200 llama-3.1-70b-tp2-h200 range; do
        figure "certify, $one" "$one-certify" 's/^job [0-9]*: certify of [^,]*, \(.*\)/\1/p'
        figures_of_tune "$one"
        figure "free table, $one" "$one-tune" 's/^ *free table: //p; s/^ *\(.*with free tables.*\)/\1/p'
    done
}
