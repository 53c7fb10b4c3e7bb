#!/usr/bin/env python3
"""What a function keeps between calls, and what a result or a gradient lacks: said in the report."""
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "tests"), os.path.join(HERE, "..", "..", "adapters", "python")]
try:
    import numpy  # noqa: F401
    from cli_test import Folder, run  # noqa: E402
except ModuleNotFoundError as missing:
    print(f"skipped: {sys.executable} has no {missing.name} (Debian: python3-numpy)")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

MODULE = """
import numpy as np
import assay

waves = {}

def sines(position, dtype, keep):
    n = int(position.max(initial=0)) + 1
    known = waves.get(dtype if keep == "of its own dtype" else None)
    if known is None or len(known) < n:
        angles = np.arange(n)[:, None] * 10000.0 ** -(np.arange(4) / 4)
        known = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(n, 8).astype(dtype)
        waves[dtype if keep == "of its own dtype" else None] = known
    return known[position].astype(dtype)

of_words = dict(operation="sinusoidal/table", dtypes=["f64", "f32"], empty=False,
                domain={"position": [0, 4000], "width": [8]})

@assay.candidate(**of_words)
def first_dtype(position, width, dtype):
    return sines(position, dtype, "of any dtype")

@assay.candidate(**of_words)
def each_dtype(position, width, dtype):
    return sines(position, dtype, "of its own dtype")

@assay.candidate(operation="rope/rotate", dtypes=["f32"], vjp=False, empty=False)
def heads_first(x, position):
    return np.ascontiguousarray(x.swapaxes(1, 2))
"""

TORCH = """
import torch, assay

@assay.candidate(operation="alibi/bias", dtypes=["f32"], empty=False,
                 domain={"form": ["absolute"], "causal": [False]})
def detached(slopes, query_position, key_position):
    distance = (query_position[:, None] - key_position[None, :]).abs().float()
    return -slopes.detach()[:, None, None] * distance

@assay.candidate(operation="alibi/attention", dtypes=["f32"], empty=False, domain={"causal": [True]})
def fused(q, k, v, slopes):
    n, m = q.shape[2], k.shape[2]
    logits = q @ k.transpose(2, 3) / q.shape[3] ** 0.5 + slopes[:, None, None] * torch.arange(m)
    hidden = torch.arange(m) > torch.arange(n)[:, None] + m - n
    return torch.softmax(logits.masked_fill(hidden, -torch.inf), -1) @ v
"""


class Kept(Folder):
    def gated(self, text, function, *arguments):
        path = os.path.join(self.folder.name, "users.py")
        with open(path, "w") as file:
            file.write(text)
        candidate = f"python:{path}:{function}"
        done = run("gate", "--candidate", candidate, "--report", self.report, "--max-elements", "2000", *arguments)
        return candidate, done, self.read_report()

    # The parts of a run come in one order, longer tables first: there nothing is wrong.
    def test_a_table_in_the_dtype_of_the_first_call_is_found(self):
        candidate, done, report = self.gated(MODULE, "first_dtype")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("wrong in f64 after a call in f32: state of the first dtype is kept (sinusoidal/table in f64)",
                      report["findings"])
        failed = [check for check in report["checks"] if check["verdict"] == "failed"]
        self.assertEqual([(check["property"], check["dtype"]) for check in failed], [("dtype_order", "f64")])
        case = os.path.join(self.report, failed[0]["counterexample"]["replay"].split()[2])
        again = run("replay", case, "--candidate", candidate)
        self.assertEqual(again.returncode, 1, again.stdout)
        self.assertIn("after a call in f32: ", again.stdout)

    def test_tables_of_each_dtype_pass_in_every_order(self):
        _, done, report = self.gated(MODULE, "each_dtype")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        orders = {check["dtype"]: check["verdict"] for check in report["checks"] if check["property"] == "dtype_order"}
        self.assertEqual(orders, {"f64": "passed", "f32": "passed"})
        _, done, report = self.gated(MODULE, "each_dtype", "--dtype", "f64", "--property", "value", "--property",
                                     "dtype_order")
        self.assertEqual([check["property"] for check in report["checks"]], ["value"])

    def test_exchanged_axes_are_said_with_their_adapter(self):
        _, done, report = self.gated(MODULE, "heads_first", "--property", "value", "--family", "mild")
        self.assertIn(done.returncode, (1, 3))
        self.assertIn(": axes n and h look exchanged; the adapter heads_first of assay.adapters gives and takes them in "
                      "the other order", done.stdout)

    @unittest.skipIf(torch is None, "/usr/bin/python3 has no torch (Debian: python3-torch)")
    def test_a_gradient_without_a_path_is_said(self):
        _, done, report = self.gated(TORCH, "detached", "--property", "value", "--property", "vjp")
        self.assertIn(done.returncode, (1, 3))
        self.assertIn("autograd finds no path from bias to slopes: is the result detached, or computed outside torch?",
                      done.stdout)
        self.assertIn("passed", [check["verdict"] for check in report["checks"] if check["property"] == "value"])

    # Slopes are constants of attention, and autograd has a gradient for them all the same. Slope times index of the key,
    # as kernels have it, is right in one class.
    @unittest.skipIf(torch is None, "/usr/bin/python3 has no torch (Debian: python3-torch)")
    def test_gradients_of_constants_are_left_out(self):
        _, done, report = self.gated(TORCH, "fused", "--property", "value", "--property", "vjp")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual({check["verdict"] for check in report["checks"]}, {"passed"})
        self.assertIn("linear", done.stdout)


if __name__ == "__main__":
    unittest.main()
