#!/bin/sh
# Certificates, end to end: without claims nothing is tuned before it is certified;
# what is certified is committed and fetched; a revoked certificate stops the commit and
# the fetch; a planted fault gets no certificate; coverage says all of it.
set -eu
. "$top_srcdir/tests/daemon.sh"
for_both='--deployment host-small --workload chat'
host=$tmp/host-small.yaml


# The deployment without its claims, with graph buckets and a part outside; and the same
# on a backend with a planted fault.
backends=$tmp/backends
mkdir "$backends"
cp "$(readlink -f "$top_builddir/.libs/detent-backend-host.so")" "$backends/detent-backend-host.so"
ln -s "$top_builddir/tests/.libs/backend-planted.so" "$backends/detent-backend-planted-lazy.so"
{
    sed '/^claims:/,$d' "$top_srcdir/deployments/host-small.yaml"
    echo 'graph_buckets: [1, 2, 4, 8, 16, 32]'
    echo 'outside:'
    echo '  - {what: sampler, reason: "the engine draws by itself"}'
} > "$host"
sed 's/^name: .*/name: host-lazy/; s/^backend: .*/backend: planted-lazy/' "$host" > "$tmp/host-lazy.yaml"
daemon_start

# What a solve says of tile_m: by what it is free, of how many assignments, from the cache
# or not; its keys go to $tmp/keys.
solved () # STANDING CERTIFIED CACHED
{
    code 0 solve "$host" --json
    json 's = o["sites"][0]; by = {p["field"]: (p["standing"], p["certified"]) for p in s["points"]}
assert by["tile_m"] == by["workers_per_request"] == ("'"$1"'", '"$2"'), by
assert by["block_n"] == ("binding", 0) and s["unjudged"] is None, s
assert s["cached"] is '"$3"', s["cached"]; print(s["key"], s["question"])' >> "$tmp/keys"
}
solved nothing 0 False
solved nothing 0 True
import_sample 60
code 0 trace submit "$tmp/chat.dtrace" --workload chat

# --- nothing is certified
code 1 coverage host-small
has 'tile_m *free, uncovered'
has 'sampler *outside selection'
code 5 tune $for_both
says 'no assignment has certificates for its free fields (tile_m, workers_per_request)'

# --- one assignment is
one='--assignment decoder:block_n=64,decoder:split_stride=512'
code 0 certify host-small $one --json
json 'c, = o["job"]["certified"]; assert c["state"] == "certified" and c["rows"] > 1000, c'
digest=$(json 'print(o["job"]["certified"][0]["digest"])')
code 0 pins host-small
has 'tile_m *free by certificate (1 of 15 assignments)'
solved certificate 1 False
solved certificate 1 True
code 0 certify host-small $one --json
json 'assert o["job"]["certified"][0]["state"] == "known"'
solved certificate 1 True
code 0 certify --show "$(echo "$digest" | cut -c1-12)" --json
json 'c, = o["certificates"]
assert c["binding"] == {"block_n": 64, "split_stride": 512}
assert c["free"]["workers_per_request"] == [1, 2, 4, 8]
assert c["combinations_tried"] + c["combinations_refused"] == c["combinations"] == 20
assert c["backend"]["name"] == "host" and c["backend"]["units"] == 2
assert c["power"]["cancelling"]["exchange"] >= 1 and c["thresholds"]'
build=$(json 'print(o["certificates"][0]["backend"]["build"])')
code 0 certify --list host-small
has 'block_n=64, split_stride=512 *holds'
code 0 coverage host-small --json
json 'by = {f["field"]: f["by"] for f in o["fields"]}
assert by == {"block_n": "pinned", "split_stride": "pinned", "tile_m": "certificate",
              "workers_per_request": "certificate"}, by
assert o["traces"] == 1 and any(u["what"] == "requests" for u in o["untried"])'

# --- the tuner takes that one, and engines get its certificate
code 0 tune $for_both --budget 30 --max-calls 6 --json
json 'p = o["job"]["sites"][0]["pins"]
assert p == {"choose.block_n": "64", "choose.split_stride": "512"}, p'
code 0 commit $for_both -m certified
code 0 tune $for_both --budget 30 --max-calls 6 # beside what is committed
code 0 fetch $for_both --json
json 'assert o["bundle"]["certificates"] == 1 if "bundle" in o else True'

# --- revoked
code 2 certify --revoke "$digest"
code 0 certify --revoke "$digest" --why 'a kernel was found to vary'
code 4 certify --revoke "$digest" --why again
code 5 fetch $for_both
says 'was revoked: a kernel was found to vary'
code 5 commit $for_both -m again
says 'tile_m: its certificate .* was revoked'
code 5 tune $for_both
code 1 coverage host-small
code 0 pins host-small
has 'tile_m *free (no certificate yet)'
solved nothing 0 True # none is in force, as at first
code 0 certify host-small $one --seed 2 --json
digest=$(json 'print(o["job"]["certified"][0]["digest"])')
solved certificate 1 False

# --- what was measured before is not measured again
code 0 tune $for_both --budget 30 --max-calls 6 --json
json 'assert o["job"]["sites"][0]["recalled"] > 0, o["job"]["sites"][0]'

# --- one of two is revoked; the question stays, the key goes with what is in force
code 0 certify host-small --assignment decoder:block_n=128,decoder:split_stride=512
solved certificate 2 False
code 0 certify --revoke "$digest" --why 'a kernel was found to vary'
solved certificate 1 False
solved certificate 1 True
[ "$(cut -d ' ' -f 2 "$tmp/keys" | sort -u | wc -l)" -eq 1 ] || fail "the question changed"
[ "$(cut -d ' ' -f 1 "$tmp/keys" | sort -u | wc -l)" -eq 5 ] || fail "keys: $(cat "$tmp/keys")"

# --- another build of the backend: its certificates are to be made
"$PYTHON3" - "$backends/detent-backend-host.so" "$build" <<'EOF'
import os, sys
path, build = sys.argv[1], sys.argv[2].encode()
data = open(path, "rb").read()
assert data.count(build) >= 1
with open(path + ".new", "wb") as f:
    f.write(data.replace(build, build[:-1] + (b"0" if build[-1:] != b"0" else b"1")))
os.rename(path + ".new", path)
EOF
code 0 pins host-small
has 'tile_m *free (no certificate yet)'
solved nothing 0 False
solved nothing 0 True

# --- a kernel that rescales lazily gets none
code 0 solve "$tmp/host-lazy.yaml"
code 1 certify host-lazy $one
has 'varies: row [0-9]* of'
code 0 certify --list host-lazy
has 'No certificates'

# --- what is not there
code 4 certify nothing
code 4 certify host-small --site nowhere
code 2 certify
code 4 certify --show 123456
code 4 coverage nothing
daemon_stop
echo "session-certify: $checks checks"
