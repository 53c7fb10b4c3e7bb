"""Functions of JAX as programs: jax.make_jaxpr gives their equations, and the functions that record NumPy's record each
(jax_operators.py). An equation that holds others, such as a loop, is recorded by these."""
import contextlib
import itertools
import re

import jax
import jax.numpy

from assay.formulas import functions, shaping
from assay.formulas.functions import UFUNCS
from assay.formulas.jax_lines import at_line, is_of_jax, line_of_error, questions_refused, step_of
from assay.formulas.jax_numbers import constant_of, for_jax, is_float, known_array, literal
from assay.formulas.jax_operators import COMPUTED_IF_KNOWN, NO_ORDER, OPERATORS, ORDERS, RANDOM, is_kind_of_float
from assay.formulas.plain import numpy
from assay.formulas.program import BOOLEAN, INTEGER, REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.traced import Traced, constant, writer

FRAMEWORK = "jax"
HAS_DTYPES = True  # a function may refuse some
_SHORT_NAMES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}
_TYPES = {short: getattr(jax.numpy, name) for name, short in _SHORT_NAMES.items()}
_traces = itertools.count()
_MOST_TURNS = 1 << 16  # of a loop that is not a scan


@contextlib.contextmanager
def _with_floats(narrowest):
    """If the inputs are f64, JAX makes f64 of what names no float; else f32."""
    enable = getattr(jax, "enable_x64", None)
    if enable is None:
        from jax.experimental import enable_x64 as enable
    with enable(narrowest == "f64"):
        yield


def _without_caches():
    """JAX keeps the equations of a function under jax.jit, with the numbers of an earlier trace in them: each trace has a name
    of its own, under which nothing is kept."""
    try:
        from jax.experimental.xla_metadata import set_xla_metadata
    except ImportError:
        return contextlib.nullcontext()
    return set_xla_metadata(assay_trace=next(_traces))


# Equations.

def _opened(jaxpr):
    """(the jaxpr itself, its constants)"""
    return getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", ())


def _is_literal(atom):
    return hasattr(atom, "val")


def _needed(jaxpr):
    """The equations that the outputs depend on."""
    wanted, out = {atom for atom in jaxpr.outvars if not _is_literal(atom)}, []
    for equation in reversed(jaxpr.eqns):
        if wanted.intersection(equation.outvars):
            out.append(equation)
            wanted.update(atom for atom in equation.invars if not _is_literal(atom))
    return out[::-1]


def _evaluated(jaxpr, arguments, step=None):
    """The outputs of a jaxpr. `step`: the line of all its equations; None if each has its own."""
    jaxpr, constants = _opened(jaxpr)
    values = {**dict(zip(jaxpr.constvars, constants)), **dict(zip(jaxpr.invars, arguments))}

    def read(atom):
        if _is_literal(atom):
            return literal(atom.val, atom.aval.dtype)
        if not isinstance(values[atom], tuple) and type(values[atom]) is not Traced:
            values[atom] = constant_of(values[atom])
        return values[atom]
    for equation in _needed(jaxpr):
        with at_line(step or step_of(equation)):
            found = _result(equation, [read(atom) for atom in equation.invars], step)
            values.update(zip(equation.outvars, map(_fitted, found, equation.outvars)))
    return [read(atom) for atom in jaxpr.outvars]


def _fitted(array, variable):
    dtype = getattr(variable.aval, "dtype", None)
    if is_kind_of_float(dtype):
        writer().casts_to_named(_SHORT_NAMES[str(dtype)])
        return array if array.kind == REAL else functions.as_type(array, float)
    if is_float(dtype) or str(dtype).startswith("complex"):
        raise CannotTrace(f"arrays of {dtype}")
    return array


def _result(equation, arrays, step):
    name, params = equation.primitive.name, equation.params
    if name in RANDOM:
        raise CannotTrace("random numbers", "a formula has one value for its inputs; dropout is none where it is deterministic")
    if name in _EQUATIONS:
        return _EQUATIONS[name](params, arrays, step)
    is_known = all(x.value is not None and x.kind != REAL for x in arrays)
    if is_known and (name in COMPUTED_IF_KNOWN or name not in OPERATORS) and not any(
            is_float(v.aval.dtype) for v in equation.outvars):
        return _computed_by_jax(equation, arrays)
    if name in ORDERS:
        raise CannotTrace(f"jax.lax.{name} of numbers that the inputs decide", NO_ORDER)
    if name not in OPERATORS:
        raise CannotTrace(f"jax.lax.{name} is not traced")
    found = OPERATORS[name](*arrays, **{word: int(x) if isinstance(x, numpy.integer) else x for word, x in params.items()})
    return found if equation.primitive.multiple_results else [found]


def _computed_by_jax(equation, arrays):
    """The outputs of an equation, computed by JAX itself."""
    given = [x.value.astype(atom.aval.dtype) for x, atom in zip(arrays, equation.invars)]
    found = equation.primitive.bind(*map(jax.numpy.asarray, given), **equation.params)
    return [constant(numpy.asarray(x)) for x in (found if equation.primitive.multiple_results else [found])]


def _called(params, arrays, step):
    inner = next(params[word] for word in ("jaxpr", "call_jaxpr", "fun_jaxpr") if word in params)
    opened = _opened(inner)[0]
    if not is_of_jax(opened):
        return _evaluated(inner, arrays, step)
    if params.get("name") in ("floor_divide", "remainder") and len(arrays) == 2:
        return [UFUNCS[params["name"]](*arrays)]
    return _evaluated(inner, arrays, step or writer().step)


def _scan(params, arrays, step):
    constants = arrays[:params["num_consts"]]
    carried = arrays[len(constants):len(constants) + params["num_carry"]]
    rows = arrays[len(constants) + len(carried):]
    turns, out = range(params["length"]), {}
    for k in reversed(turns) if params["reverse"] else turns:
        found = _evaluated(params["jaxpr"], [*constants, *carried, *(x[k] for x in rows)], step)
        carried, out[k] = found[:len(carried)], found[len(carried):]
    if turns:
        return [*carried, *(shaping.stack([out[k][i] for k in turns]) for i in range(len(out[0])))]
    kinds = _opened(params["jaxpr"])[0].outvars[len(carried):]
    return [*carried, *(_none_of(variable.aval) for variable in kinds)]


def _none_of(aval):
    return shaping.zeros((0, *aval.shape), float if is_float(aval.dtype) else bool if str(aval.dtype) == "bool" else int)


def _while(params, arrays, step):
    test_constants, body_constants = params["cond_nconsts"], params["body_nconsts"]
    test, body = arrays[:test_constants], arrays[test_constants:test_constants + body_constants]
    carried = arrays[test_constants + body_constants:]
    for _ in range(_MOST_TURNS):
        goes_on, = _evaluated(params["cond_jaxpr"], [*test, *carried], step)
        if goes_on.value is None:
            raise CannotTrace("a loop as long as the inputs decide",
                              "write jax.lax.fori_loop of a known count, with jnp.where in it")
        if not goes_on.value:
            return carried
        carried = _evaluated(params["body_jaxpr"], [*body, *carried], step)
    raise CannotTrace(f"a loop of more than {_MOST_TURNS} turns")


def _cond(params, arrays, step):
    """A choice of branches. If the inputs decide it, all branches are computed, and one is chosen."""
    which, given, branches = arrays[0], arrays[1:], params["branches"]
    if which.value is not None:
        return _evaluated(branches[min(max(int(which.value), 0), len(branches) - 1)], given, step)
    found = [_evaluated(branch, given, step) for branch in branches]
    return [OPERATORS["select_n"](functions.clip(which, 0, len(branches) - 1) if which.kind == INTEGER else which, *cases)
            for cases in zip(*found)]


_EQUATIONS = {"scan": _scan, "while": _while, "cond": _cond, **{name: _called for name in (
    "jit", "pjit", "closed_call", "core_call", "remat", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call",
    "custom_vjp_call_jaxpr", "composite")}}


# The door.

def named_outputs(found):
    """The parts of what a function returned, by name. A part that is None is left out."""
    if isinstance(found, dict):
        parts = {str(name): jax.tree_util.tree_leaves(x) for name, x in found.items()}
        return {name if len(one) == 1 else f"{name}{k}": x for name, one in parts.items() for k, x in enumerate(one)}
    parts = jax.tree_util.tree_leaves(found)
    return {"y": parts[0]} if len(parts) == 1 else {f"y{k}": x for k, x in enumerate(parts)}


def recorded(function, given, settings, narrowest):
    """The outputs by name, of traced inputs. `narrowest`: the float that inputs seem to be of."""
    whole = jax.numpy.int64 if narrowest == "f64" else jax.numpy.int32
    types = {REAL: _TYPES[narrowest], INTEGER: whole, BOOLEAN: jax.numpy.bool_}
    with _with_floats(narrowest):
        shapes = {name: jax.ShapeDtypeStruct(array.plain_shape, types[array.kind]) for name, array in given.items()}
        writer().given_back, writer().known_array = for_jax, known_array
        with _without_caches(), questions_refused():
            closed, outputs = jax.make_jaxpr(lambda arrays: named_outputs(function(**arrays, **settings)),
                                             return_shape=True)(shapes)
        names = jax.tree_util.tree_leaves({name: name for name in outputs})  # in the order in which JAX has them
        arrays = [given[name] for name in jax.tree_util.tree_leaves({name: name for name in given})]
        found = dict(zip(names, _evaluated(closed, arrays)))
    return {name: found[name] for name in sorted(outputs, key=_place_of)}


def _place_of(name):
    """y10 comes behind y9."""
    number = re.fullmatch(r"y(\d+)", name)
    return (0, int(number[1]), "") if number else (1, 0, name)


def run(function, arrays, settings, narrowest):
    """The outputs of the function itself. Inputs and outputs are arrays of NumPy."""
    with _with_floats(narrowest):
        given = {name: jax.numpy.asarray(array, dtype=_TYPES[narrowest] if array.dtype.kind == "f" else None)
                 for name, array in arrays.items()}
        found = {name: numpy.asarray(x) for name, x in named_outputs(function(**given, **settings)).items()}
    return {name: x.astype(numpy.float64) if is_float(x.dtype) else x for name, x in found.items()}


def outputs_in(dtype, function, arguments, named):
    """The outputs as arrays of NumPy, which candidates in JAX return too."""
    with _with_floats("f64" if dtype == numpy.float64 else "f32"):
        arguments, named = jax.tree_util.tree_map(lambda x: jax.numpy.asarray(x) if isinstance(x, numpy.ndarray) else x,
                                                  (arguments, named))
        return {name: numpy.asarray(y).astype(dtype) for name, y in named_outputs(function(*arguments, **named)).items()}


def where_nan_begins(function, arrays, settings, narrowest):
    """"invalid value (nan) encountered in log at reference.py:12"; None where JAX does not tell."""
    if any(x.dtype.kind == "f" and numpy.isnan(x).any() for x in arrays.values()):
        return None
    try:
        with jax.debug_nans(True), jax.disable_jit():
            run(function, arrays, settings, narrowest)
    except FloatingPointError as error:
        line = line_of_error(error)
        return line and "{} at {}:{}".format(str(error).partition("\n")[0].partition(". ")[0], *line)
    return None
