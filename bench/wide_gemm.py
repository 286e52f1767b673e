"""Products with every parameter binding: the candidate space of bench/tune_host.

programs/detent/gemm.py with the rest of the host kernels' values, and nothing free: more than 500 assignments.
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Unpinnable, require, selection

SPLITS = (2, 4, 8, 16)


class Model(Facts):
    n: int
    k: int
    bf16: bool
    output_bf16: bool
    units: int
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    splits: int
    k_step: int
    tile_m: int
    tile_n: int
    order: int


def step(tokens: int, values: tuple, bounds: tuple) -> int:
    """One of four values: below the first bound, and from each of the three on."""
    value = values[0]
    for i in range(3):
        if tokens >= bounds[i]:
            value = values[i + 1]
    return value


@selection(family="gemm")
def choose(facts: Model, call: Call) -> Choice:
    splits = 1
    for count in SPLITS:
        if call.tokens * count <= 128:
            splits = count
    require(splits == 1 or facts.k // splits >= 64, "a split has at least 64 k")
    k_step = step(call.tokens, (0, 32, 128, 512), (4, 12, 36))
    tile_m = step(call.tokens, (6, 24, 48, 96), (6, 18, 44))
    tile_n = step(call.tokens, (16, 64, 128, 256), (5, 15, 40))
    return Choice(
        splits=splits,
        k_step=k_step,
        tile_m=tile_m,
        tile_n=tile_n,
        order=1 if call.tokens > 25 else 0,
    )
