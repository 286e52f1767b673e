"""vLLM's programs: choices worked out by hand, at each threshold and beside it, and Detent's vm beside CPython.

usage: programs_vllm.py [EVAL]
"""
import sys

from programs_vm import beside_vm, expect, load, main

KIB, MIB = 1024, 1024 * 1024

# --- FlashAttention-3 -----------------------------------------------------------------

FA3 = dict(head_dim=128, head_dim_v=128, q_heads=8, kv_heads=1, dtype="bf16", two_level=True, softcap=False, window=-1,
           page_size=16, sms=132, graph_max_tokens=0, graph_mixed=False, graph_splits=32, batch_invariant=False,
           max_batch=512, max_context=131072, max_query=8192, token_budget=16384)


def fa3(dim=None, **facts):
    if dim:
        facts = dict(head_dim=dim, head_dim_v=dim, **facts)
    return load("vllm", "fa3.py", {**FA3, **facts})


def step(query, kv, requests=1, tiles=1, own=None, total=None):
    return dict(requests=requests, longest_query=query, longest_kv=kv, kv_length=own or kv, total_query=total or query,
                tiles_8=tiles, tiles_16=tiles, tiles_32=tiles, tiles_64=tiles)


def test_splits():
    """(query heads, KV heads, head dim, longest query, longest KV) -> rows and keys of a block, splits."""
    for q, kv, dim, query, keys, block_m, block_n, splits in (
        (8, 1, 128, 1, 512, 64, 128, 1),
        (8, 1, 128, 1, 513, 64, 128, 5),
        (8, 1, 128, 1, 1024, 64, 128, 7),
        (8, 1, 128, 1, 4096, 64, 128, 28),
        (8, 1, 128, 1, 8192, 64, 128, 55),
        (8, 1, 128, 1, 40960, 64, 128, 109),
        (8, 1, 128, 8, 40960, 64, 128, 109),
        (8, 1, 128, 9, 40960, 128, 128, 109),
        (8, 1, 128, 16, 40960, 128, 128, 109),
        (8, 1, 128, 17, 40960, 128, 128, 57),
        (8, 1, 128, 32, 40960, 128, 128, 57),
        (8, 1, 128, 512, 40960, 128, 128, 4),
        (8, 1, 128, 2048, 40960, 128, 128, 1),
        (16, 2, 128, 1, 131072, 64, 128, 57),
        (32, 8, 128, 1, 131072, 64, 128, 15),
        (16, 16, 256, 1, 8192, 128, 80, 8),
        (32, 32, 96, 1, 131072, 192, 128, 4),
        # one row of 64-wide heads: causal False by the override, one warpgroup: 64 x 192; ceil (131072 / 192) = 683
        (32, 8, 64, 1, 131072, 64, 192, 15),
        # 16 tokens of 4 heads are 64 rows, 17 are not; two tokens are causal: 128 keys
        (32, 8, 64, 16, 131072, 64, 192, 15),
        (32, 8, 64, 17, 131072, 192, 128, 15),
        # 105 row blocks are below 0.8 * 132 = 105.6, and 5 times them fill 525 / 528; 106 are not
        (8, 1, 128, 1680, 40960, 128, 128, 5),
        (8, 1, 128, 1681, 40960, 128, 128, 1),
    ):
        expect("splits", fa3(dim, q_heads=q, kv_heads=kv), step(query, keys), block_m=block_m, block_n=block_n,
               num_splits=splits)
    # 512 keys are four blocks, also with the larger tile
    expect("four blocks", fa3(), step(9, 512), num_splits=1)
    expect("five blocks", fa3(), step(9, 513), num_splits=5)


def test_tiles():
    """Facts -> (block_m, block_n, P in registers, overlap); one causal prefill, pages that TMA does not take."""
    for facts, query, want in (
        (dict(dim=64), 100, (192, 128, True, True)),
        (dict(dim=64, window=1000), 100, (192, 160, True, False)),
        (dict(dim=64, q_heads=8), 1, (64, 192, True, True)),
        # 65 rows without mask (the override): gathered pages take 160 keys
        (dict(dim=64, q_heads=65), 1, (192, 160, False, True)),
        (dict(dim=64, q_heads=64), 1, (64, 192, True, True)),
        (dict(head_dim=64, head_dim_v=512), 100, (64, 64, False, False)),
        (dict(head_dim=64, head_dim_v=256), 100, (128, 96, True, False)),
        (dict(dim=96), 100, (192, 128, False, True)),
        (dict(dim=80), 100, (192, 128, False, True)),
        (dict(dim=128), 100, (128, 128, True, True)),
        (dict(dim=192), 100, (128, 96, True, True)),
        (dict(head_dim=192, head_dim_v=128), 100, (128, 96, True, True)),
        (dict(dim=256), 100, (128, 80, True, True)),
        (dict(dim=256, window=1000), 100, (128, 64, True, True)),
        # TMA pages: 100 tokens of 8 heads are more rows than a block has
        (dict(dim=96, page_size=144), 100, (192, 144, False, True)),
        (dict(dim=192, page_size=96), 100, (128, 96, True, True)),
        (dict(head_dim=192, head_dim_v=128, page_size=128), 100, (128, 128, True, True)),
        (dict(dim=128, page_size=128), 100, (128, 128, True, True)),
        # e4m3 in two levels, then in one
        (dict(dim=64, dtype="e4m3"), 100, (192, 128, True, True)),
        (dict(dim=96, dtype="e4m3"), 100, (128, 128, True, True)),
        (dict(dim=128, dtype="e4m3"), 100, (128, 192, True, True)),
        (dict(dim=192, dtype="e4m3"), 100, (128, 96, True, True)),
        (dict(dim=256, dtype="e4m3"), 100, (128, 128, True, False)),
        (dict(dim=256, dtype="e4m3", page_size=128), 100, (128, 128, True, True)),
        (dict(dim=256, dtype="e4m3", window=1000), 100, (128, 64, True, False)),
        (dict(dim=64, dtype="e4m3"), 8, (64, 128, True, True)),
        (dict(dim=128, dtype="e4m3"), 8, (64, 96, True, True)),
        (dict(dim=64, dtype="e4m3", two_level=False), 100, (192, 160, True, True)),
        (dict(dim=96, dtype="e4m3", two_level=False), 100, (192, 128, True, True)),
        (dict(dim=128, dtype="e4m3", two_level=False), 100, (128, 160, True, True)),
        (dict(dim=128, dtype="e4m3", two_level=False, page_size=224), 100, (128, 224, True, True)),
        (dict(dim=192, dtype="e4m3", two_level=False), 100, (128, 160, True, True)),
        (dict(dim=192, dtype="e4m3", two_level=False, window=1000), 100, (128, 128, True, True)),
    ):
        program = fa3(**{**dict(q_heads=8, kv_heads=1), **facts})
        for field, value in zip(("block_m", "block_n", "pv_in_registers", "overlap"), want):
            expect(f"tile of {facts}", program, step(query, 40000), **{field: value})


def test_one_warpgroup():
    program = fa3()
    expect("64 rows", program, step(8, 4096), one_wg=True, block_m=64)
    expect("72 rows", program, step(9, 4096), one_wg=False, block_m=128)
    expect("window", fa3(window=1000), step(1, 4096), one_wg=False, local=True)
    expect("a window as long as the keys is none", fa3(window=1000), step(1, 1001), one_wg=True, local=False)
    expect("one key more", fa3(window=1000), step(1, 1002), one_wg=False, local=True)
    expect("96 wide", fa3(96), step(1, 4096), one_wg=False)


def test_causal():
    expect("one token of 128-wide paged heads stays causal", fa3(), step(1, 4096), causal=True, head_swizzle=True)
    for dim, causal in ((64, False), (72, True), (96, True), (128, True), (136, False), (256, False)):
        expect(f"{dim} wide", fa3(dim), step(1, 4096), causal=causal)
        expect(f"{dim} wide, two tokens", fa3(dim), step(2, 4096), causal=True)


def test_pages():
    """TMA takes pages of whole key blocks for more rows than a block has."""
    program = fa3(page_size=128)
    expect("64 rows are one block", program, step(8, 4096), paged_tma=False)
    expect("128 rows are one block", program, step(16, 4096), paged_tma=False, paged_non_tma=True)
    expect("136 rows", program, step(17, 4096), paged_tma=True, paged_non_tma=False)
    expect("pages of 112", fa3(page_size=112), step(17, 4096), paged_tma=False)
    expect("window", fa3(page_size=128, window=64), step(17, 4096), paged_tma=False)
    expect("packed, several heads", program, step(17, 4096), pack_gqa=True)
    expect("one head of TMA pages, not split", fa3(q_heads=1, page_size=128), step(4096, 512), pack_gqa=False, num_splits=1)
    expect("one head of TMA pages, split", fa3(q_heads=1, page_size=128), step(129, 8192), pack_gqa=True)


def test_block_h():
    """4, 8 or 16 heads that are packed, not split, of one width, not fp16, not one warpgroup."""
    for heads, block_h in ((1, 1), (2, 1), (4, 4), (8, 8), (16, 16), (32, 1)):
        expect(f"{heads} heads", fa3(q_heads=heads), step(4096, 4096), block_h=block_h)
    expect("fp16", fa3(dtype="fp16"), step(4096, 4096), block_h=1)
    expect("split", fa3(), step(9, 8192), block_h=1)
    expect("one warpgroup", fa3(), step(8, 512), block_h=1, num_splits=1)
    expect("two warpgroups", fa3(), step(9, 512), block_h=8, num_splits=1)
    expect("two widths", fa3(head_dim=192, head_dim_v=128), step(4096, 4096), block_h=1)


def test_limits():
    many = fa3(max_batch=1024)
    expect("992 requests", many, step(1, 8192, requests=992), num_splits=55)
    expect("993 requests", many, step(1, 8192, requests=993), num_splits=1, split_stride=0, combine_splits=0)
    graphs = fa3(graph_max_tokens=512)
    expect("a graph's cap", graphs, step(1, 512, requests=512, total=512), num_splits=32, combine_splits=32)
    expect("a batch beyond graphs", graphs, step(1, 513, requests=513 - 1, total=513), num_splits=5)
    expect("prefill in no graph", graphs, step(2, 512, total=2), num_splits=1)
    expect("prefill in a graph", fa3(graph_max_tokens=512, graph_mixed=True), step(2, 512, total=2), num_splits=32)
    expect("no cap is the heuristic", fa3(graph_max_tokens=512, graph_splits=0), step(1, 512), num_splits=109)
    expect("batch invariant", fa3(batch_invariant=True), step(1, 8192), num_splits=1, metadata_ahead=False)
    expect("longest", fa3(), step(1, 100, own=101), refused="assume")


def test_combine():
    """The combine kernel's room for splits; heads of at most 64 have one for 16."""
    for cap, dim, room in ((2, 128, 32), (32, 128, 32), (33, 128, 64), (64, 128, 64), (65, 128, 128), (128, 128, 128),
                           (129, 128, 256), (255, 128, 256), (16, 64, 16), (17, 64, 32), (1, 128, 0)):
        expect(f"{cap} splits", fa3(dim, graph_max_tokens=512, graph_splits=cap), step(1, 1024), num_splits=cap,
               combine_splits=room)
    expect("256 splits", fa3(graph_max_tokens=512, graph_splits=256), step(1, 1024), refused="require")


def test_stride():
    """ceil (tiles * 1.1 / 132) blocks of 128 keys, up to a power of two of keys."""
    decode = fa3()
    for tiles, blocks in ((1, 1), (120, 1), (121, 2), (240, 2), (241, 4), (480, 4), (481, 8)):
        expect(f"{tiles} tiles", decode, step(1, 1024, tiles=tiles), num_splits=7, split_stride=max(blocks * 128, 256))
    # 7 splits of 128 do not cover 1,024 keys: 147 are needed at least, 256 it is
    expect("cover", decode, step(1, 896, tiles=1), num_splits=6, split_stride=256)
    expect("one split", decode, step(1, 512, tiles=1), split_stride=0)
    expect("the longest", decode, step(1, 131072, tiles=500_000), split_stride=65536)


# --- fused MoE --------------------------------------------------------------------------

MOE = dict(experts=128, top_k=8, hidden=2048, intermediate=192, dtype="bf16", scale_block_n=0, scale_block_k=0,
           table="E=128,N=192,device_name=NVIDIA_H100_80GB_HBM3.json", expert_map=False, weight_on_input=False,
           batch_invariant=False, token_budget=16384)
KEYS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024, 1536, 2048, 3072, 4096)
FIRST = (1, 2, 4, 7, 13, 21, 29, 41, 57, 81, 113, 193, 385, 769, 1281, 1793, 2561, 3585)
ROW = ("block_m", "block_n", "block_k", "group_m", "warps", "stages")
H100 = {
    1: (16, 64, 64, 1, 4, 5), 2: (16, 64, 64, 64, 4, 5), 4: (16, 64, 64, 32, 4, 5), 8: (16, 128, 64, 16, 4, 5),
    16: (16, 128, 64, 1, 8, 3), 24: (16, 128, 64, 1, 8, 3), 32: (16, 128, 128, 16, 4, 3), 48: (16, 128, 64, 64, 4, 4),
    64: (16, 64, 64, 32, 4, 3), 96: (16, 128, 128, 16, 4, 2), 128: (16, 128, 128, 32, 4, 3),
    256: (32, 128, 128, 32, 4, 2), 512: (64, 128, 64, 16, 4, 3), 1024: (64, 128, 64, 32, 4, 3),
    1536: (128, 256, 64, 16, 8, 4), 2048: (128, 256, 64, 16, 8, 4), 3072: (128, 128, 64, 16, 8, 3),
    4096: (128, 128, 64, 16, 4, 3),
}


def moe(**facts):
    return load("vllm", "fused_moe.py", {**MOE, **facts})


def test_rows():
    """The first and the last token count of each key."""
    program = moe()
    for key, first, after in zip(KEYS, FIRST, FIRST[1:] + (16385,)):
        for tokens in (first, after - 1):
            expect(f"row of {tokens}", program, dict(tokens=tokens), **dict(zip(ROW, H100[key])))


def test_other_tables():
    for name, tokens, row in (("E=128,N=192,device_name=NVIDIA_H200.json", 1000, (128, 256, 64, 16, 8, 4)),
                              ("E=128,N=192,device_name=NVIDIA_H200.json", 50, (32, 128, 64, 16, 4, 4)),
                              ("E=128,N=768,device_name=NVIDIA_H100_80GB_HBM3.json", 16, (16, 32, 256, 64, 4, 2)),
                              ("E=128,N=768,device_name=NVIDIA_H200.json", 5000, (128, 256, 64, 16, 8, 4))):
        expect(name, moe(table=name), dict(tokens=tokens), **dict(zip(ROW, row)))


def test_without_table():
    few, many = (16, 32, 64, 1, 0, 0), (64, 64, 32, 8, 0, 0)
    for facts in ({}, dict(dtype="fp16"), dict(dtype="fp8_tensor")):
        program = moe(table="none", **facts)
        expect("128 tokens", program, dict(tokens=128), **dict(zip(ROW, few)))
        expect("129 tokens", program, dict(tokens=129), **dict(zip(ROW, many)))
    block = moe(table="none", dtype="fp8_block", scale_block_n=128, scale_block_k=128)
    for tokens in (1, 128, 129):
        expect("fp8 in blocks", block, dict(tokens=tokens), **dict(zip(ROW, (64, 128, 128, 32, 4, 3))))
        expect("batch invariant", moe(batch_invariant=True), dict(tokens=tokens), top_k_sorted=True,
               **dict(zip(ROW, many)))
    expect("blocks of no scale", moe(dtype="fp8_block", scale_block_n=0, scale_block_k=0), dict(tokens=1), refused="require")
    # a row of K blocks of 64 does not go with scale blocks of 128
    expect("K in scale blocks", moe(dtype="fp8_block", scale_block_n=128, scale_block_k=128), dict(tokens=1),
           refused="require")


def test_naive():
    """4 * tokens * 8 <= 128."""
    program = moe()
    expect("4 tokens", program, dict(tokens=4), naive_blocks=True)
    expect("5 tokens", program, dict(tokens=5), naive_blocks=False)
    expect("an expert map", moe(expert_map=True), dict(tokens=1), naive_blocks=False)


def test_sum():
    for top_k, kernel in ((1, "generic"), (2, "sum2"), (3, "sum3"), (4, "sum4"), (8, "generic")):
        expect(f"top {top_k}", moe(top_k=top_k), dict(tokens=9), sum_kernel=kernel)


# --- all-reduce --------------------------------------------------------------------------

AR = dict(world=4, arch=90, hidden=8, element_bytes=2, bf16=True, one_node=True, full_nvlink=True, multicast=True,
          nccl_symm=False, flashinfer=False, custom=True, symm_mem=False, pynccl=True, graph_max_tokens=0,
          batch_invariant=False, token_budget=(1 << 23))


def chosen(size, backend, algorithm, **facts):
    facts = {**AR, **facts}
    row = facts["hidden"] * facts["element_bytes"]
    facts["token_budget"] = size // row + 2
    expect(f"{size} bytes, {facts}", load("vllm", "allreduce.py", facts), dict(bytes=size), backend=backend, algorithm=algorithm)


def test_custom():
    for world, most_one in ((4, 512 * KIB), (6, 256 * KIB), (8, 256 * KIB)):
        chosen(most_one - 16, "custom", "one-stage", world=world)
        chosen(most_one, "custom", "two-stage", world=world)
        chosen(8 * MIB - 16, "custom", "two-stage", world=world)
        chosen(8 * MIB, "pynccl", "nccl", world=world)
    chosen(8 * MIB - 16, "custom", "one-stage", world=2, full_nvlink=False)
    chosen(8 * MIB, "pynccl", "nccl", world=2)
    for facts in (dict(world=3), dict(world=4, full_nvlink=False), dict(one_node=False), dict(custom=False),
                  dict(batch_invariant=True)):
        chosen(16, "pynccl", "nccl", **facts)
    chosen(24, "pynccl", "nccl", hidden=12)  # no whole number of 16 bytes
    chosen(16, "torch", "nccl", custom=False, pynccl=False)


def test_custom_beside_symmetric_memory():
    """The smaller limit; then symmetric memory, to its own, inclusive."""
    for arch, world, most, beyond, algorithm in (
        (90, 4, 8 * MIB, 32 * MIB, "multimem"), (90, 6, 512 * KIB, 64 * MIB, "multimem"),
        (90, 8, 256 * KIB, 64 * MIB, "multimem"), (90, 2, 8 * MIB, 64 * MIB, "two-shot"),
        (100, 2, 2 * MIB, 8 * MIB, "two-shot"), (100, 4, 2 * MIB, 32 * MIB, "two-shot"),
        (100, 6, MIB, 128 * MIB, "multimem"), (100, 8, MIB, 128 * MIB, "multimem"),
        (103, 2, 4 * MIB, 4 * MIB, "two-shot"), (103, 4, 4 * MIB, 32 * MIB, "two-shot"),
        (103, 6, 8 * MIB, 32 * MIB, "multimem"), (103, 8, 4 * MIB, 64 * MIB, "multimem"),
    ):
        facts = dict(arch=arch, world=world, symm_mem=True, hidden=4096)
        one = world == 2 or most <= (512 if world <= 4 else 256) * KIB
        chosen(most - 8192, "custom", "one-stage" if one else "two-stage", **facts)
        chosen(most, "symm-mem", algorithm, **facts)
        chosen(beyond, "symm-mem", algorithm, **facts)
        chosen(beyond + 8192, "pynccl", "nccl", **facts)
    chosen(8 * MIB, "pynccl", "nccl", symm_mem=True, multicast=False)
    chosen(8 * MIB, "pynccl", "nccl", symm_mem=True, bf16=False)


def test_nccl_symmetric():
    for world, low, high in ((4, 16 * KIB, 512 * KIB), (8, 16 * KIB, 128 * KIB)):
        facts = dict(world=world, nccl_symm=True)
        chosen(low, "nccl-symm", "nccl", **facts)
        chosen(low + 16, "custom", "one-stage", **facts)
        chosen(high - 16, "custom", "one-stage", **facts)
        chosen(high, "nccl-symm", "nccl", **facts)
        chosen(low, "pynccl", "nccl", batch_invariant=True, **facts)
    chosen(64 * KIB, "nccl-symm", "nccl", world=16, nccl_symm=True)
    chosen(16, "custom", "one-stage", world=6, nccl_symm=True)
    chosen(16, "custom", "one-stage", world=2, nccl_symm=True)


def test_flashinfer():
    for arch, world, most in ((90, 2, 64 * MIB), (90, 4, 2 * MIB), (90, 8, 512 * KIB), (100, 2, 64 * MIB),
                              (100, 4, 32 * MIB), (100, 8, MIB)):
        one_shot = {2: 128 * MIB, 4: 8 * MIB, 8: 42 * MIB // 16}[world]
        facts = dict(arch=arch, world=world, flashinfer=True, custom=False, hidden=4096)
        chosen(most, "flashinfer", "one-shot" if most <= one_shot else "two-shot", **facts)
        chosen(most + 8192, "pynccl", "nccl", **facts)
    facts = dict(arch=100, flashinfer=True, hidden=4096)
    chosen(8 * MIB, "flashinfer", "one-shot", **facts)
    chosen(8 * MIB + 8192, "flashinfer", "two-shot", **facts)
    chosen(256 * KIB, "flashinfer", "one-shot", one_node=False, **facts)
    chosen(256 * KIB + 8192, "flashinfer", "two-shot", one_node=False, **facts)
    chosen(16, "custom", "one-stage", arch=90, world=6, flashinfer=True)


def test_blocks():
    facts = {**AR, "token_budget": 1 << 16}
    program = load("vllm", "allreduce.py", facts)
    for size, blocks in ((16, 1), (8192, 1), (8208, 2), (35 * 8192, 35), (35 * 8192 + 16, 36), (36 * 8192 + 16, 36)):
        expect(f"blocks of {size}", program, dict(bytes=size), blocks=blocks)
    expect("in a graph", load("vllm", "allreduce.py", {**facts, "graph_max_tokens": 2}), dict(bytes=32), registered=True)
    expect("beyond graphs", load("vllm", "allreduce.py", {**facts, "graph_max_tokens": 2}), dict(bytes=48), registered=False)
    expect("deterministic NCCL", load("vllm", "allreduce.py", {**facts, "batch_invariant": True}), dict(bytes=32),
           nccl_tree=True, nccl_channels=1, rank_order=False)


# --- GEMM, RMSNorm -------------------------------------------------------------------------

GEMM = dict(n=2560, k=8192, dtype="bf16", arch=90, shared_bytes=232448, graph_max_tokens=512, batch_invariant=False,
            token_budget=8192)


def test_gemm():
    program = load("vllm", "gemm.py", GEMM)
    for tokens, rows in ((1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (8, 8), (9, 16), (248, 248), (249, 256), (256, 256),
                         (257, 272), (272, 272), (273, 288), (511, 512), (512, 512), (513, 513), (8191, 8191)):
        expect(f"{tokens} tokens", program, dict(tokens=tokens), rows=rows, path="cublas", workspace=True)
    expect("padding", program, dict(tokens=513), dict(padding=64), rows=576)
    tile = ("block_m", "block_n", "block_k", "group_m", "stages", "warps")
    for facts, path, want in (
        (dict(arch=90), "cublaslt", (0, 0, 0, 0, 0, 0)), (dict(arch=100), "cublaslt", (0, 0, 0, 0, 0, 0)),
        (dict(arch=80), "triton", (128, 128, 64, 8, 3, 8)), (dict(arch=89), "triton", (128, 128, 64, 8, 3, 8)),
        (dict(arch=80, dtype="fp16", shared_bytes=106497), "triton", (128, 256, 64, 8, 3, 8)),
        (dict(arch=80, dtype="fp16", shared_bytes=106496), "triton", (128, 128, 64, 8, 3, 8)),
        (dict(arch=80, dtype="fp32"), "triton", (128, 128, 32, 8, 3, 8)),
    ):
        expect(f"batch invariant {facts}", load("vllm", "gemm.py", {**GEMM, "batch_invariant": True, **facts}),
               dict(tokens=7), path=path, workspace=False, **dict(zip(tile, want)))


def test_norm():
    plain = dict(width=8192, rows_per_token=1, element_bytes=2, fused_add=False, batch_invariant=False, token_budget=8192)
    for facts, tokens, kernel, threads, vector in (
        ({}, 255, "rms_norm", 1024, 8), ({}, 256, "rms_norm", 256, 8),
        (dict(width=2048), 255, "rms_norm", 256, 8), (dict(width=2048), 256, "rms_norm", 256, 8),
        (dict(width=4096), 255, "rms_norm", 512, 8), (dict(width=4096), 256, "rms_norm", 256, 8),
        (dict(element_bytes=4), 255, "rms_norm", 1024, 4), (dict(width=2050), 255, "rms_norm", 1024, 2),
        (dict(width=128, rows_per_token=8), 31, "rms_norm", 16, 8), (dict(width=128, rows_per_token=8), 32, "rms_norm", 16, 8),
        (dict(width=4096, rows_per_token=8), 31, "rms_norm", 512, 8), (dict(width=4096, rows_per_token=8), 32, "rms_norm", 256, 8),
        (dict(fused_add=True), 255, "fused_add_rms_norm", 1024, 8), (dict(fused_add=True), 256, "fused_add_rms_norm", 256, 8),
        (dict(fused_add=True, width=100), 1, "fused_add_rms_norm", 100, 1),
        (dict(fused_add=True, batch_invariant=True), 256, "fused_add_rms_norm", 1024, 1),
        (dict(batch_invariant=True), 256, "triton", 0, 0),
    ):
        expect(f"norm {facts}", load("vllm", "rms_norm.py", {**plain, **facts}), dict(tokens=tokens), kernel=kernel,
               threads=threads, vector=vector)


# --- CPython and Detent --------------------------------------------------------------------


def possible(inputs):
    """Most calls have no request longer than the longest."""
    if inputs["kv_length"] > inputs["longest_kv"] and inputs["tiles_16"] % 8:
        inputs["kv_length"] = inputs["longest_kv"]


def compare(binary):
    ahead = dict(metadata_ahead=(False, True))
    for facts in (dict(max_context=40960, graph_max_tokens=512), dict(q_heads=16, kv_heads=2, page_size=128),
                  dict(q_heads=32, kv_heads=8, head_dim=64, head_dim_v=64, window=1024, graph_max_tokens=64, graph_mixed=True),
                  dict(q_heads=32, kv_heads=32, head_dim=256, head_dim_v=256, dtype="e4m3", max_batch=1024)):
        beside_vm(binary, "vllm", "fa3.py", {**FA3, **facts}, ahead, 1000, possible)
    for facts in ({}, dict(table="none"), dict(table="none", experts=32, top_k=3)):
        beside_vm(binary, "vllm", "fused_moe.py", {**MOE, **facts}, {}, 1000)
    for facts in ({}, dict(world=8, symm_mem=True), dict(nccl_symm=True, symm_mem=True),
                  dict(arch=100, flashinfer=True, symm_mem=True, batch_invariant=True)):
        beside_vm(binary, "vllm", "allreduce.py", {**AR, "hidden": 2048, "token_budget": 16384, **facts}, {}, 1000)
    for facts in ({}, dict(arch=80, dtype="fp16", batch_invariant=True)):
        beside_vm(binary, "vllm", "gemm.py", {**GEMM, **facts}, dict(padding=(1, 8, 16, 32, 64)), 500)
    for fused in (False, True):
        beside_vm(binary, "vllm", "rms_norm.py", dict(width=4096, rows_per_token=2, element_bytes=2, fused_add=fused,
                                                      batch_invariant=False, token_budget=8192), {}, 500)


if __name__ == "__main__":
    sys.exit(main(globals(), compare))
