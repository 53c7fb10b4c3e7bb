#!/usr/bin/env python3
"""tools/new_encoding, rehearsed in a copy of the sources: what it writes, that it compiles, what it refuses.

Run by CTest with BUILD set to the build folder. Building and gating a new encoding: tools/new_encoding --rehearse.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import skeletons
from skeletons import KINDS, SOURCE, read, run_tool, state_of, without_precompiled_header

NAME = "dummy"


def encodings_named_in(paths):
    """The encodings whose files the sources include, or whose operations they name."""
    named = set()
    for path in paths:
        code = re.sub(r"//.*", "", read(path))
        named.update(re.findall(r'"(?:reference|properties)/encodings/(\w+)[/.]', code))
        named.update(re.findall(r'"(\w+)/\w+(?::vjp|:jvp)?"', code))
    return named


class NewEncoding(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.root = skeletons.copy_of_sources(folder.name)
        cls.before = state_of(cls.root)
        cls.listed = run_tool(cls.root, "--list", NAME)
        cls.after_listing = state_of(cls.root)
        cls.done = run_tool(cls.root, NAME)
        cls.after = state_of(cls.root)
        cls.compiler = skeletons.Compiler(cls.root)

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
        self.assertTrue(all(NAME in name for name in files))

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

    def test_the_formula_compiles(self):
        self.assertEqual(self.compiler.errors_of_formula(NAME), "")

    def test_all_other_code_compiles(self):
        self.assertEqual(self.compiler.errors_of_checks(NAME), "")

    def test_no_precompiled_header_is_used(self):
        for options in ("-Winvalid-pch -include /b/x.dir/cmake_pch.hxx", "-fpch-preprocess -include /b/x.dir/cmake_pch.hxx",
                        "-Winvalid-pch -Xclang -include-pch -Xclang /b/x.dir/cmake_pch.hxx.pch -Xclang -include "
                        "-Xclang /b/x.dir/cmake_pch.hxx"):
            self.assertEqual(without_precompiled_header(f"c++ -O3 {options} -o x.o"), "c++ -O3 -o x.o")

    def test_a_warning_would_be_seen(self):
        unit = os.path.join(self.folder, "shadow.cpp")
        with open(unit, "w", encoding="utf-8") as file:
            file.write("int f(int x) { { int x = 1; return x; } }\n")
        self.assertIn("shadow", self.compiler.errors_of(unit, "assay_properties"))

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
                            for word in ("family", "core", "name", "scheme", "future_keys"))):
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


class EachKind(unittest.TestCase):
    """The files that tools/new_encoding writes for each kind, into a folder that has only the lists of encodings."""

    @classmethod
    def setUpClass(cls):
        cls.roots, cls.done = {}, {}
        for kind in KINDS:
            folder = tempfile.TemporaryDirectory()
            cls.addClassCleanup(folder.cleanup)
            cls.roots[kind] = skeletons.copy_of_lists(folder.name)
            cls.done[kind] = run_tool(cls.roots[kind], "--kind", kind, NAME)

    def for_each(self, check):
        for kind, root in self.roots.items():
            with self.subTest(kind):
                check(kind, root)

    def test_five_short_files(self):
        def check(kind, root):
            self.assertEqual((self.done[kind].returncode, self.done[kind].stderr), (0, ""))
            files = sorted(state_of(root).keys() - {"CMakeLists.txt"})
            self.assertEqual(sorted(line.split()[0] for line in self.done[kind].stdout.splitlines()[:5]), files)
            for name in files:
                self.assertNotRegex(read(root, name), "skeleton|(?m:^@)|TODO")
                self.assertLess(read(root, name).count("\n"), 120, name)
        self.for_each(check)

    def test_no_part_of_a_skeleton_is_left_over(self):
        folder = os.path.join(SOURCE, "tools", "skeleton")
        templates = [name for name in os.listdir(folder) if not name.endswith(".txt")]
        wanted = sorted(part for name in templates for part in re.findall(r"(?m)^@(.+)@$", read(folder, name)))
        self.assertEqual(sorted(os.listdir(folder)), sorted(templates + [kind + ".txt" for kind in KINDS]))
        for kind in KINDS:
            self.assertEqual(sorted(re.findall("(?m)^@@ (.+)$", read(folder, kind + ".txt"))), wanted, kind)

    def test_two_lists_of_cmake_have_the_name(self):
        def check(kind, root):
            old, new = (read(folder, "CMakeLists.txt").splitlines() for folder in (SOURCE, root))
            self.assertEqual(len(old), len(new))
            changed = [(x, y) for x, y in zip(old, new) if x != y]
            self.assertEqual([y for _, y in changed], [x.replace(")", f" {NAME})") for x, _ in changed])
            self.assertEqual([x.split()[0] for x, _ in changed], ["set(ASSAY_ENCODINGS", "set(ASSAY_KIND_" + KINDS[kind]])
        self.for_each(check)

    def test_the_recipe_has_the_members_of_a_recipe(self):
        def check(kind, root):
            recipe = json.loads(read(root, f"golden/recipes/{NAME}.json"))
            other = json.loads(read(SOURCE, "golden", "recipes", "heinsen.json"))
            self.assertEqual(recipe.keys(), other.keys())
            self.assertEqual((recipe["schema"], recipe["encoding"]), (other["schema"], NAME))
            for entry in recipe["entries"]:
                self.assertLessEqual({"family", "axes", "seed"}, entry.keys())
            hard = [entry for entry in recipe["entries"] if "operation" in entry]
            self.assertTrue(all(entry["operation"].startswith(NAME + "/") for entry in hard))
            self.assertEqual(len(hard), len(recipe["entries"]) - 1)
            # Ids of families begin with the name of an operation.
            self.assertTrue(all(entry["id"].startswith("hard-") for entry in hard))
            self.assertNotIn("hard", self.operations_of(root))
        self.for_each(check)

    def operations_of(self, root):
        return re.findall(rf'"{NAME}/(\w+)"', read(root, f"reference/encodings/{NAME}.hpp"))

    def test_the_second_oracle_has_each_operation(self):
        def check(kind, root):
            written = re.findall(r"^def (\w+)[(]call[)]:", read(root, f"golden/second_oracle/{NAME}.py"), re.MULTILINE)
            self.assertEqual(written, self.operations_of(root))
        self.for_each(check)

    def test_a_kind_that_there_is_not(self):
        done = run_tool(self.roots["bias"], "--kind", "other", "another")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("invalid choice: 'other'", done.stderr)


if __name__ == "__main__":
    unittest.main()
