"""Makes a candidate of a plain function: for python:MODULE:FUNCTION[@OPERATION] and for assay.check.

Declarations of operations are dicts as `assay list operations --json` prints them.
"""
import dis
import inspect
import types

from assay.claims import WrongClaim, check_domain, check_words, claims_of
from assay.frameworks import is_of_numbers
from assay.host import Candidate
from assay.matching import (NotAnOperation, check_positions, declaration_of, deduce, names_of,
                            parameter_by_input, settings_taken, takes_by_name)
from assay.modules import dtypes_of_module, module_in
from assay.signature import is_module, signature_of, takes


def candidate_of(function, declarations, operation=None, dtypes=None, framework=None, *, constants=(), **about):
    """A candidate with the one operation that `function` computes, and its vjp by autograd where it is a torch
    function. Without `operation` the names of the function's parameters say which it is. `about` holds words of
    assay.claims.WORDS. They override what the function declares, or its module by these constants."""
    _check_callable(function)
    claims = claims_of(function, constants)
    check_words(about, "assay.check")
    about["framework"] = framework
    claims.update({word: value for word, value in about.items() if value is not None})
    operation = operation or claims.get("operation")
    declared = declaration_of(declarations, operation) if operation else deduce(function, declarations)
    dtypes = dtypes or claims.get("dtypes") or dtypes_of_module(function) or ["f32", "f64"]
    dtypes = [dtypes] if isinstance(dtypes, str) else list(dtypes)
    hello = {word: claims[word] for word in ("compute", "strides", "device", "variants", "properties", "flush_subnormals",
                                             "written_for") if word in claims}
    if "compute" in hello:
        hello["compute"] = _compute_of(hello["compute"], claims.get("dtypes"), dtypes)
    candidate = Candidate(claims.get("name") or _name_of(function), claims.get("version", ""), **hello)
    _register(candidate, function, declared, dtypes, _domain_of(function, declared, claims.get("domain")), claims)
    _register_derivative(candidate, function, declarations, declared, dtypes, claims)
    return candidate


def _compute_of(compute, declared, requested):
    """`compute` without the dtypes that the function declares and that are not requested. A dtype that it does not declare
    stays: it is a mistake, and the program says so."""
    if not isinstance(compute, dict):
        return compute
    return {dtype: precision for dtype, precision in compute.items()
            if dtype in requested or dtype not in (declared or ())}


def check_candidate(candidate, declarations):
    """An error where a candidate declares a domain that Assay cannot use."""
    for declared in declarations:
        check_domain(candidate.domains.get(declared["name"], {}), declared, f"the domain of {declared['name']}")


def _check_callable(function):
    if isinstance(function, type):
        raise NotAnOperation("it is a class: name an instance of it, or a function")
    if not callable(function):
        raise NotAnOperation(f"it is no function but {type(function).__name__}")
    try:
        signature_of(function)
    except (TypeError, ValueError):
        raise NotAnOperation("Python does not know its parameters: name a function of Python around it") from None


def _name_of(function):
    inner = getattr(function, "func", function)  # functools.partial
    names = (getattr(inner, word, None) for word in ("__name__", "original_name", "name"))  # the last two: TorchScript
    return next((name for name in names if isinstance(name, str)), type(inner).__name__).strip("<>")  # "<lambda>"


def _domain_of(function, declared, domain):
    """A function without a parameter for a setting computes with its standard value, unless it says another one. One with
    a parameter for a setting that came later names it."""
    taken = settings_taken(function, declared)
    fixed = {a["name"]: [a["standard"]] for a in declared["attributes"] if a["name"] not in taken}
    named = {a["name"]: a["values"] for a in declared["attributes"] if a.get("since") and takes(function, a["name"])}
    check_domain(domain or {}, declared)
    return {**fixed, **named, **(domain or {})}


def _register(candidate, function, declared, dtypes, domain, claims):
    by_name = takes_by_name(function, declared)
    if not by_name:
        check_positions(function, declared)
    framework = claims.get("framework") or framework_of(function)
    if framework not in ("torch", "numpy"):
        raise WrongClaim(f"framework must be \"torch\" or \"numpy\", not {framework!r}")
    options = {"domain": domain, "empty": claims.get("empty"), **({"vjp": False} if framework == "torch" else {})}
    getattr(candidate, framework)(declared["name"], dtypes, **options)(
        _adapted(function, declared, by_name, candidate.device))


def _register_derivative(candidate, function, declarations, declared, dtypes, claims):
    """The function that `vjp` names, or autograd for a torch function, where there is such an operation."""
    vjp = claims.get("vjp", True)
    derivative = next((d for d in declarations if d["name"] == declared["name"] + ":vjp"), None)
    if derivative is None or not vjp:
        return
    domain = claims.get("vjp_domain")
    if domain is None:
        domain = {name: values for name, values in (claims.get("domain") or {}).items()
                  if name not in [a["name"] for a in declared["attributes"]]}
    check_domain(domain, derivative, "vjp_domain")
    if callable(vjp):
        _register(candidate, vjp, derivative, dtypes, domain, {})
    elif (claims.get("framework") or framework_of(function)) == "torch":
        candidate.autograd(declared["name"], domain)
    elif "vjp" in claims:
        raise WrongClaim("vjp=True needs a function of torch tensors; vjp may also be the derivative's function")


def framework_of(function):
    """"torch" where the function or one that it calls uses torch; else "numpy" where they use numpy; else "torch"
    where its module has imported torch."""
    packages, module, _ = collected(function)
    for seen in (packages, module):
        for framework in ("torch", "numpy"):
            if framework in seen:
                return framework
    return "numpy"


def collected(function):
    """(packages that the function uses, those that its module knows, the code of it and of the functions it calls)"""
    packages, module, visited = set(), set(), set()
    _collect(function, packages, module, visited)
    return packages, module, visited


def _collect(function, packages, module, visited):
    """The packages whose values a function uses by name, itself or through functions of Python, and those that
    its module knows."""
    plain = inspect.unwrap(function)
    plain = getattr(plain, "func", plain)  # functools.partial
    if is_module(plain):
        packages.add("torch")
        return
    if not hasattr(plain, "__code__"):
        packages.add(_package(plain))
        plain = getattr(plain, "__func__", None) or getattr(type(plain), "__call__")
    code = getattr(plain, "__code__", None)
    if code is None or code in visited:
        return
    visited.add(code)
    scope = plain.__globals__
    module.update(map(_package, scope.values()))
    # Not code.co_names, which has the names of attributes too: np.arange is no arange of the module.
    used = [scope[name] for name in _names_of(code, "LOAD_GLOBAL") if name in scope]
    used += [cell.cell_contents for cell in plain.__closure__ or () if _filled(cell)]
    packages.update(name.partition(".")[0] for name in _names_of(code, "IMPORT_NAME"))
    for value in used:
        package = "torch" if is_module(value) else _package(value)
        packages.add(package)
        if isinstance(value, types.FunctionType) and package not in ("torch", "numpy", "jax"):
            _collect(value, packages, module, visited)


def _names_of(code, operation):
    """The names that operations of this kind name, in the code or in functions and comprehensions within it."""
    within = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    named = {instruction.argval for instruction in dis.get_instructions(code) if instruction.opname == operation}
    return named.union(*(_names_of(inner, operation) for inner in within))


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


def _adapted(function, declared, by_name, device):
    """The function of inputs by name whose outputs go by name."""
    inputs, outputs = names_of(declared["inputs"]), names_of(declared["outputs"])
    left_out = set(names_of(declared["attributes"])) - set(settings_taken(function, declared))
    # A setting that a later list has is not sent where it has its standard value.
    standards = {a["name"]: a["standard"] for a in declared["attributes"] if a["name"] not in left_out}
    takes_dtype = takes(function, "dtype")
    called = parameter_by_input(function, declared)

    def call(dtype, **values):
        values = standards | {name: value for name, value in values.items() if name not in left_out}
        if takes_dtype:
            values["dtype"] = dtype
        module = module_in(function, dtype, device)
        if by_name:
            return _by_name(module(**{called.get(name, name): value for name, value in values.items()}), outputs)
        named = {name: value for name, value in values.items() if name not in inputs}
        return _by_name(module(*(values[name] for name in inputs), **named), outputs)
    return call


def _by_name(result, outputs):
    """The outputs that a function returned: by name, in their order, or the only one."""
    if isinstance(result, dict):
        return result
    wanted = f"the function must return {', '.join(outputs)}{': a tuple in this order or a dict' * (len(outputs) > 1)}"
    if result is None:
        raise TypeError(f"{wanted}; it returned None")
    # A list of numbers is the value of the only output, not one value for each.
    is_one = not isinstance(result, (tuple, list)) or len(outputs) == 1 and is_of_numbers(result)
    values = [result] if is_one else result
    if len(values) != len(outputs):
        raise TypeError(f"{wanted}; it returned {len(values)} value{'' if len(values) == 1 else 's'}")
    return dict(zip(outputs, values))
