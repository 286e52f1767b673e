# Sourced by tests that talk to a real detentd with host kernels, in folders of their own.
# Exports DETENT_ENDPOINT, DETENT_PROGRAMS and DETENT_AUTHOR.  `daemon` is the process that
# was started last; a test sets `backends` if its plugins, and `locks` if its locks lie
# elsewhere.
. "$top_srcdir/tests/lib.sh"
DETENT_PROGRAMS=$top_srcdir/programs/detent
DETENT_AUTHOR=tester
export DETENT_ENDPOINT DETENT_PROGRAMS DETENT_AUTHOR

# daemon_at [N]: which detentd is started, and asked, from now on; each has its folders.
daemon_at ()
{
    place=${1-}
    mkdir -p -m 700 "$tmp/state$place" "$tmp/run$place"
    DETENT_ENDPOINT=ipc://$tmp/run$place/detentd.sock
}
daemon_at

daemon_answers ()
{
    kill -0 "$daemon" 2>/dev/null || fail 'detentd does not start'
    "$ctl" --timeout 5 status > /dev/null 2>&1
}

# daemon_start [COMMAND...]: detentd, run by the command (valgrind, say), until it answers.
daemon_start ()
{
    "$@" "$top_builddir/detentd/detentd" --state-dir "$tmp/state$place" \
        --runtime-dir "$tmp/run$place" --lock-dir "${locks:-$tmp/run$place}" \
        --backend-dir "${backends:-$top_builddir/.libs}" --profiler "$top_builddir/detent-profiler" \
        --foreground >> "$tmp/log$place" 2>&1 &
    daemon=$!
    soon daemon_answers
}

# Ask it to end, and hold it to an exit of 0.
daemon_stop ()
{
    kill "$daemon"
    got=0
    wait "$daemon" || got=$?
    daemon=
    [ "$got" -eq 0 ] || fail "detentd: exit $got"
}

daemon_kill () # [PROCESS]: at once
{
    kill -9 "${1:-$daemon}"
    wait "${1:-$daemon}" || true
}

# So many requests of a sample log, as a trace for $host.
import_sample () # REQUESTS
{
    code 0 trace import "$top_srcdir/trace/samples/azure_conv_sample.csv" --format azure-csv \
        --deployment "$host" --requests "$1" -o "$tmp/chat.dtrace"
}

jobs_are ()
{
    code 0 jobs --json
    "$PYTHON3" -c 'import json,sys
job = {x["job"]: x for x in json.load(open(sys.argv[1]))["jobs"]}
j = {n: x["state"] for n, x in job.items()}; sys.exit(not ('"$1"'))' "$tmp/out"
}
# until_jobs PYTHON: over j, the state of each job by its number, and job, all of it.
until_jobs ()
{
    soon jobs_are "$1"
    passed
}
