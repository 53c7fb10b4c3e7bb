"""Tests of the second reader of programs: formulas of many nodes against NumPy, derivatives against differences."""

import math
import unittest

import numpy

from program import Program, certified
from program_text import Text
from test_program import Draws, softmax
from test_program_gradient import agrees_with_differences


def scaled_scores(text, q, k, d):
    scale = text("power", text("number", value=d), p=-1, q=2)
    return text("multiply", text("contract", q, k, of="nd,md->nm"), scale)


def distances(text, n, m):
    """i - j of all pairs."""
    i = text("reshape", text("iota", size=n), shape=[n, 1])
    return text("subtract", i, text("iota", size=m))


def masked(text, scores, distance):
    """-inf where a key comes later."""
    later = text("less", distance, text("integer", value=0))
    return text("where", later, text("number", value="-inf"), scores)


class formulas(unittest.TestCase):
    """In f64 against NumPy: with numbers below 4 and some dozens of operations NumPy's error is far below 2^-38."""

    def agree(self, text, outputs, shapes, expected, seed=1):
        program = Program.read(text.json(**outputs))
        draws = Draws(seed)
        arrays = {name: draws.array("r", shape) for name, shape in shapes.items()}
        inputs = {name: array.ravel().tolist() for name, array in arrays.items()}
        got = certified(program, inputs, "f64")
        for name, want in expected(**arrays).items():
            self.assertEqual(program.nodes[program.outputs[name]].shape, list(want.shape))
            numpy.testing.assert_allclose(got[name], want.ravel(), rtol=2**-38, atol=2**-38)
            in_short = certified(program, inputs, "f32")[name]
            numpy.testing.assert_array_equal(in_short, numpy.float32(got[name]))  # no double of these is next to a tie
        agrees_with_differences(self, program, inputs, outputs)

    def test_attention_with_a_causal_mask(self):
        n, d, e = 4, 3, 2
        text = Text()
        q, k, v = text.array("q", n, d), text.array("k", n, d), text.array("v", n, e)
        scores = masked(text, scaled_scores(text, q, k, d), distances(text, n, n))
        weights = text("softmax", scores, axis=1)
        outputs = {"out": text("contract", weights, v, of="nm,me->ne"), "lse": text("log_sum_exp", scores, axes=[1])}

        def expected(q, k, v):
            scores = q @ k.T / math.sqrt(d)
            scores[numpy.triu_indices(n, 1)] = -numpy.inf
            return {"out": softmax(scores, 1) @ v, "lse": numpy.log(numpy.exp(scores).sum(1))}
        self.agree(text, outputs, {"q": (n, d), "k": (n, d), "v": (n, e)}, expected)

    def test_attention_by_running_sums_is_the_same(self):
        """softmax of a row as e^(x - largest) over its sum, the largest detached."""
        text = Text()
        x, v = text.array("x", 3, 4), text.array("v", 4, 2)
        largest = text("detach", text("reshape", text("largest", x, axes=[1]), shape=[3, 1]))
        e = text("exp", text("subtract", x, largest))
        total = text("reshape", text("sum", e, axes=[1]), shape=[3, 1])
        out = text("divide", text("contract", e, v, of="nm,me->ne"), total)
        self.agree(text, {"out": out}, {"x": (3, 4), "v": (4, 2)}, lambda x, v: {"out": softmax(x, 1) @ v})

    def test_rms_norm(self):
        text = Text()
        x, w = text.array("x", 2, 5), text.array("w", 5)
        mean = text("mean", text("power", x, p=2, q=1), axes=[1])
        scale = text("power", text("add", mean, text("number", value=1e-5)), p=-1, q=2)
        out = text("multiply", text("multiply", x, text("reshape", scale, shape=[2, 1])), w)
        self.agree(text, {"out": out}, {"x": (2, 5), "w": (5,)}, lambda x, w: {
            "out": x / numpy.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * w})

    def test_rotation_by_pairs(self):
        n, d = 3, 4
        text = Text()
        x = text.array("x", n, d)
        pair = text("to_real", text("iota", size=d // 2))
        exponent = text("multiply", pair, text("fraction", numerator=-2, denominator=d))
        theta = text("pow", text("number", value=10000), exponent)
        position = text("reshape", text("to_real", text("iota", size=n)), shape=[n, 1])
        angle = text("multiply", position, theta)
        cosine, sine = text("cos", angle), text("sin", angle)
        even, odd = (text("slice", x, start=[0, k], stop=[n, d], step=[1, 2]) for k in (0, 1))
        parts = [text("subtract", text("multiply", even, cosine), text("multiply", odd, sine)),
                 text("add", text("multiply", even, sine), text("multiply", odd, cosine))]
        pairs = text("concatenate", *(text("reshape", part, shape=[n, d // 2, 1]) for part in parts), axis=2)
        out = text("reshape", pairs, shape=[n, d])

        def expected(x):
            turn = numpy.exp(1j * numpy.arange(n)[:, None] * 10000.0**(-2 * numpy.arange(d // 2) / d))
            z = (x[:, 0::2] + 1j * x[:, 1::2]) * turn
            return {"out": numpy.stack([z.real, z.imag], 2).reshape(n, d)}
        self.agree(text, {"out": out}, {"x": (n, d)}, expected)

    def test_alibi(self):
        h, n = 4, 3
        text = Text()
        scores = text.array("scores", h, n, n)
        head = text("to_real", text("add", text("iota", size=h), text("integer", value=1)))
        exponent = text("multiply", head, text("fraction", numerator=-8, denominator=h))
        slopes = text("reshape", text("pow", text("number", value=2), exponent), shape=[h, 1, 1])
        distance = distances(text, n, n)
        biased = text("subtract", scores, text("multiply", slopes, text("to_real", distance)))
        out = text("softmax", masked(text, biased, distance), axis=2)

        def expected(scores):
            i, j = numpy.indices((n, n))
            biased = scores - 2.0**(-8 * numpy.arange(1, h + 1) / h)[:, None, None] * (i - j)
            weights = softmax(numpy.where(j > i, -numpy.inf, biased), 2)
            return {"out": weights, "slopes": 2.0**-numpy.array([2, 4, 6, 8.0])}
        self.agree(text, {"out": out, "slopes": text("reshape", slopes, shape=[h])}, {"scores": (h, n, n)}, expected)

    def test_biases_that_are_gathered_by_clipped_distances(self):
        h, n, m, most = 2, 4, 3, 2
        text = Text()
        table = text.array("table", 2 * most + 1, h)
        low, high = (text("integer", value=value) for value in (-most, most))
        clipped = text("maximum", text("minimum", distances(text, n, m), high), low)
        bucket = text("add", clipped, high)
        out = text("transpose", text("gather", table, bucket, axis=0), axes=[2, 0, 1])

        def expected(table):
            i, j = numpy.indices((n, m))
            return {"out": table[numpy.clip(i - j, -most, most) + most].transpose(2, 0, 1)}
        self.agree(text, {"out": out}, {"table": (2 * most + 1, h)}, expected)

    def test_a_cache_that_is_updated_and_gates_that_are_summed(self):
        text = Text()
        cache, new, gate = text.array("cache", 4, 2), text.array("new", 1, 2), text.array("gate", 4)
        kept = text("update", cache, new, start=[2, 0])
        sums = text("cumulative_sum", text("log_sigmoid", gate), axis=0)
        decay = text("exp", text("reshape", sums, shape=[4, 1]))

        def expected(cache, new, gate):
            kept = cache.copy()
            kept[2:3] = new
            return {"out": kept * numpy.cumprod(1 / (1 + numpy.exp(-gate)))[:, None]}
        shapes = {"cache": (4, 2), "new": (1, 2), "gate": (4,)}
        self.agree(text, {"out": text("multiply", kept, decay)}, shapes, expected)

    def test_that_lose_all_bits_of_a_double_are_decided(self):
        """(1 + x) - 1 and log(e^-1000 + 1) e^1000, of which doubles make 0."""
        text = Text()
        one, x = text("number", value=1), text.array("x", 1)
        small = text("subtract", text("add", one, x), one)
        large = text("exp", text("negative", text("number", value=1000)))
        ratio = text("divide", text("log", text("add", large, one)), large)
        program = Program.read(text.json(small=small, ratio=ratio))
        self.assertEqual(certified(program, {"x": [1e-300]}, "f64"), {"small": [1e-300], "ratio": [1.0]})


if __name__ == "__main__":
    unittest.main()
