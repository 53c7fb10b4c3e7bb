#!/usr/bin/env python3
"""Tests of assay/host.py. Ends with status 77 (skipped, in CTest's words) where numpy is missing."""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

try:
    import numpy
except ImportError:
    print("skipped: /usr/bin/python3 has no numpy (Debian: python3-numpy)")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

ADAPTERS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ADAPTERS)
from assay import tensors as stored_tensors
from assay.devices import wait_for
from assay.host import Candidate, Unsupported

INF, NAN = numpy.inf, numpy.nan
ONES = [("F32", numpy.ones(2, dtype=numpy.float32)), ("BF16", numpy.array([0x3F80], dtype="<u2"))]


def quiet():
    """Without the traceback of an exception that is meant."""
    return contextlib.redirect_stderr(io.StringIO())


VALUES = [0.0, -0.0, INF, -INF, NAN, 1e-40, 1.5, -3.0]


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def call(self, candidate, operation, inputs, attributes=None, dtype="f32"):
        """The answer, and the outputs where there are any."""
        stored_tensors.write_safetensors(self.path("in"), inputs)
        answer = candidate.answer({"id": 7, "operation": operation, "dtype": dtype, "attributes": attributes or {},
                                   "inputs": self.path("in"), "outputs": self.path("out")})
        self.assertEqual(answer["id"], 7)
        return answer, stored_tensors.read_safetensors(self.path("out")) if answer["ok"] else None


class Safetensors(Files):
    def test_round_trip_keeps_every_bit(self):
        tensors = {stored: (stored, numpy.array(VALUES, dtype=code).reshape(2, 4))
                   for _, stored, code in stored_tensors.DTYPES if stored in ("F64", "F32", "F16")}
        tensors["BF16"] = ("BF16", numpy.arange(65536, dtype=numpy.uint16))
        tensors["I64"] = ("I64", numpy.array([-2**53, 3]))
        tensors["BOOL"] = ("BOOL", numpy.array([True, False]))
        tensors["scalar"] = ("I32", numpy.array(-1, dtype=numpy.int32))
        tensors["empty"] = ("F32", numpy.zeros((3, 0), dtype=numpy.float32))
        stored_tensors.write_safetensors(self.path("x"), tensors)
        back = stored_tensors.read_safetensors(self.path("x"))
        self.assertEqual(set(back), set(tensors))
        for name, (stored, array) in tensors.items():
            self.assertEqual(back[name][0], stored)
            self.assertEqual(back[name][1].shape, array.shape)
            self.assertEqual(back[name][1].tobytes(), array.tobytes(), name)
        self.assertEqual(os.listdir(self.folder.name), ["x"])

    def test_bf16_rounds_to_nearest_even(self):
        every = numpy.arange(65536, dtype=numpy.uint16)
        values = stored_tensors.bf16_to_f32(every)
        numbers = ~numpy.isnan(values)
        numpy.testing.assert_array_equal(stored_tensors.f32_to_bf16(values)[numbers], every[numbers])
        self.assertTrue(numpy.isnan(stored_tensors.bf16_to_f32(stored_tensors.f32_to_bf16(values[~numbers]))).all())
        one = 0x3F80
        cases = [(1 + 2**-8, one), (1 + 2**-8 + 2**-20, one + 1), (1 + 3 * 2**-8, one + 2), (3.4e38, 0x7F80),
                 (-3.4e38, 0xFF80), (2.0**-134, 0), (1.5 * 2.0**-134, 1)]
        got = stored_tensors.f32_to_bf16(numpy.array([value for value, _ in cases], dtype=numpy.float32))
        self.assertEqual(list(got), [bits for _, bits in cases])


class NumpyFunctions(Files):
    def test_inputs_attributes_and_outputs_go_by_name(self):
        candidate = Candidate("c")
        candidate.numpy("x/scale", ["f32"])(lambda a, b, factor=1: {"sum": a + factor * b})
        one = ("F32", numpy.ones(3, dtype=numpy.float32))
        _, outputs = self.call(candidate, "x/scale", {"a": one, "b": one}, {"factor": 2})
        self.assertEqual(outputs["sum"][1].tolist(), [3, 3, 3])

    def test_bf16_comes_as_f32_and_is_rounded(self):
        candidate = Candidate("c")
        seen = []
        candidate.numpy("x/third", ["bf16"])(lambda a: seen.append(a.dtype) or {"y": a / numpy.float32(3)})
        _, outputs = self.call(candidate, "x/third", {"a": ("BF16", numpy.array([0x3F80], dtype=numpy.uint16))})
        self.assertEqual((seen, outputs["y"][0], list(outputs["y"][1])), ([numpy.float32], "BF16", [0x3EAB]))

    def test_without_inputs_the_dtype_of_the_call_is_asked_for(self):
        candidate = Candidate("c")
        candidate.numpy("x/ones", ["f64", "bf16"])(lambda n, dtype: {"y": numpy.ones(n, dtype=dtype)})
        for dtype, stored, one in (("f64", "F64", 1.0), ("bf16", "BF16", 0x3F80)):
            _, outputs = self.call(candidate, "x/ones", {}, {"n": 2}, dtype)
            self.assertEqual((outputs["y"][0], outputs["y"][1].tolist()), (stored, [one, one]))

    def test_what_answers_with_heads_first_is_told_so(self):
        candidate = Candidate("c")
        candidate.numpy("x/rotate", ["f32"])(lambda x, position: {"y": x * position[:, None, :, None]})
        candidate.numpy("x/never", ["f32"])(lambda x, position: {"y": x.reshape(3, 7)})
        candidate.numpy("x/of_table", ["f32"])(lambda x, position: {"y": x * numpy.arange(2)[x.shape[1] - 1]})
        candidate.numpy("x/of_rows", ["f32"])(lambda x, position: {"y": x * numpy.ones((3, 2, 1, 1), "f")})
        for size, operation, is_explained in ((2, "x/rotate", True), (2, "x/never", False), (0, "x/never", False),
                                         (2, "x/of_rows", False),
                                         (2, "x/of_table", False)):
            inputs = {"x": ("F32", numpy.ones((1, 3, size, 4), dtype=numpy.float32)),
                      "position": ("F32", numpy.ones((1, 3), dtype=numpy.float32))}
            with quiet():
                error = self.call(candidate, operation, inputs)[0]["error"]
            self.assertEqual("; it answers where axes 1 and 2 of tensors of four axes are exchanged" in error, is_explained,
                             error)
            self.assertEqual(error.endswith("the adapter heads_first of assay.adapters does that"), is_explained)

    def test_a_wrong_dtype_is_not_hidden(self):
        candidate = Candidate("c")
        candidate.numpy("x/wide", ["f32"])(lambda a: {"y": a.astype(numpy.float64)})
        _, outputs = self.call(candidate, "x/wide", {"a": ("F32", numpy.ones(2, dtype=numpy.float32))})
        self.assertEqual(outputs["y"][0], "F64")

    def test_exceptions_become_answers(self):
        candidate = Candidate("c")

        def fail(a):
            raise (Unsupported("no odd lengths") if a.size % 2 else ValueError("boom"))
        candidate.numpy("x/fail", ["f32"])(fail)
        candidate.numpy("x/list", ["f32"])(lambda a: [a])
        sys.stderr, stderr = open(os.devnull, "w"), sys.stderr
        try:
            odd, even = (("F32", numpy.ones(n, dtype=numpy.float32)) for n in (1, 2))
            self.assertEqual(self.call(candidate, "x/fail", {"a": odd})[0],
                             {"id": 7, "ok": False, "unsupported": True, "reason": "no odd lengths"})
            self.assertEqual(self.call(candidate, "x/fail", {"a": even})[0]["error"].split(" (")[0], "ValueError: boom")
            self.assertIn("dict", self.call(candidate, "x/list", {"a": even})[0]["error"])
            self.assertTrue(self.call(candidate, "x/none", {"a": even})[0]["unsupported"])
        finally:
            sys.stderr.close()
            sys.stderr = stderr

    def test_a_refused_value_of_a_setting_is_no_error(self):
        candidate = Candidate("c")

        def rows(a, rule, base):
            if rule not in ("paper", "tensor2tensor"):
                raise ValueError(f"unknown rule {rule!r}")
            if base < 2:
                raise ValueError("base must be at least 2")
            if a.size == 3:
                raise ValueError("cannot reshape")
            if a.size == 4:
                raise KeyError(rule)
            return {"y": a}
        candidate.numpy("x/rows", ["f32"])(rows)

        def answer(n, rule="paper", base=10.0):
            inputs = {"a": ("F32", numpy.ones(n, dtype=numpy.float32))}
            with quiet():
                return self.call(candidate, "x/rows", inputs, {"rule": rule, "base": base})[0]
        self.assertTrue(answer(2)["ok"])
        self.assertTrue(answer(2, rule="power")["unsupported"])
        self.assertTrue(answer(2, rule="power")["reason"].startswith(
            "it refuses rule = \"power\": ValueError: unknown rule 'power' (host_test.py, line "))
        self.assertTrue(answer(2, base=1.0)["reason"].startswith("it refuses base = 1.0: ValueError: base must be"))
        for n in (3, 4):  # an error that names no setting, and one that is no ValueError
            self.assertNotIn("unsupported", answer(n))
            self.assertIn("error", answer(n))

    def test_an_overwritten_input_is_named(self):
        candidate = Candidate("c")

        def halves(a, b):
            a *= numpy.float32(0.5)
            return {"y": a + b}
        candidate.numpy("x/halves", ["f32", "bf16"])(halves)
        for stored, array in ONES:
            with quiet():
                answer, _ = self.call(candidate, "x/halves", {"a": (stored, array), "b": (stored, array)})
            self.assertRegex(answer["error"], "^the function overwrote its input 'a' in place")

    def test_arrays_of_other_packages_are_taken(self):
        def array_alone(array):
            class Array:
                def __array__(self, *arguments, **options):
                    return array
            return Array()

        def refused(*arguments, **options):  # as CuPy does
            raise TypeError("implicit conversion to a NumPy array is not allowed")

        class DLPack:
            def __init__(self, array):
                self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__

        class NoImplicitArray(DLPack):
            __array__ = refused
        half = numpy.float32(0.5)
        makes = {"array": array_alone, "dlpack": DLPack}
        if torch is not None:  # by which NumPy's refusals are mended
            makes["refusing"] = lambda array: NoImplicitArray(torch.from_numpy(array))
            makes["bf16"] = lambda array: DLPack(torch.from_numpy(array).bfloat16())
        for name, make in makes.items():
            candidate = Candidate("c")
            candidate.numpy("x/half", ["f32"])(lambda a: {"y": make(a * half)})
            with self.subTest(name):
                answer, outputs = self.call(candidate, "x/half", {"a": ONES[0]})
                self.assertTrue(answer["ok"], answer)
                stored, array = outputs["y"]
                self.assertEqual((stored, array.tolist()), ("BF16", [0x3F00, 0x3F00]) if name == "bf16" else
                                 ("F32", [0.5, 0.5]))
        candidate = Candidate("c")
        candidate.numpy("x/refused", ["f32"])(lambda a: {"y": type("Refusing", (), {"__array__": refused})()})
        candidate.numpy("x/far", ["f32"])(lambda a: {"y": type("Far", (), {"__dlpack__": refused})()})
        candidate.numpy("x/any", ["f32"])(lambda a: {"y": object()})
        for name, words in (("refused", "^TypeError: implicit conversion"),
                            ("far", "^TypeError: a Far comes to the CPU neither by NumPy .* nor by torch .*: return an "
                             "array of NumPy"),
                            ("any", "output 'y' is of type object, of which NumPy makes no array of numbers")):
            with quiet():
                self.assertRegex(self.call(candidate, f"x/{name}", {"a": ONES[0]})[0]["error"], words)

    def test_a_type_of_two_bytes_named_bfloat16_is_bf16(self):
        named = numpy.dtype((type("bfloat", (numpy.void,), {}), [("bits", "<u2")]))
        self.assertEqual(named.name, "bfloat16")
        stored, bits = stored_tensors.stored_of(numpy.array([0x3F80, 0x4000], numpy.uint16).view(named))
        self.assertEqual((stored, bits.dtype, bits.tolist()), ("BF16", numpy.uint16, [0x3F80, 0x4000]))

    def test_numbers_of_python_have_the_dtype_of_the_call(self):
        candidate = Candidate("c")
        candidate.numpy("x/list", ["f32", "bf16"])(lambda: {"y": [0.1, 0.2], "n": [1, 2]})
        _, outputs = self.call(candidate, "x/list", {})
        self.assertEqual((outputs["y"][0], outputs["n"][0]), ("F32", "I64"))
        self.assertEqual(self.call(candidate, "x/list", {}, dtype="bf16")[1]["y"][0], "BF16")

    def test_empty_axes_may_be_declined(self):
        candidate = Candidate("c")

        def fail(a):
            if a.size == 0 or (a == 1).all():
                raise ValueError("no tokens")
            return {"y": a}
        candidate.numpy("x/declines", ["f32"], empty=False)(fail)
        candidate.numpy("x/fails", ["f32"])(fail)
        candidate.numpy("x/takes", ["f32"], empty=True)(fail)
        self.assertEqual(candidate.answer({"hello": {}})["hello"]["properties"], {"empty": ["x/takes"]})
        with self.assertRaisesRegex(ValueError, "x/other: empty must be True or False, not 'no'"):
            candidate.numpy("x/other", ["f32"], empty="no")(fail)
        empty = {"a": ("F32", numpy.ones((2, 0), dtype=numpy.float32))}
        answer, _ = self.call(candidate, "x/declines", empty)
        self.assertTrue(answer["unsupported"])
        self.assertIn("'a' has the shape [2, 0]", answer["reason"])
        with quiet():
            self.assertIn("no tokens", self.call(candidate, "x/declines", {"a": ONES[0]})[0]["error"])
            self.assertIn("no tokens", self.call(candidate, "x/fails", empty)[0]["error"])
            self.assertIn("no tokens", self.call(candidate, "x/takes", empty)[0]["error"])

    def test_a_long_message_keeps_both_ends(self):
        candidate = Candidate("c")

        def fail():
            raise ValueError("the beginning " + "x" * 9000 + " the end")
        candidate.numpy("x/fail", ["f32"])(fail)
        with quiet():
            error = self.call(candidate, "x/fail", {})[0]["error"]
        self.assertLess(len(error), 2200)
        self.assertRegex(error, r"(?s)^ValueError: the beginning .* the end \(host_test\.py, line \d+, in \w+\)$")

    def test_equal_failures_are_told_once_without_lines_of_assay(self):
        candidate, output = Candidate("c"), io.StringIO()

        def fail(a):
            try:
                return {}["state"]
            except KeyError as missing:
                raise ValueError(f"no state for {a.dtype}") from missing
        candidate.numpy("x/fail", ["f32", "bf16"])(fail)
        with contextlib.redirect_stderr(output):
            for _ in range(3):
                self.call(candidate, "x/fail", {"a": ONES[0]})
        text = output.getvalue()
        self.assertEqual((text.count("no state for float32"), text.count("KeyError: 'state'"), text.count("host.py")), (1, 1, 0))

    def test_claims_must_be_known_and_sendable(self):
        for claims, words in (({"determinstic": True}, "unknown claim 'determinstic'; known: compute, "),
                              ({"properties": {"determinstic": True}}, "properties is .*; known: deterministic"),
                              ({"compute": {"bf16": numpy.float32}}, "compute is .* no JSON")):
            with self.assertRaisesRegex(ValueError, words):
                Candidate("c", **claims)
        for ends in ([0, NAN], [-INF, 0]):
            with self.assertRaisesRegex(ValueError, "'a' has .* must be finite numbers"):
                Candidate("c").numpy("x", ["f32"], domain={"a": ends})(abs)

    def test_without_torch_it_says_what_to_install(self):
        with unittest.mock.patch.dict(sys.modules, torch=None):
            with self.assertRaisesRegex(ModuleNotFoundError, f"need torch, which {sys.executable} does not have: install it"):
                Candidate("c").torch("x", ["f32"])(abs)

    def test_registration_is_checked(self):
        candidate = Candidate("c")
        candidate.numpy("x", ["f32"])(lambda: {})
        self.assertRaises(ValueError, candidate.numpy("x", ["f32"]), lambda: {})
        self.assertRaises(ValueError, candidate.numpy("y", ["float32"]), lambda: {})


@unittest.skipIf(torch is None, "/usr/bin/python3 has no torch (Debian: python3-torch)")
class TorchFunctions(Files):
    def test_without_inputs_the_dtype_of_the_call_is_asked_for(self):
        candidate = Candidate("c")
        candidate.torch("x/ones", ["f16", "bf16"], vjp=False)(lambda n, dtype: {"y": torch.ones(n, dtype=dtype)})
        for dtype, stored in (("f16", "F16"), ("bf16", "BF16")):
            self.assertEqual(self.call(candidate, "x/ones", {}, {"n": 2}, dtype)[1]["y"][0], stored)

    def candidate(self, **options):
        candidate = Candidate("c")

        @candidate.torch("x/op", ["f64"], domain={"a": "finite"}, vjp_domain={"a": [-1, 1]}, **options)
        def op(a, b, unused):
            return {"y": a * b, "last": b, "constant": torch.zeros(2, dtype=a.dtype)}
        return candidate

    def test_the_vjp_comes_from_autograd(self):
        a, b, unused, grad_y, grad_last = (numpy.array([1.0 + k, 2.0 - k]) for k in range(5))
        inputs = {"a": a, "b": b, "unused": unused, "grad_y": grad_y, "grad_last": grad_last, "grad_constant": a}
        _, outputs = self.call(self.candidate(), "x/op:vjp", {name: ("F64", value) for name, value in inputs.items()})
        self.assertEqual(outputs["grad_a"][1].tolist(), (grad_y * b).tolist())
        self.assertEqual(outputs["grad_b"][1].tolist(), (grad_y * a + grad_last).tolist())
        self.assertEqual(outputs["grad_unused"][1].tolist(), [0, 0])

    def test_an_overwritten_input_is_named_in_value_and_derivative(self):
        candidate = Candidate("c")
        candidate.torch("x/op", ["f32", "bf16"])(lambda a, b: {"y": a.mul_(2.0) + b})
        for stored, array in ONES:
            inputs = {"a": (stored, array), "b": (stored, array)}
            for operation, more in (("x/op", {}), ("x/op:vjp", {"grad_y": (stored, array)})):
                with quiet():
                    answer, _ = self.call(candidate, operation, {**inputs, **more})
                self.assertRegex(answer["error"], "^the function overwrote its input 'a' in place")

    def test_results_that_autograd_does_not_know(self):
        candidate = Candidate("c")
        candidate.torch("x/numpy", ["f32"])(lambda a: {"y": a.detach().numpy() * numpy.float32(2)})
        candidate.torch("x/needs", ["f32"])(lambda a: {"y": a.numpy()})
        candidate.torch("x/shape", ["f32"])(lambda a: {"y": a[:1]})
        one = ("F32", numpy.ones(2, dtype=numpy.float32))
        self.assertEqual(self.call(candidate, "x/numpy", {"a": one})[1]["y"][1].tolist(), [2, 2])
        for name, words in (("numpy", "is no torch tensor but ndarray.* vjp=False"),
                            ("needs", "cannot differentiate.* vjp=False"),
                            ("shape", r"'y' must have the shape \[2\] but has \[1\]")):
            with quiet():
                self.assertRegex(self.call(candidate, f"x/{name}:vjp", {"a": one, "grad_y": one})[0]["error"], words)

    def test_a_result_without_a_path_is_told_from_one_that_does_not_depend(self):
        candidate = Candidate("c")
        candidate.torch("x/detached", ["f32"])(lambda a, b: {"y": a.detach() * b})
        candidate.torch("x/item", ["f32"])(lambda a, b: {"y": b * float(a[0])})
        candidate.torch("x/one", ["f32"])(lambda a, b: {"y": a * b, "z": (a + b).detach()})
        candidate.torch("x/all", ["f32"])(lambda a, b: {"y": torch.tensor((a * b).tolist())})
        candidate.torch("x/left_out", ["f32"])(lambda a, b: {"y": a * 2})
        candidate.torch("x/by_chance", ["f32"])(lambda a, b: {"y": a * 0 + torch.rand(2)})
        inputs = {name: ("F32", numpy.ones(2, dtype=numpy.float32)) for name in ("a", "b", "grad_y")}
        with quiet():
            error = self.call(candidate, "x/all:vjp", inputs)[0]["error"]
        self.assertRegex(error, "autograd finds no path from y to a: is the result detached, or computed outside")
        # Where some path is known the others have gradients of 0, as detached chunks have: those are judged.
        for name, grad_a, grad_b in (("left_out", [2, 2], [0, 0]), ("by_chance", [0, 0], [0, 0]), ("detached", [0, 0], [1, 1]),
                                     ("item", [0, 0], [1, 1]), ("one", [1, 1], [1, 1])):
            more = {"grad_z": inputs["grad_y"]} if name == "one" else {}
            _, outputs = self.call(candidate, f"x/{name}:vjp", {**inputs, **more})
            self.assertEqual([outputs["grad_a"][1].tolist(), outputs["grad_b"][1].tolist()], [grad_a, grad_b], name)

    def test_what_does_not_fit_into_memory_is_declined(self):
        candidate = Candidate("c")
        candidate.torch("x/torch", ["f32"])(lambda a: {"y": torch.empty(1 << 50)})
        candidate.numpy("x/numpy", ["f32"])(lambda a: {"y": numpy.empty(1 << 50)})
        for name in ("torch", "numpy"):
            answer = self.call(candidate, f"x/{name}", {"a": ("F32", numpy.ones(2, dtype=numpy.float32))})[0]
            self.assertTrue(answer["unsupported"])
            self.assertRegex(answer["reason"], "^not enough memory: ")

    def test_functions_are_called_on_their_device(self):
        candidate, seen = Candidate("c", device="cpu"), []

        class Twice(torch.nn.Module):
            def forward(self, a):
                seen.append(a.device.type)
                return {"y": 2 * a}
        candidate.torch("x/op", ["f32", "bf16"])(Twice())
        for stored, array in ONES:
            inputs = {"a": (stored, array), "grad_y": (stored, array)}
            self.assertTrue(self.call(candidate, "x/op", {"a": inputs["a"]})[0]["ok"])
            self.assertEqual(self.call(candidate, "x/op:vjp", inputs)[1]["grad_a"][0], stored)
        self.assertEqual(set(seen), {"cpu"})

    def test_a_device_that_is_not_there_is_a_wrong_declaration(self):
        for device, words in (("gpu", "^device is 'gpu', which torch does not know; known are such as \"cpu\""),
                              (["cuda"], "which torch does not know"),
                              ("meta", "^device is 'meta', which this machine or its torch .* does not have: ")):
            with self.assertRaisesRegex(ValueError, words):
                Candidate("c", device=device).torch("x/op", ["f32"])(abs)
        if not torch.cuda.is_available():
            with self.assertRaisesRegex(ValueError, "^device is 'cuda:1', which this machine .* does not have: .*CUDA"):
                Candidate("c", device="cuda:1").torch("x/op", ["f32"])(abs)
        with self.assertRaisesRegex(ValueError, "^device is 'cuda', which is for functions of torch tensors: x/op is one "
                                    "of NumPy arrays"):
            Candidate("c", device="cuda").numpy("x/op", ["f32"])(abs)

    def test_a_device_is_waited_for(self):
        waited = []
        api = types.SimpleNamespace(
            cuda=types.SimpleNamespace(synchronize=lambda device=None: waited.append(device)),
            mps=types.SimpleNamespace(synchronize=lambda: waited.append("mps")),
            cpu=types.SimpleNamespace(synchronize=lambda device=None: waited.append("cpu")))
        for name in ("cuda:1", "mps", "xpu", "cpu"):
            wait_for(api, torch.device(name))
        self.assertEqual(waited, [torch.device("cuda:1"), "mps"])

    def test_a_fault_that_ends_the_accelerator_ends_the_process(self):
        def kernel(x):
            raise RuntimeError("CUDA error: misaligned address\nSearch for `cudaErrorMisalignedAddress' in ...")
        candidate = Candidate("broken")
        candidate.torch("x/y", dtypes=["f32"])(kernel)
        call = candidate, "x/y", {"x": ("F32", numpy.ones(2, dtype=numpy.float32))}
        with quiet(), unittest.mock.patch("torch.cuda.synchronize"):  # it answers: an error of this call alone
            self.assertIn("RuntimeError: CUDA error: misaligned address (host_test.py", self.call(*call)[0]["error"])
        gone = unittest.mock.patch("torch.cuda.synchronize", side_effect=RuntimeError("CUDA error: misaligned address"))
        with quiet(), gone, self.assertRaises(SystemExit) as end:
            self.call(*call)
        self.assertIn("no later call of this process can use the accelerator", str(end.exception))

    def test_what_triton_could_not_compile_comes_first(self):
        compilation_error = type("CompilationError", (Exception,), {"__module__": "triton.compiler.errors"})

        def kernel(x):
            try:
                raise NameError("Cannot access global variable scale")
            except NameError as inner:
                raise compilation_error("at 80:4:\n    first line of the kernel\n") from inner
        candidate = Candidate("broken")
        candidate.torch("x/y", dtypes=["f32"])(kernel)
        call = candidate, "x/y", {"x": ("F32", numpy.ones(2, dtype=numpy.float32))}
        with quiet():
            self.assertIn("CompilationError: NameError: Cannot access global variable scale\nat 80:4:",
                          self.call(*call)[0]["error"])
        listing = Candidate("broken")

        @listing.torch("x/y", dtypes=["f32"])
        def other(x):
            raise compilation_error("at 9:8:\n    a line of the kernel\n    ^\nAttributeError: no 'type'")
        with quiet():
            self.assertIn("CompilationError: AttributeError: no 'type'\nat 9:8:",
                          self.call(listing, *call[1:])[0]["error"])

    def test_what_failed_in_torchscript_comes_first(self):
        candidate = Candidate("c")
        candidate.torch("x/op", ["f32"])(torch.jit.trace(lambda a: {"y": a[:2] + a}, torch.ones(2), strict=False))
        with quiet():
            error = self.call(candidate, "x/op", {"a": ("F32", numpy.ones(3, dtype=numpy.float32))})[0]["error"]
        self.assertRegex(error, "^RuntimeError: The size of tensor a")

    def test_operations_and_domains_are_announced(self):
        hello = self.candidate().answer({"hello": {"protocol": 1}})["hello"]
        self.assertEqual(hello["operations"], {"x/op": ["f64"], "x/op:vjp": ["f64"]})
        self.assertEqual(hello["domain"], {"x/op": {"a": "finite"}, "x/op:vjp": {"a": [-1, 1]}})
        self.assertEqual(list(self.candidate(vjp=False)._functions), ["x/op"])

    def test_empty_tensors_and_bf16_pass(self):
        candidate = Candidate("c")
        candidate.torch("x/half", ["bf16"])(lambda a, e: {"a": a / 2, "e": e})
        inputs = {"a": ("BF16", numpy.array([0x4000, 0x7FC0], dtype=numpy.uint16)),
                  "e": ("BF16", numpy.zeros((0, 3), dtype=numpy.uint16))}
        _, outputs = self.call(candidate, "x/half", inputs)
        self.assertEqual((outputs["a"][0], list(outputs["a"][1])), ("BF16", [0x3F80, 0x7FC0]))
        self.assertEqual(outputs["e"][1].shape, (0, 3))


class Views(Files):
    INPUTS = {"m": ("F64", numpy.arange(24.0).reshape(2, 3, 4)), "v": ("F64", numpy.arange(3.0)),
              "i": ("I64", numpy.arange(6).reshape(2, 3)), "e": ("F64", numpy.zeros((2, 0))),
              "x": ("F64", numpy.array(2.0))}

    def test_views_have_the_same_values_and_other_strides(self):
        for strides, matrix_strides, vector_strides in (("transposed", [96, 8, 24], [8]), ("sliced", [192, 64, 8], [8]),
                                                        ("spaced", [192, 64, 16], [16])):
            candidate, seen = Candidate("c"), {}
            candidate.numpy("x/op", ["f64"])(lambda **inputs: seen.update(inputs) or {"y": inputs["v"]})
            self.call(candidate, "x/op", self.INPUTS, {"strides": strides}, "f64")
            self.assertEqual((list(seen["m"].strides), list(seen["v"].strides)), (matrix_strides, vector_strides))
            for name, (_, array) in self.INPUTS.items():
                numpy.testing.assert_array_equal(seen[name], array)

    @unittest.skipIf(torch is None, "/usr/bin/python3 has no torch (Debian: python3-torch)")
    def test_torch_gets_the_same_views_and_differentiates_through_them(self):
        for strides, matrix_strides, vector_strides in (("transposed", [12, 1, 3], [1]), ("sliced", [24, 8, 1], [1]),
                                                        ("spaced", [24, 8, 2], [2])):
            candidate, seen = Candidate("c"), []

            class Twice(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return 2 * x

                @staticmethod
                def backward(ctx, gradient):
                    seen.append(gradient)
                    return 2 * gradient

            @candidate.torch("x/op", ["f64"])
            def op(**inputs):
                seen.append(inputs["m"])
                for name, (_, array) in self.INPUTS.items():
                    numpy.testing.assert_array_equal(inputs[name].detach(), array)
                return {"y": Twice.apply(inputs["m"]), "z": inputs["v"]}
            for name, more in (("x/op", {}), ("x/op:vjp", {"grad_y": self.INPUTS["m"], "grad_z": self.INPUTS["v"]})):
                answer, outputs = self.call(candidate, name, {**self.INPUTS, **more}, {"strides": strides}, "f64")
                self.assertTrue(answer["ok"], answer)
            numpy.testing.assert_array_equal(outputs["grad_m"][1], 2 * self.INPUTS["m"][1])
            # Inputs twice, a cotangent; then inputs again, as some have no gradient.
            self.assertEqual([list(tensor.stride()) for tensor in seen[:3]], [matrix_strides] * 3)

    # Equal rows, a constant, a row in which -0 is not 0, and an array without repetitions.
    REPEATED = {"rows": ("F64", numpy.tile(numpy.arange(3.0), (2, 1))), "all": ("F64", numpy.ones((2, 3))),
                "signs": ("F64", numpy.array([0.0, -0.0])), "other": ("F64", numpy.arange(6.0).reshape(2, 3))}

    def test_expanded_views_have_stride_0_where_values_repeat(self):
        candidate, seen = Candidate("c"), {}
        candidate.numpy("x/op", ["f64"])(lambda **inputs: seen.update(inputs) or {"y": inputs["rows"]})
        answer, _ = self.call(candidate, "x/op", self.REPEATED, {"strides": "expanded"}, "f64")
        self.assertTrue(answer["ok"], answer)
        self.assertEqual({name: array.strides for name, array in seen.items()},
                         {"rows": (0, 8), "all": (0, 0), "signs": (8,), "other": (24, 8)})
        for name, (_, array) in self.REPEATED.items():
            numpy.testing.assert_array_equal(seen[name], array)
        answer, _ = self.call(candidate, "x/op", {"rows": self.REPEATED["other"]}, {"strides": "expanded"}, "f64")
        self.assertEqual((answer.get("unsupported"), answer["reason"]), (True, "no input has equal values along an axis"))

    @unittest.skipIf(torch is None, "/usr/bin/python3 has no torch (Debian: python3-torch)")
    def test_each_element_of_an_expanded_tensor_has_a_gradient_of_its_own(self):
        candidate, seen = Candidate("c"), []

        @candidate.torch("x/op", ["f64"])
        def op(rows, other):
            seen.append(rows.stride())
            return {"y": rows * other}
        inputs = {name: self.REPEATED[name] for name in ("rows", "other")}
        answer, outputs = self.call(candidate, "x/op:vjp", {**inputs, "grad_y": self.REPEATED["all"]},
                                    {"strides": "expanded"}, "f64")
        self.assertTrue(answer["ok"], answer)
        self.assertEqual(seen, [(0, 1)])
        numpy.testing.assert_array_equal(outputs["grad_rows"][1], inputs["other"][1])
        numpy.testing.assert_array_equal(outputs["grad_other"][1], inputs["rows"][1])

    def test_what_refuses_views_declines_them(self):
        def op(v):
            if not v.flags.c_contiguous:
                raise ValueError("contiguous arrays only")
            return {"y": v}
        candidate = Candidate("c")
        candidate.numpy("x/op", ["f64"])(op)
        inputs = {"v": self.INPUTS["v"]}
        answer, _ = self.call(candidate, "x/op", inputs, {"strides": "spaced"}, "f64")
        self.assertEqual((answer["unsupported"], answer["reason"].split(" (")[0]),
                         (True, "it refuses spaced inputs: ValueError: contiguous arrays only"))
        self.assertEqual(self.call(candidate, "x/op", inputs, {"strides": "other"}, "f64")[0]["reason"],
                         "no strides 'other'; known: transposed, sliced, spaced, expanded")
        self.assertTrue(self.call(candidate, "x/op", inputs, {}, "f64")[0]["ok"])

    def test_views_are_announced_unless_they_are_declined(self):
        def variants(**claims):
            return Candidate("c", **claims).answer({"hello": {}})["hello"].get("variants")
        views = ["transposed", "sliced", "spaced", "expanded"]
        self.assertEqual(variants(), {"strides": views})
        self.assertEqual(variants(variants={"block": [1]}), {"block": [1], "strides": views})
        self.assertEqual(variants(strides=False, variants={"block": [1]}), {"block": [1]})
        self.assertIsNone(variants(strides=False))
        self.assertRaises(ValueError, variants, variants={"strides": ["transposed"]})


class Serving(Files):
    PROGRAM = """
import os, sys
sys.path.insert(0, sys.argv[1])
from assay.host import Candidate
candidate = Candidate("chatty", version="3", properties={"deterministic": True})
@candidate.numpy("x/echo", ["f32"])
def echo(a):
    print("{ printed", flush=True)
    os.system("echo '{ from a child'")
    assert sys.stdin.read() == ""
    return {"a": a}
candidate.serve()
"""

    def test_prints_and_reads_do_not_reach_the_protocol(self):
        stored_tensors.write_safetensors(self.path("in"), {"a": ("F32", numpy.ones(2, dtype=numpy.float32))})
        call = {"id": 1, "operation": "x/echo", "dtype": "f32", "attributes": {}, "inputs": self.path("in"),
                "outputs": self.path("out")}
        lines = "".join(json.dumps(message) + "\n" for message in ({"hello": {"protocol": 1}}, call, {**call, "id": 2}))
        command = [sys.executable, "-c", self.PROGRAM, ADAPTERS]
        done = subprocess.run(command, input=lines, capture_output=True, text=True,
                              env={**os.environ, "ASSAY_PROTOCOL": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        hello, first, second = map(json.loads, done.stdout.splitlines())
        self.assertEqual(hello["hello"]["name"], "chatty")
        self.assertEqual((first, second), ({"id": 1, "ok": True}, {"id": 2, "ok": True}))
        self.assertEqual(done.stderr.count("{ printed"), 2)
        self.assertEqual(done.stderr.count("{ from a child"), 2)

    def test_without_assay_it_says_how_to_run_it(self):
        environment = {name: value for name, value in os.environ.items() if name != "ASSAY_PROTOCOL"}
        command = [sys.executable, "-c", self.PROGRAM, ADAPTERS]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn("assay gate --candidate", done.stderr)


if __name__ == "__main__":
    unittest.main()
