#!/usr/bin/env python3
"""Loops of formulas of one's own: what a trace writes out turn by turn is rolled up to one node, and is the same.

Run by CTest with ASSAY set to the program. ASSAY_TEST_SEED draws other functions.
"""
import contextlib
import json
import os
import random
import sys
import unittest
from unittest import mock

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "adapters", "python"))
import assay
from assay.formulas import program, rolling, trace

CASES = []


def normal(*shape):
    return np.random.default_rng(len(CASES)).normal(size=shape)


def case(*inputs, loops=1):
    """A function, its inputs, and how many loops its program has."""
    def add(function):
        CASES.append((function, inputs, loops))
        return function
    return add


@case(normal(20, 4), normal(20, 4), normal(20, 3), -np.abs(normal(20, 4)))
def gated_linear_attention(q, k, v, g):
    state, out = np.zeros((k.shape[1], v.shape[1])), np.zeros((len(q), v.shape[1]))
    for t in range(len(q)):
        state = state * np.exp(g[t])[:, None] + np.outer(k[t], v[t])
        out[t] = q[t] @ state
    return out


@case(normal(2, 20, 4), normal(2, 20, 4), normal(2, 20, 3), normal(2, 20))
def delta_rule(q, k, v, beta):
    batch, n, d = q.shape
    state, out = np.zeros((batch, d, v.shape[-1])), []
    for t in range(n):
        read = np.einsum("bd,bde->be", k[:, t], state)
        state = state + np.einsum("bd,be->bde", k[:, t], beta[:, t, None] * (v[:, t] - read))
        out.append(np.einsum("bd,bde->be", q[:, t], state))
    return np.stack(out, axis=1)


@case(normal(20), np.abs(normal(20)))
def written_behind_what_is_read(h, p):
    s = np.zeros(len(h) + 1)
    s[0] = -1.0
    for i in range(1, len(h) + 1):
        s[i] = np.log(p[i - 1] * np.exp(s[i - 1]) + np.exp(h[i - 1]))
    return s[1:]


@case(normal(20, 3))
def backwards(x):
    out, s = np.zeros_like(x), np.zeros(x.shape[1])
    for i in range(len(x) - 1, -1, -1):
        s = 0.5 * s + x[i]
        out[i] = s
    return out


@case(normal(20, 3), normal(3))
def a_list_and_the_last_state(x, a):
    s, all_of_them = np.zeros(x.shape[1]), []
    for t in range(len(x)):
        s = a * s + x[t] / (t + 1)
        all_of_them.append(np.tanh(s))
    return np.stack(all_of_them), s


@case(normal(20, 3), normal(3))
def tokens_before(x, mix):
    before, s, out = np.zeros(x.shape[1]), np.zeros(x.shape[1]), []
    for t in range(len(x)):
        s = 0.9 * s + x[t] * mix + before * (1 - mix)
        before = x[t]
        out.append(s)
    return np.array(out)


@case(normal(40, 3))
def chunks(x):
    state, out = np.zeros(x.shape[1]), []
    for c in range(len(x) // 2):
        chunk = x[2 * c:2 * c + 2]
        out.append(np.cumsum(chunk, axis=0) + state)
        state = state + chunk.sum(axis=0)
    return np.concatenate(out)


@case(normal(12, 9), loops=3)  # the first row is one by itself
def loops_in_loops(x):
    s, out = np.zeros(()), np.zeros(x.shape)
    for i in range(len(x)):
        for j in range(x.shape[1]):
            s = np.sin(s + x[i, j])
            out[i, j] = s
    return out


@case(normal(20, 3), loops=2)
def one_loop_behind_another(x):
    s, first = np.zeros(x.shape[1]), []
    for t in range(len(x)):
        s = np.tanh(s + x[t])
        first.append(s)
    r, out = np.ones(x.shape[1]), np.zeros_like(x)
    for t in range(len(x)):
        r = r * first[t]
        out[t] = r + first[len(x) - 1 - t]
    return out


@case(normal(9), loops=3)  # the first row is one by itself
def pairs_that_are_written_apart(p):
    cache = np.empty((len(p), 32))
    for i in range(len(p)):
        angle = p[i]
        for j in range(0, 32, 2):
            cache[i, j] = np.cos(angle)
            cache[i, j + 1] = np.sin(angle)
            angle = angle * 0.75
    return cache


@case(normal(20, 3), normal(3))
def two_writes_to_one_place(x, skip):
    s, y = np.zeros(3), np.zeros_like(x)
    for t in range(len(x)):
        s = np.tanh(s + x[t])
        y[t] = s
        y[t] += skip * x[t]
    return y


@case(np.abs(normal(20, 3)))
def a_literal_that_is_minus_zero(x):
    return np.stack([x[t] / -float(len(x) - 1 - t) for t in range(len(x))])


@case(normal(20, 2))
def two_that_swap(x):
    a, b = np.zeros(2), np.ones(2)
    for t in range(len(x)):
        a, b = b + x[t], 0.5 * a
    return a * b


@case(normal(20, 3))
def only_the_last_turn_counts(x):
    s = np.zeros(3)
    for t in range(len(x)):
        s = 0.7 * s + x[t]
        y = np.exp(-s * s)
    return y


@case(normal(20, 3), loops=0)
def windows_that_grow(x):
    return np.stack([x[:t + 1].sum(axis=0) for t in range(len(x))])


@contextlib.contextmanager
def written_out():
    with mock.patch.object(program, "rolled_up", lambda nodes, outputs: (nodes, outputs)):
        yield


def scans_in(nodes):
    bodies = [node["body"]["nodes"] for node in nodes if node["op"] == "scan"]
    return len(bodies) + sum(scans_in(body) for body in bodies)


def drawn_loop(random_of):
    """The text of a random function with a loop."""
    carried = ["a", "b", "c"][:random_of.randint(1, 3)]
    reads = [*carried, "x[t]", "x[n - 1 - t]", "w", "u[t]", "u[:, 0][t]", "np.tanh(w)", "(t + 2)", "y[t - 1]", "x[max(t - 1, 0)]",
             "x[t % 3]", "early", "1.25"]
    lines, made = [], list(reads)
    for k in range(random_of.randint(2, 6)):
        one, other = random_of.sample(made, 2)
        value = random_of.choice(["{} * {}", "{} + {}", "{} - {}", "np.sin({}) + 0.5 * {}", "np.maximum({}, {})",
                                  "np.where({} > 0, {}, 0.25)", "np.exp(-np.abs({})) * {}"]).format(one, other)
        lines.append(f"m{k} = np.tanh({value})")
        made.append(f"m{k}")
    for name in random_of.sample(carried, len(carried)):
        lines.append(f"{name} = 0.5 * {name} + {random_of.choice(made)} * 0.25")
    lines.append(f"y[t] = {random_of.choice([*made[len(reads):], *carried])}")
    if random_of.random() < 0.5:
        lines.insert(random_of.randint(0, len(lines)), f"kept.append({random_of.choice(carried)})")
    turns = random_of.choice(["range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(n - 2)", "reversed(range(n))"])
    body = "\n        ".join(lines)
    return f"""def drawn(x, u, w):
    n, kept = len(x), [w + 0.0]
    y, early = np.zeros((n, 3)), x.mean(axis=0)
    {" = ".join(carried)} = np.zeros(3)
    for t in {turns}:
        {body}
    return y, {" + ".join(carried)}, np.stack(kept)
"""


class Loops(unittest.TestCase):
    def same_as_written_out(self, function, inputs):
        found = assay.truth(function, **inputs)
        with written_out():
            turn_by_turn = assay.truth(function, **inputs)
        for name, truth in turn_by_turn.items():
            np.testing.assert_array_equal(found[name], truth, err_msg=name)

    def test_a_loop_is_one_node_and_the_same_numbers(self):
        for function, inputs, loops in CASES:
            with self.subTest(function.__name__):
                named = dict(zip(function.__code__.co_varnames, inputs))
                found = trace(function, named)
                self.assertEqual(scans_in(json.loads(found.text)["nodes"]), loops)
                if loops:
                    self.assertLess(len(found.steps), 64)
                self.assertEqual({path for path, line, _ in found.steps if line}, {os.path.abspath(__file__)})
                self.same_as_written_out(function, named)

    def test_the_program_is_no_longer_for_more_turns(self):
        def nodes(n):
            return len(trace(gated_linear_attention, dict(zip("qkvg", [np.zeros((n, 4))] * 4))).steps)
        self.assertEqual(nodes(9), nodes(2000))

    def test_what_is_no_loop_costs_little(self):
        """Counts the loops that are tried: a run that is refused is not tried at multiples of its period."""
        def a_truth_that_is_carried(x):
            seen, out = np.zeros(3, bool), []
            for t in range(len(x)):
                seen = seen | (x[t] > 1)
                out.append(np.where(seen, x[t], 0.0))
            return np.stack(out)
        with mock.patch.object(rolling, "_Loop", wraps=rolling._Loop) as tried:
            found = trace(a_truth_that_is_carried, {"x": np.zeros((500, 3))})
        self.assertEqual(scans_in(json.loads(found.text)["nodes"]), 0)
        self.assertLess(tried.call_count, 200)

    def test_a_stage_is_that_of_the_turns(self):
        def staged(x):
            s = np.zeros(3)
            for t in range(len(x)):
                with assay.stage("state"):
                    s = np.tanh(0.5 * s + x[t] * float(t + 1))
            return s
        nodes = json.loads(trace(staged, {"x": np.zeros((20, 3))}).text)["nodes"]
        self.assertEqual({node["stage"] for node in nodes if node["op"] == "to_real"}, {"state"})

    def test_few_turns_are_written_out(self):
        few = trace(backwards, {"x": np.zeros((7, 3))})
        self.assertEqual(scans_in(json.loads(few.text)["nodes"]), 0)

    def test_drawn_loops_are_the_same_numbers(self):
        seed = int(os.environ.get("ASSAY_TEST_SEED", "1"))
        rolled = 0
        for k in range(60):
            text = drawn_loop(random.Random(f"{seed} {k}"))
            with self.subTest(f"ASSAY_TEST_SEED={seed}, function {k}:\n{text}"):
                scope = {"np": np}
                exec(text, scope)
                inputs = {"x": normal(17, 3), "u": normal(17, 3), "w": normal(3)}
                rolled += scans_in(json.loads(trace(scope["drawn"], inputs).text)["nodes"])
                self.same_as_written_out(scope["drawn"], inputs)
        self.assertGreater(rolled, 20)


class Allowances(unittest.TestCase):
    @staticmethod
    def in_f32(q, k, v, beta):
        with mock.patch.object(np, "zeros", lambda shape, make=np.zeros: make(shape, np.float32)):
            return delta_rule(q, k, v, beta)

    def test_a_loop_that_forgets_its_errors_is_allowed_few(self):
        """Errors that are carried on number by number grow with 1 + beta a turn; those of a delta rule shrink."""
        source = np.random.default_rng(3)
        n, d = 128, 8
        k = source.normal(size=(1, n, d))
        inputs = {"q": source.normal(size=(1, n, d)), "k": k / np.linalg.norm(k, axis=-1, keepdims=True),
                  "v": source.normal(size=(1, n, 4)), "beta": source.uniform(0, 1, (1, n))}
        inputs = {name: value.astype(np.float32) for name, value in inputs.items()}
        truth = assay.truth(delta_rule, **inputs)
        (name, right), = truth.items()
        outputs = self.in_f32(**inputs)
        self.assertEqual(outputs.dtype, np.float32)
        errors = np.abs(outputs - right)
        self.assertTrue((errors <= truth.allowed[name]).all())
        self.assertLess(np.median(truth.allowed[name]), 300 * errors.max())
        assay.judge(delta_rule, outputs, **inputs, strict=True)
        with self.assertRaisesRegex(AssertionError, "wrong"):
            assay.judge(delta_rule, self.in_f32(**{**inputs, "beta": inputs["beta"] * np.float32(0.999)}), **inputs)


if __name__ == "__main__":
    unittest.main()
