"""assay bench with small sizes: valid JSON, and peers that compute the same."""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ASSAY = os.environ["ASSAY"]
WIDE = ["--shape", "B=2,n=40,d=80", "--rounds", "2"]
NARROW = ["--shape", "B=1,n=300,d=3", "--rounds", "2", "--no-torch"]


def run(*words):
    return subprocess.run([ASSAY, "bench", *words], capture_output=True, text=True, check=False)


class Bench(unittest.TestCase):
    def test_json(self):
        done = run(*WIDE, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["rounds"], report["threads"]), (2, 1))
        rows = report["measurements"]
        operations = {f"heinsen/{scan}{derivative}" for scan in ("scan", "gated_scan") for derivative in ("", ":vjp", ":jvp")}
        both = "heinsen/scan, scan:vjp"
        self.assertEqual({row["operation"] for row in rows}, operations | {both})
        self.assertEqual({(row["operation"], row["dtype"]) for row in rows},
                         {(name, dtype) for name in operations for dtype in ("f32", "bf16", "f16")
                          if dtype == "f32" or not name.endswith(":jvp")} | {(both, "f32")})
        self.assertEqual(len(rows), 3 * 4 + 3)
        for row in rows:
            self.assertGreater(row["ns"], 0)
            share = row["share"]
            self.assertTrue(0 < share["least"] <= share["median"] <= share["most"], row)
            for peer in row["peers"]:
                self.assertTrue(peer["agrees"], row)
                tolerance = 1e-2 if "cumsum" in peer["name"] else 1e-4
                self.assertTrue(math.isclose(peer["sum"], peer["our_sum"], rel_tol=tolerance, abs_tol=0.1), row)
        scans = [row for row in rows if (row["operation"], row["dtype"]) == ("heinsen/scan", "f32")]
        peers = {peer["name"] for row in scans for peer in row["peers"]}
        self.assertIn("scalar C++", peers)
        for header, name in (("sleef.h", "loop with SLEEF"), ("xsimd/xsimd.hpp", "loop with xsimd")):
            if any((pathlib.Path(folder) / header).exists() for folder in ("/usr/include", "/usr/include/x86_64-linux-gnu")):
                self.assertIn(name, peers)  # on x86-64 with AVX2
        if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            self.assertLess({"PyTorch, cumsum form", "PyTorch, step loop"}, peers)
            self.assertEqual([peer["name"] for row in rows if row["operation"] == both for peer in row["peers"]],
                             ["PyTorch, cumsum form"])

    def test_scans_on_two_threads_stand_beside_one(self):
        done = run("--shape", "B=1,n=300,d=512", "--rounds", "2", "--threads", "2", "--no-torch", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        for row in json.loads(done.stdout)["measurements"]:
            if row["dtype"] == "f32" and "," not in row["operation"]:
                one = next(peer for peer in row["peers"] if peer["name"] == "ours on one thread")
                self.assertEqual(one["sum"], one["our_sum"])  # the same bits
                self.assertGreater(one["times"]["least"], 0)

    def test_tables(self):
        done = run(*NARROW, "--markdown")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 2 + 2 * (3 * 4 + 3))
        self.assertTrue(all(line.count("|") == 6 for line in lines), lines)

    def test_embeddings(self):
        done = run("--shape", "B=2,n=300,d=5,e=700", "--rounds", "2", "--threads", "2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["measurements"]
        self.assertEqual([row["operation"] for row in rows], ["heinsen/embed_position", "heinsen/embed_position:vjp"])
        for row in rows:
            self.assertEqual((row["shape"], row["embedding"], row["peers"]), ([2, 300, 5], 700, []))
            self.assertGreater(min(row["ns"], row["floor_ns"], row["share"]["least"]), 0)

    def test_the_shape_that_help_names(self):
        done = run("--shape", "B=1,n=4096,d=512,e=512", "--rounds", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_other_encodings(self):
        done = run("--shape", "B=2,n=40,h=3,d=8", "--rounds", "2", "--threads", "2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)["measurements"]
        self.assertEqual({row["operation"].split("/")[0] for row in rows},
                         {"rope", "sinusoidal", "alibi", "t5_bias", "fox", "attention"})
        shapes = {row["operation"]: row["shape"] for row in rows}
        self.assertEqual((shapes["rope/rotate"], shapes["fox/decay"]), ([2, 40, 3, 8], [2, 3, 40, 40]))
        for row in rows:
            self.assertGreater(min(row["ns"], row["floor_ns"], row["share"]["least"]), 0)

    def test_wrong_words(self):
        for words in (["--shape", "n=3"], ["--shape", "B=1,n=2,d=3,e=0"], ["--shape", "B=1,n=2,d=3,e=4,f=5"], ["--shape", "B=1,n=40000,h=8,d=64"], ["--shape", "B=1,n=0,d=1"], ["--rounds", "0"], ["--target", "none"], ["more"]):
            with self.subTest(words=words):
                done = run(*words)
                self.assertEqual(done.returncode, 2)
                self.assertNotEqual(done.stderr + done.stdout, "")


class Missing(unittest.TestCase):
    """Beside a program without assay-bench."""

    def test_says_how_to_get_it(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder).resolve()
            (folder / "bin").mkdir()
            alone = shutil.copy(pathlib.Path(ASSAY).resolve(), folder / "bin")
            for words in ("packages and wheels have none: build it in a clone of Assay, with `tools/quickstart bench`",
                          f"build it: cmake --build {folder} --target assay_bench"):
                done = subprocess.run([alone, "bench"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"there is no {alone}-bench, which `assay bench` starts; {words} (needs Google Benchmark, "
                              "Debian: libbenchmark-dev)", done.stderr)
                (folder / "CMakeCache.txt").touch()  # from here on it is a build folder


if __name__ == "__main__":
    if not (pathlib.Path(ASSAY).resolve().parent / "assay-bench").exists():
        if not unittest.TextTestRunner().run(Missing("test_says_how_to_get_it")).wasSuccessful():
            sys.exit(1)
        sys.exit(77)
    unittest.main()
