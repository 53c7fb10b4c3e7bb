"""A function as a program: it runs once on arrays that record what is done with them."""
import contextlib
import inspect
import math
import sys
import threading
import types

import numpy
import numpy.linalg
import numpy.random  # NumPy 2.4 loads it when it is first asked for

from assay.formulas import creating, dispatch, doors, functions
from assay.formulas.plain import numpy as plain_numpy
from assay.formulas.program import KIND_OF, Writer
from assay.formulas.refusal import CannotTrace, in_words_of
from assay.formulas.traced import Cell, Traced, _tracing, as_traced, given_back, plain_number

_tracing_thread = None  # the thread whose function is traced: the others go on with NumPy
_plain_pi = numpy.pi, math.pi
_FRAMEWORKS = ("numpy", "torch", "jax", "jaxlib", "einops", *doors.JAX_LIBRARIES)
_lock = threading.RLock()  # NumPy's functions are replaced while one function is traced


class Trace:
    """One call of a function as a program, for these shapes and settings.

        >>> from model import softmax
        >>> program = assay.formulas.trace(softmax, {"x": numpy.ones((2, 3))})
        >>> program.outputs, [node["op"] for node in json.loads(program.text)["nodes"]]
        ({'y': ('real', (2, 3))}, ['input', 'largest', 'reshape', 'subtract', 'exp', 'sum', 'reshape', 'divide'])
    """

    def __init__(self, text, steps, operations, shapes, inputs, outputs, captured, narrowest, stages):
        self.text = text  # assay-program/1
        # (file, line, expression) of each node; the steps of a loop's body stand before the step of the loop.
        self.steps = steps
        self.operations = operations  # the number of operations that were traced, before loops are rolled up
        self.shapes = shapes  # the shapes of all arrays of the program
        self.inputs = inputs  # (kind, shape) by name
        self.outputs = outputs  # (kind, shape) by name
        self.narrowest = narrowest  # the narrowest float to which the function casts, one of program.FLOATS
        self.stages = stages  # by name: (whether it is narrow, where it begins)
        self.captured = captured  # ((file, line), shape) of each array that comes from no input and no size


def _is_of_libraries(own):
    """Whether the globals of a caller are those of a framework or of the standard library: these call one another's names,
    too, and mean the original functions."""
    module = str(own.get("__name__", "")).partition(".")[0]
    return module in _FRAMEWORKS or module in sys.stdlib_module_names


def _is_plain(frame):
    """Whether the caller means NumPy's own function: outside of a trace, in another thread, or in a module that is being
    imported."""
    return not _tracing or _tracing_thread != threading.get_ident() or _is_of_libraries(frame.f_globals) or _imports(frame)


def _imports(frame):
    """Whether a module is being imported: frameworks import some when they are first used."""
    while frame is not None:
        if getattr(frame.f_globals.get("__spec__"), "_initializing", False):
            return True
        frame = frame.f_back
    return False


class _Replaced:
    """The replacement of a function of NumPy or of math while a function is traced."""

    def __init__(self, original, traced):
        self._original, self._traced = original, traced
        self.__name__ = original.__name__

    def __call__(self, *arguments, **more):
        if _is_plain(sys._getframe(1)):
            return self._original(*arguments, **more)
        return given_back(self._traced(*arguments, **more))

    def __getattr__(self, name):
        return getattr(self._original, name)


class _Ufunc(_Replaced):
    def __init__(self, original):
        super().__init__(original, self._called)

    def _called(self, *arguments, out=None, **more):
        out = out if out is None or isinstance(out, tuple) else (out,)
        arguments, out = arguments[:self._original.nin], arguments[self._original.nin:] or out
        return dispatch.ufunc_result(self.__name__, "__call__", arguments, out, more)

    def __getattr__(self, name):
        if name in ("reduce", "accumulate", "outer", "at") and not _is_plain(sys._getframe(1)):
            return lambda *arguments, **more: dispatch.ufunc_result(self.__name__, name, arguments, None, more)
        return getattr(self._original, name)


class _Random:
    """Stands for numpy.random."""

    def __getattr__(self, name):
        if _is_plain(sys._getframe(1)):
            return getattr(plain_numpy.random, name)
        raise CannotTrace("random numbers", "a formula has one value for its inputs")


def _function(name):
    return lambda *arguments, **more: dispatch.function_result(name, arguments, more)


def _log(x, base=None):
    return functions.log(x) if base is None else functions.divide(functions.log(x), functions.log(base))


def _whole(function):
    """math.floor or math.ceil: an integer if x is known, else a real."""
    def apply(x):
        x = as_traced(x)
        return functions.UFUNCS[function.__name__](x) if x.value is None else int(function(x.value))
    return apply


def _replacements():
    """(object, name, what stands there while a function is traced)"""
    table = {**dispatch.FUNCTIONS, **creating.CREATING}
    for name in {**functions.UFUNCS, **table}:
        original = getattr(numpy, name, None)
        if isinstance(original, numpy.ufunc):
            yield numpy, name, _Ufunc(original)
        elif original is not None:
            yield numpy, name, _Replaced(original, creating.CREATING.get(name) or _function(name))
    yield numpy.linalg, "norm", _Replaced(numpy.linalg.norm, _function("norm"))
    number_functions = {"pow": functions.power, "fabs": functions.absolute, "log": _log, "floor": _whole(plain_numpy.floor),
                        "ceil": _whole(plain_numpy.ceil)}
    for name in ("erf", "erfc", "sqrt", "exp", "sin", "cos", "tan", "tanh", "sinh", "cosh", "log1p", "log2", "log10", "expm1",
                 "radians"):
        number_functions[name] = functions.UFUNCS[name]
    for name, traced in number_functions.items():
        yield math, name, _Replaced(getattr(math, name), traced)
    yield numpy, "random", _Random()
    yield numpy, "vectorize", _Replaced(numpy.vectorize, lambda function, *_, **__: function)
    for module in (numpy, math):
        yield module, "pi", plain_number(functions.constant_pi())


def _scopes(function):
    """The globals of the function, and of the functions and modules of the user that they name."""
    todo, seen = [getattr(function, "func", function)], {}
    while todo:
        one = todo.pop()
        if isinstance(one, types.ModuleType):
            own = vars(one)
        else:
            one = inspect.unwrap(one)
            own = getattr(one, "__globals__", None) or getattr(type(one).__call__, "__globals__", None)
        if own is None or id(own) in seen:
            continue
        is_own = str(own.get("__name__", "")).partition(".")[0] == "assay"
        if is_own or _is_of_libraries(own) or "-packages" in str(own.get("__file__", "")):
            continue
        seen[id(own)] = own
        todo += [value for value in own.values() if isinstance(value, (types.ModuleType, types.FunctionType))
                 or hasattr(value, "cache_clear")]
    return list(seen.values())


@contextlib.contextmanager
def _replaced(function):
    """Within the block the names of NumPy and math, in their modules and in the globals of the function, stand for
    functions that record."""
    kept = []

    def put(place, name, new):
        kept.append((place, name, place[name]))
        place[name] = new

    try:
        replacements = [(vars(place), name, new) for place, name, new in _replacements()]
        by_original = {id(place[name]): new for place, name, new in replacements if not isinstance(new, (Traced, float))}
        for place, name, new in replacements:
            put(place, name, new)
        for own in _scopes(function):
            for name, value in list(own.items()):
                if id(value) in by_original:
                    put(own, name, by_original[id(value)])
                elif any(value is pi for pi in _plain_pi):
                    put(own, name, plain_number(functions.constant_pi()))
                elif type(value) is plain_numpy.vectorize and id(value.pyfunc) in by_original:
                    put(own, name, by_original[id(value.pyfunc)])
                elif hasattr(value, "cache_clear") and hasattr(value, "__wrapped__"):
                    put(own, name, value.__wrapped__)  # a cache would keep arrays that record
        yield
    finally:
        for place, name, value in reversed(kept):
            place[name] = value


def trace(function, inputs, settings=None):
    """The program of function(**inputs, **settings). `inputs`: arrays by parameter, of which shape and dtype count.
    CannotTrace says what the function does that no program can, and where. Inputs, and arrays made without a dtype, are
    f64; if a function of torch or JAX fails in f64, they are f32.

        >>> def decayed(x, rate):
        ...     return x * numpy.exp(-rate * numpy.arange(x.shape[-1]))
        >>> assay.formulas.trace(decayed, {"x": numpy.ones((2, 3))}, settings={"rate": 0.5}).inputs
        {'x': ('real', (2, 3))}
    """
    door = doors.door_of(function)
    try:
        return _traced_in("f64", door, function, inputs, settings or {})
    except CannotTrace:
        raise
    except (RuntimeError, TypeError, AssertionError):
        if not door.HAS_DTYPES:
            raise
    return _traced_in("f32", door, function, inputs, settings or {})


def _traced_in(narrowest, door, function, inputs, settings):
    to = Writer(narrowest, {} if door.HAS_DTYPES else None)
    global _tracing_thread
    with _lock, in_words_of(door.FRAMEWORK), contextlib.ExitStack() as stack:
        _tracing_thread = threading.get_ident()
        stack.callback(_tracing.pop)
        _tracing.append(to)
        given = {}
        for name, array in inputs.items():
            kind = KIND_OF.get(array.dtype.kind)
            if kind is None:
                raise CannotTrace(f"the input {name} of {array.dtype}")
            given[name] = Traced(Cell(to.input(name, kind, array.shape), None, kind, array.shape))
        with _replaced(function):
            outputs = door.recorded(function, given, settings, narrowest)
        if not outputs:
            raise CannotTrace(f"{function.__name__} returns nothing")
        text, steps = to.text({name: x.node for name, x in outputs.items()})
        return Trace(text, steps, len(to.nodes), set(to.shapes), {name: (KIND_OF[array.dtype.kind], array.shape) for name, array in inputs.items()},
                     {name: (x.kind, x.plain_shape) for name, x in outputs.items()}, list(to.captured.values()), to.narrowest, to.stages)
