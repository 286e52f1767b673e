"""SGLang's tensor-parallel all-reduce: backend, algorithm and where peers read, by bytes.

After SGLang: the order of backends of distributed/parallel_state.py at 0005973a; custom all-reduce v2 of
device_communicators/custom_all_reduce_v2.py and configs/custom_all_reduce_v2.py at 09e7d8ed; its kernels in
jit_kernel/csrc/distributed/custom_all_reduce.cuh at 320af530; torch_symm_mem.py at 0cd72ba4.

bytes cannot be pinned: it is the size of the message.  The knobs are SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PUSH_SIZE_KB and
..._PULL_SIZE_KB: 0 leaves the tuned workspace, other values set it and raise the algorithm's threshold to it.
NCCL is legal here, and is one choice; whether its order follows the bytes is for its certificate.

Left out, with the reason:
- mscclpp and FlashInfer: opt-in, and their size rules are not known to us; ROCm, CPU, HPU, XPU, NPU
- custom all-reduce v1, the earlier v2 (thresholds of 08d6c016): replaced by v2, which is on by default
- the NCCL memory pool, piecewise graphs, several nodes: not in these deployments
- threads of a block, the copy by kernel or by the driver: the sums are the same; grids are fixed for life
- calls that v2 refuses for their address, stride or type: an engine's buffers are contiguous and aligned
"""
from __future__ import annotations

from selir import Batch, Facts, Record, Runtime, Unpinnable, knob, require, selection

KIB = 1024
MIB = 1024 * 1024
OFF = (0, 0)

# World size -> graph's, then eager's: push, one-shot pull, two-shot pull, multicast range, Lamport range.
SM90 = {
    2: ((16 * MIB, 128 * MIB, 128 * MIB, OFF, OFF), (32 * MIB, 128 * MIB, 128 * MIB, OFF, OFF)),
    3: ((1280 * KIB, 1280 * KIB, 128 * MIB, OFF, OFF), (3 * MIB, 3 * MIB, 16 * MIB, OFF, OFF)),
    4: ((384 * KIB, 384 * KIB, 128 * MIB, OFF, OFF), (896 * KIB, 896 * KIB, 32 * MIB, (0, 32 * MIB), OFF)),
    5: ((192 * KIB, 192 * KIB, 32 * MIB, OFF, OFF), (384 * KIB, 384 * KIB, 32 * MIB, (0, 32 * MIB), OFF)),
    6: ((128 * KIB, 128 * KIB, 32 * MIB, (8 * MIB, 32 * MIB), OFF),
        (192 * KIB, 192 * KIB, 32 * MIB, (0, 32 * MIB), OFF)),
    7: ((128 * KIB, 128 * KIB, 32 * MIB, (1 * MIB, 32 * MIB), OFF),
        (128 * KIB, 128 * KIB, 32 * MIB, (0, 32 * MIB), OFF)),
    8: ((128 * KIB, 128 * KIB, 32 * MIB, (512 * KIB, 128 * MIB), OFF),
        (128 * KIB, 128 * KIB, 128 * MIB, (0, 128 * MIB), OFF)),
}
SM100 = {
    2: ((8 * MIB, 32 * MIB, 128 * MIB, OFF, OFF), (16 * MIB, 128 * MIB, 128 * MIB, OFF, OFF)),
    3: ((4 * MIB, 4 * MIB, 128 * MIB, OFF, OFF), (8 * MIB, 8 * MIB, 32 * MIB, OFF, OFF)),
    4: ((1152 * KIB, 1152 * KIB, 128 * MIB, OFF, (1152 * KIB, 8 * MIB)),
        (3 * MIB, 3 * MIB, 32 * MIB, OFF, (2 * MIB, 8 * MIB))),
    5: ((1536 * KIB, 1536 * KIB, 128 * MIB, OFF, OFF), (2 * MIB, 2 * MIB, 32 * MIB, (0, 32 * MIB), OFF)),
    6: ((1 * MIB, 1 * MIB, 128 * MIB, OFF, OFF), (1280 * KIB, 1280 * KIB, 64 * MIB, (0, 64 * MIB), OFF)),
    7: ((640 * KIB, 640 * KIB, 128 * MIB, OFF, OFF), (1 * MIB, 1 * MIB, 64 * MIB, (0, 64 * MIB), OFF)),
    8: ((512 * KIB, 512 * KIB, 128 * MIB, (8 * MIB, 128 * MIB), OFF),
        (768 * KIB, 768 * KIB, 128 * MIB, (0, 128 * MIB), OFF)),
    16: ((256 * KIB, 256 * KIB, 128 * MIB, (256 * KIB, 128 * MIB), OFF),
         (256 * KIB, 256 * KIB, 128 * MIB, (256 * KIB, 128 * MIB), OFF)),
}
OTHER = ((1 * MIB, 1 * MIB, 16 * MIB, OFF, OFF), (1 * MIB, 1 * MIB, 16 * MIB, OFF, OFF))
SYMMETRIC = {2: 64 * MIB, 4: 64 * MIB, 6: 128 * MIB, 8: 128 * MIB}  # bytes below which torch symm-mem takes a call
WORKSPACES = (0, 4096, 16384, 65536, 131072)  # KiB


class Model(Facts):
    world: int
    arch: int
    sms: int
    row_bytes: int  # of one token
    token_budget: int
    custom: bool  # v2 is enabled and the ranks can read each other's memory
    multicast: bool
    symmetric_memory: bool  # --enable-torch-symm-mem
    max_size_kb: int  # SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB
    deterministic: bool  # --enable-deterministic-inference


class Call(Batch):
    bytes: Unpinnable[range(facts.row_bytes, facts.row_bytes * facts.token_budget + 1, facts.row_bytes)]
    captured: Runtime[(0, 1)]


class Choice(Record):
    backend: str
    algorithm: str
    source: str
    push_workspace: int
    pull_workspace: int
    lamport_workspace: int
    push_blocks: int
    pull_blocks: int
    multicast_blocks: int
    nccl_tree_channels: int


def thresholds(facts: Model):
    if facts.arch == 90 and facts.world in SM90:
        return SM90[facts.world]
    if facts.arch >= 100 and facts.world in SM100:
        return SM100[facts.world]
    return OTHER


def workspace(facts: Model, tuned: int, forced_kb: int) -> int:
    """Bytes of a workspace, in whole KiB."""
    if forced_kb > 0:
        return forced_kb * KIB
    return -(-min(tuned, facts.max_size_kb * KIB) // KIB) * KIB


def pull_blocks(facts: Model) -> int:
    if facts.arch == 90:
        return 64
    if facts.arch >= 100:
        return facts.sms if facts.world == 2 else 64 if facts.world == 4 else 96
    return facts.sms


def multicast_blocks(facts: Model) -> int:
    if facts.arch == 90:
        return 0 if facts.world < 4 else 128 // facts.world
    if facts.arch >= 100 and facts.world >= 5:
        return 64 if facts.world == 5 else 48 if facts.world <= 7 else 32
    return 0


def within(size: int, span, workspace: int) -> bool:
    """A range of (0, 0) is off; a workspace cuts it."""
    return span != OFF and span[0] <= size <= min(span[1], workspace)


def custom_algorithm(facts: Model, size: int, row, push: int, pull: int, lamport: int, forced) -> str:
    """The first algorithm that takes the message, or none."""
    if within(size, row[4], lamport):
        return "two-shot-lamport"
    if size <= (push if forced[0] > 0 else min(row[0], push)):
        return "one-shot-push"
    if size <= min(row[1], pull):
        return "one-shot-pull"
    if facts.multicast and within(size, row[3], pull):
        return "two-shot-multicast"
    if size <= (pull if forced[1] > 0 else min(row[2], pull)):
        return "two-shot-pull"
    return "none"


def fallback(facts: Model, size: int, captured: bool):
    """(backend, algorithm) of a message that custom all-reduce leaves."""
    if facts.symmetric_memory and not facts.deterministic and facts.multicast and facts.world in SYMMETRIC:
        if captured and size < SYMMETRIC[facts.world]:
            multimem = facts.world >= 6 or facts.world == 4 and facts.arch == 90
            return ("symm-mem", "multimem" if multimem else "two-shot")
    return ("nccl", "none")


@selection(family="allreduce")
def choose(facts: Model, call: Call) -> Choice:
    require(facts.row_bytes % 16 == 0, "messages are whole packs of 16 bytes")
    push_kb = knob("push_workspace_kb", WORKSPACES, default=0)
    pull_kb = knob("pull_workspace_kb", WORKSPACES, default=0)
    captured = call.captured == 1

    graph, eager = thresholds(facts)
    push = workspace(facts, max(graph[0], eager[0]), push_kb)
    pull = workspace(facts, max(graph[2], eager[2]), pull_kb)
    lamport = workspace(facts, max(graph[4][1], eager[4][1]), 0)

    algorithm = "none"
    if facts.world > 1 and facts.custom and not facts.deterministic:
        if captured:
            algorithm = custom_algorithm(facts, call.bytes, graph, push, pull, lamport, (push_kb, pull_kb))
        else:
            algorithm = custom_algorithm(facts, call.bytes, eager, push, pull, lamport, (push_kb, pull_kb))
    backend = "custom"
    if facts.world == 1:
        backend = "identity"
    elif algorithm == "none":
        backend, algorithm = fallback(facts, call.bytes, captured)

    source = "caller"
    if backend == "custom":
        source = "workspace"
        if captured and (algorithm == "one-shot-pull" or algorithm == "two-shot-pull"):
            source = "graph"

    custom = backend == "custom"
    pulls = algorithm == "one-shot-pull" or algorithm == "two-shot-pull"
    require(custom or algorithm in ("none", "multimem", "two-shot"), "only custom all-reduce has this algorithm")
    require(not custom or algorithm not in ("none", "multimem", "two-shot"), "custom all-reduce needs an algorithm")
    require(custom == (source != "caller"), "custom all-reduce reads a workspace or a graph's buffer")
    require(source != "graph" or captured and pulls, "only pulls in a captured graph read its buffers")
    require(algorithm != "one-shot-push" or call.bytes <= push, "the push workspace holds the message")
    require(not pulls or call.bytes <= pull, "the pull workspace holds the message")
    require(algorithm != "two-shot-multicast" or facts.multicast and call.bytes <= pull,
            "multicast needs its pointer and the pull workspace")
    require(algorithm != "two-shot-lamport" or call.bytes <= lamport, "the Lamport workspace holds the message")

    return Choice(
        backend=backend,
        algorithm=algorithm,
        source=source,
        push_workspace=push,
        pull_workspace=pull,
        lamport_workspace=lamport,
        push_blocks=facts.sms,
        pull_blocks=pull_blocks(facts),
        multicast_blocks=multicast_blocks(facts),
        nccl_tree_channels=8 if facts.deterministic else 0,
    )
