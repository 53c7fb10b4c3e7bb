"""The names that modules had before Assay was a package; they go with version 0.3."""
import importlib
import sys
import warnings


def moved(old, new):
    """Makes `old`, a former module name, stand for the module `new`, with a warning."""
    warnings.warn(f"{old} is now {new}, and its former name goes with version 0.3: import {new}", FutureWarning,
                  stacklevel=3)
    sys.modules[old] = importlib.import_module(new)
