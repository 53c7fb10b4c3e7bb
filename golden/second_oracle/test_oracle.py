"""Tests of the second oracle: its enclosures, its rounding, and that it finds what is wrong."""

import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction

import numpy

from mpmath import mp, mpf
from mpmath.libmp import from_man_exp

import differentiation
import interval
import safetensors_file
from interval import Interval

HERE = os.path.dirname(os.path.abspath(__file__))
SETS = os.path.join(HERE, os.pardir, "sets")


def contains(enclosure, truth):
    lo, hi = mp.make_mpf(enclosure.lo), mp.make_mpf(enclosure.hi)
    return lo < truth < hi if enclosure.open else lo <= truth <= hi


class enclosures(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(17)
        interval.set_precision(120)
        mp.prec = 2000

    def draw(self, low=-30, high=9):
        return math.ldexp(self.random.uniform(1, 2), self.random.randint(low, high)) * self.random.choice((-1, 1))

    def test_hold_the_truth_at_points_and_in_wide_intervals(self):
        functions = {
            "add": (lambda x, y: x + y, lambda x, y: x + y),
            "subtract": (lambda x, y: x - y, lambda x, y: x - y),
            "multiply": (lambda x, y: x * y, lambda x, y: x * y),
            "divide": (lambda x, y: x / y, lambda x, y: x / y),
            "exp": (lambda x, y: x.exp(), lambda x, y: mp.exp(x)),
            "log": (lambda x, y: (x * x + y * y).log(), lambda x, y: mp.log(x * x + y * y)),
            "cos": (lambda x, y: x.cos_sin()[0], lambda x, y: mp.cos(x)),
            "sin": (lambda x, y: x.cos_sin()[1], lambda x, y: mp.sin(x)),
            "log_add_exp": (lambda x, y: x.log_add_exp(y), lambda x, y: mp.log(mp.exp(x) + mp.exp(y))),
            "its derivative": (lambda x, y: x.log_add_exp_derivatives(y)[0], lambda x, y: 1 / (1 + mp.exp(y - x))),
        }
        for name, (enclose, value) in functions.items():
            for width in (0, 2**-100, 2**-20):
                for _ in range(100):
                    x, y = self.draw(), self.draw()
                    wide = [Interval(Interval.of(v).lo, (mpf(v) + abs(mpf(v)) * width)._mpf_) for v in (x, y)]
                    share = self.random.random()
                    inside = [mpf(v) + abs(mpf(v)) * width * share for v in (x, y)]
                    got, truth = enclose(*wide), value(*inside)
                    self.assertTrue(contains(got, truth), (name, width, x.hex(), y.hex()))
                    if width == 0:
                        self.assertLessEqual(mp.make_mpf(got.width()), abs(truth) * mpf(2)**-100, (name, x, y))

    def test_of_functions_of_points_hold_the_truth(self):
        for _ in range(100):
            base, r, t = abs(self.draw(1, 20)), self.random.randint(1, 64), self.random.randint(0, 64)
            self.assertTrue(contains(interval.power(Interval.of(base), -t, r), mpf(base)**(mpf(-t) / r)), (base, t, r))
            near = 1 + math.ldexp(1, -self.random.randint(1, 50))
            for x in (base, near):
                self.assertTrue(contains(Interval.of(x).log(), mp.log(x)), x)
            self.assertTrue(contains(Interval.of(base).inverse_sqrt(), 1 / mp.sqrt(base)), base)
            self.assertTrue(contains(interval.cosine_integral(Interval.of(base)), mp.ci(base)), base)

    def test_of_a_value_and_its_error_hold_both_ends(self):
        """The values have more bits than an interval, just above and below 1."""
        for bits in (60, 120, 500):
            interval.set_precision(bits)
            for sign in (-1, 1):
                for below in range(bits + 1, bits + 20):
                    value, error = 1 + sign * mpf(2)**-below, mpf(2)**(-bits - 5)
                    for long in (value, value * (1 + mpf(2)**-below)):
                        got = interval.spread(long._mpf_, (long * error)._mpf_, interval.fzero)
                        for truth in (long - long * error, long + long * error):
                            self.assertTrue(mp.make_mpf(got.lo) <= truth <= mp.make_mpf(got.hi), (bits, sign, below))

    def test_of_exact_results_are_points(self):
        one, half = Interval.of(1), Interval.of(0.5)
        for exact, value in ((one + half, 1.5), (one / half, 2), (half * half, 0.25), (Interval.of(0).exp(), 1),
                             (Interval.of(4).inverse_sqrt(), 0.5), (interval.power(Interval.of(256), -3, 4), 2**-6)):
            self.assertTrue(exact.is_value(Interval.of(float(value)).lo), value)

    def test_know_a_sum_above_a_tie_by_less_than_any_precision_shows(self):
        for dtype, (precision, _, _) in safetensors_file.FORMATS.items():
            tie, next_number = Interval.of(1) + Interval.of(2.0**-precision), 1 + 2.0**(1 - precision)
            self.assertEqual(safetensors_file.rounded(tie, dtype), 1)
            for far in (-50, -1000, -1e300):
                self.assertEqual(safetensors_file.rounded(tie.log_add_exp(Interval.of(far)), dtype), next_number)


    def test_sums_of_products_hold_the_exact_sum(self):
        draws = random.Random(6)

        def drawn():
            lo = Fraction(draws.randint(-2**60, 2**60)) * Fraction(2)**draws.randint(-90, 20)
            return lo, lo + draws.choice((0, Fraction(draws.randint(0, 2**60)) * Fraction(2)**draws.randint(-160, -40)))

        def interval_of(ends):
            return Interval(*(from_man_exp(x.numerator, 1 - x.denominator.bit_length()) for x in ends),
                            ends[0] != ends[1] and draws.random() < 0.5)
        for _ in range(2000):
            pairs = [((x, x), y) for x, y in ((drawn()[0] * draws.choice((0, 1, 1)), drawn()) for _ in range(draws.randint(1, 9)))]
            found = interval.sum_of_products([(interval_of(x), interval_of(y)) for x, y in pairs])
            low, high = (sum(pick(x * y for y in ends) for (x, _), ends in pairs) for pick in (min, max))
            lo, hi = ((-1)**sign * int(man) * Fraction(2)**exp for sign, man, exp, _ in (found.lo, found.hi))
            self.assertLessEqual(lo, low)
            self.assertGreaterEqual(hi, high)
            if lo == hi:
                self.assertFalse(found.open)


class rounding(unittest.TestCase):
    def test_is_that_of_numpy(self):
        draws = random.Random(4)
        for _ in range(20000):
            x = math.ldexp(draws.getrandbits(draws.choice((9, 12, 13, 25, 26, 53))), draws.randint(-180, 130))
            with numpy.errstate(over="ignore", under="ignore"):
                for dtype, expected in (("F32", float(numpy.float32(x))), ("F16", float(numpy.float16(x))), ("F64", x)):
                    self.assertEqual(safetensors_file.nearest(Interval.of(x).lo, dtype, 0), expected, (dtype, x.hex()))

    def test_to_bf16_is_that_of_bits_of_f32(self):
        draws = random.Random(5)
        for _ in range(20000):
            bits = draws.getrandbits(31) & (0xFFFF8000 if draws.random() < 0.3 else 0xFFFFFFFF)
            if bits >= 0x7F800000:
                continue
            x, = struct.unpack("<f", struct.pack("<I", bits))
            kept = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
            expected, = struct.unpack("<f", struct.pack("<I", kept))
            self.assertEqual(safetensors_file.nearest(Interval.of(x).lo, "BF16", 0), expected, hex(bits))


def change_last_bit(path, name, index):
    """Replaces an element by a neighbour: its last bit is flipped."""
    with open(path, "r+b") as file:
        length, = struct.unpack("<Q", file.read(8))
        entry = json.loads(file.read(length))[name]
        size = safetensors_file.SIZES[entry["dtype"]]
        file.seek(8 + length + entry["data_offsets"][0] + size * index)
        bits = int.from_bytes(file.read(size), "little") ^ 1
        file.seek(-size, 1)
        file.write(bits.to_bytes(size, "little"))


class derivatives(unittest.TestCase):
    def test_of_quotients_are_those_of_either_side(self):
        tape = []
        x, y = (differentiation.Number(tape, Interval.of(k)) for k in (3, 4))
        for quotient, slope_x, slope_y in ((x / y, 0.25, -0.1875), (Interval.of(3) / y, None, -0.1875), (x / Interval.of(4), 0.25, None)):
            found = {x: None, y: None} | dict(quotient.arguments)
            self.assertEqual(quotient.value.lo, Interval.of(0.75).lo)
            self.assertEqual([d and d.lo for d in (found[x], found[y])], [d and Interval.of(d).lo for d in (slope_x, slope_y)])


class check(unittest.TestCase):
    def test_misses_an_output_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            entry = {"id": "a", "dtype": "f64", "operation": "alibi/slopes", "axes": {"h": 1},
                     "attributes": {"heads": 1, "all_heads": 0, "first_head": 0, "rule": "official",
                                    "alpha_max": 8}}
            with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
                json.dump({"files": [entry]}, file)
            header = b'{"slopes":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}'
            with open(os.path.join(folder, "a.f64.safetensors"), "wb") as file:
                file.write(struct.pack("<Q", len(header)) + header + struct.pack("<d", 2**-8))
            run = subprocess.run([sys.executable, "-B", os.path.join(HERE, "check.py"), folder], capture_output=True,
                                 text=True, check=False)
            self.assertEqual(run.returncode, 1, run.stderr)
            self.assertIn("a.f64.safetensors: slopes[0] is missing", run.stdout)

    def test_names_the_function_that_an_operation_lacks(self):
        with tempfile.TemporaryDirectory() as folder:
            for operation in ("unknown/bias", "alibi/unknown:vjp"):
                with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
                    json.dump({"files": [{"id": "a", "dtype": "f64", "operation": operation}]}, file)
                run = subprocess.run([sys.executable, "-B", os.path.join(HERE, "check.py"), folder],
                                     capture_output=True, text=True, check=False)
                self.assertEqual(run.returncode, 1, run.stderr)
                encoding, name = operation.removesuffix(":vjp").split("/")
                self.assertIn(f"{operation}: not checked", run.stdout)
                self.assertIn(f"{encoding}.py must define {name}(call)", run.stdout)

    def test_finds_a_changed_last_bit_of_every_operation_and_names_its_place(self):
        draws = random.Random(9)
        with tempfile.TemporaryDirectory() as folder:
            chosen, expected = {}, set()
            for encoding in sorted(os.listdir(SETS)):
                manifest = os.path.join(SETS, encoding, "manifest.json")
                if not os.path.exists(manifest):
                    continue
                with open(manifest, encoding="utf-8") as file:
                    for entry in json.load(file)["files"]:
                        path = os.path.join(SETS, encoding, f"{entry['id']}.{entry['dtype']}.safetensors")
                        tensors, _ = safetensors_file.read(path)
                        outputs = [n for n in tensors if n + ":low" in tensors and 0 < tensors[n][1].size < 200
                                   and not numpy.isnan(tensors[n][1]).any()]  # a changed NaN is a NaN
                        if outputs and draws.random() < 0.3:
                            chosen[entry["operation"]] = entry, path, draws.choice(outputs), tensors
            self.assertGreaterEqual(len(chosen), 28)
            for operation, (entry, path, output, tensors) in chosen.items():
                entry["id"] = operation.replace("/", "-").replace(":", "-")
                copy = os.path.join(folder, f"{entry['id']}.{entry['dtype']}.safetensors")
                shutil.copyfile(path, copy)
                values = tensors[output][1].ravel()
                index = draws.randrange(values.size)
                for name in (output, output + ":low"):
                    change_last_bit(copy, name, index)
                    expected.add((copy, name, index))
            with open(os.path.join(folder, "manifest.json"), "w", encoding="utf-8") as file:
                json.dump({"files": [entry for entry, *_ in chosen.values()]}, file)
            run = subprocess.run([sys.executable, "-B", os.path.join(HERE, "check.py"), folder], capture_output=True,
                                 text=True, check=False)
            self.assertEqual(run.returncode, 1, run.stderr)
            for path, name, index in expected:
                self.assertIn(f"{path}: {name}[{index}] holds ", run.stdout)
            self.assertEqual(run.stdout.count(" holds "), len(expected))


if __name__ == "__main__":
    unittest.main()
