#!/bin/sh
# The README's session, run again: its `console` blocks are typed into one shell, and
# what comes out is compared with what the README shows, but for numbers other than
# 0, digests, times and the tuner's choice.
#
#   readme.sh           compare
#   readme.sh update    write what comes out into the README
set -eu
readme=$top_srcdir/README.md
bin=$top_builddir
dir=$(mktemp -d "${TMPDIR:-/tmp}/readme.XXXXXX")
finish ()
{
    [ ! -s "$dir/pid" ] || { kill "$(cat "$dir/pid")" 2>/dev/null || true; sleep 0.5; }
    rm -rf "$dir"
}
trap finish EXIT

mkdir "$dir/bin" "$dir/home"
cat >"$dir/bin/detentd" <<END
#!/bin/sh
exec "$bin/detentd/detentd" --backend-dir "$bin/.libs" --profiler "$bin/detent-profiler" "\$@"
END
printf '#!/bin/sh\nexec "%s" "$@"\n' "$bin/detentctl/detentctl" >"$dir/bin/detentctl"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$bin/detent-verify" >"$dir/bin/detent-verify"
chmod +x "$dir"/bin/*
cp "$top_srcdir/deployments/host-small.yaml" "$top_srcdir/trace/samples/azure_conv_sample.csv" \
    "$bin/.libs/detent-backend-host.so" "$dir/home"

# Each block's commands, each followed by what it prints; blocks are kept apart.
awk '/^```console$/ { inside = 1; print "echo @@block"; next }
     /^```$/ { inside = 0 }
     inside && /^\$ / {
         command = substr ($0, 3)
         quoted = command
         gsub (/\047/, "\047\\\047\047", quoted)
         sub (/--backend /, "&./", command) # not an installed one
         printf "printf \047%%s\\n\047 \047$ %s\047\n%s\n", quoted, command
         if (command ~ /&$/)
             print "echo $! >../pid; i=0; until [ -S run/detentd.sock ] || [ $i = 100 ]; do sleep 0.1; i=$((i + 1)); done"
     }' "$readme" >"$dir/session.sh"
(
    cd "$dir/home"
    export DETENT_PROGRAMS="$top_srcdir/programs/detent"
    PATH=$dir/bin:$PATH COLUMNS=100 sh -eu ../session.sh >../raw 2>../errors
) || { cat "$dir/raw" "$dir/errors" >&2; exit 1; }
sed "s#$dir/home#/srv/try#g" "$dir/raw" >"$dir/have"

if [ "${1-}" = update ]; then
    awk -v have="$dir/have" '
        BEGIN { getline line <have }
        /^```console$/ { print
                         while ((getline line <have) > 0 && line != "@@block") print line
                         skip = 1; next }
        /^```$/ { skip = 0 }
        !skip' "$readme" >"$dir/new"
    cp "$dir/new" "$readme"
    exit 0
fi

awk '/^```console$/ { inside = 1; print "@@block"; next } /^```$/ { inside = 0 } inside' \
    "$readme" >"$dir/want"
normal ()
{
    sed -E -e 's/[0-9a-f]{12,}/H/g' -e 's/[0-9-]{10}T[0-9:]{8}Z/TIME/g' -e 's/yes: kept|\bno\b/TIE/g' \
        -e 's/unbounded/1-1/g' -e 's/(requests?) *:/request :/g' -e 's/[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+/WHO/g' \
        -e 's/ on [^:]*: [0-9]+ batches/ on CPU: 1 batches/' -e 's/(on device host:0,|^backend\.device ).*/\1 CPU/' \
        -e 's/[0-9]*[1-9][0-9]*(\.[0-9]+)?|0\.[0-9]+/N/g' -e 's/-N/N/g' -e 's/ +/ /g' -e 's/ $//' "$1"
}
normal "$dir/want" >"$dir/want.n"
normal "$dir/have" >"$dir/have.n"
diff -u "$dir/want.n" "$dir/have.n" || { echo "FAIL: the README's session differs" >&2; exit 1; }
grep -q '^Detent .* 0 ' "$dir/have" || { echo "FAIL: Detent changed rows" >&2; exit 1; }
