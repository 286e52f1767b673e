"""Random SelIR programs that can be solved, with small domains: make (rng) -> Program.

A program is lets and conditions, under branches or not.  Kinds of locals by name: n* ints, b* bools,
x* floats, g* what a branch asks, p* what a binding field returns.  Every local but u* is read by something.
"""
import ast
import re

FACTS = {"units": 3}
INPUTS = {  # name -> (class, domains to choose from)
    "requests": ("Runtime", ("range(1, 6)", "range(2, 9)", "(1, 2, 3, 5, 8)", "range(1, 16, 4)")),
    "longest_query": ("Runtime", ("(1, 2, 4, 7)", "range(1, 6)", "(0, 3, 64)")),
    "total_kv": ("Unpinnable", ("(0, 1, 5)", "range(3, 8)", "(-2, 0, 1, 1000)")),
    "kv_length": ("Own", ("range(1, 65, 21)", "(1, 2, 16)", "range(0, 3)")),
}


class Let:
    """`name = expr`; of one that is bound in both arms of a branch there are two."""

    def __init__(self, name, expr):
        self.name, self.expr = name, expr

    def lines(self, indent):
        return [f"{indent}{self.name} = {self.expr}"]


class Cond:
    """`require` or `assume`."""

    def __init__(self, kind, expr, why):
        self.kind, self.expr, self.why = kind, expr, why

    def lines(self, indent):
        return [f"{indent}{self.kind}({self.expr}, {self.why!r})"]


class If:
    """A branch on a local."""

    def __init__(self, guard, then, other):
        self.guard, self.then, self.other = guard, then, other

    def lines(self, indent):
        text = [f"{indent}if {self.guard}:"] + body(self.then, indent + "    ")
        return text + ([f"{indent}else:"] + body(self.other, indent + "    ") if self.other else [])


def body(statements, indent):
    return [line for s in statements for line in s.lines(indent)] or [f"{indent}pass"]


def reads(expr):
    """Locals that an expression reads."""
    return {n.id for n in ast.walk(ast.parse(expr, mode="eval")) if isinstance(n, ast.Name) and n.id[0] in "nbxgpku"
            and n.id[1:].isdigit()}


class Program:
    """Knobs, statements, and the fields that are returned, each by a local."""

    def __init__(self, domains, knobs, statements, fields):
        self.domains, self.knobs, self.statements, self.fields = domains, knobs, statements, fields

    def text(self):
        inputs = [f"    {n}: {INPUTS[n][0]}[{d}]" for n, d in self.domains.items()]
        record = [f"    {f}: {'Free[int]' if free else 'int'}" for f, (_, free) in self.fields.items()]
        knobs = [f"    {k} = knob({k!r}, {v!r}, default={v[-1]!r})" for k, v in self.knobs.items()]
        returned = ", ".join(f"{f}={p}" for f, (p, _) in self.fields.items())
        return "\n".join(
            ["from __future__ import annotations",
             "from selir import Batch, Facts, Free, Own, Record, Runtime, Unpinnable, assume, f32, knob, require, selection",
             "class Model(Facts):", "    units: int", "class Call(Batch):"] + inputs + ["class Choice(Record):"] + record
            + ['@selection(family="attention")', "def choose(facts: Model, call: Call) -> Choice:"] + knobs
            + body(self.statements, "    ") + [f"    return Choice({returned})", ""])


class Maker:
    """One random program."""

    def __init__(self, rng):
        self.rng, self.n, self.names, self.knobs = rng, 0, {k: [] for k in "nbx"}, {}
        self.own, self.of_batch = set(), False  # locals that read an Own input; none of those is wanted now

    def constant(self):
        return str(self.rng.choice((1, 2, 3, 4, 5, 7, 9, 11, 13, 17, 29)))

    def known(self, kind):
        return [n for n in self.names[kind] if not self.of_batch or n not in self.own]

    def number(self, depth, consts=True):
        r = self.rng
        if depth <= 0:
            leaves = [f"call.{n}" for n in self.domains if not self.of_batch or INPUTS[n][0] != "Own"]
            leaves = (3 if self.of_batch else 1) * leaves + 2 * self.known("n")[-4:] + list(self.knobs)
            return self.constant() if consts and r.random() < 0.2 else r.choice(leaves)
        sub = lambda: self.number(depth - 1)  # noqa: E731
        low = lambda: self.number(0, False)  # noqa: E731
        c = self.constant
        divisor = lambda: r.choice((c(), c(), f"({low()} + {c()})", low(), f"({low()} - {c()})"))  # noqa: E731
        return r.choice((
            lambda: f"({sub()} + {sub()})", lambda: f"({sub()} - {sub()})", lambda: f"({sub()} * {low()})",
            lambda: f"({sub()} // {divisor()})", lambda: f"({sub()} % {divisor()})", lambda: f"-(-{low()} // {c()})",
            lambda: f"min({sub()}, {sub()})", lambda: f"max({sub()}, {c()})", lambda: f"abs({sub()})",
            lambda: f"({sub()} if {self.truth(depth - 1)} else {sub()})",
            lambda: f"[{c()}, {low()}, {c()}, {low()}][{low()} & 3]", lambda: f"({c()}, {low()}, {c()})[{low()} % {r.choice('334')}]",
            lambda: f"{{0: {low()}, 1: {c()}, 2: {low()}}}[{low()} % {r.choice('334')}]",
            lambda: f"sum(i * {low()} for i in range({r.randrange(2, 4)}) if i != {low()})",
            lambda: f"max(i for i in ({c()}, {c()}, 0) if i <= abs({low()}))",
            lambda: f"int({self.real(depth - 1)})", lambda: f"({low()} ^ {c()})", lambda: f"({low()} << {r.choice('123')})",
            lambda: f"(({low()} << {r.choice(('20', '40', '57', '60'))}) % {r.choice(('1000003', '7'))})", lambda: f"({low()} + facts.units)",
        ))()

    def real(self, depth):
        r, low = self.rng, lambda: self.number(0, False)
        if depth <= 0 and self.known("x") and r.random() < 0.6:
            return r.choice(self.known("x"))
        return r.choice((
            lambda: f"({low()} / {self.constant()})", lambda: f"f32({low()} / {self.constant()})", lambda: f"({low()} * {r.choice(('0.1', '2.25', '1e-3'))})",
            lambda: f"({low()} / {low()})", lambda: f"f32({self.real(0) if depth > 0 else low()} * 0.3)",
            lambda: f"float({low()})", lambda: f"max({low()} * 0.5, {self.constant()}.5)"))()

    def truth(self, depth):
        r = self.rng
        if depth <= 0 and self.known("b") and r.random() < 0.4:
            return r.choice(self.known("b"))
        num = lambda: self.number(max(depth, 1) - 1)  # noqa: E731
        compare = r.choice(("<", "<=", "==", "!=", ">", ">="))
        return r.choice((
            lambda: f"({num()} {compare} {num()})", lambda: f"({num()} {compare} {self.constant()})",
            lambda: f"({self.number(0, False)} {compare} {self.real(depth)})", lambda: f"({self.constant()} <= {num()} < {num()})",
            lambda: f"({self.truth(depth - 1)} {r.choice(('and', 'or'))} {self.truth(0)})" if depth > 0 else f"({num()} >= 1)",
            lambda: f"(not {self.truth(0)})" if depth > 0 else f"({num()} != 2)",
            lambda: f"({num()} in ({self.constant()}, {num()}, 0))"))()

    def fresh(self, kind):
        self.n += 1
        return f"{kind}{self.n}"

    def small(self):
        """An int of few values, mostly of the batch."""
        r = self.rng
        return r.choice((
            lambda: f"({self.number(2)} % {r.choice('345')})", lambda: f"min(max({self.number(1)}, {r.choice('01')}), {r.choice('345')})",
            lambda: f"({r.choice('123')} if {self.truth(1)} else {r.choice(('4', '6', '16'))})",
            lambda: f"({r.choice('12')} if {self.truth(1)} else {r.choice(('4', '8'))} if {self.truth(1)} else 32)",
            lambda: f"({r.choice('35')} if call.requests > {self.number(0)} + {r.choice('01')} else {r.choice('2467')})",
            lambda: f"max(s for s in (1, 4, 8, 32) if s <= max({self.number(1)}, 1))"))()

    def lets(self, name, make):
        """A let, or one in each arm of a branch, with what the branch asks."""
        if self.rng.random() < 0.7:
            found = [Let(name, make())]
        else:
            guard = self.fresh("g")
            found = [Let(guard, self.truth(1)), If(guard, [Let(name, make())], [Let(name, make())])]
        text = "\n".join(body(found, ""))
        if "kv_length" in text or self.own & set(re.findall(r"\w+", text)):
            self.own.add(name)
        return found

    def value(self, name):
        """Of a field, or what fields share: mostly without an Own input, so that it can be pinned."""
        self.of_batch = self.rng.random() < 0.9
        found = self.lets(name, self.small)
        self.of_batch = False
        return found

    def condition(self):
        r = self.rng
        any_p = r.choice(self.points) if self.points and r.random() < 0.7 else self.number(0, False)
        expr = r.choice((
            lambda: f"{any_p} * {self.constant()} + {self.constant()} >= {self.number(1)}",
            lambda: f"{any_p} <= {self.number(0, False)} + {self.constant()}", lambda: f"{any_p} != {self.number(1)}",
            lambda: f"-(-{self.number(0, False)} // max({any_p}, 1)) <= {self.constant()}",
            lambda: f"{self.number(0, False)} // ({any_p} - {self.constant()}) < {self.constant()}",
            lambda: f"{self.real(1)} <= {any_p} + {self.constant()}.5", lambda: f"f32({any_p} * 0.1) < {self.real(0)} + {self.constant()}",
            lambda: f"({self.truth(1)} or {any_p} > {r.choice('012')})", lambda: f"({any_p}, {self.number(0, False)}) < ({self.constant()}, {self.constant()})"))()
        return Cond(r.choice(("require", "require", "assume")), expr, f"c{self.fresh('')}")

    def assumption(self):
        """Of inputs alone: it narrows the domain."""
        self.n += 1
        names = [n for n in self.domains]
        a, b = self.rng.choice(names), self.rng.choice(names)
        e = f"call.{self.rng.choice(names)} - {self.rng.choice('12345')}"
        return Cond("assume", self.rng.choice((f"call.{a} // ({e}) {self.rng.choice('<>')} {self.rng.choice('0123')}",
                                               f"({self.constant()}, {self.constant()}, 0, 2, 9)[call.{a}] {self.rng.choice('<>')} {self.rng.choice('34')}",f"call.{a} * {self.constant()} >= call.{b}", f"call.{a} != {self.constant()}",
                                               f"call.{a} + call.{b} > {self.rng.choice('123')}", f"(call.{a} - call.{b}) % 5 != 3")), f"c{self.n}")

    def conditions(self):
        r = self.rng
        found = []
        for _ in range(r.randrange(3)):
            c = self.assumption() if r.random() < 0.25 else self.condition()
            if r.random() < 0.4:
                guard = self.fresh("g")
                arms = [c], [self.condition()] if r.random() < 0.3 else []
                found += [Let(guard, self.truth(1)), If(guard, *arms)]
            else:
                found.append(c)
        return found

    def program(self):
        r = self.rng
        names = sorted(r.sample(sorted(INPUTS), r.choice((2, 3, 3, 4))), key=list(INPUTS).index)
        if "requests" not in names:
            names = ["requests"] + names
        self.domains = {n: r.choice(INPUTS[n][1]) for n in names}
        self.points, statements = [], []
        for _ in range(r.choice((0, 0, 1, 1, 2))):
            self.knobs[f"k{len(self.knobs)}"] = r.choice(((1, 2), (0, 3, 5), (2, 7)))
        for _ in range(r.randrange(1, 5)):
            kind = r.choice("nnnbx")
            name = self.fresh(kind)
            statements += self.lets(name, {"n": lambda: self.number(2), "b": lambda: self.truth(2), "x": lambda: self.real(1)}[kind])
            self.names[kind].append(name)
            if r.random() < 0.2:
                statements += self.conditions()
        if r.random() < 0.1:
            statements.append(Let(self.fresh("u"), f"call.requests // (call.{names[-1]} + {r.choice('123')})"))
        shared = []
        if r.random() < 0.4:  # two fields that one value decides
            shared = [self.fresh("n")]
            statements += self.value(shared[0])
            self.names["n"].append(shared[0])
        for _ in range(r.randrange(1, 4)):
            name = self.fresh("p")
            if shared and r.random() < 0.8:
                statements.append(Let(name, f"({shared[0]} * {self.constant()} + {self.constant()})" if r.random() < 0.7
                                      else f"({self.constant()} if {shared[0]} > {r.choice('123')} else {shared[0]})"))
            else:
                statements += self.value(name)
            self.points.append(name)
            self.names["n"].append(name)
            statements += self.conditions()
        statements += [self.condition()] if r.random() < 0.6 else []
        fields = {f"f{i}": (p, i > 0 and r.random() < 0.15) for i, p in enumerate(self.points)}
        return Program(self.domains, self.knobs, used(statements, {p for p, _ in fields.values()}), fields)


def used(statements, wanted):
    """Without lets that nothing reads, but for u*."""
    def walk(block, keep):
        kept = []
        for s in reversed(block):
            if isinstance(s, Let):
                if s.name not in keep and s.name[0] != "u":
                    continue
                keep |= reads(s.expr)
            elif isinstance(s, Cond):
                keep |= reads(s.expr)
            else:
                s = If(s.guard, walk(s.then, keep), walk(s.other, keep))
                if not s.then and not s.other:
                    continue
                if not s.then:
                    s.then = []
                keep.add(s.guard)
            kept.append(s)
        return kept[::-1]

    return walk(statements, set(wanted))
