"""SGLang's dense bf16 products: which library, how many rows, and DeepGEMM's layout.

After SGLang: batch_invariant_ops/batch_invariant_ops.py at 02677276, with DeepGEMM's csrc/jit_kernels/heuristics and
sm90_bf16_gemm at 54e22612 (deepseek-ai/DeepGEMM, 2026-06-23).

DeepGEMM's layout follows the number of tokens, but each output is one ascending chain of K steps of 16 whatever the
layout: a deployment claims those fields.  Stock mode hands the call to cuBLAS, whose heuristic is closed: what is chosen
inside is no program's, and the library must be given an algorithm by hand.

Added: the knob pad_rows, which rounds the tokens up to a multiple before the call (1: none), as CUDA graphs do.

Left out, with the reason:
- SM100's layouts: no deployment of this engine on such a device is shipped
- grouped products: moe.py's experts run on Triton; operands that are not K-major: linear layers' are
- bias, added after the product; log_softmax, mean, bmm: other sites, and their choice reads no token count
- grid, threads beyond math_threads, shared memory: they follow from the layout
- model-specific products for up to 16 tokens (DeepSeek-V3): no deployment of that model is shipped
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Unpinnable, f32, knob, require, selection


class Model(Facts):
    n: int  # of this rank
    k: int  # of this rank
    dtype: str  # bf16, fp16 or fp32
    output_bytes: int
    arch: int
    sms: int
    invariant_ops: bool  # batch-invariant products instead of cuBLAS
    deepgemm: bool  # SGLANG_BATCH_INVARIANT_OPS_ENABLE_MM_DEEPGEMM, and it can be built
    einsum: bool  # SGLANG_BATCH_INVARIANT_OPS_ENABLE_MM_FALLBACK_VARIANT
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    path: str
    rows: int
    block_m: int
    block_n: int
    block_k: int
    cluster_m: int
    cluster_n: int
    stages: int
    math_threads: int
    merged: int
    group_m: int
    warps: int
    split_k: int


TRITON = {"bf16": (128, 128, 64, 8, 3, 8), "fp16": (128, 256, 64, 8, 3, 8), "fp32": (128, 128, 32, 8, 3, 8)}
SHARED = 232448  # bytes of a block


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def product_path(facts: Model) -> str:
    if not facts.invariant_ops:
        return "cublas"
    if facts.deepgemm and facts.arch >= 90 and facts.dtype == "bf16" and facts.n >= 16:
        return "deepgemm"
    return "einsum" if facts.einsum else "triton"


def stage_count(block_m: int, block_n: int, output_bytes: int) -> int:
    output = ceil_div(block_m * block_n * output_bytes, 1024) * 1024
    return min(16, (SHARED - output - 256) // (2 * 64 * (block_m + block_n)))


def layouts(facts: Model):
    """(cluster_m, cluster_n, block_m, block_n, stages) that there are kernels for, in DeepGEMM's order."""
    found = []
    for cluster_m, cluster_n in ((1, 1), (1, 2), (2, 1)):
        for block_m in (64, 128, 16, 32, 256):
            for block_n in range(16, 257, 16):
                stages = stage_count(block_m, block_n, facts.output_bytes)
                enough = 4 if block_m * block_n < 128 * 192 else 3
                if (facts.sms % (cluster_m * cluster_n) == 0
                        and not (block_m > 128 and block_n > 128)
                        and not (block_m == 256 and facts.output_bytes != 2)
                        and stages >= enough):
                    found = found + [(cluster_m, cluster_n, block_m, block_n, stages)]
    return found


def cycles(facts: Model, rows: int, cluster_m: int, cluster_n: int, block_m: int, block_n: int) -> int:
    """DeepGEMM's estimate."""
    blocks = ceil_div(rows, block_m) * ceil_div(facts.n, block_n)
    waves = ceil_div(blocks, facts.sms)
    output = block_m * block_n * facts.output_bytes
    l2 = facts.k * (block_m // cluster_n + block_n // cluster_m) * 2 + output
    l1 = facts.k * (block_m + block_n) * 2 + facts.k * (max(64, block_m) + block_n) * 2 + 2 * output
    bound = max(l2 * blocks // min(64 * facts.sms, 6153), l1 * blocks // (128 * facts.sms))
    full = f32(f32(float(blocks)) / f32(float(waves * facts.sms)))
    return int(f32(f32(float(bound)) / full))


def cheapest(facts: Model, rows: int, all_layouts) -> int:
    """Index of the first layout of least cycles."""
    least, at = 1 << 62, 0
    for i in range(len(all_layouts)):
        cluster_m, cluster_n, block_m, block_n, stages = all_layouts[i]
        allowed = rows <= block_m if block_m < 64 else True
        if cluster_m * cluster_n > 1:
            allowed = allowed and ceil_div(rows, block_m) * ceil_div(facts.n, block_n) > facts.sms
        if allowed:
            cost = cycles(facts, rows, cluster_m, cluster_n, block_m, block_n)
            if cost < least:
                least, at = cost, i
    return at


@selection(family="gemm")
def choose(facts: Model, call: Call) -> Choice:
    pad_rows = knob("pad_rows", (1, 16, 64, 128, 256), default=1)
    rows = ceil_div(call.tokens, pad_rows) * pad_rows
    path = product_path(facts)

    if path == "deepgemm":
        require(facts.sms % 2 == 0, "DeepGEMM takes an even number of SMs")
        require(facts.n % 8 == 0 and facts.k % 8 == 0, "TMA takes rows of whole 16 bytes")
        all_layouts = layouts(facts)
        at = cheapest(facts, rows, all_layouts)
        cluster_m, cluster_n, block_m, block_n, stages = [[row[i] for row in all_layouts][at] for i in range(5)]
        return Choice(
            path=path,
            rows=rows,
            block_m=block_m,
            block_n=block_n,
            block_k=64,
            cluster_m=cluster_m,
            cluster_n=cluster_n,
            stages=stages,
            math_threads=128 if block_m <= 64 else 256,
            merged=stages // 5 if block_m <= 64 and stages >= 10 else 1,
            group_m=0,
            warps=0,
            split_k=1,
        )
    tile = TRITON[facts.dtype] if path == "triton" else (0, 0, 0, 0, 0, 0)
    return Choice(
        path=path,
        rows=rows,
        block_m=tile[0],
        block_n=tile[1],
        block_k=tile[2],
        cluster_m=1,
        cluster_n=1,
        stages=tile[4],
        math_threads=tile[5] * 32,
        merged=1,
        group_m=tile[3],
        warps=tile[5],
        split_k=1 if path == "triton" else 0,
    )
