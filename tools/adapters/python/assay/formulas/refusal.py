"""What cannot be traced, with the line of the function at which it stands."""
import os
import sys

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # the package assay


def line_of_caller():
    """(file, line) of the nearest frame that is neither of the package assay nor of NumPy."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        path = os.path.abspath(name)
        if not (name.startswith("<") or path.startswith(_OWN) or f"{os.sep}numpy{os.sep}" in path):
            return path, frame.f_lineno
        frame = frame.f_back
    return "?", 0


class CannotTrace(TypeError):
    """What the function does that no program can, and what to write in its place."""

    def __init__(self, what, instead=""):
        path, line = line_of_caller()
        self.path, self.line = path, line
        super().__init__(f"{path}:{line}: {what}" + (f": {instead}" if instead else ""))
