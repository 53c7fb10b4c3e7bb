"""What tests of tools/new_encoding share: checkouts to write in, and the compiler as the build calls it."""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
KINDS = {"bias": "pair_bias", "rotation": "rotation", "scores": "relative_scores", "attention": "attention",
         "table": "table", "recurrence": "scan"}  # what --kind takes, and the kind in CMakeLists.txt


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def run_tool(root, *arguments):
    return subprocess.run(["/usr/bin/python3", "-B", os.path.join(SOURCE, "tools", "new_encoding"), "--root", root, *arguments],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)


def copy_of_sources(folder):
    root = os.path.join(folder, "assay")
    ignored = shutil.ignore_patterns("build*", ".git", "sets", "dist", "__pycache__")
    shutil.copytree(SOURCE, root, ignore=ignored)
    return root


def copy_of_lists(folder):
    """A checkout of nothing but the file that has the lists of encodings."""
    shutil.copy(os.path.join(SOURCE, "CMakeLists.txt"), folder)
    return folder


def state_of(root):
    """A hash of each file."""
    state = {}
    for parent, _, names in os.walk(root):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                state[os.path.relpath(path, root)] = hashlib.sha256(file.read()).hexdigest()
    return state


def without_precompiled_header(command):
    """A source must compile without this header, and the header may not be built yet. GCC's and Clang's options, as
    CMake writes them."""
    return re.sub(r" (-Xclang )?-include(-pch)? (-Xclang )?\S*/cmake_pch\S*| -Winvalid-pch\b| -fpch-\S+", "", command)


class Compiler:
    """The compiler of the build in BUILD, for sources of a copy; it writes nothing."""

    def __init__(self, root):
        self.root = root
        commands = [entry["command"] for entry in json.loads(read(os.environ["BUILD"], "compile_commands.json"))]
        self.commands = {re.search(r" -o \S*CMakeFiles/(\w+)[.]dir/", command).group(1): command for command in commands}

    def errors_of(self, path, like):
        """The compiler's errors for `path`, with the flags of the target `like`; warnings are errors. Empty if there
        are none."""
        words = shlex.split(without_precompiled_header(self.commands[like]))
        del words[words.index("-o"):]
        words = [word.replace(SOURCE, self.root) if word == "-I" + SOURCE else word for word in words]
        done = subprocess.run([*words, "-fsyntax-only", "-Werror", path], cwd=os.path.dirname(path), capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr or f"status {done.returncode}"

    def errors_of_formula(self, name):
        unit = os.path.join(os.path.dirname(self.root), f"{name}.cpp")
        with open(unit, "w", encoding="utf-8") as file:
            file.write(read(self.root, "reference", "recorded.cpp.in").replace("@encoding@", name))
        return self.errors_of(unit, "assay_reference")

    def errors_of_checks(self, name):
        own = os.path.join(self.root, "properties", "encodings", name)
        return (self.errors_of(os.path.join(own, "checks.cpp"), "assay_properties") +
                self.errors_of(os.path.join(own, "tests", "formula_test.cpp"), "properties_test"))
