"""Random SelIR programs: statements, functions, and the whole."""
from selir_programs import FLOAT_KNOB, HEAD, KNOB, Maker

AUGMENTED = ("+=", "+=", "-=", "-=", "*=", "//=", "%=", "&=", "|=", "^=")


class ProgramMaker(Maker):
    def emit(self, indent, text):
        self.lines.append("    " * indent + text)

    def block(self, indent, size, loop, returns):
        for _ in range(size):
            self.statement(indent, loop, returns)
        if self.rng.random() < 0.05:
            self.used.add("pass")
            self.emit(indent, "pass")

    def assign(self, indent):
        kind = self.rng.choice("nnnnbexx")
        name = f"{kind}{self.rng.randrange(4)}"
        annotation = self.rng.choice(("", "", ": int"))
        self.used.add("annotated assignment" if annotation else "assignment")
        self.emit(indent, f"{name}{annotation} = {self.value(kind)}")
        self.names.add(name)

    def augment(self, indent):
        r = self.rng
        kinds = [k for k in "nx" if self.name(k)]
        if not kinds:
            return self.assign(indent)
        kind = r.choice(kinds)
        op = r.choice(AUGMENTED) if kind == "n" else r.choice(("+=", "-=", "*=", "/="))
        value = self.value(kind)
        if kind == "n" and r.random() < 0.25:
            op, value = r.choice((("**=", "2"), ("<<=", self.small("i")), (">>=", self.small("i"))))
        if op in ("//=", "%=", "/=") and r.random() < 0.6:
            value = "call.own"
        self.used.add("augmented assignment")
        self.emit(indent, f"{self.name(kind)} {op} {value}")

    def unpack(self, indent):
        r = self.rng
        choice = r.randrange(4)
        if choice == 0:
            self.emit(indent, f"n0, n1 = {self.value('n')}, {self.value('n')}")
            self.names |= {"n0", "n1"}
            self.used.add("unpacking")
        elif choice == 1:
            self.emit(indent, f"(n0, b1), x2 = {self.tuple()}, {self.value('x')}")
            self.names |= {"n0", "b1", "x2"}
            self.used.add("nested unpacking")
        elif choice == 2:
            name = f"t{r.randrange(2)}"
            self.emit(indent, f"{name} = {self.tuple()}")
            self.emit(indent, f"n2, b2 = {name}")
            self.names |= {name, "n2", "b2"}
            self.used.add("merge of tuples")
        else:
            name = f"r{r.randrange(2)}"
            self.emit(indent, f"{name} = {self.record()}")
            self.emit(indent, f"n3 = {name}.a")
            self.emit(indent, f"b3 = {name}.b")
            self.names |= {name, "n3", "b3"}
            self.used.add("merge of records")

    def statement(self, indent, loop, returns):
        r = self.rng
        choice = r.random()
        if choice < 0.30 or indent > 4:
            self.assign(indent)
        elif choice < 0.42:
            self.augment(indent)
        elif choice < 0.52:
            self.unpack(indent)
        elif choice < 0.68:
            self.branch(indent, loop, returns)
        elif choice < 0.80:
            self.loop(indent, returns)
        elif choice < 0.86 and loop:
            word = r.choice(("break", "continue"))
            self.used.add(word)
            self.emit(indent, f"if {self.value('b')}:")
            self.emit(indent + 1, word)
        elif choice < 0.91 and returns:
            self.used.add("early return")
            self.emit(indent, f"if {self.value('b')}:")
            self.emit(indent + 1, f"return {returns()}")
        elif choice < 0.96:
            word = r.choice(("require", "assume"))
            self.used.add(word)
            self.emit(indent, f"{word}({self.value('b')} or call.x != {r.randrange(20)}, 'why')")
        else:
            self.assign(indent)

    def branch(self, indent, loop, returns):
        r = self.rng
        before = set(self.names)
        self.emit(indent, f"if {self.value(r.choice('bbbbnxe'))}:")
        self.block(indent + 1, r.randrange(1, 3), loop, returns)
        after = self.names
        arms = ["elif"] * r.randrange(2) + ["else"] * r.randrange(2)
        self.used |= {"if", *arms}
        for word in arms:
            self.names = set(before)
            self.emit(indent, f"elif {self.value('b')}:" if word == "elif" else "else:")
            self.block(indent + 1, r.randrange(1, 3), loop, returns)
            after = after & self.names if r.random() < 0.9 else after | self.names
        if r.random() < 0.15:  # some names are unset on some paths
            self.used.add("unset on some path")
            self.names = before | after
        elif "else" in arms:
            self.names = before | (after & self.names)
        else:
            self.names = before

    def loop(self, indent, returns):
        r = self.rng
        names = set(self.names)
        choice = r.random()
        if choice < 0.25:
            pairs, name = r.choice((("enumerate(ITEMS, start=1)", "enumerate"), ("zip(ITEMS, (call.x, 2, call.y))", "zip"),
                                    (f"enumerate({self.range()})", "enumerate of runtime range"),
                                    (f"zip({self.walked()}, {self.range()})", "zip of runtime range")))
            self.used.add(name)
            self.emit(indent, f"for n2, n3 in {pairs}:")
            self.names |= {"n2", "n3"}
        elif choice < 0.6 and indent < 3:
            self.used.add("for over runtime range")
            self.emit(indent, f"for n3 in {self.range()}:")
            self.names |= {"n3"}
        else:
            self.used.add("for over collection")
            self.emit(indent, f"for n3 in {self.items()}:")
            self.names |= {"n3"}
        self.block(indent + 1, r.randrange(1, 3), True, returns)
        if r.random() < 0.15:
            self.used.add("unset on some path")
            self.names &= names | {"n3"}
        else:
            self.names &= names

    def smalls(self, base=""):
        for name, limit in (("i0", "{} & 3"), ("i1", "min(max({}, 0), 3)"), ("j0", "{} % 3")):
            self.emit(1, f"{name} = {limit.format(base or self.int(0))}")
            self.names.add(name)

    def helper(self, i):
        n = self.rng.choice((1, 2, 2))
        default = n > 1 and self.rng.random() < 0.9
        params = [f"p{k}: int" + (" = 3" if default and k == n - 1 else "") for k in range(n)]
        self.emit(0, f"def f{i}({', '.join(params)}) -> int:")
        if self.rng.random() < 0.3:
            self.used.add("docstring")
            self.emit(1, '"""What it is for."""')
        self.names = {f"n{k}" for k in range(n)}
        for k in range(n):
            self.emit(1, f"n{k} = p{k}")
        self.smalls("p0")
        self.emit(1, "d0 = max(abs(n0), 1)")
        body = len(self.lines)
        self.block(1, self.rng.randrange(1, 4), False, lambda: self.int(1))
        self.emit(1, f"return {self.int(1)}")
        for k in range(body, len(self.lines)):  # helpers know no inputs
            for name, other in (("range(call.x", "range(i0"), ("call.x", "p0"), ("call.y", "n0"), ("call.own", "d0"),
                                ("call.flag", "(p0 > n0)"), ("call.load", "(p0 / d0)"), ("call.mode", "('a', None, 'bc', '')[i0]")):
                self.lines[k] = self.lines[k].replace(name, other)
        self.helpers.append((f"f{i}", n, default))

    def program(self):
        r = self.rng
        self.lines = HEAD.format(lo=r.choice((0, 1, -3))).splitlines()
        self.names = set()
        for i in range(r.randrange(3)):
            self.helper(i)
        record = lambda: (f"Choice(n={self.int(1)}, b=bool({self.bool(1)}), e={self.enum(1)}, "  # noqa: E731
                          f"x=float({self.float(1)}))")
        self.emit(0, '@selection(family="random")')
        self.emit(0, "def choose(facts: Model, call: Call) -> Choice:")
        self.names = set()
        self.smalls()
        for _ in range(2):
            self.assign(1)
        self.block(1, r.randrange(2, 6), False, record)
        self.emit(1, f"return {record()}")
        text = "\n".join(self.lines) + "\n"
        if KNOB in text:
            self.used.add("knob")
        if FLOAT_KNOB in text:
            self.used.add("float knob")
        return text
