# Sourced by tests that talk to a real detentd with host kernels: a folder of their own,
# the daemon in it, and its end.  Sets ctl, tmp, daemon; exports DETENT_ENDPOINT and
# DETENT_PROGRAMS.  The test defines fail (), and backends if its plugins lie elsewhere.
ctl=$top_builddir/detentctl/detentctl
tmp=$(mktemp -d "${TMPDIR:-/tmp}/dt.XXXXXX")
daemon=
others= # processes that are to end with the test
daemon_finish ()
{
    status=$?
    for pid in $daemon $others; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$tmp"
    exit "$status"
}
trap daemon_finish EXIT
mkdir -m 700 "$tmp/state" "$tmp/run"
DETENT_ENDPOINT=ipc://$tmp/run/detentd.sock
DETENT_PROGRAMS=$top_srcdir/programs/detent
export DETENT_ENDPOINT DETENT_PROGRAMS

# daemon_start [COMMAND...]: detentd, run by the command (valgrind, say), until it answers.
daemon_start ()
{
    "$@" "$top_builddir/detentd/detentd" --state-dir "$tmp/state" --runtime-dir "$tmp/run" \
        --lock-dir "${locks:-$tmp/run}" \
        --backend-dir "${backends:-$top_builddir/.libs}" --profiler "$top_builddir/detent-profiler" \
        --foreground >> "$tmp/log" 2>&1 &
    daemon=$!
    tries=0
    until "$ctl" --timeout 5 status > /dev/null 2>&1; do
        tries=$((tries + 1))
        kill -0 "$daemon" 2>/dev/null && [ "$tries" -lt 600 ] || fail "detentd does not start"
        sleep 0.1
    done
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
