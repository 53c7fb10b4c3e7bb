"""assay.check, for tests of your own:

    def test_my_scan():
        assay.check(my_scan, "heinsen/scan")

raises AssertionError with what is wrong, and where the report is. The function stays in the calling process, so
that closures and functions of the test file work; one that never returns hangs the test, as in any other test.
Needs numpy and the program `assay` (assay/installed.py says where it is looked for).
"""
import json
import os
import re
import select
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile

from assay.claims import WrongClaim
from assay.function import candidate_of
from assay.host import Candidate
from assay.installed import IS_HOST, PACKAGE, declarations, environment, program
from assay.matching import NotAnOperation
from assay.processes import has_ended

_PASSED, _FAILED, _BROKEN = 0, 1, 3
_MOST_SHOWN = 4000  # characters of a program


def check(function, operation=None, dtypes=None, *, formula=None, effort="quick", seed=1, require_class=(),
          require_digits=(), strict=False, report=None, options=(), **about):
    """Gates `function`, which takes the inputs of `operation` by name (or all by position) and returns its outputs
    as a tuple or a dict; without `operation` the names of its parameters say which it is. A function of torch
    tensors is checked together with its derivative by autograd, unless vjp=False.

    `formula` is a plain function of NumPy, torch or JAX that says what is right, in place of an operation (assay/formulas/declaring.py). It
    stands in a file under its name.

    `function` may be an assay.Candidate instead. `require_class` names the accuracy classes that are good enough,
    `require_digits` the digits that must be kept up to a length, such as "6@131072" (or several), `strict` makes an error that roundings hardly make a failure, `report` is the folder of the report (otherwise a temporary one, which is kept where the check fails), `options`
    are further arguments of `assay gate`, and `about` holds declarations as for the decorator assay.candidate: domain,
    compute, vjp and others. They override those of the function. Without `dtypes` it is checked in those that it
    declares, else in the dtypes of a module's parameters, else in f32 and f64.

        >>> from model import rotate
        >>> assay.check(rotate, "rope/rotate", ["f32"], effort="smoke",
        ...             domain={"layout": ["half_split"], "d": {"multiple_of": 2}})
    """
    __tracebackhide__ = True  # pytest shows the caller's line, and what is wrong
    if IS_HOST in os.environ:
        raise RuntimeError("assay.check is called while this file is imported for a check that runs already: write "
                           "it within a test, or behind if __name__ == \"__main__\":")
    assay = program()
    if isinstance(function, Candidate):
        if about:
            raise WrongClaim(f"a Candidate says itself what holds for it: declare {', '.join(about)} where it is made")
        candidate, selected = function, [operation] if operation else []
    else:
        try:
            place = _place_of(formula) if formula else None
            declared = declarations(place)
            if formula:
                operation, options = declared[0]["name"], [*options, f"--formula={place}"]
            candidate = candidate_of(function, declared, operation, dtypes, **about)
        except (NotAnOperation, WrongClaim) as wrong:
            raise wrong.with_traceback(None) from None  # the caller's declarations are wrong, not a line of Assay
        selected = list(candidate.operations)
        dtypes = dtypes or next(iter(candidate.operations.values()))
    arguments = [f"--operation={name}" for name in selected] + [f"--dtype={dtype}" for dtype in dtypes or ()]
    arguments += [f"--effort={effort}", f"--seed={seed}", *(["--strict"] if strict else []), *options]
    for option, required in (("class", require_class), ("digits", require_digits)):
        if required:
            arguments.append(f"--require-{option}=" + (required if isinstance(required, str) else ",".join(required)))
    folder = os.path.abspath(report or tempfile.mkdtemp(prefix="assay-report-"))
    code, said = _gate(assay, candidate, [*arguments, f"--report={folder}"])
    if code not in (_PASSED, _FAILED, _BROKEN):
        raise RuntimeError(f"assay gate ended with status {code}:\n{said}")
    if code != _PASSED:
        raise AssertionError(f"{_findings(folder, said, _spec_of(function, selected))}\nReport: {os.path.join(folder, 'summary.md')}")
    if report is None:
        shutil.rmtree(folder)


def _place_of(formula):
    """The specification by which another process finds a formula."""
    code, name = getattr(formula, "__code__", None), getattr(formula, "__qualname__", "<locals>")
    if code is None or "<" in name + code.co_filename:
        raise ValueError("a formula stands in a file, under a name of its own: another process reads it there")
    return f"python:{os.path.abspath(code.co_filename)}:{name}"


def _spec_of(function, operations):
    """How the command line names a function: as it stands in its file, or what is to be filled in."""
    code, name = getattr(function, "__code__", None), getattr(function, "__qualname__", "<locals>")
    found = f"{code.co_filename}:{name}" if code is not None and "<" not in name else "MODULE:FUNCTION"
    return shlex.quote(f"python:{found}" + "".join(f"@{name.partition(':')[0]}" for name in operations[:1]))


def _findings(folder, said, spec):
    """The report up to its tables, and the first counterexample as a program to copy, if it is short. The relay, which has
    ended, is not named: replay commands have `spec` in its place."""
    try:
        with open(os.path.join(folder, "summary.md"), encoding="utf-8") as file:
            text = file.read()
    except OSError:
        return said
    text = re.split(r"^## (?:Accuracy|Checks)", text, 1, re.MULTILINE)[0]
    cases = []

    def replay(found):
        cases.append(shlex.split(found[1])[2])
        return f" Replay:\n  assay replay {shlex.quote(cases[-1])} --candidate {spec}"
    text = re.sub(r" Replay:\n *```sh\n(.*?)\n *```", replay, text, flags=re.DOTALL)
    text = re.sub(r" Candidate `process:.*?`,", "", text, flags=re.DOTALL).strip()
    return text + "".join(map(_program_of, cases[:1]))


def _program_of(case):
    """The counterexample as a Python program."""
    path = case.removesuffix(".json") + ".py"
    try:
        with open(path, encoding="utf-8") as file:
            program_text = file.read()
    except OSError:
        return ""
    shown = f"\n{program_text}" if len(program_text) <= _MOST_SHOWN else ""
    return f"\n\nThe first counterexample as a Python program: {path}{shown}"


def _gate(assay, candidate, arguments):
    """Runs the gate and answers its calls here; its exit status and what it wrote to stderr."""
    with tempfile.TemporaryDirectory(prefix="assay-") as folder, socket.socket(socket.AF_UNIX) as listener, \
            tempfile.TemporaryFile() as errors:
        path = os.path.join(folder, "socket")  # in a folder that no other user enters
        listener.bind(path)
        listener.listen()
        relay = "process:" + shlex.join([sys.executable, "-I", "-S", os.path.join(PACKAGE, "relay.py"), path])
        gate = subprocess.Popen([assay, "gate", "--candidate", relay, *arguments], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=errors, env=environment())
        try:
            _serve(candidate, listener, gate)
        finally:
            if not has_ended(gate):  # an interrupted test
                gate.terminate()
            has_ended(gate, options=0)
        errors.seek(0)
        return gate.returncode, errors.read().decode(errors="replace")[-4000:]


def _serve(candidate, listener, gate):
    """Answers one relay after another until the gate has ended."""
    while not has_ended(gate):
        if not select.select([listener], [], [], 0.1)[0]:
            continue
        connection, _ = listener.accept()
        try:
            with connection, connection.makefile("rw", encoding="utf-8") as stream:
                for line in iter(stream.readline, ""):
                    stream.write(json.dumps(_relayed(candidate.answer(json.loads(line))), allow_nan=False) + "\n")
                    stream.flush()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the gate gave this call up and ended its relay; there may be another one


def _relayed(answer):
    """The hello says that this process gives the answers: the gate can start no other one that has forgotten them."""
    if "hello" not in answer:
        return answer
    hello = answer["hello"]
    return {"hello": {**hello, "properties": {**hello.get("properties", {}), "relayed": True}}}
