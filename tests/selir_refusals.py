"""Every construct of Python 3.11's grammar: accepted, or refused by name.

usage: selir_refusals.py EVAL

The tables go through CPython's node classes one by one; a class that is in none of
them fails the test.  A refusal must name the construct at the right place, with the
line, a caret and advice.
"""
import ast
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")  # of the snippets
HEAD = """import selir
from selir import Batch, Facts, Record, Runtime, require, selection
class M(Facts):
    pass
class C(Batch):
    x: Runtime[range(1, 9)]
class R(Record):
    n: int
"""
CHOOSE = """@selection(family="f")
def choose(facts: M, call: C) -> R:
"""

# Node class -> a body that has it and is accepted.
ACCEPTED = {
    "Add": "n = call.x + 1", "Sub": "n = call.x - 1", "Mult": "n = call.x * 2", "Div": "n = int(call.x / 2)",
    "Mod": "n = call.x % 2", "Pow": "n = call.x ** 2", "LShift": "n = call.x << 1", "RShift": "n = call.x >> 1",
    "BitOr": "n = call.x | 1", "BitXor": "n = call.x ^ 1", "BitAnd": "n = call.x & 1", "FloorDiv": "n = call.x // 2",
    "Invert": "n = ~call.x", "Not": "n = int(not call.x)", "UAdd": "n = +call.x", "USub": "n = -call.x",
    "And": "n = call.x and 2", "Or": "n = call.x or 2", "Eq": "n = int(call.x == 2)", "NotEq": "n = int(call.x != 2)",
    "Lt": "n = int(call.x < 2)", "LtE": "n = int(call.x <= 2)", "Gt": "n = int(call.x > 2)", "GtE": "n = int(call.x >= 2)",
    "Is": "n = int(None is None)", "IsNot": "n = int(call.x is not None)", "In": "n = int(call.x in (1, 2))",
    "NotIn": "n = int(call.x not in [1, 2])", "Load": "n = call.x", "Store": "n = 1",
    "FunctionDef": "n = twice(call.x)", "ClassDef": "n = R(n=call.x).n", "Return": "if call.x > 3:\n        return R(n=1)\n    n = 2",
    "Assign": "n = m = 1", "AugAssign": "n = 1\n    n += call.x", "AnnAssign": "n: int = 1",
    "For": "n = 0\n    for i in range(call.x):\n        n += i", "If": "n = 1\n    if call.x > 2:\n        n = 2\n    elif call.x:\n        n = 3",
    "Import": "n = 1", "ImportFrom": "n = 1", "Expr": "require(call.x, 'why')\n    n = 1", "Pass": "pass\n    n = 1",
    "Break": "n = 1\n    for i in (1, 2):\n        break", "Continue": "n = 1\n    for i in (1, 2):\n        continue",
    "BoolOp": "n = call.x and 1", "BinOp": "n = 1 + 2", "UnaryOp": "n = -1", "IfExp": "n = 1 if call.x else 2",
    "Dict": "n = {1: 2}[1]", "ListComp": "n = len([i for i in (1, 2)])", "DictComp": "n = len({i: i for i in (1, 2)})",
    "GeneratorExp": "n = sum(i for i in (1, 2))", "Lambda": "n = min((1, 2), key=lambda k: -k)", "Compare": "n = int(1 < call.x < 3)",
    "Call": "n = abs(1)", "Constant": "n = 1_000", "Attribute": "n = call.x", "Subscript": "n = (1, 2)[0]", "Name": "n = call.x",
    "List": "n = [1][0]", "Tuple": "n, m = 1, 2", "comprehension": "n = sum(i for i in (1, 2) if i < call.x)",
    "arguments": "n = twice(1)", "arg": "n = twice(1)", "keyword": "n = twice(v=1)", "alias": "n = 1", "Module": "n = 1",
}

# Node class -> bodies that have it: (body, line after CHOOSE's, column, what is said).
REFUSED = {
    "AsyncFunctionDef": [("async def f(): pass", 1, 5, "async is")],
    "AsyncFor": [("async for i in (1, 2): pass", 1, 5, "async is")],
    "AsyncWith": [("async with call: pass", 1, 5, "async is")],
    "FunctionDef": [("def f(): pass", 1, 5, "a def inside a function is")],
    "ClassDef": [("class K: pass", 1, 5, "a class inside a function or class is")],
    "Delete": [("del call", 1, 5, "del is")],
    "Del": [("del call", 1, 5, "del is")],
    "While": [("while True: pass", 1, 5, "a while loop is")],
    "For": [("for i in (1,): pass\n    else: pass", 2, 5, "else after a loop is")],
    "With": [("with call: pass", 1, 5, "with is")],
    "withitem": [("with call as c: pass", 1, 5, "with is")],
    "Match": [("match call.x:\n        case 1: pass", 1, 5, "match is"), ("match (1, 2):\n        case _: pass", 1, 5, "match is"),
              ("match [1]:\n        case _: pass", 1, 5, "match is"), ("match -call.x:\n        case _: pass", 1, 5, "match is"),
              ("match not call:\n        case _: pass", 1, 5, "match is")],
    "Raise": [("raise ValueError", 1, 5, "raise is")],
    "Try": [("try: pass\n    except ValueError: pass", 1, 5, "try is")],
    "TryStar": [("try: pass\n    except* ValueError: pass", 1, 5, "try is")],
    "ExceptHandler": [("try: pass\n    except ValueError as e: pass", 1, 5, "try is")],
    "Assert": [("assert call.x", 1, 5, "assert is")],
    "Import": [("import os", 1, 5, "an import inside a function is")],
    "ImportFrom": [("from os import path", 1, 5, "an import inside a function is")],
    "Global": [("global g", 1, 5, "global is")],
    "Nonlocal": [("nonlocal call", 1, 5, "nonlocal is")],
    "Expr": [("call.x", 1, 5, "an expression whose value is not used is"), ("1 + 2; pass", 1, 5, "an expression whose value is not used is")],
    "NamedExpr": [("n = (m := 1)", 1, 12, "':=' is"), ("n = abs(m := 1)", 1, 15, "':=' is"), ("if (n := call.x): pass", 1, 11, "':=' is")],
    "Lambda": [("f = lambda k: k", 1, 9, "a lambda other than key="), ("n = min((1, 2), default=lambda k: k)", 1, 29, "a lambda other than key="),
               ("n = abs(lambda: 1)", 1, 13, "a lambda other than key=")],
    "MatMult": [("n = call @ call", 1, 14, "'@' is"), ("n = 1\n    n @= 2", 2, 7, "'@' is")],
    "Set": [("n = {1, 2}", 1, 9, "a set is"), ("n = {*(1, 2)}", 1, 10, "a starred expression is")],
    "SetComp": [("n = {i for i in (1, 2)}", 1, 9, "a set comprehension is")],
    "GeneratorExp": [("n = (i for i in (1, 2))", 1, 9, "a generator expression by itself is")],
    "comprehension": [("n = [i async for i in (1, 2)]", 1, 12, "async is")],
    "Await": [("n = await call", 1, 9, "await is")],
    "Yield": [("n = yield 1", 1, 9, "yield is"), ("yield", 1, 5, "yield is")],
    "YieldFrom": [("yield from (1, 2)", 1, 5, "yield is")],
    "FormattedValue": [("n = f'{call.x}'", 1, 9, "an f-string is")],
    "JoinedStr": [("n = f'a'", 1, 9, "an f-string is"), ("n = 'a' F'b'", 1, 13, "an f-string is")],
    "Starred": [("n = [*(1, 2)]", 1, 10, "a starred expression is"), ("n = max(*(1, 2))", 1, 13, "a starred argument is"),
                ("a, *b = 1, 2", 1, 8, "a starred expression is"), ("*a, b = 1, 2", 1, 5, "a starred expression is"),
                ("n = *(1, 2), 3", 1, 9, "a starred expression is"), ("for *a, b in (): pass", 1, 9, "a starred expression is")],
    "keyword": [("n = R(**call)", 1, 11, "a starred argument is")],
    "Dict": [("n = {**call}", 1, 10, "a starred expression is")],
    "Slice": [("n = (1, 2)[0:1]", 1, 17, "a slice is"), ("n = (1, 2)[:]", 1, 16, "a slice is"), ("n = (1, 2)[::2]", 1, 16, "a slice is")],
    "Subscript": [("call[0] = 1", 1, 5, "assignment to an element is"), ("call[0] += 1", 1, 5, "assignment to an element is")],
    "Attribute": [("call.x = 1", 1, 5, "assignment to a field is"), ("call.x: int = 1", 1, 5, "assignment to a field is"),
                  ("for call.x in (1,): pass", 1, 9, "assignment to a field is")],
    "Constant": [("n = ...", 1, 9, "'...' is"), ("n = b'a'", 1, 9, "a bytes literal is"), ("n = 2j", 1, 9, "a complex number is")],
    "Is": [("n = call.x is 1", 1, 9, "'is' with other than None is")],
    "AugAssign": [("n = [1]\n    n += [2]", 2, 5, "'+=' on a list, which changes it in place, is")],
    "Name": [("n = print", 1, 9, "'print' is"), ("n = isinstance(1, int)", 1, 9, "'isinstance' is"), ("n = list(())", 1, 9, "'list' is")],
    "Call": [("n = sum((1.5, 2.5))", 1, 9, "sum() of floats, whose result differs between Pythons, is"),
             ("n = round(1.25, 1)", 1, 9, "round() with digits, whose result differs between Pythons, is"),
             ("n = min((1, 2), key=abs)", 1, 25, "a key other than a lambda is")],
}

# The same at module level, after HEAD: (text, line after HEAD's, column, what is said).
MODULE = {
    "arguments": [("def f(*a): pass", 1, 7, "a starred parameter is"), ("def f(**a): pass", 1, 7, "a starred parameter is"),
                  ("def f(*, a): pass", 1, 7, "a starred parameter is"), ("def f(a, /): pass", 1, 10, "'/' among parameters is")],
    "FunctionDef": [("@M\ndef f(): pass", 1, 2, "this decorator is"), ("class K(Record):\n    def f(self): pass", 2, 5, "a method is")],
    "ClassDef": [("class K: pass", 1, 7, "a class that is no Facts, Batch or Record is"), ("@M\nclass K(Record): pass", 1, 1, "this decorator is"),
                 ("class K(Record, metaclass=M): pass", 1, 17, "a class that is no Facts, Batch or Record is"),
                 ("class K(Record):\n    n: int = 1", 2, 12, "a default value of a field is"),
                 ("class K(Record):\n    n = 1", 2, 5, "this statement in a class is"),
                 ("class K(Record):\n    class L: pass", 2, 5, "a class inside a function or class is")],
    "alias": [("from selir import *", 1, 19, "import * is")],
    "ImportFrom": [("from . import a", 1, 6, "a relative import is"), ("from .a import b", 1, 6, "a relative import is")],
    "If": [("if True: pass", 1, 1, "this statement at module level is")],
    "For": [("for i in (1,): pass", 1, 1, "this statement at module level is")],
    "Expr": [("abs(1)", 1, 1, "this statement at module level is")],
    "AugAssign": [("A = 1\nA += 1", 2, 1, "this statement at module level is")],
}
PATTERNS = {"MatchValue": "1", "MatchSingleton": "None", "MatchSequence": "[a, b]", "MatchMapping": "{1: a}", "MatchClass": "C()",
            "MatchStar": "[*a]", "MatchAs": "a", "MatchOr": "1 | 2", "match_case": "_"}
for pattern, text in PATTERNS.items():
    REFUSED[pattern] = [(f"match call.x:\n        case {text}: pass", 1, 5, "match is")]

# No text that a file holds gives these: groups of classes, other modes of parsing, and what 3.11 keeps for old callers.
NOT_WRITTEN = set("""AST mod stmt expr expr_context boolop operator unaryop cmpop excepthandler pattern type_ignore slice
    Interactive Expression FunctionType TypeIgnore Index ExtSlice Suite AugLoad AugStore Param Num Str Bytes NameConstant Ellipsis""".split())


def program(body):
    return HEAD + "def twice(v: int = 1) -> int:\n    return 2 * v\n" + CHOOSE + f"    {body}\n    return R(n=n)\n"


def cases():
    """(node class, text, None or (line, column, message))"""
    for name, body in ACCEPTED.items():
        yield name, program(body), None
    first = program("").count("\n") - 1
    for name, rows in REFUSED.items():
        for body, line, column, what in rows:
            yield name, program(body), (first - 1 + line, column, what)
    first = HEAD.count("\n")
    for name, rows in MODULE.items():
        for text, line, column, what in rows:
            yield name, HEAD + text + "\n" + CHOOSE + "    return R(n=1)\n", (first + line, column, what)


def has(text, name):
    return any(type(n).__name__ == name for n in ast.walk(ast.parse(text)))


def complaint(name, text, want, status):
    """What is wrong with an answer, or ""."""
    if not has(text, name):
        return f"the snippet has no {name}"
    if want is None:
        return "" if status == "ok" else status
    line, column, what = want
    place = f"reject 1000 program.py:{line}:{column}: {what}"
    shown = status.split("\t")
    if not status.startswith(place) or "not in the language here" not in shown[0]:
        return f"want {place}\ngot  {status}"
    source = text.splitlines()[line - 1]
    if len(shown) != 4 or shown[1] != "    " + source or shown[2] != "    " + " " * (column - 1) + "^":
        return f"no line and caret: {shown}"
    return "" if shown[3].startswith("advice: ") and len(shown[3]) > 12 else f"no advice: {shown}"


def main():
    every = list(cases())
    request = "".join(f"program {len(text.encode())}\n{text}\n" for _, text, _ in every)
    done = subprocess.run([sys.argv[1]], input=request, capture_output=True, text=True)
    replies = done.stdout.splitlines() + ["died"] * len(every)
    bad = 0
    for (name, text, want), status in zip(every, replies):
        why = complaint(name, text, want, status)
        if why:
            bad += 1
            print(f"{name}: {text.splitlines()[-3:]}\n{why}")
    known = set(ACCEPTED) | set(REFUSED) | set(MODULE) | NOT_WRITTEN
    classes = {n for n, c in vars(ast).items() if isinstance(c, type) and issubclass(c, ast.AST)}
    missing = sorted(classes - known) if sys.version_info[:2] == (3, 11) else []
    print(f"{len(every)} snippets, {len(classes)} node classes, {bad} wrong, not judged: {' '.join(missing) or 'none'}")
    return bad > 0 or bool(missing)


if __name__ == "__main__":
    sys.exit(main())
