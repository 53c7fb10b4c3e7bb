"""Tests of the second reader of programs: derivatives against differences, what is a convention, domains."""

import math
import random
import unittest

from mpmath import mp, mpf

import interval
from interval import Interval, Undecided
from program import Program, certified, evaluate, gradient
from program_gradient import Convention
from program_text import Text
from test_program import KINDS, OPERATORS, Draws

INFINITY, NAN = math.inf, math.nan


def number(enclosure):
    return mp.make_mpf(enclosure.lo)


def differences(program, inputs, cotangents, name):
    """The derivative in an input by central differences at 1000 bits; their error is of the size of 2^-400."""
    step = mpf(2)**-200

    def value(index, shift):
        elements = [Interval.of(x) for x in inputs[name]]
        elements[index] = Interval((mpf(inputs[name][index]) + shift)._mpf_)
        outputs = evaluate(program, inputs | {name: elements})
        return mp.fsum(mpf(c) * number(y) for out, bars in cotangents.items() for c, y in zip(bars, outputs[out]))
    return [(value(index, step) - value(index, -step)) / (2 * step) for index in range(len(inputs[name]))]


def cotangents_of(program, draws):
    return {name: [draws.uniform(-2, 2) for _ in range(program.nodes[index].size)]
            for name, index in program.outputs.items() if program.nodes[index].kind == "real"}


def agrees_with_differences(test, program, inputs, what):
    interval.set_precision(1000)
    mp.prec = 1000
    cotangents = cotangents_of(program, random.Random(8))
    got = gradient(program, inputs, cotangents)
    test.assertEqual(set(got), {name for name, i in program.inputs.items() if program.nodes[i].kind == "real"}, what)
    for name, derivatives in got.items():
        for x, y in zip(derivatives, differences(program, inputs, cotangents, name), strict=True):
            test.assertLess(abs(number(x) - y), mpf(2)**-350 * (1 + abs(y)), (what, name))


class derivatives(unittest.TestCase):
    def test_are_those_of_differences(self):
        draws, tried = Draws(50), set()
        for op, attributes, spelled, _ in OPERATORS:
            kinds = [KINDS[word[0]] for word in spelled.split()]
            text, inputs = Text(), {}
            for k, (letter, *sizes) in enumerate(spelled.split()):
                inputs[f"x{k}"] = draws.array(letter, tuple(map(int, sizes))).ravel().tolist()
                text.array(f"x{k}", *map(int, sizes), kind=kinds[k])
            program = Program.read(text.json(y=text(op, *range(len(kinds)), **attributes)))
            if "real" in kinds and program.nodes[-1].kind == "real" and op != "detach":
                agrees_with_differences(self, program, inputs, (op, attributes))
                tried.add(op)
        self.assertEqual(len(tried), 37)

    def gradient_of(self, values, cotangent, build, dtype="f64"):
        """That in x of build(text, x)."""
        text = Text()
        program = Program.read(text.json(y=build(text, text.array("x", len(values)))))
        return certified(program, {"x": values}, dtype, {"y": cotangent})["x"]

    def test_detach_and_where_cut(self):
        def product(text, x):
            return text("multiply", x, text("detach", x))
        self.assertEqual(self.gradient_of([3.0, 5.0], [1.0, 2.0], product), [3, 10])

        def logarithm(text, x):
            safe = text("less", text("number", value=0), x)
            return text("where", safe, text("log", x), text("multiply", x, text("number", value=2)))
        self.assertEqual(self.gradient_of([4.0, -1.0, 0.0, -INFINITY], [1.0] * 4, logarithm), [0.25, 2, 2, 2])

    def test_sum_where_an_array_is_used_twice_or_is_given_out(self):
        text = Text()
        x = text.array("x", 2)
        square = text("multiply", x, x)
        program = Program.read(text.json(y=square, z=text("add", square, x), w=x))
        bars = {"y": [1.0, 0.0], "z": [1.0, 1.0], "w": [0.0, 10.0]}
        self.assertEqual(certified(program, {"x": [3.0, 4.0]}, "f64", bars)["x"], [6 + 6 + 1, 8 + 1 + 10])

    def test_of_what_reaches_no_output_is_zero(self):
        text = Text()
        text.array("unused", 1)
        text.array("n", 1, kind="integer")
        program = Program.read(text.json(y=text("floor", text.array("x", 1))))
        self.assertEqual(certified(program, {"x": [1.5]}, "f64", {"y": [1.0]}), {"unused": [0], "x": [0]})

    def test_raise_where_they_are_conventions(self):
        def largest(text, x):
            return text("reshape", text("largest", x, axes=[0]), shape=[1])

        def log_sum_exp(text, x):
            return text("reshape", text("log_sum_exp", x, axes=[0]), shape=[1])

        def maximum_of_halves(text, x):
            halves = [text("slice", x, start=[k], stop=[k + 1], step=[1]) for k in (0, 1)]
            return text("maximum", *halves)
        for build, values in ((largest, [1.0, 2.0, 2.0]), (maximum_of_halves, [2.0, 2.0]), (largest, [-INFINITY] * 2),
                              (lambda text, x: text("magnitude", x), [0.0]), (log_sum_exp, [INFINITY, INFINITY]),
                              (lambda text, x: text("minimum", x, x), [0.1])):
            with self.assertRaises(Convention):
                self.gradient_of(values, [1.0], build)
        self.assertEqual(self.gradient_of([1.0, 2.0, 1.0], [3.0], largest), [0, 3, 0])
        self.assertEqual(self.gradient_of([2.0, 3.0], [3.0], maximum_of_halves), [0, 3])
        self.assertEqual(self.gradient_of([-INFINITY, -INFINITY], [3.0], log_sum_exp), [0, 0])
        self.assertEqual(self.gradient_of([INFINITY, 1.0], [3.0], log_sum_exp), [3, 0])

    def test_of_a_softmax_with_one_weight_are_zero(self):
        for values in ([3.5], [-INFINITY, 2.0, -INFINITY]):
            n = len(values)
            self.assertEqual(self.gradient_of(values, [0.1] * n, lambda text, x: text("softmax", x, axis=0)), [0] * n)

    def test_of_tanh_and_sigmoid_keep_their_bits_far_from_zero(self):
        mp.prec = 2000
        for op, slope in (("tanh", lambda x: 1 / mp.cosh(x)**2), ("sigmoid", lambda x: 1 / (2 + 2 * mp.cosh(x)))):
            got = self.gradient_of([300.0, -300.0, 1e5], [1.0] * 3, lambda text, x, op=op: text(op, x))
            self.assertEqual(got, [float(slope(mpf(300)))] * 2 + [0], op)


class domains(unittest.TestCase):
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
        for build, want in ((difference, INFINITY), (its_negative, -INFINITY), (logarithm_of_one, INFINITY),
                            (largest, None)):
            text = Text()
            zero = build(text, text.array("x", 1))
            program = Program.read(text.json(y=text("divide", text("number", value=1), zero)))
            if want is None:
                with self.assertRaises(Undecided):
                    evaluate(program, {"x": [2.0]})
            else:
                self.assertEqual(certified(program, {"x": [2.0]}, "f16"), {"y": [want]})


if __name__ == "__main__":
    unittest.main()
