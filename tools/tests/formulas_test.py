#!/usr/bin/env python3
"""Formulas of one's own: plain NumPy functions as programs, for assay.truth, assay.judge and assay gate --formula.

Run by CTest with ASSAY set to the program.
"""
import copy
import functools
import importlib.util
import inspect
import json
import math
import os
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "adapters", "python"))
import assay
from assay.formulas import CannotTrace, trace
from assay.formulas.declaring import WrongDeclaration, declaration_of, declared

ASSAY = os.environ["ASSAY"]
RANDOM = np.random.default_rng(1)
CASES = []
ERROR_FUNCTION = np.vectorize(math.erf)


def normal(*shape):
    return RANDOM.normal(size=shape)


def case(*inputs, **settings):
    """A function and its inputs, in the order of its parameters: what people write."""
    def add(function):
        CASES.append((function, inputs, settings))
        return function
    return add


@case(normal(6, 4))
def a_loop_that_writes(x):
    out, h = np.zeros(x.shape), np.zeros(x.shape[1])
    for t in range(len(x)):
        h = 0.9 * h + x[t]
        out[t] = h
    return out


@case(normal(6, 4))
def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@case(normal(6, 4))
def a_mask_that_is_assigned(x):
    s = np.exp(x)
    s[np.triu(np.ones(x.shape, bool), 1)] = -np.inf
    return s


@case(normal(6, 4))
def like_another(x):
    o = np.zeros_like(x)
    o[0] = x[0]
    return o


@case(normal(6, 4))
def lists(x):
    return np.stack([x[t] for t in range(len(x))]), np.array([x[0] * 2, x[1]]), np.vstack([x[0], x[1]]), np.hstack(
        [x[0], x[1]]), np.column_stack([x[0], x[1]]), np.asarray(x) * 2


@case(normal(6, 4))
def in_place(x):
    y = np.exp(x)
    y *= 2
    z = np.empty(x.shape)
    np.exp(x, out=z)
    o = np.zeros(x.shape)
    np.add.at(o, [0, 1], x[:2])
    return y, z, o


@case(normal(3, 4))
def views(x):
    y = x.copy()
    row = y[1]
    row += 1
    y.T[0] *= 2
    flat = y.reshape(-1)
    flat[::3] = 0
    return y


@case(normal(3, 4))
def copies(x):
    flat = x.T.reshape(-1)  # NumPy copies here, and not in views()
    flat *= 2
    same, row, other = +x, np.take(x, 0, axis=0), copy.copy(x)
    same += 1
    row -= 1
    other *= 3
    return x + flat.reshape(4, 3).T, same, row, other, x


@case(normal(4, 3))
def one_element_at_a_time(x):
    w, m = np.zeros(4), np.zeros((4, 3), bool)
    for k in range(4):
        w[k] = 1 / (k + 1)
        for j in range(3):
            m[k, j] = k >= j
    y = np.empty_like(x)
    y.fill(2)
    return np.where(m, x * w[:, None], y)


@case(normal(2, 3, 4), np.array([True, False, True, True]))
def padded_keys(scores, keys):
    s = scores.copy()
    s[..., ~keys] = -1e9
    one = scores.copy()
    one[:, [True, False, True]] = 0
    return s, one, scores[0, :, [1, 2]], scores[:, [0, 2], 1]


@case(normal(3, 4), np.array([[True, False, True, True], [False] * 4, [True] * 4]))
def truths(x, a):
    b = np.arange(4) > 1
    last = x[np.arange(3), a.sum(-1) - 1]
    return x * (a + b), np.where(~(a * b), x, 0), (a @ a.T) * x[:, :3], np.prod(a, axis=1) * x[:, 0], np.cumprod(a, 1) * x, last


@case(normal(2, 3))
def by_name(x):
    return (np.full((2, 3), fill_value=1.5) * x, np.full_like(x, fill_value=2.0), np.pad(x, pad_width=1),
            np.tile(x, reps=(2, 1)), np.split(x, indices_or_sections=3, axis=1)[1], np.swapaxes(x, axis1=0, axis2=1),
            x @ np.eye(3, M=2), x @ np.identity(3, float), np.add.reduce(x, 1), np.add.accumulate(x, 1), np.exp(x, x.copy()))


@case(normal(3, 4))
def with_their_options(x):
    w, last = np.array([1.0, 2.0, 4.0]), np.linspace(0, 1, 50).astype(int)
    return (np.trace(x, 1), np.diff(x, axis=1, prepend=0), np.average(x, axis=0, weights=w), np.hstack([0.0, x[0]]),
            np.prod(x, axis=(0, 1)), x[last[-1]], x[np.linspace(0, 2, 3, dtype=int)], x * 10**20,
            x * np.argmax(np.arange(12).reshape(3, 4)), x * np.sort(np.arange(12)[::-1].reshape(3, 4), axis=0),
            np.max(x, -1, None, True), x.min(0, None, True), np.trunc(x * 3))


@case(normal(4, 4))
def error_functions(x):
    each = np.vectorize(math.erf)
    return each(x), x * math.erf(0.5), ERROR_FUNCTION(x), x * math.erfc(2.0)


@case(normal(4, 4))
def reals_that_are_known(x):
    n, d = x.shape
    lower = np.tril(np.ones((n, n))).astype(bool)
    pairs, odd = np.divmod(np.arange(n), 2)
    return (np.where(lower, x, -np.inf), x[np.nonzero(np.arange(n) % 2)[0]], x * odd + pairs, x if np.float64(d) != 4 else -x,
            np.where(np.linspace(0, 1, n) != 0, x, 0.0), x * math.log2(n), x * 2 ** -(math.log2(8) - 3))


@case(np.array([[1.0, np.nan], [np.nan, np.nan]]))
def numbers_before_nan(x):
    return np.fmax(x, 0.0), np.fmin(0.0, x)


@case(normal(4, 4))
def smallest_number_for_a_mask(x):
    s = np.where(np.tril(np.ones((4, 4), dtype=bool)), x, np.finfo(x.dtype).min)
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@case(normal(2, 5, 8))
def rotation_by_halves(x):
    d = x.shape[-1]
    inverse = 1.0 / (10000 ** (np.arange(0, d, 2) / d))
    angles = np.outer(np.arange(x.shape[1]), inverse)
    both = np.concatenate([angles, angles], -1)
    first, second = x[..., :d // 2], x[..., d // 2:]
    return x * np.cos(both) + np.concatenate((-second, first), axis=-1) * np.sin(both)


@case(normal(6, 4))
def rotation_of_neighbours(x):
    d = x.shape[-1]
    angle = np.arange(x.shape[0])[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    y = np.empty_like(x)
    y[:, ::2] = x[:, ::2] * np.cos(angle) - x[:, 1::2] * np.sin(angle)
    y[:, 1::2] = x[:, ::2] * np.sin(angle) + x[:, 1::2] * np.cos(angle)
    return y


@case(normal(4, 6))
def sinusoidal(x):
    n, d = x.shape
    table, position = np.zeros((n, d)), np.arange(n)[:, np.newaxis]
    rate = np.exp(np.arange(0, d, 2) * (-math.log(10000.0) / d))
    table[:, 0::2] = np.sin(position * rate)
    table[:, 1::2] = np.cos(position * rate)
    return x + table


@case(normal(2, 3, 5), normal(2, 4, 5), normal(2, 4, 6))
def attention(q, k, v):
    s = np.einsum("hnd,hmd->hnm", q, k) / np.sqrt(q.shape[-1])
    p = np.exp(s - s.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return p @ v


@case(normal(2, 4, 3), window=2)
def a_window(x, window):
    n = x.shape[1]
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    s = np.where((j <= i) & (i - j < window), x @ x.swapaxes(-1, -2), -np.inf)
    return np.exp(s - np.max(s, axis=-1, keepdims=True))


@case(normal(4, 4), causal=True)
def an_additive_mask(x, causal=False, scale=None):
    scale = scale or 1 / math.sqrt(x.shape[-1])
    s = x @ x.T * scale
    return s + np.triu(np.full(s.shape, -np.inf), k=1) if causal else s


@case(normal(2, 3, 4))
def linear_biases(x):
    heads, n, m = x.shape
    slopes = 2.0 ** (-8 * np.arange(1, heads + 1) / heads)
    return x + slopes[:, None, None] * (np.arange(m)[None, :] - np.arange(n)[:, None])


@case(normal(5, 3), normal(5, 3), normal(5, 2))
def delta_rule(q, k, v):
    state, out = np.zeros((k.shape[1], v.shape[1])), np.empty_like(v)
    for t in range(q.shape[0]):
        state = state + np.outer(k[t], v[t] - k[t] @ state)
        out[t] = q[t] @ state
    return out


@case(normal(6, 3), normal(6))
def gated(x, a):
    h, all_states = np.zeros(x.shape[1]), []
    for t in range(len(x)):
        gate = 1 / (1 + np.exp(-a[t]))
        h = gate * h + (1 - gate) * x[t]
        all_states.append(h)
    return np.array(all_states)


@case(normal(6, 4))
def log_sums(x):
    out, total = np.full_like(x, -np.inf), np.full(x.shape[1], -np.inf)
    for t in range(x.shape[0]):
        total = np.logaddexp(total, x[t])
        out[t] = total
    return out


@case(normal(3, 4), normal(4))
def norms(x, w):
    centred = x - x.mean(-1, keepdims=True)
    return (centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w, x / np.linalg.norm(x, axis=-1, keepdims=True),
            np.var(x, axis=0), np.std(x), x.var(ddof=1), x.std(axis=1, keepdims=True))


@case(normal(2, 3, 4))
def activations(x):
    return (0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3))), x / (1 + np.exp(-x)),
            np.clip(x, -0.5, 0.5), np.maximum(x, 0), np.sign(x), np.floor(x), np.ceil(x), abs(x), np.expm1(x),
            np.exp2(x), np.log2(np.abs(x)), np.power(np.abs(x), 1 / 3), np.square(x), np.reciprocal(x), x ** -2)


@case(normal(3, 3))
def triangles(x):
    return np.tril(x), np.triu(x, 1), np.trace(x), np.diag(x), np.fliplr(x), np.diagonal(x, 1)


@case(normal(3, 4))
def shapes(x):
    return (x.T.reshape(2, -1), np.moveaxis(x[None], 0, -1), np.squeeze(x[:, None]), np.roll(x, 1, axis=1),
            np.pad(x, ((1, 0), (0, 2))), np.tile(x, (2, 1)), np.repeat(x, 2, axis=0), np.flip(x, 0), x[..., None, ::-1],
            *np.split(x, 2, axis=1), np.expand_dims(x, (0, 2)), x.ravel(), np.broadcast_to(x[0], (2, 4)),
            *np.hsplit(np.stack([x, 2 * x, x * x], -1), 2), np.sum(x > 0, axis=0, dtype=float))


@case(normal(5, 4), np.array([0, 3, 1, -1]))
def gathered(table, i):
    return table[i], np.take(table, i, axis=0), table[i, 1], table[-1], table[::-1, 1:3]


@case(normal(4, 5), np.array([[1], [0], [2], [4]]))
def along_an_axis(x, i):
    return np.take_along_axis(x, i, axis=1)


@case(normal(4, 5), np.array([True, False, True, True]))
def a_mask_that_is_given(x, keep):
    y = x.copy()
    y[~keep] = 0.0
    return np.where(keep[:, None], x, 2 * x), y, x * keep[:, None]


@case(normal(3, 4), np.array([1, 2, 5]))
def positions(x, p):
    return x * p[:, None] / (p[:, None] + 1), np.abs(p - 3) * x.T[0], (p // 2) * x[:, 0], (p % 2) * x[:, 1]


@case(normal(4, 3), normal(3, 5))
def products(a, b):
    return (np.dot(a, b), np.matmul(a, b), np.inner(a, b.T), np.tensordot(a, b, axes=([1], [0])), a.dot(b),
            np.einsum("ij,jk", a, b), np.einsum("ij->j", a), np.einsum("ij,jk,kl->il", a, b, b.T), a[0] @ b, a @ b[:, 0])


@case(normal(2, 3, 4))
def sums(x):
    return (np.sum(x ** 2, axis=(0, 2)), np.cumsum(x, axis=1), np.diff(x, axis=-1), np.prod(x, axis=0), np.ptp(x, axis=1),
            np.minimum.reduce(x), np.add.reduce(x, axis=1), np.any(x > 100), np.all(x > -100, axis=0),
            (np.tril(np.ones((3, 4))) > 0).sum() * x, np.average(x, axis=0))


@case(normal(2, 4))
def tables(x):
    return (x * np.linspace(0, 1, 4), x * np.ones(4), x + np.eye(2, 4), x * np.arange(1, 5), x * np.full(4, 0.3), np.zeros(3),
            x * np.array([0.1, 0.2, 0.3, 0.4]))


@case(normal(3, 4), theta=10000.0, dim=4)
def numbers_of_a_definition(x, theta, dim):
    return x * theta ** -0.25 / dim ** 0.5, x * math.log(theta) / dim


@case(normal(6))
def relative_buckets(x):
    n = len(x)
    return x[np.minimum(np.abs(np.arange(n)[:, None] - np.arange(n)[None]), 2)]


@case(normal(8))
def cosines(x):
    k = np.arange(len(x))
    return (x * np.cos(2 * np.pi * np.outer(k, k) / len(x))).sum(-1)


@case(normal(2, 3))
def branches_on_sizes(x):
    y = x * 2 if x.shape[0] > 1 and x.ndim == 2 else x
    for a in np.arange(0, 1, 0.25):
        y = y + a
    return y


@functools.lru_cache
def table_that_is_kept(n):
    return np.cos(np.arange(n))


class Tracing(unittest.TestCase):
    def test_a_program_is_the_function(self):
        """The function itself, in f64, is within the allowance of the exact value of its program."""
        self.assertGreaterEqual(len(CASES), 33)
        for function, inputs, settings in CASES:
            with self.subTest(function.__name__):
                values = {**dict(zip(inspect.signature(function).parameters, inputs)), **settings}
                with np.errstate(all="ignore"):
                    found = function(**{name: x.copy() if hasattr(x, "copy") else x for name, x in values.items()})
                    found = found if isinstance(found, tuple) else (found,)
                    # Only reals are outputs of a call.
                    real = [k for k, x in enumerate(found) if np.asarray(x).dtype.kind == "f"]
                    chosen = lambda **given: tuple(np.asarray(x) if not hasattr(x, "node") else x for k, x in enumerate(
                        as_tuple(function(**given))) if k in real)
                    chosen.__signature__ = inspect.signature(function)
                    chosen.__wrapped__ = function
                    truth = assay.truth(chosen, dtype="f64", **values)
                    for place, k in enumerate(real):
                        name = f"y{place}"
                        exact = truth[name]
                        self.assertEqual(np.shape(found[k]), exact.shape)
                        apart = np.abs(found[k] - exact)
                        same = (found[k] == exact) | (np.isnan(found[k]) & np.isnan(exact))
                        self.assertTrue(np.all(same | (apart <= truth.allowed[name] + np.spacing(np.abs(exact)))), name)

    def test_what_hangs_on_sizes_alone_is_exact(self):
        """Frequencies are powers of the base and not their doubles: the program holds no real data."""
        for function in (rotation_by_halves, rotation_of_neighbours, sinusoidal, linear_biases, cosines):
            found = trace(function, {"x": np.zeros({"cosines": (8,), "linear_biases": (2, 3, 4)}.get(
                function.__name__, (4, 6) if function is not rotation_by_halves else (2, 5, 8)))})
            self.assertEqual(found.captured, [], function.__name__)
            self.assertFalse([node for node in json.loads(found.text)["nodes"] if node["op"] == "data" and node["kind"] == "real"])

    def test_what_is_captured_is_named(self):
        found = trace(lambda x: x * np.array([0.1, 0.7, 0.3]), {"x": np.zeros(3)})
        (path, line), shape = found.captured[0]
        self.assertEqual((os.path.abspath(path), shape), (os.path.abspath(__file__), (3,)))
        self.assertGreater(line, 100)

    def test_numpy_is_as_it_was(self):
        before = np.sqrt, np.arange, np.pi, math.log
        trace(softmax, {"x": np.zeros((2, 3))})
        with self.assertRaises(CannotTrace):
            trace(lambda x: np.sort(x), {"x": np.zeros(3)})
        self.assertEqual(before, (np.sqrt, np.arange, np.pi, math.log))

    def test_what_else_runs_meanwhile_has_numpy(self):
        """Another thread, and a module that the function imports."""
        found = {}

        def elsewhere(x):
            thread = threading.Thread(target=lambda: found.update(y=np.zeros(3)))
            thread.start()
            thread.join()
            import lazily_imported
            found["table"] = lazily_imported.TABLE
            return x * lazily_imported.zeros(3)

        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "lazily_imported.py"), "w") as file:
                file.write("import numpy as np\nfrom numpy import zeros\nTABLE = np.arange(6) / 3\n")
            sys.path.insert(0, folder)
            try:
                trace(elsewhere, {"x": np.zeros(3)})
            finally:
                sys.path.remove(folder)
        self.assertEqual([type(x) for x in found.values()], [np.ndarray] * 2)
        self.assertIs(type(sys.modules.pop("lazily_imported").zeros(3)), np.ndarray)

    def test_a_cache_keeps_nothing_of_a_trace(self):
        for _ in range(2):
            trace(lambda x: x * table_that_is_kept(3), {"x": np.zeros(3)})
        self.assertIs(type(table_that_is_kept(3)), np.ndarray)
        kept = {}
        first = lambda x: x * kept.setdefault(3, np.cos(np.arange(3)))
        trace(first, {"x": np.zeros(3)})
        with self.assertRaisesRegex(CannotTrace, "an earlier trace"):
            trace(first, {"x": np.zeros(3)})

    def test_what_cannot_be_traced_says_where_and_what_to_write(self):
        def branch(x):
            if x.sum() > 0:
                return x
            return -x

        for function, said in ((branch, "numpy.where"), (lambda x: np.sort(x), "numpy.sort"), (lambda x: x * float(x[0]), "float()"),
                               (lambda x: np.linalg.inv(np.outer(x, x)), "inv"), (lambda x: x[x > 0], "x[mask]"),
                               (lambda x: x + np.random.rand(3), "random numbers"), (lambda x: None, "returns nothing"),
                               (lambda x: np.heaviside(x, 0.5), "numpy.heaviside")):
            with self.assertRaises(CannotTrace) as refused:
                trace(function, {"x": np.zeros(3)})
            self.assertIn(said, str(refused.exception))
            self.assertIn("formulas_test.py:", str(refused.exception))


def kerple(r1, r2, query_position, key_position):
    t = np.abs(query_position[:, None] - key_position)
    bias = -r1[:, None, None] * np.log1p(r2[:, None, None] * t)
    return np.where(key_position[None, None] > query_position[None, :, None], -np.inf, bias)


def fire(c, multiplier, w1, b1, w2, b2, query_position, key_position):
    i, j = query_position[:, None], key_position[None, :]

    def psi(y):
        return np.log1p(np.abs(c[0]) * y)

    x = psi(np.abs(i - j)) / (psi(np.maximum(np.abs(multiplier[0] * 512.0), i)) + 1e-6)
    hidden = np.maximum(x[..., None] * w1 + b1, 0)
    return np.where(j > i, -np.inf, np.einsum("hw,nmw->hnm", w2, hidden) + b2[:, None, None])


def shaw(q, k, table):
    n, m, b = q.shape[2], k.shape[2], table.shape[0]
    i, j = np.arange(n)[:, None] + m - n, np.arange(m)[None, :]
    bucket = np.clip(j - i, -(b // 2), b // 2) + b // 2
    return (np.einsum("bhnd,bhmd->bhnm", q, k) + np.einsum("bhnd,nmd->bhnm", q, table[bucket])) / np.sqrt(q.shape[-1])


def rope(x, position):
    d = x.shape[-1]
    angle = position[:, :, None, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    y = np.empty_like(x)
    y[..., 0::2] = x[..., 0::2] * np.cos(angle) - x[..., 1::2] * np.sin(angle)
    y[..., 1::2] = x[..., 0::2] * np.sin(angle) + x[..., 1::2] * np.cos(angle)
    return y


def alibi(slopes, query_position, key_position):
    return slopes[:, None, None] * (key_position[None, None, :] - query_position[None, :, None])


def biased_attention(q, k, v, bias):
    s = np.einsum("bhnd,bhmd->bhnm", q, k) / np.sqrt(q.shape[-1]) + bias
    p = np.exp(s - s.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True)) @ v


PAIR = {"query_position": np.arange(600, 605), "key_position": np.arange(598, 604)}
SHIPPED = (
    ("kerple/log", kerple, {"r1": abs(normal(3)), "r2": abs(normal(3))}, PAIR, {}),
    ("fire/bias", fire, {"c": abs(normal(1)), "multiplier": abs(normal(1)), "w1": normal(8), "b1": normal(8),
                         "w2": normal(3, 8), "b2": normal(3)}, PAIR, {}),
    ("shaw/scores", shaw, {"q": normal(1, 2, 5, 8), "k": normal(1, 2, 6, 8), "table": normal(5, 8)}, {}, {}),
    ("rope/rotate", rope, {"x": normal(2, 7, 2, 8)}, {"position": np.arange(14).reshape(2, 7) * 37}, {}),
    ("alibi/bias", alibi, {"slopes": 2.0 ** -np.arange(1, 5)}, PAIR, {"causal": False}),
    ("attention/output", biased_attention, {"q": normal(1, 2, 5, 8), "k": normal(1, 2, 6, 8), "v": normal(1, 2, 6, 4),
                                            "bias": normal(2, 5, 6)}, {}, {}))


def as_tuple(x):
    return x if isinstance(x, tuple) else (x,)


class Asking(unittest.TestCase):
    def test_a_function_has_the_truth_of_the_operation_that_it_is(self):
        """The truths are equal to the bit; the allowance is between 0.5 and 1.5 times that of the operation."""
        for operation, function, reals, places, settings in SHIPPED:
            for dtype, kind in (("f64", "f8"), ("f32", "f4"), ("f16", "f2"), ("bf16", "f4")):
                given = {name: x.astype(kind) for name, x in reals.items()}
                if dtype == "bf16":
                    given = {name: (x.view(np.uint32) & 0xffff0000).view(np.float32) for name, x in given.items()}
                compute = "f64" if dtype == "f64" else "f32"  # a function has no narrow stages
                own = assay.truth(function, dtype=dtype, compute=compute, accuracy_class="sequential", **given, **places)
                shipped = assay.truth(operation, dtype=dtype, compute=compute, accuracy_class="sequential", **given, **places,
                                      **settings)
                name = next(iter(shipped))
                np.testing.assert_array_equal(own["y"], shipped[name], f"{operation} in {dtype}")
                ratio = own.allowed["y"] / np.where(shipped.allowed[name] > 0, shipped.allowed[name], np.nan)
                self.assertTrue(((own.allowed["y"] == 0) == (shipped.allowed[name] == 0)).all(), f"{operation} in {dtype}")
                self.assertLessEqual(np.nanmax(ratio), 1.5, f"{operation} in {dtype}")
                self.assertGreaterEqual(np.nanmin(ratio), 0.5, f"{operation} in {dtype}")

    def test_powers_that_underflow_allow_no_large_errors(self):
        for power in (2, 3, 1.5):
            found = assay.truth(lambda x, power=power: x ** power, x=np.float64([1e-250, 3.0]))
            self.assertLess(found.allowed["y"][0], 1e-300, power)

    def test_a_truth_that_nothing_bounds_is_no_number(self):
        found = assay.truth(lambda x: np.log1p(np.exp(x)), x=np.float32([1.0, 1e9]))
        self.assertAlmostEqual(found["y"][0], 1.3132616, 6)
        self.assertTrue(np.isnan(found["y"][1]) and np.isinf(found.allowed["y"][1]))

    def test_settings_that_the_function_takes_by_any_name(self):
        def scaled(x, *unused, **more):
            return x * more.get("scale", 1.0)

        x = normal(3)
        np.testing.assert_array_equal(assay.truth(scaled, x=x, scale=2.0)["y"], 2 * x)

    def test_powers_of_two_are_exact(self):
        def slope(x):
            return x + 2 ** (-2 ** -(math.log2(8) - 3)) * 0.125  # 1/16: a tie of f32

        x = np.float32([2.0**-24 + 15 / 16, 3 * 2.0**-24 + 15 / 16])
        np.testing.assert_array_equal(assay.truth(slope, x=x)["y"], (x.astype(float) + 0.0625).astype("f4"))

    def test_equal_programs_of_two_functions(self):
        def first(x):
            return x * 2

        def second(x):
            return x * 2

        x = np.float32([1, 2])
        np.testing.assert_array_equal(assay.truth(first, x=x)["y"], assay.truth(second, x=x)["y"])

    def test_casts_are_no_matter_of_what_is_right(self):
        def signal(x):
            inverse = np.exp(np.arange(4, dtype=np.float32) * np.float32(-0.3))
            return x * inverse.astype(np.float32)

        x = np.float32([1, 2, 3, 4])
        exact = x.astype(float) * np.exp(np.arange(4) * float(np.float32(-0.3)))
        np.testing.assert_array_equal(assay.truth(signal, x=x)["y"], exact.astype("f4"))

    def test_outputs_are_judged(self):
        q, k, v = (normal(2, 6, 4).astype("f4") for _ in range(3))
        right = attention(q, k, v).astype("f4")  # NumPy 2 has it in f64
        self.assertIn("right: 48 elements", assay.judge(attention, right, q=q, k=k, v=v))
        with self.assertRaisesRegex(AssertionError, "expected"):
            assay.judge(attention, right * np.float32(1.001), q=q, k=k, v=v)
        with self.assertRaisesRegex(ValueError, "has the dtype"):
            assay.judge(attention, right.astype(complex), q=q, k=k, v=v)

    def test_a_function_that_remembers_is_found_out(self):
        calls = []

        def counts(x):
            calls.append(x)
            return x * len(calls)

        with self.assertRaisesRegex(RuntimeError, "by the function in f64.*not traced"):
            assay.truth(counts, x=np.ones(3))

    def test_a_program_too_large_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "needs more than [0-9]+ additions"):
            assay.truth(lambda x: x @ x, x=np.zeros((6000, 6000), "f4"))


REFERENCE = '''
    import numpy as np
    import assay

    @assay.formula(x="B n d", w="d > 0")
    def rms_norm(x, w):
        return x * w / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6)

    @assay.formula(x="B n d", position="B n int >= 0", base="setting 10000.0 500.0")
    def rotate(x, position, base=10000.0):
        d = x.shape[-1] // 2 * 2
        angle = position[..., None] * base ** (-np.arange(0, d, 2) / d)
        first, second = x[..., :d:2], x[..., 1:d:2]
        y = x.copy()
        y[..., :d:2] = first * np.cos(angle) - second * np.sin(angle)
        y[..., 1:d:2] = first * np.sin(angle) + second * np.cos(angle)
        return y

    def undeclared(x):
        return x

    @assay.formula(x="B n")
    def branches(x):
        return x if x[0, 0] > 0 else -x

    @assay.formula(x="B n")
    def notices(x):
        return x * (2 if type(x) is np.ndarray else 1)

    @assay.formula(x="B n")
    def centred(x):
        return x - x.mean(0)

    @assay.formula(x="t d", offsets="s+1 int offsets of t")
    def segments(x, offsets):
        t = np.arange(x.shape[0])
        inside = (offsets[:-1, None] <= t) & (t < offsets[1:, None])
        return np.where(inside[:, :, None], x, 0).sum(1)

    @assay.formula(x="B n d", keep="B n m bool, a key in each row", y="B m d")
    def masked(x, y, keep):
        s = np.where(keep, x @ y.swapaxes(-1, -2), -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    @assay.formula(q="B h n d", k="B g n d", h="multiple of g")
    def grouped(q, k):
        k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
        return np.einsum("bhnd,bhmd->bhnm", q, k)

    @assay.formula(x="B n d unit d", y="B n d unit d", t="n sorted")
    def cosines(x, y, t):
        return np.sum(x * y, -1) * np.diff(t, append=t[-1:])

    @assay.formula(a="B n", b="B n")
    def of_logarithms(a, b):
        return b + np.log(a)

    @assay.formula(s="B n m", keep="B m bool")
    def padded(s, keep):
        s = np.where(keep[:, None], s, -np.inf)
        e = np.exp(s - s.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    @assay.formula(p="B")
    def of_logits(p):
        return np.log(p) - np.log(1 - p)

    @assay.formula(x="B n d", w="d > 0")
    def rms_norm_in_two_ways(x, w):
        return rms_norm(x, w)

    @assay.same_as(rms_norm_in_two_ways)
    def without_epsilon(x, w):
        return x * w / np.sqrt(np.mean(x * x, axis=-1, keepdims=True))

    @assay.formula(x="B n", a="B n in (0, 1)")
    def gated(x, a):
        h, all_states = 0.0, []
        for t in range(x.shape[1]):
            h = a[:, t] * h + x[:, t]
            all_states.append(h)
        return np.stack(all_states, 1)

    @assay.formula(position="n int in [0, 5000]", dim="setting 64 8 128")
    def frequencies(position, dim=64):
        return position[:, None] * 10000.0 ** (-np.arange(0, dim, 2) / dim)

    @assay.formula(x="B n d", p="3 B n int in [0, 100]")
    def three_axes(x, p):
        return x * (p[0] + p[1] + p[2])[..., None]

    @assay.formula(x="B n")
    def in_f32(x):
        return np.tanh(x.astype(np.float32)) + np.zeros(x.shape)

    @assay.formula(x="B n")
    def breaks(x):
        if x.shape[1] == 2:
            raise RuntimeError("of two I know nothing")
        return x * 2

    def masks(random, n):
        return {"m": random.random(n) < 0.5, "x": random.normal(size=n)}

    @assay.formula(x="n", m="n bool", inputs=masks)
    def kept(x, m):
        return np.where(m, 2 * x, x)

    def pages(random, B, p, m):
        return {"table": np.stack([random.permutation(m)[:p] for _ in range(B)])}

    @assay.formula(q="B d", k="m d", v="m d", table="B p int", m="multiple of p", inputs=pages)
    def paged(q, k, v, table):
        scores = np.einsum("bd,bpd->bp", q, k[table])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("bp,bpd->bd", weights / weights.sum(-1, keepdims=True), v[table])

    def attention_with(narrow, q, k, v):
        with assay.stage("scores", narrow=narrow):
            scores = q @ k.T / 64
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v

    @assay.formula(q="n d", k="m d", v="m d")
    def wide_scores(q, k, v):
        return attention_with(False, q, k, v)

    @assay.formula(q="n d", k="m d", v="m d")
    def narrow_scores(q, k, v):
        return attention_with(True, q, k, v)

    def too_few(random):
        return {"table": np.zeros(1, int)}

    @assay.formula(q="B d", k="m d", v="m d", table="B p int", inputs=too_few)
    def wrongly_drawn(q, k, v, table):
        return paged(q, k, v, table)
'''
KERNELS = '''
    import assay
    import numpy as np

    def rms_norm(x, w):
        return x * w / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(1e-6))

    def other_epsilon(x, w):
        return x * w / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(1e-5))

    def rotate(x, position, base=10000.0):
        d = x.shape[-1] // 2 * 2
        angle = (position[..., None] * base ** (-np.arange(0, d, 2) / d)).astype(x.dtype)
        c, s = np.cos(angle), np.sin(angle)
        y = x.copy()
        y[..., :d:2] = x[..., :d:2] * c - x[..., 1:d:2] * s
        y[..., 1:d:2] = x[..., :d:2] * s + x[..., 1:d:2] * c
        return y

    def backwards(x, position, base=10000.0):
        return rotate(x, -position, base)

    def twice(x):
        return x * 2

    def centred(x):
        return x - x.mean(0)

    def gated(x, a):
        h, out = np.zeros_like(x[:, 0]), np.empty_like(x)
        for t in range(x.shape[1]):
            h = a[:, t] * h + x[:, t]
            out[:, t] = h
        return out

    def frequencies(position, dim=64, dtype=np.float32):
        return (position[:, None] * np.exp(np.arange(0, dim, 2) * (-np.log(10000.0) / dim))).astype(dtype)

    def other_base(position, dim=64, dtype=np.float32):
        return (position[:, None] * 1000.0 ** (-np.arange(0, dim, 2) / dim)).astype(dtype)

    def two_of_three_axes(x, p):
        return x * (p[0] + p[1] + p[1])[..., None].astype(x.dtype)

    def centred_along_the_other_axis(x):
        return x - x.mean(1, keepdims=True)

    def paged(q, k, v, table):
        if any(len(set(row)) != len(row) for row in table.tolist()):
            raise ValueError("a page stands twice")
        scores = np.einsum("bd,bpd->bp", q, k[table])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return np.einsum("bp,bpd->bd", weights, v[table])

    def in_half(q, k, v):
        scores = (q.astype(np.float32) @ k.astype(np.float32).T / 64).astype(np.float16).astype(np.float32)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return (weights / weights.sum(-1, keepdims=True) @ v.astype(np.float32)).astype(np.float16)

    half_scores = assay.candidate(dtypes=["f16"])(lambda q, k, v: in_half(q, k, v))
    declared = assay.candidate(operation="formula/wide_scores", dtypes=["f16"],
                               compute={"f16": {"scores": "f16", "rest": "f32"}})(lambda q, k, v: in_half(q, k, v))

    def paged_one_early(q, k, v, table):
        return paged(q, k, v, table[:, ::-1] if table.shape[1] < 2 else np.maximum(table - 1, 0) if len(table) > 1 else table)

    def other_groups(q, k):
        k = np.tile(k, (1, q.shape[1] // k.shape[1], 1, 1))
        return np.einsum("bhnd,bhmd->bhnm", q, k)
'''


class Gating(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        with open(os.path.join(HERE, "..", "examples", "numpy_formulas.py"), encoding="utf-8") as file:
            examples = file.read()
        for name, text in (("reference", REFERENCE), ("kernels", KERNELS), ("numpy_formulas", examples)):
            with open(os.path.join(cls.folder, name + ".py"), "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(text))
        with open(os.path.join(cls.folder, "another.py"), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(REFERENCE).replace("1e-6", "1e-5"))

    def run_assay(self, *arguments):
        environment = {**os.environ, "ASSAY_PYTHON": sys.executable,
                       "PYTHONPATH": os.path.join(HERE, "..", "adapters", "python")}  # for a reference that imports assay
        return subprocess.run([ASSAY, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)

    SMOKE = ("--effort", "smoke")  # where a test is not about the checks

    def gate(self, formula, candidate, code, *arguments):
        """report.json"""
        arguments = arguments if "--dtype" in arguments else (*arguments, "--dtype", "f32")
        done = self.run_assay("gate", "--formula", f"python:reference:{formula}", "--candidate", candidate, "--report", "report",
                              *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        with open(os.path.join(self.folder, "report", "report.json"), encoding="utf-8") as file:
            return json.load(file), done.stdout

    def test_right_code_passes_and_the_formula_itself(self):
        for candidate in ("python:kernels:rms_norm", "python:reference:rms_norm"):
            report, text = self.gate("rms_norm", candidate + "@formula/rms_norm", 0)
            self.assertEqual(report["formula"]["spec"], "python:reference:rms_norm")
            self.assertIn(f"sha256 {report['formula']['sha256'][:12]}", text)
            self.assertEqual({check["operation"] for check in report["checks"]}, {"formula/rms_norm"})
        self.gate("rotate", "python:kernels:rotate@formula/rotate", 0)

    def test_wrong_code_fails_and_the_case_runs_again(self):
        report, text = self.gate("rms_norm", "python:kernels:other_epsilon@formula/rms_norm", 1)
        self.assertEqual(report["verdict"], "failed")
        command = next(line for line in text.splitlines() if "assay replay" in line).split()
        self.assertNotIn("--formula", command)  # the case has its program
        os.rename(os.path.join(self.folder, "reference.py"), os.path.join(self.folder, "gone.py"))
        try:
            done = self.run_assay(*command[1:])
        finally:
            os.rename(os.path.join(self.folder, "gone.py"), os.path.join(self.folder, "reference.py"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("expected", done.stdout)
        self.gate("rotate", "python:kernels:backwards@formula/rotate", 1)

    def test_golden_tensors_of_a_formula(self):
        formula, out = ("--formula", "python:reference:rms_norm"), os.path.join(self.folder, "golden")
        made = self.run_assay("golden", "make", *formula, "--out", out)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(self.run_assay("golden", "check", out, *formula).returncode, 0)
        unknown = self.run_assay("golden", "check", out)
        self.assertEqual(unknown.returncode, 2, unknown.stderr)
        self.assertIn("unknown operation 'formula/rms_norm'", unknown.stdout + unknown.stderr)
        another = self.run_assay("golden", "check", out, "--formula", "python:another:rms_norm")
        self.assertEqual(another.returncode, 1, another.stdout + another.stderr)
        self.assertEqual(self.run_assay("golden", "make", "--out", out + "2").returncode, 2)  # neither recipe nor formula

    def test_a_sweep_of_a_formula(self):
        done = self.run_assay("explore", "--formula", "python:reference:rms_norm", "--candidate", "python:kernels:rms_norm", "--out",
                              os.path.join(self.folder, "sweep"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"formula/rms_norm, formula in f32, scale 16: digits by number of tokens: \d+\.\d at 16,")
        self.assertRegex(done.stdout, r"python:kernels:rms_norm in f32, scale 16: digits by number of tokens: \d+\.\d at 16,")
        self.assertRegex(done.stdout, r"inputs rounded to f32 leave these digits, by number of tokens, whatever the code: \d\.\d at 16,")
        other = self.run_assay("explore", "--formula", "python:another:rms_norm", "--candidate", "python:kernels:rms_norm", "--out",
                               os.path.join(self.folder, "sweep"), "--resume")
        self.assertEqual(other.returncode, 2, other.stdout + other.stderr)
        self.assertIn("it was measured against the formula python:reference:rms_norm with sha256", other.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.folder, "sweep", "index.html")))

    def test_a_record_from_anywhere_is_refused_or_runs(self):
        self.gate("rms_norm", "python:kernels:other_epsilon", 1)
        with open(os.path.join(self.folder, "report", "counterexamples", "value-formula-rms_norm-f32.json")) as file:
            stored = json.load(file)
        endless = {"axes": ["n"], "powers": [2**31 - 1], "operations": 1}
        for change in (lambda says: says["inputs"][0]["axes"].append("a" * 400000), lambda says: says.pop("found"),
                       lambda says: says.update(turns=endless), lambda says: says.update(turns={**endless, "powers": []}),
                       lambda says: says.update(multiples={"d": "0"}), lambda says: says["inputs"][0].update(axes=[], rule="unit")):
            tampered = copy.deepcopy(stored)
            change(tampered["formula"]["says"])
            with open(os.path.join(self.folder, "tampered.json"), "w") as file:
                json.dump(tampered, file)
            done = self.run_assay("replay", "tampered.json", "--candidate", "python:kernels:other_epsilon")
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_what_is_wrong_is_said_in_the_words_of_the_formula(self):
        for formula, kernel, said in (
                ("rms_norm", "other_epsilon", r"behaves like: 1e-06 in `np\.mean\(x \* x, .*\) \+ 1e-6` \(reference\.py:7\) as 1e-05"),
                ("rotate", "backwards", "behaves like: position has the wrong sign")):
            _, text = self.gate(formula, f"python:kernels:{kernel}", 1)
            self.assertRegex(text.replace("\\", ""), said)

    def test_faults_put_into_each_step_are_killed(self):
        done = self.run_assay("mutants", "--formula", "python:reference:rms_norm", "--out", "killed")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(os.path.join(self.folder, "killed", "kills.json"), encoding="utf-8") as file:
            killed = json.load(file)["mutants"]
        own = [one for one in killed if one["mutant"].startswith("mutant/formula/rms_norm")]
        self.assertGreater(len(own), 15)
        self.assertTrue(all(one["killed"] for one in own))
        faults = {one["fault"] for one in own}
        self.assertIn("`x * w` (reference.py:7) without the factor `w`", faults)

    def test_shards_are_merged_without_the_function(self):
        whole, _ = self.gate("rms_norm", "python:kernels:other_epsilon", 1, *self.SMOKE)
        for k in (1, 2):
            self.run_assay("gate", "--formula", "python:reference:rms_norm", "--candidate", "python:kernels:other_epsilon",
                           "--dtype", "f32", "--shard", f"{k}/2", "--report", f"shard{k}", *self.SMOKE)
        done = self.run_assay("merge", "shard1", "shard2", "--report", "merged")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        with open(os.path.join(self.folder, "merged", "report.json"), encoding="utf-8") as file:
            merged = json.load(file)
        self.assertEqual(merged["formula"], whole["formula"])
        self.assertEqual([check["verdict"] for check in merged["checks"]], [check["verdict"] for check in whole["checks"]])
        case = next(check["counterexample"]["file"] for check in merged["checks"] if "counterexample" in check)
        done = self.run_assay("replay", os.path.join("merged", case), "--candidate", "python:kernels:other_epsilon")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_another_formula_is_another_truth(self):
        self.gate("rms_norm", "python:kernels:rms_norm", 0, *self.SMOKE)
        os.replace(os.path.join(self.folder, "report"), os.path.join(self.folder, "before"))
        report, _ = self.gate("centred", "python:kernels:centred", 0, "--baseline", "before/report.json", *self.SMOKE)
        self.assertIn("another truth is not comparable", " ".join(report["warnings"]))
        done = self.run_assay("compare", "before", "report")
        self.assertEqual(done.stdout.count("of the formula with sha256"), 2, done.stdout)

    def test_axes_that_are_not_apart_are_found(self):
        self.gate("centred", "python:kernels:centred", 0, *self.SMOKE)
        report, text = self.gate("centred", "python:kernels:centred_along_the_other_axis", 1)
        self.assertIn("is wrong on mild inputs", text)

    def test_declarations_are_kept(self):
        for name in ("segments", "masked", "grouped", "cosines"):
            self.gate(name, f"python:reference:{name}", 0, *self.SMOKE)
        self.gate("grouped", "python:kernels:other_groups", 1, *self.SMOKE)

    def test_other_ways_are_right_as_well(self):
        for formula in ("attention", "gated_scan", "variance"):
            itself = f"python:numpy_formulas:{formula}"
            arguments = ("check-formula", itself) if formula == "variance" else (  # in f64 and bf16, too
                "gate", "--formula", itself, "--candidate", itself, "--dtype", "f32", "--property", "value", *self.SMOKE)
            done = self.run_assay(*arguments, "--report", "report")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stdout, "What (online_attention|chunked_scan|welford) rounds is right as well")
        done = self.run_assay("gate", "--formula", "python:reference:rms_norm_in_two_ways", "--candidate", "python:kernels:twice",
                              "--report", "report")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"without_epsilon is not the same function as the formula .*: y\[0, 0, 0\] is .*, and .* by it")

    def test_what_another_way_rounds_is_allowed_in_python_too(self):
        def square_of_sum(x, y):
            return (x + y) ** 2

        @assay.same_as(square_of_sum)
        def written_out(x, y):
            return x * x + 2 * x * y + y * y

        x, y = np.float32([1.0, 3.0]), np.float32([-0.999, 3.0])
        alone = assay.truth(lambda x, y: (x + y) ** 2, x=x, y=y)
        both = assay.truth(square_of_sum, x=x, y=y)
        np.testing.assert_array_equal(alone["y"], both["y"])
        self.assertGreater(both.allowed["y"][0], 100 * alone.allowed["y"][0])
        self.assertIn("right", assay.judge(square_of_sum, written_out(x, y), x=x, y=y))

        def twice(x):
            return x + x

        @assay.same_as(twice)
        def of_other_numbers(x):
            return 2 * x + 1e-9
        with self.assertRaisesRegex(RuntimeError, "of_other_numbers is not the same function"):
            assay.judge(twice, x + x, x=x)
        with self.assertRaises(AssertionError):
            assay.judge(lambda x, y: (x + y) ** 2, written_out(x, y), x=x, y=y)

    def test_sizes_stay_within_what_a_loop_can_have(self):
        report, text = self.gate("gated", "python:kernels:gated", 0)
        largest = max(part["largest_sizes"]["n"] for part in report["accuracy_class"])
        self.assertTrue(100 < largest < 4000, text)
        done = self.run_assay("gate", "--formula", "python:reference:gated", "--candidate", "python:kernels:gated", "--dtype",
                              "f32", "--shape", "B=1,n=100000", "--report", "report")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a loop along n has", done.stderr)
        done = self.run_assay("gate", "--formula", "python:reference:masked", "--candidate", "python:reference:masked", "--dtype",
                              "f32", "--shape", "B=1,n=10000,m=10000,d=2", "--report", "report")
        self.assertEqual(done.returncode, 2)
        self.assertIn("an array of B x m x n has 100000000 elements", done.stderr)

    def test_settings_that_are_sizes(self):
        self.gate("frequencies", "python:kernels:frequencies", 0)
        report, text = self.gate("frequencies", "python:kernels:other_base", 1)
        self.assertIn("10000 in", text)
        self.gate("three_axes", "python:reference:three_axes", 0, *self.SMOKE)
        self.gate("three_axes", "python:kernels:two_of_three_axes", 1, *self.SMOKE)

    def test_a_formula_that_casts_is_itself(self):
        done = self.run_assay("check-formula", "python:reference:in_f32")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_inputs_that_a_function_draws(self):
        report, _ = self.gate("paged", "python:kernels:paged@formula/paged", 0)  # it raises where a page stands twice
        self.gate("paged", "python:kernels:paged_one_early@formula/paged", 1, *self.SMOKE)
        self.gate("kept", "python:reference:kept", 0)  # truths, and all inputs
        done = self.run_assay("gate", "--formula", "python:reference:wrongly_drawn", "--candidate",
                              "python:kernels:paged@formula/wrongly_drawn", "--dtype", "f32")
        self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
        self.assertIn("inputs=too_few gives table of [1], and its axes B p are [", done.stderr)

    def test_stages_have_formats_of_their_own(self):
        wide, _ = self.gate("wide_scores", "python:kernels:half_scores@formula/wide_scores", 1, "--dtype", "f16")
        self.assertIn("scores (reference.py:", " ".join(wide["findings"]))
        self.gate("narrow_scores", "python:kernels:half_scores@formula/narrow_scores", 0, "--dtype", "f16")
        self.gate("wide_scores", "python:kernels:declared", 0, "--dtype", "f16")

    def test_axes_on_the_command_line(self):
        self.gate("undeclared", "python:reference:undeclared", 0, "--axes", "x=B n", *self.SMOKE)
        done = self.run_assay("check-formula", "python:reference:undeclared", "--axes", "x=B n d > 0")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_assay("gate", "--formula", "python:reference:undeclared", "--axes", "B n", "--candidate", "builtin:tree")
        self.assertEqual(done.returncode, 3)
        self.assertIn("must be NAME=AXES", done.stderr)

    def test_which_values_an_input_has(self):
        for formula, line, pasted in (("of_logarithms", "np.log(a)", 'a="B n > 0"'), ("of_logits", "np.log(1 - p)", 'p="B in (0, 1)"'),
                                      ("padded", "s - s.max", 'keep="B m bool, a key in each row"')):
            done = self.run_assay("check-formula", f"python:reference:{formula}")
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            lines = textwrap.dedent(REFERENCE).splitlines()
            place = max(k for k, text in enumerate(lines, 1) if line in text)
            self.assertRegex(done.stderr, f"invalid value encountered in (log|subtract) at .*reference.py:{place}: which values has (a|p|keep)")
            self.assertIn(f"@assay.formula({pasted})", done.stderr)

    def test_a_formula_is_shown_and_held_against_itself(self):
        done = self.run_assay("check-formula", "python:reference:rms_norm")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("x: real [1, 2, 2]", done.stdout)
        self.assertIn("output y =", done.stdout)
        self.assertIn("- passed", done.stdout)

    def test_check_takes_a_formula(self):
        sys.path.insert(0, self.folder)
        self.addCleanup(sys.path.remove, self.folder)
        import kernels
        import reference
        assay.check(kernels.rms_norm, formula=reference.rms_norm, dtypes=["f32"])
        with self.assertRaisesRegex(AssertionError, "rms_norm"):
            assay.check(kernels.other_epsilon, formula=reference.rms_norm, dtypes=["f32"])
        with self.assertRaisesRegex(ValueError, "in a file"):
            assay.check(kernels.rms_norm, formula=lambda x, w: x)
        with self.assertRaisesRegex(ValueError, "nothing says which axes"):
            assay.check(kernels.twice, formula=reference.undeclared)

    def test_a_candidate_is_found_by_its_parameters(self):
        self.gate("rms_norm", "python:kernels:rms_norm", 0)

    def test_a_formula_that_is_none_is_no_fault_of_the_candidate(self):
        for formula, said in (("undeclared", '@assay.formula(x="B n d")'), ("branches", "numpy.where"),
                              ("nothing", "no 'nothing'"), ("notices", "other numbers than the program"), ("breaks", "of two I know nothing")):
            done = self.run_assay("gate", "--formula", f"python:reference:{formula}", "--candidate",
                                  f"python:kernels:twice@formula/{formula}", "--dtype", "f32", "--report", "report")
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)
            self.assertIn(said, done.stderr)
        done = self.run_assay("gate", "--formula", "reference.py", "--candidate", "python:kernels:twice")
        self.assertEqual(done.returncode, 2)
        self.assertIn("must be python:MODULE:FUNCTION", done.stderr)


class Declaring(unittest.TestCase):
    def test_texts(self):
        inputs, settings, _ = declared({"q": "B h n d", "p": "B n int >= 0", "i": "n int < m", "k": "B m d", "s": "h in (0, 1)",
                                     "w": "d <= 2", "window": "setting 0 3", "mode": "setting sum mean", "on": "setting true false",
                                     "c": "3 d"})
        self.assertEqual(inputs["q"], {"name": "q", "axes": ["B", "h", "n", "d"], "type": "real", "into": None, "low": None,
                                       "high": None, "rule": ""})
        self.assertEqual((inputs["p"]["type"], inputs["p"]["low"]), ("integer", 0.0))
        self.assertEqual((inputs["i"]["into"], inputs["i"]["type"]), ("m", "integer"))
        self.assertTrue(0 < inputs["s"]["low"] < 1e-300 and 0.999 < inputs["s"]["high"] < 1)
        self.assertEqual((inputs["w"]["high"], inputs["c"]["axes"]), (2.0, ["3", "d"]))
        self.assertEqual(settings, {"window": [0, 3], "mode": ["sum", "mean"], "on": [True, False]})

    def test_annotations_of_jaxtyping(self):
        class Annotation:
            def __init__(self, dim_str, *dtypes):
                self.dim_str, self.dtypes = dim_str, dtypes or object()

        def function(x, i, m, w, c, r): ...
        function.__annotations__ = {
            "x": Annotation("B n d", "float32", "bfloat16"), "i": Annotation("n", "int32", "uint8"), "m": Annotation("#B n", "bool"),
            "w": Annotation("2*d _"), "c": Annotation("_ three=3", "float64"), "r": "n d > 0"}
        inputs, _, _ = declaration_of(function)
        self.assertEqual({name: (" ".join(one["axes"][:1]), len(one["axes"]), one["type"]) for name, one in inputs.items()},
                         {"x": ("B", 3, "real"), "i": ("n", 1, "integer"), "m": ("B", 2, "boolean"), "w": ("2d", 2, "real"),
                          "c": (inputs["c"]["axes"][0], 2, "real"), "r": ("n", 2, "real")})
        self.assertEqual(inputs["c"]["axes"][1], "3")
        self.assertNotEqual(inputs["c"]["axes"][0], inputs["w"]["axes"][1])
        function.__annotations__["x"] = Annotation("... d", "float32")
        with self.assertRaisesRegex(WrongDeclaration, "x: ... stands for any number of axes"):
            declaration_of(function)

    @unittest.skipUnless(importlib.util.find_spec("jaxtyping"), "jaxtyping is not installed")
    def test_annotations_of_jaxtyping_as_installed(self):
        from jaxtyping import Bool, Float, Int, Shaped

        def function(x, i, m, s): ...
        function.__annotations__ = {"x": Float[np.ndarray, "B n d"], "i": Int[np.ndarray, "n"], "m": Bool[np.ndarray, "B n"],
                                    "s": Shaped[np.ndarray, ""]}
        inputs, _, _ = declaration_of(function)
        self.assertEqual([(one["axes"], one["type"]) for one in inputs.values()],
                         [(["B", "n", "d"], "real"), (["n"], "integer"), (["B", "n"], "boolean"), ([], "real")])

    def test_texts_that_say_nothing(self):
        for text in ("B n ??", "B n > many", "setting", "B n d unit n", "B n, a key in each row", "B n int < w"):
            with self.assertRaises(WrongDeclaration):
                declared({"x": text})
        with self.assertRaisesRegex(WrongDeclaration, "which axes y has"):
            declaration_of(assay.formula(x="B n")(lambda x, y: x))
        with self.assertRaisesRegex(WrongDeclaration, "no parameter z"):
            declaration_of(assay.formula(x="B n", z="B")(lambda x: x))


if __name__ == "__main__":
    unittest.main()
