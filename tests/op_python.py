"""Every op of SelIR beside CPython: the same value, bit for bit (NaN as NaN), or the same
class of error.  usage: op_python.py tests/op_cases CASES SEED"""
import math
import operator
import struct
import subprocess
import sys

FAULT = {0: None, 1: "OverflowError", 2: "ZeroDivisionError", 3: "ValueError"}


def shift_left(a, n):
    if a != 0 and n > 64:  # CPython would build the number
        raise OverflowError
    return a << n if a else 0 << min(n, 64)


def power(a, n):
    if n < 0 and a != 0:  # CPython's answer is a float: not in the language
        raise ValueError
    if abs(a) > 1 and n > 64:
        raise OverflowError
    return a ** n


def single(x):
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


add, sub, mul, lt, le, eq, ne = (operator.add, operator.sub, operator.mul, operator.lt, operator.le,
                                 operator.eq, operator.ne)
OPS = {
    "ADD": add, "SUB": sub, "MUL": mul, "FLOORDIV": operator.floordiv, "MOD": operator.mod,
    "LSHIFT": shift_left, "RSHIFT": lambda a, n: a >> n, "NEG": operator.neg, "ABS": abs,
    "BITAND": operator.and_, "BITOR": operator.or_, "BITXOR": operator.xor, "INVERT": operator.invert,
    "MIN": min, "MAX": max, "LT": lt, "LE": le, "EQ": eq, "NE": ne, "NOT": operator.not_,
    "AND": lambda a, b: a and b, "OR": lambda a, b: a or b, "INT": int, "BOOL": bool,
    "SELECT": lambda a, b, c: b if a else c, "IPOW": power, "IDIV": operator.truediv,
    "FADD": add, "FSUB": sub, "FMUL": mul, "FDIV": operator.truediv, "FFLOORDIV": operator.floordiv,
    "FMOD": operator.mod, "FNEG": operator.neg, "FABS": abs, "FMIN": min, "FMAX": max,
    "FLT": lt, "FLE": le, "FEQ": eq, "FNE": ne, "ILTF": lt, "ILEF": le, "FLTI": lt, "FLEI": le,
    "IEQF": eq, "ITOF": float, "FTOI": int, "FROUND": round, "F32": single, "FBOOL": bool,
}


def wanted(fn, args):
    try:
        v = fn(*args)
    except (OverflowError, ZeroDivisionError, ValueError) as e:
        return type(e).__name__, 0
    if isinstance(v, int) and not -2**63 <= v < 2**63:
        return "OverflowError", 0
    return None, v


def same(a, b):
    if isinstance(a, float):
        return (a != a and b != b) or struct.pack("<d", a) == struct.pack("<d", b)
    return a == b


def check(name, types, data, n):
    letter = {"i": "q", "b": "q", "f": "d", "=": "q", "*": "q"}
    args = len(types) - 1
    row = "<q" + "".join(letter[t] for t in types[:-1]) + "8x" * (3 - args) + letter[types[-1]]
    fn, bad = OPS[name], 0
    for got in struct.iter_unpack(row, data):
        operands = [bool(v) if t == "b" else v for v, t in zip(got[1:-1], types)]
        fault, value = wanted(fn, operands)
        if FAULT.get(got[0], got[0]) != fault or not same(value, got[-1]):
            bad += 1
            if bad <= 5:
                print(f"{name} {operands}: {fault or value!r} under CPython, {FAULT.get(got[0]) or got[-1]!r} here")
    return bad


def main():
    program, n, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    out = subprocess.run([program, str(n), seed], stdout=subprocess.PIPE, check=True).stdout
    head, _, data = out.partition(b"\n\n")
    at = bad = 0
    for line in head.decode().split("\n"):
        name, types = line.split()
        bad += check(name, types, data[at:at + 40 * n], n)
        at += 40 * n
    for value, text in struct.iter_unpack("<d32s", data[at:]):
        written = text[:text.index(0)].decode()
        if written != repr(value):
            bad += 1
            print(f"{value!r} is written {written}") if bad <= 20 else None
    print(f"{len(head.splitlines())} ops, {n} cases each, {bad} differences")
    sys.exit(bad != 0)


main()
