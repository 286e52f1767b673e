"""Every example of doc/selir.md, through detentctl and through CPython.

    doc_selir.py TOP DETENTCTL

    ```python title=FILE [refused]   a program, kept for the commands after it
    ```console                       "$ detentctl ..." and what it prints, stdout and then stderr
    ```python expressions            EXPRESSION  # VALUE or class of error
    ```python refused                # WORDS of the refusal, then statements
"""
import re
import shlex
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

TOP, CTL = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(TOP / "programs"))
import selir  # noqa: E402

OPENING = '''from __future__ import annotations
from selir import Batch, Facts, Record, Runtime, f32, selection


class Nothing(Facts):
    pass


class Call(Batch):
    n: Runtime[range(0, 10)]
    z: Runtime[range(0, 2)]
    b: Runtime[bool]
    e: Runtime["prefill", "decode", None]


class Choice(Record):
    out: {type}


@selection(family="doc")
def choose(facts: Nothing, call: Call) -> Choice:
    n, z, b, e = call.n, call.z, call.b, call.e
{body}
'''
INPUTS = {"n": 7, "z": 0, "b": True, "e": "decode"}
warnings.simplefilter("ignore", SyntaxWarning)  # of what is refused
failures, checks = [], 0


def detentctl(arguments, folder):
    done = subprocess.run([CTL, *arguments], cwd=folder, capture_output=True, text=True, timeout=30)
    return done.stdout + done.stderr, done.returncode


def expect(what, got, want):
    global checks
    checks += 1
    if got != want:
        failures.append(f"{what}\n--- got\n{got}\n--- the document has\n{want}")


def cpython(path, facts, inputs, knobs=None):
    """FIELD = VALUE lines, or the class of the error."""
    try:
        return {k: str(v) for k, v in selir.load(path, facts)(inputs, knobs).items()}
    except Exception as e:  # noqa: BLE001 - any class is an answer
        return type(e).__name__


def value(text):
    if text in ("True", "False"):
        return text == "True"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def settings(text):
    return dict(item.split("=", 1) for item in text.split(",")) if text else {}


def option(arguments, name):
    return arguments[arguments.index(name) + 1] if name in arguments else ""


def again(arguments, folder, printed):
    """A `selir run` under CPython, request by request."""
    if arguments[:2] != ["selir", "run"] or "outside its domain" in printed:
        return
    inputs = settings(option(arguments, "--inputs"))
    facts = {k: value(v) for k, v in settings(option(arguments, "--facts")).items()}
    if "--deployment" in arguments:
        text = (folder / option(arguments, "--deployment")).read_text()
        facts = {k: value({"true": "True", "false": "False"}.get(v, v)) for k, v in re.findall(r"(\w+): ([\w.]+)", text)}
        source = (folder / arguments[2]).read_text()
        named = re.search(r"class \w+\(Facts\):\n((?:    \w+: \w+\n)+)", source).group(1)
        facts = {k: facts[k] for k in re.findall(r"(\w+):", named)}
    knobs = {k: value(v) for k, v in settings(option(arguments, "--knobs")).items()}
    requests = max(v.count("/") + 1 for v in inputs.values())
    rows = dict(re.findall(r"^(\w+) = (.*)$", printed, re.M))
    for k in range(requests):
        mine = {a: value(v.split("/")[k if "/" in v else 0]) for a, v in inputs.items()}
        theirs = cpython(folder / arguments[2], facts, mine, knobs)
        if isinstance(theirs, str):
            word = "failed: " if theirs == "Refused" else theirs
            expect(f"CPython: {' '.join(arguments)}", word in printed, True)
        else:
            ours = {a: v.split("/")[k if "/" in v else 0] for a, v in rows.items()}
            expect(f"CPython: {' '.join(arguments)}", ours, theirs)


def console(text, folder):
    for command, want in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        arguments = shlex.split(command)
        assert arguments[0] == "detentctl", command
        got, _ = detentctl(arguments[1:], folder)
        expect(f"$ {command}", got, want)
        again(arguments[1:], folder, got)


def kind(text):
    if text in ("True", "False"):
        return "bool"
    return "int" if re.fullmatch(r"-?\d+", text) else "float" if re.fullmatch(r"-?[\d.]+", text) else "str"


def expression(line, folder):
    text, want = (part.strip() for part in line.rsplit("  # ", 1))
    error = want.endswith("Error")
    path = folder / "expression.py"
    path.write_text(OPENING.format(type="int" if error else kind(want), body=f"    return Choice(out={text})"))
    inputs = ",".join(f"{k}={v}" for k, v in INPUTS.items())
    got, code = detentctl(["selir", "run", path.name, "--inputs", inputs], folder)
    if error:
        found = re.search(r"expression\.py:\d+:\d+: (\w+)", got)
        expect(line, found and found.group(1), want)
    else:
        expect(line, got, f"out = {want}\n")
    theirs = cpython(path, {}, INPUTS)
    if want != "OverflowError":  # Python's ints never overflow
        expect(f"CPython: {line}", theirs, want if error else {"out": want})


def refused(text, folder):
    words, *lines = text.splitlines()
    path = folder / "refused.py"
    path.write_text(OPENING.format(type="int", body="\n".join("    " + x for x in [*lines, "return Choice(out=n)"])))
    got, code = detentctl(["selir", "check", path.name], folder)
    expect(text, (code, bool(re.search(r"refused\.py:\d+:\d+: ", got)), words[2:] in got, "advice: " in got), (2, True, True, True))
    compile(path.read_text(), path, "exec")  # Python takes it


def main():
    text = (TOP / "doc" / "selir.md").read_text()
    blocks = re.findall(r"^```(\w+) ?(.*)\n((?:(?!```).*\n)*)```$", text, re.M)
    if text.count("\n```") != 2 * len(blocks):
        failures.append("a fenced block is not of a known form")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in ("programs/detent/attention.py", "deployments/host-small.yaml"):
            (folder / Path(source).name).write_text((TOP / source).read_text())
        for language, info, body in blocks:
            title = re.search(r"title=(\S+)", info)
            if title:
                (folder / title.group(1)).write_text(body)
                got, code = detentctl(["selir", "check", title.group(1), "--syntax"], folder)
                expect(title.group(1), code, 2 if "refused" in info else 0)
            elif language == "console":
                console(body, folder)
            elif info == "expressions":
                for line in body.splitlines():
                    expression(line, folder)
            elif info == "refused":
                refused(body, folder)
            else:
                failures.append(f"a block of no known kind: {language} {info}")
    print("\n\n".join(failures[:8]), end="\n" if failures else "")
    print(f"doc-selir: {checks} checks, {len(failures)} failures")
    return bool(failures) or checks < 100


if __name__ == "__main__":
    sys.exit(main())
