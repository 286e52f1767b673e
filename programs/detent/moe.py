"""Detent's own mixture of experts: how an engine would choose the host kernels' parameters from the batch.

After vLLM and SGLang: a call takes the row of a tuned table whose key is nearest to its token count, the smaller one
of two equally near.  k_step and combine change the order of sums, so the table's rows differ in bits; block_m, tile_n
and order only place work.  tokens cannot be pinned: it is the number of rows that buffers and grids are made for.

moe-host-8-4-256-128.json (8 experts, 4 of them a token, hidden 256, intermediate 128, bf16) is what
`bench/moe_host 7` measured on two threads of an AMD EPYC, 2026-11-29.
"""
from __future__ import annotations

from selir import Batch, Facts, Free, Record, Unpinnable, require, selection, table


class Model(Facts):
    experts: int
    top_k: int
    hidden: int
    intermediate: int
    bf16: bool
    output_bf16: bool
    tuned: str  # file of the tuned table
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(0, facts.token_budget + 1)]


class Choice(Record):
    k_step: int
    combine: int
    block_m: Free[int]
    tile_n: Free[int]
    order: Free[int]


def tuned_rows(facts: Model):
    data = table(facts.tuned)
    return {int(key): (data[key]["k_step"], data[key]["combine"], data[key]["block_m"], data[key]["tile_n"],
                       data[key]["order"]) for key in data}


@selection(family="moe")
def choose(facts: Model, call: Call) -> Choice:
    rows = tuned_rows(facts)
    row = min(rows, key=lambda key: abs(key - call.tokens))
    k_step, combine, block_m, tile_n, order = rows[row]
    require(combine == 0 or facts.top_k > 1, "there are no pairs of one slot")

    # Fewer pairs than experts: each is a block of its own, and nothing is gathered.
    if call.tokens * facts.top_k <= facts.experts:
        block_m = 1
    return Choice(
        k_step=k_step,
        combine=combine,
        block_m=block_m,
        tile_n=tile_n,
        order=order,
    )
