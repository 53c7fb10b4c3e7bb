#!/usr/bin/env python3
"""assay explore as users meet it: runs that are killed, shards, full disks, and mistakes.

Run by CTest with ASSAY set to the program.
"""
import contextlib
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

ASSAY = os.environ["ASSAY"]
SWEEP = """name = "small"
question = "Is a sweep measured as a whole?"
[[grid]]
measure = "scan"
implementation = ["sequential", "cumsum"]
arithmetic = ["f32", "bf16"]
family = ["gates", "drift", "resets"]
decay = [-2, 0, 2, 4]
size = [16, 256, 20000]
"""
CELLS = 2 * 2 * 3 * 4 * 3


def run(*arguments, **options):
    return subprocess.run([ASSAY, "explore", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          **options)


def opened(folder):
    return contextlib.closing(sqlite3.connect(os.path.join(folder, "sweep.sqlite"), isolation_level=None))


def content(folder):
    """All that must be equal: cells, results and what the sweep is; not the times."""
    with opened(folder) as file:
        return [file.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in ("meta", "cell", "result")]


class Sweeps(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.sweep = os.path.join(cls.folder, "small.toml")
        with open(cls.sweep, "w", encoding="utf-8") as file:
            file.write(SWEEP)
        cls.whole = os.path.join(cls.folder, "whole")
        start = time.monotonic()
        done = run("--sweep", cls.sweep, "--out", cls.whole)
        cls.seconds = time.monotonic() - start
        assert done.returncode == 0, done.stderr
        cls.reported = done.stderr

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_all_is_measured_and_told(self):
        self.assertIn(f"{CELLS} cells, about", self.reported)
        self.assertIn(f"{CELLS}/{CELLS} cells", self.reported)
        self.assertEqual(len(content(self.whole)[1]), CELLS)

    def test_a_killed_run_goes_on(self):
        """kill -9 at random moments: nothing is lost, nothing is repeated."""
        rng = random.Random(16)
        out = self.path("killed")
        kept = set()
        for attempt in range(8):
            process = subprocess.Popen([ASSAY, "explore", "--sweep", self.sweep, "--out", out, "--resume"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, self.seconds / 2))
            process.send_signal(signal.SIGKILL)
            process.wait()
            if not os.path.exists(os.path.join(out, "sweep.sqlite")):
                continue
            try:
                ids = {row[0] for row in content(out)[1]}
            except sqlite3.OperationalError:  # killed before there were tables
                ids = set()
            self.assertLessEqual(kept, ids)
            kept = ids
        last = run("--sweep", self.sweep, "--out", out, "--resume")
        self.assertEqual(last.returncode, 0, last.stderr)
        self.assertIn(f"{CELLS - len(kept)} cells, about", last.stderr)
        self.assertEqual(content(out), content(self.whole))
        self.assertEqual([name for name in os.listdir(out) if name.endswith("-wal")], [])  # all is in one file

    def test_shards_are_one_run(self):
        shards = []
        for k in (1, 2, 3):
            shards.append(self.path(f"shard-{k}"))
            done = run("--sweep", self.sweep, "--out", shards[-1], "--shard", f"{k}/3")
            self.assertEqual(done.returncode, 0, done.stderr)
        merged = self.path("merged")
        done = run("merge", *reversed(shards), "--out", merged)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(content(merged), content(self.whole))
        for wrong, words in ((shards[:2], "2 of 3 shards"), ([shards[0], shards[0]], "there twice"),
                             ([shards[0], self.whole], "another run"), ([self.path("nowhere")], "no such file")):
            done = run("merge", *wrong, "--out", self.path("wrong"))
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(self.path("wrong")))

    def test_another_sweep_is_refused(self):
        other = self.path("other.toml")
        with open(other, "w", encoding="utf-8") as file:
            file.write(SWEEP.replace("20000", "10000"))
        before = content(self.whole)
        for arguments, words in ((("--sweep", other, "--resume"), "its cells are others"),
                                 (("--sweep", self.sweep), "--resume goes on"),
                                 (("--sweep", "growth", "--resume"), "holds the sweep 'small'"),
                                 (("--sweep", self.sweep, "--resume", "--shard", "1/2"), "shard 1/1, not 1/2"),
                                 (("--sweep", "nothing"), "neither a file nor a preset"),
                                 (("--sweep", self.sweep, "--shard", "3/2"), "K/N")):
            done = run(*arguments, "--out", self.whole)
            self.assertNotEqual(done.returncode, 0)
            if "3/2" not in arguments:  # which the parser of the command line refuses
                self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
        self.assertEqual(content(self.whole), before)

    def test_files_of_others_are_refused(self):
        for name, change, words in (
                ("newer", "PRAGMA user_version=7", "format 7"),
                ("version", "UPDATE meta SET value = '99' WHERE key = 'version'", "measured by Assay 99"),
                ("foreign", "PRAGMA application_id=1", "no sweep of Assay")):
            out = self.path(name)
            shutil.copytree(self.whole, out)
            with opened(out) as file:
                file.execute(change)
            before = content(out)
            done = run("--sweep", self.sweep, "--out", out, "--resume")
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertEqual(content(out), before)

    def test_a_locked_file_is_told(self):
        out = self.path("locked")
        shutil.copytree(self.whole, out)
        with opened(out) as file:
            file.execute("BEGIN EXCLUSIVE")
            done = run("--sweep", self.sweep, "--out", out, "--resume")
        self.assertEqual(done.returncode, 2)
        self.assertIn("another process uses it", done.stderr)

    def test_a_full_disk_loses_nothing(self):
        """The largest size of a file stands for the disk."""
        out = self.path("full")
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (90000, 90000))
        done = run("--sweep", self.sweep, "--out", out, preexec_fn=limit, restore_signals=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("--resume goes on", done.stderr)
        done = run("--sweep", self.sweep, "--out", out, "--resume")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(content(out), content(self.whole))

    def test_a_cell_is_measured_again(self):
        _, cells, numbers = content(self.whole)
        for row in random.Random(3).sample(cells, 4):
            done = run("cell", row[1])
            self.assertEqual(done.returncode, 0, done.stderr)
            again = dict(line.split() for line in done.stdout.splitlines())
            stored = {name: value for cell, name, value in numbers if cell == row[0]}
            self.assertEqual(set(again), set(stored))
            for name, value in stored.items():
                self.assertEqual(float(again[name]) if again[name] != "nan" else None, value)
        self.assertEqual(run("cell", "scan").returncode, 2)

    def test_a_candidate_is_measured_beside_the_others(self):
        sweep = self.path("beside.toml")
        with open(sweep, "w", encoding="utf-8") as file:
            file.write(SWEEP.replace("20000", "500").replace('"gates", "drift", "resets"', '"gates"'))
        out = self.path("candidate")
        done = run("--sweep", sweep, "--out", out, "--candidate", "builtin:sequential")
        self.assertEqual(done.returncode, 0, done.stderr)
        with opened(out) as file:
            found = {}
            for name, arithmetic, decay, size, value in file.execute(
                    "SELECT implementation, arithmetic, decay, size, value FROM cell JOIN result ON cell = id WHERE name = 'rms'"):
                found[name, arithmetic, decay, size] = value
        own = {key[1:]: value for key, value in found.items() if key[0] == "builtin:sequential" and key[1] == "f32"}
        self.assertTrue(own)
        self.assertEqual(own, {key: found["sequential", *key] for key in own})
        done = run("--sweep", sweep, "--out", self.path("none"), "--candidate", "builtin:nothing")
        self.assertEqual(done.returncode, 2)
        # One that answers nothing.
        done = run("--sweep", sweep, "--out", self.path("broken"), "--candidate", "process:/bin/false")
        self.assertEqual(done.returncode, 3)

    def test_memory_does_not_depend_on_the_length(self):
        most = {}
        for size in (10000, 1000000):
            text = f"scan balanced_tree f32 f32 gates decay=0 scale=1 size={size} seed=1"
            # The largest resident set of this one process, in KiB.
            done = subprocess.run(["/usr/bin/python3", "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], "
                                   "check=True, stdout=subprocess.DEVNULL); "
                                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)", ASSAY, "explore", "cell",
                                   text], capture_output=True, text=True, check=True)
            most[size] = int(done.stdout)
        self.assertLess(most[1000000], most[10000] + 2048)  # the states alone would be 8 MB

    @unittest.skipUnless(subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0,
                         "no PyTorch")
    def test_pytorch_has_the_law_of_its_algorithm(self):
        sweep, out = self.path("torch.toml"), self.path("torch")
        candidate = "process:/usr/bin/python3 " + os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples",
                                                                "torch_cumsum.py")
        with open(sweep, "w", encoding="utf-8") as file:
            file.write('name = "torch"\n[[grid]]\nmeasure = "scan"\nimplementation = "cumsum"\narithmetic = "f32"\n'
                       'family = "gates"\nsize = [1024, 4096]\n')
        done = run("--sweep", sweep, "--out", out, "--candidate", candidate)
        self.assertEqual(done.returncode, 0, done.stderr)
        with opened(out) as file:
            constants = dict(file.execute("SELECT implementation || size, value FROM cell JOIN result ON cell = id "
                                          "WHERE name = 'constant'"))
        self.assertEqual(len(constants), 4)
        for constant in constants.values():
            self.assertTrue(0.3 < constant < 0.9, constants)

    def test_the_list_names_presets_and_measures(self):
        done = run("list")
        self.assertEqual(done.returncode, 0)
        for word in ("growth", "scan", "chunked_cumsum", "gates"):
            self.assertIn(word, done.stdout)


if __name__ == "__main__":
    unittest.main()
