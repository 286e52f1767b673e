"""Where languages that look like Python have gone wrong: edges of values, text and depth.

usage: selir_edges.py EVAL

Each expression of M (and K) must give CPython's value or error under Detent; texts of
odd bytes and depths must be answered as the tables say, in little time.
"""
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "programs"))
import selir  # noqa: E402

HEAD = """from selir import Batch, Facts, Record, Runtime, knob, selection
class F(Facts):
    pass
class C(Batch):
    M: Runtime[range(0, 9000)]
    K: Runtime[range(-8, 9000)]
class R(Record):
    n: int
@selection(family="f")
def choose(facts: F, call: C) -> R:
    M, K = call.M, call.K
"""
FIRST = HEAD.count("\n") + 1  # line of a body

# (expression, value of M and K, what it gives); CPython must say the same.
VALUES = [
    *[("(M - 300) // 128", m, 7, want) for m, want in ((1, -3), (128, -2), (300, 0), (301, 0))],
    *[("(M - 300) % 128", m, 7, want) for m, want in ((1, 85), (128, 84), (300, 0), (301, 1))],
    *[("-(-M // 128)", m, 7, want) for m, want in ((1, 1), (128, 1), (300, 3), (301, 3))],
    ("-M // 2", 7, 0, -4), ("-M % 2", 7, 0, 1), ("M // -2", 7, 0, -4), ("M % -2", 7, 0, -1), ("-M // -2", 7, 0, 3),
    ("-M % -2", 7, 0, -1), ("M // -3", 0, 0, 0), ("M // K", 7, 0, "ZeroDivisionError"), ("M % K", 7, 0, "ZeroDivisionError"),
    ("-9223372036854775808 // (M - 2)", 1, 0, "OverflowError"), ("-9223372036854775808 % (M - 2)", 1, 0, 0),
    ("-9223372036854775808 // -1", 1, 0, "OverflowError"), ("-9223372036854775808 % -1", 1, 0, 0),
    ("-9223372036854775808 + M", 1, 0, -(2**63) + 1), ("152064 * 8192 * 8192 * 1048576 * M", 1, 0, "OverflowError"),
    ("int(1 < M < 64)", 100, 0, 0), ("int(1 < 2 == True)", 0, 0, 0), ("int(1 < M < 1 // M)", 0, 0, 0),
    ("int(3 > M in [2])", 2, 0, 1), ("int(1 < 0 < 1 // 0)", 0, 0, 0),
    ("False or 42", 0, 0, 42), ("M and K // M", 0, 5, 0), ("M or K or 7", 0, 0, 7),
    ("M or K or 0 or 9", 0, 0, 9), ("int((M == 0) or (K // M > 8))", 0, 5, 1),
    ("-M ** 2", 2, 0, -4), ("2 ** 3 ** 2", 0, 0, 512), ("int(not M == 1)", 0, 0, 1), ("-M % 4", 7, 0, 1), ("1 if M else 2 or 3", 0, 0, 2),
    *[(f"int(K in range({r}))", 0, k, want) for r, k, want in (
        ("-7, 99, 3", -7, 1), ("-7, 99, 3", -5, 0), ("-7, 99, 3", 2, 1), ("-7, 99, 3", 3, 0), ("-7, 99, 3", 98, 1),
        ("8, -8, -5", -7, 1), ("8, -8, -5", -8, 0), ("8, -8, -5", 8, 1), ("8, -8, -5", 9, 0))],
    ("8 >> M + 1", 1, 0, 2), ("int(1 | M == 2)", 2, 0, 0), ("1_000 + M", 0, 0, 1000),
]

# (text, whether it is accepted, what a refusal says)
LINES = HEAD.splitlines() + ["    if M > 4:", "        M = 2", "    return R(n=M)", ""]
UNIX = "\n".join(LINES)
TEXTS = [
    (UNIX, True, ""), ("\r\n".join(LINES), True, ""), ("\r".join(LINES), True, ""), ("\ufeff" + UNIX, True, ""),
    ("\r\n\r\n" + "\r\n".join(LINES), True, ""), ("\f" + UNIX, True, ""), (UNIX.rstrip("\n"), True, ""),
    ("\ufeff\ufeff" + UNIX, False, "a character outside ASCII in a name"), (UNIX + "\0", False, "the file has a zero byte"),
    (UNIX + "\\\n", False, "the file ends after a line continuation"), ("", False, "the program has no selection"),
    (UNIX.replace("        M = 2", "\tM = 2\n        M = 3"), False, "inconsistent use of tabs and spaces in indentation"),
    (HEAD + "    if M:\n\t M = 1\n\t if K:\n\t\t M = 2\n    return R(n=M)\n", False, "inconsistent use of tabs"),
    (HEAD.replace("    ", "\t ") + "\t if M:\n\t\t M = 1\n\t return R(n=M)\n", True, ""),
    (UNIX.replace("M = 2", "M = 0777"), False, "an int that starts with 0"),
    (UNIX.replace("M = 2", "M = '%d' % 3"), False, "'%' does not take str and int"),
    (UNIX.replace("M = 2", "s = 2").replace("n=M", "n=s"), True, ""),
]


def deep(open_, n, close, inner="1"):
    return HEAD + "    M = " + open_ * n + inner + close * n + "\n    return R(n=M)\n"


def nested_if(n):
    return HEAD + "".join("    " * (i + 1) + "if M:\n" for i in range(n)) + "    " * (n + 1) + "M = 1\n    return R(n=M)\n"


DEEP = [
    *[(deep("(", n, ")"), n < 50, "" if n < 50 else "nested deeper than 60 levels" if n < 100 else "more than 100 open brackets") for n in (20, 70, 200, 201, 5000, 1000000 // 2)],
    (deep("[", 100000, ""), False, "more than 100 open brackets"), (nested_if(30), True, ""), (nested_if(70), False, "nested deeper than 60 levels"),
    (nested_if(101), False, "more than 100 levels of indentation"), (HEAD + "    M = " + "-" * 100000 + "1\n    return R(n=M)\n", False, "nested deeper than"),
    (HEAD + "    M = M" + " + 1" * 100000 + "\n    return R(n=M)\n", False, "an expression deeper than 200"),
    (HEAD + "    M = 1\n" * 150000 + "    return R(n=M)\n", False, "larger than 1048576 bytes"),
    (HEAD + "    " + "M=1;" * 80000 + "\n    return R(n=M)\n", False, "more than 262144 tokens in one file"),
    (HEAD + "    for i in range(1 << 19): M = i\n    return R(n=M)\n", False, "loops unroll to more than 262144 values"),
    (HEAD + "    for i in range(1 << 9):\n        for j in range(1 << 10): K = j\n    return R(n=M)\n", False, "loops unroll to more than 262144 values"),
    (HEAD + "    for i in range(M * K * 8192): K = i\n    return R(n=M)\n", False, "is not proven to have at most 262144 values"),
    *[(HEAD + f"    t, u = (1, M), (1, K)\n    for i in range(100000):\n        t = (t,)\n        u = (u,)\n    a = {what}\n    return R(n=M)\n",
       False, "evaluation nested deeper than 1500") for what in ("t == u", "t < u", "t if M else u", "{t: 1}", "t in (u, u)")],
    *[(HEAD + f"    t, u = (1, 2), (1, 2)\n    for i in range(40):\n        t = (t, t)\n        u = (u, u)\n    a = {what}\n    return R(n=M)\n",
       False, "evaluation steps") for what in ("t == u", "t < u", "{t: 1}", "knob('k', t, default=1)", "(t, 1) if M else (u, 2)")],
    (HEAD + "    s = 'abcdefgh'\n    for i in range(40): s = s + s\n    return R(n=M)\n", False, "a string longer than 4096 bytes"),
    (HEAD + "    s = '" + "a" * 5000 + "'\n    return R(n=M)\n", False, "a string longer than 4096 bytes"),
    (HEAD + "    '" + "a" * 5000 + "'\n    return R(n=M)\n", True, ""),
    (HEAD + "    s, t = '" + "a" * 4000 + "', 'b'\n    for i in range(200000): a = s + t\n    return R(n=M)\n", False, "evaluation steps"),
    ("".join(f"def f{i}(v):\n    return f{i + 1}(v) + f{i + 1}(v)\n" for i in range(40)) + "def f40(v):\n    return v\n" + HEAD
     + "    return R(n=f0(M))\n", False, "evaluation steps"),
    ("".join(f"def f{i}(v):\n    return f{i + 1}(v)\n" for i in range(70)) + "def f70(v):\n    return v\n" + HEAD + "    return R(n=f0(M))\n", False,
     "more than 64 calls inside each other"),
]
SECONDS = 10  # for one text; a busy machine, sanitizers


def reference(expression, m, k):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(HEAD + f"    return R(n={expression})\n")
        try:
            return selir.load(path, {}, int_bits=64)({"M": m, "K": k})["n"]
        except ArithmeticError as e:
            return type(e).__name__


def ask(binary, requests):
    done = subprocess.run([binary], input=b"".join(requests), capture_output=True)
    return done.stdout.decode().splitlines() + [f"died: {done.returncode} {done.stderr[-500:]}"]


def request(text):
    data = text.encode()
    return b"program %d\n%s\n" % (len(data), data)


def check_values(binary):
    bad = 0
    for expression, m, k, want in VALUES:
        theirs = reference(expression, m, k)
        ours = ask(binary, [request(HEAD + f"    return R(n={expression})\n"), b"run M=%d K=%d\n" % (m, k)])
        said = ours[0] if ours[0].startswith("reject 1005") else ours[1]
        good = f"values n={want}" == said if isinstance(want, int) else f"{want}" in said and str(FIRST) in said
        if not good or theirs != want:
            bad += 1
            print(f"{expression} of M={m} K={k}: want {want}, CPython {theirs}, detent {ours[:2]}")
    return bad


def check_texts(binary):
    bad = 0
    for text, accepted, what in TEXTS + DEEP:
        start = time.monotonic()
        said = ask(binary, [request(text)])[0]
        if said.startswith("ok") != accepted or what not in said or time.monotonic() - start > SECONDS:
            bad += 1
            print(f"{text[-60:]!r} ({time.monotonic() - start:.1f} s): want {what or 'ok'}, got {said[:300]}")
    return bad


def check_unset(binary):
    """A local that one path leaves unset: an error there, its value elsewhere."""
    text = HEAD + "    if M > 4:\n        s = 2\n    return R(n=s)\n"
    said = ask(binary, [request(text), b"run M=8 K=0\n", b"run M=1 K=0\n", b"run M=8 K=0\n"])[:4]
    want = ["ok", "values n=2", f"error UnboundLocalError {FIRST + 2}", "values n=2"]
    if said != want:
        print(f"unset local: {said}")
    return said != want


SMALL = "m, k = min(M, 9), max(min(K, 9), 0)\n"  # for ranges that are unrolled
# Bodies that give n, for all M of 0..8 and K of 0 and 3.
BODIES = [
    "n = 0\nfor i in (1, 2, 3, 4):\n    if i == M:\n        continue\n    n = n * 10 + i\n",
    "n = 0\nfor i in (1, 2, 3, 4):\n    if i == M:\n        break\n    n = n * 10 + i\n",
    "n = 0\nfor i in range(M):\n    if i & 1:\n        continue\n    if i > 4 and K:\n        break\n    n = n * 10 + i\n",
    "n = 1\nif M > 4:\n    n = 2\n    return R(n=9)\nelse:\n    n = 3\n",
    "n = 1\nif M > 4:\n    n = 2\nelse:\n    n = 3\n    return R(n=9)\n",
    "n = 1\nfor i in (3, 5, 7):\n    if i > M:\n        return R(n=n + i)\n    n += i if K else 1\n",
    "if M == 0:\n    return R(n=-1)\nn = 12 // M\n",
    "n = max(((1, 7), (1, 8), (M, 9), (K, 5)), key=lambda p: p[0])[1]\n",
    "n = min(((3, 7), (3, 8), (M, 9), (K, 5)), key=lambda p: p[0])[1]\n",
    "n = max((M, 7), (M, 8), (K, 5), key=lambda p: p[0])[1]\n",
    "n = min(M, K, 3, key=lambda v: v & 1)\n",
    "n = max(5, M, K, 4, key=lambda v: v // 3) * 10 + min(M, 4, 5, key=lambda v: (v % 3, -v))\n",
    SMALL + "n = len(range(m)) * 100 + len(range(k, m)) * 10 + len(range(m, k, -3)) + len(range(m, 9, 4)) * 1000\n",
    SMALL + "n = len(range(9223372036854774000 + k, 9223372036854775000 - m, 300)) * 10 + len(range(-9223372036854775808 + m, k + -9223372036854775808))\n",
    SMALL + "n = 0\nfor i, v in enumerate(range(k, m), start=2):\n    if v == 6:\n        continue\n    n = n * 10 + i\n",
    SMALL + "n = 0\nfor a, b in zip(range(m), (3, 1, 4, 1)):\n    if b == K:\n        break\n    n = n * 10 + a * b\n",
    SMALL + "n = 0\nfor a, (b, c), d in zip(range(m, -1, -2), enumerate(range(k)), (7, 8, 9)):\n    n = n * 100 + a + b * c + d\n",
    SMALL + "n = sum(a * b for a, b in zip(range(m), range(k, m))) * 10 + int(any(i == v for i, v in enumerate(range(k, m))))\n",
    SMALL + "n = max(enumerate(range(m, k, -1)), default=(7, M), key=lambda p: p[0] ^ p[1])[1]\n",
    SMALL + "n = 1\nfor i, v in enumerate(range(M & 3)):\n    if -(v / max(k, 1)):\n        n = n * 3 + int(7.5 // float(i))\n",
    SMALL + "n = (1 if range(k, m) else 2) + (10 if not range(m, k, -2) else 20)\n",
    "n = 0\nfor k in sorted((M, 3, K, 2, 8), key=lambda k: k & 1):\n    n = n * 10 + k\n",
    "n = int(all(12 // i > K for i in (M, 2, 3) if i != 0)) * 10 + int(any(i == M for i in (1, 2) if K))\n",
    "n = (10, 20, 30)[M - 4 if 1 <= M <= 6 else 0]\n",
]


def check_bodies(binary):
    bad = 0
    for body in BODIES:
        text = HEAD + "".join(f"    {line}\n" for line in (body + "return R(n=n)\n").splitlines())
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "program.py"
            path.write_text(text)
            program = selir.load(path, {}, int_bits=64)
        inputs = [(m, k) for m in range(9) for k in (0, 3)]
        want = [f"values n={program({'M': m, 'K': k})['n']}" for m, k in inputs]
        said = ask(binary, [request(text), *[b"run M=%d K=%d\n" % i for i in inputs]])
        if said[:-1] != ["ok", *want]:
            bad += 1
            print(text, "".join(f"{i}: CPython {w}, detent {s}\n" for i, w, s in zip(inputs, want, said[1:]) if w != s), said[0])
    return bad


def main():
    bad = check_values(sys.argv[1]) + check_bodies(sys.argv[1]) + check_texts(sys.argv[1]) + check_unset(sys.argv[1])
    print(f"{len(VALUES)} expressions, {len(BODIES)} bodies, {len(TEXTS) + len(DEEP)} texts, {bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
