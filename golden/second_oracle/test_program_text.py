"""Tests of the reading of programs and of inputs: each refusal, with the node and what is wrong; the command."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

from program import Program, certified, evaluate
from program_text import Text

HERE = os.path.dirname(os.path.abspath(__file__))
X = {"op": "input", "name": "x", "kind": "real", "shape": [2, 3]}
I = {"op": "input", "name": "i", "kind": "integer", "shape": [2]}
B = {"op": "input", "name": "b", "kind": "boolean", "shape": [3]}


def document(*nodes, outputs=(), **members):
    return json.dumps({"schema": "assay-program/1", "nodes": nodes, "outputs": list(outputs)} | members)


def op(operator, /, *inputs, **attributes):
    return {"op": operator} | ({"in": list(inputs)} if inputs else {}) | attributes


# The node after X, I and B (0, 1, 2), and a part of the message that refuses it.
REFUSED = [
    (op("cosh", 0), "unknown operator 'cosh'"), ({"in": [0]}, "unknown operator None"), (["exp", 0], "no object"),
    (op("exp", 0, axis=0), "exp has no member 'axis'"), (op("sum", 0), "sum needs the member 'axes'"),
    (op("pi", **{"in": []}), "pi has no member 'in'"), (op("exp"), "exp needs the member 'in'"),
    (op("exp", 3), "3 is no earlier node"), (op("exp", -1), "-1 is no earlier node"),
    (op("exp", 7), "7 is no earlier"), (op("exp", 0.0), "0.0 is no earlier node"),
    (op("exp", True), "True is no earlier"), (op("exp", **{"in": 0}), "no list"),
    (op("exp", 0, 0), "exp has 1 inputs, not 2"), (op("add", 0), "add has 2 inputs, not 1"),
    (op("concatenate", axis=0, **{"in": []}), "inputs"), (op("exp", 0, stage=3), "stage"),
    (op("exp", 0, stage=""), "stage"), (op("exp", 1), "exp of a integer"), (op("add", 0, 1), "add of two kinds"),
    (op("add", 2, 2), "add of a boolean"), (op("divide", 1, 1), "divide of a integer"),
    (op("floor_divide", 0, 0), "floor_divide of a real"), (op("and", 1, 1), "and of a integer"),
    (op("where", 0, 0, 0), "where of a real"), (op("where", 2, 0, 1), "two kinds"),
    (op("to_real", 0), "to_real of a real"), (op("to_integer", 1), "to_integer of a integer"),
    (op("any", 0, axes=[0]), "of a"), (op("sum", 1, axes=[0]), "sum of a integer"),
    (op("cumulative_sum", 2, axis=0), "of a boolean"), (op("is_nan", 1), "of a"),
    (op("gather", 0, 0, axis=0), "gather of a real"), (op("update", 0, 1, start=[0, 0]), "two kinds"),
    (op("concatenate", 1, 2, axis=0), "two kinds"), (op("equal", 2, 2), "of a boolean"),
    (op("detach", 1), "of a integer"), (op("input", name="x", kind="real", shape=[]), "a second input 'x'"),
    (X | {"name": ""}, "name of input"), (X | {"kind": "complex"}, "kind of input"),
    (X | {"name": "y", "shape": [-1]}, "shape of input"), (X | {"name": "y", "shape": 3}, "shape of input"),
    (X | {"name": "y", "shape": [1.0]}, "shape of input"), (X | {"name": "y", "shape": [1] * 9}, "more than 8 axes"),
    (X | {"name": "y", "shape": [2**13, 2**13, 2]}, "elements"),
    (op("iota", size=2**26 + 1), "more than 67108864 elements"), (op("iota", size=-1), "size of iota"),
    (op("number", value="NaN"), "value of number"), (op("number", value=True), "value"),
    (op("number", value=10**400), "value"), (op("fraction", numerator=1, denominator=0), "denominator"),
    (op("fraction", numerator=2**53, denominator=1), "numerator"), (op("integer", value=2**63), "value of integer"),
    (op("integer", value=1.0), "value"), (op("boolean", value=1), "value"),
    (op("power", 0, p=2, q=4), "common divisor"), (op("power", 0, p=0, q=2), "common"),
    (op("power", 0, p=1, q=0), "q of power"), (op("power", 0, p=2**31, q=1), "p of power"),
    (op("power", 0, p=1, q=-2), "q of power"), (op("add", 0, 4), "earlier"), (op("less", 0, 1), "two kinds"),
    (op("reshape", 0, shape=[4]), "has other elements than"), (op("reshape", 0, shape=[-1]), "shape of reshape"),
    (op("transpose", 0, axes=[0]), "no permutation"), (op("transpose", 0, axes=[0, 0]), "no permutation"),
    (op("broadcast", 0, shape=[3]), "does not broadcast"), (op("broadcast", 0, shape=[2, 1]), "does not broadcast"),
    (op("broadcast", 0, shape=[3, 3]), "do not broadcast"),
    (op("slice", 0, start=[0, 0], stop=[2, 4], step=[1, 1]), "leaves an axis of 3"),
    (op("slice", 0, start=[0], stop=[2], step=[1]), "one integer an axis"),
    (op("slice", 0, start=[0, 0], stop=[2, 3], step=[1, 0]), "out of range"),
    (op("slice", 0, start=[-1, 0], stop=[2, 3], step=[1, 1]), "out of range"),
    (op("slice", 0, start=[0, 0], stop=[2, -1], step=[1, 1]), "out of range"),
    (op("slice", 0, start=[1, 3], stop=[-1, -1], step=[-1, -1]), "leaves an axis of 3"),
    (op("concatenate", 0, 0, axis=2), "axis 2 is none of 2"), (op("softmax", 0, axis=-1), "axis -1 is none"),
    (op("gather", 0, 1, axis=2), "axis 2"), (op("take_along", 0, 1, axis=0), "differ beside axis 0"),
    (op("scatter_add", 0, 1, 0, axis=1), "is added where"), (op("scatter_add", 1, 1, 1, axis=0), "of a integer"),
    (op("scatter_add_along", 0, 1, 0, axis=0), "differ beside"), (op("largest_share", 0, axes=[]), "distinct"),
    (op("update", 0, 0, start=[0, 1]), "leaves the array"), (op("update", 0, 0, start=[0]), "numbers of axes"),
    (op("sum", 0, axes=[]), "distinct, ascending"), (op("sum", 0, axes=[1, 0]), "distinct"),
    (op("sum", 0, axes=[1, 1]), "distinct"), (op("sum", 0, axes=[2]), "distinct, ascending"),
    (op("all", 2, axes=[-1]), "distinct"), (op("sum", 0, axes=1), "axes of sum"),
    (op("contract", 0, 0, of="nd,md"), "of of contract"), (op("contract", 0, 0, of="nn,md->nm"), "of of contract"),
    (op("contract", 0, 0, of="nd,md->nn"), "of of contract"), (op("contract", 0, 0, of="n,md->nm"), "other axes"),
    (op("contract", 0, 0, of="nd,dm->nm"), "d has two sizes"),
    (op("contract", 0, 0, of="nd,md->nmk"), "in no operand"),
    (op("contract", 0, 0, of="nd,md->n"), "one operand alone"),
    (op("contract", 0, 0, of="n d,md->nm"), "of of contract"),
]


class reading(unittest.TestCase):
    def refuse(self, text, *parts):
        with self.assertRaises(ValueError) as caught:
            Program.read(text)
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_refuses_a_node_and_says_which_and_why(self):
        Program.read(document(X, I, B))
        for node, part in REFUSED:
            self.refuse(document(X, I, B, node), "node 3: ", part)

    def test_refuses_shapes_that_do_not_broadcast_and_means_of_nothing(self):
        empty = X | {"shape": [0, 3]}
        for operator in ("mean", "largest"):
            self.refuse(document(empty, op(operator, 0, axes=[0])), "node 1: of no elements")
            self.assertEqual(Program.read(document(empty, op(operator, 0, axes=[1]))).nodes[1].shape, [0])
        self.refuse(document(X, I | {"kind": "real"}, op("add", 0, 1)), "node 2: ", "[2, 3], [2]")

    def test_refuses_what_is_no_document(self):
        good = {"schema": "assay-program/1", "nodes": [X], "outputs": []}
        Program.read(json.dumps(good))
        for wrong in ({"schema": "assay-program/2"}, {"nodes": {}}, {"outputs": {}}, {"more": 1}):
            self.refuse(json.dumps(good | wrong))
        for name in good:
            self.refuse(json.dumps({key: value for key, value in good.items() if key != name}), "members")
        self.refuse(document(*[op("pi")] * (2**16 + 1)), "65536")
        self.refuse('{"schema": "assay-program/1", "nodes": [{"op": "pi", "op": "pi"}], "outputs": []}', "twice")
        self.refuse('{"schema": "assay-program/1", "nodes": [{"op": "number", "value": NaN}], "outputs": []}', "NaN")
        for text in ("", "[]", "7", "{", "[" * 100000):
            self.refuse(text)
        many = [op("iota", size=2**26)] * 17
        self.refuse(document(*many), "node 16: more than 1073741824 elements in all")
        Program.read(document(*many[1:]))

    def test_refuses_outputs(self):
        for outputs, part in (([{"name": "y"}], "output 0"), ([{"name": "", "node": 0}], "output 0"), ([3], "output 0"),
                              ([{"name": "y", "node": 0}] * 2, "output 1"), ([{"name": "y", "node": 1}], "no node 1"),
                              ([{"name": "y", "node": -1}], "no node -1"), ([{"name": "y", "node": 0, "a": 1}], "0")):
            self.refuse(document(X, outputs=outputs), part)

    def test_keeps_numbers_as_they_are(self):
        text = '{"schema": "assay-program/1", "nodes": [{"op": "number", "value": %s}, {"op": "number", "value": 1},' \
               '{"op": "divide", "in": [1, 0]}], "outputs": [{"name": "y", "node": 2}]}'
        for spelled, value in (("0", math.inf), ("-0", -math.inf), ("-0.0", -math.inf), ("0.5", 2), ('"-inf"', 0)):
            self.assertEqual(certified(Program.read(text % spelled), {}, "f64"), {"y": [value]}, spelled)


class evaluation(unittest.TestCase):
    def refuse(self, part, operator, *inputs, given, **attributes):
        program = Program.read(document(X, I, B, op(operator, *inputs, **attributes), outputs=[{"name": "y", "node": 3}]))
        with self.assertRaises(ValueError) as caught:
            evaluate(program, given)
        self.assertIn(part, str(caught.exception))

    def test_refuses_integers_of_more_than_64_bits_and_divisions_by_0(self):
        smallest, half = -2**63, 2**62
        self.refuse("node 3: 9223372036854775808 has more than 64 bits", "add", 1, 1, given={"i": [0, half]})
        self.refuse("64 bits", "multiply", 1, 1, given={"i": [0, half]})
        self.refuse("64 bits", "negative", 1, given={"i": [0, smallest]})
        self.refuse("64 bits", "magnitude", 1, given={"i": [smallest, 0]})
        self.refuse("64 bits", "cumulative_sum", 1, axis=0, given={"i": [smallest, -1]})
        self.refuse("divided by 0", "floor_divide", 1, 1, given={"i": [1, 0]})
        self.refuse("divided by 0", "remainder", 1, 1, given={"i": [1, 0]})
        two = Text()
        i, j = two.array("i", 1, kind="integer"), two.array("j", 1, kind="integer")
        for operator in ("subtract", "floor_divide"):
            program = Program.read(two.json(y=two(operator, i, j)))
            with self.assertRaisesRegex(ValueError, "64 bits"):
                evaluate(program, {"i": [smallest], "j": [1 if operator == "subtract" else -1]})

    def test_refuses_indices_outside(self):
        for indices in ([0, 2], [-1, 0]):
            self.refuse("outside of an axis of 2", "gather", 0, 1, axis=0, given={"x": [1.0] * 6, "i": indices})

    def test_refuses_inputs(self):
        for given, part in (({}, "missing"), ({"x": [1.0] * 5}, "5 elements, not 6"), ({"x": ["one"] * 6}, "no double"),
                            ({"x": [True] * 6}, "no double"), ({"z": []}, "no input 'z'")):
            self.refuse(part, "exp", 0, given=given)
        self.refuse("no integer", "negative", 1, given={"i": [1.0, 2]})
        self.refuse("no integer", "negative", 1, given={"i": [2**63, 2]})
        self.refuse("no boolean", "not", 2, given={"b": [1, 0, 1]})

    def test_needs_the_inputs_of_the_outputs_that_are_wanted_alone(self):
        outputs = [{"name": "x", "node": 0}, {"name": "y", "node": 2}]
        program = Program.read(document(X, I, op("negative", 1), outputs=outputs))
        self.assertEqual(evaluate(program, {"i": [3, 4]}, ["y"]), {"y": [-3, -4]})


class command(unittest.TestCase):
    PROGRAM = document(X, I, B, op("log", 0), op("negative", 1), op("not", 2), op("magnitude", 0), outputs=[
        {"name": "y", "node": 3}, {"name": "n", "node": 4}, {"name": "no", "node": 5}])
    GIVEN = {"x": {"shape": [2, 3], "values": [1, 0.0, -1, "inf", "nan", 2]},
             "i": {"shape": [2], "values": [2**62, -3]}, "b": {"shape": [3], "values": [True, False, False]}}

    def run_on(self, program, given, *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("program.json", "inputs.json")]
            for path, text in zip(paths, (program, json.dumps(given))):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return subprocess.run([sys.executable, "-B", os.path.join(HERE, "program.py"), *paths, *options],
                                  capture_output=True, text=True, check=False)

    def test_prints_outputs(self):
        run = self.run_on(self.PROGRAM, self.GIVEN, "--dtype", "f32")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout), {
            "y": {"shape": [2, 3], "values": ["0x0.0p+0", "-inf", "nan", "inf", "nan", "0x1.62e4300000000p-1"]},
            "n": {"shape": [2], "values": [-2**62, 3]}, "no": {"shape": [3], "values": [False, True, True]}})

    def test_prints_gradients(self):
        given = self.GIVEN | {"grad_y": {"shape": [2, 3], "values": [1, 0.5, 1, 1, 1, -3]}}
        run = self.run_on(self.PROGRAM, given, "--gradient", "--dtype", "f16")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout), {"grad_x": {"shape": [2, 3], "values": [
            "0x1.0000000000000p+0", "inf", "nan", "0x0.0p+0", "nan", "-0x1.8000000000000p+0"]}})

    def test_ends_with_a_code_for_each_reason(self):
        cotangent = {"grad_y": {"shape": [2, 3], "values": [1] * 6}}
        magnitude = document(X, op("magnitude", 0), outputs=[{"name": "y", "node": 1}])
        third = document(X, op("log", 0), op("exp", 1), op("floor", 2), outputs=[{"name": "y", "node": 3}])
        x = {"x": {"shape": [2, 3], "values": [3, 0, 0, 0, 0, 0]}}
        for program, given, options, code, part in (
                (self.PROGRAM, {}, (), 2, "'x' is missing"), ("[]", {}, (), 2, "members"),
                (magnitude, [], (), 2, "no object"),
                (magnitude, {"x": {"shape": [6], "values": [1] * 6}}, (), 2, "shape [6], not [2, 3]"),
                (magnitude, {"x": {"shape": [2, 3], "values": [[1] * 3] * 2}}, (), 2, "2 elements"),
                (magnitude, {"x": [1] * 6}, (), 2, "no shape"), (magnitude, x, ("--gradient",), 2, "grad_y is missing"),
                (magnitude, x | cotangent, (), 2, "no input 'grad_y'"), (third, x, (), 3, "node 3 (floor)"),
                (magnitude, x | cotangent, ("--gradient",), 4, "node 1 (magnitude): the magnitude of 0")):
            run = self.run_on(program, given, *options, "--dtype", "f32")
            self.assertEqual(run.returncode, code, (part, run.stdout, run.stderr))
            self.assertIn(part, run.stderr)


if __name__ == "__main__":
    unittest.main()
