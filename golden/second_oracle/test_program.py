"""Tests of the second reader of programs: each operator against NumPy, enclosures of their functions."""

import math
import random
import unittest

import numpy

from mpmath import mp, mpf

import interval
import program_functions as functions
import program_numbers as numbers
import program_powers as powers
from interval import Interval, Undecided
from program import Program, certified
from program_reading import RULES
from program_text import Text
from test_oracle import contains


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def softmax(x, axis):
    powers_of_e = numpy.exp(x - x.max(axis, keepdims=True))
    return powers_of_e / powers_of_e.sum(axis, keepdims=True)


def updated(x, part, start):
    out = x.copy()
    out[tuple(slice(s, s + n) for s, n in zip(start, part.shape))] = part
    return out


def log_sum_exp(x, axes):
    return numpy.log(numpy.exp(x).sum(tuple(axes)))


def scattered(x, i, added, axis):
    """scatter_add, one index after the other."""
    out = x.copy()
    rows, parts = numpy.moveaxis(out, axis, 0), added.reshape(x.shape[:axis] + (-1,) + x.shape[axis + 1:])
    for index, part in zip(i.ravel(), numpy.moveaxis(parts, axis, 0)):
        rows[index] += part
    return out


def scattered_along(x, i, added):
    out = x.copy()
    for row, column in numpy.ndindex(*i.shape):
        out[row, i[row, column]] += added[row, column]
    return out


def recurrence(s, a, b):
    """s = a s + b, of rows of a and b; the last s, then all of them."""
    every = []
    for a_t, b_t in zip(a, b):
        s = a_t * s + b_t
        every.append(s)
    return numpy.concatenate([s, *every])


def body_of_recurrence():
    text = Text()
    s, a, b = text.array("s", 3), text.array("a", 3), text.array("b", 3)
    out = text("add", text("multiply", a, s), b)
    return text.body(s=out, y=out)


def shares(x):
    return (x == x.max(1, keepdims=True)).astype(float)


# op: (attributes, shapes of the inputs, with a letter for the kind: r, p (real, positive), i, j (integer, not 0), n (an
# index below 3), b; the same in NumPy).
OPERATORS = [
    ("add", {}, "r23 r3", numpy.add), ("subtract", {}, "r213 r41", numpy.subtract),
    ("multiply", {}, "r23 r", numpy.multiply), ("divide", {}, "r1 r23", numpy.divide),
    ("negative", {}, "r2", numpy.negative), ("magnitude", {}, "r23", numpy.abs),
    ("maximum", {}, "r23 r3", numpy.maximum), ("minimum", {}, "r23 r3", numpy.minimum),
    ("add", {}, "i23 i3", numpy.add), ("subtract", {}, "i23 i3", numpy.subtract),
    ("multiply", {}, "i3 i23", numpy.multiply), ("negative", {}, "i23", numpy.negative),
    ("magnitude", {}, "i23", numpy.abs), ("maximum", {}, "i23 i3", numpy.maximum),
    ("minimum", {}, "i23 i3", numpy.minimum), ("floor_divide", {}, "i23 j23", numpy.floor_divide),
    ("remainder", {}, "i23 j23", numpy.remainder), ("exp", {}, "r23", numpy.exp), ("log", {}, "p23", numpy.log),
    ("log1p", {}, "p23", numpy.log1p), ("sin", {}, "r23", numpy.sin), ("cos", {}, "r23", numpy.cos),
    ("sine_of_angle", {}, "r23", numpy.sin),
    ("cosine_of_angle", {}, "r23", numpy.cos), ("tanh", {}, "r23", numpy.tanh), ("erf", {}, "r23", numpy.vectorize(math.erf)), ("sigmoid", {}, "r23", sigmoid),
    ("softplus", {}, "r23", lambda x: numpy.logaddexp(x, 0)),
    ("log_sigmoid", {}, "r23", lambda x: -numpy.logaddexp(-x, 0)), ("floor", {}, "r23", numpy.floor),
    ("power", {"p": -3, "q": 2}, "p23", lambda x: x**-1.5), ("power", {"p": 3, "q": 1}, "r23", lambda x: x**3),
    ("power", {"p": 1, "q": 2}, "p23", numpy.sqrt), ("pow", {}, "p23 r3", numpy.power),
    ("log_add_exp", {}, "r23 r3", numpy.logaddexp), ("right_as_well", {}, "r23 r3", lambda x, y: x + 0 * y),
    ("another_way", {}, "r23 r3", lambda x, y: x + 0 * y), ("off_by", {}, "r23 r3", lambda x, y: x + 0 * y), ("taken_by", {"from": "a"}, "r23", lambda x: x),
    ("rounded_once", {}, "r23", lambda x: x),
    ("sum_of_products", {}, "r23 r3 r23 r1", lambda x, y, z, w: x * y + z * w),
    ("geometric_frequencies", {"first": 1, "count": 3, "steps": 2}, "p", lambda x: x ** -numpy.array([0.5, 1, 1.5])),
    ("geometric_frequencies", {"first": 0, "count": 2, "steps": 1}, "p3", lambda x: x[:, None] ** -numpy.array([0, 1.0])),
    ("setting", {"value": 0.1}, "", lambda: 0.1),
    ("data", {"kind": "real", "shape": [2], "values": [0.1, "-inf"]}, "", lambda: numpy.array([0.1, -math.inf])),
    ("data", {"kind": "integer", "shape": [1, 2], "values": [3, -1]}, "", lambda: numpy.array([[3, -1]])), ("less", {}, "r23 r3", numpy.less),
    ("less_equal", {}, "r23 r3", numpy.less_equal), ("equal", {}, "i23 i3", numpy.equal),
    ("less", {}, "i23 i3", numpy.less), ("less_equal", {}, "i23 i3", numpy.less_equal),
    ("equal", {}, "r2 r2", numpy.equal), ("is_nan", {}, "r2", numpy.isnan), ("and", {}, "b23 b3", numpy.logical_and),
    ("or", {}, "b23 b3", numpy.logical_or), ("not", {}, "b23", numpy.logical_not),
    ("where", {}, "b21 r3 r23", numpy.where), ("where", {}, "b2 i2 i", numpy.where),
    ("to_real", {}, "i23", lambda x: x.astype(float)), ("index_number", {}, "i23", lambda x: x.astype(float)), ("to_real", {}, "b23", lambda x: x.astype(float)),
    ("to_integer", {}, "b23", lambda x: x.astype(int)), ("detach", {}, "r23", lambda x: x),
    ("reshape", {"shape": [3, 1, 2]}, "r23", lambda x: x.reshape(3, 1, 2)),
    ("transpose", {"axes": [2, 0, 1]}, "r234", lambda x: x.transpose(2, 0, 1)),
    ("broadcast", {"shape": [4, 2, 3]}, "r21", lambda x: numpy.broadcast_to(x, (4, 2, 3))),
    ("slice", {"start": [1, 3], "stop": [3, -1], "step": [1, -2]}, "r34", lambda x: x[1:3, 3::-2]),
    ("slice", {"start": [2], "stop": [2], "step": [1]}, "r3", lambda x: x[2:2]),
    ("slice", {"start": [], "stop": [], "step": []}, "r", lambda x: x),
    ("concatenate", {"axis": 1}, "r23 r21 r20", lambda *x: numpy.concatenate(x, 1)),
    ("gather", {"axis": 1}, "r232 n42", lambda x, i: numpy.take(x, i, 1)),
    ("gather", {"axis": 0}, "i3 n", numpy.take),
    ("take_along", {"axis": 1}, "r23 n24", lambda x, i: numpy.take_along_axis(x, i, 1)),
    ("scatter_add", {"axis": 1}, "r232 n42 r2422", lambda *given: scattered(*given, 1)),
    ("scatter_add", {"axis": 0}, "r32 n r2", lambda *given: scattered(*given, 0)),
    ("scatter_add_along", {"axis": 1}, "r23 n24 r24", scattered_along), ("largest_share", {"axes": [1]}, "r23", shares),
    ("update", {"start": [1, 0]}, "r34 r22", lambda x, part: updated(x, part, [1, 0])),
    ("sum", {"axes": [0, 2]}, "r234", lambda x: x.sum((0, 2))), ("mean", {"axes": [1]}, "r23", lambda x: x.mean(1)),
    ("sum", {"axes": [1]}, "r20", lambda x: x.sum(1)), ("largest", {"axes": [0, 1]}, "r23", lambda x: x.max((0, 1))),
    ("log_sum_exp", {"axes": [1]}, "r23", lambda x: log_sum_exp(x, [1])),
    ("log_sum_exp", {"axes": [0]}, "r03", lambda x: numpy.full(3, -numpy.inf)),
    ("any", {"axes": [1]}, "b23", lambda x: x.any(1)), ("all", {"axes": [0, 1]}, "b23", lambda x: x.all()),
    ("softmax", {"axis": 0}, "r34", lambda x: softmax(x, 0)), ("softmax", {"axis": 1}, "r20", lambda x: x),
    ("cumulative_sum", {"axis": 0}, "r34", lambda x: x.cumsum(0)),
    ("cumulative_sum", {"axis": 1}, "i34", lambda x: x.cumsum(1)),
    ("contract", {"of": "nd,md->nm"}, "r23 r43", lambda x, y: x @ y.T),
    ("contract", {"of": ",a->a"}, "r r3", numpy.multiply),
    ("contract_where", {"of": "nd,md->nm"}, "r23 r43 b23", lambda x, y, mask: (x * mask) @ y.T),
    ("contract", {"of": "bad,dab->b"}, "r234 r432", lambda x, y: numpy.einsum("bad,dab->b", x, y)),
    ("contract", {"of": "ab,bc->cab"}, "r23 r34", lambda x, y: numpy.einsum("ab,bc->cab", x, y)),
    ("contract", {"of": "ad,db->ab"}, "r20 r03", lambda x, y: x @ y), ("number", {"value": 0.1}, "", lambda: 0.1),
    ("number", {"value": "-inf"}, "", lambda: -math.inf),
    ("fraction", {"numerator": -1, "denominator": 3}, "", lambda: -1 / 3), ("pi", {}, "", lambda: math.pi),
    ("integer", {"value": -7}, "", lambda: -7), ("boolean", {"value": True}, "", lambda: True),
    ("iota", {"size": 4}, "", lambda: numpy.arange(4)),
    ("scan", {"turns": 2, "carried": 1, "stepped": 2, "body": body_of_recurrence()}, "r3 r23 r23", recurrence),
]


class Draws:
    """Draws arrays by the letters of OPERATORS."""

    def __init__(self, seed):
        self.draws = numpy.random.RandomState(seed)

    def array(self, letter, shape):
        draws = self.draws
        real = draws.uniform(0.125, 4, shape)
        return {"p": real, "r": real * draws.choice((-1.0, 1.0), shape), "n": draws.randint(0, 3, shape),
                "i": draws.randint(-9, 9, shape), "j": draws.randint(1, 9, shape) * draws.choice((-1, 1), shape),
                "b": draws.randint(0, 2, shape) == 1}[letter]


KINDS = {"r": "real", "p": "real", "b": "boolean", "i": "integer", "j": "integer", "n": "integer"}


class operators(unittest.TestCase):
    def test_are_those_of_numpy(self):
        """Inputs are below 4 in magnitude. NumPy's functions are right to 4 units, those written above to 8, since 1 +
        e^-x and 1 - x lose no bits there. A sum of up to 24 products below 2^4 has an error below 2^-40, and so have
        two turns of a s + b."""
        draws = Draws(5)
        for op, attributes, spelled, expected in OPERATORS:
            for _ in range(5):
                text, arrays, given = Text(), [], {}
                for k, (letter, *sizes) in enumerate(spelled.split()):
                    arrays.append(draws.array(letter, tuple(map(int, sizes))))
                    text.array(f"x{k}", *map(int, sizes), kind=KINDS[letter])
                    given[f"x{k}"] = numpy.ravel(arrays[k]).tolist()
                program = Program.read(text.json(y=text(op, *range(len(arrays)), **attributes)))
                want = numpy.asarray(expected(*arrays))
                got = certified(program, given, "f64")["y"]
                self.assertEqual(program.nodes[-1].shape, list(want.shape), op)
                kind = {"f": "real", "i": "integer", "b": "boolean"}[want.dtype.kind]
                self.assertEqual(program.nodes[-1].kind, kind, op)
                self.assertEqual(len(got), want.size)
                for x, y in zip(got, want.ravel().tolist()):
                    is_sum = "sum" in op or op in ("mean", "contract", "scatter_add", "scatter_add_along", "scan")
                    close = 2**-40 if is_sum else abs(y) * 2**-49
                    self.assertTrue(x == y or (isinstance(x, float) and abs(x - y) <= close), (op, attributes, x, y))

    def test_all_of_the_format_are_tried(self):
        self.assertEqual({op for op, *_ in OPERATORS} | {"input"}, set(RULES))


FUNCTIONS = {  # of x, y; by the same in mpmath
    "log1p": (lambda x, y: functions.log1p(x), lambda x, y: mp.log1p(x) if x > -1 else mp.nan),
    "tanh": (lambda x, y: functions.tanh(x), lambda x, y: mp.tanh(x)),
    "erf": (lambda x, y: functions.erf(x), lambda x, y: mp.erf(x)),
    "sigmoid": (lambda x, y: functions.sigmoid(x), lambda x, y: 1 / (1 + mp.exp(-x))),
    "softplus": (lambda x, y: functions.log_sum_exp([x, numbers.PLUS_ZERO]), lambda x, y: mp.log1p(mp.exp(x))),
    "exp": (lambda x, y: functions.exp(x), lambda x, y: mp.exp(x)),
    "log": (lambda x, y: functions.log(x), lambda x, y: mp.log(x) if x > 0 else mp.nan),
    "sin": (lambda x, y: functions.cos_sin(x)[1], lambda x, y: mp.sin(x)),
    "log_add_exp": (lambda x, y: functions.log_sum_exp([x, y]), lambda x, y: mp.log(mp.exp(x) + mp.exp(y))),
    "softmax": (lambda x, y: functions.softmax([x, y])[1], lambda x, y: 1 / (1 + mp.exp(x - y))),
    "maximum": (lambda x, y: numbers.maximum(x, y), lambda x, y: max(x, y)),
    "magnitude": (lambda x, y: numbers.absolute(x), lambda x, y: abs(x)),
    "multiply": (lambda x, y: numbers.multiply(x, y), lambda x, y: x * y),
    "divide": (lambda x, y: numbers.divide(x, y), lambda x, y: x / y),
    "x^3": (lambda x, y: powers.power(x, 3, 1), lambda x, y: x**3),
    "x^-2": (lambda x, y: powers.power(x, -2, 1), lambda x, y: x**-2),
    "x^(2/3)": (lambda x, y: powers.power(x, 2, 3), lambda x, y: mp.cbrt(x)**2 if x > 0 else mp.nan),
    "x^(-1/2)": (lambda x, y: powers.power(x, -1, 2), lambda x, y: 1 / mp.sqrt(x) if x > 0 else mp.nan),
    "pow": (lambda x, y: powers.pow(x, y), lambda x, y: mp.exp(y * mp.log(x)) if x > 0 else mp.nan),
}


class enclosures(unittest.TestCase):
    def test_of_functions_hold_the_truth_at_points_and_in_wide_intervals(self):
        draws, decided = random.Random(3), dict.fromkeys(FUNCTIONS, 0)
        interval.set_precision(120)
        mp.prec = 4000
        for name, (enclose, value) in FUNCTIONS.items():
            for trial in range(300):
                width = (0, 2**-100, 2**-20)[trial % 3]
                x, y = (math.ldexp(draws.uniform(1, 2), draws.randint(-130, 9)) * draws.choice((-1, 1, 1))
                        for _ in "xy")
                wide = [Interval(Interval.of(v).lo, (mpf(v) + abs(mpf(v)) * width)._mpf_) for v in (x, y)]
                share = draws.random()
                inside = [mpf(v) + abs(mpf(v)) * width * share for v in (x, y)]
                try:
                    got, truth = enclose(*wide), value(*inside)
                except Undecided:
                    self.assertTrue(name == "pow" and x < 0 and width, (name, x, y))  # y may be an integer
                    continue
                if mp.isnan(truth):
                    self.assertTrue(got.is_nan, (name, x, y))
                    continue
                self.assertTrue(contains(got, truth), (name, width, x.hex(), y.hex()))
                decided[name] += 1
                if width == 0:
                    self.assertLessEqual(mp.make_mpf(got.width()), abs(truth) * mpf(2)**-100, (name, x, y))
        self.assertGreater(min(decided.values()), 100)

    def test_that_hold_zero_hold_the_truth(self):
        """The values at both ends of intervals [-a, b], and at a number between, lie in the enclosures."""
        draws = random.Random(4)
        interval.set_precision(120)
        mp.prec = 500
        for _ in range(200):
            a, b = -draws.random(), draws.random()
            for inside in (a, b, draws.uniform(a, b)):
                for name in ("log1p", "tanh", "erf", "sigmoid", "softplus", "exp", "sin", "magnitude", "x^3"):
                    enclose, value = FUNCTIONS[name]
                    wide = Interval(Interval.of(a).lo, Interval.of(b).lo)
                    self.assertTrue(contains(enclose(wide, None), value(mpf(inside), None)), (name, a, b, inside))
                square = powers.power(wide, 2, 1)
                self.assertTrue(contains(square, mpf(inside)**2) and square.lo == Interval.of(0).lo)


if __name__ == "__main__":
    unittest.main()
