"""Tests of the second reader of programs: derivatives against differences, and what is a convention."""

import math
import random
import unittest

from mpmath import mp, mpf

import interval
from interval import Interval
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
        self.assertEqual(len(tried), 52)

    def gradient_of(self, values, cotangent, build, dtype="f64"):
        """The gradient in x of build(text, x)."""
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

        for build, values in ((maximum_of_halves, [NAN, 1.0]), (largest, [1.0, NAN]),
                              (lambda text, x: text("maximum", *[text("exp", x)] * 2), [0.1])):
            with self.assertRaises(Convention):
                self.gradient_of(values, [1.0], build)

    def test_outside_of_the_domain_are_nan(self):
        for op, outside in (("log", -2.0), ("log1p", -2.0), ("log", -INFINITY)):
            got, = self.gradient_of([outside], [1.0], lambda text, x, op=op: text(op, x))
            self.assertTrue(math.isnan(got), op)
        got, = self.gradient_of([-2.0], [1.0], lambda text, x: text("power", x, p=1, q=2))
        self.assertTrue(math.isnan(got))

    def test_of_powers_of_zero_are_limits(self):
        text = Text()
        x, y = text.array("x", 5), text.array("y", 5)
        program = Program.read(text.json(y=text("pow", x, y)))
        given = {"x": [0.0, 0.0, 0.0, 0.0, 2.0], "y": [0.0, 1.0, 2.0, 0.5, 0.0]}
        got = certified(program, given, "f64", {"y": [3.0] * 5})
        self.assertEqual(got["x"], [0, 3, 0, INFINITY, 0])
        self.assertEqual(got["y"][1:], [0, 0, 0, 3 * math.log(2)])
        self.assertEqual(got["y"][0], -INFINITY)

    def test_of_a_softmax_with_one_weight_are_zero(self):
        for values in ([3.5], [-INFINITY, 2.0, -INFINITY]):
            n = len(values)
            self.assertEqual(self.gradient_of(values, [0.1] * n, lambda text, x: text("softmax", x, axis=0)), [0] * n)

    def test_of_tanh_and_sigmoid_keep_their_bits_far_from_zero(self):
        mp.prec = 2000
        for op, slope in (("tanh", lambda x: 1 / mp.cosh(x)**2), ("sigmoid", lambda x: 1 / (2 + 2 * mp.cosh(x)))):
            got = self.gradient_of([300.0, -300.0, 1e5], [1.0] * 3, lambda text, x, op=op: text(op, x))
            self.assertEqual(got, [float(slope(mpf(300)))] * 2 + [0], op)


if __name__ == "__main__":
    unittest.main()
