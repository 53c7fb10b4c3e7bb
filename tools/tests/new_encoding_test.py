#!/usr/bin/env python3
"""tools/new_encoding, rehearsed in a copy of the sources: what it writes, that it compiles, what it refuses.

Run by CTest with BUILD set to the build folder. Building and gating a new encoding: tools/new_encoding --rehearse.
"""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
NAME = "dummy"


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def run_tool(root, *arguments):
    return subprocess.run(["/usr/bin/python3", "-B", os.path.join(SOURCE, "tools", "new_encoding"), "--root", root, *arguments],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)


def without_precompiled_header(command):
    """A source must compile without it, and it may not be built yet. Both compilers' options, as CMake writes them."""
    return re.sub(r" (-Xclang )?-include(-pch)? (-Xclang )?\S*/cmake_pch\S*| -Winvalid-pch\b| -fpch-\S+", "", command)


def encodings_named_in(paths):
    """Whose files the sources include, and whose operations they name."""
    named = set()
    for path in paths:
        code = re.sub(r"//.*", "", read(path))
        named.update(re.findall(r'"(?:reference|properties)/encodings/(\w+)[/.]', code))
        named.update(re.findall(r'"(\w+)/\w+(?::vjp|:jvp)?"', code))
    return named


def copy_of_sources(folder):
    root = os.path.join(folder, "assay")
    ignored = shutil.ignore_patterns("build*", ".git", "sets", "dist", "__pycache__")
    shutil.copytree(SOURCE, root, ignore=ignored)
    return root


def state_of(root):
    """A hash of each file."""
    state = {}
    for parent, _, names in os.walk(root):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                state[os.path.relpath(path, root)] = hashlib.sha256(file.read()).hexdigest()
    return state


class NewEncoding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.root = copy_of_sources(folder.name)
        cls.before = state_of(cls.root)
        cls.listed = run_tool(cls.root, "--list", NAME)
        cls.after_listing = state_of(cls.root)
        cls.done = run_tool(cls.root, NAME)
        cls.after = state_of(cls.root)
        commands = [entry["command"] for entry in json.loads(read(os.environ["BUILD"], "compile_commands.json"))]
        cls.commands = {re.search(r" -o \S*CMakeFiles/(\w+)[.]dir/", command).group(1): command for command in commands}

    def path(self, name):
        return os.path.join(self.root, name)

    # What it writes.

    def test_it_writes_what_it_lists_and_nothing_else(self):
        self.assertEqual((self.listed.returncode, self.done.returncode), (0, 0), self.listed.stderr + self.done.stderr)
        self.assertEqual(self.after_listing, self.before)
        files = [line.split()[0] for line in self.listed.stdout.splitlines()]
        self.assertEqual(files.pop(), "CMakeLists.txt")
        self.assertEqual(set(files), self.after.keys() - self.before.keys())
        self.assertEqual({name for name in self.before if self.after.get(name) != self.before[name]}, {"CMakeLists.txt"})
        for name in files:
            self.assertIn(NAME, name)
            self.assertNotIn("skeleton", read(self.path(name)))
            self.assertLess(read(self.path(name)).count("\n"), 120, name)

    def test_two_lists_of_cmake_have_the_name(self):
        old, new = (read(root, "CMakeLists.txt").splitlines() for root in (SOURCE, self.root))
        self.assertEqual(len(old), len(new))
        changed = [(x, y) for x, y in zip(old, new) if x != y]
        self.assertEqual([y for _, y in changed], [x.replace(")", f" {NAME})") for x, _ in changed])
        self.assertEqual([x.split()[0] for x, _ in changed], ["set(ASSAY_ENCODINGS", "set(ASSAY_KIND_pair_bias"])

    def test_what_other_encodings_need_is_declared(self):
        cmake = read(SOURCE, "CMakeLists.txt")
        encodings = re.search(r"^set\(ASSAY_ENCODINGS ([^)]*)\)", cmake, re.MULTILINE).group(1).split()
        declared = {name: set(needs.split()) for name, needs in re.findall(r"^set\(ASSAY_NEEDS_(\w+) ([^)]*)\)", cmake, re.MULTILINE)}
        for name in encodings:
            paths = [os.path.join(SOURCE, folder, "encodings", name + ".hpp") for folder in ("reference", "optimized")]
            for folder in ("optimized", "properties"):
                for parent, _, files in os.walk(os.path.join(SOURCE, folder, "encodings", name)):
                    paths += [os.path.join(parent, file) for file in files]
            paths = [path for path in paths if os.path.exists(path)]  # kernels are optional
            with self.subTest(encoding=name):
                self.assertEqual(encodings_named_in(paths) & set(encodings) - {name}, declared.pop(name, set()))
        self.assertEqual(declared, {})

    def test_each_step_is_named(self):
        steps = ("formula", "declaration", "families", "faults", "by hand", "oracle", "recipe", "golden set", "documents")
        places = [self.done.stdout.find(f"{k}. {step} ") for k, step in enumerate(steps, 1)]
        self.assertNotIn(-1, places)
        self.assertEqual(places, sorted(places))

    # Whether it is fit to be built.

    def compile(self, path, like):
        """`path` with the compiler and the flags of a library or a program; warnings are errors."""
        words = shlex.split(without_precompiled_header(self.commands[like]))
        del words[words.index("-o"):]
        words = [word.replace(SOURCE, self.root) if word == "-I" + SOURCE else word for word in words]
        done = subprocess.run([*words, "-fsyntax-only", "-Werror", path], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_formula_compiles(self):
        unit = os.path.join(self.folder, f"{NAME}.cpp")
        with open(unit, "w", encoding="utf-8") as file:
            file.write(read(self.path("reference/recorded.cpp.in")).replace("@encoding@", NAME))
        self.compile(unit, "assay_reference")

    def test_all_other_code_compiles(self):
        own = self.path(f"properties/encodings/{NAME}")
        self.compile(f"{own}/checks.cpp", "assay_properties")
        self.compile(f"{own}/tests/formula_test.cpp", "properties_test")

    def test_no_precompiled_header_is_used(self):
        for options in ("-Winvalid-pch -include /b/x.dir/cmake_pch.hxx", "-fpch-preprocess -include /b/x.dir/cmake_pch.hxx",
                        "-Winvalid-pch -Xclang -include-pch -Xclang /b/x.dir/cmake_pch.hxx.pch -Xclang -include "
                        "-Xclang /b/x.dir/cmake_pch.hxx"):
            self.assertEqual(without_precompiled_header(f"c++ -O3 {options} -o x.o"), "c++ -O3 -o x.o")

    def test_a_warning_would_be_seen(self):
        unit = os.path.join(self.folder, "shadow.cpp")
        with open(unit, "w", encoding="utf-8") as file:
            file.write("int f(int x) { { int x = 1; return x; } }\n")
        with self.assertRaisesRegex(AssertionError, "shadow"):
            self.compile(unit, "assay_properties")

    def test_the_recipe_has_the_members_of_a_recipe(self):
        recipe = json.loads(read(self.path(f"golden/recipes/{NAME}.json")))
        other = json.loads(read(SOURCE, "golden", "recipes", "heinsen.json"))
        self.assertEqual(recipe.keys(), other.keys())
        self.assertEqual((recipe["schema"], recipe["encoding"]), (other["schema"], NAME))
        for entry in recipe["entries"]:
            self.assertLessEqual({"family", "axes", "seed"}, entry.keys())
        hard = [entry for entry in recipe["entries"] if "operation" in entry]
        self.assertTrue(all(entry["operation"].startswith(NAME + "/") for entry in hard))
        self.assertEqual(len(hard), len(recipe["entries"]) - 1)

    def test_the_second_oracle_has_each_operation(self):
        declared = re.findall(rf'"{NAME}/(\w+)"', read(self.path(f"reference/encodings/{NAME}.hpp")))
        written = re.findall(r"^def (\w+)[(]call[)]:", read(self.path(f"golden/second_oracle/{NAME}.py")), re.MULTILINE)
        self.assertEqual(written, declared)

    # What it refuses.

    def refuse(self, name, why, root=None):
        before = state_of(self.root)
        for options in ((), ("--list",)):
            done = run_tool(root or self.root, name, *options)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertRegex(done.stderr, why)
            self.assertEqual(done.stdout, "")
        self.assertEqual(state_of(self.root), before)

    def test_names_that_are_none(self):
        for name in ("", "Alibi", "2d", "a__b", "_a", "a_", "a-b", "a/b", "..", "ä", "a" * 33, "a\n"):
            with self.subTest(name=name):
                self.refuse(name, "is no name such as")

    def test_names_that_are_taken(self):
        for name, why in (("heinsen", "there is an encoding"), (NAME, "there is an encoding"), ("int", "in C.."),
                          ("assert", "in C.."), ("all", "is taken"), ("tests", "is taken"),
                          ("alibi_rule", "is a type in reference/encodings: choose another"),
                          ("affine_map", "is a type in reference/algorithms: choose another"),
                          ("rotary_pairs", "is a type in optimized: choose another"),
                          *((word, "in the code of an encoding or a kind: choose another")
                            for word in ("family", "core", "name", "recipe", "future_keys"))):
            with self.subTest(name=name):
                self.refuse(name, why)

    def test_any_other_identifier_is_a_name(self):
        for name in ("rope_2d", "heinsen_b", "t5", "hyperbolic_bias", "position_bias"):
            with self.subTest(name=name):
                done = run_tool(self.root, "--list", name)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_folder_with_other_sources(self):
        folder = self.path("properties/encodings/another_one")
        os.makedirs(os.path.join(folder, "laws"))
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(folder, "laws", "old.cpp"), "x", encoding="utf-8"):
            pass
        self.refuse("another_one", "there is already properties/encodings/another_one$")

    def test_a_file_that_is_there(self):
        path = self.path("golden/second_oracle/another_one.py")
        with open(path, "x", encoding="utf-8") as file:
            file.write("mine\n")
        self.addCleanup(os.remove, path)
        self.refuse("another_one", "there is already golden/second_oracle/another_one.py$")
        self.assertEqual(read(path), "mine\n")

    def test_a_folder_that_is_no_checkout(self):
        self.refuse("other", "no checkout of Assay", root=os.path.join(self.folder, "nowhere"))
        empty = os.path.join(self.folder, "empty")
        os.mkdir(empty)
        for text, missing in (("", "ASSAY_ENCODINGS"), ("set(ASSAY_ENCODINGS fire)\n", "ASSAY_KIND_pair_bias")):
            with open(os.path.join(empty, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                file.write(text)
            self.refuse("other", "has no " + missing, root=empty)


if __name__ == "__main__":
    unittest.main()
