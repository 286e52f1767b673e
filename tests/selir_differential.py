"""Random SelIR programs: CPython's values, error classes and error lines beside Detent's.

usage: selir_differential.py EVAL [PROGRAMS [SEED]]

EVAL is the binary of tests/selir_eval.c; it runs each program with all passes on, all
off, and each alone off.  An int beyond 64 bits may be a located OverflowError or, if
the value does not need it, CPython's own outcome; no other difference passes.  At least
99% of the programs must be accepted, and 80% of their operands depend on inputs.
"""
import ast
import random
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
warnings.simplefilter("ignore", SyntaxWarning)  # of random programs
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))
import selir  # noqa: E402
from selir_programs import FILES  # noqa: E402
from selir_statements import ProgramMaker  # noqa: E402

RUNS = 8  # inputs tried per program
WIDE = 4096  # bits: as good as Python's own ints, and bounded in time
EVAL_ERROR = "reject 1005"  # DT_EEVAL: an error that inputs cannot avoid


# --- running them under CPython ------------------------------------------------------


def line_of(error, folder):
    """The line of the program's innermost frame; of another file of it, that one's."""
    return [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(folder)][-1]


def shown(v):
    if not isinstance(v, float):
        return str(v)
    return "7ff8000000000000" if v != v else struct.pack(">d", v).hex()


def run(program, inputs, knobs, folder, again=False):
    try:
        values = program(inputs, knobs)
    except selir.Refused as e:
        return f"refused {e.kind} {line_of(e, folder)}"
    except NameError as e:
        if again:
            return f"error {type(e).__name__} {line_of(e, folder)}"
        # CPython 3.11 runs two instructions as one in hot code, and then gives the first one's line for an
        # error of the second; not while it traces.
        sys.settrace(lambda *_: None)
        try:
            return run(program, inputs, knobs, folder, True)
        finally:
            sys.settrace(None)
    except (ArithmeticError, LookupError, ValueError) as e:
        return f"error {type(e).__name__} {line_of(e, folder)}"
    return "values " + " ".join(f"{k}={shown(v)}" for k, v in values.items())


def outcomes(exact, wide, inputs, knobs, folder):
    """What may be answered: the outcome with ints of 64 bits; after an overflow, CPython's own too."""
    first = run(exact, inputs, knobs, folder)
    if not first.startswith("error OverflowError"):
        return [first]
    return [first, run(wide, inputs, knobs, folder)]


# --- how much depends on inputs ---------------------------------------------------------


def depends(node, names):
    """Whether an expression reads an input, a knob, or a name that depends on one."""
    for n in ast.walk(node):
        if isinstance(n, ast.Name) and (n.id in names or n.id in ("call", "knob")):
            return True
    return False


def targets(node):
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def count_operands(tree):
    """(operands, those that depend on inputs) of operators, comparisons and conditions in functions."""
    total = found = 0
    for function in (n for n in tree.body if isinstance(n, ast.FunctionDef)):
        names = {a.arg for a in function.args.args if a.arg not in ("facts", "call")}
        for _ in range(3):  # through loops
            for n in ast.walk(function):
                value = getattr(n, "value", None) or getattr(n, "iter", None)
                if isinstance(n, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For)) and depends(value, names):
                    names |= set(targets(n if not isinstance(n, ast.For) else n.target))
        for n in ast.walk(function):
            operands = {ast.BinOp: lambda n: [n.left, n.right], ast.Compare: lambda n: [n.left, *n.comparators],
                        ast.BoolOp: lambda n: n.values, ast.IfExp: lambda n: [n.test, n.body, n.orelse],
                        ast.UnaryOp: lambda n: [n.operand], ast.If: lambda n: [n.test],
                        ast.AugAssign: lambda n: [n.target, n.value]}.get(type(n), lambda n: [])(n)
            total += len(operands)
            found += sum(depends(o, names) for o in operands)
    return total, found


# --- comparing ----------------------------------------------------------------------------


class Case:
    def __init__(self, seed, number, folder):
        rng = random.Random(f"{seed}/{number}")
        maker = ProgramMaker(rng)
        self.text, self.used = maker.program(), maker.used
        self.operands = count_operands(ast.parse(self.text))
        (folder / "program.py").write_text(self.text)
        exact, wide = (selir.load(folder / "program.py", {}, int_bits=bits) for bits in (64, WIDE))
        domains = {k: list(v) for k, v in exact.domains().items()}
        self.lines, self.want = [], []
        for _ in range(RUNS):
            inputs = {k: rng.choice(v) for k, v in domains.items()}
            knobs = {"k": rng.choice((1, 2, 5)), "f": rng.choice((0.8, -0.0, 1.5))}
            self.lines.append(" ".join(f"{k}={v}" for k, v in {**inputs, **knobs}.items()))
            self.want.append(outcomes(exact, wide, inputs, knobs, str(folder)))

    def request(self):
        files = "".join(f"file {name} {len(text.encode())}\n{text}\n" for name, text in FILES.items())
        return f"{files}program {len(self.text.encode())}\n{self.text}\n" + "".join(f"run {line}\n" for line in self.lines)

    def judge(self, status, ours):
        """"" if all is well, "refused", or what differs."""
        if status.startswith(EVAL_ERROR):
            return "" if all(w[0][0] != "v" for w in self.want) else status
        if status.startswith("reject"):
            return "refused"
        for line, got, want in zip(self.lines, ours, self.want):
            if got not in want:
                return f"{status}\ninputs   {line}\n detent  {got}\n cpython {' or '.join(want)}"
        return "" if status == "ok" else status


def report(cases, refused, why, failed):
    used = Counter(name for c in cases for name in c.used)
    operands, found = (sum(c.operands[i] for c in cases) for i in (0, 1))
    errors = sum(w[0][0] != "v" for c in cases for w in c.want)
    for name in sorted(used):
        print(f"  {used[name]:6}  {name}")
    for reason in sorted(why, key=why.get, reverse=True)[:8]:
        print(f"refused {why[reason]}: {reason}")
    print(f"{len(cases)} programs ({len({c.text for c in cases})} distinct), {len(used)} constructs, "
          f"{(len(cases) - refused) * RUNS} runs ({errors} ended in an error), "
          f"{100 * (1 - refused / len(cases)):.2f}% accepted, "
          f"{100 * found / operands:.1f}% of {operands} operands depend on inputs, {failed} programs differ")
    return failed > 0 or refused * 100 > len(cases) or found * 100 < operands * 80


def main():
    binary, count, seed = sys.argv[1], int((sys.argv[2:] or ["400"])[0]), (sys.argv[3:] or ["detent"])[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        cases = [Case(seed, i, folder) for i in range(count)]
    done = subprocess.run([binary], input="".join(c.request() for c in cases), capture_output=True, text=True)
    replies = iter(done.stdout.splitlines())
    refused, failed, why = 0, 0, Counter()
    for case in cases:
        status = next(replies, f"died: {done.returncode} {done.stderr[-2000:]}")
        verdict = case.judge(status, [next(replies, "died") for _ in case.lines])
        if verdict == "refused":
            refused += 1
            why[status.split("\t")[0].split(": ", 1)[-1]] += 1
        elif verdict:
            failed += 1
            if failed <= 3:
                print(case.text, verdict, sep="\n")
    return report(cases, refused, why, failed)


if __name__ == "__main__":
    sys.exit(main())
