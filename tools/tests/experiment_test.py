#!/usr/bin/env python3
"""tools/experiments: the command with tiny models, and what its numbers rest on.

Run by CTest with ASSAY set to the program; status 77 (skipped) where Python has no torch.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "experiments")
if subprocess.run([sys.executable, "-c", "import torch, mpmath"], capture_output=True, check=False).returncode != 0:
    print(f"skipped: {sys.executable} has no torch or no mpmath (Debian: python3-torch, python3-mpmath)")
    sys.exit(77)
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True

import numpy
import torch

import source
from intervals import interval, t_quantile
from model import ENCODINGS, Transformer, log_linear_recurrence
from training import KINDS, QUICK, Run, train

SIZES = {"width": 8, "heads": 2, "layers": 1, "segment": 6}


def model(encoding, causal=True):
    torch.manual_seed(3)
    return Transformer(encoding, causal, source.TOKENS + 1, **SIZES)


class Command(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.out = os.path.join(folder.name, "out")
        done = subprocess.run([sys.executable, "-B", os.path.join(FOLDER, "positions"), "--quick", "--out", cls.out],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        cls.report = done.stdout
        with open(os.path.join(cls.out, "losses.json"), encoding="utf-8") as file:
            cls.losses = {(row["kind"], row["encoding"], row["seed"]): row["loss"] for row in json.load(file)}

    def test_every_model_is_there(self):
        self.assertEqual(set(self.losses), {(k, e, s) for k in KINDS for e in ENCODINGS for s in (1, 2)})
        self.assertTrue(all(0 < loss < math.log(source.TOKENS) for loss in self.losses.values()), self.losses)
        for kind in KINDS:
            self.assertEqual(self.report.count(f"\n| {kind} |"), len(ENCODINGS) + (kind == "autoregressive"))
        self.assertEqual(self.report.count("\n| `"), 2 * 5)  # accuracy classes in two formats

    def test_order_counts(self):
        for kind in KINDS:
            mean = {e: sum(self.losses[kind, e, s] for s in (1, 2)) / 2 for e in ENCODINGS}
            self.assertGreater(mean["none"], min(mean.values()) + 0.02, mean)

    def test_a_seed_gives_one_result(self):
        run = Run("autoregressive", "attached", 2)
        self.assertEqual(train(run, QUICK).loss, self.losses["autoregressive", "attached", 2])
        self.assertNotEqual(self.losses["autoregressive", "attached", 1], self.losses["autoregressive", "attached", 2])

    def test_files(self):
        marks = xml.etree.ElementTree.parse(os.path.join(self.out, "cross_entropy.svg")).iter()
        self.assertEqual(sum(mark.get("class") == "seed" for mark in marks), len(self.losses))
        for kind in KINDS:
            for encoding in ("detached", "attached"):
                self.assertTrue(os.path.exists(os.path.join(self.out, f"gates-{kind}-{encoding}.safetensors")))

    def test_a_folder_that_is_there_is_kept(self):
        done = subprocess.run([sys.executable, "-B", os.path.join(FOLDER, "positions"), "--quick", "--out", self.out],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("exists", done.stderr)


class Parts(unittest.TestCase):
    def test_quantiles_are_those_of_the_tables(self):
        for confidence, freedom, published in ((0.95, 1, 12.706), (0.95, 4, 2.776), (0.99, 4, 4.604), (0.95, 30, 2.042)):
            self.assertAlmostEqual(t_quantile(confidence, freedom), published, delta=5e-4)
        x = interval([1.0, 2.0, 3.0], 0.95)
        self.assertAlmostEqual(x.half, 4.303 / math.sqrt(3), delta=1e-3)
        self.assertTrue(math.isnan(interval([1.0], 0.95).half))

    def test_the_text_has_its_rules(self):
        rng = numpy.random.default_rng(5)
        table = source.letter_probabilities(rng)
        text = source.text(table, 20, 500, rng)
        lengths, repeats = set(), []
        for row in text.tokens:
            ends = numpy.flatnonzero(row == source.MARKER)
            lengths |= set(numpy.diff(ends) - 1)
            far = row[:-source.DISTANCE]
            letters = (far != source.MARKER) & (row[source.DISTANCE:] != source.MARKER)
            repeats.append((far == row[source.DISTANCE:])[letters].mean())
        self.assertEqual(lengths, set(source.LINE_LENGTHS))
        self.assertGreater(numpy.mean(repeats), source.REPEATS)
        # The source's cross-entropy, by the letters that it draws: a reader of frequencies alone does worse.
        counts = numpy.bincount(text.tokens.ravel()) / text.tokens.size
        self.assertLess(text.surprise.mean(), 0.7 * -(counts * numpy.log(counts)).sum())

    def test_the_recurrence_is_the_formula(self):
        rng = torch.Generator().manual_seed(1)
        log_p, h = -torch.rand(2, 30, 3, generator=rng), torch.randn(2, 30, 3, generator=rng)
        s = log_linear_recurrence(log_p, h, torch.zeros(2, 3))
        x = torch.ones(2, 3, dtype=torch.float64)
        for i in range(30):
            x = log_p[:, i].double().exp() * x + h[:, i].double().exp()
            self.assertTrue(torch.allclose(s[:, i].double(), x.log(), atol=1e-5))

    def test_what_is_handed_on(self):
        tokens = torch.arange(24).reshape(2, 12) % source.TOKENS
        logits, gradients = {}, {}
        for encoding in ("fresh", "detached", "attached"):
            m = model(encoding)
            logits[encoding], state = m(tokens, None)
            logits[encoding][:, 6:].sum().backward()  # of the second segment
            gradients[encoding] = m.position.H.weight.grad
            self.assertFalse(state.requires_grad)
        self.assertTrue(torch.equal(logits["detached"], logits["attached"]))
        self.assertTrue(torch.equal(logits["fresh"][:, :6], logits["attached"][:, :6]))
        self.assertFalse(torch.allclose(logits["fresh"][:, 6:], logits["attached"][:, 6:]))
        self.assertFalse(torch.allclose(gradients["detached"], gradients["attached"]))

    def test_who_sees_what(self):
        """A causal model sees nothing that comes later; without positions a model that is not causal sees a set."""
        tokens = torch.tensor([[0, 1, 2, 3, 4, 5]])
        later, turned = tokens.clone(), tokens[:, [0, 2, 1, 3, 4, 5]]
        later[0, 4] = 0
        for encoding in ENCODINGS:
            seen = {causal: [model(encoding, causal)(x, None)[0] for x in (tokens, later, turned)]
                    for causal in (True, False)}
            self.assertTrue(torch.allclose(seen[True][0][:, :4], seen[True][1][:, :4], atol=1e-6), encoding)
            self.assertFalse(torch.allclose(seen[False][0][:, :4], seen[False][1][:, :4], atol=1e-6), encoding)
            same = torch.allclose(seen[False][0][:, 0], seen[False][2][:, 0], atol=1e-6)
            self.assertEqual(same, encoding == "none", encoding)

    def test_equal_seeds_have_equal_first_weights(self):
        weights = {e: dict(model(e).named_parameters())["blocks.0.qkv.weight"] for e in ENCODINGS}
        self.assertTrue(all(torch.equal(w, weights["none"]) for w in weights.values()))


if __name__ == "__main__":
    unittest.main()
