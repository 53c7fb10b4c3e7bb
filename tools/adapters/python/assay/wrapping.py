"""What the adapters have in common: wrappers that keep the claims of a function, and changes of its tensors."""
import inspect

from assay.claims import candidate, claims_of, joined
from assay.host import Unsupported
from assay.signature import is_module, signature_of

USUAL_WIDTH = 64


def in_place_of(function, wrapper, **claims):
    """The wrapper with the parameters and claims of the function, and claims of its own."""
    wrapper.__signature__ = signature_of(function)
    return with_claims(function, wrapper, **claims)


def with_claims(function, wrapper, **claims):
    wrapper.__name__ = getattr(function, "__name__", type(function).__name__)
    if is_module(function):
        claims = {"framework": "torch", **claims}
    return candidate(**joined(claims, claims_of(function)))(wrapper)


def positional(function):
    """The parameters that are filled by position when nothing else is said: those without a default, and `offset`."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in signature_of(function).parameters.values()
            if p.kind in kinds and (p.default is p.empty or p.name == "offset")]


def each(change, values):
    if isinstance(values, dict):
        return {name: change(value) for name, value in values.items()}
    return type(values)(map(change, values)) if isinstance(values, (tuple, list)) else change(values)


def swap(value):
    return value.swapaxes(1, 2) if getattr(value, "ndim", 0) == 4 else value


def decline_odd(x):
    if x.shape[-1] % 2:
        raise Unsupported(f"it takes even widths only, and this one is {x.shape[-1]}")
