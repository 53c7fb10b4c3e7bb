"""assay.truth and assay.judge, for tests that are there already:

    expected = assay.truth("rope/rotate", x=x, position=position, layout="half_split")
    numpy.testing.assert_array_less(abs(y - expected["y"]), expected.allowed["y"])

    assay.judge("rope/rotate", y, x=x, position=position, layout="half_split")

Both take the inputs and the settings of one call by name (see: assay list operations), of derivatives too
("rope/rotate:vjp" with grad_y). An input may be a NumPy array, a tensor of torch, numbers, or whatever has __array__ or
__dlpack__. Numbers of Python are rounded to the dtype of the call; arrays must have it. NumPy has no bf16: with
dtype="bf16" float32 arrays hold its values.

Where an input is a tensor of torch, truths and what is allowed are tensors of torch, on its device.

    dtype           "f64", "f32", "f16" or "bf16"; that of the first array without it, f32 where there is none
    compute         the precision of the arithmetic, or of its stages, as among the claims of a candidate
    accuracy_class  within the law of this class, such as "sequential"; without it any outputs without a bug are right
    limit           seconds that the truth may take: a call that would take longer, as far as that is known before, is
                    refused

In place of the name of an operation a plain function of NumPy, torch or JAX may stand, or a module of torch: it is the formula (assay/formulas/tracing.py).

    expected = assay.truth(reference_attention, q=q, k=k, v=v, window=3)

A large call of a formula is judged by a sample: some positions of the axes along which nothing is added or shifted, the
first and the last among them (assay/formulas/sampling.py).

Both raise ValueError where there is no such call: an unknown name, another shape or dtype, a value outside its domain. One
process of the program answers all calls (assay/serving.py).
"""
import numpy

from assay import serving
from assay.matching import declaration_of, names_of
from assay.tensors import bf16_to_f32, f32_to_bf16, read_safetensors, stored_of, write_safetensors

_FLOATS = {"f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16, "bf16": numpy.float32}
_NAMES = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16"}


class Truth(dict):
    """The outputs by name, correctly rounded; `allowed`: by name, how far each element may be off them. It is 0 where
    the truth is NaN or an infinity, and infinite where every number is right.

        >>> expected = assay.truth("alibi/slopes", heads=4)
        >>> print(expected["slopes"], expected.allowed["slopes"] < 1e-6)
        [0.25       0.0625     0.015625   0.00390625] [ True  True  True  True]
    """

    def __init__(self, outputs, allowed):
        super().__init__(outputs)
        self.allowed = allowed


def truth(operation, *, dtype=None, compute=None, accuracy_class=None, limit=None, **values):
    """The truth of a call of `operation`, and what is allowed of it.

        >>> from model import rotate
        >>> x, position = numpy.ones((1, 3, 2, 4), "float32"), numpy.arange(3)[None]
        >>> expected = assay.truth("rope/rotate", x=x, position=position, layout="half_split")
        >>> numpy.testing.assert_array_less(abs(rotate(x, position) - expected["y"]), expected.allowed["y"])
    """
    operation, formula, values, _ = _named(operation, values)
    return _truth(operation, formula, dtype, compute, accuracy_class, values, limit)


def _truth(operation, formula, dtype, compute, accuracy_class, values, limit=None):
    with serving.lock:
        server = serving.running(formula)
        with server.question() as question:
            server.ask(_question(server, question, operation, dtype, values, ask="truth", compute=compute,
                                 limit=limit, **{"class": accuracy_class}))
            read = read_safetensors(question["outputs"])
    like = next((value for value in values.values() if hasattr(value, "detach")), None)
    tensors = {name: _loaded(*tensor, like) for name, tensor in read.items()}
    allowed = {name.removesuffix(":allowed"): tensors.pop(name) for name in list(tensors) if name.endswith(":allowed")}
    return Truth(tensors, allowed)


def judge(operation, outputs, *, dtype=None, compute=None, accuracy_class=None, strict=False, limit=None,
          **values):
    """AssertionError unless `outputs` are right: it says which element is wrong, by how much, how much is allowed, and
    which other convention or known fault gives such outputs. They are an array, where the operation has one output, a
    tuple in its order, or a dict. Returns in words how exact they are; an error that is no bug, but that roundings hardly
    make, is suspicious, and wrong where `strict`.

        >>> from model import rotate
        >>> x, position = numpy.ones((1, 3, 2, 4), "float32"), numpy.arange(3)[None]
        >>> assay.judge("rope/rotate", rotate(x, position), x=x, position=position, layout="half_split")
        'right: 24 elements, ...'
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    operation, formula, values, sample = _named(operation, values, is_judged=True)
    with serving.lock:
        server = serving.running(formula)
        with server.question() as question:
            call = _question(server, question, operation, dtype, values, ask="judge", compute=compute,
                             strict=strict or None, limit=limit, **{"class": accuracy_class})
            declared = names_of(declaration_of(server.declarations, operation)["outputs"])
            given = _by_name(operation, declared, outputs)
            if sample:
                given = sample.sampled_outputs(given)
            write_safetensors(call["outputs"], {name: _tensor(name, value, call["dtype"], None) for name, value in given.items()})
            answer = server.ask(call)
    words = sample.words(answer["words"]) if sample else answer["words"]
    if not answer["right"]:
        raise AssertionError(f"{operation}: {words}")
    return words


def _named(operation, values, is_judged=False):
    """(The operation by name, the formula behind it where it is a function, the inputs, which sample of a large call they
    are where it is judged)."""
    if not callable(operation):
        return operation, None, values, None
    from assay.formulas.asking import formula_and_inputs, hold_against_function, hold_ways_against_formula
    from assay.formulas.sampling import sampled
    formula, inputs = formula_and_inputs(operation, values)
    sample = sampled(formula, inputs) if is_judged else None
    if sample:
        formula, inputs = sample.formula, sample.inputs
    name = formula.declarations[0]["name"]
    hold_against_function(formula, inputs, lambda given: _truth(name, formula, formula.trace.narrowest, None, None, given))
    hold_ways_against_formula(formula, inputs, lambda one, given: _truth(one.declarations[0]["name"], one, "f64", None, None, given))
    return name, formula, inputs, sample


def _loaded(stored, array, like):
    """A tensor of a file: as one of torch, on the device of `like`, unless `like` is None."""
    if like is None:
        return bf16_to_f32(array) if stored == "BF16" else array
    import torch
    tensor = torch.from_numpy(array.view(numpy.int16)).view(torch.bfloat16) if stored == "BF16" else torch.from_numpy(array)
    return tensor if like.device.type == "mps" else tensor.to(like.device)  # Apple's has no f64


def _plain(value):
    """A setting as JSON has it; numbers of NumPy and torch become numbers of Python."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _by_name(operation, declared, outputs):
    if isinstance(outputs, dict):
        return outputs
    several = isinstance(outputs, tuple) or (isinstance(outputs, list) and len(declared) > 1)
    given = outputs if several else [outputs]
    if len(given) != len(declared):
        raise ValueError(f"{operation} has the outputs {', '.join(declared)}, and {len(given)} came")
    return dict(zip(declared, given))


def _tensor(name, value, dtype, own):
    """A value as it stands in a file. `own`: the dtype that the operation declares for the input, if any."""
    stored, array = stored_of(value)
    if stored is None:
        raise ValueError(f"'{name}' has the dtype {array.dtype}, which Assay does not know")
    if own == "i64" and array.dtype.kind in "iub":
        return "I64", array.astype(numpy.int64)
    if own is None and isinstance(value, (bool, int, float, list, tuple)):
        array = array.astype(_FLOATS[dtype])
        return (_stored_name(dtype), f32_to_bf16(array)) if dtype == "bf16" else (_stored_name(dtype), array)
    if dtype == "bf16" and stored == "F32":
        bits = f32_to_bf16(array)
        if not numpy.array_equal(bf16_to_f32(bits), array, equal_nan=True):
            raise ValueError(f"'{name}' holds numbers that are none of bf16: round them first")
        return "BF16", bits
    return stored, array


def _stored_name(dtype):
    return next(stored for stored, name in _NAMES.items() if name == dtype)


def _question(server, question, operation, dtype, values, **more):
    """The question in full, with its inputs in a file."""
    declared = declaration_of(server.declarations, operation)
    inputs = {tensor["name"]: tensor for tensor in declared["inputs"]}
    settings = names_of(declared["attributes"])
    for name in values:
        if name not in inputs and name not in settings:
            raise ValueError(f"{operation} has no input or setting '{name}'; inputs: {', '.join(inputs) or 'none'}; "
                             f"settings: {', '.join(settings) or 'none'}")
    tensors = {name: value for name, value in values.items() if name in inputs}
    if dtype is None:
        known = (_NAMES.get(stored_of(value)[0]) for name, value in tensors.items()
                 if "dtype" not in inputs[name] and not isinstance(value, (bool, int, float, list, tuple)))
        dtype = next(filter(None, known), "f32")
    if dtype not in _FLOATS:
        raise ValueError(f"unknown dtype {dtype!r}; known: {', '.join(_FLOATS)}")
    write_safetensors(question["inputs"], {name: _tensor(name, value, dtype, inputs[name].get("dtype"))
                                           for name, value in tensors.items()})
    return {**question, "operation": operation, "dtype": dtype,
            "settings": {name: _plain(value) for name, value in values.items() if name in settings},
            **{word: value for word, value in more.items() if value is not None}}
