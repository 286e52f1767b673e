# Part of tests/gpu/run: the steps without a daemon.
# shellcheck shell=sh disable=SC2154,SC2034  # of run

check () { echo "== $1"; step "$1" 0 "$folder/bin/check" "$plugin" "$@"; }

do_values () { check values; }
do_errors () { check errors; }
do_bits () { check bits; }
do_alone () { check alone; }
do_workspace () { check workspace; }

# Each fault must be caught by the check that guards against it.
do_planted ()
{
    echo '== planted faults: each must fail'
    SHOW=1
    DT_PLANT=split_k step planted-split-k 1 "$folder/bin/check" "$planted" bits
    DT_PLANT=epilogue step planted-epilogue 1 "$folder/bin/check" "$planted" bits
    DT_PLANT=workspace step planted-workspace 1 "$folder/bin/check" "$planted" workspace
    SHOW=6
}

# Whatever is asked of a context that a kernel ended says so, by the error's name.
do_lost ()
{
    echo '== lost: a kernel ends the context'
    DT_PLANT=trap SHOW=9 step lost-context 0 "$folder/bin/check" "$planted" lost
}

do_noise () { check noise; }

# The span by CUPTI against events, within 2% on a long kernel.
do_clocks () { check clocks; }

# refused NAME WORDS: the last log is one sentence with these words in it.
refused ()
{
    if [ "$(grep -c . "$out/$1.log")" -eq 1 ] && grep -q "$2" "$out/$1.log"; then good
    else bad "$1: not one line with '$2'"; fi
}

# A GPU at which another process works, and a CUPTI that another tool has.
do_busy ()
{
    echo '== busy: another process, then another profiler'
    "$folder/bin/gpu_gemm" "$plugin" >"$out/halfway.log" 2>&1 &
    other=$!
    sleep 1
    step busy 1 "$folder/bin/check" "$plugin" time 2560 8192 8 1
    refused busy 'computes on device 0'
    DETENT_CUDA_SHARED=1 step busy-shared 0 "$folder/bin/check" "$plugin" time 2560 8192 8 1
    wait "$other"
    # The first process met the second half-way.
    if grep 'started to compute on device 0' "$out/halfway.log" | sed 's/^/    /' | grep .; then good
    else bad 'busy: a process that appears half-way is not noticed'; fi
    if find_sanitizer; then
        "$tool" "$folder/bin/check" "$plugin" time 2560 8192 8 1 2>&1 | grep CUPTI >"$out/taken.log"
        sed 's/^/    /' "$out/taken.log"
        refused taken 'another profiler has it'
    fi
}

# Cold is cold.
do_caches ()
{
    echo '== caches: the same product with its weights in the cache and without'
    SHOW=20 step caches 0 "$folder/bin/caches"
}

# Every launch's record, through buffers that hold few.
do_records ()
{
    echo '== records: a million launches'
    step records 0 "$folder/bin/records"
}

find_sanitizer ()
{
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
    [ -n "$tool" ]
}

# The program's small check, without an error and without a hazard.
sanitized () # NAME PROGRAM
{
    if ! find_sanitizer; then
        echo "== $1: compute-sanitizer is not there, SKIPPED"
        return
    fi
    for what in memcheck racecheck; do
        echo "== $1: compute-sanitizer $what"
        SHOW=2 step "$1-$what" 0 "$tool" --error-exitcode 9 --tool $what \
            "$folder/bin/$2" "$plugin" small
    done
}

do_sanitizer () { sanitized gemm check; }

do_bench ()
{
    echo '== gemm beside cuBLASLt'
    SHOW=200 LIMIT=300 step bench 0 "$folder/bin/gpu_gemm" "$plugin"
}

# --- sums over ranks ---

sums () # NAME WANT PLUGIN WHAT
{
    step "$1" "$2" "$folder/bin/ranks" "$3" "$4"
}

group () # NAME WANT PLUGIN WHAT
{
    step "$1" "$2" "$folder/bin/group" "$3" "$4"
}

# Logical ranks on one GPU, and the faults that they must show.
do_sums ()
{
    echo '== all-reduce: 2 to 16 logical ranks'
    for what in bits offsets repeats; do sums "sums-$what" 0 "$plugin" $what; done
    echo '== all-reduce, planted faults: each must fail'
    SHOW=1
    for fault in ring hop; do DT_PLANT=$fault sums "sums-$fault" 1 "$planted" small; done
    DT_PLANT=barrier sums sums-barrier 1 "$planted" repeats
    SHOW=6
    sanitized all-reduce ranks
}

two_devices ()
{
    [ "$devices" -ge 2 ] && return 0
    echo "== $1: takes two GPUs, SKIPPED"
    return 1
}

do_pair ()
{
    two_devices pair || return
    echo '== all-reduce: two processes, two GPUs'
    group pair 0 "$plugin" pair
    echo '== all-reduce: three, four and eight processes on these GPUs'
    SHOW=20 group many 0 "$plugin" many
    DT_PLANT=ring SHOW=1 group many-ring 1 "$planted" many
    echo '== all-reduce: a rank that is lost, and a device'
    SHOW=20 DETENT_CUDA_PEER_MS=1500 group lost 0 "$plugin" lost
    DETENT_CUDA_PEER_MS=1500 group dead 0 "$planted" dead
}

do_sums_bench ()
{
    two_devices sums_bench || return
    echo '== all-reduce beside NCCL'
    SHOW=40 step sums-bench 0 "$folder/bin/gpu-allreduce"
}
