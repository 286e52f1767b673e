"""SGLang's programs: choices worked out by hand, at each threshold and beside it, and Detent's vm beside CPython.

usage: programs_sglang.py [EVAL]
"""
import sys

from programs_vm import beside_vm, expect, expect_equal, load, main

KIB, MIB = 1024, 1024 * 1024

# --- FlashAttention-3 -----------------------------------------------------------------

FA3 = dict(head_dim=128, head_dim_v=128, q_heads=8, kv_heads=1, dtype="bf16", softcap=False, window=-1, page_size=1,
           sms=132, graph_max_batch=0, max_batch=512, max_context=131072, max_query=8192)


def fa3(**facts):
    facts = {**FA3, **facts}
    if "head_dim" in facts and "head_dim_v" not in facts:
        facts["head_dim_v"] = facts["head_dim"]
    return load("sglang", "fa3.py", facts)


def step(query, kv, requests=1, tiles=1, own=None):
    return dict(requests=requests, longest_query=query, longest_kv=kv, kv_length=own or kv,
                tiles_8=tiles, tiles_16=tiles, tiles_32=tiles, tiles_64=tiles)


def heads(q, kv, dim, **more):
    return fa3(q_heads=q, kv_heads=kv, head_dim=dim, head_dim_v=dim, **more)


def test_splits():
    """(query heads, KV heads, head dim, longest query, longest KV) -> rows and keys of a block, splits."""
    for q, kv, dim, query, keys, block_m, block_n, splits in (
        (8, 1, 128, 1, 512, 64, 128, 1),
        (8, 1, 128, 1, 513, 64, 128, 5),
        (8, 1, 128, 1, 1024, 64, 128, 7),
        (8, 1, 128, 1, 4096, 64, 128, 28),
        (8, 1, 128, 1, 8192, 64, 128, 55),
        (8, 1, 128, 1, 40960, 64, 128, 109),
        (8, 1, 128, 9, 40960, 128, 128, 109),
        (8, 1, 128, 32, 40960, 128, 128, 57),
        (8, 1, 128, 512, 40960, 128, 128, 4),
        (8, 1, 128, 2048, 40960, 128, 128, 1),
        (16, 2, 128, 1, 131072, 64, 128, 57),
        (32, 8, 128, 1, 131072, 64, 128, 15),
        (32, 8, 64, 1, 131072, 64, 192, 15),
        (16, 16, 256, 1, 8192, 128, 80, 8),
        (32, 32, 96, 1, 131072, 192, 128, 4),
        # 105 row blocks are below 0.8 * 132 = 105.6 and fill 0.795 of a wave, five times them 0.994 of four; 106 are not
        (8, 1, 128, 1680, 40960, 128, 128, 5),
        (8, 1, 128, 1681, 40960, 128, 128, 1),
        # four key blocks are never split
        (8, 1, 128, 9, 512, 128, 128, 1),
        (8, 1, 128, 9, 513, 128, 128, 5),
    ):
        expect("splits", heads(q, kv, dim), step(query, keys), block_m=block_m, block_n=block_n, num_splits=splits)


def test_one_wg():
    for q, kv, dim, query, want in ((8, 1, 128, 8, True), (8, 1, 128, 9, False), (16, 1, 128, 4, True),
                                    (16, 1, 128, 5, False), (8, 8, 64, 64, True), (8, 8, 64, 65, False),
                                    (8, 1, 96, 1, False), (8, 1, 256, 1, False), (8, 1, 120, 1, False)):
        expect("one_wg", heads(q, kv, dim), step(query, 512), one_wg=want)


def test_masks():
    """A decode without a window needs no mask, but pages with head dimensions of 65 to 128 keep it."""
    for dim, query, causal in ((64, 1, False), (64, 2, True), (72, 1, True), (128, 1, True), (136, 1, False),
                               (136, 2, True), (256, 1, False)):
        expect("causal", heads(8, 1, dim), step(query, 512), causal=causal, local=False, head_swizzle=causal)
    for query, keys, local in ((1, 512, False), (1, 513, False), (1, 514, True), (2, 513, False), (2, 514, True)):
        expect("window", fa3(window=512), step(query, keys), local=local, causal=not local, head_swizzle=True)


def test_window_splits():
    """What a window lets be loaded counts: 64 + 1 + 447 keys are four blocks, one more are five."""
    expect("window of 447", fa3(window=447), step(1, 40960), local=True, num_splits=1)
    expect("window of 448", fa3(window=448), step(1, 40960), local=True, num_splits=5)


def test_pages():
    for page, query, tma in ((128, 8, False), (128, 16, False), (128, 17, True), (64, 17, False), (256, 17, True),
                             (1, 17, False)):
        expect("TMA pages", fa3(page_size=page), step(query, 512), paged_tma=tma, paged_non_tma=not tma, pack_gqa=True)
    expect("no TMA in a window", fa3(page_size=128, window=128), step(17, 512), paged_tma=False)
    mha = heads(8, 8, 128, page_size=128)
    expect("one head a KV head", mha, step(128, 512), paged_tma=False, pack_gqa=True)
    expect("one head a KV head", mha, step(129, 512), paged_tma=True, num_splits=1, pack_gqa=False)
    expect("one head a KV head, split", mha, step(129, 513), paged_tma=True, num_splits=5, pack_gqa=True)
    # the page table is as wide as whole pages: 500 keys in pages of 128 are 512
    expect("whole pages", fa3(page_size=128), step(1, 500), num_splits=1)
    expect("whole pages", fa3(page_size=256), step(1, 513), num_splits=6)


def test_graphs():
    graphs = fa3(graph_max_batch=4, max_context=40960)
    expect("in a graph", graphs, step(1, 100, requests=4), num_splits=109)
    expect("above the largest graph", graphs, step(1, 100, requests=5), num_splits=1)
    expect("a prefill is in no graph", graphs, step(2, 100, requests=4), num_splits=1)


def test_stride():
    """tiles_8 = 480: 480 * 1.1 / 132 = 4 key blocks of 128 a split; one tile more: 5."""
    qwen = fa3(max_context=40960)
    for tiles, stride in ((1, 512), (480, 512), (481, 1024), (960, 1024), (961, 2048), (10**6, 32768)):
        expect("stride", qwen, step(1, 40960, tiles=tiles), num_splits=109, split_stride=stride)
    expect("no splits, no stride", qwen, step(1, 512), num_splits=1, split_stride=0, combine_splits=0)
    expect("splits that cover", qwen, step(1, 513), num_splits=5, split_stride=128)
    expect("split batches", fa3(max_batch=1024), step(1, 513, requests=992), num_splits=5)
    expect("split batches", fa3(max_batch=1024), step(1, 513, requests=993), refused="require")
    expect("a request longer than the longest", qwen, step(1, 512, own=513), refused="assume")
    # Llama-3.1-70B at TP=4: the longest stride below 131,072
    expect("stride", heads(16, 2, 128), step(1, 131072, tiles=10**7), num_splits=57, split_stride=65536)
    # key blocks of 192 and 80
    expect("stride", heads(32, 8, 64), step(1, 131072), num_splits=15, split_stride=12288)
    expect("stride", heads(16, 16, 256), step(1, 8192), num_splits=8, split_stride=1280)


def test_combine():
    for dim, buckets in ((64, ((1, 0), (2, 16), (16, 16), (17, 32))), (128, ((1, 0), (2, 32), (16, 32)))):
        program = heads(8, 1, dim)
        for splits, want in buckets + ((32, 32), (33, 64), (64, 64), (65, 128), (128, 128), (129, 256), (256, 256)):
            expect_equal("combine", program.module.combine_bucket(program.facts, splits), want)


def test_facts():
    for why, facts in (("a type", dict(dtype="fp32")), ("too wide", dict(head_dim=264, head_dim_v=264)),
                       ("no step of 8", dict(head_dim=100, head_dim_v=100)),
                       ("no step of 16", dict(head_dim=72, head_dim_v=72, dtype="e4m3")),
                       ("V", dict(head_dim=128, head_dim_v=64)), ("heads", dict(q_heads=9, kv_heads=2))):
        expect(why, fa3(**facts), step(1, 512), refused="require")
    expect("MLA's halves", fa3(head_dim=192, head_dim_v=128), step(1, 512), head_dim=192, head_dim_v=128)
    for dim, built in ((8, 64), (64, 64), (72, 96), (96, 96), (104, 128), (128, 128), (136, 192), (192, 192),
                       (200, 256), (256, 256)):
        expect("head dimension", heads(8, 1, dim), step(1, 512), head_dim=built, head_dim_v=built)


def test_tiles():
    """(bits, D, DV, causal, local, non-TMA, softcap, one_wg) -> tile."""
    tile = fa3().module.tile
    F, T = False, True
    for args, want in (
        ((16, 64, 512, T, F, T, F, F), (64, 64, F, F)),
        ((16, 64, 256, T, F, T, F, F), (128, 96, T, F)),
        ((16, 64, 64, T, F, T, F, T), (64, 192, T, T)),
        ((16, 64, 64, T, F, T, F, F), (192, 128, T, T)),
        ((16, 64, 64, F, T, T, F, F), (192, 160, T, F)),
        ((16, 64, 64, F, F, T, F, F), (192, 160, F, T)),
        ((16, 64, 64, F, F, F, F, F), (192, 192, F, T)),
        ((16, 96, 96, T, F, F, F, F), (192, 144, F, T)),
        ((16, 96, 96, F, T, F, F, F), (192, 128, F, T)),
        ((16, 96, 96, T, F, T, F, F), (192, 128, F, T)),
        ((16, 128, 128, T, F, F, F, F), (128, 128, T, T)),
        ((16, 128, 128, F, F, F, F, F), (128, 176, T, T)),
        ((16, 128, 128, F, F, T, F, F), (128, 128, T, T)),
        ((16, 128, 128, F, F, F, F, T), (64, 176, T, T)),
        ((16, 128, 128, T, F, T, F, T), (64, 128, T, T)),
        ((16, 192, 192, T, F, T, F, F), (128, 96, T, T)),
        ((16, 192, 128, T, F, F, F, F), (128, 128, T, T)),
        ((16, 192, 192, T, F, F, F, F), (128, 112, T, T)),
        ((16, 256, 256, F, T, T, F, F), (128, 64, T, T)),
        ((16, 256, 256, T, F, T, F, F), (128, 80, T, T)),
        ((8, 64, 64, T, F, T, F, F), (192, 160, T, T)),
        ((8, 64, 64, T, F, T, F, T), (64, 128, T, T)),
        ((8, 96, 96, T, F, T, F, F), (192, 128, T, T)),
        ((8, 128, 128, T, F, T, F, F), (128, 160, T, T)),
        ((8, 128, 128, T, F, F, F, F), (128, 224, T, T)),
        ((8, 128, 128, F, T, F, T, F), (128, 192, T, T)),
        ((8, 128, 128, T, F, T, F, T), (64, 96, T, T)),
        ((8, 192, 192, F, T, T, F, F), (128, 128, T, T)),
        ((8, 192, 192, F, T, F, F, F), (128, 160, T, T)),
        ((8, 192, 192, T, F, T, F, F), (128, 160, T, T)),
        ((8, 256, 256, F, T, F, F, F), (128, 64, T, T)),
        ((8, 256, 256, T, F, T, F, F), (128, 128, T, F)),
        ((8, 256, 256, T, F, F, F, F), (128, 128, T, T)),
    ):
        expect_equal(f"tile{args}", tile(*args), want)


# --- fused MoE ---------------------------------------------------------------------------

TUNED = "E=128,N=192,device_name=NVIDIA_H100_80GB_HBM3.json"
MOE = dict(experts=128, top_k=8, hidden=2048, intermediate=192, dtype="bf16", block_shape_n=0, block_shape_k=0,
           tuned=TUNED, tuned_down="none", deterministic=False, marlin=False, always_fused=False, no_combine=False,
           fused_all_reduce=False, unit_scale=True, router_weight_on_input=False, all_experts=True, token_budget=8192)
UP = ("up_block_m", "up_block_n", "up_block_k", "up_group_m", "up_warps", "up_stages")
ROWS = (  # first tokens of the key's interval, last, row
    (1, 1, (16, 64, 64, 1, 4, 5)), (2, 3, (16, 64, 64, 1, 4, 5)), (4, 6, (16, 64, 64, 1, 4, 5)),
    (7, 12, (16, 64, 64, 1, 4, 3)), (13, 20, (16, 64, 64, 1, 4, 3)), (21, 28, (16, 64, 64, 16, 4, 5)),
    (29, 40, (16, 64, 64, 16, 4, 5)), (41, 56, (16, 64, 64, 64, 4, 3)), (57, 80, (16, 64, 64, 1, 4, 3)),
    (81, 112, (16, 64, 64, 1, 4, 3)), (113, 192, (16, 64, 64, 64, 4, 2)), (193, 384, (32, 128, 64, 1, 4, 4)),
    (385, 768, (64, 128, 64, 16, 4, 3)), (769, 1280, (64, 128, 64, 64, 4, 3)), (1281, 1792, (128, 128, 64, 16, 8, 3)),
    (1793, 2560, (64, 128, 64, 16, 4, 2)), (2561, 3584, (128, 128, 64, 16, 8, 3)),
    (3585, 8192, (128, 128, 64, 16, 8, 3)),
)


def moe(**facts):
    return load("sglang", "moe.py", {**MOE, **facts})


def row(values):
    return dict(zip(UP, values))


def test_moe_rows():
    program = moe()
    for first, last, values in ROWS:
        for tokens in {first, last}:
            down = {"down" + f[2:]: v for f, v in row(values).items()}
            expect("row", program, dict(tokens=tokens), **row(values), **down, up_even_k=True, down_even_k=True,
                   down_tma=False, align="general", topk="warp")


def test_moe_defaults():
    few, many = (16, 32, 64, 1, 0, 0), (64, 64, 32, 8, 0, 0)
    for why, facts, tokens, values in (
        ("as many as experts", {}, 128, few), ("one more", {}, 129, many),
        ("Marlin", dict(experts=8, marlin=True), 32, few), ("Marlin", dict(experts=8, marlin=True), 33, many),
        ("not Marlin", dict(experts=8), 9, many), ("deterministic", dict(deterministic=True), 1, many),
        ("fp8", dict(dtype="fp8"), 128, (64, 128, 128, 1, 4, 4)),
        ("fp8", dict(dtype="fp8"), 129, (128, 256, 128, 32, 8, 4)),
        ("fp8 blocks", dict(dtype="fp8_block", block_shape_n=128, block_shape_k=128), 1, (64, 128, 128, 32, 4, 3)),
    ):
        expect(why, moe(tuned="none", **facts), dict(tokens=tokens), **row(values))
    expect("deterministic has no table", moe(deterministic=True), dict(tokens=1), **row(many))
    expect("K of 192 in blocks of 128", moe(tuned="none", dtype="fp8"), dict(tokens=1), up_even_k=True,
           down_even_k=False)


def test_moe_align():
    program = moe()
    for tokens, fused in ((1, True), (192, True), (193, False), (8192, False)):
        expect("fill", program, dict(tokens=tokens), fused_fill=fused)
    # rows of 16 without a table: 8 * 135 + 201 * 15 = 4,095
    for tokens, fused in ((135, True), (136, False), (200, False)):
        expect("fill", moe(tuned="none", experts=200), dict(tokens=tokens), fused_fill=fused, up_block_m=16)
    expect("always fused", moe(always_fused=True), dict(tokens=8192), fused_fill=True)
    for experts, tokens, kernel in ((63, 127, "small"), (63, 128, "general"), (64, 1, "general"),
                                    (1024, 1, "general"), (1025, 1, "scan")):
        expect("align", moe(tuned="none", experts=experts), dict(tokens=tokens), align=kernel)
    expect("too many experts", moe(tuned="none", experts=8193), dict(tokens=1), refused="require")
    for experts, kernel in ((256, "warp"), (512, "softmax-then-topk"), (160, "softmax-then-topk")):
        expect("top-k", moe(tuned="none", experts=experts), dict(tokens=1), topk=kernel)


def test_moe_combine():
    program = moe()
    for tokens, want in ((31, "compiled"), (32, "compiled"), (33, "moe-sum-reduce")):
        expect("combine", program, dict(tokens=tokens), combine=want)
    for why, facts, want in (
        ("none", dict(no_combine=True, fused_all_reduce=True), "none"),
        ("added", dict(fused_all_reduce=True), "added-by-down"),
        ("two are not added", dict(fused_all_reduce=True, top_k=2), "one-add"),
        ("one", dict(top_k=1), "written-by-down"), ("two", dict(top_k=2), "one-add"),
        ("a scale", dict(top_k=1, unit_scale=False), "moe-sum-reduce"),
        ("a scale", dict(top_k=2, unit_scale=False), "moe-sum-reduce"), ("three", dict(top_k=3), "moe-sum-reduce"),
    ):
        expect(why, moe(**facts), dict(tokens=33), combine=want)
    expect("16 elements", moe(tuned="none", hidden=2056), dict(tokens=33), refused="require")
    expect("16 elements", moe(tuned="none", hidden=2056), dict(tokens=32), combine="compiled")


# --- all-reduce --------------------------------------------------------------------------

AR = dict(world=4, arch=90, sms=132, row_bytes=16, token_budget=8 * MIB, custom=True, multicast=True,
          symmetric_memory=False, max_size_kb=16384, deterministic=False)


def allreduce(**facts):
    return load("sglang", "allreduce.py", {**AR, **facts})


def message(size, captured=False):
    return dict(bytes=size, captured=int(captured))


def test_allreduce():
    """(facts, captured, ((bytes, algorithm up to them), ...)): each is left one pack later."""
    PUSH, PULL1, PULL2, MC, NONE = "one-shot-push", "one-shot-pull", "two-shot-pull", "two-shot-multicast", "none"
    for facts, captured, limits in (
        ({}, True, ((384 * KIB, PUSH), (16 * MIB, PULL2), (64 * MIB, NONE))),
        ({}, False, ((896 * KIB, PUSH), (16 * MIB, MC), (64 * MIB, NONE))),
        (dict(multicast=False), False, ((896 * KIB, PUSH), (16 * MIB, PULL2), (64 * MIB, NONE))),
        (dict(max_size_kb=131072), False, ((896 * KIB, PUSH), (32 * MIB, MC), (64 * MIB, NONE))),
        (dict(max_size_kb=131072), True, ((384 * KIB, PUSH), (128 * MIB, PULL2))),
        (dict(max_size_kb=512), False, ((512 * KIB, PUSH), (64 * MIB, NONE))),
        (dict(world=2, max_size_kb=131072), True, ((16 * MIB, PUSH), (128 * MIB, PULL1))),
        (dict(world=2, max_size_kb=131072), False, ((32 * MIB, PUSH), (128 * MIB, PULL1))),
        (dict(world=6), True, ((128 * KIB, PUSH), (8 * MIB - 16, PULL2), (16 * MIB, MC), (64 * MIB, NONE))),
        (dict(world=8), True, ((128 * KIB, PUSH), (512 * KIB - 16, PULL2), (16 * MIB, MC), (64 * MIB, NONE))),
        (dict(world=8), False, ((128 * KIB, PUSH), (16 * MIB, MC), (64 * MIB, NONE))),
        (dict(arch=100, world=4), True, ((1152 * KIB - 16, PUSH), (8 * MIB, "two-shot-lamport"), (16 * MIB, PULL2),
                                         (64 * MIB, NONE))),
        (dict(arch=100, world=4), False, ((2 * MIB - 16, PUSH), (8 * MIB, "two-shot-lamport"), (16 * MIB, PULL2),
                                          (64 * MIB, NONE))),
        (dict(arch=80), False, ((1 * MIB, PUSH), (16 * MIB, PULL2), (64 * MIB, NONE))),
        (dict(custom=False), False, ((64 * MIB, NONE),)),
        (dict(deterministic=True), False, ((64 * MIB, NONE),)),
    ):
        program, first = allreduce(**facts), 16
        for last, algorithm in limits:
            for size in {first, last}:
                custom = algorithm != NONE
                graph = captured and algorithm in (PULL1, PULL2)
                expect(f"{facts}", program, message(size, captured), algorithm=algorithm,
                       backend="custom" if custom else "nccl",
                       source="graph" if graph else "workspace" if custom else "caller",
                       nccl_tree_channels=8 if facts.get("deterministic") else 0)
            first = last + 16


def test_allreduce_workspaces():
    program = allreduce()
    expect("tuned", program, message(16), push_workspace=896 * KIB, pull_workspace=16 * MIB, lamport_workspace=0,
           push_blocks=132, pull_blocks=64, multicast_blocks=32)
    forced = dict(push_workspace_kb=4096, pull_workspace_kb=65536)
    expect("forced", program, message(4 * MIB, True), forced, algorithm="one-shot-push", push_workspace=4 * MIB)
    expect("forced", program, message(4 * MIB + 16, True), forced, algorithm="two-shot-pull", pull_workspace=64 * MIB)
    expect("forced", program, message(64 * MIB, True), forced, algorithm="two-shot-pull")
    expect("forced", program, message(64 * MIB + 16, True), forced, algorithm="none")
    expect("one rank", allreduce(world=1), message(16), backend="identity", algorithm="none", source="caller")
    for facts, blocks in ((dict(world=5), (64, 25)), (dict(world=2), (64, 0)), (dict(arch=100, world=2, sms=148), (148, 0)),
                          (dict(arch=100, world=4), (64, 0)), (dict(arch=100, world=5), (96, 64)),
                          (dict(arch=100, world=6), (96, 48)), (dict(arch=100, world=7), (96, 48)),
                          (dict(arch=100, world=8), (96, 32)), (dict(arch=100, world=16), (96, 32)),
                          (dict(arch=80), (132, 0))):
        expect("blocks", allreduce(**facts), message(16), pull_blocks=blocks[0], multicast_blocks=blocks[1])
    symmetric = allreduce(symmetric_memory=True)
    for size, captured, backend, algorithm in ((16 * MIB, True, "custom", "two-shot-pull"),
                                               (16 * MIB + 16, True, "symm-mem", "multimem"),
                                               (64 * MIB - 16, True, "symm-mem", "multimem"),
                                               (64 * MIB, True, "nccl", "none"),
                                               (16 * MIB + 16, False, "nccl", "none")):
        expect("symmetric memory", symmetric, message(size, captured), backend=backend, algorithm=algorithm)
    expect("no multimem", allreduce(symmetric_memory=True, arch=100), message(32 * MIB, True), algorithm="two-shot")
    expect("odd rows", allreduce(row_bytes=24), message(48), refused="require")


# --- GEMM and RMSNorm ----------------------------------------------------------------------

GEMM = dict(n=1280, k=2048, dtype="bf16", output_bytes=2, arch=90, sms=132, invariant_ops=True, deepgemm=True,
            einsum=False, token_budget=8192)
LAYOUT = ("block_m", "block_n", "cluster_m", "cluster_n", "stages")
PICKS = {  # (N, K) -> tokens -> layout
    (1280, 2048): {1: (16, 16, 1, 1, 16), 8: (16, 16, 1, 1, 16), 16: (16, 16, 1, 1, 16), 17: (32, 16, 1, 1, 16),
                   32: (32, 16, 1, 1, 16), 33: (64, 16, 1, 1, 16), 64: (64, 16, 1, 1, 16), 128: (64, 32, 1, 1, 16),
                   256: (64, 48, 1, 1, 15), 512: (64, 80, 1, 1, 12), 1024: (128, 80, 1, 1, 7),
                   2048: (128, 160, 1, 1, 5), 4096: (128, 160, 2, 1, 5), 8192: (128, 224, 2, 1, 3)},
    (2048, 1024): {16: (16, 16, 1, 1, 16), 17: (32, 16, 1, 1, 16), 64: (64, 16, 1, 1, 16), 128: (64, 32, 1, 1, 16),
                   256: (64, 64, 1, 1, 13), 512: (64, 128, 1, 1, 8), 1024: (128, 128, 1, 1, 6),
                   2048: (128, 256, 1, 1, 3), 4096: (256, 128, 1, 2, 3), 8192: (256, 128, 1, 2, 3)},
    (14336, 8192): {16: (16, 112, 1, 1, 13), 17: (32, 112, 1, 1, 12), 32: (32, 112, 1, 1, 12), 33: (64, 112, 1, 1, 9),
                    128: (128, 112, 1, 1, 6), 256: (128, 224, 1, 1, 3), 512: (128, 224, 2, 1, 3),
                    1024: (128, 224, 2, 1, 3), 2048: (256, 128, 1, 2, 3)},
    (8192, 7168): {16: (16, 64, 1, 1, 16), 17: (32, 64, 1, 1, 16), 33: (64, 64, 1, 1, 13), 128: (64, 128, 1, 1, 8),
                   256: (128, 128, 1, 1, 6), 512: (128, 256, 1, 1, 3), 1024: (256, 128, 1, 2, 3)},
}


def gemm(**facts):
    return load("sglang", "gemm.py", {**GEMM, **facts})


def test_gemm():
    for (n, k), picks in PICKS.items():
        program = gemm(n=n, k=k)
        for tokens, layout in picks.items():
            expect(f"{n} x {k}", program, dict(tokens=tokens), path="deepgemm", block_k=64, split_k=1,
                   **dict(zip(LAYOUT, layout)), math_threads=128 if layout[0] <= 64 else 256,
                   merged=layout[4] // 5 if layout[0] <= 64 and layout[4] >= 10 else 1)
    for facts, path in ((dict(invariant_ops=False), "cublas"), (dict(n=16), "deepgemm"), (dict(n=15), "triton"),
                        (dict(deepgemm=False), "triton"), (dict(deepgemm=False, einsum=True), "einsum"),
                        (dict(dtype="fp16"), "triton"), (dict(arch=80), "triton")):
        expect("path", gemm(**facts), dict(tokens=1), path=path)
    for dtype, tile in (("bf16", (128, 128, 64)), ("fp16", (128, 256, 64)), ("fp32", (128, 128, 32))):
        expect("Triton", gemm(dtype=dtype, deepgemm=False), dict(tokens=1), block_m=tile[0], block_n=tile[1],
               block_k=tile[2], stages=3, warps=8, group_m=8, split_k=1)
    for pad, tokens, rows in ((1, 17, 17), (16, 16, 16), (16, 17, 32), (64, 65, 128), (128, 1, 128), (256, 257, 512)):
        expect("padding", gemm(), dict(tokens=tokens), dict(pad_rows=pad), rows=rows)
    expect("odd SMs", gemm(sms=131), dict(tokens=1), refused="require")
    expect("TMA", gemm(k=2044), dict(tokens=1), refused="require")


def test_norm():
    for hidden, size, vector, threads in ((8192, 2, 8, 1024), (8200, 2, 8, 1024), (2048, 2, 8, 256), (128, 2, 8, 32),
                                          (2056, 2, 8, 288), (100, 2, 4, 32), (99, 2, 1, 128), (2048, 4, 4, 512)):
        expect("norm", load("sglang", "rmsnorm.py", dict(hidden=hidden, element_bytes=size, token_budget=8192)),
               dict(tokens=1), vector=vector, threads=threads)


# --- CPython and Detent --------------------------------------------------------------------


def possible(inputs):
    """Most calls have no request longer than the longest."""
    if inputs["kv_length"] > inputs["longest_kv"] and inputs["tiles_16"] % 8:
        inputs["kv_length"] = inputs["longest_kv"]


def compare(binary):
    ahead = dict(metadata_ahead=(False, True))
    for facts in (dict(q_heads=8, kv_heads=1, max_context=40960, graph_max_batch=512),
                  dict(q_heads=16, kv_heads=2, page_size=128), dict(q_heads=8, kv_heads=8, page_size=128),
                  dict(q_heads=32, kv_heads=8, head_dim=64, head_dim_v=64, window=1024, page_size=16),
                  dict(q_heads=32, kv_heads=32, head_dim=256, head_dim_v=256, dtype="e4m3", softcap=True)):
        beside_vm(binary, "sglang", "fa3.py", {**FA3, **facts}, ahead, 1000, possible)
    for facts in ({}, dict(tuned="none"), dict(tuned="none", experts=32, top_k=3)):
        beside_vm(binary, "sglang", "moe.py", {**MOE, **facts}, {}, 1000)
    workspaces = {k: (0, 4096, 16384, 65536, 131072) for k in ("push_workspace_kb", "pull_workspace_kb")}
    for facts in ({}, dict(world=8, symmetric_memory=True), dict(arch=100, sms=148)):
        beside_vm(binary, "sglang", "allreduce.py", {**AR, "row_bytes": 4096, "token_budget": 32768, **facts},
                  workspaces, 1000)
    beside_vm(binary, "sglang", "gemm.py", GEMM, dict(pad_rows=(1, 16, 64, 128, 256)), 100)
    beside_vm(binary, "sglang", "rmsnorm.py", dict(hidden=2048, element_bytes=2, token_budget=8192), {}, 100)


if __name__ == "__main__":
    sys.exit(main(globals(), compare))
