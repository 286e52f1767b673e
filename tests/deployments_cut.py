"""Each shipped deployment's pins are a least cut: by removal, and by another way to count disjoint paths.

usage: deployments_cut.py DETENTCTL TOP

Reads `detentctl solve --dump simplified` and `--dot`, which marks the pins, and shares nothing with solver/: of the pins each alone is needed, all
together leave no path from the batch to a binding point, and as many paths lead there that share no value that
could be pinned.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

from deployments import EXPECTED

FREE = 1 << 30  # capacity of what may not be pinned


class Site:
    """One site's graph: values, what each reads, and what is where."""

    def __init__(self, lines, program, claimed):
        self.reads, self.floats, self.inputs, self.points = {}, set(), {}, {}
        for line in lines:
            if node := re.match(r"%(\d+):(.) = (.*)", line):
                self.node(int(node[1]), node[2], node[3])
            elif point := re.match(r"point (\w+) = %(\d+)", line):
                self.points[point[1]] = int(point[2])
        self.sinks = {v for field, v in self.points.items() if field not in claimed}
        self.own = self.downstream({v for v, name in self.inputs.items() if f"{name}: Own[" in program})
        self.sources = {v for v, name in self.inputs.items() if f"{name}: Own[" not in program}
        self.fixed = {v for v, name in self.inputs.items() if f"{name}: Unpinnable[" in program} | self.floats | self.own

    def node(self, v, kind, text):
        body = text.partition("  ")[0]
        self.reads[v] = [int(a) for a in re.findall(r"%(\d+)", body.split(" if %")[0])]
        if kind == "f":
            self.floats.add(v)
        if body.startswith("input "):
            self.inputs[v] = body.split()[1]

    def downstream(self, start):
        """What start reaches; a value comes after all that it reads."""
        found = set(start)
        for v in sorted(self.reads):
            if any(a in found for a in self.reads[v]):
                found.add(v)
        return found

    def reached(self, removed):
        """Sinks that the batch reaches where `removed` is taken out."""
        found = self.sources - removed
        for v in sorted(self.reads):
            if v not in removed and any(a in found for a in self.reads[v]):
                found.add(v)
        return found & self.sinks

    def disjoint_paths(self, enough):
        """Paths from sources to sinks that share no pinnable value, found by augmenting, up to `enough` + 1."""
        arcs = {}  # node -> {node: capacity}; value v is (v, 0) -> (v, 1)

        def arc(a, b, capacity):
            arcs.setdefault(a, {})[b] = capacity
            arcs.setdefault(b, {}).setdefault(a, 0)

        for v, reads in self.reads.items():
            arc((v, 0), (v, 1), FREE if v in self.fixed else 1)
            for a in reads:
                arc((a, 1), (v, 0), FREE)
        for v in self.sources:
            arc("batch", (v, 0), FREE)
        for v in self.sinks:
            arc((v, 1), "end", FREE)
        count = 0
        while count <= enough:
            came, queue = {"batch": None}, ["batch"]
            while queue and "end" not in came:
                a = queue.pop()
                for b, capacity in arcs.get(a, {}).items():
                    if capacity > 0 and b not in came:
                        came[b] = a
                        queue.append(b)
            if "end" not in came:
                break
            b = "end"
            while came[b] is not None:
                arcs[came[b]][b] -= 1
                arcs[b][came[b]] += 1
                b = came[b]
            count += 1
        return count


def run(detentctl, top, name, *more):
    return subprocess.run([detentctl, "solve", "--offline", "--programs", str(top / "programs"), *more,
                           str(top / "deployments" / f"{name}.yaml")], capture_output=True, text=True, check=True).stdout


def main():
    detentctl, top = sys.argv[1], Path(sys.argv[2])
    failures = cuts = 0
    for name in EXPECTED:
        engine = name.rsplit("-", 1)[1]
        dumps = re.split(r"^# (\S+): simplified\n", run(detentctl, top, name, "--dump", "simplified"), flags=re.M)[1:]
        dots = re.split(r'^digraph "(\S+)" ', run(detentctl, top, name, "--dot"), flags=re.M)[1:]
        marked = {key: re.findall(r'^  v(\d+) \[label="PIN ', dot, flags=re.M) for key, dot in zip(dots[::2], dots[1::2])}
        solved = {f"{s['family']}/{s['site']}": s for s in json.loads(run(detentctl, top, name, "--json"))["sites"]}
        for key, text in zip(dumps[::2], dumps[1::2]):
            points = solved[key]["points"]
            source = points[0]["where"].split(":")[0]
            site = Site(text.splitlines(), (top / "programs" / engine / source).read_text(),
                        {p["field"] for p in points if p["free"]})
            pins = {int(v) for v in marked[key]}
            wrong = [f"{p} is not needed" for p in pins if not site.reached(pins - {p})]
            if len(pins) != len(solved[key]["pins"]) or site.reached(pins):
                wrong.append("the pins leave a path")
            if (paths := site.disjoint_paths(len(pins))) != len(pins):
                wrong.append(f"{paths} disjoint paths, {len(pins)} pins")
            for what in wrong:
                print(f"{name} {key}: {what}")
            failures, cuts = failures + len(wrong), cuts + 1
    print(f"{cuts} cuts checked, {failures} wrong")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
