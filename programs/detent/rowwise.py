"""Detent's own row-wise kernels: how an engine would choose their parameters from the batch.

Binding: block, the partial sums of a row, follows the number of tokens as in engines' norms (vLLM's:
1,024 threads a row below 256 tokens, else 256): the fewer the rows, the more of the device each fills.
Free: rows and workers_per_row only place work.
"""
from __future__ import annotations

from selir import Batch, Facts, Free, Record, Unpinnable, knob, require, selection

LANES = 8


class Model(Facts):
    columns: int
    shards: int
    units: int
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    block: int
    rows: Free[int]
    workers_per_row: Free[int]


@selection(family="rowwise")
def choose(facts: Model, call: Call) -> Choice:
    waves = knob("waves", (4, 8, 16), default=8)

    if call.tokens < waves * facts.units:
        block = 1024
    elif call.tokens < 4 * waves * facts.units:
        block = 512
    else:
        block = 256
    require(block % LANES == 0, "a sum is a whole number of vectors")

    # Placement only: few long rows are shared out by lanes, many are taken several at a time.
    workers = 1
    if call.tokens < facts.units and facts.columns >= 16384:
        for count in (2, 4, 8):
            if count <= facts.units:
                workers = count
    rows = 1
    for count in (4, 16):
        if call.tokens >= 4 * count * facts.units:
            rows = count
    return Choice(block=block, rows=rows, workers_per_row=workers)
