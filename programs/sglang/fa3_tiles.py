"""FlashAttention-3's tiles on Hopper: rows and keys of a block, by the kernel's compile-time parameters.

After SGLang's fork of FlashAttention, sgl-project/sgl-flash-attn at 4386e006 (hopper/, 2026-03).
tile () returns (block_m, block_n, P stays in registers, softmax overlaps with the products).
Column-major V is left out: default builds have no such kernel.
"""
from __future__ import annotations


def round_head_dim(dim: int) -> int:
    """The head dimension that a kernel is built for."""
    rounded = 512
    for built in (256, 192, 128, 96, 64):
        if dim <= built:
            rounded = built
    return rounded


def half_tile(dim: int, dim_v: int, causal: bool, local: bool, non_tma: bool, one_wg: bool):
    masked = causal or local
    if dim <= 64 and dim_v == 512:
        return (64, 64, False, False)
    if dim <= 64 and dim_v == 256:
        return (128, 96, True, False)
    if dim <= 64:
        if one_wg:
            return (64, 192, True, True)
        return (192, 128 if causal else 160 if local or non_tma else 192, masked, not local)
    if dim <= 96:
        return (192, 128 if local or non_tma else 144, False, True)
    if dim <= 128:
        return (64 if one_wg else 128, 128 if masked or non_tma else 176, True, True)
    if dim <= 192:
        return (128, 96 if local or non_tma else 128 if dim_v <= 128 else 112, True, True)
    return (128, 64 if local else 80, True, True)


def e4m3_tile(dim: int, local: bool, non_tma: bool, softcap: bool, one_wg: bool):
    if one_wg:
        return (64, 128 if dim <= 64 else 96, True, True)
    if dim <= 64:
        return (192, 160, True, True)
    if dim <= 96:
        return (192, 128, True, True)
    if dim <= 128:
        return (128, 160 if non_tma else 192 if softcap and local else 224, True, True)
    if dim <= 192:
        return (128, 128 if (non_tma or softcap) and local else 160, True, True)
    return (128, 64 if local else 128, True, not non_tma)


def tile(bits: int, dim: int, dim_v: int, causal: bool, local: bool, non_tma: bool, softcap: bool, one_wg: bool):
    """`dim`, `dim_v`: rounded; `bits`: 8 or 16 of an element; `non_tma`: pages are gathered without TMA."""
    if bits == 8:
        return e4m3_tile(dim, local, non_tma, softcap, one_wg)
    return half_tile(dim, dim_v, causal, local, non_tma, one_wg)
