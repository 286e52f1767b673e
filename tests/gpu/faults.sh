# Part of tests/gpu/run: a device and a clock that fail: slowed, lost, taken by another tool,
# records dropped.
# shellcheck shell=sh disable=SC2154,SC2034  # of run

# tune_product NAME WANT [OPTION...]: a short tune of the planted backend.
tune_product ()
{
    name=$1 want=$2
    shift 2
    LIMIT=40 SHOW=2 ctl "$name" "$want" tune --deployment product-told --workload chat --budget 2 --max-calls 4 \
        --anew "$@"
}
detached_tune () # NAME; its job's number in $job
{
    SHOW=0 tune_product "$1" 0 --detach >/dev/null
    job=$(job_of "$1")
}
fault () { echo "$1" >"$tmp/told/fault"; }
well () { rm -f "$tmp/told/fault"; }

# jobs_held COUNT: wait until so many jobs are held, and say how long it took.
jobs_held ()
{
    for turn in $(seq 150); do
        "$folder/bin/detentctl" jobs >"$out/faults-jobs.log" 2>&1
        [ "$(grep -c ' held ' "$out/faults-jobs.log")" -ne "$1" ] || { good; return; }
        sleep 0.2
    done
    bad "faults: not $1 jobs held: $(cat "$out/faults-jobs.log")"
}

# What was committed is served, bit for bit.
same_fetch ()
{
    "$folder/bin/detentctl" fetch --deployment product-told --workload chat --json >"$out/faults-fetch.log" 2>&1
    if cmp -s "$out/faults-good.log" "$out/faults-fetch.log"; then good
    else bad "faults: another tuple is served after $1"; fi
}

start_faults ()
{
    small_deployments
    mkdir -p "$tmp/told"
    ln -sf "$planted" "$tmp/told/detent-backend-planted-told.so"
    ln -sf "$folder/lib/detent-backend-host.so" "$tmp/told/"
    sed -e 's/FAULT/told/' "$tmp/planted/product.yaml" >"$tmp/told/product.yaml"
    BACKENDS=$tmp/told
    start_daemon -told || return 1
    SHOW=0
    for one in "$tmp/told/product.yaml" "$folder/host-small.yaml"; do
        of=$(basename "$one" .yaml)
        ctl "faults-import-$of" 0 trace import "$folder/azure_conv_sample.csv" --format azure-csv \
            --deployment "$one" --requests 20 -o "$tmp/told/$of.dtrace"
        ctl "faults-submit-$of" 0 trace submit "$tmp/told/$of.dtrace" --workload "$of"
        ctl "faults-solve-$of" 0 solve "$one"
    done
    ctl faults-submit 0 trace submit "$tmp/told/product.dtrace" --workload chat
    ctl faults-certify 0 certify product-told --assignment product:pad=1
    SHOW=6
}

# The device traps in the third of ten tunes: it fails by name, the others wait, and go on
# once the device answers.
lost_device ()
{
    tune_product faults-1 0
    SHOW=0 ctl faults-commit 0 commit --deployment product-told --workload chat -m good
    SHOW=0 ctl faults-good 0 fetch --deployment product-told --workload chat --json
    tune_product faults-2 0
    fault trap
    for turn in 3 4 5 6 7 8 9 10; do
        detached_tune "faults-$turn"
        [ "$turn" -ne 3 ] || third=$job
    done
    jobs_held 7
    SHOW=2 ctl faults-trap 10 attach "$third"
    says faults-trap 'cudaErrorLaunchFailure (719)'
    SHOW=2 ctl faults-status 0 status
    says faults-status '^held .*planted-told:0 .*cudaErrorDevicesUnavailable\|^held .*planted-told:0 .*719'
    free_devices faults
    same_fetch trap
    SHOW=1 ctl faults-host 0 tune --deployment host-small --workload host-small --budget 1 --max-calls 2
    if two_devices 'another device meanwhile'; then
        SHOW=1 tune_product faults-other 0 --device 1
        jobs_held 7
    fi
    well
    jobs_held 0
    SHOW=1 ctl faults-last 0 attach "$job"
}

do_faults ()
{
    echo '== faults: a device and a clock that fail, and what a tune says'
    start_faults || return
    lost_device
    while read -r fault words; do # the device: whoever comes later is held
        fault "$fault"
        tune_product "faults-$fault" 10
        says "faults-$fault" "$words"
        detached_tune "faults-$fault-held"
        jobs_held 1
        well
        SHOW=1 ctl "faults-$fault-after" 0 attach "$job"
    done <<END
ecc cudaErrorECCUncorrectable (214)
lost the device is lost
gone cudaErrorDevicesUnavailable (46)
END
    while read -r fault status_wanted words; do # the clock: no time, and nothing is held
        fault "$fault"
        tune_product "faults-$fault" "$status_wanted"
        says "faults-$fault" "$words"
        same_fetch "$fault"
    done <<END
slow 7 unstable: .*its clock is low: SM clock 1
hot 7 unstable: .*hardware thermal slowdown
taken 10 (39): another profiler has it
forbidden 10 (35): this user may not profile
drop 7 CUPTI lost records
counter 10 CUPTI refuses to read its records
drop_few 0 done
END
    well
    tune_product faults-well 0
    stop_daemon
    unset BACKENDS
}
