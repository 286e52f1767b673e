from __future__ import annotations
from selir import Batch, Facts, Free, Own, Record, Runtime, Unpinnable, assume, knob, require, selection
BLOCKS = (16, 32)
class M(Facts):
    a: int
class C(Batch):
    x: Runtime[range(1, facts.a + 1)]
    m: Unpinnable["p", "q", None]
    o: Own[bool]
class R(Record):
    n: int
    e: Free[str]
def f(a, b=2):
    for i, j in enumerate(BLOCKS):
        if a < i:
            continue
        if a > 7 or j == b:
            return -(-a // b)
    return {1: a, 2: 3}[b] << 1
@selection(family="f")
def choose(facts: M, call: C) -> R:
    k = knob("k", (1, 2), default=1)
    n: int = min(f(b=k, a=call.x), 9)
    n += (1, 2, 3)[call.x % 3]
    require(n > 0 and not call.o, "why")
    assume(1 < n <= 99, "why")
    return R(n=n, e=call.m or "p")
