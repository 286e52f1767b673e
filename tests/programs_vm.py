"""The programs of programs/ENGINE/ under CPython and in Detent's vm (tests/selir_eval.c), side by side."""
import random
import subprocess
import sys
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
PROGRAMS = Path(__file__).resolve().parent.parent / "programs"
sys.path.insert(0, str(PROGRAMS))
import selir  # noqa: E402

failures = []


def load(engine, name, facts):
    return selir.load(PROGRAMS / engine / name, facts)


def expect(what, program, inputs, knobs=None, **fields):
    """The named fields of the choice, or refused="kind"."""
    try:
        got = program(inputs, knobs)
    except selir.Refused as e:
        got = {"refused": e.kind}
    for field, want in fields.items():
        if got.get(field) != want:
            failures.append(f"{what}: {field} is {got.get(field)!r}, not {want!r}  ({inputs})")


def expect_equal(what, got, want):
    if got != want:
        failures.append(f"{what}: {got!r}, not {want!r}")


def outcome(program, folder, inputs, knobs):
    """As selir_eval prints it."""
    try:
        values = program(inputs, knobs)
    except (selir.Refused, ArithmeticError, LookupError, ValueError) as e:
        line = [f.lineno for f in traceback.extract_tb(e.__traceback__) if Path(f.filename).parent == folder][-1]
        what = f"refused {e.kind}" if isinstance(e, selir.Refused) else f"error {type(e).__name__}"
        return f"{what} {line}"
    return "values " + " ".join(f"{k}={v}" for k, v in values.items())


def pick(rng, domain):
    """A member: an end, a small one, one at any scale, or any."""
    if not isinstance(domain, range):
        return rng.choice(list(domain))
    return domain[rng.choice((0, len(domain) - 1, rng.randrange(min(len(domain), 64)),
                              int(len(domain) ** rng.random()) - 1, rng.randrange(len(domain))))]


def fact_line(name, value):
    if isinstance(value, bool):
        return f"fact {name} bool {int(value)}"
    return f"fact {name} {'int' if isinstance(value, int) else 'str'} {value}"


def beside_vm(binary, engine, name, facts, knobs, runs, adjust=lambda inputs: None, seed="detent"):
    """Compare on `runs` random inputs; `adjust` makes most of them possible."""
    folder, program, rng = PROGRAMS / engine, load(engine, name, facts), random.Random(f"{seed}/{name}/{facts}")
    domains, asked, ours = program.domains(), [], []
    for _ in range(runs):
        inputs = {k: pick(rng, v) for k, v in domains.items()}
        adjust(inputs)
        setting = {k: rng.choice(v) for k, v in knobs.items()}
        asked.append(" ".join(f"{k}={v}" for k, v in {**inputs, **setting}.items()))
        ours.append(outcome(program, folder, inputs, setting))
    request = ""
    for path in sorted(folder.iterdir()):
        if path.suffix in (".py", ".json") and path.name != name:
            request += f"file {path.name} {path.stat().st_size}\n{path.read_text()}\n"
    text = (folder / name).read_text()
    request += "".join(fact_line(k, v) + "\n" for k, v in facts.items())
    request += f"program {len(text.encode())}\n{text}\n" + "".join(f"run {line}\n" for line in asked)
    done = subprocess.run([binary], input=request, capture_output=True, text=True)
    replies = done.stdout.splitlines()
    if not replies or replies[0] != "ok" or len(replies) != runs + 1:
        failures.append(f"{name}: {(replies or ['nothing'])[0]} {done.stderr[-500:]}")
        return
    for line, mine, theirs in zip(asked, ours, replies[1:]):
        if mine != theirs:
            failures.append(f"{name} on {line}\n  cpython {mine}\n  detent  {theirs}")
            return
    values = sum(mine.startswith("values") for mine in ours)
    if values < runs // 4:
        failures.append(f"{name}: {values} of {runs} random inputs are possible")
    print(f"{engine}/{name}: {runs} inputs alike in CPython and Detent, {runs - values} of them refused")


def main(names, compare):
    """Every test among the names, and compare with the vm that the command line names."""
    for name, test in list(names.items()):
        if name.startswith("test_"):
            test()
    if len(sys.argv) > 1:
        compare(sys.argv[1])
    for failure in failures[:20]:
        print(failure)
    print(f"{len(failures)} differences")
    return 1 if failures else 0
