"""Tests of the second reader of programs: what elements are at the ends of domains and beyond."""

import math
import unittest

import interval
import program_functions as functions
import program_numbers as numbers
import program_powers as powers
from interval import Interval, Undecided
from program import Program, certified, evaluate
from program_text import Text
from test_oracle import contains

INFINITY, NAN = math.inf, math.nan


class domains(unittest.TestCase):
    def setUp(self):
        interval.set_precision(160)

    def value(self, op, *values, **attributes):
        text = Text()
        operands = [text.array(f"x{k}", len(x)) for k, x in enumerate(values)]
        program = Program.read(text.json(y=text(op, *operands, **attributes)))
        return certified(program, {f"x{k}": x for k, x in enumerate(values)}, "f64")["y"]

    def check(self, want, op, *values, **attributes):
        got = self.value(op, *values, **attributes)
        self.assertEqual(list(map(repr, map(float, got))), list(map(repr, map(float, want))), (op, values))

    def test_of_points_are_those_of_ieee_754(self):
        inf = INFINITY
        self.check([NAN, inf, -inf, NAN], "multiply", [0.0, inf, -inf, NAN], [inf, 2.0, 2.0, 0.0])
        self.check([inf, -inf, -inf, NAN, NAN, 0, inf, NAN], "divide", [1.0, -1.0, 1.0, 0.0, inf, 1.0, inf, NAN],
                   [0.0, 0.0, -0.0, 0.0, inf, -inf, 0.0, 1.0])
        self.check([NAN, inf, -inf], "add", [inf, inf, 1.0], [-inf, 1.0, -inf])
        self.check([-inf, NAN, inf, NAN, NAN, 0], "log", [0.0, -1.0, inf, -inf, NAN, 1.0])
        self.check([-inf, NAN, inf], "log1p", [-1.0, -1.5, inf])
        self.check([0, inf, NAN], "exp", [-inf, inf, NAN])
        self.check([NAN, NAN], "sin", [inf, NAN])
        self.check([0, 1, 0.5], "sigmoid", [-inf, inf, 0.0])
        self.check([-1, 1], "tanh", [-inf, inf])
        self.check([-1, 1, NAN], "erf", [-inf, inf, NAN])
        self.check([0, inf], "softplus", [-inf, inf])
        self.check([-inf, 0], "log_sigmoid", [-inf, inf])
        self.check([NAN, NAN, -inf], "maximum", [NAN, 1.0, -inf], [1.0, NAN, -inf])
        self.check([-inf, inf, 1.0, NAN], "log_add_exp", [-inf, inf, -inf, NAN], [-inf, -inf, 1.0, inf])
        self.check([-inf, -2, 2, NAN], "floor", [-inf, -1.5, 2.0, NAN])
        self.check([0, 0, 0, 0], "less", [NAN, 1.0, inf, 2.0], [1.0, NAN, inf, 1.0])
        self.check([0, 1, 1], "equal", [NAN, inf, 0.0], [NAN, inf, -0.0])
        self.check([0, 1], "less_equal", [NAN, -inf], [NAN, -inf])

    def test_of_powers(self):
        inf, square, root = INFINITY, {"p": 2, "q": 1}, {"p": 1, "q": 2}
        self.check([4, 4, inf, 0, NAN], "power", [-2.0, 2.0, -inf, -0.0, NAN], **square)
        self.check([NAN, 3, 0, inf, NAN, NAN], "power", [-4.0, 9.0, 0.0, inf, -inf, NAN], **root)
        self.check([inf, -inf, -0.125, 0], "power", [0.0, -0.0, -2.0, inf], p=-3, q=1)
        self.check([inf, 0.25], "power", [0.0, 8.0], p=-2, q=3)
        self.check([1, 1], "power", [NAN, 0.0], p=0, q=1)
        bases = [-2.0, -2.0, 0.0, -0.0, NAN, 1.0, 0.5, -2.0, -1.0, -inf, -inf, 2.0, -1e10, -1.0]
        exponents = [3.0, 0.5, -1.0, -3.0, 0.0, NAN, inf, -inf, inf, 3.0, 0.5, -1074.0, 2.0**60, 2.0**52 + 1]
        powers = [-8, NAN, inf, -inf, 1, 1, 0, 0, 1, -inf, inf, 2.0**-1074, inf, -1]
        self.check(powers, "pow", bases, exponents)

    def test_of_rows(self):
        inf = INFINITY
        self.check([NAN, NAN], "softmax", [-inf, -inf], axis=0)
        self.check([0, 1, 0], "softmax", [-inf, 3.0, -inf], axis=0)
        self.check([0.5, 0, 0.5], "softmax", [0.1, -inf, 0.1], axis=0)
        self.check([NAN, NAN], "softmax", [inf, 1.0], axis=0)
        for op, want in (("sum", inf), ("mean", inf), ("largest", inf), ("log_sum_exp", inf)):
            self.check([want], op, [inf, 1.0], axes=[0])
            self.check([NAN], op, [1.0, NAN, inf], axes=[0])
        self.check([NAN], "sum", [inf, -inf], axes=[0])
        self.check([NAN], "contract", [inf, 1.0], [0.0, 1.0], of="a,a->")
        self.check([1, inf, NAN], "cumulative_sum", [1.0, inf, -inf], axis=0)

    def test_that_may_be_left_are_undecided(self):
        text = Text()
        x, y = text.array("x", 1), text.array("y", 1)
        names = {"log": ("log", x), "divide": ("divide", y, x), "less": ("less", x, y), "floor": ("floor", x),
                 "equal": ("equal", x, y), "root": ("power", x), "pow": ("pow", x, y), "inverse": ("power", x)}
        attributes = {"root": {"p": 1, "q": 2}, "inverse": {"p": -1, "q": 1}}
        outputs = {name: text(*call, **attributes.get(name, {})) for name, call in names.items()}
        program = Program.read(text.json(**outputs))
        straddling = Interval(Interval.of(-2.0**-90).lo, Interval.of(2.0**-80).lo)
        for name in names:
            with self.assertRaises(Undecided, msg=name):
                evaluate(program, {"x": [straddling], "y": [0.0 if name in ("less", "equal") else 0.7]}, [name])

    def test_of_the_inverse_of_zero_need_its_sign(self):
        def difference(text, x):
            return text("subtract", x, x)

        def its_negative(text, x):
            return text("negative", difference(text, x))

        def largest(text, x):
            return text("maximum", difference(text, x), its_negative(text, x))

        def logarithm_of_one(text, _):
            return text("log", text("number", value=1))

        def sum_of_negatives(text, _):
            return text("add", *[text("number", value=-0.0)] * 2)
        for build, want in ((sum_of_negatives, -INFINITY), (difference, INFINITY), (its_negative, -INFINITY),
                            (logarithm_of_one, INFINITY), (largest, None)):
            text = Text()
            zero = build(text, text.array("x", 1))
            program = Program.read(text.json(y=text("divide", text("number", value=1), zero)))
            if want is None:
                with self.assertRaises(Undecided):
                    evaluate(program, {"x": [2.0]})
            else:
                self.assertEqual(certified(program, {"x": [2.0]}, "f16"), {"y": [want]})

    def test_of_ends_that_a_number_is_not(self):
        one, two = Interval.of(1).lo, Interval.of(2).lo
        zero, half = Interval.of(0).lo, Interval.of(1.5).lo
        self.assertTrue(functions.floor(Interval(half, two, True)).is_value(one))
        for wide in (Interval(half, two), Interval(Interval.of(0.5).lo, half, True)):
            with self.assertRaises(Undecided):
                functions.floor(wide)
        for function, low, high in ((functions.log, zero, one), (functions.log1p, Interval.of(-1).lo, zero)):
            with self.assertRaises(Undecided):
                function(Interval(low, high, True))
        self.assertTrue(contains(functions.exp(Interval(zero, one)), 1))
        self.assertTrue(contains(powers.power(Interval(one, two), 3, 2), 1))
        closed, opened = Interval(one, two), Interval(half, Interval.of(1.75).lo, True)
        self.assertTrue(contains(numbers.maximum(closed, opened), 2))
        self.assertFalse(contains(numbers.maximum(Interval(one, two, True), opened), 2))

    def test_of_exact_powers_are_points(self):
        """Only a point decides a tie: no wider enclosure does."""
        for x, p, q, value in ((2.25, 1, 2, 1.5), (27.0, 2, 3, 9), (4.0, -3, 2, 0.125), (2.0**-6, 1, 3, 0.25),
                               (16.0, 1, 4, 2)):
            self.assertTrue(powers.power(Interval.of(x), p, q).is_value(Interval.of(float(value)).lo), (x, p, q))
        for x in (2.0, 8.0, 3.0, 2.0**-5):
            self.check([math.sqrt(x), math.sqrt(x)], "power", [x, x], p=1, q=2)
        tie = 1 + 2.0**-11
        text = Text()
        program = Program.read(text.json(y=text("power", text("number", value=tie * tie), p=1, q=2), z=text(
            "pow", text("number", value=tie * tie), text("number", value=0.5))))
        self.assertEqual(certified(program, {}, "f16"), {"y": [1], "z": [1]})

    def test_beyond_what_exp_is_computed_of(self):
        text = Text()
        large = text("exp", text("exp", text("number", value=9)))
        small = text("exp", text("negative", large))
        program = Program.read(text.json(y=small, z=text("exp", large)))
        self.assertTrue(certified(Program.read(text.json(y=small)), {}, "f64") == {"y": [0]})
        with self.assertRaisesRegex(Undecided, r"node 5 \(exp\): exp of a number that is too large"):
            evaluate(program, {}, ["z"])


if __name__ == "__main__":
    unittest.main()
