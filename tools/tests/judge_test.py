#!/usr/bin/env python3
"""`assay truth` and `assay judge`: one call, its truth, what is allowed, and what is said of outputs.

Run by CTest with ASSAY set to the program.
"""
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "adapters", "python"))
import assay
from assay import serving
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

    def test_a_value_that_looks_like_a_number_is_a_word_where_it_is_declared_so(self):
        q = numpy.ones((1, 1, 1, 4), numpy.float32)
        call = self.file("logits", q=("F32", q), k=("F32", q))
        lse_by_base = {base: self.truth("attention/lse", call, "--set", f"base={base}")["lse"][1].item() for base in ("e", "2")}
        self.assertEqual(lse_by_base["e"], 2.0)  # 4 / sqrt(4), of one key
        self.assertAlmostEqual(lse_by_base["2"], 2.0 / numpy.log(2.0), 6)

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
        self.run_assay(1, *call, said='asked for layout = "interleaved", behaves as layout = "half_split"')
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

    def test_what_a_mask_hides_is_nan_or_nothing(self):
        """softmax @ v has 0 times NaN, and 0 / 0 where a query sees no key; with -finfo.max for -inf it is the mean
        there."""
        random = numpy.random.default_rng(3)
        q, k, v = (random.normal(size=(1, 1, 3, 2)).astype(numpy.float32) for _ in range(3))
        seen = numpy.tril(numpy.ones((3, 3), bool))
        def attention(seen, v, hidden=-numpy.inf):
            scores = numpy.where(seen, q[0, 0] @ k[0, 0].T / numpy.float32(2 ** 0.5), numpy.float32(hidden))
            with numpy.errstate(invalid="ignore"):
                weights = numpy.exp(scores - scores.max(1, keepdims=True))
            return (weights / weights.sum(1, keepdims=True) @ v[0, 0]).astype(numpy.float32)[None, None]
        def said(o, seen, v):
            inputs = self.file("masked", q=("F32", q), k=("F32", k), v=("F32", v), bias=(
                "F32", numpy.where(seen, 0, -numpy.inf).astype(numpy.float32)[None]))
            done = subprocess.run([ASSAY, "judge", "attention/output", "--inputs", inputs, "--outputs",
                                   self.file("given", o=("F32", o))], capture_output=True, text=True)
            return done.returncode, done.stdout
        with_nan = v.copy()
        with_nan[0, 0, 2, 1] = numpy.nan
        o = attention(seen, with_nan)
        self.assertEqual(numpy.isnan(o).sum(), 3)
        self.assertEqual(said(o, seen, with_nan)[0], 0)
        self.assertEqual(said(o, seen, v)[0], 1)
        skipped = attention(seen, v)
        skipped[0, 0, 2, 1] = numpy.nan
        self.assertEqual(said(skipped, seen, with_nan)[0], 0)
        none = seen & (numpy.arange(3) > 0)[:, None]
        for hidden in (-numpy.inf, numpy.finfo(numpy.float32).min):
            self.assertEqual(said(attention(none, v, hidden), none, v)[0], 0, hidden)
        fully = attention(none, v)
        fully[0, 0, 0] = v[0, 0, 0]
        code, words = said(fully, none, v)
        self.assertEqual(code, 1)
        self.assertIn("wrong: o[0, 0, 0, 0]", words)
        self.assertIn("2 of 6 elements", words)
        fully = attention(none, v)
        fully[0, 0, 2] += 1
        code, words = said(fully, none, v)
        self.assertIn("2 of 6 elements", words)
        self.assertNotIn("bias has the wrong sign", words)

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
                (2, ("rope/rotate", "--limit", "1e-9"), "seconds or so, and the limit is 1e-09 seconds"),
                (2, ("rope/rotate", "--limit", "-1"), "--limit"),
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
        questions = [{"id": 1, "ask": "truth", "outputs": out, **question},
                     {"id": 2, "ask": "judge", "outputs": right, **question},
                     {"id": 3, "ask": "judge", "outputs": right, "settings": {"layout": "half_split"}, **question},
                     {"id": 4, "ask": "judge", "outputs": right, "dtype": 1, **question},
                     {"id": 5, "ask": "praise", "outputs": right, **question},
                     {"id": 6, "ask": "judge", "outputs": right, "compute": {"angle": "f64"}, **question},
                     {"id": 7, "ask": "truth", "outputs": out, "limit": 1e-9, **question},
                     {"id": 8, "ask": "truth", "outputs": out, "limit": 60, **question}]
        done = subprocess.run([ASSAY, "serve"], input="".join(json.dumps(q) + "\n" for q in questions), capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        replies = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([r["id"] for r in replies], [1, 2, 3, 4, 5, 6, 7, 8])
        self.assertEqual([r["ok"] for r in replies], [True, True, True, False, False, True, False, True])
        self.assertEqual([r.get("right") for r in replies], [None, True, False, None, None, True, None, None])
        self.assertIn("behaves as layout", replies[2]["words"])
        self.assertIn("dtype", replies[3]["error"])
        self.assertIn("the limit is", replies[6]["error"])
        numpy.testing.assert_array_equal(read_safetensors(out)["y"][1], read_safetensors(right)["y"][1])


class Interrupted(Exception):
    pass


# Answers questions after the first with the answer before, or with no line of JSON.
BROKEN_SERVER = """#!/bin/sh
[ "$1" = serve ] || exec '{assay}' "$@"
read -r line; echo '{first}'
read -r line; echo '{second}'
"""


class Conversations(unittest.TestCase):
    """An answer belongs to its question, whatever interrupts one."""

    @classmethod
    def setUpClass(cls):
        random = numpy.random.default_rng(2)
        cls.x = random.normal(size=(1, 2, 1, 4)).astype(numpy.float32)
        cls.call = {"x": cls.x, "position": numpy.arange(2)[None]}
        cls.y = assay.truth("rope/rotate", **cls.call)["y"]

    def check_that_answers_are_right(self):
        with self.assertRaisesRegex(AssertionError, "rope/rotate: wrong: y"):
            assay.judge("rope/rotate", numpy.zeros_like(self.x), **self.call)
        self.assertIn("right: 8 elements", assay.judge("rope/rotate", self.y, **self.call))

    def test_a_call_that_is_interrupted_leaves_no_answer(self):
        def interrupt(*_):
            raise Interrupted
        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        random, interrupted = numpy.random.default_rng(3), 0
        start_times = []
        for _ in range(12):
            start_times.append(time.monotonic())
            assay.judge("rope/rotate", self.y, **self.call)
        usual = numpy.median(numpy.diff(start_times))  # of one call on this machine
        for moment in usual * 10 ** random.uniform(-2, 0, 200):
            try:
                signal.setitimer(signal.ITIMER_REAL, moment)
                assay.judge("rope/rotate", self.y, **self.call)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                interrupted += 1
            self.check_that_answers_are_right()
        self.assertGreater(interrupted, 50, usual)

    def test_threads_get_their_own_answers(self):
        found = []
        def ask(right):
            for _ in range(10):
                try:
                    assay.judge("rope/rotate", self.y if right else numpy.zeros_like(self.x), **self.call)
                    found.append((right, True))
                except AssertionError:
                    found.append((right, False))
        threads = [threading.Thread(target=ask, args=(k % 2 == 0,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(found), [(False, False)] * 30 + [(True, True)] * 30)

    def test_a_fork_has_a_process_of_its_own(self):
        self.check_that_answers_are_right()
        process = serving.running().process
        children = []
        for _ in range(3):
            with serving.lock:  # as another thread may hold it
                child = os.fork()
            if child == 0:
                try:
                    self.check_that_answers_are_right()
                    own = serving.running().process.pid != process.pid
                    serving.end_running()
                    os._exit(0 if own else 1)
                finally:
                    os._exit(2)
            children.append(child)
            self.check_that_answers_are_right()
        self.assertEqual([os.waitpid(child, 0)[1] for child in children], [0] * 3)
        self.assertIs(serving.running().process, process)
        self.check_that_answers_are_right()

    def test_an_answer_of_another_number_or_none_ends_the_process(self):
        right = '{{"id": {}, "ok": true, "right": true, "words": "right"}}'
        for second in (right.format(-1), "[]", "{", '{"ok": true}', right.format("true")):
            with self.subTest(second), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "assay")
                numbers = iter((-1, -2))
                with open(path, "w") as file:
                    file.write(BROKEN_SERVER.format(assay=ASSAY, first=right.format(-1), second=second))
                os.chmod(path, stat.S_IRWXU)
                serving.end_running()
                with mock.patch.dict(os.environ, ASSAY=path), mock.patch.object(serving, "_numbers", numbers):
                    self.assertEqual(assay.judge("rope/rotate", self.y, **self.call), "right")
                    process = serving.running().process
                    with self.assertRaisesRegex(RuntimeError, "assay serve was asked question -2 and answered: "):
                        assay.judge("rope/rotate", self.y, **self.call)
                    self.assertIsNotNone(process.poll())
                self.check_that_answers_are_right()


if __name__ == "__main__":
    unittest.main()
