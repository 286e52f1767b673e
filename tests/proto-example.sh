#!/bin/sh
# The example of proto/README.md: its text form encodes to its bytes.
set -eu
readme=$top_srcdir/proto/README.md
block () { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$readme" | sed '1d;$d'; }

want=$(block hex | tr -d ' \n')
have=$(block textproto |
    "${PROTOC_C:-protoc-c}" -I"$top_srcdir/proto" --encode=detent.Request \
        "$top_srcdir/proto/detent.proto" | od -An -v -tx1 | tr -d ' \n')
[ -n "$want" ]
if [ "$want" != "$have" ]; then
    echo "proto/README.md: the text form encodes to $have, not to $want" >&2
    exit 1
fi
