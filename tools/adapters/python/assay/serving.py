"""The process `assay serve`, which answers the questions of assay.truth and assay.judge.

Each answer has the number of its question. Whatever breaks a conversation (pytest-timeout's signal, a notebook's stop, an
answer with another number, a line that is no answer) ends the process, and the next question goes to a new one. Threads
wait for one another. A fork has a process of its own.
"""
import atexit
import collections
import contextlib
import functools
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from assay.installed import declarations, program
from assay.processes import has_ended

_declared = functools.lru_cache(lambda path: declarations())  # kept for each path of a program
_numbers = itertools.count(1)  # of questions: never used twice, whichever process answers


class Server:
    """The process, and the folder of the files that it reads and writes. `formula`: its name, its program as text and
    what it declares, where it has one (assay/formulas/asking.py)."""

    def __init__(self, formula=None):
        self.owner = os.getpid()
        self.in_question = False
        self.declarations = formula.declarations if formula else _declared(program())
        self.errors = tempfile.TemporaryFile()
        self.folder = tempfile.mkdtemp(prefix="assay-")
        try:
            more = []
            if formula:
                for k, text in enumerate((formula.text, *formula.other_ways)):
                    path = os.path.join(self.folder, f"formula{k}.json")
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(text)
                    more += ["--formula", path if k else f"{formula.name}={path}"]
            # Without buffers: a fork that ends would write what is left in one. In a session of its own: a key that
            # interrupts the program of the user is not meant for this one.
            self.process = subprocess.Popen([program(), "serve", *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self.errors, bufsize=0, start_new_session=True)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    @property
    def usable(self):
        """Whether it belongs to this process, still runs, and no question was left without its whole answer."""
        return self.owner == os.getpid() and not self.in_question and not has_ended(self.process)

    @contextlib.contextmanager
    def question(self):
        """A new question: its number, and the paths of its inputs and outputs, whose files are removed at its end."""
        number = next(_numbers)
        paths = [os.path.join(self.folder, f"{number}.{which}.safetensors") for which in ("in", "out")]
        try:
            yield {"id": number, "inputs": paths[0], "outputs": paths[1]}
        finally:
            for path in paths:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(path)

    def ask(self, question):
        """The answer; ValueError where the program refuses the question."""
        self.in_question = True  # first: an exception may come behind any line, even within what tidies up
        try:
            answer = self._converse(question)
        except BaseException:
            self.end()
            raise
        self.in_question = False
        if not answer["ok"]:
            raise ValueError(answer["error"])
        return answer

    def _converse(self, question):
        text, line = (json.dumps(question, allow_nan=False) + "\n").encode(), b""
        try:
            while text:
                text = text[self.process.stdin.write(text):]
            while not line.endswith(b"\n"):
                part = self.process.stdout.read(1 << 16)
                if not part:
                    raise BrokenPipeError
                line += part
        except BrokenPipeError:
            self._wait(patience=5)
            raise RuntimeError(f"assay serve ended with status {self.process.returncode}: {self._last_errors()}") from None
        try:
            answer = json.loads(line)
            answered = answer["id"] == question["id"] and isinstance(answer["ok"], bool)
        except (ValueError, KeyError, TypeError):
            answered = False
        if not answered:
            raise RuntimeError(f"assay serve was asked question {question['id']} and answered: "
                               f"{line[:200].decode(errors='replace').strip()}")
        return answer

    def _last_errors(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:].strip()

    def _wait(self, patience):
        until = time.monotonic() + patience
        while not has_ended(self.process):
            if time.monotonic() >= until:
                os.kill(self.process.pid, signal.SIGKILL)
                has_ended(self.process, options=0)
            else:
                time.sleep(0.01)

    def end(self):
        """Ends the process, which may be computing for long. May be called again where it was interrupted."""
        if self.owner == os.getpid():
            self.process.stdin.close()
            self._wait(patience=0)
            self.process.stdout.close()
            self.errors.close()
            shutil.rmtree(self.folder, ignore_errors=True)


_MOST_FORMULAS = 8  # so many formulas keep a process

lock = threading.RLock()  # held from a question to its answer
_running = collections.OrderedDict()  # by the text of a formula; "" for the process that has none
_inherited = []  # the parent's servers, kept in a fork so that their folders and files are not removed


def running(formula=None):
    """The process that answers. Precondition: the caller holds `lock`."""
    key = "\n".join((formula.name, formula.text, *formula.other_ways)) if formula else ""
    if key in _running and not _running[key].usable:
        _end(key)
    if key not in _running:
        formulas = [other for other in _running if other]
        if key and len(formulas) >= _MOST_FORMULAS:
            _end(formulas[0])
        _running[key] = Server(formula)
    _running.move_to_end(key)
    return _running[key]


def _end(key):
    """Ends a process, and forgets it only then: an interruption may come between the two."""
    _running[key].end()
    _running.pop(key, None)


def end_running():
    while _running:
        _end(next(iter(_running)))


def _forget_parent():
    """Runs in a fork: the lock may be held by a thread that does not exist there."""
    global lock
    lock = threading.RLock()
    for server in _running.values():
        server.process.stdin.close()  # or that process would outlive the parent
        _inherited.append(server)
    _running.clear()


os.register_at_fork(after_in_child=_forget_parent)
atexit.register(end_running)
