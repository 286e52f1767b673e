"""vLLM's RMSNorm: the kernel, and the threads that share a row.

After vllm's csrc/layernorm_kernels.cu of mid 2026 (rms_norm and fused_add_rms_norm, with b6cbba8, which fixes the
block size in batch invariant mode) and model_executor/layers/batch_invariant.py at 0188c010.

A row's threads decide in which order its squares are added: 1024 at most in calls of fewer than 256 rows, else 256.
Rows are tokens, times the heads where a norm works on heads.

Left out, with the reason:
- pointers and strides that are not aligned: vLLM's buffers are
- norms that the compiler generates: they are used unless custom_ops has +rms_norm, as a deployment of this program has
- static quantisation in the same kernel: not in these models
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Unpinnable, require, selection


class Model(Facts):
    width: int  # of a row
    rows_per_token: int
    element_bytes: int
    fused_add: bool  # the residual is added first
    batch_invariant: bool  # VLLM_BATCH_INVARIANT
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    kernel: str
    threads: int
    vector: int  # elements of one load; 1: no vector kernel
    columns_per_step: int  # of the Triton kernel, else 0


def vector_of(facts: Model) -> int:
    """The largest power of two that divides both a row and what 16 bytes hold."""
    most = 16 // facts.element_bytes
    return max([width for width in (1, 2, 4, 8, 16) if width <= most and facts.width % width == 0])


@selection(family="rowwise")
def choose(facts: Model, call: Call) -> Choice:
    require(facts.element_bytes in (2, 4), "elements have 2 or 4 bytes")
    rows = call.tokens * facts.rows_per_token
    most = 1024 if facts.batch_invariant or rows < 256 else 256

    if facts.fused_add:
        # Two-byte elements in rows of whole vectors have a kernel that loads 8 at once; its blocks are as large.
        vectors = facts.width % 8 == 0 and facts.element_bytes == 2 and not facts.batch_invariant
        kernel, threads, vector, columns = "fused_add_rms_norm", min(facts.width, most), 8 if vectors else 1, 0
    elif facts.batch_invariant:
        kernel, threads, vector, columns = "triton", 0, 0, 1024
    else:
        vector = vector_of(facts)
        kernel, threads, columns = "rms_norm", min(facts.width // vector, most), 0
    return Choice(kernel=kernel, threads=threads, vector=vector, columns_per_step=columns)
