"""Random SelIR programs, valid by construction: Maker (rng).program ().

Names are chosen by type: ints n*, bools b*, strings or None e*, floats x*, records
r*, tuples of an int and a bool t*, ints below four i* and three j*.  `used` collects the constructs that occur.
"""

HELPER = '''"""A sibling file."""
LIMIT = 5
STEPS = [1, 2, 4]


def clamp(v: int, low: int = 0, high: int = LIMIT) -> int:
    """Between the two."""
    if v < low:
        return low
    return high if v > high else v
'''
TABLE = '{"rows": [3, 1, 4, 1, 5], "by": {"0": 6, "1": 7, "2": 0, "3": 4}, "scale": 0.75, "name": "a", "on": true, "no": null}\n'
FILES = {"helper.py": HELPER, "t.json": TABLE}

HEAD = '''"""A random program."""
from __future__ import annotations
import helper
from helper import STEPS, clamp as cl
from selir import Batch, Facts, Free, Own, Record, Runtime, Unpinnable, assume, f32, knob, require, selection, table
ITEMS = (4, 0, 9)
ZERO = -0.0
DATA = table("t.json")
BY = {{int(k): DATA["by"][k] for k in DATA["by"]}}
class Model(Facts):
    pass
class Call(Batch):
    """What depends on the batch."""
    x: Runtime[range({lo}, 20)]
    y: Unpinnable[(0, 1, 2, 5, 1000)]
    own: Own[range(1, 65, 3)]
    flag: Runtime[bool]
    mode: Runtime["a", "bc", "", None]
    load: Runtime[0.5, -2.25, 1e-3, ZERO, 0.0]
class Pair(Record):
    a: int
    b: bool
class Choice(Record):
    n: int
    b: bool
    e: Free[str]
    x: float
'''
KNOB = "knob('k', (1, 2, 5), default=2)"
FLOAT_KNOB = "knob('f', (0.8, ZERO, 1.5), default=0.8)"


class Maker:
    """One random program."""

    def __init__(self, rng):
        self.rng, self.lines, self.helpers, self.used = rng, [], [], set()

    def pick(self, *choices):
        """A choice is (the construct's name, what makes it)."""
        name, make = self.rng.choice(choices)
        self.used.add(name)
        return make()

    def const(self):
        r = self.rng
        return str(r.choice((0, 1, 2, 3, 4, 7, 8, 16, 64, r.randrange(100), "0x7F", "1_000", 1 << 40, -(2**63))))

    def name(self, kind):
        names = sorted(n for n in self.names if n[0] == kind)  # the same on every run
        return self.rng.choice(names) if names else None

    def leaf(self, kind, inputs, consts):
        """Mostly what depends on inputs."""
        r = self.rng
        if r.random() < 0.01:
            return consts()
        name = self.name(kind)
        return name if name and r.random() < 0.6 else r.choice(inputs)

    def small(self, kind):
        """An int in 0..3 (kind "i") or 0..2 ("j")."""
        name = self.name(kind)
        if name and self.rng.random() < 0.9:
            return name
        if self.rng.random() < 0.7:
            return f"min(max({self.int(0)}, 0), {3 if kind == 'i' else 2})"
        return f"({self.int(0)} & 3)" if kind == "i" else f"({self.int(0)} % 3)"

    def divisor(self, depth):
        """Mostly not zero."""
        return self.rng.choice(("call.own", KNOB, "(call.y or call.own)")) if self.rng.random() < 0.7 else self.int(depth)

    # --- ints ---

    def int(self, depth):
        r = self.rng
        if depth <= 0:
            return self.leaf("n", ("call.x", "call.y", "call.own", KNOB), self.const)
        sub = lambda: self.int(depth - 1)  # noqa: E731
        low = lambda: self.int(0)  # noqa: E731
        four, three = (lambda: self.small("i")), (lambda: self.small("j"))  # noqa: E731
        divisor = lambda: self.divisor(0)  # noqa: E731
        three_or_less = lambda: r.randrange(-1, 4)  # noqa: E731
        op = r.choice(("+", "-", "*", "&", "|", "^"))
        return self.pick(
            (f"int {op}", lambda: f"{sub()} {op} {sub()}"),
            ("int //", lambda: f"({sub()}) // ({self.divisor(depth - 1)})"),
            ("int %", lambda: f"({sub()}) % ({self.divisor(depth - 1)})"),
            ("int >>", lambda: f"({sub()}) >> ({four() if r.random() < 0.7 else sub()})"),
            ("int <<", lambda: f"({sub()}) << ({four()})"),
            ("unary - ~ +", lambda: f"{r.choice('-~+')}{sub()}"),
            ("int **", lambda: f"({low()}) ** {r.choice((0, 1, 2, 3))}"),
            ("int ** runtime", lambda: f"({low()}) ** {four()}"),
            ("abs", lambda: f"abs({sub()})"),
            ("min max", lambda: f"{r.choice(('min', 'max'))}({sub()}, {sub()}, {sub()})"),
            ("conditional", lambda: f"({sub()} if {self.bool(depth - 1)} else {sub()})"),
            ("int()", lambda: f"int({self.bool(depth - 1)})"),
            ("int(float)", lambda: f"{r.choice(('int', 'round'))}({self.float(depth - 1)})"),
            ("and or", lambda: f"({sub()} {r.choice(('and', 'or'))} {sub()})"),
            ("tuple index", lambda: f"({low()}, {sub()}, {sub()})[-{three()}]"),
            ("list index", lambda: f"[{low()}, {sub()}, {low()}, {low()}][{four()}]"),
            ("dict index", lambda: f"{{1: {sub()}, 2: {low()}, {r.choice('3335')}: {low()}, 0: {low()}}}[{four()}]"),
            ("data file", lambda: r.choice((f"DATA['rows'][{four()}]", f"BY[{four()}]",
                                            "(BY[call.x] if call.x in BY else call.own)"))),
            ("sibling import", lambda: f"helper.clamp({sub()}, high={low()})" if r.random() < 0.5
             else f"cl({sub()}, {low()}) + STEPS[{three()}] * helper.LIMIT"),
            ("fold of generator", lambda: f"{r.choice(('sum', 'min', 'max'))}(i * {low()} for i in range({r.randrange(1, 5)}))"),
            ("fold with filter", lambda: f"{r.choice(('sum', 'sum', 'min', 'max'))}([i + {low()} for i in {self.items()} if i < {low()}])"),
            ("default=", lambda: f"{r.choice(('min', 'max'))}([i for i in {self.items()} if i > {low()}], default={low()})"),
            ("fold of runtime range", lambda: f"{r.choice(('sum', 'sum', 'min', 'max'))}(i + {low()} for i in {self.range()})"),
            ("len of runtime range", lambda: f"(len({self.range()}) {r.choice('+*-')} {low()})"),
            ("enumerate of runtime range", lambda: f"sum(i * j + {low()} for i, j in enumerate({self.range()}, start={three_or_less()}))"),
            ("zip of runtime range", lambda: f"{r.choice(('sum', 'min', 'max'))}(i + j for i, j in zip({self.range()}, {self.walked()}))"),
            ("fold of two clauses", lambda: f"sum(i * j for i in {self.items()} if i != {low()} for j in ({low()}, {low()}))"),
            ("key=", lambda: f"{r.choice(('min', 'max'))}({self.items()}, key=lambda k: abs(k - {low()}))"),
            ("key= of arguments", lambda: f"{r.choice(('min', 'max'))}({sub()}, {low()}, {sub()}, key=lambda k: k {r.choice('&%')} {divisor()})"),
            ("sorted", lambda: f"sorted([{low()}, {sub()}, {low()}]{r.choice(('', ', reverse=True'))})[{three()}]"),
            ("sorted key=", lambda: f"sorted(({low()}, {low()}, {low()}), key=lambda k: (k & {low()}, {low()} < k))[{three()}]"),
            ("len", lambda: f"len({self.items()}) * {low()}"),
            ("call", lambda: self.helper_call(depth - 1)),
            ("call", lambda: self.helper_call(depth - 1)),
            ("bool in arithmetic", lambda: f"({self.bool(0)} + {sub()})"),
            ("record field", lambda: f"Pair(a={sub()}, b={self.bool(0)}).a"),
            ("list comprehension", lambda: f"[i * {low()} for i in {self.items()}][-1]"),
            ("dict comprehension", lambda: f"{{i: i + {low()} for i in range({r.choice('443')})}}[{four()}]"),
        )

    def items(self):
        r = self.rng
        return r.choice((f"range({r.randrange(1, 6)})", "ITEMS", "(3, 1, 2)", "[5, 0]", "sorted(ITEMS)", "STEPS", "BY",
                         f"range({r.randrange(4, 9)}, 0, -2)"))

    def walked(self):
        """What zip takes, beside a range whose bounds depend on inputs."""
        return self.rng.choice((self.items, self.range, lambda: f"({self.int(0)}, 2, {self.int(0)}, 7)"))()

    def range(self):
        """With bounds that depend on inputs, and small by their ranges."""
        low, r = lambda: self.int(0), self.rng
        four = lambda: self.small("i")  # noqa: E731
        return r.choice((f"range({four()})", "range(call.x)", f"range({four()}, {low()} & 7)", "range(call.x, -1, -3)",
                         f"range({low()} & 15)", f"range(min(max({low()}, 0), 5))", f"range({four()}, -2, -1)"))

    # --- floats ---

    def float(self, depth):
        r = self.rng
        if depth <= 0:
            name = self.name("x")
            if name and r.random() < 0.7:
                return name
            if r.random() < 0.15:
                self.used.add("float input")
                return "call.load"
            return r.choice((f"(call.x * {r.choice(('0.5', '1e-3', '2.25', '.1'))})", f"float({self.int(0)})", f"({self.int(0)} / call.own)",
                             f"f32({self.int(0)} / call.own)", f"(call.own / {self.int(0)})", FLOAT_KNOB))
        sub = lambda: self.float(depth - 1)  # noqa: E731
        low, four = (lambda: self.int(0)), (lambda: self.small("i"))  # noqa: E731
        divisor = lambda: f"call.own - {r.choice(('0.5', '.125'))}" if r.random() < 0.4 else sub()  # noqa: E731
        op = r.choice("+-*")
        return self.pick(
            (f"float {op}", lambda: f"({sub()} {op} {sub()})"),
            (f"mixed {op}", lambda: f"({sub()} {op} ({self.int(depth - 1)}))" if r.random() < 0.5 else f"({low()} {op} {sub()})"),
            ("int / int", lambda: f"({self.int(depth - 1)}) / ({self.divisor(0)})"),
            ("float /", lambda: f"({sub()}) / ({divisor()})"),
            ("float //", lambda: f"({sub()}) // ({divisor()})"),
            ("float %", lambda: f"({sub()}) % ({divisor()})"),
            ("float unary", lambda: f"{r.choice('-+')}({sub()})"),
            ("float()", lambda: f"float({self.int(depth - 1)})"),
            ("f32", lambda: f"f32({sub()})"),
            ("float abs", lambda: f"abs({sub()})"),
            ("float min max", lambda: f"{r.choice(('min', 'max'))}({sub()}, {sub()}, {sub()})"),
            ("float conditional", lambda: f"({sub()} if {self.bool(depth - 1)} else {sub()})"),
            ("float and or", lambda: f"({sub()} {r.choice(('and', 'or'))} {sub()})"),
            ("float table", lambda: f"({sub()}, 0.5, -0.0, {sub()})[{four()}]"),
        )

    # --- bools and enums ---

    def bool(self, depth):
        r = self.rng
        if depth <= 0:
            return self.leaf("b", ("call.flag", "(call.x < call.own)", "(call.y == call.x)"), lambda: "True")
        compare = lambda: r.choice(("<", "<=", "==", "!=", ">", ">="))  # noqa: E731
        sub = lambda: self.bool(depth - 1)  # noqa: E731
        num = lambda: self.int(depth - 1)  # noqa: E731
        low = lambda: self.int(0)  # noqa: E731
        word = r.choice(("any", "all"))
        return self.pick(
            ("compare", lambda: f"{num()} {compare()} {num()}"),
            ("chained compare", lambda: f"({num()} {compare()} {num()} {compare()} {num()})"),
            ("compare floats", lambda: f"({self.float(depth - 1)} {compare()} {self.float(0)})"),
            ("compare int with float", lambda: f"({num()} {compare()} {self.float(0)})" if r.random() < 0.5
             else f"({self.float(0)} {compare()} {num()})"),
            ("bool ops", lambda: f"({sub()} {r.choice(('and', 'or', '&', '|', '^', '==', '!='))} {sub()})"),
            ("not", lambda: f"(not {sub()})"),
            ("precedence of not", lambda: f"(not {num()} == {low()})"),
            ("precedence of |", lambda: f"({low()} | {low()} == {low()})"),
            ("in collection", lambda: f"({num()} {r.choice(('in', 'not in'))} {self.items()})"),
            ("in runtime values", lambda: f"({num()} in ({low()}, {low()}, {low()}))"),
            ("in runtime range", lambda: f"({num()} in range({self.small('i')}))"),
            ("bool()", lambda: f"bool({num()} and {sub()})"),
            ("truth of runtime range", lambda: f"{r.choice(('bool(', '(not '))}{self.range()})"),
            ("bool(float)", lambda: f"bool({self.float(0)})"),
            ("any all", lambda: f"{word}({low()} // i > {low()} for i in (call.own, call.x, {self.divisor(0)}))"),
            ("any all of list", lambda: f"{word}([{low()} > i for i in {self.items()}])"),
            ("any all with filter", lambda: f"{word}(i < {low()} for i in {self.range()} if i != {low()})"),
            ("enum ==", lambda: f"({self.enum(depth - 1)} {r.choice(('==', '!='))} {self.enum(0)})"),
            ("is None", lambda: f"({self.enum(depth - 1)} is {r.choice(('', 'not '))}None)"),
            ("enum in", lambda: f"({self.enum(depth - 1)} in ('a', None))"),
            ("compare tuples", lambda: f"(({num()}, {low()}) {compare()} ({low()}, {low()}))"),
        )

    def enum(self, depth):
        if depth <= 0:
            return self.leaf("e", ("call.mode",), lambda: self.rng.choice(("'a'", "'bc'", "''", "None", "DATA['name']")))
        return self.pick(
            ("enum conditional", lambda: f"({self.enum(depth - 1)} if {self.bool(depth - 1)} else {self.enum(depth - 1)})"),
            ("enum or", lambda: f"({self.enum(depth - 1)} or {self.enum(0)})"),
            ("enum table", lambda: f"('a', 'bc', None, call.mode)[{self.small('i')}]"),
            ("dict by enum", lambda: f"{{'a': 'bc', None: call.mode, 'bc': ''}}[{self.enum(0)}]"),
        )

    def record(self):
        make = lambda: f"Pair(a={self.int(1)}, b={self.bool(1)})"  # noqa: E731
        return f"({make()} if {self.bool(1)} else {self.name('r') or make()})"

    def tuple(self):
        make = lambda: f"({self.int(1)}, {self.bool(1)})"  # noqa: E731
        return f"({make()} if {self.bool(1)} else {self.name('t') or make()})"

    def helper_call(self, depth):
        if not self.helpers:
            return self.int(depth)
        name, n, default = self.rng.choice(self.helpers)
        args = [self.int(depth) for _ in range(n)]
        if n > 1 and self.rng.random() < 0.5:
            self.used.add("keyword argument")
            args[-1] = f"p{n - 1}={args[-1]}"
        elif default and self.rng.random() < 0.8:
            self.used.add("default argument")
            args.pop()
        return f"{name}({', '.join(args)})"

    def value(self, kind):
        depth = self.rng.choice((0, 1, 1, 2, 2, 3))
        return {"n": self.int, "b": self.bool, "e": self.enum, "x": self.float}[kind](depth)
