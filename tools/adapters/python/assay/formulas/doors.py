"""The frameworks of formulas: NumPy, torch and JAX. Each has a module with

    recorded(function, given, settings, narrowest)   the outputs by name, of arrays that record
    run(function, arrays, settings, narrowest)       the outputs of the function itself; all are arrays of NumPy
    outputs_in(dtype, function, arguments, named)    the outputs of the function as a candidate, cast to the dtype of the call
    where_nan_begins(function, arrays, settings, narrowest)    where a NaN first arises, in words; None if it is unknown
    FRAMEWORK, HAS_DTYPES                            its name; whether a function may refuse a float

`narrowest`: the float of the inputs.
"""
import functools
import importlib
import types

from assay.function import collected
from assay.signature import is_module, torch_type

JAX_LIBRARIES = ("flax", "haiku", "equinox", "optax")  # they call JAX
_MODULES = {"numpy": "numpy_arrays", "torch": "torch_tensors", "jax": "jax_programs"}


def framework_of_formula(function):
    """"jax" or "torch" if the function, or one that it calls, names it; "torch" also if they name methods that only
    tensors have, or if the module imports torch and neither of the others; else "numpy"."""
    if getattr(function, "framework", "") in _MODULES:
        return function.framework
    if is_module(getattr(function, "__self__", None)):
        return "torch"
    packages, module, codes = collected(function)
    if packages & {"jax", *JAX_LIBRARIES}:
        return "jax"
    if "torch" in packages or ("torch" in module and not {"numpy", "jax"} & (packages | module)):
        return "torch"
    import numpy
    tensor = torch_type("Tensor")
    if tensor and "numpy" not in packages and any(
            hasattr(tensor, name) and not hasattr(numpy.ndarray, name) for code in codes for name in code.co_names):
        return "torch"
    return "numpy"


def as_function(formula):
    """A module of torch as a function that also takes its parameters; any other formula as it is."""
    if not is_module(formula):
        return formula
    return importlib.import_module("assay.formulas.torch_modules").ModuleFunction(formula)


def as_function_of(formula, values):
    """as_function for a call with these arrays: a function that names no framework uses the framework of its arrays."""
    function = as_function(formula)
    if type(function) is not types.FunctionType or framework_of_formula(function) != "numpy" or "numpy" in collected(function)[0]:
        return function
    packages = {type(value).__module__.partition(".")[0] for value in values}
    own = next((name for name, package in (("torch", "torch"), ("jax", "jaxlib")) if package in packages), None)
    if own is None:
        return function
    same = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    functools.update_wrapper(same, function)
    same.__kwdefaults__, same.framework = function.__kwdefaults__, own
    del same.__wrapped__
    return same


def door_of(function) -> types.ModuleType:
    return importlib.import_module(f"assay.formulas.{_MODULES[framework_of_formula(function)]}")
