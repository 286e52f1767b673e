"""SGLang's fused MoE on Triton: the tuned row, how pairs are aligned, how experts' rows are combined.

After SGLang: tables and defaults of moe_runner/triton_utils/fused_moe_triton_config.py at 7386515d; products and
combination of fused_moe.py at 6bc3e8ee; alignment of moe_align_block_size.py at f82ccc94 (always_fused: b1ad0dc3) and
its kernels at ce378154; top-k of moe_topk_softmax_kernels.cu at a535425d.  A deployment names the tables, which are
in SGLang's format: "E=128,N=192,device_name=NVIDIA_H100_80GB_HBM3.json" is that of 08c3f235.

tokens cannot be pinned: it is the number of rows that buffers and grids are made for.  A row's 0 warps or stages
are Triton's own defaults.

Left out, with the reason:
- which of moe_sum_reduce's three kernels (tokens above 128, above 256): the op chooses inside, and all of them add in
  slot order
- experts per thread of the scan beyond 1,024 experts, grids, buffer bounds: sizes that follow from the fields
- chunks of 65,536 tokens (639afcec): later revisions have none, and no deployment's chunk is as long
- swap_ab: fp8 only, and its rule is not known to us; fp8 tables do run without it
- other runners than Triton, ROCm, int4 and int8 weights, the Triton alignment of the oldest versions
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Unpinnable, require, selection, table


class Model(Facts):
    experts: int  # on this rank
    top_k: int
    hidden: int
    intermediate: int  # of this rank
    dtype: str  # bf16, fp16, fp32, fp8 (per tensor) or fp8_block
    block_shape_n: int  # of fp8_block; else 0
    block_shape_k: int
    tuned: str  # file of the tuned table; none: there is none
    tuned_down: str  # the same for the down product
    deterministic: bool  # --enable-deterministic-inference
    marlin: bool
    always_fused: bool  # the fill of the sorted ids is fused at any length
    no_combine: bool
    fused_all_reduce: bool  # --enable-fused-moe-sum-all-reduce
    unit_scale: bool  # the routed scaling factor is 1
    router_weight_on_input: bool
    all_experts: bool  # no expert lives on another rank
    token_budget: int


class Call(Batch):
    tokens: Unpinnable[range(1, facts.token_budget + 1)]


class Choice(Record):
    up_block_m: int
    up_block_n: int
    up_block_k: int
    up_group_m: int
    up_warps: int
    up_stages: int
    up_even_k: bool
    down_block_m: int
    down_block_n: int
    down_block_k: int
    down_group_m: int
    down_warps: int
    down_stages: int
    down_even_k: bool
    down_tma: bool
    align: str
    fused_fill: bool
    combine: str
    topk: str
    filter_experts: bool
    weight_in_up: bool


FIELDS = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def default_row(facts: Model, few: bool):
    """Without a table; `few`: at most as many tokens as experts."""
    if facts.deterministic:
        return (64, 64, 32, 8, 0, 0)
    if facts.dtype == "fp8_block":
        return (64, facts.block_shape_n, facts.block_shape_k, 32, 4, 3)
    if facts.dtype == "fp8":
        return (64, 128, 128, 1, 4, 4) if few else (128, 256, 128, 32, 8, 4)
    return (16, 32, 64, 1, 0, 0) if few else (64, 64, 32, 8, 0, 0)


def nearest(keys, tokens: int) -> int:
    """Index of the key nearest to `tokens`, the smaller one of two: how many midpoints lie below."""
    return sum(int(2 * tokens > keys[i] + keys[i + 1]) for i in range(len(keys) - 1))


def align_kernel(facts: Model, pairs: int) -> str:
    """One expert more than there are takes the pairs that are filtered out."""
    if pairs < 1024 and facts.experts + 1 <= 64:
        return "small"
    return "general" if facts.experts <= 1024 else "scan"


def combination(facts: Model, tokens: int) -> str:
    if facts.no_combine:
        return "none"
    if facts.fused_all_reduce and facts.top_k > 2:
        return "added-by-down"
    if facts.top_k == 1 and facts.unit_scale:
        return "written-by-down"
    if facts.top_k == 2 and facts.unit_scale:
        return "one-add"
    return "compiled" if tokens <= 32 else "moe-sum-reduce"


@selection(family="moe")
def choose(facts: Model, call: Call) -> Choice:
    require(facts.experts <= 8192, "alignment takes at most 8,192 experts")
    pairs = call.tokens * facts.top_k

    tma = False
    if facts.tuned == "none" or facts.deterministic:
        few = call.tokens <= facts.experts or facts.marlin and call.tokens <= 32
        up = default_row(facts, few)
        down = up
    else:
        rows = table(facts.tuned)
        keys = [key for key in rows]
        sizes = [int(key) for key in keys]
        require(sizes == sorted(sizes), "a table's keys ascend")
        row = nearest(sizes, call.tokens)
        up = [[rows[key][field] for key in keys][row] for field in FIELDS]
        down = up
        if facts.tuned_down != "none":
            rows = table(facts.tuned_down)
            down = [[rows[key][field] for key in keys][row] for field in FIELDS]
            tma = [rows[key]["USE_TMA"] if "USE_TMA" in rows[key] else False for key in keys][row]

    require(up[0] == down[0], "both products take blocks of as many rows")
    if facts.dtype == "fp8_block":
        require(up[2] % facts.block_shape_k == 0 and down[2] % facts.block_shape_k == 0,
                "a block of K is a whole number of scales")
    shared = max((up[0] * up[2] + up[2] * up[1]) * up[5], (down[0] * down[2] + down[2] * down[1]) * down[5])
    require(shared * (1 if facts.dtype in ("fp8", "fp8_block") else 2) <= 227 * 1024, "a block's shared memory")

    combine = combination(facts, call.tokens)
    require(combine != "moe-sum-reduce" or facts.hidden % 16 == 0, "moe_sum_reduce steps 16 elements")

    padded = pairs + (facts.experts + 1) * (up[0] - 1)
    return Choice(
        up_block_m=up[0],
        up_block_n=up[1],
        up_block_k=up[2],
        up_group_m=up[3],
        up_warps=up[4],
        up_stages=up[5],
        up_even_k=facts.hidden % up[2] == 0,
        down_block_m=down[0],
        down_block_n=down[1],
        down_block_k=down[2],
        down_group_m=down[3],
        down_warps=down[4],
        down_stages=down[5],
        down_even_k=facts.intermediate % down[2] == 0,
        down_tma=tma,
        align=align_kernel(facts, pairs),
        fused_fill=facts.always_fused or padded <= 4096,
        combine=combine,
        topk="warp" if facts.experts <= 256 and facts.experts & (facts.experts - 1) == 0 else "softmax-then-topk",
        filter_experts=not facts.all_experts,
        weight_in_up=facts.router_weight_on_input,
    )
