"""Detent's all-reduce on CUDA: which kernel an engine would take for a message, by its bytes.

Binding: order.  As SGLang does, messages that fit the engine's own workspace are summed in rank order, and larger
ones go to NCCL, which has an order of its own.  bytes cannot be pinned: it is the size of the message.
Free: algorithm and blocks move the same sums.  Short messages go as words that carry their own flags.  Of longer
ones, all is written at once with two ranks; with more, large messages are summed in parts.  Thresholds are lower in
captured graphs, as in SGLang's tables.  A block is for 512 vectors of 16 bytes and no more than 36 run, as in vLLM's
and SGLang's own kernels; ours come in powers of two.
"""
from __future__ import annotations

from selir import Batch, Facts, Free, Record, Runtime, Unpinnable, require, selection

KIB = 1024
BY_RANK = 0
NCCL = 1
PUSH = 0
TWO_SHOT = 2
WORDS = 3


class Model(Facts):
    ranks: int
    bf16: bool
    row_bytes: int  # of one token
    workspace_bytes: int  # largest message that is summed in rank order
    max_bytes: int
    token_budget: int


class Call(Batch):
    bytes: Unpinnable[range(facts.row_bytes, facts.row_bytes * facts.token_budget + 1, facts.row_bytes)]
    captured: Runtime[(0, 1)]


class Choice(Record):
    order: int
    algorithm: Free[int]
    blocks: Free[int]


@selection(family="allreduce")
def choose(facts: Model, call: Call) -> Choice:
    order = NCCL if call.bytes > facts.workspace_bytes else BY_RANK
    require(facts.row_bytes * facts.token_budget <= facts.max_bytes, "every message fits the backend")

    # Placement only.
    push = 384 * KIB if call.captured == 1 else 896 * KIB
    if call.bytes <= 512 * KIB // (facts.ranks - 1):
        algorithm = WORDS
    else:
        algorithm = TWO_SHOT if facts.ranks > 2 and call.bytes > push else PUSH
    blocks = 4
    for more in (8, 16, 32):
        if call.bytes > more // 2 * 8 * KIB:
            blocks = more
    return Choice(order=order, algorithm=algorithm, blocks=blocks)
