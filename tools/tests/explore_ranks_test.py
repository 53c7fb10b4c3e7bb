#!/usr/bin/env python3
"""mpirun assay explore: ranks that share a sweep, are killed, and are too many.

Run by CTest with ASSAY set to the program. Where it was built without MPI, ends with status 77 (skipped, in CTest's words);
with CI=true it fails.
"""
import glob
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

ASSAY = os.environ["ASSAY"]
if not os.path.exists(os.path.join(os.path.dirname(ASSAY), "..", "lib", "assay", "ranks.so")):
    print("skipped: built without MPI (tools/install_dependencies mpi)")
    sys.exit(1 if os.environ.get("CI") == "true" else 77)

# A root may start ranks, and more than there are cores.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
# Cells without a family, those of a candidate, NaN and infinities travel between ranks.
SWEEP = """name = "ranks"
[[grid]]
measure = "error"
implementation = "formula"
arithmetic = ["f64", "f16", "bf16"]
family = ["sinusoidal/table", "rope/rotate"]
scale = 128
size = [10, 1000, 1000000]
[[grid]]
measure = "repeats"
implementation = "formula"
arithmetic = "bf16"
family = "alibi/bias,form=key"
size = [128, 512]
[[grid]]
measure = "merging"
implementation = "sequential"
arithmetic = "bf16"
decay = [0.5, 0.9]
size = 1
[[grid]]
measure = "scan"
implementation = ["sequential", "cumsum", "bare_linear", "builtin:sequential"]
arithmetic = "f32"
family = ["gates", "drift", "resets"]
decay = [-2, 4]
size = [16, 3000]
"""


def content(folder):
    """All that must be equal: cells, results and what the sweep is; not the times."""
    file = sqlite3.connect(os.path.join(folder, "sweep.sqlite"))
    try:
        return [file.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in ("meta", "cell", "result")]
    finally:
        file.close()


def ranks_of(launcher, count):
    """The processes that mpirun has started, by rank."""
    for _ in range(600):
        found = {}
        for path in glob.glob("/proc/[0-9]*"):
            try:
                with open(path + "/stat") as stat, open(path + "/environ") as environment:
                    parent = int(stat.read().rsplit(")", 1)[1].split()[1])
                    values = dict(word.split("=", 1) for word in environment.read().split("\0") if "=" in word)
            except OSError:  # it has ended
                continue
            if parent == launcher and "OMPI_COMM_WORLD_RANK" in values:
                found[int(values["OMPI_COMM_WORLD_RANK"])] = int(os.path.basename(path))
        if len(found) == count:
            return found
        time.sleep(0.05)
    raise AssertionError("mpirun has not started its ranks")


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.sweep = cls.file("sweep.toml", SWEEP)
        cls.whole = os.path.join(cls.folder, "whole")
        done = subprocess.run([ASSAY, "explore", "--sweep", cls.sweep, "--out", cls.whole], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    @classmethod
    def file(cls, name, text):
        path = os.path.join(cls.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_on(self, ranks, *arguments):
        return subprocess.run(["mpirun", "-n", str(ranks), ASSAY, "explore", *arguments], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, env=ENVIRONMENT)

    def test_the_cells_are_those_of_one_run(self):
        for ranks in (1, 2, 3):
            out = os.path.join(self.folder, f"on-{ranks}")
            done = self.run_on(ranks, "--sweep", self.sweep, "--out", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(content(out), content(self.whole))
            self.assertEqual(" of them on other ranks" in done.stderr, ranks > 1)
            self.assertEqual(done.stdout.count("index.html") + done.stderr.count("index.html"), 1)

    def test_a_rank_that_is_killed_loses_nothing(self):
        for victim in (0, 1):
            out = os.path.join(self.folder, f"killed-{victim}")
            process = subprocess.Popen(["mpirun", "-n", "2", ASSAY, "explore", "--sweep", self.sweep, "--out", out],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
            ranks = ranks_of(process.pid, 2)
            while not os.path.exists(os.path.join(out, "sweep.sqlite")):
                time.sleep(0.01)
            os.kill(ranks[victim], signal.SIGKILL)
            self.assertNotEqual(process.wait(timeout=60), 0)
            done = self.run_on(2, "--sweep", self.sweep, "--out", out, "--resume")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(content(out), content(self.whole))

    def test_more_ranks_than_cells(self):
        sweep = self.file("one.toml", 'name = "one"\n[[grid]]\nmeasure = "scan"\nimplementation = "cumsum"\n'
                          'arithmetic = "f32"\nfamily = "gates"\nsize = 16\n')
        out = os.path.join(self.folder, "one")
        done = self.run_on(4, "--sweep", sweep, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(content(out)[1]), 1)

    def test_what_is_refused_is_told_once(self):
        before = content(self.whole)
        for arguments, words in ((("--sweep", self.sweep), "--resume goes on"),
                                 (("--sweep", "growth", "--resume"), "holds the sweep 'ranks'")):
            done = self.run_on(3, *arguments, "--out", self.whole)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count(words), 1, done.stderr)
        self.assertEqual(content(self.whole), before)

    def test_ranks_that_cannot_talk_are_told(self):
        """One program is started by a launcher that this MPI does not know; the other one was built without MPI."""
        alone = os.path.join(self.folder, "bin", "assay")
        os.mkdir(os.path.dirname(alone))
        shutil.copy(ASSAY, alone)
        for program, words in ((ASSAY, "knows of 1"), (alone, "built without MPI")):
            out = os.path.join(self.folder, "alone")
            call = [program, "explore", "--sweep", self.sweep, "--out", out]
            done = subprocess.run(call, capture_output=True, text=True, env={**ENVIRONMENT, "PMI_SIZE": "2"})
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    unittest.main()
