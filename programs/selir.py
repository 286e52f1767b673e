"""SelIR under CPython: what a program imports, and how to run it without Detent.

    choose = load("programs/detent/attention.py", {"head_dim": 128, ...})
    choose.domains()                       # {"requests": range(1, 65), ...}
    choose({"requests": 3, ...}, knobs={"waves": 4})

Inside a program, `require` and `assume` raise Refused where they do not hold.
"""
from __future__ import annotations

import importlib.util
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
        self.facts = next(c for c in classes if issubclass(c, Facts) and c is not Facts)(**facts)
        self.batch = next(c for c in classes if issubclass(c, Batch) and c is not Batch)

    def domains(self):
        """Field of the Batch record -> its domain; here `facts` names the Facts record."""
        names = {**vars(self.module), "facts": self.facts}
        return {name: eval(text, names).inside for name, text in self.batch.__annotations__.items()}

    def __call__(self, inputs, knobs=None):
        _knobs.clear()
        _knobs.update(knobs or {})
        records = {Facts: self.facts, Batch: self.batch(**inputs)}
        arguments = [
            records[Batch if self.function.__annotations__[name] == self.batch.__name__ else Facts]
            for name in self.function.__code__.co_varnames[: self.function.__code__.co_argcount]
        ]
        return self.function(*arguments).values()


def load(path, facts):
    """Load a program file; sibling files are found beside it."""
    path = Path(path)
    here = str(path.parent)
    sys.modules.setdefault("selir", sys.modules[__name__])
    if here not in sys.path:
        sys.path.insert(0, here)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Program(module, facts)
