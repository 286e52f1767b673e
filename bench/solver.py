"""CPython's times for a SelIR program, beside bench/solver.

usage: solver.py PROGRAM.py NAME=FACT... < INPUTS

INPUTS: a header of quantities, then rows.  Facts and quantities that the program does not read are left out.
"""
import ast
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "programs"))
import selir  # noqa: E402


def median_us(f, rounds):
    times = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        f()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1e3


def facts_of(path, given):
    """Those of the given facts that the program's Facts record asks for."""
    classes = [n for n in ast.parse(Path(path).read_text()).body if isinstance(n, ast.ClassDef)]
    record = next(c for c in classes if any(isinstance(b, ast.Name) and b.id == "Facts" for b in c.bases))
    asked = {n.target.id for n in record.body if isinstance(n, ast.AnnAssign)}
    return {k: int(v) if v.lstrip("-").isdigit() else v for k, v in given if k in asked}


def main():
    facts = facts_of(sys.argv[1], [a.split("=", 1) for a in sys.argv[2:]])
    program = selir.load(sys.argv[1], facts)
    names, inputs = sys.stdin.readline().split(), program.domains()
    rows = [{k: int(v) for k, v in zip(names, line.split()) if k in inputs} for line in sys.stdin]
    load = median_us(lambda: selir.load(sys.argv[1], facts), 20)
    call, batch = program.function, [program.batch(**row) for row in rows]
    selir._knobs.clear()

    def each():
        for b in batch:
            call(program.facts, b)

    print(f"CPython {sys.version.split()[0]}: load {load:.1f} us; "
          f"one selection of one request {1e3 * median_us(each, 3) / len(batch):.0f} ns")


main()
