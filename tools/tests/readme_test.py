#!/usr/bin/env python3
"""The documents against the program and the sources: generated tables, links, command lines, names of tests, the tour.

Run by CTest with ASSAY set to the program. `ASSAY=build/release/assay tools/tests/readme_test.py --update` writes the
generated tables again.
"""
import fnmatch
import functools
import glob
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ASSAY = os.path.abspath(os.environ["ASSAY"])
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
FOLDERS = ("reference", "optimized", "properties", "golden", "tools")
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(f"{folder}/README.md" for folder in FOLDERS),
             "reference/OPERATIONS.md", "reference/ENCODINGS.md", "properties/MEASURED.md", "optimized/MEASURED.md",
             "tools/FINDINGS.md", "tools/FIND.md"]
GENERATED = re.compile(r"(<!-- generated: assay (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
PROGRAM = re.compile(r"(?:^|[\s'`])(?<!from )(?:build/\w+/)?assay (?=[a-z-])")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


@functools.lru_cache(maxsize=None)
def output(*arguments):
    return subprocess.run([ASSAY, *arguments], check=True, stdout=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL).stdout


def with_generated(text):
    """The document with its tables as the program prints them now."""
    def again(found):
        table = output(*shlex.split(found.group(2)))
        return found.group(1) + table + ("" if table.endswith("\n") else "\n") + found.group(4)
    return GENERATED.sub(again, text)


def code_of(text):
    """What a document shows as code, without the wraps of its lines."""
    fenced = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = re.findall(r"^    (.+)$", rest, re.MULTILINE) + [line for block in fenced for line in block.splitlines()]
    spans = re.findall(r"`([^`]+)`", re.sub(r"^    .+$", "", rest, flags=re.MULTILINE))
    return lines + [" ".join(span.split()) for span in spans]


def command_lines(text):
    """The words behind `assay` of each command line that a document shows."""
    for code in code_of(text):
        found = PROGRAM.search(code)
        if not found:
            continue
        command = re.split(r"\s#\s|  # |\*/|;|\s\|\|", code[found.end():])[0]
        yield shlex.split(command.split("`")[0])


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]*|(?<![\w-])-[a-z]\b", text))


def commands_in(text):
    return re.findall(r"^  ([\w-]+) ", text.partition("\nSubcommands:\n")[2].split("\n\n")[0], re.MULTILINE)


def anchors_of(text):
    """The anchors of the headings of a text, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@functools.lru_cache(maxsize=None)
def catch_names():
    """Names and tags of all tests in Catch2."""
    names, tags = set(), set()
    for path in glob.glob(os.path.join(ROOT, "**", "*.cpp"), recursive=True):
        relative = os.path.relpath(path, ROOT)
        if relative.startswith(FOLDERS) and "TEST_CASE" in (text := read(relative)):
            for name, tag_text in re.findall(r'TEST_CASE\(\s*"([^"]+)"(?:,\s*"([^"]*)")?', text):
                names.add(name)
                tags.update(re.findall(r"\[\.?([^\]]+)\]", tag_text))
    return names, tags


class Documents(unittest.TestCase):
    def test_generated_tables_are_what_the_program_prints(self):
        found = 0
        for path in DOCUMENTS:
            with self.subTest(path):
                text = read(path)
                found += len(GENERATED.findall(text))
                self.assertEqual(text, with_generated(text), f"run: ASSAY={os.environ['ASSAY']} {sys.argv[0]} --update")
        self.assertGreater(found, 0)

    def test_relative_links_lead_somewhere(self):
        for path in DOCUMENTS:
            for target in re.findall(r"\]\(([^)\s]+)\)", read(path)):
                if "://" in target:
                    continue
                with self.subTest(path + " -> " + target):
                    file, _, anchor = target.partition("#")
                    there = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
                    self.assertTrue(os.path.exists(os.path.join(ROOT, there)))
                    if anchor:
                        self.assertIn(anchor, anchors_of(read(there)))

    def test_command_lines_have_options_and_names_that_there_are(self):
        operations = {d["name"] for d in json.loads(output("list", "operations", "--json"))}
        builtins = {"builtin:" + line.split()[0] for line in output("list", "builtins").splitlines()}
        seen = 0
        for path in DOCUMENTS:
            for words in command_lines(read(path)):
                with self.subTest(path + ": assay " + " ".join(words)):
                    seen += 1
                    self.check_options(words)
                    for option, value in zip(words, words[1:]):
                        if option == "--operation":
                            self.assertIn(value, operations)
                        if option == "--candidate" and value.startswith("builtin:") and "NAME" not in value:
                            self.assertTrue(value in builtins, "no such builtin: " + value)
        self.assertGreater(seen, 20)

    def check_options(self, words):
        """Each option must be one of the program's, or of the commands before it."""
        known, commands, named = options_in(output("--help")), commands_in(output("--help")), []
        for word in words:
            if word in commands:
                named.append(word)
                known, commands = known | options_in(output(*named, "--help")), commands_in(output(*named, "--help"))
            elif word.startswith("--"):
                self.assertTrue(word.split("=")[0] in known, "no such option: " + word)
        self.assertTrue(named or {"--help", "COMMAND"} & set(words), "no such command")

    def test_the_names_of_tests_are_those_of_tests(self):
        names, tags = catch_names()
        seen = 0
        for path in DOCUMENTS:
            for pattern in re.findall(r'properties_test "([^"]+)"', read(path)):
                seen += 1
                with self.subTest(path + ": " + pattern):
                    tag = re.fullmatch(r"\[(\w+)\]", pattern)
                    if "NAME" not in pattern:
                        self.assertTrue(tag.group(1) in tags if tag else fnmatch.filter(names, pattern))
        self.assertGreater(seen, 5)


class TopLevel(unittest.TestCase):
    def test_the_readme_is_short(self):
        self.assertLess(len(read("README.md").splitlines()), 250)

    def test_the_two_commands_stand_at_the_top_and_exist(self):
        top = "\n".join(read("README.md").splitlines()[:20])
        for command in ("tools/quickstart", "tools/test"):
            self.assertRegex(top, rf"(?m)^    {command} ")
            self.assertTrue(os.access(os.path.join(ROOT, command), os.X_OK))

    def test_contributing_lists_the_files_of_an_encoding(self):
        listed = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "new_encoding"), "--list", "dummy"],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
        text = read("CONTRIBUTING.md")
        for line in listed.splitlines():
            path = line.split()[0].replace("dummy", "NAME")
            with self.subTest(path):
                self.assertIn(f"`{path}`", text)

    def test_the_tour_is_what_the_program_says(self):
        text = read("README.md")
        (model,) = re.findall(r"^```python\n# model\.py\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        shown = re.search(r"^    \$ assay (gate .*)\n((?:    .*\n|\n)+?)    \[\.\.\.\]\n    \$ assay replay (\S+) ", text,
                          re.MULTILINE)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "model.py"), "w") as file:
                file.write(model)
            done = subprocess.run([ASSAY, *shlex.split(shown.group(1))], cwd=folder, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, env={"ASSAY_PYTHON": "/usr/bin/python3", **os.environ})
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            for line in filter(None, (line[4:] for line in shown.group(2).splitlines())):
                self.assertIn(line + "\n", done.stdout)
            self.assertTrue(os.path.exists(os.path.join(folder, shown.group(3))), shown.group(3))


    def test_the_known_failures_that_are_shown_can_be_listed(self):
        lines = re.findall(r"^    (\w+ \w+/\S+ b?f\d+ .*# .+)$", read("tools/README.md"), re.MULTILINE)
        self.assertGreaterEqual(len(lines), 3)
        with tempfile.TemporaryDirectory() as folder:
            known = os.path.join(folder, "known.txt")
            with open(known, "w") as file:
                file.write("\n".join(lines) + "\n")
            done = subprocess.run([ASSAY, "gate", "--candidate", "builtin:sequential", "--operation", "heinsen/scan",
                                   "--dtype", "f32", "--property", "value", "--family", "mild", "--known-failures", known],
                                  cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            # Read, and found to be out of date: 2 would say that a line is wrong.
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)


def update():
    for path in DOCUMENTS:
        text = read(path)
        if (again := with_generated(text)) != text:
            with open(os.path.join(ROOT, path), "w", encoding="utf-8") as file:
                file.write(again)
            print(path)


if __name__ == "__main__":
    update() if sys.argv[1:] == ["--update"] else unittest.main()
