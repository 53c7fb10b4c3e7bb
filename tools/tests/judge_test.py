#!/usr/bin/env python3
"""`assay truth` and `assay judge`: one call, its truth, what is allowed, and what is said of outputs.

Run by CTest with ASSAY set to the program.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "adapters", "python"))
from assay.tensors import read_safetensors, write_safetensors

ASSAY = os.environ["ASSAY"]


class Judge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        random = numpy.random.default_rng(1)
        cls.x = random.normal(size=(2, 16, 4, 64)).astype(numpy.float32)
        cls.rotation = cls.file("rotation", x=("F32", cls.x), position=("I64", numpy.tile(numpy.arange(16), (2, 1))))

    @classmethod
    def file(cls, name, **tensors):
        path = os.path.join(cls.folder.name, name + ".safetensors")
        write_safetensors(path, tensors)
        return path

    def run_assay(self, code, *arguments, said=""):
        done = subprocess.run([ASSAY, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertIn(said, done.stdout + done.stderr)
        return done.stdout

    def truth(self, operation, inputs, *arguments):
        out = os.path.join(self.folder.name, "truth.safetensors")
        self.run_assay(0, "truth", operation, "--inputs", inputs, "--out", out, *arguments)
        return read_safetensors(out)

    def test_truth_of_a_formula_that_numpy_knows(self):
        truth = self.truth("rope/rotate", self.rotation, "--set", "layout=half_split", "--set", "base=100.0")
        angle = numpy.arange(16)[:, None, None] * 100.0 ** (-numpy.arange(32) / 32)
        first, second = self.x[..., :32].astype(float), self.x[..., 32:].astype(float)
        expected = numpy.concatenate([first * numpy.cos(angle) - second * numpy.sin(angle),
                                      first * numpy.sin(angle) + second * numpy.cos(angle)], -1)
        stored, y = truth["y"]
        self.assertEqual(stored, "F32")
        numpy.testing.assert_array_equal(y, expected.astype(numpy.float32))
        self.assertEqual(truth["y:allowed"][0], "F64")
        self.assertTrue((truth["y:allowed"][1] >= numpy.abs(y - expected)).all())

    def test_a_wider_allowance_is_that_of_less_precise_arithmetic(self):
        inputs = self.file("bf16", x=("BF16", (self.x.view(numpy.uint32) >> 16).astype(numpy.uint16)),
                           position=("I64", numpy.tile(numpy.arange(16), (2, 1))))
        usual = self.truth("rope/rotate", inputs)["y:allowed"][1]
        wide = self.truth("rope/rotate", inputs, "--compute", "angle=bf16,table=bf16,product=bf16")["y:allowed"][1]
        self.assertTrue((wide > 10 * usual).any())
        self.assertTrue((wide >= 0.8 * usual).all())  # what is held exactly is told stage by stage

    def test_outputs_are_judged(self):
        right = self.file("right", y=self.truth("rope/rotate", self.rotation, "--set", "layout=half_split")["y"])
        call = ("judge", "rope/rotate", "--inputs", self.rotation, "--outputs", right)
        self.run_assay(0, *call, "--set", "layout=half_split", said="right: 8192 elements, the largest error 0.")
        self.run_assay(1, *call, said='declared layout = "interleaved", behaves as layout = "half_split"')
        wrong = read_safetensors(right)["y"][1].copy()
        wrong[1, 2, 3, 4] += 1e-3
        self.run_assay(1, *call[:-1], self.file("wrong", y=("F32", wrong)), "--set", "layout=half_split",
                       said="wrong: y[1, 2, 3, 4]: expected ")

    def test_gradients_are_judged(self):
        inputs = self.file("gradient", x=("F32", self.x), grad_y=("F32", self.x[::-1].copy()),
                           position=("I64", numpy.tile(numpy.arange(16), (2, 1))))
        truth = self.truth("rope/rotate:vjp", inputs)
        outputs = self.file("of_x", grad_x=truth["grad_x"])
        self.run_assay(0, "judge", "rope/rotate:vjp", "--inputs", inputs, "--outputs", outputs, said="right: ")
        forwards = self.file("forwards", grad_x=("F32", self.x))
        self.run_assay(1, "judge", "rope/rotate:vjp", "--inputs", inputs, "--outputs", forwards, said="wrong: grad_x[")

    def test_a_class_can_be_asked_for(self):
        shape = (1, 4096, 2)
        inputs = self.file("scan", log_p=("F32", numpy.full(shape, -1e-4, numpy.float32)),
                           h=("F32", numpy.zeros(shape, numpy.float32)), s0=("F32", numpy.zeros((1, 2), numpy.float32)))
        truth = self.truth("heinsen/scan", inputs)
        allowed = self.truth("heinsen/scan", inputs, "--class", "sequential")["s:allowed"][1]
        self.assertTrue((allowed <= truth["s:allowed"][1]).all())
        s = (truth["s"][1] + 0.5 * truth["s:allowed"][1]).astype(numpy.float32)
        outputs = self.file("far", s=("F32", s), s_n=("F32", s[:, -1]))
        call = ("judge", "heinsen/scan", "--inputs", inputs, "--outputs", outputs)
        self.run_assay(0, *call, said="right: ")
        self.run_assay(1, *call, "--class", "uniform", said=", and not of class uniform")

    def test_what_is_wrong_with_a_question(self):
        right = self.file("any", y=("F32", self.x))
        for code, arguments, said in (
                (2, ("rope/rotat",), "unknown operation 'rope/rotat' (near: rope/rotate, "),
                (2, ("rope/rotate", "--set", "layout"), "'layout' must be NAME=VALUE"),
                (2, ("rope/rotate", "--set", "layout=half"), "attribute 'layout' must be one of"),
                (2, ("rope/rotate", "--set", "shape=2"), "shape"),
                (2, ("rope/rotate", "--set", "rotary=64"), "rotary = 64 pairs are more than d = 64 holds"),
                (2, ("rope/rotate", "--dtype", "f8"), "unknown dtype 'f8'"),
                (2, ("rope/rotate", "--dtype", "f64"), "f64"),
                (2, ("rope/rotate", "--compute", "f16"), "compute['f32'] must not be less precise than f32"),
                (2, ("rope/rotate", "--compute", "angles=f32"), "is no stage"),
                (2, ("rope/rotate", "--class", "best"), "unknown accuracy class 'best'"),
                (2, ("rope/rotate_by",), "input 'theta' is missing")):
            with self.subTest(arguments):
                self.run_assay(code, "judge", *arguments, "--inputs", self.rotation, "--outputs", right, said=said)
        call = ("judge", "rope/rotate", "--inputs", self.rotation, "--outputs")
        self.run_assay(2, *call, os.path.join(self.folder.name, "none"), said="none")
        self.run_assay(1, *call, self.file("z", z=("F32", self.x)), said="output 'y' is missing")
        self.run_assay(1, *call, self.file("short", y=("F32", self.x[:1])), said="shape")
        self.run_assay(1, *call, self.file("wide", y=("F64", self.x.astype(float))), said="f64")

    def test_one_process_serves_many_questions(self):
        right = self.file("served", y=self.truth("rope/rotate", self.rotation)["y"])
        question = {"operation": "rope/rotate", "inputs": self.rotation}
        out = os.path.join(self.folder.name, "out.safetensors")
        asked = [{"id": 1, "ask": "truth", "outputs": out, **question},
                 {"id": 2, "ask": "judge", "outputs": right, **question},
                 {"id": 3, "ask": "judge", "outputs": right, "settings": {"layout": "half_split"}, **question},
                 {"id": 4, "ask": "judge", "outputs": right, "dtype": 1, **question},
                 {"id": 5, "ask": "praise", "outputs": right, **question},
                 {"id": 6, "ask": "judge", "outputs": right, "compute": {"angle": "f64"}, **question}]
        done = subprocess.run([ASSAY, "serve"], input="".join(json.dumps(q) + "\n" for q in asked), capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["id"] for r in replies], [1, 2, 3, 4, 5, 6])
        self.assertEqual([r["ok"] for r in replies], [True, True, True, False, False, True])
        self.assertEqual([r.get("right") for r in replies], [None, True, False, None, None, True])
        self.assertIn("behaves as layout", replies[2]["words"])
        self.assertIn("dtype", replies[3]["error"])
        numpy.testing.assert_array_equal(read_safetensors(out)["y"][1], read_safetensors(right)["y"][1])


if __name__ == "__main__":
    unittest.main()
