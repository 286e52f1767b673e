#!/bin/sh
# A neighbour's length changes my bits.  A tile by the batch's longest
# query (64 up to 9, else 192), and a count by its average: both follow the batch, and
# the pin is the value that does, not the input.  (The bits of batches with a row of 9 and
# of 10 tokens: tests/test_attention_invariance.c, neighbours_length.)
set -eu
. "$top_srcdir/tests/lib.sh"

cat > "$tmp/tiles.py" <<'E2'
from __future__ import annotations
from selir import Batch, Facts, Own, Record, Runtime, Unpinnable, selection


class Model(Facts):
    max_batch: int
    max_query: int


class Call(Batch):
    requests: Runtime[range(1, facts.max_batch + 1)]
    longest_query: Runtime[range(1, facts.max_query + 1)]
    total_query: Unpinnable[range(1, facts.max_batch * facts.max_query + 1)]
    query_length: Own[range(1, facts.max_query + 1)]


class Choice(Record):
    tile: int
    stages: int
    own: bool


@selection(family="attention")
def choose(facts: Model, call: Call) -> Choice:
    tile = 64 if call.longest_query <= 9 else 192
    stages = 3 if call.total_query // call.requests > 4 else 2
    return Choice(tile=tile, stages=stages, own=call.query_length == 1)
E2
trial 'max_batch: 8, max_query: 64' 'family: attention, site: decoder, program: tiles.py, facts: {}'
code 0 solve --offline "$tmp/d.yaml"
for line in '^choose.tile  *64, 192 ' '^choose.stages  *2, 3 ' 'choose.tile cuts longest_query' \
            'choose.stages cuts requests -> stages' 'total_query // requests' \
            '^own  *binding  *-  *per request'; do
    has "$line"
done
echo "b32: $checks checks passed"
