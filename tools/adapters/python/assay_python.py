"""The program behind `--candidate python:MODULE:FUNCTION[@OPERATION]`: a user's function as a candidate.

Arguments: MODULE (importable, or a path that ends in .py), FUNCTION, OPERATION (empty: the names of the parameters say
which), and the declarations of all operations.
"""
import functools
import importlib
import importlib.util
import json
import os
import shlex
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


def how_to_name(module, name, operations):
    """What the user may type to say which operation is meant."""
    return "".join(f"\n  --candidate {shlex.quote(f'python:{module}:{name}@{operation}')}" for operation in operations)


def main():
    module, name, operation, declarations = sys.argv[1:]
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
        if not isinstance(found, Candidate):
            found = candidate_of(found, json.loads(declarations), operation)
        elif operation:
            raise NotAnOperation(f"a Candidate names its operations itself: leave out @{operation}")
    except NotAnOperation as reason:
        sys.exit(f"{module}:{name}: {reason}" + how_to_name(module, name, reason.choices))
    found.serve(streams)


if __name__ == "__main__":
    main()
