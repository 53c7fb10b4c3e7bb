"""The program behind `--candidate python:MODULE:FUNCTION`: a user's function as a candidate.

Arguments: MODULE (importable, or a path that ends in .py), FUNCTION, and the declarations of all operations.
"""
import functools
import importlib
import importlib.util
import json
import os
import sys


def load(module, name):
    """The object `name` (which may have dots) of a module."""
    if module.endswith(".py"):
        sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
        spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(module))[0], module)
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = loaded
        spec.loader.exec_module(loaded)
    else:
        loaded = importlib.import_module(module)
    return functools.reduce(getattr, name.split("."), loaded)


def main():
    module, name, declarations = sys.argv[1:]
    try:
        from assay_function import NotAnOperation, candidate_of
        from assay_host import Candidate, protocol_streams
    except ModuleNotFoundError as missing:
        sys.exit(f"{sys.executable} has no {missing.name}; ASSAY_PYTHON may name another interpreter")
    streams = protocol_streams()  # before the user's module may print
    sys.path.insert(0, os.getcwd())
    sys.argv = [module]
    try:
        found = load(module, name)
        candidate = found if isinstance(found, Candidate) else candidate_of(found, json.loads(declarations))
    except NotAnOperation as reason:
        sys.exit(f"{module}:{name}: {reason}")
    candidate.serve(streams)


if __name__ == "__main__":
    main()
