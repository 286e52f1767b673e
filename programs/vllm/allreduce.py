"""vLLM's tensor-parallel all-reduce: which communicator and algorithm take a message.

After vllm at 00d618aa (distributed/device_communicators: cuda_communicator, custom_all_reduce, all_reduce_utils),
symm_mem at 00859a52, flashinfer_all_reduce at 00545a8a; custom kernels' thresholds as csrc/custom_all_reduce.cuh at
036bb685 without its half-butterfly path; flashinfer at fb28d724.

The first that takes the message has it: NCCL over symmetric memory, FlashInfer, the custom kernels, torch's symmetric
memory, pynccl, torch.distributed.  Batch invariant mode leaves pynccl alone, with one channel and a tree.

What a pin does not settle: a custom two-stage kernel adds the ranks in an order that starts at the rank that owns
the element's shard, and shards follow the message's size, so from 4 ranks on its bits depend on the batch; so
do NCCL's outside batch invariant mode.  rank_order says which algorithms add in rank order whatever the size.

Left out, with the reason:
- ROCm: quick reduce, the larger limit of the custom kernels
- groups other than the tensor-parallel one: they have no custom, FlashInfer or symmetric memory communicator
- whether links, peers and multicast pointers are there: facts (full_nvlink, multicast)
- kernels' threads (512) and copies: constant, or of no effect on the sums
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Unpinnable, require, selection

KIB = 1024
MIB = 1024 * 1024
CUSTOM_WORLDS = (2, 4, 6, 8)
CUSTOM_MOST = 8 * MIB  # messages are smaller
# Largest messages by arch, then ranks.
CUSTOM_BESIDE_SYMM = {
    90: {2: 64 * MIB, 4: 32 * MIB, 6: 512 * KIB, 8: 256 * KIB},
    100: {2: 2 * MIB, 4: 2 * MIB, 6: MIB, 8: MIB},
    103: {2: 4 * MIB, 4: 4 * MIB, 6: 8 * MIB, 8: 4 * MIB},
}
SYMM_MOST = {
    90: {2: 64 * MIB, 4: 32 * MIB, 6: 64 * MIB, 8: 64 * MIB},
    100: {2: 8 * MIB, 4: 32 * MIB, 6: 128 * MIB, 8: 128 * MIB},
    103: {2: 4 * MIB, 4: 32 * MIB, 6: 32 * MIB, 8: 64 * MIB},
}
MULTIMEM_WORLDS = {90: (4, 6, 8), 100: (6, 8), 103: (6, 8)}
FLASHINFER_MOST = {
    90: {2: 64 * MIB, 4: 2 * MIB, 8: MIB // 2},
    100: {2: 64 * MIB, 4: 32 * MIB, 8: MIB},
}
FLASHINFER_ONE_SHOT = {2: 512 * MIB, 4: 64 * MIB, 8: 42 * MIB}  # of 2 * ranks * message


class Model(Facts):
    world: int
    arch: int  # 90, 100, 103
    hidden: int
    element_bytes: int
    bf16: bool
    one_node: bool
    full_nvlink: bool
    multicast: bool  # torch's symmetric memory got a multicast pointer
    nccl_symm: bool  # NCCL's symmetric memory is enabled
    flashinfer: bool  # VLLM_ALLREDUCE_USE_FLASHINFER
    custom: bool  # not --disable-custom-all-reduce
    symm_mem: bool  # VLLM_ALLREDUCE_USE_SYMM_MEM
    pynccl: bool
    graph_max_tokens: int  # batches up to it run in CUDA graphs
    batch_invariant: bool  # VLLM_BATCH_INVARIANT
    token_budget: int


class Call(Batch):
    bytes: Unpinnable[range(facts.hidden * facts.element_bytes,
                         facts.token_budget * facts.hidden * facts.element_bytes + 1,
                         facts.hidden * facts.element_bytes)]


class Choice(Record):
    backend: str
    algorithm: str
    blocks: int  # of a custom kernel, else 0
    registered: bool  # a custom kernel reads the input where it is
    rank_order: bool
    nccl_tree: bool
    nccl_channels: int  # 0: NCCL's choice


def limit(table: dict, arch: int, world: int) -> int:
    return table[arch][world] if arch in table and world in table[arch] else 0


def nccl_symm_takes(facts: Model, size: int) -> bool:
    if not facts.nccl_symm or facts.batch_invariant:
        return False
    if facts.world == 4:
        return size <= 16 * KIB or size >= 512 * KIB
    if facts.world == 8:
        return size <= 16 * KIB or size >= 128 * KIB
    return facts.world > 8


def flashinfer_takes(facts: Model, size: int) -> bool:
    """By tokens: as many as the limit holds, rounded down."""
    row = facts.hidden * facts.element_bytes
    return facts.flashinfer and size // row <= limit(FLASHINFER_MOST, facts.arch, facts.world) // row


def symm_live(facts: Model) -> bool:
    return facts.symm_mem and not facts.batch_invariant and limit(SYMM_MOST, facts.arch, facts.world) > 0


def custom_most(facts: Model) -> int:
    """Messages are smaller; 0: there is no custom communicator."""
    linked = facts.world == 2 or facts.full_nvlink
    if not facts.custom or facts.batch_invariant or not facts.one_node or not linked or facts.world not in CUSTOM_WORLDS:
        return 0
    if symm_live(facts):
        return min(CUSTOM_MOST, limit(CUSTOM_BESIDE_SYMM, facts.arch, facts.world))
    return CUSTOM_MOST


def symm_takes(facts: Model, size: int) -> bool:
    return (symm_live(facts) and facts.multicast and facts.bf16 and size % 4 == 0
            and size <= limit(SYMM_MOST, facts.arch, facts.world))


def backend_of(facts: Model, size: int) -> str:
    if nccl_symm_takes(facts, size):
        return "nccl-symm"
    if flashinfer_takes(facts, size):
        return "flashinfer"
    if size % 16 == 0 and size < custom_most(facts):
        return "custom"
    if symm_takes(facts, size):
        return "symm-mem"
    return "pynccl" if facts.pynccl else "torch"


def algorithm_of(facts: Model, backend: str, size: int) -> str:
    if backend == "flashinfer":
        if not facts.one_node:
            return "one-shot" if size * facts.world <= MIB else "two-shot"
        return "one-shot" if size * 2 * facts.world <= limit({facts.arch: FLASHINFER_ONE_SHOT}, facts.arch, facts.world) else "two-shot"
    if backend == "custom":
        if facts.world == 2 or facts.world <= 4 and size < 512 * KIB or facts.world <= 8 and size < 256 * KIB:
            return "one-stage"
        return "two-stage"
    if backend == "symm-mem":
        return "multimem" if facts.world in MULTIMEM_WORLDS[facts.arch] else "two-shot"
    return "nccl"


@selection(family="allreduce")
def choose(facts: Model, call: Call) -> Choice:
    size = call.bytes
    backend = backend_of(facts, size)
    algorithm = algorithm_of(facts, backend, size)

    require(backend != "custom" or size % 16 == 0 and size < custom_most(facts), "the custom kernels' buffers hold the message")
    require(backend != "custom" or algorithm in ("one-stage", "two-stage"), "the custom kernels have one or two stages")
    require(backend != "symm-mem" or symm_takes(facts, size), "torch's symmetric memory holds the message")
    require(backend != "symm-mem" or algorithm in ("multimem", "two-shot"), "symmetric memory has multimem and two-shot kernels")
    require(backend != "flashinfer" or flashinfer_takes(facts, size), "FlashInfer's workspace holds the message")
    require(backend != "flashinfer" or algorithm in ("one-shot", "two-shot"), "FlashInfer has one-shot and two-shot kernels")
    require(backend != "flashinfer" or algorithm != "two-shot" or size > facts.world * facts.hidden * facts.element_bytes,
            "two shots need more tokens than ranks")
    require(backend not in ("nccl-symm", "pynccl", "torch") or algorithm == "nccl", "NCCL chooses by itself")

    blocks = 0
    if backend == "custom":
        blocks = min(36, -(-size // (16 * 512)))
    registered = backend == "custom" and size <= facts.graph_max_tokens * facts.hidden * facts.element_bytes
    return Choice(
        backend=backend,
        algorithm=algorithm,
        blocks=blocks,
        registered=registered,
        rank_order=algorithm == "one-stage",
        nccl_tree=facts.batch_invariant,
        nccl_channels=1 if facts.batch_invariant else 0,
    )
