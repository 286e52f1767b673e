#!/bin/sh
# Every family of the host through the whole product: imported, solved, tuned, committed,
# and verified on a sample of a real trace.  Stock changes rows of each family, the tuple
# none of any site, and a tuple whose pins vary is found out.  The tune's clock is steady
# (tests/backend-steady.c): its times are tested elsewhere, and a busy machine's would at
# times be unfit to decide.
set -eu
. "$top_srcdir/tests/daemon.sh"
bin=$top_builddir
plugin=$bin/.libs/detent-backend-host.so
host=$top_srcdir/deployments/host-families.yaml
for_both='--deployment host-families --workload chat'
rows=${FAMILY_ROWS:-600}


backends=$tmp/backends
mkdir "$backends"
ln -s "$bin/.libs/backend-steady.so" "$backends/detent-backend-host.so"
ln -s "$plugin" "$backends/host.so"
daemon_start
import_sample 200
code 0 trace submit "$tmp/chat.dtrace" --workload chat
code 0 solve "$host"
# A ring pinned for all messages would still follow their size.
code 0 solve "$host" --offline --why-illegal
has 'illegal: choose.order=1 .*: a ring is not'
# Norms and sampled tokens have certificates, though the deployment claims as much.
code 0 certify host-families --family rowwise
cat "$tmp/out"
for s in sub-norm sampler; do
    grep -q "^rowwise *$s *block=[0-9]* *certified" "$tmp/out" || fail "no certificate of $s"
done
code 0 tune $for_both --max-calls 3 --budget 60
code 0 commit $for_both -m 'every family'

sites=$(sed '/^claims:/,$d' "$host" | sed -n 's/^  - family: *//p; s/^    site: *\([^ ]*\).*/\1/p' \
        | paste -d/ - -)
[ -n "$sites" ] || fail "no sites in $host"
changed= found=
for s in $sites; do
    family=${s%/*} site=${s#*/}
    verify="$for_both --trace $tmp/chat.dtrace --backend $plugin --family $family --site $site"
    exits 0 "$bin/detent-verify" $verify --rows "$rows"
    sed "s|^|$s: |" "$tmp/out"
    grep -q '^Detent  *[0-9][0-9]*  *0 ' "$tmp/out" || fail "$s: Detent changed rows"
    if grep -q '^stock  *[0-9][0-9]*  *[1-9]' "$tmp/out"; then
        changed="$changed $family"
        grep -q '^The first row that stock changed: request [0-9]' "$tmp/out" \
            || fail "$s: no row shown"
    fi
    got=0
    timeout 300 "$bin/tests/verify_varying" $verify --rows "$rows" >"$tmp/out" 2>"$tmp/err" || got=$?
    case $got in
    0) ;;
    1) found="$found $family" ;;
    *) fail "$s: verify_varying: exit $got" ;;
    esac
    exits 0 "$bin/detent-ref" $for_both --trace "$tmp/chat.dtrace" --backend "$plugin" \
        --family "$family" --site "$site" --calls 30 --record "$tmp/r.dtrace"
    grep -q '^30 calls, .* pinned selection$' "$tmp/out" || fail "$s: $(cat "$tmp/out")"
    exits 0 "$bin/detent-verify" $for_both --trace "$tmp/r.dtrace" --backend "$plugin" \
        --family "$family" --site "$site" --rows 20
done
daemon_stop
for s in $sites; do
    case " $changed " in *" ${s%/*} "*) ;; *) fail "stock changed no row of ${s%/*}" ;; esac
    case " $found " in *" ${s%/*} "*) ;; *) fail "varied pins of ${s%/*} were not found" ;; esac
done
echo "families: ok"
