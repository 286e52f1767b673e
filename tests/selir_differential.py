"""Random SelIR programs: CPython's values, error classes and error lines beside Detent's.

usage: selir_differential.py EVAL [PROGRAMS [SEED]]

EVAL is the binary of tests/selir_eval.c.  Programs are valid by construction, so
few may be refused (two types that meet in one value); that share is bounded too.
"""
import ast
import random
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

sys.dont_write_bytecode = True
warnings.simplefilter("ignore", SyntaxWarning)  # of random programs
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))
import selir  # noqa: E402

RUNS = 12  # inputs tried per program
INT_MAX = 2**63


# --- making programs ---------------------------------------------------------------


class Maker:
    """One random program.  Names are chosen by type: ints n*, bools b*, strings e*."""

    def __init__(self, rng):
        self.rng, self.lines, self.helpers = rng, [], []

    def pick(self, *choices):
        return self.rng.choice(choices)()

    def const(self):
        r = self.rng
        return str(r.choice((0, 1, 2, 3, 4, 7, 8, 16, 64, r.randrange(100), 0x7F, 1000)))

    def name(self, kind):
        names = sorted(n for n in self.names if n[0] == kind)  # the same on every run
        return self.rng.choice(names) if names else None

    def int(self, depth):
        r = self.rng
        if depth <= 0:
            return r.choice((self.const(), "call.x", "call.y", "call.own", "knob('k', (1, 2, 5), default=2)")
                            + ((self.name("n"),) * 6 if self.name("n") else ()))
        sub = lambda: self.int(depth - 1)  # noqa: E731
        return self.pick(
            lambda: f"{sub()} {r.choice('+-*&|^')} {sub()}",
            lambda: f"({sub()}) {r.choice(('+', '-', '*', '//', '%', '>>', '&', '|', '^'))} ({sub()})",
            lambda: f"({sub()}) {r.choice(('//', '%'))} ({sub()})",
            lambda: f"({sub()}) << ({sub()} & 7)",
            lambda: f"{r.choice('-~+')}{sub()}",
            lambda: f"-{self.rng.randrange(2, 9)} ** 2",
            lambda: f"abs({sub()})",
            lambda: f"{r.choice(('min', 'max'))}({sub()}, {sub()}, {sub()})",
            lambda: f"({sub()} if {self.bool(depth - 1)} else {sub()})",
            lambda: f"int({self.bool(depth - 1)})",
            lambda: f"({sub()} {r.choice(('and', 'or'))} {sub()})",
            lambda: f"({self.const()}, {sub()}, {sub()})[{self.int(0)} % 4 - 1]",
            lambda: f"({self.const()}, {sub()}, {sub()}, {sub()})[{sub()} & 3]",
            lambda: f"{{1: {sub()}, 2: {sub()}, 5: 9}}[{self.int(0)} & 3]",
            lambda: f"{r.choice(('sum', 'min', 'max'))}(i * {self.int(0)} for i in range({r.randrange(1, 5)}))",
            lambda: f"{r.choice(('sum', 'min', 'max'))}([i + 1 for i in {self.items()} if i < {self.int(0)}])",
            lambda: f"max([i for i in {self.items()} if i > {self.int(0)}], default=-1)",
            lambda: f"len({self.items()})",
            lambda: self.helper_call(depth - 1),
            lambda: f"(True + {sub()})",
        )

    def items(self):
        r = self.rng
        return r.choice((f"range({r.randrange(1, 6)})", "ITEMS", "(3, 1, 2)", "[5, 0]", "sorted(ITEMS)",
                         f"range({r.randrange(4, 9)}, 0, -2)"))

    def bool(self, depth):
        r = self.rng
        if depth <= 0:
            return r.choice(("call.flag", "True", f"call.x < {self.const()}")
                            + ((self.name("b"),) * 4 if self.name("b") else ()))
        compare = lambda: r.choice(("<", "<=", "==", "!=", ">", ">="))  # noqa: E731
        sub = lambda: self.bool(depth - 1)  # noqa: E731
        return self.pick(
            lambda: f"{self.int(depth - 1)} {compare()} {self.int(depth - 1)}",
            lambda: f"({self.int(depth - 1)} {compare()} {self.int(depth - 1)} {compare()} {self.int(depth - 1)})",
            lambda: f"({sub()} {r.choice(('and', 'or', '&', '|', '^', '==', '!='))} {sub()})",
            lambda: f"(not {sub()})",
            lambda: f"(not {self.int(depth - 1)} == {self.int(0)})",
            lambda: f"(1 | {self.int(0)} == 3)",
            lambda: f"({self.int(depth - 1)} {r.choice(('in', 'not in'))} {self.items()})",
            lambda: f"bool({self.int(depth - 1)} and {sub()})",
            lambda: f"{r.choice(('any', 'all'))}({self.int(0)} // i > 2 for i in (2, 1, call.y))",
            lambda: f"{r.choice(('any', 'all'))}([{self.int(0)} > i for i in {self.items()}])",
            lambda: f"({self.enum(depth - 1)} {r.choice(('==', '!='))} {self.enum(0)})",
            lambda: f"({self.enum(depth - 1)} is {r.choice(('', 'not '))}None)",
            lambda: f"({self.enum(depth - 1)} in ('a', None))",
        )

    def enum(self, depth):
        if depth <= 0:
            return self.rng.choice(("call.mode", "'a'", "'bc'", "''", "None")
                                   + ((self.name("e"),) * 3 if self.name("e") else ()))
        return self.pick(
            lambda: f"({self.enum(depth - 1)} if {self.bool(depth - 1)} else {self.enum(depth - 1)})",
            lambda: f"({self.enum(depth - 1)} or {self.enum(0)})",
            lambda: f"('a', 'bc', None)[{self.int(0)} % 3]",
        )

    def helper_call(self, depth):
        if not self.helpers:
            return self.int(depth)
        name, n = self.rng.choice(self.helpers)
        args = [self.int(depth) for _ in range(n)]
        if n > 1 and self.rng.random() < 0.4:
            args[-1] = f"p{n - 1}={args[-1]}"
        return f"{name}({', '.join(args)})"

    def value(self, kind):
        depth = self.rng.choice((0, 1, 1, 2, 2, 3))
        return {"n": self.int, "b": self.bool, "e": self.enum}[kind](depth)

    def emit(self, indent, text):
        self.lines.append("    " * indent + text)

    def block(self, indent, size, loop, returns):
        for _ in range(size):
            self.statement(indent, loop, returns)
        if self.rng.random() < 0.05:
            self.emit(indent, "pass")

    def assign(self, indent):
        kind = self.rng.choice("nnnnbe")
        name = f"{kind}{self.rng.randrange(4)}"
        self.emit(indent, f"{name}{self.rng.choice(('', '', ': int'))} = {self.value(kind)}")
        self.names.add(name)

    def statement(self, indent, loop, returns):
        r = self.rng
        choice = r.random()
        if choice < 0.40 or indent > 4:
            self.assign(indent)
        elif choice < 0.48 and self.name("n"):
            self.emit(indent, f"{self.name('n')} {r.choice(('+=', '-=', '*=', '//=', '%=', '&=', '|='))} {self.value('n')}")
        elif choice < 0.52:
            self.emit(indent, f"n0, n1 = {self.value('n')}, {self.value('n')}")
            self.names |= {"n0", "n1"}
        elif choice < 0.70:
            self.branch(indent, loop, returns)
        elif choice < 0.80:
            self.loop(indent, returns)
        elif choice < 0.86 and loop:
            self.emit(indent, f"if {self.value('b')}:")
            self.emit(indent + 1, r.choice(("break", "continue")))
        elif choice < 0.91 and returns:
            self.emit(indent, f"if {self.value('b')}:")
            self.emit(indent + 1, f"return {returns()}")
        elif choice < 0.96:
            self.emit(indent, f"{r.choice(('require', 'assume'))}({self.value('b')} or call.x != {self.const()}, 'why')")
        else:
            self.assign(indent)

    def branch(self, indent, loop, returns):
        r = self.rng
        before = set(self.names)
        self.emit(indent, f"if {self.value('b') if r.random() < 0.8 else self.value('n')}:")
        self.block(indent + 1, r.randrange(1, 3), loop, returns)
        after = self.names
        for word in ["elif"] * r.randrange(2) + ["else"] * r.randrange(2):
            self.names = set(before)
            self.emit(indent, f"elif {self.value('b')}:" if word == "elif" else "else:")
            self.block(indent + 1, r.randrange(1, 3), loop, returns)
            after = after & self.names if r.random() < 0.9 else after | self.names
        self.names = before | (after if r.random() < 0.15 else after & before)

    def loop(self, indent, returns):
        r = self.rng
        names = set(self.names)
        if r.random() < 0.3:
            pairs = r.choice(("enumerate(ITEMS)", "zip(ITEMS, (call.x, 2, call.y))"))
            self.emit(indent, f"for n2, n3 in {pairs}:")
            self.names |= {"n2", "n3"}
        else:
            self.emit(indent, f"for n3 in {self.items()}:")
            self.names |= {"n3"}
        self.block(indent + 1, r.randrange(1, 4), True, returns)
        self.names &= names | {"n3"}

    def helper(self, i):
        n = self.rng.randrange(1, 3)
        default = " = 3" if n > 1 and self.rng.random() < 0.5 else ""
        params = [f"p{k}: int" + (default if k == n - 1 else "") for k in range(n)]
        self.emit(0, f"def f{i}({', '.join(params)}) -> int:")
        self.names = {f"n{k}" for k in range(n)}
        for k in range(n):
            self.emit(1, f"n{k} = p{k}")
        body = len(self.lines)
        self.block(1, self.rng.randrange(1, 4), False, lambda: self.int(1))
        self.emit(1, f"return {self.int(1)}")
        for k in range(body, len(self.lines)):  # helpers know no inputs
            for name, other in (("call.x", "p0"), ("call.y", "n0"), ("call.own", "p0"), ("call.flag", "(p0 > 3)"),
                                ("call.mode", "'a'")):
                self.lines[k] = self.lines[k].replace(name, other)
        self.helpers.append((f"f{i}", n))

    def program(self):
        r = self.rng
        lo = r.choice((0, 1, -3))
        self.lines = HEAD.format(lo=lo).splitlines()
        self.names = set()
        for i in range(r.randrange(3)):
            self.helper(i)
        record = lambda: f"Choice(n={self.int(1)}, b=bool({self.bool(1)}), e={self.enum(1)})"  # noqa: E731
        self.emit(0, '@selection(family="random")')
        self.emit(0, "def choose(facts: Model, call: Call) -> Choice:")
        self.names = set()
        for _ in range(2):
            self.assign(1)
        self.block(1, r.randrange(2, 7), False, record)
        self.emit(1, f"return {record()}")
        return "\n".join(self.lines) + "\n"


HEAD = '''from __future__ import annotations
from selir import Batch, Facts, Free, Own, Record, Runtime, Unpinnable, assume, knob, require, selection
ITEMS = (4, 0, 9)
class Model(Facts):
    pass
class Call(Batch):
    x: Runtime[range({lo}, 20)]
    y: Unpinnable[(0, 1, 2, 5, 1000)]
    own: Own[range(1, 65, 3)]
    flag: Runtime[bool]
    mode: Runtime["a", "bc", "", None]
class Choice(Record):
    n: int
    b: bool
    e: Free[str]
'''


# --- running them under CPython ------------------------------------------------------


def checked(v):
    if isinstance(v, int) and not -INT_MAX <= v < INT_MAX:
        raise OverflowError("an int leaves 64 bits")
    return v


def shift(a, b):
    if a and b > 64:
        raise OverflowError("an int leaves 64 bits")
    return checked(a << min(b, 64) if b >= 0 else a << b)


class Check(ast.NodeTransformer):
    """Ints of 64 bits: arithmetic that leaves them raises, at its own place."""

    def wrap(self, node, name, *args):
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(args), []), node)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, ast.LShift):
            return self.wrap(node, "_shift", node.left, node.right)
        return self.wrap(node, "_checked", node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return node if isinstance(node.op, ast.Not) else self.wrap(node, "_checked", node)

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return self.wrap(node, "_checked", node) if name in ("sum", "abs") else node

    def visit_AugAssign(self, node):
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return self.visit(ast.copy_location(ast.Assign([node.target], ast.copy_location(value, node)), node))


class Module:
    """What selir.Program wants of a module."""


def load(text):
    tree = ast.fix_missing_locations(Check().visit(ast.parse(text)))
    module = Module()
    vars(module).update(_checked=checked, _shift=shift, __name__="program")
    exec(compile(tree, "program.py", "exec", dont_inherit=True), vars(module))
    return selir.Program(module, {})


def line_of(error):
    return [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == "program.py"][-1]


def run(program, inputs, knobs, again=False):
    try:
        values = program(inputs, knobs)
    except selir.Refused as e:
        return f"refused {e.kind} {line_of(e)}"
    except NameError as e:
        if again:
            return f"error {type(e).__name__} {line_of(e)}"
        # CPython 3.11 runs two instructions as one in hot code, and then gives the first one's line for an
        # error of the second; not while it traces.
        sys.settrace(lambda *_: None)
        try:
            return run(program, inputs, knobs, True)
        finally:
            sys.settrace(None)
    except (ArithmeticError, LookupError, ValueError) as e:
        return f"error {type(e).__name__} {line_of(e)}"
    return "values " + " ".join(f"{k}={v}" for k, v in values.items())


# --- comparing -----------------------------------------------------------------------


def make(seed, count):
    for i in range(count):
        rng = random.Random(f"{seed}/{i}")
        text = Maker(rng).program()
        program = load(text)
        domains = {k: list(v) for k, v in program.domains().items()}
        runs = []
        for _ in range(RUNS):
            inputs = {k: rng.choice(v) for k, v in domains.items()}
            knobs = {"k": rng.choice((1, 2, 5))}
            line = " ".join(f"{k}={v}" for k, v in {**inputs, **knobs}.items())
            runs.append((line, run(program, inputs, knobs)))
        yield text, runs


def main():
    binary, count, seed = sys.argv[1], int((sys.argv[2:] or ["400"])[0]), (sys.argv[3:] or ["detent"])[0]
    cases = list(make(seed, count))
    request = "".join(
        f"program {len(text.encode())}\n{text}\n" + "".join(f"run {line}\n" for line, _ in runs) for text, runs in cases
    )
    done = subprocess.run([binary], input=request, capture_output=True, text=True)
    replies = iter(done.stdout.splitlines())
    rejected, errors, failed, why = 0, 0, 0, {}
    for text, runs in cases:
        status = next(replies, f"died: {done.returncode} {done.stderr[-2000:]}")
        ours = [next(replies, "died") for _ in runs]
        if status.startswith("reject 1005"):  # an error that inputs cannot avoid
            ok = all(not theirs.startswith("values") for _, theirs in runs)
        elif status.startswith("reject"):
            rejected += 1
            reason = status.split(": ", 1)[-1]
            why[reason] = why.get(reason, 0) + 1
            continue
        else:
            ok = status == "ok" and all(a == theirs for a, (_, theirs) in zip(ours, runs))
        errors += sum(not theirs.startswith("values") for _, theirs in runs)
        if ok:
            continue
        failed += 1
        if failed <= 3:
            print(text, status, sep="\n")
            for a, (line, theirs) in zip(ours, runs):
                if a != theirs:
                    print(f"inputs   {line}\n detent  {a}\n cpython {theirs}")
                    break
    compared = (len(cases) - rejected) * RUNS
    print(f"{len(cases)} programs, {rejected} refused, {compared} runs compared ({errors} ended in an error), {failed} programs differ")
    for reason in sorted(why, key=why.get, reverse=True)[:8]:
        print(f"  {why[reason]:4} {reason}")
    return failed > 0 or rejected > len(cases) // 4


if __name__ == "__main__":
    sys.exit(main())
