"""vLLM's fused MoE in Triton: what is chosen before the align, up and down kernels.

After vllm at 13cb3e44 (model_executor/layers/fused_moe/fused_moe.py); the naive assignment of blocks as v0.20.2 is
described by third parties, for the newest source was not read.  Tuned tables are data files under vLLM's own names and
in its own form; here: E=128 N=192 on H100 (0f17ee06) and H200 (4652ef5d), N=768 on H100 (4466f1b5) and H200 (4652ef5d).

A call takes the table's row whose key is nearest to its tokens; of two equally near, the one that comes first in the
file.  Up and down share the row.  Against SGLang: no down table, no even_Ks, no choice of combine by tokens
(moe_sum chooses by top_k), and batch invariant mode drops the table.

Left out, with the reason:
- finding the table's file (override, folders): the deployment names the file it found in `table`, none for none
- int4 and int8 weights with a block shape (gptq, awq, Marlin and the CUDA wna16 kernel): the blocks of N and K that go
  with min(16, M) were not read
- the kernel's back end (cutlass, deep_gemm, flashinfer): deployment; bf16 on Hopper is Triton
- grid and the general align path's threads: sizes only.  The small-batch align path (fewer than 1024 pairs and at most
  64 experts) places rows inside a block, of which a row's bits do not depend
- activation, in place or not, bias, chunks of a call (the token budget is below their size): deployment
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Unpinnable, require, selection, table

SHARED_BYTES = 232448  # that a block of Hopper may have


class Model(Facts):
    experts: int  # of this rank
    top_k: int
    hidden: int
    intermediate: int  # of this rank: the last dimension of w2
    dtype: str  # bf16, fp16, fp32, fp8_tensor or fp8_block
    scale_block_n: int  # fp8_block: the weights' scale blocks, else 0
    scale_block_k: int
    table: str  # data file of tuned rows; none: there is none
    expert_map: bool  # expert parallel
    weight_on_input: bool  # the router's weight is applied in the up product
    batch_invariant: bool  # VLLM_BATCH_INVARIANT
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    block_m: int
    block_n: int
    block_k: int
    group_m: int
    warps: int  # 0: Triton's own default
    stages: int  # 0: Triton's own default
    split_k: int
    naive_blocks: bool
    top_k_sorted: bool
    weight_in_up: bool
    sum_kernel: str


def row_values(row: dict):
    return (row["BLOCK_SIZE_M"], row["BLOCK_SIZE_N"], row["BLOCK_SIZE_K"], row["GROUP_SIZE_M"],
            row["num_warps"], row["num_stages"])


def tuned_rows(facts: Model):
    """Key -> row, in the file's order; entries whose name is no number are metadata."""
    data = table(facts.table)
    return {int(key): row_values(data[key]) for key in data if key != "triton_version"}


def default_row(facts: Model, tokens: int):
    if facts.batch_invariant:
        return (64, 64, 32, 8, 0, 0)
    if facts.dtype == "fp8_block":
        return (64, facts.scale_block_n, facts.scale_block_k, 32, 4, 3)
    if tokens <= facts.experts:
        return (16, 32, 64, 1, 0, 0)
    return (64, 64, 32, 8, 0, 0)


def row_of(facts: Model, tokens: int):
    if facts.table == "none" or facts.batch_invariant:
        return default_row(facts, tokens)
    rows = tuned_rows(facts)
    row_key = min(rows, key=lambda key: abs(key - tokens))
    return rows[row_key]


def sum_kernel(top_k: int) -> str:
    """moe_sum's kernels."""
    if top_k == 2:
        return "sum2"
    if top_k == 3:
        return "sum3"
    return "sum4" if top_k == 4 else "generic"


@selection(family="moe")
def choose(facts: Model, call: Call) -> Choice:
    require(facts.dtype in ("bf16", "fp16", "fp32", "fp8_tensor", "fp8_block"),
            "weights are bf16, fp16, fp32, fp8_tensor or fp8_block")
    require((facts.dtype == "fp8_block") == (facts.scale_block_k > 0), "scale blocks are for fp8_block, which needs them")

    block_m, block_n, block_k, group_m, warps, stages = row_of(facts, call.tokens)

    # Few pairs: each token-expert pair is a block of its own, and nothing is sorted.
    naive = not facts.expert_map and 4 * call.tokens * facts.top_k <= facts.experts

    bytes_each = 4 if facts.dtype == "fp32" else 1 if facts.dtype in ("fp8_tensor", "fp8_block") else 2
    require((block_m * block_k + block_k * block_n) * bytes_each * stages <= SHARED_BYTES, "the stages fit shared memory")
    require(facts.scale_block_k == 0 or block_k % facts.scale_block_k == 0, "a block of K is whole scale blocks")
    # In other words than where `naive` is computed: what equals a pinned value is pinned with it.
    require(not naive or call.tokens <= facts.experts // (4 * facts.top_k), "naive blocks are for few pairs")

    return Choice(
        block_m=block_m,
        block_n=block_n,
        block_k=block_k,
        group_m=group_m,
        warps=warps,
        stages=stages,
        split_k=1,
        naive_blocks=naive,
        top_k_sorted=facts.batch_invariant,
        weight_in_up=facts.weight_on_input,
        sum_kernel=sum_kernel(facts.top_k),
    )
