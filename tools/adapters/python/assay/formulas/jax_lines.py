"""The lines of a function of JAX: the line of each equation, and of each refusal."""
import contextlib
import re
import traceback

import jax

from assay.formulas.refusal import CannotTrace, _path_of_user
from assay.formulas.traced import writer


def step_of(equation):
    """(file, line, "") of the line that made an equation; None where this JAX does not tell."""
    try:
        from jax._src.source_info_util import user_frame
        about = equation.source_info
        try:
            frame = user_frame(about.traceback)
        except (AttributeError, TypeError):
            frame = user_frame(about)
        path = _path_of_user(frame.file_name)
        return path and (path, getattr(frame, "start_line", None) or frame.line_num, "")
    except (ImportError, AttributeError):
        return None


def is_of_jax(jaxpr):
    """Whether the equations are those of a function of JAX: they are kept, with the line of who first called it."""
    about = getattr(getattr(jaxpr, "debug_info", None), "func_src_info", None) or ""
    file = re.search(r" at (.*):\d+$", about)
    return bool(file) and _path_of_user(file[1]) is None


def line_of_error(error):
    """(file, line) of the user's code that raised the error; None if there is none."""
    lines = [(path, frame.lineno)
             for frame in traceback.extract_tb(error.__traceback__) if (path := _path_of_user(frame.filename))]
    return lines[-1] if lines else None


def _move(refusal, path, line):
    """Gives a refusal the line of the function that caused it."""
    if not getattr(refusal, "is_placed", False):
        what = str(refusal).removeprefix(f"{refusal.path}:{refusal.line}: ")
        refusal.path, refusal.line, refusal.is_placed, refusal.args = path, line, True, (f"{path}:{line}: {what}",)
    return refusal


@contextlib.contextmanager
def at_line(step):
    """Recorded steps and refusals within the block have this line."""
    if step is None:
        yield
        return
    try:
        with writer().at_step(step):
            yield
    except CannotTrace as refusal:
        raise _move(refusal, *step[:2])


_QUESTIONS = (  # errors of JAX where a function reads numbers that are not known
    ("TracerBoolConversionError", "`if`, `and`, `or`, `not` or `while` of a number that the inputs decide",
     "write jnp.where or jax.lax.cond"),
    ("TracerIntegerConversionError", "an index or a size that the inputs decide", "write jnp.take or jax.lax.dynamic_slice"),
    ("TracerArrayConversionError", "an array of numbers that the inputs decide",
     "the function that is called here is not JAX's"),
    ("NonConcreteBooleanIndexError", "x[mask] of a mask that the inputs decide",
     "its size would hang on them: write jnp.where(mask, x, ...)"),
    ("ConcretizationTypeError", "a number that the inputs decide", "a program has the same nodes whatever its inputs are"))


@contextlib.contextmanager
def questions_refused():
    """Errors of JAX within the block become refusals in the words of a formula."""
    try:
        yield
    except (TypeError, IndexError) as error:
        for name, what, instead in _QUESTIONS:
            if isinstance(error, getattr(jax.errors, name)):
                raise _move(CannotTrace(what, instead), *(line_of_error(error) or ("?", 0))) from None
        raise
