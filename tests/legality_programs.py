"""Which assignments are legal: Detent beside trying every point of the domain under CPython.

usage: legality_programs.py DETENTCTL [PROGRAMS [SEED]]

Random programs (legality_make.py) are solved, and each assignment that the solve lists is judged here from the
program's text and nothing else of Detent's: the pins' bindings are replaced by their values, what only they
needed is left out, and what is left runs under CPython on all points.  An assignment is legal if no point
raises or breaks a condition; points that break an assume of inputs alone are outside.  Illegal ones must break
at the counterexample's point too, binding fields must be the same on all points of the batch, and each value that
a pin has where the program runs through is a candidate.  Where no assignment is legal, the pins are those of the
program without its conditions, and none of their values may be legal here.

Where the language leaves a choice, nothing is judged, and how often is printed: an int beyond 64 bits that
the result does not need, an assume whose pins or knobs do not matter, a value that equals a pin on all points
though its text is another, a pin that no local names or that is one arm of a local, and what only text that no
value decides reads.
"""
import ast
import itertools
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))
import selir  # noqa: E402
from legality_make import FACTS, INPUTS, Cond, If, Let, Maker, Program, body, reads, used  # noqa: E402

MAX_POINTS, MAX_ASSIGNMENTS = 600, 300
WIDE = 4096  # bits: as good as Python's own ints
DEPLOYMENT = """version: 1
name: d
model: m
engine: {name: e, build: "1"}
backend: none
limits: {max_batch: 8}
sites:
  - {family: attention, site: s, program: p.py, calls_per_step: 1, facts: {units: 3}}
"""


class Facts:
    units = FACTS["units"]


class Call:
    """One point."""

    def __init__(self, values):
        self.__dict__.update(values)


class Skip(Exception):
    """The language leaves a choice here."""


class NoneLegal(Skip):
    """What the solve says of all assignments."""


# --- the program with its pins put in ---------------------------------------------------------------------


def walk(block, guards=()):
    """All lets and conditions, with the locals that their branches ask."""
    for s in block:
        if isinstance(s, If):
            yield from walk(s.then, guards + (s.guard,))
            yield from walk(s.other, guards + (s.guard,))
        else:
            yield s, guards


def read_by(block):
    """Local -> the locals that it is computed from, branches too."""
    found = {}
    for s, guards in walk(block):
        if isinstance(s, Let):
            found.setdefault(s.name, set()).update(reads(s.expr), guards)
    return found


def closure(roots, needs, stop=()):
    found, left = set(), list(roots)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += () if name in stop else needs.get(name, ())
    return found


class Same(ast.NodeTransformer):
    """An expression that repeats a pinned local's own, outside of conditions, is pinned with it."""

    def __init__(self, whole):
        self.whole = whole  # dump -> local

    def visit(self, node):
        name = self.whole.get(ast.dump(node)) if isinstance(node, ast.expr) else None
        return ast.copy_location(ast.Name(name, ast.Load()), node) if name else self.generic_visit(node)


def kept(block, keep, change):
    """The block with these lets alone, and all conditions."""
    found = []
    for s in block:
        if isinstance(s, If):
            s = If(s.guard, kept(s.then, keep, change), kept(s.other, keep, change))
            found += [s] if s.then or s.other else []
        elif isinstance(s, Cond):
            found.append(s)
        elif s.name in keep:
            found.append(Let(s.name, ast.unparse(change.visit(ast.parse(s.expr, mode="eval")))))
    return found


def pin(program, pins):
    """What CPython runs once these locals are constants."""
    needs = read_by(program.statements)
    lets = [s for s, _ in walk(program.statements) if isinstance(s, Let)]
    behind = closure(set().union(*(needs[p] for p in pins)), needs) - set(pins)
    roots = {p for p, _ in program.fields.values()} | {s.name for s in lets if s.name not in behind}
    for s, guards in walk(program.statements):
        if isinstance(s, Cond):
            roots |= reads(s.expr) | set(guards)
    keep = closure(roots, needs, pins) - set(pins)
    once = Counter(s.name for s in lets)
    whole = {ast.dump(ast.parse(s.expr, mode="eval").body): s.name for s in lets if s.name in pins and once[s.name] == 1}
    return kept(program.statements, keep, Same(whole))


def only(block, index, counter):
    """The block with condition `index` alone."""
    found = []
    for s in block:
        if isinstance(s, If):
            s = If(s.guard, only(s.then, index, counter), only(s.other, index, counter))
            found += [s] if s.then or s.other else []
        elif isinstance(s, Let) or next(counter) == index:
            found.append(s)
    return found


def compiled(block, arguments, returned, bits):
    """A function of the point, facts, and these; conditions are told to `require` and `assume` of its globals."""
    text = "\n".join([f"def run({', '.join(['call', 'facts', *arguments])}):"] + body(block, "    ") + [f"    return ({returned},)", ""])
    tree = ast.fix_missing_locations(selir._Sized().visit(ast.parse(text)))
    names = {"f32": selir.f32, **selir._sized_functions(bits)}
    exec(compile(tree, "<pinned>", "exec"), names)
    return names


class Pinned:
    """A program whose pins are arguments."""

    def __init__(self, program, pins):
        self.statements = pin(program, pins)
        self.arguments = [*program.knobs, *pins]
        self.conds = [(s, g) for s, g in walk(self.statements) if isinstance(s, Cond)]
        for i, (s, _) in enumerate(self.conds):
            s.index = i
        fields = ", ".join(p for p, free in program.fields.values() if not free)
        self.runs = {bits: self.function(self.statements, fields, bits) for bits in (64, WIDE)}
        needs = read_by(self.statements)
        self.limits, self.unsure, self.narrow = [], [], []
        for s, guards in self.conds:
            if s.kind == "assume":
                names = closure(reads(s.expr) | set(guards), needs)
                (self.unsure if names & set(self.arguments) else self.limits).append(self.alone(s.index, needs, names, WIDE))
                if not names & set(self.arguments):
                    self.narrow.append(self.alone(s.index, needs, names, 64))

    def function(self, block, fields, bits):
        names = compiled(self.numbered(block), self.arguments, fields, bits)
        names["broken"] = []
        names["cond"] = lambda i, holds: None if holds else names["broken"].append(i)
        return names

    def numbered(self, block):
        return [If(s.guard, self.numbered(s.then), self.numbered(s.other)) if isinstance(s, If)
                else Let("_", f"cond({s.index}, {s.expr})") if isinstance(s, Cond) else s for s in block]

    def alone(self, index, needs, names, bits):
        """What one condition needs, so that nothing else can raise before it."""
        block = only(self.statements, index, itertools.count())
        return self.function(self.without(block, names), "0", bits)

    def without(self, block, names):
        found = []
        for s in block:
            if isinstance(s, If):
                s = If(s.guard, self.without(s.then, names), self.without(s.other, names))
                found += [s] if s.then or s.other else []
            elif isinstance(s, Cond) or s.name in names:
                found.append(s)
        return found

    @staticmethod
    def breaks(function, call, values):
        """1 if a condition of it does not hold; None if it raises."""
        function["broken"].clear()
        try:
            function["run"](call, Facts, **values)
        except (ArithmeticError, IndexError, KeyError, ValueError):
            return None
        return len(function["broken"]) > 0

    def is_outside(self, call, values, also=(), bits=WIDE):
        return any(self.breaks(f, call, values) for f in (*(self.limits if bits == WIDE else self.narrow), *also))

    def stops(self, call, values, bits):
        """(1 if it raises or a condition does not hold, binding fields or None)"""
        names = self.runs[bits]
        names["broken"].clear()
        try:
            fields = names["run"](call, Facts, **values)
        except (ArithmeticError, IndexError, KeyError, ValueError):
            return True, None
        return len(names["broken"]) > 0, fields


# --- values that equal a pin though their text is another -----------------------------------------------


def subexpressions(expr):
    """Those of an expression that stand on their own."""
    tree = ast.parse(expr, mode="eval").body
    left, found = [tree], []
    while left:
        node = left.pop()
        if isinstance(node, (ast.GeneratorExp, ast.Constant)):
            continue
        if isinstance(node, ast.expr) and not isinstance(node, (ast.Tuple, ast.List, ast.Dict)):
            found.append(ast.unparse(node))
        left += [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)
                 and not (isinstance(node, ast.Call) and c is node.func) and not (isinstance(node, ast.Attribute))]
    return found


def run_all(block, env):
    """Run lets, and leave out what raises."""
    for s in block:
        try:
            if isinstance(s, If):
                run_all(s.then if env[s.guard] else s.other, env)
            elif isinstance(s, Let):
                env[s.name] = eval(s.code, env)
        except (ArithmeticError, IndexError, KeyError, ValueError, NameError):
            pass


def check_equals(program, pinned, pins, points):
    """Skip where a value that is not pinned always equals a pin."""
    for s, _ in walk(program.statements):
        if isinstance(s, Let):
            s.code = compile(s.expr, "<let>", "eval")
    texts = {t for s, _ in walk(pinned.statements) if isinstance(s, Let) for t in [*subexpressions(s.expr), s.name]} - set(pins)
    others = [(compile(t, "<value>", "eval"), t) for t in sorted(texts)]
    left = {(p, t) for p in pins for _, t in others}
    met = Counter()
    for knobs in settings(program):
        for point in points:
            env = {"call": Call(point), "facts": Facts, "f32": selir.f32, **knobs}
            run_all(program.statements, env)
            for code, t in others:
                try:
                    value = eval(code, env)
                except (ArithmeticError, IndexError, KeyError, ValueError, NameError):
                    continue
                for p in pins:
                    if (p, t) in left and p in env:
                        met[p, t] += 1
                        if env[p] != value:
                            left.discard((p, t))
    if any(met[x] for x in left):
        raise Skip("a value that always equals a pin")


def settings(program):
    return [dict(zip(program.knobs, v)) for v in itertools.product(*program.knobs.values())]


# --- a solve, judged --------------------------------------------------------------------------------------


def solve(ctl, folder, text):
    (folder / "p.py").write_text(text)
    (folder / "d.yaml").write_text(DEPLOYMENT)
    done = subprocess.run([ctl, "solve", "--offline", "--json", "--why-illegal", str(folder / "d.yaml")],
                          capture_output=True, text=True, timeout=120)
    if done.returncode not in (0, 1, 2, 5):
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    if done.returncode:
        if "no assignment is legal" in done.stderr:
            raise NoneLegal("no assignment is legal, and no pins are known")
        for what in ("cannot be made invariant", "assumptions leave no input", "raises on every input"):
            if what in done.stderr:
                raise Skip(f"no solution: {what}")
        raise Skip("refused: " + re.sub(r"[^:]*: *|\d+", "", done.stderr.splitlines()[0])[:60])
    return json.loads(done.stdout)["sites"][0]


def assignments(site):
    """All, as (name in the program -> value, as JSON has it)."""
    axes = [(p["name"], p["candidates"]) for p in site["pins"]]
    axes += [(k["name"], k["values"] if k["live"] else [k["default"]]) for k in site["knobs"]]
    for values in itertools.product(*(v for _, v in axes)):
        yield dict(zip((n for n, _ in axes), values))


def key(assignment, site):
    names = [p["name"] for p in site["pins"]] + [k["name"] for k in site["knobs"] if k["live"]]
    return tuple(assignment[n] for n in names)


def is_static(program, needs):
    """Something that no input and no knob decides: what it leaves out is read in the text, and by nobody."""
    moving = set(program.knobs)
    exprs = [s.expr for s, _ in walk(program.statements)]
    for name in needs:
        if any("call." in s.expr for s, _ in walk(program.statements) if isinstance(s, Let) and s.name in closure([name], needs)):
            moving.add(name)
        elif closure([name], needs) & set(program.knobs):
            moving.add(name)
    tests = [n for e in exprs for n in ast.walk(ast.parse(e, mode="eval")) if isinstance(n, (ast.Compare, ast.BoolOp))]
    return any(not any(isinstance(m, ast.Attribute) or (isinstance(m, ast.Name) and (m.id in moving or m.id in "is"))
                       for m in ast.walk(n)) for n in tests)


def is_arm(program, pin, needs):
    """Bound in both arms, and of an Own input: then what is pinned is in one of the arms."""
    lets = [s for s, _ in walk(program.statements) if isinstance(s, Let)]
    of_own = {s.name for s in lets if "call.kv_length" in s.expr}
    return sum(s.name == pin for s in lets) > 1 and bool(closure([pin], needs) & of_own)


class Judge:
    """One program and its solve."""

    def __init__(self, program, site, counts):
        self.program, self.site, self.counts = program, site, counts
        needs = read_by(program.statements)
        self.pins = [p["name"].removeprefix("choose.") for p in site["pins"]]
        if any(p not in needs for p in self.pins):
            raise Skip("a pin that no local names")
        if is_static(program, needs):
            raise Skip("a branch that nothing decides")
        if any(is_arm(program, p, needs) for p in self.pins):
            raise Skip("a pin of one arm")
        if any(self.is_input(p) for p in site["pins"]):
            raise Skip("an input that other values read")
        domains = {n: eval(d) for n, d in program.domains.items()}
        self.points = [dict(zip(domains, v)) for v in itertools.product(*domains.values())]
        if len(self.points) > MAX_POINTS or site["assignments"]["total"] > MAX_ASSIGNMENTS:
            raise Skip("too many points or assignments")
        self.pinned = Pinned(program, self.pins)
        check_equals(program, self.pinned, self.pins, self.points)
        self.calls = [Call(p) for p in self.points]
        self.why = {key(w["assignment"], site): w["why"] for w in site["assignments"]["why_illegal"]}

    def is_input(self, pin):
        """A local by name, and an input by what it is: pinned wherever a value reads it, and not in conditions."""
        lets = [s for s, _ in walk(self.program.statements) if isinstance(s, Let)]
        read = f"call.{pin['expression']}"
        return (pin["expression"] in self.program.domains
                and sum(read in s.expr for s in lets) + sum(s.name == pin["name"].removeprefix("choose.") for s in lets) > 2)

    def attained(self):
        """The pins' values, with the knobs, at points where the program runs through."""
        whole, found = Pinned(self.program, []), set()
        for knobs in settings(self.program):
            for point, call in zip(self.points, self.calls):
                if whole.stops(call, knobs, 64)[0] or whole.is_outside(call, knobs):
                    continue
                env = {"call": Call(point), "facts": Facts, "f32": selir.f32, **knobs}
                run_all(self.program.statements, env)
                found.add((tuple(env[p] for p in self.pins), tuple(knobs.values())))
        return found

    def candidates(self):
        """Values that a pin has, and the solve does not list."""
        for pins, _ in self.attained():
            for p, v in zip(self.site["pins"], pins):
                if v not in p["candidates"]:
                    raise AssertionError(f"{p['name']} is {v} at some point, and no candidate")

    def none_legal(self):
        for pins, knobs in self.attained():
            values = {**dict(zip(self.pins, pins)), **dict(zip(self.program.knobs, knobs))}
            if (self.is_legal(values, 64) and self.is_legal(values, 64, assumes=64)
                    and not (self.pinned.unsure and self.is_legal(values, 64, self.pinned.unsure) is None)):
                raise AssertionError(f"{values} is legal, and the solve says that nothing is")

    def values(self, assignment):
        return {n.removeprefix("choose."): v for n, v in assignment.items()}

    def is_legal(self, values, bits, also=(), assumes=WIDE):
        """Judge all points; None if none is inside.  assumes: bits of what they compute for themselves."""
        fields, any_inside = {}, False
        for point, call in zip(self.points, self.calls):
            stops, got = self.pinned.stops(call, values, bits)
            if stops:
                if not self.pinned.is_outside(call, values, also, assumes):
                    return False
                continue
            if self.pinned.is_outside(call, values, also, assumes):
                continue
            any_inside = True
            own = tuple(v for n, v in point.items() if INPUTS[n][0] == "Own")
            if fields.setdefault(own, got) != got:
                raise AssertionError(f"a binding field varies at {point}, {values}")
        return any_inside or None

    def unsure_limits(self):
        """Assumes that read pins or knobs, and yet come to the same for all."""
        every = [self.values(a) for a in assignments(self.site)]
        return [f for f in self.pinned.unsure
                if all(len({self.pinned.breaks(f, c, v) for v in every}) == 1 for c in self.calls)]

    def one(self, assignment):
        values, why = self.values(assignment), self.why.get(key(assignment, self.site))
        legal = self.is_legal(values, 64)
        if (legal is False and why is None and self.is_legal(values, WIDE)
                or legal and why is not None and self.is_legal(values, 64, assumes=64) is False):
            self.counts["left out: an int beyond 64 bits"] += 1
            return
        if legal is not None and legal != (why is None):
            if any(self.is_legal(values, 64, also) == (why is None) for also in [self.unsure_limits()] if also):
                self.counts["left out: an assume of inputs alone or not"] += 1
                return
            raise AssertionError(f"{assignment} is {'legal' if legal else 'illegal'}, and the solve says: {why or 'legal'}")
        if why is not None and not self.point_stops(values, why):
            raise AssertionError(f"{assignment}: the counterexample does not stop it: {why}")
        self.counts["legal" if why is None else "illegal"] += 1

    def point_stops(self, values, why):
        """Does some point of those that the counterexample describes stop?"""
        named = {n: int(v) for n, v in re.findall(r"(\w+)=(-?\d+)", why.rpartition("(")[0])}
        return any(self.pinned.stops(c, values, 64)[0] and not self.pinned.is_outside(c, values)
                   for p, c in zip(self.points, self.calls) if all(p.get(n) == v for n, v in named.items() if n in p))


def unconditional(block):
    found = [If(s.guard, unconditional(s.then), unconditional(s.other)) if isinstance(s, If) else s
             for s in block if not isinstance(s, Cond)]
    return [s for s in found if not isinstance(s, If) or s.then or s.other]


def try_program(ctl, folder, rng, counts):
    program = Maker(rng).program()
    try:
        site = solve(ctl, folder, program.text())
    except NoneLegal:
        bare = Program(program.domains, program.knobs, used(unconditional(program.statements), {p for p, _ in program.fields.values()}),
                       program.fields)
        judge = Judge(program, solve(ctl, folder, bare.text()), counts)
        judge.none_legal()
        raise NoneLegal("programs of which nothing is legal, here too")
    judge = Judge(program, site, counts)
    judge.candidates()
    n = 0
    for a in assignments(site):
        judge.one(a)
        n += 1
    assert n == site["assignments"]["total"], (n, site["assignments"]["total"])
    for verdict in ("proved", "exhausted", "sampled"):
        counts[verdict] += site["assignments"][verdict]
    counts["pins"] += len(judge.pins)
    counts["programs with pins"] += len(judge.pins) > 0


def main():
    ctl, wanted, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40, sys.argv[3] if len(sys.argv) > 3 else "detent"
    counts, skipped, failed, tried, judged = Counter(), Counter(), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        while judged < wanted and failed < 10:
            rng = random.Random(f"{seed} {tried}")
            tried += 1
            try:
                try_program(ctl, Path(folder), rng, counts)
                judged += 1
            except Skip as why:
                skipped[str(why)] += 1
            except AssertionError as e:
                failed += 1
                print(f"FAIL: seed '{seed} {tried - 1}': {e}\n{(Path(folder) / 'p.py').read_text()}")
    print(f"{judged} programs of {tried} made, {counts['legal'] + counts['illegal']} assignments of {counts['pins']} pins: "
          f"{counts['legal']} legal, {counts['illegal']} illegal, {failed} programs differ")
    print(", ".join(f"{n} {w}" for w, n in sorted(counts.items()) if w not in ("legal", "illegal", "pins")))
    print("not judged: " + ", ".join(f"{n} {w}" for w, n in skipped.most_common()))
    if not counts["legal"] or not counts["illegal"]:
        sys.exit("no assignment of one of the two kinds")
    sys.exit(failed > 0)


main()
