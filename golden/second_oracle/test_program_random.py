"""Tests of the second reader of programs: random programs, whose enclosures of few bits must hold those of many."""

import math
import random
import unittest

from mpmath.libmp import mpf_le

import interval
from interval import Undecided
from program import Program, evaluate, gradient
from program_gradient import Convention
from program_text import Text

UNARY = ["negative", "magnitude", "exp", "log", "log1p", "sin", "cos", "sine_of_angle",
         "cosine_of_angle", "tanh", "erf", "sigmoid", "softplus", "log_sigmoid",
         "floor", "rounded_once"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "log_add_exp",
          "right_as_well", "another_way", "off_by"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-300, -1e300]


def append(text, draws, x, y):
    """A node of 3 elements, made of two earlier ones."""
    kind = draws.choice(["unary"] * 3 + ["binary"] * 3 + ["whole power", "root", "row", "reduced", "where", "contract"])
    if kind == "unary":
        return text(draws.choice(UNARY), x)
    if kind == "binary":
        return text(draws.choice(BINARY), x, y)
    if kind == "whole power":
        return text("power", x, p=draws.choice([-3, -2, -1, 1, 2, 3]), q=1)
    if kind == "root":
        return text("power", x, p=draws.choice([-3, -1, 1, 5]), q=draws.choice([2, 4]))
    if kind == "row":
        return text(draws.choice(["softmax", "cumulative_sum"]), x, axis=0)
    if kind == "reduced":
        return text("broadcast", text(draws.choice(["sum", "mean", "largest", "log_sum_exp"]), x, axes=[0]), shape=[3])
    if kind == "where":
        return text("where", text(draws.choice(["less", "less_equal", "equal"]), x, y), y, x)
    return text("broadcast", text("contract", x, y, of="a,a->"), shape=[3])


def random_program(draws, count):
    """A program whose nodes of 3 elements are all outputs."""
    text = Text()
    nodes = [text.array("x", 3), text.array("y", 3)]
    for _ in range(count):
        nodes.append(append(text, draws, *(draws.choice(nodes[-6:]) for _ in "xy")))
    return Program.read(text.json(**{str(node): node for node in nodes}))


def random_input(draws):
    return draws.choice(SPECIAL) if draws.random() < 0.1 else math.ldexp(draws.uniform(-1, 1), draws.randint(-20, 3))


def lies_in(exact, wide):
    """Whether an enclosure of many bits lies in one of few bits."""
    if exact.is_nan or wide.is_nan:
        return exact.is_nan and wide.is_nan
    return mpf_le(wide.lo, exact.lo) and mpf_le(exact.hi, wide.hi)


def enclosures(bits, function, *arguments):
    """The enclosures at this precision; None if it does not decide them."""
    interval.set_precision(bits)
    try:
        return function(*arguments)
    except (Undecided, Convention):
        return None


class random_programs(unittest.TestCase):
    def compare(self, what, function, *arguments):
        """Checks that enclosures of 40 bits hold those of 800; False if one precision does not decide them."""
        wide, exact = (enclosures(bits, function, *arguments) for bits in (40, 800))
        if wide is None or exact is None:
            return False
        for name, elements in exact.items():
            for x, y in zip(elements, wide[name], strict=True):
                self.assertTrue(lies_in(x, y), (name, what, arguments[1]))
        return True

    def test_have_enclosures_of_few_bits_that_hold_those_of_many(self):
        draws, values, gradients = random.Random(12), 0, 0
        for _ in range(300):
            program = random_program(draws, 8)
            operators = [node.op for node in program.nodes]
            inputs = {name: [random_input(draws) for _ in range(3)] for name in "xy"}
            values += sum(self.compare(operators, evaluate, program, inputs, [name]) for name in program.outputs)
            last = {name: [1.0, -2.0, 0.5] for name in list(program.outputs)[-1:]}
            gradients += self.compare(operators, gradient, program, inputs, last)
        self.assertGreater(values, 2400)
        self.assertGreater(gradients, 150)


if __name__ == "__main__":
    unittest.main()
