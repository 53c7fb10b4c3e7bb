"""The program behind `--candidate python:MODULE:FUNCTION[@OPERATION]`: a user's function as a candidate.

Arguments: MODULE (importable, or a path that ends in .py), FUNCTION, OPERATION (empty: the names of the parameters say
which), and the file of the declarations of all operations.
"""
import difflib
import importlib
import importlib.util
import json
import os
import shlex
import sys

# Python puts the folder of this script first on the path: then `import host` or `import tensors` of a user would find
# Assay's modules. The folder above takes its place while this package is imported. Afterwards that folder stands last, for
# modules by their former names: in a wheel it holds packages that another interpreter has in versions of its own.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
import assay  # noqa: E402, F401
sys.path.append(sys.path.pop(0))
from assay.installed import IS_HOST
from assay.errors import in_words, place_of, users_lines
from assay.streams import protocol_streams, send

_ANOTHER = ": install it there, or name another interpreter in ASSAY_PYTHON"


def load(module):
    if not module.endswith(".py"):
        return importlib.import_module(module)
    if not os.path.isfile(module):
        from assay.matching import NotAnOperation
        raise NotAnOperation(f"there is no file {os.path.abspath(module)}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(module))[0], module)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def named(loaded, name):
    """The object `name` (which may have dots) of a module."""
    from assay.function import NotAnOperation
    found = loaded
    for part in name.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found))
            raise NotAnOperation(f"the module has no '{name}'" + (f"; near: {', '.join(near)}" if near else ""))
        found = getattr(found, part)
    return found


def naming_commands(module, name, operations):
    """The options that the user may type to name the operation."""
    return "".join(f"\n  --candidate {shlex.quote(f'python:{module}:{name}@{operation}')}" for operation in operations)


def candidate_from(loaded, name, operation, declarations, is_formula=False):
    """The candidate of that name in a module, or one around the function of that name; `is_formula`: the formula itself."""
    from assay.function import NotAnOperation, candidate_of, check_candidate
    from assay.host import Candidate
    found = named(loaded, name)
    if is_formula:
        from assay.formulas.itself import as_candidate
        found = as_candidate(found, os.environ.get("ASSAY_FORMULA_NARROWEST", "f64"))
    if not isinstance(found, Candidate):
        return candidate_of(found, declarations, operation, constants=vars(loaded))
    if operation:
        raise NotAnOperation(f"a Candidate names its operations itself: leave out @{operation}")
    check_candidate(found, declarations)
    return found


def missing_package(error, module):
    if error.name and module.split(".")[0] == error.name.split(".")[0] and not module.endswith(".py"):
        return (f"No module named '{error.name}' in this folder or among the packages of {sys.executable}: start assay in its "
                "folder, or name its file, as in python:FOLDER/MODULE.py:FUNCTION")
    return f"it needs the package '{error.name}', which {sys.executable} does not have{_ANOTHER}"


def why_not(error, module, name):
    """Why there is no candidate, the reason first."""
    from assay.claims import WrongClaim
    from assay.function import NotAnOperation
    if isinstance(error, NotAnOperation):
        return str(error) + naming_commands(module, name, error.choices)
    if isinstance(error, WrongClaim):
        return str(error) + place_of(error)
    if isinstance(error, ModuleNotFoundError):
        return missing_package(error, module) + place_of(error)
    if isinstance(error, SystemExit):
        return f"it ended the program while it was imported, with status {error.code}" + place_of(error)
    return in_words(error)


def refuse(reason, streams):
    """Ends the program. The verdict has one line for the reason; all of it stands in the report's stderr."""
    print(reason, file=sys.stderr)
    send({"error": reason.partition("\n")[0]}, streams[1])
    sys.exit(1)


def main():
    module, name, operation, declarations = sys.argv[1:]
    streams = protocol_streams()  # before the user's module may print
    os.environ[IS_HOST] = "1"
    try:
        import assay.host  # noqa: F401, needs numpy
    except ModuleNotFoundError as missing:
        refuse(f"{sys.executable} has no {missing.name}{_ANOTHER}", streams)
    sys.path.insert(0, os.getcwd())
    sys.argv = [module]
    try:
        with open(declarations, encoding="utf-8") as file:
            declared = json.load(file)
        found = candidate_from(load(module), name, operation, declared, os.environ.get("ASSAY_FORMULA") == f"{module}:{name}")
    except (Exception, SystemExit) as error:
        reason = f"{module}:{name}: {why_not(error, module, name)}"
        refuse("\n".join(filter(None, [reason, users_lines(error)])), streams)
    found.serve(streams)


if __name__ == "__main__":
    main()
