"""Complex tensors as pairs of arrays, for torch_tensors.py; rotations of pairs are often written with them."""
from assay.formulas import functions, shaping
from assay.formulas.functions import UFUNCS
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import as_traced

add, subtract, multiply, divide = (UFUNCS[name] for name in ("add", "subtract", "multiply", "divide"))


class Complex:
    """The real and the imaginary part, of one shape."""
    kind, value = "complex", None

    def __init__(self, real, imaginary):
        self.real, self.imaginary = as_traced(real), as_traced(imaginary)
        self.plain_shape = self.real.plain_shape

    @property
    def node(self):
        raise CannotTrace("complex numbers as an output", "torch.view_as_real gives the two parts")


def pair(x):
    """(real, imaginary) of anything; a real number has no imaginary part."""
    if isinstance(x, complex):
        return as_traced(x.real), as_traced(x.imag)
    if isinstance(x, Complex):
        return x.real, x.imaginary
    x = as_traced(x)
    return x, shaping.zeros(x.plain_shape)


def is_complex(x):
    return any(map(is_complex, x)) if isinstance(x, (list, tuple)) else isinstance(x, (Complex, complex))


def _parts(x, k):
    """The real (0) or imaginary (1) parts in place of complex numbers."""
    if isinstance(x, (list, tuple)):
        return [_parts(one, k) for one in x] if is_complex(x) else x
    return pair(x)[k] if is_complex(x) else x


def _all_pairs(x):
    """The tensors of a list, real ones as complex ones."""
    return [one if is_complex(one) else Complex(*pair(one)) for one in x]


def by_parts(operator):
    """Applies to both parts an operator that moves elements or is linear in them."""
    def apply(x, *arguments, **more):
        if isinstance(x, (list, tuple)):
            x = _all_pairs(x)
        real, imaginary = (operator(_parts(x, k), *_parts(arguments, k), **more) for k in (0, 1))
        if isinstance(real, (list, tuple)):
            return [Complex(*each) for each in zip(real, imaginary)]
        return Complex(real, imaginary)
    return apply


def _sum_of_two(operator):
    """x + alpha y or x - alpha y; alpha is a real number."""
    def apply(x, y, *, alpha=1):
        if is_complex(alpha):
            raise CannotTrace("a complex alpha", "write the product")
        (a, b), (c, d) = pair(x), pair(y)
        return Complex(operator(a, c, alpha=alpha), operator(b, d, alpha=alpha))
    return apply


def product(x, y):
    if not (is_complex(x) and is_complex(y)):  # no imaginary part is multiplied by 0
        factor, complex_number = (y, x) if is_complex(x) else (x, y)
        return Complex(*(multiply(part, factor) for part in pair(complex_number)))
    (a, b), (c, d) = pair(x), pair(y)
    return Complex(subtract(multiply(a, c), multiply(b, d)), add(multiply(a, d), multiply(b, c)))


def quotient(x, y):
    if not is_complex(y):
        return Complex(*(divide(part, y) for part in pair(x)))
    return quotient(product(x, conjugate(y)), _size_squared(y))


def _size_squared(x):
    a, b = pair(x)
    return add(functions.power(a, 2), functions.power(b, 2))


def conjugate(x):
    a, b = pair(x)
    return Complex(a, functions.negative(b))


def polar(size, angle):
    return Complex(multiply(size, UFUNCS["cos"](angle)), multiply(size, UFUNCS["sin"](angle)))


def exponential(x):
    a, b = pair(x)
    return polar(functions.exp(a), b)


def complex_of_pairs(x):
    """torch.view_as_complex: the last axis holds the two parts."""
    return Complex(x[..., 0], x[..., 1])


def to_pairs(x):
    return shaping.stack(pair(x), -1)


# These make complex numbers of real ones.
MAKING = {"complex": lambda a, b: Complex(*shaping.broadcast_arrays(a, b)), "polar": polar, "view_as_complex": complex_of_pairs}
_BY_PARTS = ("view", "_unsafe_view", "reshape", "_reshape_alias", "permute", "transpose", "t", "unsqueeze", "squeeze", "expand",
             "select", "slice", "split", "split_with_sizes", "unbind", "cat", "stack", "flip", "roll", "repeat", "index",
             "index_select", "clone", "contiguous", "detach", "alias", "lift_fresh", "sum", "mean", "neg", "copy")
_OWN = {"mul": product, "multiply": product, "div": quotient, "divide": quotient, "true_divide": quotient, "exp": exponential,
        "view_as_real": to_pairs, "real": lambda x: x.real, "imag": lambda x: x.imaginary,
        "abs": lambda x: functions.root(_size_squared(x), 1, 2), "_to_copy": lambda x: by_parts(functions.copied)(x),
        **{name: conjugate for name in ("conj", "_conj", "conj_physical", "_conj_physical")}, "resolve_conj": lambda x: x,
        "resolve_neg": lambda x: x}


def operator_of(name, operator):
    """The operator for complex numbers. CannotTrace if there is none."""
    if name in ("add", "sub"):
        return _sum_of_two(operator)
    found = _OWN.get(name) or (by_parts(operator) if name in _BY_PARTS else None)
    if found is None:
        raise CannotTrace(f"torch.{name} of complex numbers", "write it of their two parts")
    return found
