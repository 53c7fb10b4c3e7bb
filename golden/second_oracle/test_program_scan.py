"""Tests of the second reader of programs: loops against the same programs without them, a copy of the body a turn."""

import json
import math
import random
import unittest

from mpmath import mpf
from mpmath.libmp import mpf_le

import interval
from program import Program, certified, evaluate, gradient
from program_gradient import Convention
from program_random import random_call
from program_text import Text
from test_program_gradient import agrees_with_differences, cotangents_of, number
from test_program_random import enclosures
from test_program_text import B, I, X, document, op


class Unrolling:
    """The text of a program without its loops; `outputs`: the index in the text of each output of the program."""

    def __init__(self, document):
        self.text = Text()
        nodes = self._copied(document["nodes"])
        self.outputs = {entry["name"]: nodes[entry["node"]] for entry in document["outputs"]}

    def _copied(self, nodes, given=None):
        """The index in the text of each node; `given`: the indices that stand for the inputs."""
        now, given = [], given and iter(given)
        for members in nodes:
            taken = [now[index] for index in members.get("in", [])]
            if members["op"] == "input" and given:
                now.append(next(given))
            elif members["op"] == "scan":
                now.append(self._turns(members, taken))
            else:
                rest = {name: value for name, value in members.items() if name not in ("op", "in")}
                now.append(self.text(members["op"], *taken, **rest))
        return now

    def _turns(self, scan, taken):
        body, carried, stepped = scan["body"], scan["carried"], scan["stepped"]
        shapes = [members["shape"] for members in body["nodes"] if members["op"] == "input"]
        outputs = [entry["node"] for entry in body["outputs"]]
        sizes = [Program.from_document(body, 1).nodes[index].size for index in outputs]
        parts = [[] for _ in outputs]
        for turn in range(scan["turns"]):
            given = [self._element(x, shape, turn) if carried <= k < carried + stepped else x
                     for k, (x, shape) in enumerate(zip(taken, shapes))]
            now = self._copied(body["nodes"], given)
            for k, (index, size) in enumerate(zip(outputs, sizes)):
                flat = self.text("reshape", now[index], shape=[size])
                parts[k] = [flat] if k < carried else [*parts[k], flat]
            taken = [now[index] for index in outputs[:carried]] + taken[carried:]
        return self.text("concatenate", *(flat for part in parts for flat in part), axis=0)

    def _element(self, x, shape, turn):
        rest = [0] * len(shape)
        box = self.text("slice", x, start=[turn, *rest], stop=[turn + 1, *shape], step=[1] * (1 + len(shape)))
        return self.text("reshape", box, shape=shape)


def unrolled(text):
    unrolling = Unrolling(json.loads(text))
    return Program.read(unrolling.text.json(**unrolling.outputs))


def recurrence(decay=None, *, size=2):
    """The body of s = a s + b; the decay may be another function of a."""
    text = Text()
    s, a, b = (text.array(name, size) for name in "sab")
    out = text("add", text("multiply", text(decay, a) if decay else a, s), b)
    return text.body(s=out, y=out)


def scan_of_recurrence(turns, size, decay=None):
    text = Text()
    s, a, b = text.array("s", size), text.array("a", turns, size), text.array("b", turns, size)
    flat = text("scan", s, a, b, turns=turns, carried=1, stepped=2, body=recurrence(decay, size=size))
    last = text("slice", flat, start=[0], stop=[size], step=[1])
    stack = text("slice", flat, start=[size], stop=[size + turns * size], step=[1])
    return text.json(last=last, stack=text("reshape", stack, shape=[turns, size]), flat=flat)


class scans(unittest.TestCase):
    def agree(self, text, inputs):
        """Values are the same intervals; gradients are the same numbers, and those of differences."""
        program, plain = Program.read(text), unrolled(text)
        interval.set_precision(200)
        values, plain_values = evaluate(program, inputs), evaluate(plain, inputs)
        for name in program.outputs:
            ends = [[(x.lo, x.hi) for x in one[name]] for one in (values, plain_values)]
            self.assertEqual(*ends, name)
        agrees_with_differences(self, program, inputs, text)
        cotangents = cotangents_of(program, random.Random(3))
        ours, theirs = (gradient(one, inputs, cotangents) for one in (program, plain))
        self.assertEqual(set(ours), set(theirs))
        for name, elements in ours.items():
            for x, y in zip(elements, theirs[name], strict=True):
                self.assertLess(abs(number(x) - number(y)), mpf(2)**-900 * (1 + abs(number(y))), name)

    def reals(self, program, seed=1):
        draws = random.Random(seed)
        return {name: [draws.uniform(-2, 2) for _ in range(program.nodes[index].size)]
                for name, index in program.inputs.items() if program.nodes[index].kind == "real"}

    def test_of_a_linear_recurrence_are_those_of_its_turns(self):
        for turns, size, decay in ((1, 1, None), (5, 3, None), (4, 2, "sigmoid"), (3, 0, None)):
            text = scan_of_recurrence(turns, size, decay)
            program = Program.read(text)
            self.assertEqual(program.nodes[program.outputs["flat"]].shape, [size + turns * size])
            self.agree(text, self.reals(program))

    def test_of_a_linear_recurrence_by_hand(self):
        program = Program.read(scan_of_recurrence(3, 1))
        inputs = {"s": [10.0], "a": [2.0, 3.0, -1.0], "b": [1.0, 0.0, 5.0]}
        got = certified(program, inputs, "f32")
        self.assertEqual(got, {"last": [-58], "stack": [21, 63, -58], "flat": [-58, 21, 63, -58]})
        bars = {"last": [1.0], "stack": [0.0, 10.0, 0.0]}
        self.assertEqual(certified(program, inputs, "f32", bars), {"s": [54], "a": [270, 189, 63], "b": [27, 9, 1]})

    def test_of_all_that_a_body_takes(self):
        """Two carried arrays that change places, whole arrays of all kinds, one array in two roles, constants."""
        body = Text()
        p, q = body.array("p", 2), body.array("q", 2)
        step, t = body.array("step", 2, 3), body.array("t", kind="integer")
        table, offset = body.array("table", 4, 2), body.array("at", 1, kind="integer")
        keep = body.array("keep", kind="boolean")
        x = body.array("x", 3, 2, 3)
        row = body("reshape", body("gather", table, body("add", offset, t), axis=0), shape=[2])
        mixed = body("add", body("contract", step, body("sum", x, axes=[0]), of="ad,ad->a"), row)
        new = body("where", keep, body("multiply", p, mixed), body("tanh", p))
        outputs = body.body(p=q, q=new, pairs=body("contract", p, q, of="a,b->ab"), one=body("number", value=0.5))
        text = Text()
        x, table = text.array("x", 3, 2, 3), text.array("table", 4, 2)
        p = text("reshape", text("slice", x, start=[0, 0, 0], stop=[1, 2, 1], step=[1, 1, 1]), shape=[2])
        offset = text("data", kind="integer", shape=[1], values=[1])
        for keep in (True, False):
            flat = text("scan", p, p, x, text("iota", size=3), table, offset, text("boolean", value=keep), x,
                        turns=3, carried=2, stepped=2, body=outputs)
            self.assertEqual(Program.read(text.json(y=flat)).nodes[-1].shape, [2 + 2 + 3 * 4 + 3])
            self.agree(text.json(y=flat), self.reals(Program.read(text.json(y=flat))))

    def test_that_give_what_no_input_changes(self):
        """No array is carried or stepped; all turns give the same."""
        body, text = Text(), Text()
        flat = text("scan", text.array("x", 2), turns=3, carried=0, stepped=0,
                    body=body.body(y=body("exp", body.array("x", 2))))
        self.agree(text.json(y=flat), {"x": [0.5, -1.5]})

    def test_in_scans(self):
        """In each of two turns a recurrence of three, whose last s is what is carried."""
        body, text = Text(), Text()
        s, a, b = body.array("s", 2), body.array("a", 3, 2), body.array("b", 3, 2)
        flat = body("scan", s, a, b, turns=3, carried=1, stepped=2, body=recurrence("sigmoid"))
        last = body("slice", flat, start=[0], stop=[2], step=[1])
        outer = body.body(s=body("multiply", last, body("sum", b, axes=[0])), all=flat)
        s, a, b = text.array("s", 2), text.array("a", 2, 3, 2), text.array("b", 3, 2)
        text = text.json(y=text("scan", s, a, b, turns=2, carried=1, stepped=1, body=outer))
        program = Program.read(text)
        self.assertEqual(program.nodes[-1].shape, [2 + 2 * 8])
        self.agree(text, self.reals(program))

    def test_let_pass_what_the_turns_without_a_loop_do(self):
        """|s| x: the first s is a number, and has no derivative at 0; the next ones hang on x."""
        def program(first):
            body, text = Text(), Text()
            x = text.array("x", 2)
            s, factor = body.array("s"), body.array("x")
            given = body.body(s=body("add", body("magnitude", s), factor))
            start = text("detach", text.array("s")) if first == "detached" else text.array("s")
            return text.json(y=text("scan", start, x, turns=2, carried=1, stepped=1, body=given))
        inputs, bars = {"s": [0.0], "x": [-3.0, 1.0]}, {"y": [2.0]}
        for read in (Program.read, unrolled):
            self.assertEqual(certified(read(program("detached")), inputs, "f32", bars), {"s": [0], "x": [-2, 2]})
            with self.assertRaisesRegex(Convention, "the magnitude of 0"):
                gradient(read(program("free")), inputs, bars)

    def test_give_nothing_of_what_reaches_no_output(self):
        """The square root of 0 has an infinite slope, and no product of it with 0 arises."""
        body, text = Text(), Text()
        x = body.array("x")
        inner = body.body(x=body("power", x, p=1, q=2), y=body("power", x, p=2, q=1))
        flat = text("scan", text("reshape", text.array("x", 1), shape=[]), turns=1, carried=1, stepped=0, body=inner)
        program = Program.read(text.json(y=text("slice", flat, start=[1], stop=[2], step=[1]), z=flat))
        self.assertEqual(certified(program, {"x": [0.0]}, "f32", {"y": [3.0]}), {"x": [0]})
        got, = certified(program, {"x": [0.0]}, "f32", {"z": [0.0, 3.0]})["x"]
        self.assertTrue(math.isnan(got))

    def test_at_random_are_those_of_their_turns(self):
        draws, values, gradients, loops = random.Random(21), 0, 0, 0
        while loops < 100:
            text, inputs = random_call(draws, 8)
            program = Program.read(text)
            if not any(node.op == "scan" for node in program.nodes):
                continue
            loops, plain = loops + 1, unrolled(text)
            for name, index in program.outputs.items():
                try:
                    x, y = (enclosures(200, evaluate, one, inputs, [name]) for one in (program, plain))
                except ValueError:  # an integer of more than 64 bits
                    continue
                self.assertEqual(x is None, y is None, text)
                if x is not None and program.nodes[index].kind == "real":
                    values += 1
                    self.assertEqual(*[[(e.lo, e.hi) for e in one[name]] for one in (x, y)], text)
                    bars = {name: [1.0, -2.0, 0.5, 3.0, 1.5, -0.25]}
                    x, y = (enclosures(200, gradient, one, inputs, bars) for one in (program, plain))
                    if x is not None and y is not None:
                        gradients += 1
                        self.meet(x, y, text)
        self.assertGreater(values, 300)
        self.assertGreater(gradients, 200)

    def meet(self, x, y, text):
        """Enclosures of the same elements must overlap, since both hold the truth."""
        self.assertEqual(set(x), set(y))
        for name in x:
            for one, other in zip(x[name], y[name], strict=True):
                self.assertEqual(one.is_nan, other.is_nan, text)
                self.assertTrue(one.is_nan or (mpf_le(one.lo, other.hi) and mpf_le(other.lo, one.hi)), text)


def body(*nodes, outputs=(0,)):
    return {"nodes": list(nodes), "outputs": [{"name": f"y{k}", "node": node} for k, node in enumerate(outputs)]}


def scan(*inputs, turns=2, carried=0, stepped=1, nodes, outputs=(0,)):
    return op("scan", *inputs, turns=turns, carried=carried, stepped=stepped, body=body(*nodes, outputs=outputs))


ROW = X | {"shape": [3]}  # the part of X that a turn takes
SUM = op("sum", 0, axes=[0])
GOOD = scan(0, nodes=[ROW])
# The node after X, I and B (0, 1, 2), and a part of the message that refuses it.
REFUSED = [
    (GOOD | {"turns": 0}, "turns of scan"), (GOOD | {"turns": 2.0}, "turns of scan"),
    (GOOD | {"turns": True}, "turns of scan"), (GOOD | {"turns": 2**31 + 1}, "turns of scan"),
    (GOOD | {"carried": -1}, "carried of scan"), (GOOD | {"stepped": -1}, "stepped of scan"),
    (GOOD | {"stepped": "1"}, "stepped of scan"), (GOOD | {"body": [ROW]}, "body of scan"),
    (GOOD | {"more": 1}, "scan has no member 'more'"), (GOOD | {"body": {"nodes": []}}, "members nodes and outputs"),
    (GOOD | {"body": json.loads(document(ROW))}, "members nodes and outputs"),
    ({name: value for name, value in GOOD.items() if name != "body"}, "needs the member 'body'"),
    (op("scan", turns=1, carried=0, stepped=0, body=body(op("pi"))), "needs the member 'in'"),
    (GOOD | {"in": []}, "scan has 1 inputs, not 0"), (GOOD | {"in": [3]}, "3 is no earlier node"),
    (GOOD | {"carried": 1}, "1 carried and 1 stepped arrays of 1"), (GOOD | {"stepped": 2}, "0 carried and 2 stepped"),
    (GOOD | {"stepped": 2**62, "carried": 2**62}, "stepped arrays of 1"),
    (GOOD | {"turns": 3}, "takes [3, 3], not [2, 3]"), (GOOD | {"in": [0, 0]}, "has 1 inputs, not 2"),
    (GOOD | {"in": [1]}, "is a real, not a integer"),
    (scan(0, nodes=[X]), "takes [2, 2, 3], not [2, 3]"), (scan(0, nodes=[X | {"shape": []}]), "takes [2], not [2, 3]"),
    (scan(0, stepped=0, nodes=[ROW]), "takes [3], not [2, 3]"), (scan(0, nodes=[I | {"shape": [3]}]), "is a integer"),
    (scan(0, nodes=[ROW, X | {"name": "y"}]), "has 2 inputs, not 1"),
    (scan(0, nodes=[op("pi")]), "has 0 inputs, not 1"),
    (scan(0, nodes=[ROW, ROW]), "node 1: a second input 'x'"), (scan(0, nodes=[ROW], outputs=[]), "has 0 outputs"),
    (scan(0, 0, carried=2, stepped=0, nodes=[X, X | {"name": "y"}]), "has 1 outputs"),
    (scan(0, nodes=[ROW], outputs=[1]), "there is no node 1"),
    (scan(0, nodes=[ROW, op("is_nan", 0)], outputs=[0, 1]), "output 1 of its body is no real"),
    (scan(0, carried=1, stepped=0, nodes=[X, SUM], outputs=[1]), "output 0 of its body is not what is carried"),
    (scan(1, carried=1, stepped=0, nodes=[I]), "output 0 of its body is no real"),
    (scan(1, carried=1, stepped=0, nodes=[I, op("to_real", 0)], outputs=[1]), "output 0 of its body is not what is"),
    (scan(0, stepped=0, nodes=[X, op("reshape", 0, shape=[1] * 6 + [2, 3])], outputs=[1]), "no axis left"),
    (scan(0, nodes=[ROW, op("exp", 2)]), "node 1: 2 is no earlier node"),
    (scan(0, nodes=[ROW, op("add", 0, 0, 0)]), "node 1: add has 2 inputs"),
    (scan(0, turns=2**31, stepped=0, nodes=[X]), "more than 67108864 elements"),
]


class reading(unittest.TestCase):
    def refuse(self, text, *parts):
        with self.assertRaises(ValueError) as caught:
            Program.read(text)
        for part in parts:
            self.assertIn(part, str(caught.exception))

    def test_refuses_a_scan_and_says_why(self):
        Program.read(document(X, I, B, GOOD))
        for node, part in REFUSED:
            self.refuse(document(X, I, B, node), "node 3: ", part)

    def test_nests_loops_four_deep(self):
        whole = {"turns": 1, "carried": 0, "stepped": 0}
        node = op("exp", 0)
        for _ in range(4):
            node = op("scan", 0, **whole, body=body(ROW, node, outputs=[1]))
        self.assertEqual(Program.read(document(ROW, node)).nodes[-1].shape, [3])
        node = op("scan", 0, **whole, body=body(ROW, node, outputs=[1]))
        self.refuse(document(ROW, node), "node 1: node 1: ", "loops are nested more than 4 deep")

    def test_counts_nodes_and_elements_with_those_of_bodies(self):
        half = scan(0, nodes=[ROW, *[op("pi")] * (2**15 - 2)])
        Program.read(document(X, half, *[op("pi")] * (2**15 - 1)))
        self.refuse(document(X, half, *[op("pi")] * 2**15), "node 32769: more than 65536 nodes in all")
        self.refuse(document(X, half, half), "node 2: more than 65536 nodes in all")
        large = scan(0, nodes=[ROW, *[op("iota", size=2**26)] * 8])
        self.refuse(document(X, large, large), "node 2: more than 1073741824 elements in all")


if __name__ == "__main__":
    unittest.main()
