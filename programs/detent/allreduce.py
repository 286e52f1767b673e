"""Detent's own all-reduce: which kernel an engine would take for a message, by its bytes.

Binding: order.  Engines sum in rank order up to the size that their own workspace holds, and hand larger messages
to a library's ring, whose order of ranks follows the size.  bytes cannot be pinned: it is the size of the message.
A ring's bits follow the size also where the ring is pinned, so no assignment may have it: see the requirements.
Free: algorithm and chunk move the same sums.  Thresholds are lower in captured graphs, as in SGLang's tables.
"""
from __future__ import annotations

from selir import Batch, Facts, Free, Record, Runtime, Unpinnable, knob, require, selection

KIB = 1024
BY_RANK = 0
RING = 1
PUSH = 0
PULL = 1
TWO_SHOT = 2


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
    chunk: Free[int]


@selection(family="allreduce")
def choose(facts: Model, call: Call) -> Choice:
    push_kib = knob("push_kib", (4, 8, 16), default=8)

    order = RING if call.bytes > facts.workspace_bytes else BY_RANK
    require(facts.row_bytes * facts.token_budget <= facts.max_bytes, "every message fits the backend")
    require(facts.row_bytes <= facts.workspace_bytes, "the smallest message is summed in rank order")
    require(order == BY_RANK or call.bytes > facts.workspace_bytes, "a ring is not for what rank order takes")

    # Placement only: few ranks or few bytes are best written to all at once.
    push = push_kib * KIB if call.captured == 1 else 2 * push_kib * KIB
    algorithm = TWO_SHOT
    if call.bytes * facts.ranks <= 4 * push:
        algorithm = PUSH
    elif call.bytes <= 4 * push:
        algorithm = PULL
    chunk = 1024 if call.bytes <= 16 * KIB else 4096
    return Choice(order=order, algorithm=algorithm, chunk=chunk)
