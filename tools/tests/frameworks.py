"""What tests of formulas in torch and JAX share."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.normpath(os.path.join(HERE, "..", "adapters", "python"))
sys.path.insert(0, PACKAGE)


def needs(module, method):
    """Ends the test with 77 where Python has no such module; `method` says how to install it."""
    if subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False).returncode != 0:
        print(f"skipped: {sys.executable} has no {module} ({method})")
        sys.exit(77)


def run(command, folder):
    """A command in a folder, whose files import assay, by this interpreter."""
    environment = {**os.environ, "ASSAY_PYTHON": sys.executable, "PYTHONPATH": PACKAGE}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def run_assay(folder, text, *arguments):
    """The program in a folder with the module `reference`, which has this text."""
    with open(os.path.join(folder, "reference.py"), "w", encoding="utf-8") as file:
        file.write(text)
    return run([os.environ["ASSAY"], *arguments], folder)


def check_gates(test, text, formula, right, wrong, properties="value,vjp"):
    """Gates of functions of one module against a formula of the same module, in f32. `right` must pass and `wrong`
    fail."""
    with tempfile.TemporaryDirectory() as folder:
        for code, candidates in ((0, right), (1, wrong)):
            for candidate in candidates:
                with test.subTest(candidate):
                    done = run_assay(folder, text, "gate", "--formula", f"python:reference:{formula}", "--candidate",
                                     f"python:reference:{candidate}", "--dtype", "f32", "--property", properties, "--family", "mild")
                    test.assertEqual(done.returncode, code, done.stdout + done.stderr)
