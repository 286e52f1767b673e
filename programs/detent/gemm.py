"""Detent's own dense products: how an engine would choose the host kernels' parameters from the batch.

Binding: splits and k_step change the order of a sum.  They are computed from the token count as engines compute
them: split-K while the tiles alone leave units idle, and steps of k that suit the number of rows.  tokens cannot be
pinned: it is the number of rows that buffers and grids are made for.
Free: tile_m, tile_n and order only place work.
"""
from __future__ import annotations

from selir import Batch, Facts, Free, Record, Unpinnable, knob, require, selection

SPLITS = (2, 4, 8, 16)
MIN_SPLIT_K = 64  # a shorter split costs more to add than it saves


class Model(Facts):
    n: int
    k: int
    bf16: bool
    output_bf16: bool
    units: int
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(0, facts.token_budget + 1)]


class Choice(Record):
    splits: int
    k_step: int
    tile_m: Free[int]
    tile_n: Free[int]
    order: Free[int]


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@selection(family="gemm")
def choose(facts: Model, call: Call) -> Choice:
    waves = knob("waves", (1, 2, 4), default=2)

    # Split k when tiles of 24 by 256 leave units idle.
    tiles = ceil_div(call.tokens, 24) * ceil_div(facts.n, 256)
    splits = 1
    for count in SPLITS:
        if tiles * splits < waves * facts.units and facts.k // count >= MIN_SPLIT_K:
            splits = count
    require(splits == 1 or facts.k // splits >= MIN_SPLIT_K, "a split has at least 64 k")

    # Few rows: one chain.  More: steps of k whose weights stay in the cache while the rows pass.
    if call.tokens <= 8:
        k_step = 0
    elif call.tokens <= 32:
        k_step = 32
    else:
        k_step = 128

    # Placement only.
    tile_m = 6
    for rows in (24, 48, 96):
        if call.tokens >= rows:
            tile_m = rows
    tile_n = 64 if call.tokens <= 16 else 256
    return Choice(
        splits=splits,
        k_step=k_step,
        tile_m=tile_m,
        tile_n=tile_n,
        order=1 if call.tokens > facts.n else 0,
    )
