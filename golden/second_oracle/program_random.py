"""Random programs of all operators, with integers and booleans, arrays of two axes and special values; for tests."""

import math

from program_text import Text
from test_program_random import BINARY, SPECIAL, UNARY

ROWS, COLUMNS = 2, 3
REALS, INTEGERS, BOOLEANS = "real", "integer", "boolean"


class Drawing:
    """A program that grows by a node of shape [2, 3] at a time. Loops are nested at most `loops` deep."""

    def __init__(self, draws, loops=2):
        self.draws, self.text, self.loops = draws, Text(), loops
        self.nodes = {kind: [self.text.array(kind[0] + name, ROWS, COLUMNS, kind=kind) for name in "xy"]
                      for kind in (REALS, INTEGERS, BOOLEANS)}

    def one(self, kind):
        """A recent node, and often enough another than the last."""
        return self.draws.choice(self.nodes[kind][-5:])

    def spread(self, node):
        return self.text("broadcast", node, shape=[ROWS, COLUMNS])

    def scalar(self, value):
        return self.spread(self.text("number", value=value))

    def function(self):
        if self.draws.random() < 0.5:
            return self.text(self.draws.choice(UNARY), self.one(REALS))
        return self.text(self.draws.choice(BINARY), self.one(REALS), self.one(REALS))

    def power(self):
        p, q = self.draws.choice([(-3, 1), (-2, 1), (-1, 1), (0, 1), (2, 1), (3, 1), (-3, 2), (-1, 2), (1, 2), (2, 3)])
        return self.text("power", self.one(REALS), p=p, q=q)

    def constant(self):
        kind = self.draws.randrange(3)
        if kind == 0:
            return self.scalar(self.draws.choice([0.1, -2.5, 1e-30, "inf", "-inf", "nan", 1, -0.0]))
        if kind == 1:
            return self.spread(self.text("fraction", numerator=self.draws.randint(-9, 9), denominator=7))
        return self.spread(self.text("pi"))

    def reduced(self):
        op, axis = self.draws.choice(["sum", "mean", "largest", "log_sum_exp"]), self.draws.randrange(2)
        shape = [1 if a == axis else size for a, size in enumerate((ROWS, COLUMNS))]
        return self.spread(self.text("reshape", self.text(op, self.one(REALS), axes=[axis]), shape=shape))

    def along(self):
        return self.text(self.draws.choice(["softmax", "cumulative_sum"]), self.one(REALS),
                         axis=self.draws.randrange(2))

    def contracted(self):
        if self.draws.random() < 0.5:
            return self.spread(self.text("contract", self.one(REALS), self.one(REALS), of="nd,nd->d"))
        if self.draws.random() < 0.3:
            return self.spread(self.text("contract_where", self.one(REALS), self.one(REALS), self.one(BOOLEANS),
                                         of="nd,nd->d"))
        pairs = self.text("contract", self.one(REALS), self.one(REALS), of="nd,md->nm")
        return self.text("contract", pairs, self.one(REALS), of="nm,md->nd")

    def products(self):
        return self.text("sum_of_products", *(self.one(REALS) for _ in range(4)))

    def frequencies(self):
        source, first = self.one(REALS), self.draws.randrange(3)
        rows = ROWS if first == 2 else 1
        x = self.text("slice", source, start=[0, 0], stop=[rows, 1], step=[1, 1])
        base = self.text("exp", self.text("reshape", x, shape=[] if rows == 1 else [rows]))
        return self.spread(self.text("geometric_frequencies", base, first=first, count=COLUMNS, steps=4))

    def scanned(self):
        """Two turns of a body that carries its first array, steps through its second one, and has all other kinds."""
        body = Drawing(self.draws, self.loops - 1)
        for _ in range(2):
            body.grow()
        outputs = body.text.body(carried=body.real(), given=body.one(REALS))
        rows = [self.text("reshape", self.one(REALS), shape=[1, ROWS, COLUMNS]) for _ in "xy"]
        taken = [self.one(REALS), self.text("concatenate", *rows, axis=0)]
        taken += [self.one(kind) for kind in (INTEGERS, BOOLEANS) for _ in "xy"]
        flat = self.text("scan", *taken, turns=2, carried=1, stepped=1, body=outputs)
        size = ROWS * COLUMNS
        first = size * self.draws.randrange(3)
        part = self.text("slice", flat, start=[first], stop=[first + size], step=[1])
        return self.text("reshape", part, shape=[ROWS, COLUMNS])

    def moved(self, kind):
        way, x = self.draws.randrange(5), self.one(kind)
        if way == 0:
            return self.text("reshape", self.text("transpose", x, axes=[1, 0]), shape=[ROWS, COLUMNS])
        if way == 1:
            return self.text("slice", x, start=[1, 2], stop=[-1, -1], step=[-1, -1])
        if way == 2:
            both = self.text("concatenate", x, self.one(kind), axis=1)
            return self.text("slice", both, start=[0, 1], stop=[2, 6], step=[1, 2])
        if way == 3:
            part = self.text("slice", self.one(kind), start=[0, 1], stop=[2, 3], step=[1, 1])
            return self.text("update", x, part, start=[0, 0])
        index = self.text("remainder", self.one(INTEGERS), self.text("integer", value=2))
        return self.text("take_along", x, index, axis=self.draws.randrange(2))

    def chosen(self, kind):
        return self.text("where", self.one(BOOLEANS), self.one(kind), self.one(kind))

    def cast(self):
        op, kinds = self.draws.choice([("to_real", INTEGERS), ("to_real", BOOLEANS), ("index_number", INTEGERS)])
        return self.text(op, self.one(kinds))

    def real(self):
        return self.draws.choice([self.function] * 6 + [
            self.power, self.constant, self.reduced, self.along, self.contracted, self.products, self.frequencies,
            lambda: self.moved(REALS), lambda: self.chosen(REALS), self.cast] + [self.scanned] * (self.loops > 0))()

    def integer(self):
        way = self.draws.randrange(5)
        if way == 0:
            return self.text("to_integer", self.one(BOOLEANS))
        if way == 1:
            return self.draws.choice([self.moved, self.chosen])(INTEGERS)
        if way == 2:
            return self.text(self.draws.choice(["negative", "magnitude"]), self.one(INTEGERS))
        if way == 3:
            divisor = self.text("integer", value=self.draws.choice([-3, -1, 2, 5]))
            return self.text(self.draws.choice(["floor_divide", "remainder"]), self.one(INTEGERS), divisor)
        op = self.draws.choice(["add", "subtract", "multiply", "maximum", "minimum"])
        return self.text(op, self.one(INTEGERS), self.one(INTEGERS))

    def boolean(self):
        way = self.draws.randrange(6)
        if way == 0:
            return self.draws.choice([self.moved, self.chosen])(BOOLEANS)
        if way == 1:
            return self.text("is_nan", self.one(REALS))
        if way == 2:
            return self.text("not", self.one(BOOLEANS))
        if way == 3:
            return self.text(self.draws.choice(["and", "or"]), self.one(BOOLEANS), self.one(BOOLEANS))
        kind = self.draws.choice([REALS, REALS, INTEGERS])
        return self.text(self.draws.choice(["less", "less_equal", "equal"]), self.one(kind), self.one(kind))

    def grow(self):
        kind = self.draws.choice([REALS] * 6 + [INTEGERS, BOOLEANS, BOOLEANS])
        node = {REALS: self.real, INTEGERS: self.integer, BOOLEANS: self.boolean}[kind]()
        self.nodes[kind].append(node)
        return node


def value_of(draws, kind):
    if kind == BOOLEANS:
        return draws.random() < 0.5
    if kind == INTEGERS:
        return draws.randint(-9, 9)
    return draws.choice(SPECIAL) if draws.random() < 0.1 else math.ldexp(draws.uniform(-1, 1), draws.randint(-20, 3))


def random_call(draws, count):
    """A program as text, and its inputs by name."""
    drawing = Drawing(draws)
    outputs = {f"y{k}": drawing.grow() for k in range(count)}
    inputs = {kind[0] + name: [value_of(draws, kind) for _ in range(ROWS * COLUMNS)]
              for kind in drawing.nodes for name in "xy"}
    return drawing.text.json(**outputs), inputs
