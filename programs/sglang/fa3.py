"""SGLang's attention on Hopper: FlashAttention-3's choices before a forward launch.

After sgl-project/sgl-flash-attn at 4386e006 (hopper/, 2026-03), called as SGLang's fa3 backend calls it: paged
keys, cu_seqlens_q and cache_seqlens given (so always the variable-length kernels), causal, pack_gqa and
num_splits left to the heuristics, sm_margin 0.

Added: the split stride.  The prepare kernel cuts a request's keys in as many parts as the whole batch's work
suggests, so a request's sums follow its neighbours even if num_splits is fixed.  Here that rule's length of a
part is rounded up to a power of two of tokens (times the odd part of the key block), is long enough for
num_splits parts to cover the page table, and is handed to the kernel: 0 with one split, else parts of
split_stride tokens.  It starts no splits where the device's rule would start none for any request, but uses the
longest stride.

Left out, with the reason:
- sm8x tiles, the static and single-tile schedulers, clusters of two: the deployments are Hopper and always of
  variable length, where cluster_m is 1 and the scheduler is persistent
- q_v, k_new, rotary, leftpad, kv_batch_idx, attention chunks, cu_seqlens_k, column-major V, ragged MLA extend, the two
  calls of tree speculation: SGLang's path for plain and windowed decoders passes none of them
- what orders work only: the sort key, heads in L2, warps and early launch of prepare, the combine kernel's grid; and
  metadata sizes, grids and register splits, which follow from the fields
- an empty call: an engine makes none
- tiles with other products than the schema's tiles_R by 128 keys: their number is scaled, which may differ from the
  device's by rounding (head_dim 128 with 4, 8 or 16 query heads a KV head is exact)
"""
from __future__ import annotations

from selir import Batch, Facts, Own, Record, Runtime, Unpinnable, assume, f32, knob, require, selection

from fa3_tiles import round_head_dim, tile

MAX_SPLITS = 128  # that the heuristic returns
L2_BYTES = 50 * 1024 * 1024
STRIDES = 13  # of which the longest is below the context, each half the next
ODD_PART = {64: 1, 80: 5, 96: 3, 112: 7, 128: 1, 144: 9, 160: 5, 176: 11, 192: 3, 224: 7}


class Model(Facts):
    head_dim: int
    head_dim_v: int
    q_heads: int  # of this rank
    kv_heads: int  # of this rank
    dtype: str  # bf16, fp16 or e4m3
    softcap: bool
    window: int  # keys to the left; -1: all
    page_size: int
    sms: int
    graph_max_batch: int  # decode steps up to it run in CUDA graphs; 0: none do
    max_batch: int
    max_context: int
    max_query: int


class Call(Batch):
    requests: Runtime[range(1, facts.max_batch + 1)]
    longest_query: Runtime[range(1, facts.max_query + 1)]
    longest_kv: Runtime[range(1, facts.max_context + 1)]
    tiles_8: Unpinnable[range(1, facts.max_batch * (facts.max_query // 8 + 1) * (facts.max_context // 128 + 1) + 1)]
    tiles_16: Unpinnable[range(1, facts.max_batch * (facts.max_query // 16 + 1) * (facts.max_context // 128 + 1) + 1)]
    tiles_32: Unpinnable[range(1, facts.max_batch * (facts.max_query // 32 + 1) * (facts.max_context // 128 + 1) + 1)]
    tiles_64: Unpinnable[range(1, facts.max_batch * (facts.max_query // 64 + 1) * (facts.max_context // 128 + 1) + 1)]
    kv_length: Own[range(1, facts.max_context + 1)]


class Choice(Record):
    arch: int
    dtype: str
    head_dim: int
    head_dim_v: int
    causal: bool
    local: bool
    softcap: bool
    varlen: bool
    one_wg: bool
    block_m: int
    block_n: int
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
    metadata_ahead: bool
    combine_splits: int


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def ceil(x: float) -> float:
    return -(-x // 1.0)


def element_bits(facts: Model) -> int:
    return 8 if facts.dtype == "e4m3" else 16


def page_table_keys(facts: Model, call: Call) -> int:
    """Keys that the page table has room for: all of the context's in a decode graph, else the longest request's."""
    keys = call.longest_kv
    if call.longest_query == 1 and call.requests <= facts.graph_max_batch:
        keys = facts.max_context
    return ceil_div(keys, facts.page_size) * facts.page_size


def efficiency(tiles: int, splits: int, sms: int) -> float:
    """How full the last of the waves is, on average, in single precision."""
    waves = f32(f32(float(tiles * splits)) / f32(float(sms)))
    return f32(waves / ceil(waves))


def heuristic_splits(
    facts: Model, keys: int, loaded: int, tile_rows: int, tile_keys: int, masked: bool, rows: int
) -> int:
    """Parts that fill the device if one request stood for the batch."""
    blocks_n = ceil_div(loaded, tile_keys)
    blocks_m = ceil_div(rows, tile_rows)
    tiles = facts.kv_heads * blocks_m
    if f32(float(tiles)) >= f32(f32(0.8) * float(facts.sms)):
        kv_bytes = keys * (facts.head_dim + facts.head_dim_v) * (element_bits(facts) // 8)
        if kv_bytes > L2_BYTES and blocks_m >= 2 * facts.sms and not masked:
            return min(ceil_div(kv_bytes, L2_BYTES), MAX_SPLITS)
        return 1
    if blocks_n <= 4:
        return 1
    most = min(MAX_SPLITS, facts.sms, blocks_n)
    fill = [efficiency(tiles, splits, facts.sms) for splits in range(1, MAX_SPLITS + 1)]
    best = 0.0
    for i in range(MAX_SPLITS):
        if i < most:
            best = max(best, fill[i])
    for i in range(MAX_SPLITS):
        if i < most and fill[i] >= 0.85 * best:
            return i + 1
    return 1


def batch_tiles(call: Call, rows: int, tile_rows: int, tile_keys: int) -> int:
    """Pairs of a row block and a key block over the batch; `rows` are those of one token."""
    tokens = tile_rows // rows
    if tokens >= 64:
        tiles = ceil_div(call.tiles_64 * 64, tokens)
    elif tokens >= 32:
        tiles = ceil_div(call.tiles_32 * 32, tokens)
    elif tokens >= 16:
        tiles = ceil_div(call.tiles_16 * 16, tokens)
    else:
        tiles = ceil_div(call.tiles_8 * 8, max(tokens, 1))
    return ceil_div(tiles * 128, tile_keys)


def blocks_per_split(facts: Model, tiles: int, heads: int) -> int:
    """Key blocks of a part by which the batch's work fills the device, as the prepare kernel counts them."""
    work = f32(f32(float(tiles)) * f32(1.1))
    return int(ceil(f32(f32(work * float(heads)) / float(facts.sms))))


def longest_stride(facts: Model) -> int:
    """The longest power of two below the context."""
    longest = 1
    for power in range(1, 31):
        if 1 << power < facts.max_context:
            longest = 1 << power
    return longest


def stride_of(facts: Model, needed: int, tile_keys: int) -> int:
    """The shortest stride of at least `needed` keys, or the longest there is."""
    odd = ODD_PART[tile_keys]
    longest = longest_stride(facts)
    stride = odd * longest
    for i in range(1, STRIDES):
        if odd * (longest >> i) >= needed:
            stride = odd * (longest >> i)
    return stride


def combine_bucket(facts: Model, splits: int) -> int:
    """Parts that the combine kernel is built for; 0: it is not launched."""
    if splits == 1:
        return 0
    if facts.head_dim_v <= 64 and splits <= 16:
        return 16
    for most in (32, 64, 128):
        if splits <= most:
            return most
    return 256


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


@selection(family="attention")
def choose(facts: Model, call: Call) -> Choice:
    check_facts(facts)
    assume(call.kv_length <= call.longest_kv, "no request is longer than the longest")

    # Decode steps may have the scheduler's metadata computed once, ahead of all layers.
    metadata_ahead = knob("metadata_ahead", (False, True), default=True)

    bits = element_bits(facts)
    dim = round_head_dim(facts.head_dim)
    dim_v = round_head_dim(facts.head_dim_v)
    group = facts.q_heads // facts.kv_heads
    rows = call.longest_query * group
    keys = page_table_keys(facts, call)

    local = 0 <= facts.window < keys - 1
    full = call.longest_query == 1 and not local and not 64 < facts.head_dim <= 128
    causal = not local and not full
    one_wg = facts.head_dim in (64, 128) and facts.head_dim_v == facts.head_dim and rows <= 64

    tma_tile = tile(bits, dim, dim_v, causal, local, False, facts.softcap, one_wg)
    paged_tma = not local and facts.page_size % tma_tile[1] == 0 and rows > tma_tile[0]
    block_m, block_n, pv_in_registers, overlap = tile(
        bits, dim, dim_v, causal, local, not paged_tma, facts.softcap, one_wg)

    loaded = min(keys, facts.window + 1 + block_m) if local else keys
    num_splits = heuristic_splits(facts, keys, loaded, block_m, block_n, causal or local, rows)
    narrow = group == 8 and local and facts.head_dim == 64 and facts.head_dim_v == 64
    pack_gqa = not paged_tma or num_splits > 1 or narrow or group > 1

    split_stride = 0
    if num_splits > 1:
        tiles = batch_tiles(call, group, block_m, block_n)
        blocks = blocks_per_split(facts, tiles, facts.kv_heads)
        split_stride = stride_of(facts, max(blocks * block_n, ceil_div(keys, num_splits)), block_n)

    require(num_splits <= 255, "the scheduler keeps the number of splits in 8 bits")
    require((num_splits == 1) == (split_stride == 0), "a stride is for more than one split, and they need one")
    require(split_stride % block_n == 0, "a split is a whole number of key blocks")
    require(num_splits == 1 or num_splits * split_stride >= call.kv_length, "the splits cover the request")
    require(num_splits == 1 or call.requests <= 992, "the prepare kernel splits in batches of at most 992 requests")

    return Choice(
        arch=90,
        dtype=facts.dtype,
        head_dim=dim,
        head_dim_v=dim_v,
        causal=causal,
        local=local,
        softcap=facts.softcap,
        varlen=True,
        one_wg=one_wg,
        block_m=block_m,
        block_n=block_n,
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
        metadata_ahead=metadata_ahead,
        combine_splits=combine_bucket(facts, num_splits),
    )
