"""SelIR under CPython: what a program imports, and how to run it without Detent.

    choose = load("programs/detent/attention.py", {"head_dim": 128, ...})
    choose.domains()                       # {"requests": range(1, 65), ...}
    choose({"requests": 3, ...}, knobs={"waves": 4})

Inside a program, `require` and `assume` raise Refused where they do not hold.  Python's ints never
overflow, Detent's do: load (..., int_bits=64) raises OverflowError where an int leaves 64 bits.
"""
from __future__ import annotations

import ast
import ctypes
import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path


class Refused(Exception):
    """A condition of the program does not hold for these inputs."""

    def __init__(self, kind, why):
        super().__init__(f"{kind}: {why}")
        self.kind, self.why = kind, why


class Record:
    """A record with the fields that its class annotates, given by keyword, never changed."""

    def __init__(self, **values):
        names = type(self).fields()
        if sorted(values) != sorted(names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}; got {', '.join(values)}")
        self.__dict__.update(values)

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")

    @classmethod
    def fields(cls):
        return list(cls.__dict__.get("__annotations__", {}))

    def values(self):
        return {name: getattr(self, name) for name in self.fields()}


class Facts(Record):
    """What a deployment fixes: one field per fact."""


class Batch(Record):
    """What depends on the batch: one field per input."""


class Marker:
    """Runtime[domain] and the like, as a value: its name and what is inside."""

    def __init__(self, name, inside=None):
        self.name, self.inside = name, inside

    def __getitem__(self, inside):
        return Marker(self.name, (False, True) if inside is bool else inside)


Runtime, Unpinnable, Own, Free = (Marker(name) for name in ("Runtime", "Unpinnable", "Own", "Free"))

_knobs = {}  # settings of the call that runs


def knob(name, values, default):
    """The deployment's setting of a knob: one of `values`, `default` unless it is set."""
    value = _knobs.get(name, default)
    if value not in values:
        raise ValueError(f"knob {name}: {value!r} is not one of {values!r}")
    return value


def require(condition, why):
    if not condition:
        raise Refused("require", why)


def assume(condition, why):
    if not condition:
        raise Refused("assume", why)


def f32(x):
    """The nearest number of single precision."""
    return ctypes.c_float(x).value


def _distinct(pairs):
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _no_constant(name):
    raise ValueError(f"{name} is no JSON")


def table(name):
    """The content of a JSON file beside the program."""
    path = Path(sys._getframe(1).f_globals["__file__"]).parent / name
    return json.loads(path.read_text("utf-8"), object_pairs_hook=_distinct, parse_constant=_no_constant)


def selection(family):
    """Mark the function that chooses for a kernel family."""

    def mark(function):
        function.family = family
        return function

    return mark


class Program:
    """A loaded program with its facts bound."""

    def __init__(self, module, facts):
        self.module = module
        classes = [c for c in vars(module).values() if isinstance(c, type)]
        self.function = next(f for f in vars(module).values() if hasattr(f, "family"))
        record = next(c for c in classes if issubclass(c, Facts) and c is not Facts)
        floats = [name for name, kind in record.__annotations__.items() if kind in ("float", float)]
        self.facts = record(**{k: float(v) if k in floats else v for k, v in facts.items()})
        self.batch = next(c for c in classes if issubclass(c, Batch) and c is not Batch)

    def domains(self):
        """Field of the Batch record -> its domain; here `facts` names the Facts record."""
        names = {**vars(self.module), "facts": self.facts}
        marks = self.batch.__annotations__.items()
        return {name: (eval(mark, names) if isinstance(mark, str) else mark).inside for name, mark in marks}

    def __call__(self, inputs, knobs=None):
        _knobs.clear()
        _knobs.update(knobs or {})
        records = {Facts: self.facts, Batch: self.batch(**inputs)}
        arguments = [
            records[Batch if self.function.__annotations__[name] in (self.batch, self.batch.__name__) else Facts]
            for name in self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        ]
        return self.function(*arguments).values()


class _Sized(ast.NodeTransformer):
    """Ints of so many bits: arithmetic that leaves them raises OverflowError, at its own place."""

    def call(self, node, name, *args):
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(args), []), node)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        name = {ast.LShift: "_shift", ast.Pow: "_power"}.get(type(node.op))
        return self.call(node, name, node.left, node.right) if name else self.call(node, "_sized", node)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return node if isinstance(node.op, ast.Not) else self.call(node, "_sized", node)

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "sum":
            node.func = ast.copy_location(ast.Name("_sum", ast.Load()), node.func)
        return self.call(node, "_sized", node) if name in ("abs", "int", "round") else node

    def visit_AugAssign(self, node):
        left = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        value = ast.copy_location(ast.BinOp(left, node.op, node.value), node)
        return self.visit(ast.copy_location(ast.Assign([node.target], value), node))


def _sized_functions(bits):
    def sized(v):
        if isinstance(v, int) and not -(1 << bits - 1) <= v < 1 << bits - 1:
            raise OverflowError(f"an int leaves {bits} bits")
        return v

    def shift(a, b):
        return sized(a << min(b, bits) if b >= 0 else a << b)

    def power(a, b):
        if isinstance(b, int) and isinstance(a, int) and b > bits and abs(a) > 1:
            raise OverflowError(f"an int leaves {bits} bits")
        return sized(a**b)

    def total(values, start=0):
        for v in values:
            start = sized(start + v)
        return start

    return {"_sized": sized, "_shift": shift, "_power": power, "_sum": total}


class _Loader(importlib.machinery.SourceFileLoader):
    """A program's file, with ints of so many bits (None: Python's own)."""

    bits = None

    def get_code(self, fullname):
        tree = ast.parse(self.get_data(self.path))
        if self.bits:
            tree = ast.fix_missing_locations(_Sized().visit(tree))
        return compile(tree, self.path, "exec", dont_inherit=True)

    def exec_module(self, module):
        if self.bits:
            vars(module).update(_sized_functions(self.bits))
        super().exec_module(module)


class _Siblings:
    """Finds the files beside a program while it loads."""

    def __init__(self, folder, bits):
        self.folder, self.bits, self.found = folder, bits, []

    def find_spec(self, name, path=None, target=None):
        file = self.folder / f"{name}.py"
        if name == "selir" or not file.is_file():
            return None
        self.found.append(name)
        loader = _Loader(name, str(file))
        loader.bits = self.bits
        return importlib.util.spec_from_file_location(name, file, loader=loader)


def load(path, facts, int_bits=None):
    """Load a program file; sibling files are found beside it, and are its own."""
    path = Path(path)
    sys.modules.setdefault("selir", sys.modules[__name__])
    siblings = _Siblings(path.parent, int_bits)
    sys.meta_path.insert(0, siblings)
    try:
        spec = siblings.find_spec(path.stem)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.meta_path.remove(siblings)
        for name in siblings.found:
            sys.modules.pop(name, None)
    return Program(module, facts)
