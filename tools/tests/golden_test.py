#!/usr/bin/env python3
"""The golden sets as users meet them: schemas, the printed assertion, the commands, and what a killed run leaves.

Run by CTest with ASSAY set to the program.
"""
import filecmp
import glob
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema
import numpy

ASSAY = os.environ["ASSAY"]
HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "..", "golden")
SETS = os.path.join(GOLDEN, "sets")

import skeletons

sys.path.insert(0, os.path.join(HERE, "..", "adapters", "python"))
from assay.tensors import bf16_to_f32, read_safetensors, write_safetensors  # noqa: E402


def run(*arguments, **environment):
    return subprocess.run([ASSAY, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, **environment})


def metadata_of(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length))["__metadata__"]


def validator_of(name):
    with open(os.path.join(GOLDEN, "schema", name + ".schema.json")) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def load(path):
    with open(path) as file:
        return json.load(file)


class Schemas(unittest.TestCase):
    def refuses(self, validator, whole, *changes):
        for change in changes:
            spoiled = json.loads(json.dumps(whole))
            change(spoiled)
            self.assertFalse(validator.is_valid(spoiled))

    def test_recipes(self):
        validator = validator_of("recipe")
        with tempfile.TemporaryDirectory() as folder:
            skeletons.copy_of_lists(folder)
            begun = [(kind, skeletons.run_tool(folder, "--kind", kind, "begun_" + kind)) for kind in skeletons.KINDS]
            self.assertEqual([(kind, done.stderr) for kind, done in begun if done.returncode != 0], [])
            family_recipe = load(os.path.join(folder, "golden", "recipes", "begun_bias.json"))
            for path in sorted(glob.glob(os.path.join(GOLDEN, "recipes", "**", "*.json"), recursive=True) +
                               glob.glob(os.path.join(folder, "golden", "recipes", "*.json"))):
                self.assertEqual([e.message[:200] for e in validator.iter_errors(load(path))], [], path)
        self.refuses(validator, load(os.path.join(GOLDEN, "recipes", "t5_bias.json")), lambda r: r.update(more=1),
                     lambda r: r.pop("default"), lambda r: r["entries"][0].update(seed=-1),
                     lambda r: r["entries"][0]["inputs"].update(distance={"constant": 1, "uniform": [0, 1]}),
                     lambda r: r["entries"][0].pop("id"))
        self.refuses(validator, family_recipe, lambda r: r["entries"][0].update(family=[]),
                     lambda r: r["entries"][0].pop("family"), lambda r: r["entries"][0].pop("seed"))

    def test_manifests_and_index(self):
        validator = validator_of("manifest")
        for path in sorted(glob.glob(os.path.join(SETS, "*", "manifest.json"))):
            self.assertEqual([e.message[:200] for e in validator.iter_errors(load(path))], [], path)
        self.refuses(validator, load(os.path.join(SETS, "t5_bias", "manifest.json")), lambda m: m.update(more=1),
                     lambda m: m["files"][0].pop("sha256"), lambda m: m["files"][0].update(flags=["odd"]))
        index = load(os.path.join(SETS, "index.json"))
        validator = validator_of("index")
        self.assertEqual([e.message[:200] for e in validator.iter_errors(index)], [])
        self.refuses(validator, index, lambda i: i["files"][0].update(more=1), lambda i: i["sets"][0].pop("version"))

    def test_metadata(self):
        validator = validator_of("file")
        for path in sorted(glob.glob(os.path.join(SETS, "*", "*.safetensors")))[::20]:
            about = metadata_of(path)
            self.assertEqual([e.message[:200] for e in validator.iter_errors(about)], [], path)
            names = set(read_safetensors(path))
            self.assertEqual(set(json.loads(about["roles"])), names, path)
            self.assertTrue(set(json.loads(about["settings"])) or about["settings"] == "{}")
        self.refuses(validator, about, lambda m: m.update(more="1"), lambda m: m.pop("reason"),
                     lambda m: m.update(flags="odd"), lambda m: m.update(flags="nan  tie"),
                     lambda m: m.update(seed="-1"))


class Flags(unittest.TestCase):
    def test_schemas_and_readme_have_those_that_the_program_knows(self):
        refused = run("golden", "find", SETS, "--flag", "odd").stderr
        known = refused.split("there are ")[1].strip().split(", ")
        for name in ("manifest", "index"):
            schema = load(os.path.join(GOLDEN, "schema", name + ".schema.json"))
            self.assertEqual(schema["properties"]["files"]["items"]["properties"]["flags"]["items"]["enum"], known)
        with open(os.path.join(GOLDEN, "schema", "file.schema.json")) as file:
            self.assertIn("((" + "|".join(known) + ")", file.read())
        with open(os.path.join(GOLDEN, "README.md")) as file:
            table = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", file.read().split("| flag |")[1].split("\n\n")[0], re.MULTILINE)
        self.assertEqual(sorted(re.findall(r"\w+", " ".join(table))), known)


def printed_assertion():
    """The function of golden/README.md, as printed."""
    with open(os.path.join(GOLDEN, "README.md")) as file:
        block = re.search(r"```python\n(import numpy\n.*?)```", file.read(), re.DOTALL).group(1)
    names = {}
    exec(block, names)  # noqa: S102
    return names["right"]


class PrintedAssertion(unittest.TestCase):
    def right(self, x, y, allowed, emax=127):
        t = {"s": numpy.array([y]), "s:bug": numpy.array([allowed])}
        return bool(printed_assertion()(numpy.array([x]), t, "s", emax=emax)[0])

    def test_it_says_what_the_program_says(self):
        inf, nan = numpy.inf, numpy.nan
        # The table of golden/compare/numbers_and_special_values.
        for x, y, allowed, emax, wanted in (
                (1.5, 1.0, 0.5, 127, True), (1.75, 1.0, 0.5, 127, False), (-0.0, 0.0, 0, 127, True),
                (-inf, -inf, 0, 127, True), (inf, -inf, 0, 127, False), (-inf, -1e38, 1e30, 127, False),
                (nan, 1, inf, 127, False), (1, nan, 0, 127, False), (nan, nan, 0, 127, True), (1e20, 1, inf, 127, True),
                (inf, 1, inf, 127, False), (65504, inf, inf, 15, True), (inf, 65504, inf, 15, True),
                (-inf, 65504, inf, 15, False), (3, inf, inf, 15, False), (65504, inf, 0, 15, False)):
            self.assertEqual(self.right(x, y, allowed, emax), wanted, (x, y, allowed))

    def test_a_step_loop_and_one_without_log1p(self):
        right = printed_assertion()
        verdicts = {}
        for path in sorted(glob.glob(os.path.join(SETS, "heinsen", "scan-*.f32.safetensors"))):
            about = metadata_of(path)
            if about["operation"] != "heinsen/scan" or {"has_plus_inf", "empty"} & set(about["flags"].split()):
                continue
            t = {name: array for name, (_, array) in read_safetensors(path).items()}

            def loop(join):
                state, states = t["s0"], []
                with numpy.errstate(all="ignore"):
                    for i in range(t["h"].shape[1]):
                        state = join(t["log_p"][:, i] + state, t["h"][:, i])
                        states.append(state)
                return numpy.stack(states, axis=1).astype(numpy.float32)

            def without_log1p(a, b):
                m = numpy.maximum(a, b)
                d = numpy.where(a == b, numpy.float32(0), -abs(a - b))
                return m + numpy.log(numpy.float32(1) + numpy.exp(d))

            for name, join in (("logaddexp", numpy.logaddexp), ("log(1 + x)", without_log1p),
                               ("maximum", numpy.maximum)):
                x = loop(join)
                for which in ("bug", "class"):
                    if not right(x, t, "s", which).all():
                        verdicts.setdefault((name, which), []).append(about["entry"])
        self.assertNotIn(("logaddexp", "bug"), verdicts)
        self.assertNotIn(("logaddexp", "class"), verdicts)
        self.assertNotIn(("log(1 + x)", "bug"), verdicts)
        self.assertIn("scan-increments-below-rounding", verdicts["log(1 + x)", "class"])
        self.assertGreater(len(verdicts["maximum", "bug"]), 50)

    def test_bf16_computed_in_f32(self):
        right = printed_assertion()
        t = {name: bf16_to_f32(array) if stored == "BF16" else array for name, (stored, array)
             in read_safetensors(os.path.join(SETS, "heinsen", "scan-mild.bf16.safetensors")).items()}
        state, states = t["s0"], []
        for i in range(t["h"].shape[1]):
            state = numpy.logaddexp(t["log_p"][:, i] + state, t["h"][:, i])
            states.append(state)
        exact = numpy.stack(states, axis=1)
        self.assertTrue(right(exact, t, "s", "bug.f32").all())
        off = t["s"] * numpy.float32(1 + 2 ** -7)  # one unit in the last place of bf16
        self.assertTrue(right(off, t, "s", "bug").all())
        self.assertFalse(right(off, t, "s", "bug.f32").all())


class Golden(unittest.TestCase):
    """assay golden on a set of two files."""

    RECIPE = {"schema": "assay-golden-recipe/1", "encoding": "heinsen", "default": {"normal": {"scale": 1, "shift": 0}},
              "entries": [{"id": "mild", "reason": "a test", "operation": "heinsen/scan", "dtypes": ["f64", "f32"],
                           "axes": {"B": 1, "n": 4, "d": 1}, "seed": 7,
                           "inputs": {"log_p": {"uniform": [-2, 0]}, "s0": {"constant": "-inf"}}}]}

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.recipe, self.set = self.path("recipe.json"), self.path("set")

    def tearDown(self):
        self.folder.cleanup()

    def path(self, *parts):
        return os.path.join(self.folder.name, *parts)

    def make(self, recipe=RECIPE, out=None):
        with open(self.recipe, "w") as file:
            json.dump(recipe, file)
        return run("golden", "make", "--recipe", self.recipe, "--out", out or self.set)

    def refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def stored(self, name):
        return read_safetensors(os.path.join(self.set, name))

    def test_make_check_show(self):
        done = self.make()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 files", done.stdout)
        self.assertEqual(sorted(os.listdir(self.set)), ["manifest.json", "mild.f32.safetensors", "mild.f64.safetensors"])
        with open(os.path.join(self.set, "manifest.json")) as file:
            manifest = json.load(file)
        self.assertEqual(manifest["schema"], "assay-golden/2")
        proof = {"rounding": "to nearest, ties to even", "method": "enclosure"}
        self.assertEqual(manifest["files"][0]["proof"], {"s": proof, "s_n": proof})
        done = run("golden", "check", self.set)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 files", done.stdout)
        done = run("golden", "show", self.set)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a test", done.stdout)

    def test_the_same_recipe_gives_the_same_bytes(self):
        again = self.path("again")
        self.make()
        self.make(out=again)
        for name in os.listdir(self.set):
            with open(os.path.join(self.set, name), "rb") as one, open(os.path.join(again, name), "rb") as other:
                self.assertEqual(one.read(), other.read(), name)

    def test_the_processor_makes_no_difference(self):
        # Without fused multiply-add the C library's exp and log1p differ in last bits; allowances and mutants are
        # computed with them.
        done = run("golden", "make", "--recipe", os.path.join(GOLDEN, "recipes", "heinsen.json"), "--out", self.set,
                   GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX")
        self.assertEqual(done.returncode, 0, done.stderr)
        committed = os.path.join(SETS, "heinsen")
        self.assertEqual(sorted(os.listdir(self.set)), sorted(os.listdir(committed)))
        self.assertEqual(filecmp.cmpfiles(self.set, committed, os.listdir(committed), shallow=False)[1:], ([], []))

    def test_against(self):
        self.make()
        user = self.path("user")
        os.mkdir(user)
        for name in ("mild.f32.safetensors", "mild.f64.safetensors"):
            whole = self.stored(name)
            write_safetensors(os.path.join(user, name), {key: whole[key] for key in ("s", "s_n")})
        done = run("golden", "check", self.set, "--against", user)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2 of 2 files right", done.stdout)
        self.assertIn("- correct; errors do not grow with the length: class uniform (heinsen/scan in f32: 1 files)", done.stdout)

        whole = self.stored("mild.f32.safetensors")
        whole["s"][1][0, 2, 0] += 1e-3
        write_safetensors(os.path.join(user, "mild.f32.safetensors"), whole)
        done = run("golden", "check", self.set, "--against", user, "--page", self.path("page.html"))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        with open(self.path("page.html")) as file:
            page = file.read()
        for words in ("<title>Assay: user, failed</title>", "<li>a bug in 1 (heinsen/scan in f32: 1 files)</li>",
                      "s[0, 2, 0]: expected", "File: mild</p>", f"assay golden check {self.set} --against {user}"):
            self.assertIn(words, page)
        self.assertNotIn("--arithmetic", page)
        run("golden", "check", self.set, "--against", user, "--arithmetic", "storage", "--page", self.path("page.html"))
        with open(self.path("page.html")) as file:
            self.assertIn(f"assay golden check {self.set} --against {user} --arithmetic storage", file.read())
        self.refused(run("golden", "check", self.set, "--page", self.path("page.html")), "--against")
        self.assertRegex(done.stdout, r"mild.f32.safetensors: a bug: s\[0, 2, 0\]: expected .*, allowed ")
        self.assertIn("1 of 2 files right, 1 with a bug, 0 missing", done.stdout)

        os.remove(os.path.join(user, "mild.f32.safetensors"))
        done = run("golden", "check", self.set, "--against", user)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("missing", done.stdout)

        with open(os.path.join(user, "mild.f32.safetensors"), "w") as file:
            file.write("no tensors")
        self.refused(run("golden", "check", self.set, "--against", user), "mild.f32.safetensors")
        self.refused(run("golden", "check", self.set, "--against", self.path("none")), self.path("none"))

    def test_a_set_that_says_something_wrong(self):
        self.make()
        path = os.path.join(self.set, "mild.f64.safetensors")
        with open(path, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)[0]
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last ^ 1]))
        done = run("golden", "check", self.set)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("SHA-256", done.stderr)
        self.assertIn("elements are wrong", done.stderr)
        self.assertEqual(run("golden", "check", self.set, "--against", self.set).returncode, 1)

    def test_what_is_no_set(self):
        self.refused(run("golden", "check", self.path("none")), "none")
        self.refused(run("golden", "show", self.folder.name), "manifest.json")
        self.make()
        os.rename(os.path.join(self.set, "mild.f64.safetensors"), os.path.join(self.set, "other.safetensors"))
        self.refused(run("golden", "check", self.set), "mild.f64.safetensors", "other.safetensors: is not in the manifest")
        os.symlink("other.safetensors", os.path.join(self.set, "mild.f64.safetensors"))
        self.refused(run("golden", "check", self.set), "not a symbolic link")
        os.remove(os.path.join(self.set, "manifest.json"))
        os.mkfifo(os.path.join(self.set, "manifest.json"))
        self.refused(run("golden", "check", self.set), "manifest.json", "regular file")

    def test_make_refuses(self):
        self.refused(run("golden"))
        self.refused(run("golden", "make", "--recipe", self.path("none.json"), "--out", self.set), "none.json")
        self.refused(self.make(out=self.path("no", "folder")), "cannot be created")
        self.refused(self.make(out=self.folder.name), "exists already")
        self.assertEqual(self.make().returncode, 0)
        self.refused(self.make(), "exists already")
        wrong = json.loads(json.dumps(self.RECIPE))
        wrong["entries"][0]["inputs"]["log_p"] = {"constant": 1}
        self.refused(self.make(wrong, self.path("wrong")), "mild", "'log_p' at index [0, 0, 0]")
        wrong["entries"][0]["operation"] = "heinsen/none"
        self.refused(self.make(wrong, self.path("wrong")), "recipe.json", "mild", "heinsen/none")
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["recipe.json", "set"])

    def test_what_check_finds(self):
        self.make()
        path = os.path.join(self.set, "mild.f64.safetensors")
        self.assertEqual(run("golden", "check", path).returncode, 0)
        with open(path, "rb") as file:
            whole = file.read()
        spoiled = os.path.join(self.folder.name, "mild.f64.safetensors")

        def check(data):
            with open(spoiled, "wb") as file:
                file.write(data)
            return run("golden", "check", spoiled)

        done = check(whole[:-8] + bytes([whole[-8] ^ 1]) + whole[-7:])
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"mild.f64.safetensors: \w+(:\w+)?\[.*\] is .* but .* is proved \(1 of ")
        self.refused(check(whole[:-1]), "mild.f64.safetensors", "byte")
        self.refused(check(whole.replace(b'"seed":"7"', b'"seed":"x"')), "'seed' must be an integer")
        reveals = metadata_of(path)["reveals"].encode()
        self.assertIn(b"mutant/swapped_combine", reveals)
        less = reveals.replace(b" mutant/swapped_combine", b" " * 0).ljust(len(reveals) - 23)
        length = struct.unpack("<Q", whole[:8])[0]
        header = whole[8:8 + length].replace(reveals, less.strip()).ljust(length)
        done = check(whole[:8] + header + whole[8 + length:])
        self.assertEqual(done.returncode, 1)
        self.assertIn("metadata 'reveals' is", done.stderr)
        # A manifest with a wrong proof, and another recipe.
        manifest = os.path.join(self.set, "manifest.json")
        with open(manifest) as file:
            text = file.read()
        with open(manifest, "w") as file:
            file.write(text.replace("enclosure", "promise", 1))
        self.refused(run("golden", "check", self.set), "proof must be")
        with open(manifest, "w") as file:
            file.write(text)
        self.assertEqual(run("golden", "check", self.set, "--recipe", self.recipe).returncode, 0)
        with open(self.recipe, "w") as file:
            json.dump({**self.RECIPE, "version": 2}, file)
        done = run("golden", "check", self.set, "--recipe", self.recipe)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the recipe of version 2", done.stderr)

    def test_show_find_export_kills(self):
        self.make()
        path = os.path.join(self.set, "mild.f32.safetensors")
        done = run("golden", "show", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("reason         a test", "s:bug", "0x1."):
            self.assertIn(words, done.stdout)
        found = run("golden", "find", self.set, "--operation", "heinsen/scan", "--dtype", "f32", "--flag", "has_minus_inf")
        self.assertEqual(found.stdout.split(), [path])
        self.assertEqual(run("golden", "find", self.set, "--flag", "nan").returncode, 1)
        self.refused(run("golden", "find", self.set, "--flag", "odd"), "unknown flag 'odd'")
        out = self.path("out")
        self.assertEqual(run("golden", "export", self.set, "--format", "npy", "--out", out).returncode, 0)
        self.assertEqual(run("golden", "export", path, "--format", "json", "--out", out).returncode, 0)
        tensors = self.stored("mild.f32.safetensors")
        exported = load(os.path.join(out, "heinsen.mild.f32.json"))
        self.assertEqual(exported["metadata"], metadata_of(path))
        for name, (_, array) in tensors.items():
            copy = numpy.load(os.path.join(out, f"heinsen.mild.f32.{name.replace(':', '-')}.npy"))
            self.assertEqual((copy.dtype, copy.tobytes()), (array.dtype, array.tobytes()), name)
            numbers = [float.fromhex(x) for x in exported["tensors"][name]["values"]]
            self.assertEqual(numpy.array(numbers, array.dtype).tobytes(), array.tobytes(), name)
        done = run("golden", "kills", self.set, "--mutant", "mutant/swapped_combine")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"mutant/swapped_combine +2 of +2 +heinsen/mild.f64")
        self.refused(run("golden", "kills", self.set, "--mutant", "mutant/odd"), "unknown mutant")


class Killed(unittest.TestCase):
    """kill -9 of `assay golden make` at any moment: what is there under its name is whole, and the next run ends it."""

    def test_the_same_bytes(self):
        recipe, committed = os.path.join(GOLDEN, "recipes", "fox.json"), os.path.join(SETS, "fox")
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "fox")
            for delay in (0.02, 0.05, 0.1, 0.2, 0.4):
                make = subprocess.Popen([ASSAY, "golden", "make", "--recipe", recipe, "--out", made],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(delay)
                make.send_signal(signal.SIGKILL)
                make.wait()
                if os.path.exists(made):
                    break
                for path in glob.glob(os.path.join(made + ".partial", "*.safetensors")):
                    self.assertTrue(filecmp.cmp(path, os.path.join(committed, os.path.basename(path)), False), path)
            if not os.path.exists(made):
                done = run("golden", "make", "--recipe", recipe, "--out", made)
                self.assertEqual(done.returncode, 0, done.stderr)
            names = sorted(os.listdir(committed))
            self.assertEqual(sorted(os.listdir(made)), names)
            self.assertEqual(filecmp.cmpfiles(made, committed, names, shallow=False)[1:], ([], []))
            self.assertEqual(os.listdir(folder), ["fox"])


class OneCore(unittest.TestCase):
    def test_the_same_bytes(self):
        core = min(os.sched_getaffinity(0))
        with tempfile.TemporaryDirectory() as folder:
            made, committed = os.path.join(folder, "t5_bias"), os.path.join(SETS, "t5_bias")
            recipe = os.path.join(GOLDEN, "recipes", "t5_bias.json")
            subprocess.run([ASSAY, "golden", "make", "--recipe", recipe, "--out", made], check=True, capture_output=True,
                           preexec_fn=lambda: os.sched_setaffinity(0, [core]))
            names = sorted(os.listdir(committed))
            self.assertEqual(sorted(os.listdir(made)), names)
            self.assertEqual(filecmp.cmpfiles(made, committed, names, shallow=False)[1:], ([], []))


class Collection(unittest.TestCase):
    """A folder of sets and its index."""

    def test_make_check_and_what_was_edited(self):
        with tempfile.TemporaryDirectory() as folder:
            recipes, sets = os.path.join(folder, "recipes"), os.path.join(folder, "sets")
            os.mkdir(recipes)
            for name in ("t5_bias", "rope"):
                shutil.copy(os.path.join(GOLDEN, "recipes", name + ".json"), recipes)
            done = run("golden", "make", "--recipe", recipes, "--out", sets)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(os.listdir(sets)), ["index.json", "rope", "t5_bias"])
            done = run("golden", "check", sets, "--recipe", recipes)
            self.assertEqual(done.returncode, 0, done.stderr)
            index = os.path.join(sets, "index.json")
            with open(index) as file:
                text = file.read()
            with open(index, "w") as file:
                file.write(text.replace('"flags":[]', '"flags":["tie"]', 1))
            done = run("golden", "check", sets)
            self.assertEqual(done.returncode, 1)
            self.assertIn("index.json: is not the index of these sets", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
