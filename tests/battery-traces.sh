#!/bin/sh
# By hand: the battery on whole request logs, every site of the host's families: what the
# stock selection changes, and that the committed tuple changes nothing.  Each log has a
# daemon and a state of its own.  Ends in a table; fails if Detent changed a row, or stock
# changed none of a family on a log.
# usage: top_srcdir=. top_builddir=BUILD tests/battery-traces.sh FOLDER [LOG...]
#   FOLDER holds azure_*.csv and mooncake_*.jsonl; LOG: these alone (azure_llm_code, say)
# ROWS (default 2500) at least for each site; REQUESTS read of each log (default 300);
# BUDGET: seconds of tuning for each site (default 3)
set -eu
data=$1
shift
. "$top_srcdir/tests/daemon.sh"
host=$top_srcdir/deployments/host-families.yaml
plugin=$top_builddir/.libs/detent-backend-host.so
rows=${ROWS:-2500}
limit=3600


# The two traces of long prompts (7,000 tokens and more) are taken as by an engine of a
# window of 2,048 tokens: all others would be calls of one request's prompt.
model_of () # LOG
{
    case $1 in
    *.csv) echo "--format azure-csv --step-base 0.004" ;;
    *) echo "--format mooncake-jsonl --prefix-cache-blocks 100000 --max-context 2048" ;;
    esac
}

# On a machine busy with something else a tune may find its own times unfit to decide (7).
tune () # BOTH...
{
    budget=${BUDGET:-3}
    for try in 1 2 3 4 5; do
        got=0
        "$ctl" tune "$@" --max-calls 3 --budget "$budget" --anew > "$tmp/out" 2> "$tmp/err" || got=$?
        [ "$got" -eq 7 ] || break
        budget=$((budget * 2))
    done
    [ "$got" -eq 0 ] || fail "tune $*: exit $got"
}

one_site () # WORKLOAD FAMILY/SITE
{
    got=0
    "$top_builddir/detent-verify" --deployment host-families --workload "$1" \
        --trace "$tmp/t.dtrace" --backend "$plugin" --family "${2%/*}" --site "${2#*/}" \
        --rows "$rows" > "$tmp/out" 2> "$tmp/err" || got=$?
    [ "$got" -le 1 ] || fail "$1 $2: exit $got"
    cat "$tmp/out"
    awk -v name="$1" -v site="$2" '
        $1 == "stock" && NF == 4 { stock = $3 }
        $1 == "Detent" && NF == 4 { printf "%-22s %-20s %6d %8d %8d\n", name, site, $2, stock, $3 }' \
        "$tmp/out" >> "$tmp/table"
}

one_log () # FILE WORKLOAD
{
    rm -rf "$tmp/state" "$tmp/run"
    daemon_at
    daemon_start
    code 0 trace import "$1" $(model_of "$1") --deployment "$host" \
        --requests "${REQUESTS:-300}" -o "$tmp/t.dtrace"
    sed "s/^/$2: /" "$tmp/out"
    code 0 trace submit "$tmp/t.dtrace" --workload "$2"
    code 0 solve "$host"
    tune --deployment host-families --workload "$2"
    code 0 commit --deployment host-families --workload "$2" -m 'for the battery'
    for s in $sites; do
        one_site "$2" "$s"
    done
    daemon_stop
}

sites=$(sed '/^claims:/,$d' "$host" | sed -n 's/^  - family: *//p; s/^    site: *\([^ ]*\).*/\1/p' \
        | paste -d/ - -)
: > "$tmp/table"
for log in "$data"/azure_*.csv "$data"/mooncake_*.jsonl; do
    name=$(basename "$log" | sed 's/\..*//')
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    one_log "$log" "$(echo "$name" | tr _ -)"
done
[ -s "$tmp/table" ] || fail "no logs in $data"
printf '\n%-22s %-20s %6s %8s %8s\n' log family/site rows stock Detent
cat "$tmp/table"
awk -v rows="$rows" '
    { family = $2; sub ("/.*", "", family); changed[$1 " " family] += $4 }
    $5 > 0 { print $1, $2 ": Detent changed rows"; bad = 1 }
    $3 < rows { print $1, $2 ": too few rows"; bad = 1 }
    END { for (i in changed) if (!changed[i]) { print i ": stock changed no row"; bad = 1 }
          exit bad }' "$tmp/table"
echo "battery-traces: ok"
