"""The parameters of what can be called: functions, bound methods, functools.partial, torch modules and TorchScript."""
import inspect
import sys


def torch_type(name):
    """A class of torch such as "nn.Module"; () where torch was not imported, so that isinstance() answers no."""
    found = sys.modules.get("torch")
    for part in name.split("."):
        found = getattr(found, part, None)
    return found or ()


def is_module(function):
    return isinstance(function, torch_type("nn.Module"))


def signature_of(function):
    """The signature of a function; for a torch module, that of its forward(). Raises ValueError if there is none to read."""
    if is_module(function):
        function = function.forward
    schema = getattr(function, "schema", None)  # TorchScript, scripted or traced
    if schema is None or not hasattr(schema, "arguments"):
        return inspect.signature(function)
    arguments = [a for a in schema.arguments if a.name != "self"]
    return inspect.Signature([inspect.Parameter(
        a.name, inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=a.default_value if a.has_default_value() else inspect.Parameter.empty) for a in arguments])


def named_parameters(function):
    """The names of the parameters that may go by name; None of a function that takes any, or tells none."""
    try:
        parameters = signature_of(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind == p.VAR_KEYWORD for p in parameters):
        return None
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def takes(function, name):
    """Whether the function has a parameter of this name."""
    try:
        return name in signature_of(function).parameters
    except (TypeError, ValueError):  # a function of C that tells none
        return False
