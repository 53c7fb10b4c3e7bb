"""Functions of NumPy that make arrays."""
from assay.formulas import functions as f
from assay.formulas.plain import numpy
from assay.formulas.program import DTYPE_OF, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.shaping import full, kind_of_dtype, stack, zeros
from assay.formulas.traced import Traced, as_traced, constant


def ones(shape, dtype=None, *_, **__):
    return full(shape, 1 if kind_of_dtype(dtype) != REAL else 1.0, dtype or float)


def like(create):
    def apply(x, *value, dtype=None, shape=None, **more):
        x = as_traced(x)
        value = (more["fill_value"],) if "fill_value" in more else value
        return create(x.plain_shape if shape is None else shape, *value[:1], dtype=dtype or x.dtype)
    return apply


def arange(start, stop=None, step=1, dtype=None, **_):
    """start + step k, exactly. A float counts as the double that it is."""
    start, stop = (0, start) if stop is None else (start, stop)
    given = [as_traced(x) for x in (start, stop, step)]
    count = numpy.arange(*(x._numbers("numpy.arange", "its size would hang on them") for x in given)).size
    whole = all(x.kind != REAL for x in given)
    found = constant(numpy.arange(count)) if count else constant(numpy.zeros(0, int))
    if given[2].kind == REAL or given[2].value != 1:
        found = f.multiply(found, given[2])
    if given[0].kind == REAL or given[0].value != 0:
        found = f.add(found, given[0])
    if not whole or (dtype is not None and kind_of_dtype(dtype) == REAL):
        return f.as_type(found, float)
    return found


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    num = int(num)
    parts = num - 1 if endpoint else num
    step = f.divide(f.subtract(stop, start), max(parts, 1))
    found = f.add(f.multiply(constant(numpy.arange(num)), step), start)
    if found.value is not None and endpoint and num > 1:
        found.value[-1] = as_traced(stop).value  # as NumPy has it
    found = f.as_type(found, dtype or float)
    return (found, step) if retstep else found


def _compared(compare, rows, columns, k):
    """compare(column, row + k) for each element of a matrix."""
    row_column = f.add(constant(numpy.arange(rows)), k).reshape(rows, 1)
    return compare(constant(numpy.arange(columns)), row_column)


def eye(N, M=None, k=0, dtype=None, *_, **__):
    square = _compared(f.equal, int(N), int(N if M is None else M), int(k))
    return f.as_type(square, DTYPE_OF[kind_of_dtype(dtype)])


def tri(n, m=None, k=0, dtype=None, **_):
    return f.as_type(_compared(f.less_equal, int(n), int(n if m is None else m), int(k)), DTYPE_OF[kind_of_dtype(dtype)])


def triangle(keep_lower):
    def apply(x, k=0):
        x = as_traced(x)
        rows, columns = x.plain_shape[-2:]
        lower = _compared(f.less_equal, rows, columns, int(k) if keep_lower else int(k) - 1)
        return f.where(lower if keep_lower else f.logical_not(lower), x, x.dtype.type(0).item())
    return apply


def array_of(x, dtype=None):
    """numpy.array, of nested lists too."""
    if isinstance(x, Traced):
        found = f.copied(x)
    elif isinstance(x, (list, tuple)) and _holds_traced(x):
        found = stack([array_of(one) for one in x])
    else:
        plain = numpy.array(x)
        if plain.dtype.kind not in "fiub":
            raise CannotTrace(f"an array of {plain.dtype}")
        found = as_traced(plain if plain.ndim else plain.item())
    return found if dtype is None else f.as_type(found, DTYPE_OF[kind_of_dtype(dtype)])


def _holds_traced(x):
    return isinstance(x, Traced) or (isinstance(x, (list, tuple)) and any(map(_holds_traced, x)))


def array(x, dtype=None, *_, copy=True, ndmin=0, **__):
    found = array_of(x, dtype)
    return found[(None,) * max(ndmin - found.ndim, 0)] if ndmin > found.ndim else found


def asarray(x, dtype=None, *_, **__):
    return x if isinstance(x, Traced) and (dtype is None or kind_of_dtype(dtype) == x.kind) else array_of(x, dtype)


# These take no traced array, so that NumPy would not ask one: while a function is traced, their names are replaced.
CREATING = {"arange": arange, "linspace": linspace, "zeros": zeros, "empty": zeros, "ones": ones, "full": full,
            "eye": eye, "identity": lambda n, dtype=None, **_: eye(n, dtype=dtype), "tri": tri, "array": array,
            "asarray": asarray, "asanyarray": asarray}
FUNCTIONS = {"tril": triangle(True), "triu": triangle(False), "zeros_like": like(zeros), "ones_like": like(ones),
             "empty_like": like(zeros), "full_like": like(full), "array": array, "asarray": asarray, "asanyarray": asarray,
             "ascontiguousarray": asarray}
