"""Exceptions of the user's code in words: what happened first, then where."""
import os
import sysconfig
import traceback

_HERE = os.path.dirname(os.path.realpath(__file__))
_LONGEST = 2000


def is_out_of_memory(error):
    """Whether an allocation was refused: NumPy raises MemoryError, torch a RuntimeError that says so."""
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and any(
        words in str(error) for words in ("can't allocate memory", "out of memory")))


def in_words(error):
    """The type and message of an exception, and the last line of the user's own code that it passed. Of a long message
    the beginning and the end are kept."""
    kind = type(error).__name__
    message = _in_order(error).strip().removeprefix(f"{kind}: ")
    if len(message) > _LONGEST:
        message = message[:_LONGEST * 2 // 3] + "\n[...]\n" + message[-_LONGEST // 3:]
    own_words = type(error).__module__.startswith("assay.")  # of Assay itself: the sentence says it all
    return (message if own_words else f"{kind}: {message}") + place_of(error)


def is_of_accelerator(error):
    """Whether a kernel of an accelerator failed, in torch's words."""
    return isinstance(error, RuntimeError) and str(error).startswith(("CUDA error: ", "HIP error: "))


def _in_order(error):
    """The message with what happened first. TorchScript puts it last; torch adds advice of how to debug a kernel; Triton's
    compiler shows the kernel, and what is wrong is the cause of its error."""
    message = str(error)
    if message.startswith("The following operation failed in the TorchScript interpreter"):
        trace, _, happened = message.strip().rpartition("\n")
        return f"{happened}\n{trace}"
    if is_of_accelerator(error):
        return message.partition("\n")[0]
    if not _is_of_triton(error):
        return message
    inner = error
    while inner.__cause__ is not None:
        inner = inner.__cause__
    lines = str(inner).strip().splitlines()  # of Triton itself a listing, a caret and what is wrong
    happened = lines[-1] if _is_of_triton(inner) and lines else f"{type(inner).__name__}: {inner}"
    return f"{happened}\n{message}"


def _is_of_triton(error):
    return type(error).__module__.startswith("triton.")


def _users_frames(error):
    return [frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)]


def place_of(error):
    """The last line of the user's own code that an exception passed."""
    own = _users_frames(error)
    if not own:
        return ""
    function = "" if own[-1].name.startswith("<") else f", in {own[-1].name}"
    return f" ({os.path.basename(own[-1].filename)}, line {own[-1].lineno}{function})"


def users_lines(error):
    """The lines of the user's own code that an exception passed, the last one at the end."""
    return "".join(traceback.format_list(_users_frames(error))).rstrip()


def users_traceback(error):
    """The traceback through the user's own code; where an exception passed none, through all."""
    described = part = traceback.TracebackException.from_exception(error)
    while part is not None:
        own = [frame for frame in part.stack if _is_users(frame.filename)]
        part.stack = traceback.StackSummary.from_list(own) if own else part.stack
        part = part.__cause__ or part.__context__
    return "".join(described.format()).rstrip()


def _is_users(path):
    paths = sysconfig.get_paths()
    others = [os.path.join(os.path.realpath(folder), "") for folder in (paths["stdlib"], paths["purelib"], _HERE)]
    path = os.path.realpath(path)
    return os.path.exists(path) and "dist-packages" not in path and not path.startswith(tuple(others))
