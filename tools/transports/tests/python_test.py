#!/usr/bin/env python3
"""python:MODULE:FUNCTION[@OPERATION]: functions and candidates of modules, broken ones, and where host and interpreter
are found."""
import json
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ADAPTER = os.path.join(HERE, "..", "..", "adapters", "python")
sys.path[:0] = [os.path.join(HERE, "..", "..", "tests"), ADAPTER]
try:
    import numpy
    from assay.function import NotAnOperation, candidate_of, deduce, framework_of
    from cli_test import ASSAY, Folder, run  # noqa: E402
except ModuleNotFoundError as missing:
    print(f"skipped: {sys.executable} has no {missing.name} (Debian: python3-numpy)")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

MODULE = """
import os, sys, time
import numpy as np
import assay
from assay import Candidate
print('{"a line": "that looks like a message"}')

def scan(log_p, h, s0, block=32):
    s, last = np.empty_like(h), s0
    with np.errstate(all="ignore"):
        for i in range(h.shape[1]):
            last = s[:, i] = np.logaddexp(log_p[:, i] + last, h[:, i])
    print('{"id": 1, "ok": false, "error": "printed"}', flush=True)
    return s, last

def short_arguments(log_p, h, s0):
    with open("/proc/self/cmdline") as file:  # one argument has at most 128 KiB
        assert len(file.read()) < 4096
    return scan(log_p, h, s0)

class Models:
    @staticmethod
    def forgets(log_p, h, s0):
        return scan(log_p, h, np.zeros_like(s0))

    def of_instances(self, log_p, h, s0):
        return scan(log_p, h, s0)

def in_place(log_p, h, s0):
    log_p -= 1
    return scan(log_p, h, s0)

@assay.candidate(operation="heinsen/scan", dtypes=["f32", "bf16"], compute={"bf16": "bf16"}, domain={"log_p": "finite"})
def narrow(a, b, c):
    return scan(a, b, c)

def declared(domain):
    @assay.candidate(domain=domain)
    def function(log_p, h, s0):
        return scan(log_p, h, s0)
    return function

def in_stages(stages):
    @assay.candidate(operation="rope/rotate", dtypes=["bf16"], compute={"bf16": stages}, vjp=False)
    def function(x, position):
        return x
    return function

@assay.candidate(domain={"layout": ["halfsplit"]})
def misspelt_value(x, position):
    return x

@assay.candidate(operation="rope/rotate", dtypes=["f32"], compute={"bf16": "f32"}, vjp=False)
def not_offered(x, position):
    return x

stages, misspelt_stage = in_stages({"angle": "f32", "product": "f32"}), in_stages({"angel": "f32"})
misspelt, reversed_interval, beside = map(declared, ({"logp": "finite"}, {"h": [2, 1]}, {"log_p": [1, 2]}))
candidate_of_nothing = Candidate("nothing")
candidate_of_nothing.numpy("heinsen/scan", dtypes=["f32"], domain={"logp": "finite"})(scan)

def needs_tokens(log_p, h, s0):
    h[0, 0, 0]
    return scan(log_p, h, s0)

@assay.candidate(empty=True)
def wants_tokens(log_p, h, s0):
    return needs_tokens(log_p, h, s0)

@assay.candidate(empty=False)
def takes_tokens(log_p, h, s0):
    return needs_tokens(log_p, h, s0)

def one_more(log_p, h, s0, chunk):
    return scan(log_p, h, s0)

def swapped(h, log_p, state):
    return scan(log_p, h, state)

def one_output(log_p, h, s0):
    return scan(log_p, h, s0)[0]

def exchanged(log_p, h, s0):
    return scan(log_p, h, s0)[::-1]

def wide(log_p, h, s0):
    return [output.astype(np.float64) for output in scan(log_p, h, s0)]

def listed(log_p, h, s0):
    return list(scan(log_p, h, s0)), s0

def crashes(log_p, h, s0):
    os.kill(os.getpid(), 11)

def hangs(log_p, h, s0):
    time.sleep(1000)

def exits(log_p, h, s0):
    os._exit(0)

def no_operation(one, two):
    return one

def renamed(gates, inputs, state):
    return scan(gates, inputs, state)

def frequencies(base):
    raise NotImplementedError

candidate = Candidate("mine", version="7", properties={"deterministic": True})
candidate.numpy("heinsen/scan", dtypes=["f32"])(lambda **inputs: dict(zip(("s", "s_n"), scan(**inputs))))

def in_blocks(log_p, h, s0, block=32, mode="plain"):
    s, last = np.empty_like(h), s0
    with np.errstate(all="ignore"):
        for i in range(h.shape[1]):
            if block == 2 and i % 2 == 0:
                last = s0
            last = s[:, i] = np.logaddexp(log_p[:, i] + last, h[:, i])
    return {"s": s, "s_n": last if h.shape[1] else s0}

configured = Candidate("configured", variants={"block": [2, 32], "mode": ["plain", "fused"]})
configured.numpy("heinsen/scan", dtypes=["f32"])(in_blocks)
def read_raw(log_p, h, s0):  # as a kernel that gets an address and sizes
    raw = np.lib.stride_tricks.as_strided(h, strides=np.empty(h.shape, h.dtype).strides)
    return scan(log_p, raw, s0)

def contiguous_only(log_p, h, s0):
    if not h.flags.c_contiguous:
        raise ValueError("contiguous arrays only")
    return scan(log_p, h, s0)

sound = Candidate("sound", variants={"block": [16, 32]})
sound.numpy("heinsen/scan", dtypes=["f32"])(in_blocks)
"""


class Functions(Folder):
    MILD = ("--family", "mild")  # where a test is about the host, and needs no more cases

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder.name, "users_module.py")
        with open(self.path, "w") as file:
            file.write(MODULE)

    def ends(self, function, code, *words, module=None, arguments=(), **options):
        done = subprocess.run([options.pop("assay", ASSAY), "gate", "--candidate", f"python:{module or self.path}:{function}",
                               "--report", self.report, "--operation", "heinsen/scan", "--dtype", "f32",
                               "--max-elements", "2000", *arguments],  # these tests are not about sizes
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stdout + done.stderr)
        if code != 2:
            self.assertEqual(self.read_report()["footer"], "complete")

    def test_a_function_of_a_module_of_the_current_folder(self):
        self.ends("scan", 0, "# Assay: scan", module="users_module", cwd=self.folder.name, arguments=self.MILD)

    def test_modules_of_the_user_may_have_the_names_of_the_hosts(self):
        for name in ("host", "tensors"):
            with open(os.path.join(self.folder.name, f"{name}.py"), "w") as file:
                file.write("from users_module import scan\n")
            self.ends("scan", 0, module=name, cwd=self.folder.name, arguments=("--property", "value", *self.MILD))

    def test_a_candidate_of_a_file(self):
        self.ends("candidate", 0, "# Assay: mine 7")

    def test_wrong_functions_fail(self):
        self.ends("Models.forgets", 1, "**value** of `heinsen/scan` in f32")
        self.ends("exchanged", 3, "output 's' must have shape [B, n, d] but has [2, 64]: s and s_n look exchanged")
        self.ends("wide", 3, "output 's' must be f32 but is f64: Assay does not cast, the candidate must")
        self.ends("listed", 3, "TypeError: output 's' is a list of 2 values, no tensor: join them to one")
        self.ends("one_output", 3, "the function must return s, s_n: a tuple in this order or a dict; it returned 1 value")

    def test_broken_functions(self):
        self.ends("crashes", 3, "signal 11")
        self.ends("exits", 3, "early exit")
        self.ends("hangs", 3, "no answer within", arguments=("--case-timeout", "0.1"))

    def test_a_folder_that_cannot_be_written_to_is_said_before_any_call(self):
        report, self.report = self.report, os.path.join(self.path, "report")
        self.ends("hangs", 2, f"cannot write to {self.report}/counterexamples: Not a directory; --report names another folder")
        self.report = os.path.join(self.folder.name, "others")
        os.makedirs(os.path.join(self.report, "counterexamples"))
        os.chmod(self.folder.name, 0o755)
        if os.getuid() == 0:  # whom nothing keeps from writing
            self.ends("hangs", 2, f"cannot write to {self.report}/counterexamples: Permission denied; --report names another "
                      "folder", user=65534)
        self.report = report

    def test_every_declared_setting_is_checked(self):
        self.ends("sound", 0, arguments=self.MILD)
        self.assertIn("variants", [check["property"] for check in self.read_report()["checks"]])
        self.ends("configured", 1, "with block = 2: ", arguments=self.MILD)
        failed = {check["property"] for check in self.read_report()["checks"] if check["verdict"] == "failed"}
        self.assertEqual(failed, {"variants"})

    def test_views_that_are_read_as_contiguous_arrays_are_named(self):
        self.ends("read_raw", 1, " where inputs are transposed views", "where they are contiguous",
                  arguments=self.MILD)
        failed = {check["property"] for check in self.read_report()["checks"] if check["verdict"] == "failed"}
        self.assertEqual(failed, {"strides"})
        self.ends("contiguous_only", 0, arguments=self.MILD)
        self.assertEqual([check["verdict"] for check in self.read_report()["checks"] if check["property"] == "strides"],
                         ["skipped"])

    def test_an_input_that_is_overwritten_is_named(self):
        self.ends("in_place", 3, "error reply: the function overwrote its input 'log_p' in place: the "
                  "caller's own data is changed after the call; change a copy")

    def test_why_it_did_not_start_stands_in_the_verdict(self):
        def verdict_of(text, function="scan"):
            module = os.path.join(self.folder.name, "broken.py")
            with open(module, "w") as file:
                file.write(text)
            self.ends(function, 3, module=module)
            return self.read_report()["complaints"][0].replace(module, "broken.py")
        start = "the candidate did not start: error reply: broken.py:scan: "
        for text, reason in (
                ("\nimport no_such_package.sub\n", "it needs the package 'no_such_package', which /usr/bin/python3 does not "
                 "have: install it there, or name another interpreter in ASSAY_PYTHON (broken.py, line 2)"),
                ("import sys\nsys.exit(4)", "it ended the program while it was imported, with status 4 (broken.py, line 2)")):
            self.assertEqual(verdict_of(text), start + reason)
        self.assertEqual(verdict_of("x = 1 / 0"), start + "ZeroDivisionError: division by zero (broken.py, line 1)")
        self.assertEqual(verdict_of("scan = 3"), start + "it is no function but int")
        self.assertIn("unknown declaration ASSAY_DTYPE; known: ", verdict_of("ASSAY_DTYPE = []\nscan = print"))

    def test_a_function_says_what_it_is(self):
        self.ends("narrow", 0, "`log_p` finite")
        self.assertEqual(self.read_report()["candidate"]["compute"], {"bf16": "bf16"})
        self.ends("stages", 1)
        self.assertEqual(self.read_report()["candidate"]["compute"], {"bf16": {"angle": "f32", "product": "f32"}})
        self.ends("misspelt_stage", 3, "hello.compute['bf16']['angel'] is no stage of an offered operation; known: "
                  "angle, table, product")
        self.ends("not_offered", 3, "hello.compute['bf16'] is of a dtype that no operation is offered in; offered: f32")
        self.ends("misspelt", 3, "domain: 'logp' is no input, setting or axis of heinsen/scan; known: log_p, h, s0, state, B, d, n")
        self.ends("candidate_of_nothing", 3, "domain of heinsen/scan: 'logp' is no input, setting or axis")
        self.ends("misspelt_value", 3, "domain: 'layout' has the value 'halfsplit'; known: interleaved, half_split")
        self.ends("reversed_interval", 3, "'h' has the interval [2, 1], which holds no value: low exceeds high")
        self.ends("beside", 3, "hello.domain['heinsen/scan']['log_p'] holds no value of log_p, which lies in [-inf, 0]")

    def test_empty_axes(self):
        self.ends("needs_tokens", 0, "does not take B = 0", "; empty=False declares it", "IndexError")
        self.ends("wants_tokens", 1, "it does not survive a call of the check 'empty_axes': B = 0: error reply: IndexError")
        self.ends("takes_tokens", 0, arguments=self.MILD)
        self.assertGreater(self.read_report()["cases"]["unsupported"], 0)

    def test_functions_that_are_none(self):
        self.ends("no_operation", 3, "its parameters (one, two) are the inputs of no operation; name them so, or name the "
                  "operation, whose inputs then come in its order: python:MODULE:FUNCTION@OPERATION, ", "; see: assay list operations")
        self.ends("one_more", 3, "its parameters (log_p, h, s0, chunk) are the inputs of no operation; "
                  "heinsen/scan(log_p, h, s0) does not fit: 'chunk' is no input and has no default")
        self.ends("one_more@heinsen/scan", 3, "one_more: missing a required argument: 'chunk': it cannot be called as")
        self.ends("swapped@heinsen/scan", 3, "its parameter 'h' stands where heinsen/scan(log_p, h, s0) has 'log_p'")
        self.ends("no_operation@heinsen/scan", 3, "too many positional arguments: it cannot be called as "
                  "heinsen/scan(log_p, h, s0) is, neither by name nor by position")
        self.ends("Models", 3, "it is a class: name an instance of it")
        self.ends("Models.of_instances", 3, "it is a method of a class; name the method of an instance")
        self.ends("candidate@heinsen/scan", 3, "a Candidate names its operations itself: leave out @heinsen/scan")
        self.ends("nothing", 3, "the module has no 'nothing'")
        self.ends("Models.forget", 3, "the module has no 'Models.forget'; near: forgets")
        self.ends("scan", 3, "No module named 'no_such_module' in this folder or among the packages of ", ": start assay in "
                  "its folder, or name its file, as in python:FOLDER/MODULE.py:FUNCTION", module="no_such_module")
        self.ends("scan", 3, f"there is no file {self.folder.name}/none.py", module="none.py", cwd=self.folder.name)
        self.assertEqual(self.gate("python:module").returncode, 2)
        self.assertEqual(self.gate("python:module:").returncode, 2)
        self.assertEqual(self.gate("python::scan@heinsen/scan").returncode, 2)
        self.ends("@heinsen/scan", 2, "must be python:MODULE:FUNCTION")
        self.ends("scan@", 2, "must be python:MODULE:FUNCTION or python:MODULE:FUNCTION@OPERATION")

    def test_the_operation_is_named(self):
        self.ends("renamed@heinsen/scan", 0, "# Assay: renamed", arguments=self.MILD)
        self.ends("scan@heinsen/scan", 0, arguments=self.MILD)
        self.ends("scan@heinsen/scam", 2, "unknown operation 'heinsen/scam' (near: heinsen/scan")
        self.ends("scan@rotate", 2, "unknown operation 'rotate' (near: rope/rotate, ")
        self.ends("scan@xyz", 2, "unknown operation 'xyz' (see: assay list operations)")

    def test_parameters_of_several_operations_list_the_words_to_type(self):
        self.ends("frequencies", 3, "inputs of rope/frequencies and of rope/extended_frequencies and of sinusoidal/frequencies",
                  f"  --candidate python:{self.path}:frequencies@rope/frequencies\n",
                  f"  --candidate python:{self.path}:frequencies@sinusoidal/frequencies\n")
        # What was shown is taken.
        self.ends("frequencies@rope/frequencies", 1, "heinsen/scan was requested and is not offered")

    def test_the_declarations_are_no_argument(self):
        self.ends("short_arguments", 0, "# Assay: short_arguments", arguments=self.MILD)

    def test_a_dtype_that_is_not_offered_says_how_to_declare_it(self):
        self.ends("scan", 1, "bf16 was requested and is not offered: declare it as ASSAY_DTYPES = [...] in the module",
                  arguments=("--dtype", "bf16", *self.MILD))

    def test_a_path_may_hold_what_separates(self):
        for folder in ("a@b", "x:y", "x:y/a@b"):
            path = os.path.join(self.folder.name, folder, "model.py")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(self.path, path)
            for function in ("scan", "renamed@heinsen/scan"):
                self.ends(function, 0, module=path, arguments=("--property", "value", "--family", "mild"))

    def test_the_interpreter_is_chosen(self):
        self.ends("scan", 3, "/nonexistent/python", env={**os.environ, "ASSAY_PYTHON": "/nonexistent/python"})
        plain = os.path.join(self.folder.name, "plain")
        with open(plain, "w") as file:
            file.write("#!/bin/sh\nexec /usr/bin/python3 -S \"$@\"\n")  # without site-packages
        os.chmod(plain, 0o755)
        self.ends("scan", 3, "did not start: error reply: /usr/bin/python3 has no numpy: install it there, or name another "
                  "interpreter in ASSAY_PYTHON",
                  env={**os.environ, "ASSAY_PYTHON": plain})

    def test_an_installed_program_finds_its_own_host(self):
        installed = os.path.join(self.folder.name, "prefix")
        shutil.copytree(ADAPTER, os.path.join(installed, "share", "assay", "python"))
        os.mkdir(os.path.join(installed, "bin"))
        program = shutil.copy(ASSAY, os.path.join(installed, "bin"))
        with open(os.path.join(installed, "share", "assay", "python", "assay", "python_candidate.py"), "w") as file:
            file.write("import sys; sys.exit('the installed host')\n")
        self.ends("scan", 3, "the installed host", assay=program)

    def test_a_program_without_its_host_says_where_it_expects_it(self):
        os.mkdir(os.path.join(self.folder.name, "bin"))
        program = shutil.copy(ASSAY, os.path.join(self.folder.name, "bin"))
        expected = os.path.join(os.path.realpath(self.folder.name), "share", "assay", "python", "assay")
        done = subprocess.run([program, "gate", "--candidate", f"python:{self.path}:scan", "--report", self.report],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
        self.assertIn("the Python host is missing", done.stderr)
        self.assertIn(expected, done.stderr)


class Deduction(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.declarations = json.loads(run("list", "operations", "--json").stdout)

    def named(self, function):
        return deduce(function, self.declarations)["name"]

    def test_parameters_name_the_operation(self):
        usual = [declared for declared in self.declarations if not declared["named_only"]]
        inputs = [sorted(tensor["name"] for tensor in declared["inputs"]) for declared in usual]
        for declared in usual:
            names = [tensor["name"] for tensor in declared["inputs"]]
            if not names or inputs.count(sorted(names)) > 1:  # nothing to go by, or two operations to choose from
                self.assertRaises(NotAnOperation, self.named, eval(f"lambda {', '.join(names)}: 0"))
                continue
            self.assertEqual(self.named(eval(f"lambda {', '.join(names)}: 0")), declared["name"])
            self.assertEqual(self.named(eval(f"lambda *, {', '.join(reversed(names))}, block=32: 0")), declared["name"])
            self.assertRaises(NotAnOperation, self.named, eval(f"lambda {', '.join(names)}, more: 0"))
            if sorted(names[1:]) not in inputs:
                self.assertRaises(NotAnOperation, self.named, eval(f"lambda {', '.join(names[1:])}: 0"))
        self.assertGreater(len(self.declarations), 6)

    def test_the_usual_operation_is_meant(self):
        self.assertEqual(self.named(lambda x, position: x), "rope/rotate")
        self.assertEqual(self.named(lambda x, position, **settings: x), "rope/rotate")
        self.assertEqual(self.named(lambda x, theta, position: x), "rope/rotate_by")
        self.assertEqual(self.named(lambda x, position, grad_y: x), "rope/rotate:vjp")
        self.assertEqual(self.named(lambda x, position, down: x), "xpos/rotate")
        self.assertEqual(self.named(lambda x, position, order: x), "rope_axes/rotate")
        self.assertEqual(self.named(lambda position: position), "sinusoidal/table")
        self.assertEqual(self.named(lambda position, width=128, base=1e4: position), "sinusoidal/table")
        self.assertEqual(self.named(lambda g: g), "fox/gated_decay")
        self.assertEqual(self.named(lambda q, k, query_position, key_position: q), "rope/scores")
        self.assertEqual(self.named(lambda q, k, v, attend_current: q), "sba/attention")
        # Who writes attention(q, k, v) means a softmax.
        self.assertEqual(self.named(lambda q, k, v: q), "attention/grouped_query")
        self.assertEqual(self.named(lambda q, k, v, scale="one": q), "attention/grouped_query")
        for function in (lambda query_position, key_position: 0, lambda z: z):
            with self.assertRaisesRegex(NotAnOperation, "name the operation that is meant"):
                self.named(function)

    def test_an_input_in_the_other_number(self):
        """gpt-oss and its kernels say sinks."""
        for function in (lambda q, k, v, sinks: q, lambda q, k, v, sinks=None: q, lambda q, k, v, *, sinks, scale: q):
            self.assertEqual(self.named(function), "attention/sinks")
        self.assertEqual(self.named(lambda q, k, v, slope: q), "alibi/attention")
        for function in (lambda part, lse: part, lambda factors: factors):  # nothing else says what they are
            self.assertRaises(NotAnOperation, self.named, function)
        with self.assertRaisesRegex(NotAnOperation, r"sink\) does not fit: no parameter 'k', no parameter 'v'\n"):
            self.named(lambda q, sinks: q)
        candidate = candidate_of(lambda q, k, v, sinks: q + sinks, self.declarations, dtypes=["f64"], framework="numpy")
        inputs = {name: ("F64", numpy.full(2, float(k))) for k, name in enumerate(("q", "k", "v", "sink"))}
        answer = candidate._functions["attention/sinks"][0](inputs, {}, "f64")
        self.assertEqual(answer["o"][1].tolist(), [3.0, 3.0])

    def test_functions_that_an_adapter_is_for_are_told_it(self):
        for function, adapter in ((lambda q, k, cos, sin, position_ids=None: q, "from_cos_sin"),
                                  (lambda x, sin, cos: x, "from_cos_sin"),
                                  (lambda q, k, cos_table, sin_table: q, "from_cos_sin"),
                                  (lambda xq, xk, freqs_cis: xq, "from_freqs_cis")):
            with self.assertRaisesRegex(NotAnOperation, rf"no operation; assay\.adapters\.{adapter}\(FUNCTION\) is for"):
                self.named(function)
            with self.assertRaisesRegex(NotAnOperation, rf"nor by position; assay\.adapters\.{adapter}\(FUNCTION\) is for"):
                candidate_of(function, self.declarations, "rope/rotate")
        with self.assertRaisesRegex(NotAnOperation, "no operation; (?!assay)"):
            self.named(lambda q, k, cos: q)

    def test_without_names_the_operation_must_be_said(self):
        candidate = candidate_of(lambda a, b, c: (a, b), self.declarations, "heinsen/scan", ["f64"], "numpy")
        self.assertEqual(candidate.operations, {"heinsen/scan": ["f64"]})

    def test_an_unknown_operation_names_those_near_it(self):
        with self.assertRaisesRegex(NotAnOperation, r"unknown operation 'heinsen/scam' \(near: heinsen/scan, "):
            candidate_of(lambda a, b, c: (a, b), self.declarations, "heinsen/scam")

    def test_a_function_that_cannot_be_called_is_refused(self):
        for function in (lambda a, b: (a, b), lambda a, b, c, d: (a, b), lambda *, a, b, c: (a, b), lambda **all: all):
            with self.assertRaisesRegex(NotAnOperation, r"cannot be called as heinsen/scan\(log_p, h, s0\) is"):
                candidate_of(function, self.declarations, "heinsen/scan")
        candidate_of(lambda *inputs: inputs, self.declarations, "heinsen/scan", framework="numpy")
        # Its settings go by name, and so does the dtype.
        candidate_of(lambda v, m, layout, dtype: v, self.declarations, "rope/rotate", framework="numpy")
        candidate_of(lambda heads, dtype: dtype, self.declarations, "alibi/slopes", framework="numpy")

    def test_the_framework_is_the_one_that_is_used(self):
        scope = {"__name__": "users"}
        exec("import numpy as np\ndef a(x): return np.exp(x)\ndef b(x): return a(x)\ndef c(x): return x", scope)
        self.assertEqual([framework_of(scope[name]) for name in "abc"], ["numpy"] * 3)

    @unittest.skipIf(torch is None, "/usr/bin/python3 has no torch (Debian: python3-torch)")
    def test_torch_functions_bring_their_derivative(self):
        scope = {"__name__": "users"}
        exec("import numpy as np\nfrom torch import logaddexp\nimport torch.nn.functional as F\n"
             "def a(x): return np.exp(x)\ndef b(x): return logaddexp(x, x)\ndef c(x): return x\n"
             "def d(x): return F.logsigmoid(x)\ndef e(x): return d(a(x))\n"
             "def scan(log_p, h, s0): return logaddexp(log_p, h), s0", scope)
        self.assertEqual([framework_of(scope[name]) for name in "abcde"], ["numpy"] + ["torch"] * 4)
        both = {"heinsen/scan": ["f32", "f64"], "heinsen/scan:vjp": ["f32", "f64"]}
        self.assertEqual(candidate_of(scope["scan"], self.declarations).operations, both)
        self.assertEqual(list(candidate_of(scope["scan"], self.declarations, vjp=False).operations), ["heinsen/scan"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
