#!/usr/bin/env python3
"""All readers return the same of every committed file and refuse bad files; the loops to copy tell right from wrong.

Each language has a listing beside this file: a line for each tensor (name, dtype, shape, number of values, sum of the
bits of value i as a double times 2 i + 1) and each text of the metadata. CTest runs it and sets LISTING_CPP to the
listing in C++. A language that is not installed is left out and named; in CI that is an error. """
import glob
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
READERS = os.path.dirname(HERE)
GOLDEN = os.path.dirname(READERS)
SETS = os.path.join(GOLDEN, "sets")
# The most lines of code. Rust reads JSON by hand: serde_json would need cargo, a registry and its compilation in every
# project.
MOST_LINES = {"golden_reader.py": 40, "golden_reader.js": 40, "golden_reader.hpp": 40, "golden_reader.rs": 68}
PYTHON = [sys.executable, "-B", "-W", "error"]


def run(command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout.decode()


def listings(folder):
    """{language: command}"""
    all_of_them = {"Python": [*PYTHON, os.path.join(HERE, "listing.py")], "C++": [os.environ["LISTING_CPP"]]}
    node = shutil.which("node") or shutil.which("nodejs")
    if node:
        all_of_them["JavaScript"] = [node, os.path.join(HERE, "listing.js")]
    rustc = next((path for path in ("/usr/bin/rustc", shutil.which("rustc")) if path and os.path.exists(path)), None)
    if rustc:
        program = os.path.join(folder, "listing")
        source = os.path.join(HERE, "listing.rs")
        run([rustc, "--edition", "2021", "-D", "warnings", "-C", "opt-level=1", source, "-o", program])
        all_of_them["Rust"] = [program]
    for language in ("JavaScript", "Rust"):
        if language not in all_of_them:
            print(f"no {language} on this machine: its reader was not tested")
            assert not os.environ.get("CI"), f"CI needs {language} (tools/install_dependencies javascript rust)"
    return all_of_them


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


GOOD = file_of({"a": entry(), "b": entry("F16", (1, 2), (8, 12)), "none": entry(shape=(0, 4096), offsets=(12, 12))},
               bytes(12))
BAD = {
    "empty": b"", "seven bytes": bytes(7), "header beyond the file": struct.pack("<Q", 100) + b"{}",
    "huge header": struct.pack("<Q", 2**64 - 1) + b"{}", "no JSON": file_of(b'{"a": '), "a list": file_of(b"[1]"),
    "no UTF-8": file_of(b'{"\xff": 1}'), "entry of null": file_of({"a": None}), "entry of text": file_of({"a": "b"}),
    "no dtype": file_of({"a": {"shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
    "no shape": file_of({"a": {"dtype": "F32", "data_offsets": [0, 8]}}, bytes(8)),
    "no offsets": file_of({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)),
    "unknown dtype": file_of({"a": entry("F8")}, bytes(8)),
    "negative size": file_of({"a": entry(shape=(-2,))}, bytes(8)),
    "sizes that overflow to the right one": file_of({"a": entry("F16", (-2, -2))}, bytes(8)),
    "broken size": file_of({"a": entry(shape=(1.5,))}, bytes(8)),
    "broken size of a right number": file_of({"a": entry(shape=(2.5,))}, bytes(8)),
    "shape too large": file_of({"a": entry(shape=(3,))}, bytes(8)),
    "shape that overflows": file_of({"a": entry(shape=(2**33, 2**33, 2))}, bytes(8)),
    "one offset": file_of({"a": entry(offsets=(0,))}, bytes(8)),
    "offsets reversed": file_of({"a": entry(offsets=(8, 0))}, bytes(8)),
    "negative offset": file_of({"a": entry(offsets=(-8, 0))}, bytes(8)),
    "gap": file_of({"a": entry(), "b": entry(offsets=(12, 20))}, bytes(20)),
    "gap before": file_of({"a": entry(offsets=(4, 12))}, bytes(12)),
    "overlap": file_of({"a": entry(), "b": entry(offsets=(4, 12))}, bytes(12)),
    "the same bytes": file_of({"a": entry(), "b": entry()}, bytes(8)),
    "bytes behind": GOOD + b"\0", "bytes missing": GOOD[:-1], "no data": file_of({"a": entry()}),
}


class readers(unittest.TestCase):
    maxDiff = 2000

    def test_agree_on_every_file_and_refuse_bad_ones(self):
        files = sorted(glob.glob(os.path.join(SETS, "*", "*.safetensors")))
        self.assertGreater(len(files), 900)
        with tempfile.TemporaryDirectory() as folder:
            for name, data in [*BAD.items(), ("good", GOOD)]:
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(data)
            bad = [os.path.join(folder, name) for name in BAD]
            expected = None
            for language, command in listings(folder).items():
                with self.subTest(language):
                    listed = run(command + [os.path.relpath(path, SETS) for path in files], cwd=SETS)
                    self.assertNotIn("error ", listed)
                    expected = expected or listed
                    differing = [two for two in zip(listed.splitlines(), expected.splitlines()) if two[0] != two[1]]
                    self.assertEqual(differing[:1], [], f"{language} reads otherwise than Python")
                    self.assertEqual(len(listed), len(expected))
                    self.assertIn("tensor a F32 [2] 2 0", run(command + [os.path.join(folder, "good")]))
                    lines = run(command + bad).splitlines()
                    self.assertEqual(len(lines), len(bad), lines)
                    for path, line in zip(bad, lines):
                        self.assertRegex(line, f"^error {path}: .+")

    def test_stay_short(self):
        for name, most in MOST_LINES.items():
            with open(os.path.join(READERS, name), encoding="utf-8") as file:
                code = [line for line in file if line.strip() and not line.lstrip().startswith(("//", "#"))]
            self.assertLessEqual(len(code), most, name)


class a_newcomer(unittest.TestCase):
    """From an empty folder to a passing and a failing assertion, by the lines that golden/README.md prints."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(os.path.join(GOLDEN, "README.md"), encoding="utf-8") as file:
            self.printed = file.read()

    def types(self, language, sets=os.path.join(SETS, "heinsen"), only_last=False):
        """Runs the lines of this language; returns the exit code and the output."""
        block, = (part for part in self.printed.split("\n\n") if f"test_my_scan.{language} ." in part)
        lines = [line.strip() for line in block.splitlines() if not line.strip().startswith("A=")]
        script = "\n".join(lines[-1:] if only_last else lines).replace("$A/sets/heinsen", sets)
        if language == "cpp" and only_last:
            script = script.split(" && ")[1]  # the program is compiled already
        done = subprocess.run(["bash", "-ec", script], cwd=self.folder, capture_output=True, text=True,
                              check=False, env={**os.environ, "A": GOLDEN, "PYTHONWARNINGS": "error",
                                                "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8",
                                                "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]})
        return done.returncode, done.stdout + done.stderr

    def change(self, name, old, new):
        path = os.path.join(self.folder, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn(old, text)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))

    def test_in_python(self):
        code, words = self.types("py")
        self.assertEqual(code, 0, words)
        self.assertGreater(int(words.split(" passed")[0].split()[-1]), 81)  # and that there are files
        self.change("test_my_scan.py", "log_p[:, i] + states[-1]", "states[-1]")
        code, words = self.types("py", only_last=True)
        self.assertEqual(code, 1, words)
        self.assertRegex(words, r"scan-mild\.f32\.safetensors \(.+\): 24 of 24 elements of s are wrong, first s\[0, 0,")
        self.assertIn("test_my_scan[scan-mild.f32.safetensors]", words)
        self.change("test_my_scan.py", '= "heinsen/scan"', '= "heinsen/scam"')
        code, words = self.types("py", only_last=True)
        self.assertEqual(code, 1, words)
        self.assertIn("name the folder in GOLDEN", words)

    def test_wide_elements_are_found_as_the_readme_says(self):
        sys.path.insert(0, READERS)
        import golden_reader
        import numpy
        zero_passes = files = 0
        for path in sorted(glob.glob(os.path.join(SETS, "*", "*.safetensors"))):
            with open(path, "rb") as file:  # most files are left after their header
                length, = struct.unpack("<Q", file.read(8))
                about = json.loads(file.read(length))["__metadata__"]
            if "wide" not in about["flags"].split():
                continue
            tensors, _ = golden_reader.read(path)
            outputs = [name.removesuffix(":bug") for name in tensors if name.endswith(":bug")]

            def are_wide(allowance):
                return [abs(tensors[y].values.astype("f8")) <= tensors[f"{y}:{allowance}"].values for y in outputs
                        if f"{y}:{allowance}" in tensors]
            files += 1
            zero_passes += all(map(numpy.all, are_wide("bug")))
            self.assertFalse(all(map(numpy.all, are_wide("bug.f32"))), path)
        self.assertGreater(zero_passes, 100)
        self.assertGreater(files, zero_passes)

    def test_one_file_as_the_readmes_print_it(self):
        right = """
import numpy
def my_scan(log_p, h, s0):
    states = [s0]
    for i in range(h.shape[1]):
        states.append(numpy.logaddexp(log_p[:, i] + states[-1], h[:, i]))
    return numpy.stack(states[1:], 1)
"""
        for document in ("README.md", "golden/README.md", "golden/sets/README.md"):
            with open(os.path.join(GOLDEN, "..", document), encoding="utf-8") as file:
                blocks = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
            printed = "".join(block for block in blocks if "golden_reader" in block or "def right" in block)
            for scan, code in ((right, 0), (right.replace("log_p[:, i] + ", ""), 1)):
                done = subprocess.run([*PYTHON, "-c", scan + printed], capture_output=True, text=True,
                                      cwd=os.path.join(GOLDEN, "sets" if "sets" in document else ".."), check=False,
                                      env={**os.environ, "PYTHONPATH": READERS})
                self.assertEqual(done.returncode, code, (document, done.stderr))
                self.assertIn("AssertionError" if code else "", done.stderr)

    def test_in_javascript(self):
        if not shutil.which("node"):
            self.skipTest("no Node")
        code, words = self.types("js")
        self.assertEqual(code, 0, words)
        self.assertGreater(int(words.split(" files, 0 wrong")[0]), 81)
        self.change("test_my_scan.js", "(token > 0 ?", "(token > 1 ?")
        code, words = self.types("js", only_last=True)
        self.assertEqual(code, 1, words)
        self.assertRegex(words, r"scan-mild\.f32\.safetensors \(.+\): element 2 is .+, truth .+, allowed ")
        self.assertEqual(self.types("js", self.folder, only_last=True),
                         (1, "0 files, 0 wrong; left out: 0 of other dtypes, 0 of other operations\n"))

    def test_in_cpp(self):
        code, words = self.types("cpp")
        self.assertEqual(code, 0, words)
        self.assertGreater(int(words.split(" files, 0 wrong")[0]), 50)
        # A file with other truths stands for another function: compiling one takes seconds.
        with open(os.path.join(SETS, "heinsen", "scan-mild.f32.safetensors"), "rb") as file:
            data = bytearray(file.read())
        length, = struct.unpack_from("<Q", data)
        begin, _ = json.loads(data[8:8 + length])["s"]["data_offsets"]
        data[8 + length + begin + 9] ^= 1  # of the third number
        with open(os.path.join(self.folder, "other.safetensors"), "wb") as file:
            file.write(data)
        code, words = self.types("cpp", ".", only_last=True)
        self.assertEqual(code, 1, words)
        self.assertRegex(words, r"^other\.safetensors \(.+\): element 2 is .+, truth .+, allowed .+\n1 files, 1 wrong")


if __name__ == "__main__":
    try:
        import numpy  # noqa: F401
        import pytest  # noqa: F401
    except ModuleNotFoundError as missing:
        print(f"skipped: {sys.executable} has no {missing.name} (tools/install_dependencies python pytest)")
        sys.exit(1 if os.environ.get("CI") else 77)
    unittest.main()
