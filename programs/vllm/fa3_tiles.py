"""Tiles of vLLM's FlashAttention-3 on Hopper, by a kernel's compile-time parameters.

After vllm-project/flash-attention at 617264c1 (hopper/, 2026-08-06).  A tile is (rows, keys, P stays in
registers, softmax overlaps with the products).  It differs from SGLang's fork in: 160 keys for 128-wide
heads without mask, TMA or one warpgroup; 96 for 192-wide values; and all of e4m3, which accumulates in two levels.

Left out: column-major V, of which default builds have no kernel; tiles of sm8x, where vLLM runs
FlashAttention-2, and of sm100, where it runs FlashAttention-4.
"""
from __future__ import annotations

BUILT = (64, 96, 128, 192, 256, 512)  # head dimensions that kernels are built for


def built_for(dim: int) -> int:
    return min([width for width in BUILT if width >= dim])


def half_tile(dim: int, dim_v: int, causal: bool, local: bool, gather: bool, one_wg: bool):
    """bf16 and fp16; `gather`: pages are read without TMA."""
    if dim == 64 and dim_v == 512:
        return (64, 64, False, False)
    if dim == 64 and dim_v == 256:
        return (128, 96, True, False)
    if dim == 64 and one_wg:
        return (64, 192, True, True)
    if dim == 64:
        keys = 128 if causal else 160 if local or gather else 192
        return (192, keys, causal or local, not local)
    if dim == 96:
        return (192, 128 if local or gather else 144, False, True)
    if dim == 128:
        full = 176 if one_wg else 160
        return (64 if one_wg else 128, 128 if causal or local or gather else full, True, True)
    if dim == 192:
        return (128, 128 if not (local or gather) and dim_v <= 128 else 96, True, True)
    return (128, 64 if local else 80, True, True)


def e4m3_tile(dim: int, local: bool, gather: bool, softcap: bool, one_wg: bool, two_level: bool):
    """`two_level`: partial sums of the first product are moved to a second accumulator (the default)."""
    if one_wg:
        return (64, 128 if dim <= 96 else 96, True, True)
    if dim == 256:
        return (128, 64 if local else 128, True, not gather)
    if two_level:
        tiles = {64: (192, 128), 96: (128, 128), 128: (128, 192), 192: (128, 96)}
        return (tiles[dim][0], tiles[dim][1], True, True)
    if dim == 64:
        return (192, 160, True, True)
    if dim == 96:
        return (192, 128, True, True)
    if dim == 128:
        return (128, 160 if gather else 192 if softcap and local else 224, True, True)
    return (128, 128 if (gather or softcap) and local else 160, True, True)
