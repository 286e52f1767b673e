"""SGLang's RMSNorm, plain and with a residual: FlashInfer's kernels, a block of threads a token.

After FlashInfer's include/flashinfer/norm.cuh, which sgl-kernel builds, as public copies have it (2026; the commit is
not known to us): vectors of up to 16 bytes, as many threads as vectors up to 1,024, in whole warps.
The number of tokens sets the grid alone, so nothing is pinned.

Left out: early launch (enable_pdl), which orders kernels only; the fused all-reduce with norm, another family's site.
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Unpinnable, selection


class Model(Facts):
    hidden: int
    element_bytes: int
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    vector: int
    threads: int


def common_divisor(a: int, b: int) -> int:
    """Of two numbers of which `a` is a power of two up to 16."""
    for divisor in (16, 8, 4, 2):
        if a % divisor == 0 and b % divisor == 0:
            return divisor
    return 1


@selection(family="rowwise")
def choose(facts: Model, call: Call) -> Choice:
    vector = common_divisor(16 // facts.element_bytes, facts.hidden)
    return Choice(
        vector=vector,
        threads=-(-min(1024, facts.hidden // vector) // 32) * 32,
    )
