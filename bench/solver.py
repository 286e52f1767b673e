"""CPython's times for a SelIR program, beside bench/solver.

usage: solver.py PROGRAM.py NAME=FACT... < INPUTS     (a header of input names, then rows)
"""
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


def main():
    facts = {k: int(v) if v.lstrip("-").isdigit() else v for k, v in (a.split("=", 1) for a in sys.argv[2:])}
    program = selir.load(sys.argv[1], facts)
    names = sys.stdin.readline().split()
    rows = [dict(zip(names, map(int, line.split()))) for line in sys.stdin]
    load = median_us(lambda: selir.load(sys.argv[1], facts), 20)
    call, batch = program.function, [program.batch(**row) for row in rows]
    selir._knobs.clear()

    def each():
        for b in batch:
            call(program.facts, b)

    print(f"CPython {sys.version.split()[0]}: load {load:.1f} us; "
          f"one selection of one request {1e3 * median_us(each, 9) / len(batch):.0f} ns")


main()
