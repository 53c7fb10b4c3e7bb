"""Refusals of what cannot be traced, with the line of the function; and the place of a step in its source."""
import contextlib
import functools
import itertools
import linecache
import os
import re
import sys

_FRAMEWORK = re.compile(r"-packages[/\\](numpy|torch|jax|einops)[/\\]")
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # the package assay


@functools.cache
def _path_of_user(name):
    """The path of a file of the user; None for the package assay, for frameworks, and for code without a file."""
    path = os.path.abspath(name)
    return None if name.startswith("<") or path.startswith(_OWN) or _FRAMEWORK.search(path) else path


def _frame_of_caller():
    frame = sys._getframe(2)
    while frame is not None and _path_of_user(frame.f_code.co_filename) is None:
        frame = frame.f_back
    return frame


def line_of_caller():
    """(file, line) of the nearest frame that is neither of the package assay nor of a framework."""
    frame = _frame_of_caller()
    return ("?", 0) if frame is None else (_path_of_user(frame.f_code.co_filename), frame.f_lineno)


@functools.lru_cache(maxsize=4096)
def _text_at(code, instruction):
    """The expression of an instruction; "" before Python 3.11, or if it does not stand in one line."""
    if not hasattr(code, "co_positions"):
        return ""
    line, last, begin, end = next(itertools.islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    if None in (line, last, begin, end) or line != last:
        return ""
    return linecache.getline(code.co_filename, line).encode()[begin:end].decode(errors="replace")


def step_of_caller():
    """(file, line, expression) of what is traced now; the expression may be empty (_text_at)."""
    frame = _frame_of_caller()
    if frame is None:
        return "?", 0, ""
    return _path_of_user(frame.f_code.co_filename), frame.f_lineno, _text_at(frame.f_code, frame.f_lasti)


_frameworks = ["numpy"]  # of the functions that are traced; the last one is in use
_OTHER_NAMES = {"take": "index_select", "take_along_axis": "take_along_dim", "clip": "clamp"}  # of torch


@contextlib.contextmanager
def in_words_of(framework):
    """Refusals use the names that this framework has for NumPy's functions."""
    _frameworks.append(framework)
    try:
        yield
    finally:
        _frameworks.pop()


def _in_framework_words(words):
    if _frameworks[-1] == "torch":
        return re.sub(r"\bnumpy\.(\w+)", lambda found: f"torch.{_OTHER_NAMES.get(found[1], found[1])}", words)
    return re.sub(r"\bnumpy\.(?=\w)", "jax.numpy.", words) if _frameworks[-1] == "jax" else words


class CannotTrace(TypeError):
    """The function does something that no program can. The message says what, and what to write in its place.

        >>> assay.truth(lambda x: x if x.sum() > 0 else -x, x=numpy.ones(3))
        Traceback (most recent call last):
        assay.formulas.refusal.CannotTrace: ... `if`, `and`, `or`, `not` or `while` of a number that the inputs ...
    """

    def __init__(self, what, instead=""):
        path, line = line_of_caller()
        self.path, self.line = path, line
        super().__init__(f"{path}:{line}: " + _in_framework_words(what + (f": {instead}" if instead else "")))
