"""vLLM's attention on Hopper: what FlashAttention-3 chooses before a forward launch.

After vllm-project/flash-attention at 617264c1 (hopper/, 2026-08-06), as vLLM's flash_attn backend of mid 2026 calls
it: paged keys with block table, cu_seqlens_q and seqused_k (so the variable-length kernels always), causal,
max_seqlen_k given, pack_gqa left to the heuristic, sm_margin 0.

It differs from SGLang's fork where these say so: keys are counted by the longest request and not by the page table;
one warpgroup for unwindowed layers only; one split beyond 992 requests; rows of several heads in one block (block_h);
batches are never sorted; in full CUDA graphs num_splits is given (32), elsewhere the heuristic's.  A graph's launch was
chosen at capture, with the whole context as the longest request.

Added: the split stride.  num_splits is a cap only: the prepare kernel cuts a request's keys by the whole batch's
work.  Here the length of a part by that rule is rounded up to a power of two of tokens (times the odd part of the key
block), is made long enough for num_splits parts to cover the longest request, and is given to the kernel: 0 with one
split, else parts of split_stride tokens from key 0.

Left out, with the reason:
- arch below 90 (vLLM runs FlashAttention-2 there), from 100 (FlashAttention-4), and ALiBi (refused by FlashAttention-3)
- q_v, k_new, rotary, leftpad, kv_batch_idx, cu_seqlens_k, V's stride: no decoder of vLLM passes them; so no single-tile
  or static scheduler, no cluster of two, no TMA store: variable length has none
- encoders and cascade attention (common prefixes of 256 tokens and more, 8 requests and more): two calls, of which the
  second depends on the batch; start vLLM with --disable-cascade-attn
- what only orders or sizes work: heads in L2, prepare's warps, CTAs and early launch, the combine kernel's grid, the
  number of metadata vectors, producer threads and registers: they follow from the fields and the batch
- an empty call (total_q 0): vLLM makes none
- a tile whose product the schema's tiles_R by 128 keys does not count: scaled, so that its number may differ from the
  device's by rounding (128-wide heads with 1, 2, 4, 8 or 16 query heads a KV head are exact)
"""
from __future__ import annotations

from selir import Batch, Facts, Own, Record, Unpinnable, assume, f32, knob, require, selection

from fa3_tiles import built_for, e4m3_tile, half_tile

MOST_SPLITS = 128  # by the heuristic
L2_BYTES = 50 * 1024 * 1024
STRIDES = 13
PREPARE_MOST = 992  # requests that one CTA of the prepare kernel takes
ODD_PART = {64: 1, 80: 5, 96: 3, 128: 1, 144: 9, 160: 5, 176: 11, 192: 3, 224: 7}


class Model(Facts):
    head_dim: int
    head_dim_v: int
    q_heads: int  # of this rank
    kv_heads: int  # of this rank
    dtype: str  # bf16, fp16 or e4m3
    two_level: bool  # e4m3: accumulate in two levels
    softcap: bool
    window: int  # keys to the left of a token; -1: all
    page_size: int
    sms: int
    graph_max_tokens: int  # batches up to it run in full CUDA graphs; 0: none do
    graph_mixed: bool  # not only those of one token a request
    graph_splits: int  # flash_attn_max_num_splits_for_cuda_graph
    batch_invariant: bool  # VLLM_BATCH_INVARIANT
    max_batch: int
    max_context: int
    max_query: int
    token_budget: int


class Call(Batch):
    requests: Unpinnable[range(1, facts.max_batch + 1)]
    longest_query: Unpinnable[range(1, facts.max_query + 1)]
    longest_kv: Unpinnable[range(1, facts.max_context + 1)]
    total_query: Unpinnable[range(1, facts.token_budget + 1)]
    tiles_8: Unpinnable[range(1, facts.max_batch * (facts.max_query // 8 + 1) * (facts.max_context // 128 + 1) + 1)]
    tiles_16: Unpinnable[range(1, facts.max_batch * (facts.max_query // 16 + 1) * (facts.max_context // 128 + 1) + 1)]
    tiles_32: Unpinnable[range(1, facts.max_batch * (facts.max_query // 32 + 1) * (facts.max_context // 128 + 1) + 1)]
    tiles_64: Unpinnable[range(1, facts.max_batch * (facts.max_query // 64 + 1) * (facts.max_context // 128 + 1) + 1)]
    kv_length: Own[range(1, facts.max_context + 1)]


class Choice(Record):
    arch: int
    dtype: str
    out_dtype: str
    head_dim: int
    head_dim_v: int
    causal: bool
    local: bool
    softcap: bool
    varlen: bool
    one_wg: bool
    block_m: int
    block_n: int
    block_h: int
    pv_in_registers: bool
    overlap: bool
    paged_tma: bool
    paged_non_tma: bool
    pack_gqa: bool
    append_kv: bool
    has_qv: bool
    v_colmajor: bool
    cluster_m: int
    num_splits: int
    split_stride: int
    scheduler: str
    head_swizzle: bool
    sort_batches: bool
    metadata_ahead: bool
    combine_splits: int


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def tile(facts: Model, causal: bool, local: bool, gather: bool, one_wg: bool):
    dim = built_for(facts.head_dim)
    if facts.dtype == "e4m3":
        return e4m3_tile(dim, local, gather, facts.softcap, one_wg, facts.two_level)
    return half_tile(dim, built_for(facts.head_dim_v), causal, local, gather, one_wg)


def in_full_graph(facts: Model, call: Call) -> bool:
    return call.total_query <= facts.graph_max_tokens and (facts.graph_mixed or call.longest_query == 1)


def last_wave(tiles: int, splits: int, sms: int) -> float:
    """How full the waves are, in single precision."""
    waves = f32(f32(float(tiles * splits)) / f32(float(sms)))
    return f32(waves / -(-waves // 1.0))


def splits_to_fill(tiles: int, most: int, sms: int) -> int:
    """The fewest splits that come within 85% of the fullest last wave."""
    fill = [last_wave(tiles, splits, sms) for splits in range(1, MOST_SPLITS + 1)]
    fullest = 0.0
    for i in range(MOST_SPLITS):
        if i < most:
            fullest = max(fullest, fill[i])
    for i in range(MOST_SPLITS):
        if i < most and fill[i] >= 0.85 * fullest:
            return i + 1
    return 1


def heuristic_splits(facts: Model, keys: int, loaded: int, block_m: int, block_n: int, masked: bool, rows: int) -> int:
    """As if one request were the batch: variable length counts one."""
    blocks_m = ceil_div(rows, block_m)
    blocks_n = ceil_div(loaded, block_n)
    tiles = facts.kv_heads * blocks_m
    if f32(float(tiles)) >= f32(f32(0.8) * float(facts.sms)):
        kv_bytes = keys * (facts.head_dim + facts.head_dim_v) * (1 if facts.dtype == "e4m3" else 2)
        if kv_bytes > L2_BYTES and blocks_m >= 2 * facts.sms and not masked:
            return min(ceil_div(kv_bytes, L2_BYTES), MOST_SPLITS)
        return 1
    if blocks_n <= 4:
        return 1
    return splits_to_fill(tiles, min(MOST_SPLITS, facts.sms, blocks_n), facts.sms)


def batch_tiles(call: Call, group: int, block_m: int, block_n: int) -> int:
    """Pairs of a row block and a key block, over the batch."""
    tokens = block_m // group  # whose rows fill a block
    if tokens >= 64:
        tiles = ceil_div(call.tiles_64 * 64, tokens)
    elif tokens >= 32:
        tiles = ceil_div(call.tiles_32 * 32, tokens)
    elif tokens >= 16:
        tiles = ceil_div(call.tiles_16 * 16, tokens)
    else:
        tiles = ceil_div(call.tiles_8 * 8, max(tokens, 1))
    return ceil_div(tiles * 128, block_n)


def blocks_per_split(facts: Model, tiles: int) -> int:
    """Key blocks of a part, by the prepare kernel: 10% more than an even share of the device."""
    work = f32(f32(f32(float(tiles)) * f32(1.1)) * float(facts.kv_heads))
    return int(-(-f32(work / float(facts.sms)) // 1.0))


def stride_of(facts: Model, needed: int, block_n: int) -> int:
    """The shortest stride of at least `needed` keys, else the longest."""
    longest = max([1 << power for power in range(31) if 1 << power < facts.max_context], default=1)
    odd = ODD_PART[block_n]
    stride = odd * longest
    for i in range(1, STRIDES):
        if odd * (longest >> i) >= needed:
            stride = odd * (longest >> i)
    return stride


def combine_bucket(facts: Model, splits: int) -> int:
    """Splits that the combine kernel is built for; 0: it is not launched."""
    if splits == 1:
        return 0
    if facts.head_dim_v <= 64 and splits <= 16:
        return 16
    return 32 if splits <= 32 else 64 if splits <= 64 else 128 if splits <= 128 else 256


def heads_in_block(facts: Model, pack_gqa: bool, one_wg: bool, num_splits: int) -> int:
    group = facts.q_heads // facts.kv_heads
    one_width = built_for(facts.head_dim) == built_for(facts.head_dim_v)
    if pack_gqa and one_width and facts.dtype != "fp16" and not one_wg and num_splits == 1 and group in (4, 8, 16):
        return group
    return 1


def check_facts(facts: Model):
    require(facts.dtype in ("bf16", "fp16", "e4m3"), "elements are bf16, fp16 or e4m3")
    step = 16 if facts.dtype == "e4m3" else 8
    require(facts.head_dim <= 256 and facts.head_dim % step == 0 and facts.head_dim_v % step == 0,
            "head dimensions are at most 256, in steps of 8 (e4m3: 16)")
    require(facts.head_dim_v == facts.head_dim
            or 128 < facts.head_dim <= 192 and 96 < facts.head_dim_v <= 128
            or facts.head_dim <= 64 and facts.head_dim_v in (256, 512) and facts.dtype != "e4m3",
            "V has K's head dimension, or one that there are kernels for")
    require(facts.q_heads % facts.kv_heads == 0, "query heads divide into KV heads")
    require(facts.page_size % 16 == 0, "vLLM's pages are multiples of 16 tokens")


@selection(family="attention")
def choose(facts: Model, call: Call) -> Choice:
    check_facts(facts)
    assume(call.kv_length <= call.longest_kv, "no request is longer than the longest")

    # The scheduler's metadata may be computed once, ahead of all layers.
    metadata_ahead = knob("metadata_ahead", (False, True), default=not facts.batch_invariant)

    group = facts.q_heads // facts.kv_heads
    rows = call.longest_query * group
    graph = in_full_graph(facts, call)
    keys = facts.max_context if graph else call.longest_kv

    local = 0 <= facts.window < keys - 1
    causal = not local and not (call.longest_query == 1 and not 64 < facts.head_dim <= 128)
    one_wg = facts.head_dim in (64, 128) and facts.head_dim_v == facts.head_dim and rows <= 64 and not local

    tma_tile = tile(facts, causal, local, False, one_wg)
    paged_tma = not local and facts.page_size % tma_tile[1] == 0 and rows > tma_tile[0]
    block_m, block_n, pv_in_registers, overlap = tile(facts, causal, local, not paged_tma, one_wg)

    if facts.batch_invariant or call.requests > PREPARE_MOST:
        num_splits = 1
    elif graph and facts.graph_splits > 0:
        num_splits = facts.graph_splits
    else:
        loaded = min(keys, facts.window + 1 + block_m) if local else keys
        num_splits = heuristic_splits(facts, keys, loaded, block_m, block_n, causal or local, rows)

    narrow = group == 8 and local and facts.head_dim == 64 and facts.head_dim_v == 64
    pack_gqa = not paged_tma or num_splits > 1 or narrow or group > 1

    split_stride = 0
    if num_splits > 1:
        share = blocks_per_split(facts, batch_tiles(call, group, block_m, block_n)) * block_n
        split_stride = stride_of(facts, max(share, ceil_div(call.longest_kv, num_splits)), block_n)

    require(num_splits <= 255, "the scheduler keeps the number of splits in 8 bits")
    require((num_splits == 1) == (split_stride == 0), "a stride is for more than one split, and they need one")
    require(split_stride % block_n == 0, "a split is a whole number of key blocks")
    require(num_splits == 1 or num_splits * split_stride >= call.kv_length, "the splits cover the request")
    require(num_splits == 1 or call.requests <= PREPARE_MOST, "beyond 992 requests there is one split")

    return Choice(
        arch=90,
        dtype=facts.dtype,
        out_dtype="bf16" if facts.dtype == "e4m3" else facts.dtype,
        head_dim=built_for(facts.head_dim),
        head_dim_v=built_for(facts.head_dim_v),
        causal=causal,
        local=local,
        softcap=facts.softcap,
        varlen=True,
        one_wg=one_wg,
        block_m=block_m,
        block_n=block_n,
        block_h=heads_in_block(facts, pack_gqa, one_wg, num_splits),
        pv_in_registers=pv_in_registers,
        overlap=overlap,
        paged_tma=paged_tma,
        paged_non_tma=not paged_tma,
        pack_gqa=pack_gqa,
        append_kv=False,
        has_qv=False,
        v_colmajor=False,
        cluster_m=1,
        num_splits=num_splits,
        split_stride=split_stride,
        scheduler="varlen-dynamic-persistent",
        head_swizzle=causal or local,
        sort_batches=False,
        metadata_ahead=metadata_ahead,
        combine_splits=combine_bucket(facts, num_splits),
    )
