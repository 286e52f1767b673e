"""Detent's dense products on CUDA: cuBLASLt's parameters from the token count, as an engine gets them.

Binding: splits cuts K into parts that are summed apart.  The library's own rule is closed; what it picks on an H200
(doc/gpu-results.md) is followed here: K is split while the tiles of the output leave multiprocessors idle.  tokens
cannot be pinned: it is the number of rows that buffers and grids are made for.
Free: config is a row of the backend's catalogue, kernels that place the same chains otherwise.
pad is a setting: tokens are padded to a multiple, and the rows more are dropped.
"""
from __future__ import annotations

from selir import Batch, Facts, Free, Record, Unpinnable, knob, require, selection

# Rows of the backend's catalogue (kernels/gemm/cuda/configs.inc), by the rows of their tiles.
TILE_16 = 38
TILE_64 = 5
TILE_128 = 12
TILE_256 = 18

PARTS = (2, 3, 4, 5)
MIN_PART_K = 1280  # a shorter part costs more to add than it saves


class Model(Facts):
    n: int
    k: int
    output_bf16: bool
    units: int
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    splits: int
    config: Free[int]
    pad: int


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


@selection(family="gemm")
def choose(facts: Model, call: Call) -> Choice:
    pad = knob("pad", (1, 16, 64, 256), default=1)
    rows = ceil_div(call.tokens, pad) * pad
    require(rows >= call.tokens, "padding leaves no token out")

    tiles = ceil_div(rows, 128) * ceil_div(facts.n, 64)
    splits = 1
    for parts in PARTS:
        if tiles * parts <= facts.units and facts.k // parts >= MIN_PART_K:
            splits = parts
    require(splits == 1 or facts.k // splits >= MIN_PART_K, "a part of K is worth adding")

    # Placement only.
    if rows <= 32:
        config = TILE_16
    elif rows <= 256:
        config = TILE_64
    elif rows <= 512:
        config = TILE_128
    else:
        config = TILE_256
    return Choice(splits=splits, config=config, pad=pad)
