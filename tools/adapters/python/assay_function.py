"""Makes a candidate of a plain function: for python:MODULE:FUNCTION[@OPERATION] and for assay.check.

Declarations of operations are dicts as `assay list operations --json` prints them.
"""
import difflib
import inspect
import types

from assay_host import Candidate


class NotAnOperation(Exception):
    """The function is no implementation of any operation, or of the one named. `choices`: the operations whose
    inputs its parameters are, where there are several."""

    def __init__(self, reason, choices=()):
        super().__init__(reason)
        self.choices = list(choices)


def candidate_of(function, declarations, operation=None, dtypes=("f32", "f64"), framework=None, vjp=True, domain=None,
                 vjp_domain=None, name=None, **claims):
    """A candidate with the one operation that `function` computes, and its vjp by autograd where it is a torch
    function. Without `operation` the names of the function's parameters say which it is."""
    declared = _named(declarations, operation) if operation else deduce(function, declarations)
    by_name = _takes_by_name(function, declared)
    if not by_name:
        _check_positions(function, declared)
    name = name or getattr(function, "__name__", type(function).__name__)
    candidate = Candidate(name, **claims)
    adapted = _adapted(function, declared, by_name)
    # A function without a parameter for a setting computes with its standard value.
    fixed = {a["name"]: [a["standard"]] for a in declared["attributes"] if a["name"] not in _takes(function, declared)}
    domain = {**fixed, **(domain or {})}
    if (framework or framework_of(function)) == "torch":
        # A derivative has none of its own here.
        vjp = vjp and ":" not in declared["name"] and any(d["name"] == declared["name"] + ":vjp" for d in declarations)
        candidate.torch(declared["name"], dtypes, domain=domain, vjp=vjp, vjp_domain=vjp_domain)(adapted)
    else:
        candidate.numpy(declared["name"], dtypes, domain=domain)(adapted)
    return candidate


def deduce(function, declarations):
    """The declaration whose inputs are the parameters of the function; parameters with a default may be more."""
    # Every function has the inputs of an operation that has none.
    matching = [d for d in declarations if d["inputs"] and _takes_by_name(function, d)]
    if not matching:
        raise NotAnOperation(_no_match(function, declarations))
    # A function of all inputs of a derivative takes those of the operation too, and then more.
    most = max(len(d["inputs"]) for d in matching)
    named = [d for d in matching if len(d["inputs"]) == most]
    if len(named) > 1:
        raise NotAnOperation(f"the parameters are the inputs of {' and of '.join(_names(named))}: name the operation "
                             "that is meant", _names(named))
    return named[0]


def framework_of(function):
    """"torch" where the function or one that it calls uses torch; else "numpy" where they use numpy; else "torch"
    where its module has imported torch."""
    packages, module = set(), set()
    _collect(function, packages, module, set())
    for seen in (packages, module):
        for framework in ("torch", "numpy"):
            if framework in seen:
                return framework
    return "numpy"


def _collect(function, packages, module, visited):
    """The packages whose values a function uses by name, itself or through functions of Python, and those that
    its module knows."""
    plain = inspect.unwrap(function)
    plain = getattr(plain, "func", plain)  # functools.partial
    if not hasattr(plain, "__code__"):
        packages.add(_package(plain))
        plain = getattr(plain, "__func__", None) or getattr(type(plain), "__call__")
    code = getattr(plain, "__code__", None)
    if code is None or code in visited:
        return
    visited.add(code)
    scope = plain.__globals__
    module.update(map(_package, scope.values()))
    used = [scope[name] for name in code.co_names if name in scope]
    used += [cell.cell_contents for cell in plain.__closure__ or () if _filled(cell)]
    packages.update(name for name in code.co_names if name not in scope)  # imported within
    for value in used:
        package = _package(value)
        packages.add(package)
        if isinstance(value, types.FunctionType) and package not in ("torch", "numpy"):
            _collect(value, packages, module, visited)


def _filled(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _package(value):
    if isinstance(value, types.ModuleType):
        return value.__name__.split(".")[0]
    for described in (value, getattr(value, "__self__", None), type(value)):
        module = getattr(described, "__module__", None)
        if isinstance(module, str) and module != "builtins":
            return module.split(".")[0]
    return ""


def _names(tensors):
    return [tensor["name"] for tensor in tensors]


def _named(declarations, operation):
    for declared in declarations:
        if declared["name"] == operation:
            return declared
    near = difflib.get_close_matches(operation, _names(declarations))
    raise NotAnOperation(f"unknown operation '{operation}' ({'near: ' + ', '.join(near) + '; ' if near else ''}"
                         "see: assay list operations)")


def _parameters(function):
    return [p for p in inspect.signature(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def _takes_by_name(function, declared):
    parameters = [p for p in _parameters(function) if p.kind != inspect.Parameter.POSITIONAL_ONLY]
    required = {p.name for p in _parameters(function) if p.default is p.empty}
    inputs = set(_names(declared["inputs"]))
    return required - {"dtype"} <= inputs | set(_names(declared["attributes"])) and inputs <= {p.name for p in parameters}


def _check_positions(function, declared):
    """An error unless the function takes the inputs by position and its settings by name."""
    inputs, takes = _names(declared["inputs"]), _takes(function, declared)
    by_name = [name for name in _names(declared["attributes"]) if name in takes]
    by_name += ["dtype"] if "dtype" in inspect.signature(function).parameters else []
    try:
        inspect.signature(function).bind(*inputs, **dict.fromkeys(by_name))
    except TypeError as reason:
        raise NotAnOperation(f"it cannot be called as {declared['name']}({', '.join(inputs)}) is, neither by name nor "
                             f"by position: {reason}") from None


def _takes(function, declared):
    """The settings of an operation that a function has a parameter for."""
    if any(p.kind == p.VAR_KEYWORD for p in inspect.signature(function).parameters.values()):
        return _names(declared["attributes"])
    return [p.name for p in _parameters(function)]


def _no_match(function, declarations):
    lines = [f"  {d['name']}({', '.join(_names(d['inputs']))})" for d in declarations]
    return ("there are\n" + "\n".join(lines) +
            f"\nThe parameters ({', '.join(p.name for p in _parameters(function))}) are the inputs of none of these "
            "operations.")


def _adapted(function, declared, by_name):
    """The function of inputs by name whose outputs go by name."""
    inputs, outputs = _names(declared["inputs"]), _names(declared["outputs"])
    wanted = f"the function must return {', '.join(outputs)}: a tuple in this order or a dict"

    settings = set(_names(declared["attributes"])) - set(_takes(function, declared))

    def call(**values):
        values = {name: value for name, value in values.items() if name not in settings}
        if by_name:
            result = function(**values)
        else:
            attributes = {name: value for name, value in values.items() if name not in inputs}
            result = function(*(values[name] for name in inputs), **attributes)
        if isinstance(result, dict):
            return result
        if not isinstance(result, (tuple, list)):
            result = (result,)
        if len(result) != len(outputs):
            raise TypeError(f"{wanted}; it returned {len(result)} value{'' if len(result) == 1 else 's'}")
        return dict(zip(outputs, result))

    def call_with_dtype(dtype, **values):
        return call(dtype=dtype, **values)
    return call_with_dtype if "dtype" in inspect.signature(function).parameters else call
