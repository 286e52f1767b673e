# Part of tests/gpu/run: the steps with detentd, as a user goes.
# shellcheck shell=sh disable=SC2154,SC2034  # of run

ctl () # NAME WANT ARGUMENT...
{
    name=$1 want=$2
    shift 2
    echo "-- detentctl $*"
    LIMIT=${LIMIT:-200} step "$name" "$want" "$folder/bin/detentctl" "$@"
}

start_daemon () # [NAME] of its own store
{
    state=$tmp/state${1-} run=$tmp/run${RUN-}
    mkdir -p -m 700 "$state" "$tmp/run" "$run"
    DETENT_ENDPOINT=ipc://$run/detentd.sock
    DETENT_PROGRAMS=$folder/programs
    DETENT_AUTHOR=gpu
    export DETENT_ENDPOINT DETENT_PROGRAMS DETENT_AUTHOR
    "$folder/bin/detentd" --state-dir "$state" --runtime-dir "$run" \
        --backend-dir "${BACKENDS:-$folder/lib}" --profiler "$folder/bin/detent-profiler" \
        --lock-dir "$tmp/run" --foreground \
        >"$out/detentd.log" 2>&1 &
    daemon=$!
    for turn in 1 2 3 4 5 6 7 8 9 10; do
        "$folder/bin/detentctl" --timeout 5 status >/dev/null 2>&1 && return 0
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.3
    done
    bad "detentd does not start: $(tail -n 1 "$out/detentd.log")"
    return 1
}

stop_daemon ()
{
    kill "$daemon"
    wait "$daemon"
    daemon=
}

# The whole way of a user: trace, solve, certify, tune, commit, fetch.  What is certified
# takes most of the time: every padding of one site of the first deployment, else one
# assignment a site, that of one chain and no padding.
session_of () # DEPLOYMENT ASSIGNMENT
{
    echo "== a session with detentd: $1"
    both="--deployment $1 --workload chat"
    SHOW=3 ctl "$1-import" 0 trace import "${LOG:-$folder/azure_conv_sample.csv}" --format azure-csv \
        --deployment "${DEPLOYMENTS:-$folder}/$1.yaml" --requests 100 -o "$tmp/$1.dtrace"
    SHOW=1 ctl "$1-submit" 0 trace submit "$tmp/$1.dtrace" --workload chat
    SHOW=1 ctl "$1-solve" 0 solve "${DEPLOYMENTS:-$folder}/$1.yaml"
    SHOW=20 ctl "$1-certify" 0 certify "$1" --assignment "$2"
    both="$both --budget ${TUNE_BUDGET:-20} --max-calls ${CALLS:-12}"
    # shellcheck disable=SC2086  # options and their values
    SHOW=30 ctl "$1-tune" 0 tune $both
    # shellcheck disable=SC2086
    [ "${EXHAUSTIVE:-yes}" = no ] || SHOW=30 ctl "$1-exhaustive" 0 tune $both --exhaustive --anew
    both="--deployment $1 --workload chat"
    SHOW=3 ctl "$1-commit" 0 commit $both -m 'tuned on the GPU'
    SHOW=20 ctl "$1-show" 0 show $both
    SHOW=3 ctl "$1-fetch" 0 fetch $both
}

do_session ()
{
    sessions=${DETENT_GPU_SESSIONS-}
    [ -n "$sessions" ] || { two_devices 'the session of two families' && sessions=both; } \
        || sessions='qwen llama'
    start_daemon || return
    for one_session in $sessions; do
        "session_$one_session"
    done
    stop_daemon
}

# --- certificates that must not be ---

# certified WANT FAULT SITE OPTION...: what certify says of a backend with the fault.
certified ()
{
    verdict=$1 fault=$2 site=$3
    shift 3
    ln -sf "$planted" "$tmp/planted/detent-backend-planted-$fault.so"
    sed -e "s/FAULT/$fault/" "$tmp/planted/$site.yaml" >"$tmp/planted/$site-$fault.yaml"
    # In a store of its own: by name and version it is the same backend as the others.
    start_daemon "-$site-$fault" || return
    SHOW=0 ctl "certify-$site-$fault-solve" 0 solve "$tmp/planted/$site-$fault.yaml" >/dev/null
    SHOW=6 ctl "certify-$site-$fault" "$verdict" certify "$site-$fault" "$@"
    stop_daemon
}

# The planted backend in the place of the shipped one: without a fault it gets its
# certificates, with one it gets none.  (A rounding at each rank that all kernels have alike
# varies with nothing: `sums` finds it, against the sum on the host.)  A batch of sums over four ranks has 1,080 runs,
# with another context that computes beside.
do_planted_certify ()
{
    echo '== certify: no certificate for planted faults'
    small_deployments
    BACKENDS=$tmp/planted
    certified 0 none product --assignment product:pad=1
    for fault in split_k epilogue workspace; do
        certified 1 $fault product --assignment product:pad=1
    done
    certified 0 none sum --repeats 60
    for fault in ring hop_two_shot barrier; do
        certified 1 $fault sum --repeats 60
    done
    unset BACKENDS
}

# --- another process on the device of a tune ---

# says NAME WORDS: the step's log has these words.
says ()
{
    if grep -q "$2" "$out/$1.log"; then good
    else bad "$1: no '$2'"; fi
}

# The number of the job that a step's log names first.
job_of () { sed -n 's/^job \([0-9]*\):.*/\1/p' "$out/$1.log" | head -n 1; }

# The devices are nobody's, but for a moment: a trial of a held one is short.
free_devices () # STEP
{
    for _ in 1 2 3 4 5; do
        held=$(nvidia-smi --query-compute-apps=pid --format=csv,noheader 2>/dev/null | grep -c .)
        [ "$held" -ne 0 ] || { good; return; }
        sleep 0.7
    done
    bad "$1: $held processes hold a device"
}

# A long run of another process, not of detentd's; ended by `leave`.
come ()
{
    DETENT_CUDA_SHARED=1 "$folder/bin/gpu_gemm" "$plugin" >/dev/null 2>&1 &
    other=$!
}
leave () { kill "$other" 2>/dev/null; wait "$other" 2>/dev/null; }

# One that is there is refused, one that comes ends the job, and beside one that may stay the
# result says so.  What was tuned before stays.
do_contended ()
{
    echo '== contended: another process on the device of a tune'
    small_deployments
    start_daemon -contended || return
    small_product contended
    # shellcheck disable=SC2086  # two options and their values
    SHOW=1 ctl contended-alone 0 tune $both --budget 3
    free_devices contended # its worker ends with the job, and an idle daemon holds nothing
    come
    sleep 3
    # shellcheck disable=SC2086
    ctl contended-refused 10 tune $both --anew
    says contended-refused 'computes on device 0'
    # shellcheck disable=SC2086
    SHOW=0 ctl contended-shared 0 tune $both --budget 3 --anew --shared
    says contended-shared 'contended: 1 other'
    leave
    # shellcheck disable=SC2086
    SHOW=1 ctl contended-detached 0 tune $both --budget 120 --max-calls 200 --exhaustive --anew --detach
    sleep 2
    come
    ctl contended-halfway 10 attach "$(job_of contended-detached)"
    says contended-halfway 'started to compute on device 0'
    leave
    # shellcheck disable=SC2086
    SHOW=0 ctl contended-commit 0 commit $both -m 'what was tuned stays'
    stop_daemon
    echo '-- and by events, as the result says'
    DETENT_CUDA_CLOCK=events
    export DETENT_CUDA_CLOCK
    start_daemon -contended || return
    # shellcheck disable=SC2086
    SHOW=1 ctl by-events 0 tune $both --budget 3
    says by-events 'measurements by CUDA events'
    stop_daemon
    unset DETENT_CUDA_CLOCK
}

# --- a daemon that is idle while all else runs: its clock must still give times after that ---

do_idle ()
{
    echo '== idle: a tune, then nothing'
    RUN=-idle
    start_daemon -idle || return
    small_product idle
    # shellcheck disable=SC2086  # two options and their values
    SHOW=1 ctl idle-before 0 tune $both --budget 2
    idle=$daemon daemon='' idle_since=$(date +%s)
    unset RUN
}

do_idle_ends ()
{
    [ -n "$idle" ] || return
    DETENT_ENDPOINT=ipc://$tmp/run-idle/detentd.sock
    both='--deployment product-small --workload chat'
    left=$((DETENT_GPU_IDLE - ($(date +%s) - idle_since)))
    [ "$left" -le 0 ] || sleep "$left"
    free_devices idle # an idle daemon holds nothing
    echo "idle: a tune after $(($(date +%s) - idle_since)) s" | tee "$out/idle.log"
    # shellcheck disable=SC2086
    SHOW=1 ctl idle-after 0 tune $both --budget 2 --anew
    daemon=$idle idle=
    stop_daemon
}

# The small product on the shipped backend, certified, in the daemon that runs; its options
# in $both.
small_product () # STEP
{
    small_deployments
    sed -e 's/FAULT/small/; s/^backend:.*/backend: cuda/' "$tmp/planted/product.yaml" >"$tmp/product-small.yaml"
    both='--deployment product-small --workload chat'
    SHOW=0 ctl "$1-import" 0 trace import "$folder/azure_conv_sample.csv" --format azure-csv \
        --deployment "$tmp/product-small.yaml" --requests 100 -o "$tmp/product-small.dtrace"
    SHOW=0 ctl "$1-submit" 0 trace submit "$tmp/product-small.dtrace" --workload chat
    SHOW=0 ctl "$1-solve" 0 solve "$tmp/product-small.yaml"
    SHOW=0 ctl "$1-certify" 0 certify product-small
}

small_deployments ()
{
    mkdir -p "$tmp/planted"
    head='version: 1
model: planted
engine: {name: detent-ref, build: "1"}
backend: planted-FAULT
limits: {max_batch: 64, max_context: 4096, max_query: 512, token_budget: 512}'
    cat >"$tmp/planted/product.yaml" <<END
$head
name: product-FAULT
parallelism: {tp: 1}
sites:
  - family: gemm
    site: product
    program: gemm_cuda.py
    calls_per_step: 1
    facts: {n: 1280, k: 2048, output_bf16: true, units: 132}
END
    cat >"$tmp/planted/sum.yaml" <<END
$head
name: sum-FAULT
parallelism: {tp: 4}
sites:
  - family: allreduce
    site: sum
    program: allreduce_cuda.py
    calls_per_step: 1
    facts: {ranks: 4, bf16: true, row_bytes: 2048, workspace_bytes: 16777216, max_bytes: 67108864}
END
}

do_pair_session ()
{
    two_devices pair_session || return
    start_daemon || return
    CALLS=48 TUNE_BUDGET=60 session_of llama-3.1-70b-tp2-h200 layer:order=0
    committed llama-3.1-70b-tp2-h200
    make_range
    LOG=$tmp/range.csv DEPLOYMENTS=$tmp EXHAUSTIVE=no CALLS=64 \
        TUNE_BUDGET=60 session_of range layer:order=0
    committed range
    stop_daemon
}

# All messages from 1 KiB to 64 MiB, three of each doubling: prompts far apart in time.
make_range ()
{
    sed -e 's/^name: .*/name: range/' -e 's/row_bytes: [0-9]*/row_bytes: 1024/' \
        -e 's/max_context: [0-9]*/max_context: 131072/' -e 's/max_query: [0-9]*/max_query: 65536/' \
        -e 's/token_budget: [0-9]*/token_budget: 65536/' "$folder/llama-3.1-70b-tp2-h200.yaml" >"$tmp/range.yaml"
    awk 'BEGIN {
        print "TIMESTAMP,ContextTokens,GeneratedTokens"
        for (k = 0; k <= 16; k++)
            for (third = 0; third < 3; third++) {
                n = int (2 ^ (k + third / 3))
                if (n <= 65536 && n != last)
                    printf "2026-01-01 %02d:%02d:00.0000000,%d,1\n", at / 4, at++ % 4 * 15, n
                last = n
            }
    }' >"$tmp/range.csv"
}

# What an engine of two ranks gets from the commit, beside the stock choice and NCCL.
committed () # DEPLOYMENT
{
    echo "-- an engine's choices: $1"
    SHOW=0 step "$1-committed" 0 "$folder/bin/committed" "$plugin" "$1" chat
    awk -v bench="$out/sums-bench.log" '
        BEGIN { while ((getline <bench) > 0) nccl[$1] = $2 }
        { print "    " $0, FNR == 1 ? "  NCCL us" : sprintf ("%9s", $1 in nccl ? nccl[$1] : "-") }' \
        "$out/$1-committed.log"
}

session_both ()
{
    session_of qwen3-30b-a3b-tp2-h200 attention-out:pad=1,layer:order=0
}

session_qwen ()
{
    session_of qwen3-30b-a3b-h200 attention-out:pad=1,attention-out:splits=1
}

session_llama ()
{
    session_of llama-3.1-70b-tp4-h200 \
        qkv:pad=1,qkv:splits=1,attention-out:pad=1,gate-up:pad=1,down:pad=1
}
