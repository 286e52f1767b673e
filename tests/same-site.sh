#!/bin/sh
# Two families with sites of one name: each is reached as FAMILY/SITE, and their exported
# selectors, pinned and stock, fit into one program.
set -eu
. "$top_srcdir/tests/daemon.sh"
families=$top_srcdir/deployments/host-families.yaml
host=$tmp/two.yaml
for_both='--deployment two --workload chat'

# attention/decoder as it is; gemm's site takes its name; no other sites, no claims of theirs.
"$PYTHON3" - "$families" > "$host" << 'END'
import re, sys
head, rest = open(sys.argv[1]).read().split("\nsites:\n")
sites, claims = re.split(r"\nclaims:\n", rest)
def kept(text, wanted):
    items = re.split(r"(?m)^  - (?=family: )", text)[1:]
    return "".join("  - " + i.rstrip("\n") + "\n" for i in items if wanted(i))
sites = kept(sites, lambda i: re.search(r"site: (decoder|attention-out)\b", i))
claims = kept(re.split(r"(?m)^\S", claims)[0], lambda i: re.match(r"family: (attention|gemm)\b", i))
print(re.sub(r"(?m)^name: .*", "name: two", head))
print("sites:\n" + sites.replace("attention-out", "decoder") + "claims:\n" + claims)
END
code 0 explain block_n --file "$host" --site attention/decoder
code 0 deployment check "$host"

daemon_start
import_sample 5
code 0 trace submit "$tmp/chat.dtrace" --workload chat
code 0 solve "$host" --json
pin=$(json 'p=[s for s in o["sites"] if s["family"]=="gemm"][0]["pins"][0]; print(p["name"], p["candidates"][0])')
value=${pin#* } pin=${pin% *}
code 0 explain "$pin" --deployment two --site gemm/decoder
has "$pin is a pin of gemm/decoder"
code 4 explain "$pin" --deployment two --site attention/decoder
code 2 tune $for_both --force "decoder:$pin=$value"
code 4 tune $for_both --force "moe/decoder:$pin=$value"
code 4 certify two --family gemm --assignment attention/decoder:block_n=64
says 'no such site among those asked for'
code 0 tune $for_both --budget 1 --max-calls 1 --no-tables --json --force "gemm/decoder:$pin=$value"
json 'f={s["family"]: s["forced"] for s in o["job"]["sites"]}; assert f["gemm"] and not f["attention"], f'
code 0 commit $for_both -m two

code 2 export $for_both --format c --site decoder
says 'FAMILY/SITE'
code 4 export $for_both --format c --site moe/decoder
for family in attention gemm; do
    for stock in '' --stock; do
        code 0 export $for_both --format c --site $family/decoder $stock -o "$tmp/$family$stock.c"
    done
done
${CC:-cc} -shared -fPIC -o "$tmp/all.so" "$tmp"/attention*.c "$tmp"/gemm*.c -lm \
    || fail 'the four selectors do not fit into one program'
daemon_stop
echo "$checks checks"
