"""vLLM's unquantised matrix products: the path, and the rows that it sees.

After vllm at 0188c010 (model_executor/layers/batch_invariant.py) and the captured sizes of its CUDA graphs in 2026.
The engine makes no choice by tokens: torch.nn.functional.linear goes to cuBLAS, and batch invariant mode replaces it
with a persistent Triton kernel of fixed tiles below Hopper, and elsewhere keeps cuBLASLt and denies it a workspace.

Added: the knob padding, which rounds the rows up before the product (1: as they are).

Left out, with the reason:
- what cuBLASLt's heuristic picks for a number of rows (tile, stages, split of K): the library's, not a program's.  In
  batch invariant mode it has no workspace, so cannot split K.  Detent's own gemm sets every attribute by hand
- products with few rows that single models add (DeepSeek-V3's router): not in these models
- quantised weights; bmm, softmax, mean: other operations, of fixed tiles in batch invariant mode
- the Triton kernel's grid, min(SMs, tiles): places work only
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Unpinnable, knob, require, selection


class Model(Facts):
    n: int
    k: int
    dtype: str  # bf16, fp16 or fp32
    arch: int
    shared_bytes: int  # of a block
    graph_max_tokens: int  # batches up to it run in CUDA graphs, padded to a captured size
    batch_invariant: bool  # VLLM_BATCH_INVARIANT
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    path: str
    workspace: bool
    reduced_precision: bool  # sums of K may be merged in the output's type
    block_m: int  # of the Triton kernel, else 0
    block_n: int
    block_k: int
    group_m: int
    stages: int
    warps: int
    rows: int


def captured(tokens: int) -> int:
    """The captured size that a graph's batch is padded to: 1, 2, 4, then steps of 8, from 256 on of 16."""
    if tokens <= 2:
        return tokens
    if tokens <= 4:
        return 4
    step = 8 if tokens <= 256 else 16
    return -(-tokens // step) * step


def triton_tile(facts: Model):
    if facts.dtype == "fp32":
        return (128, 128, 32, 8, 3, 8)
    if facts.dtype == "fp16" and facts.shared_bytes > 106496:
        return (128, 256, 64, 8, 3, 8)
    return (128, 128, 64, 8, 3, 8)


@selection(family="gemm")
def choose(facts: Model, call: Call) -> Choice:
    require(facts.dtype in ("bf16", "fp16", "fp32"), "elements are bf16, fp16 or fp32")
    padding = knob("padding", (1, 8, 16, 32, 64), default=1)

    triton = facts.batch_invariant and 80 <= facts.arch < 90
    block_m, block_n, block_k, group_m, stages, warps = triton_tile(facts) if triton else (0, 0, 0, 0, 0, 0)
    rows = captured(call.tokens) if call.tokens <= facts.graph_max_tokens else call.tokens
    rows = -(-rows // padding) * padding
    require(rows >= call.tokens, "no token is left out")
    return Choice(
        path="triton" if triton else "cublaslt" if facts.batch_invariant else "cublas",
        workspace=not facts.batch_invariant,
        reduced_precision=not facts.batch_invariant,
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        group_m=group_m,
        stages=stages,
        warps=warps,
        rows=rows,
    )
