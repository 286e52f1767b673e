"""Detent's own attention: how an engine would choose the host kernels' parameters from the batch.

Binding: block_n and split_stride change the order of a request's sums, and are computed from the
batch as engines compute them (occupancy), so the unpinned selection is what engines do today.
With a sliding window (`window` keys to a query, its own included; 0: all up to it) engines count what a
request's queries can see, not all that is cached, and so does this.
Free: tile_m and workers_per_request only place work.
"""
from __future__ import annotations

from selir import Batch, Facts, Free, Own, Record, Runtime, Unpinnable, knob, require, selection

BLOCKS = (16, 32, 64, 128)
STRIDES = (256, 512, 1024, 2048, 4096)
MAX_SPLITS = 64
WORKERS = (1, 2, 4, 8)


class Model(Facts):
    head_dim: int
    q_heads: int
    kv_heads: int
    page_size: int
    bf16: bool
    output_bf16: bool
    window: int
    units: int
    max_batch: int
    max_context: int
    max_query: int


class Call(Batch):
    requests: Runtime[range(1, facts.max_batch + 1)]
    longest_query: Runtime[range(1, facts.max_query + 1)]
    longest_kv: Runtime[range(1, facts.max_context + 1)]
    total_kv: Unpinnable[range(1, facts.max_batch * facts.max_context + 1)]
    query_length: Own[range(1, facts.max_query + 1)]
    kv_length: Own[range(1, facts.max_context + 1)]


class Choice(Record):
    block_n: int
    split_stride: int
    tile_m: Free[int]
    workers_per_request: Free[int]


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def before(facts: Model, query: int, keys: int) -> int:
    """Keys that the window of every query of a request has left behind."""
    if facts.window == 0:
        return 0
    return max(0, keys - query - facts.window + 1)


def tiles(facts: Model, call: Call) -> int:
    """Row tiles of the longest request, over all requests and KV heads."""
    rows = call.longest_query * (facts.q_heads // facts.kv_heads)
    return call.requests * facts.kv_heads * ceil_div(rows, 32)


@selection(family="attention")
def choose(facts: Model, call: Call) -> Choice:
    waves = knob("waves", (1, 2, 4), default=2)

    # Few query rows: long key blocks.  Many: short ones, which waste less of the causal triangle.
    if call.longest_query == 1:
        block_n = 128
    elif call.longest_query <= 64:
        block_n = 64
    else:
        block_n = 32

    # No longer than a window, or most of a decode's last block is masked.
    if facts.window > 0:
        for n in BLOCKS:
            if n == BLOCKS[0] or n <= facts.window:
                longest_block = n
        block_n = min(block_n, longest_block)

    # Split when the row tiles alone leave units idle: the longest stride that fills the waves.
    seen = call.longest_kv - before(facts, call.longest_query, call.longest_kv)
    wanted = ceil_div(waves * facts.units, tiles(facts, call))
    split_stride = 0
    if wanted > 1:
        split_stride = STRIDES[0]
        for stride in STRIDES:
            if ceil_div(seen, stride) >= wanted:
                split_stride = stride

    require(split_stride % block_n == 0, "a split is a whole number of key blocks")
    if split_stride > 0:
        # Splits lie at multiples of the stride, whatever the window.
        first = before(facts, call.query_length, call.kv_length) // split_stride
        splits = ceil_div(call.kv_length, split_stride) - first
        require(splits <= MAX_SPLITS, "a split kernel takes at most 64 splits")
    else:
        splits = 1

    # Placement only: total_kv tells how long the whole call is.
    workers = 1
    if call.total_kv >= 2048:
        for count in WORKERS:
            if count <= min(facts.units, splits):
                workers = count
    tile_m = 32
    if call.query_length * (facts.q_heads // facts.kv_heads) <= 4:
        tile_m = 4
    return Choice(
        block_n=block_n,
        split_stride=split_stride,
        tile_m=tile_m,
        workers_per_request=workers,
    )
