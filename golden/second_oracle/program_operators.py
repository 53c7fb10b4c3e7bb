"""The elements that each operator of a program computes from those of its inputs.

Elements are flat lists in row-major order. Where an operator moves elements and computes nothing, `moved_from` says
which element of its inputs, counted through one after the other, stands at each place of the result.
"""

from math import gcd

import numpy

from formula import exceeds
from interval import Interval, pi
from program_attributes import double_of, require
import program_functions as functions
import program_numbers as numbers
from program_powers import pow, power
from program_reading import BOOLEAN, INTEGER, REAL


def in_64_bits(n):
    require(-2**63 <= n < 2**63, f"{n} has more than 64 bits")
    return n


def floor_divide(x, y):
    require(y != 0, "an integer is divided by 0")
    return in_64_bits(x // y)


def remainder(x, y):
    require(y != 0, "an integer is divided by 0")
    return x % y


def less(x, y):
    return not (x is y or x.is_nan or y.is_nan) and exceeds(y, x)


def less_equal(x, y):
    return not (x.is_nan or y.is_nan) and (x is y or not exceeds(x, y))


def equal(x, y):
    if x is y or (x.is_point and y.is_point):
        return x.lo == y.lo and not x.is_nan
    return not (less(x, y) or less(y, x) or x.is_nan or y.is_nan)


def fraction(numerator, denominator):
    return numbers.divide(numbers.real_of(float(numerator)), Interval.of(denominator))


def data(node):
    if node["kind"] == REAL:
        return [numbers.real_of(double_of(x)) for x in node["values"]]
    return [bool(x) if node["kind"] == BOOLEAN else x for x in node["values"]]


def frequency(base, t, steps):
    divisor = gcd(t, steps)
    return power(base, -t // divisor, steps // divisor) if t else numbers.ONE


REAL_FUNCTIONS = {
    "add": numbers.add, "subtract": numbers.subtract, "multiply": numbers.multiply, "divide": numbers.divide,
    "negative": numbers.negative, "magnitude": numbers.absolute, "maximum": numbers.maximum,
    "minimum": lambda x, y: numbers.negative(numbers.maximum(numbers.negative(x), numbers.negative(y))),
    "exp": functions.exp, "log": functions.log, "log1p": functions.log1p, "tanh": functions.tanh, "erf": functions.erf,
    "sin": lambda x: functions.cos_sin(x)[1], "cos": lambda x: functions.cos_sin(x)[0],
    "sine_of_angle": lambda x: functions.cos_sin(x)[1], "cosine_of_angle": lambda x: functions.cos_sin(x)[0],
    "sigmoid": functions.sigmoid, "floor": functions.floor, "pow": pow,
    "softplus": lambda x: functions.log_sum_exp([x, numbers.PLUS_ZERO]),
    "log_sigmoid": lambda x: numbers.negative(functions.log_sum_exp([numbers.negative(x), numbers.PLUS_ZERO])),
    "log_add_exp": lambda x, y: functions.log_sum_exp([x, y]), "right_as_well": lambda x, y: x,
    "another_way": lambda x, y: x, "off_by": lambda x, y: x, "taken_by": lambda x: x, "rounded_once": lambda x: x,
    "sum_of_products": lambda *all: numbers.total(map(numbers.multiply, all[::2], all[1::2])),
    "less": less, "less_equal": less_equal, "equal": equal, "is_nan": lambda x: x.is_nan,
}
INTEGER_FUNCTIONS = {
    "add": lambda x, y: in_64_bits(x + y), "subtract": lambda x, y: in_64_bits(x - y),
    "multiply": lambda x, y: in_64_bits(x * y), "negative": lambda x: in_64_bits(-x),
    "magnitude": lambda x: in_64_bits(abs(x)), "maximum": max, "minimum": min, "floor_divide": floor_divide,
    "remainder": remainder, "less": lambda x, y: x < y, "less_equal": lambda x, y: x <= y, "equal": lambda x, y: x == y,
    "to_real": lambda x: Interval.of(x) if x else numbers.PLUS_ZERO,
    "index_number": lambda x: Interval.of(x) if x else numbers.PLUS_ZERO,
}
BOOLEAN_FUNCTIONS = {
    "and": lambda x, y: x and y, "or": lambda x, y: x or y, "not": lambda x: not x, "to_integer": int,
    "to_real": lambda x: numbers.ONE if x else numbers.PLUS_ZERO,
}
FUNCTIONS = {REAL: REAL_FUNCTIONS, INTEGER: INTEGER_FUNCTIONS, BOOLEAN: BOOLEAN_FUNCTIONS}
ROW_FUNCTIONS = {
    "sum": numbers.total, "mean": lambda row: numbers.divide(numbers.total(row), Interval.of(len(row))),
    "log_sum_exp": functions.log_sum_exp, "any": any, "all": all,
}
CONSTANTS = {
    "number": lambda node: [numbers.real_of(double_of(node["value"]))],
    "setting": lambda node: [numbers.real_of(double_of(node["value"]))],
    "fraction": lambda node: [fraction(node["numerator"], node["denominator"])],
    "pi": lambda node: [pi()],
    "data": lambda node: data(node),
    "integer": lambda node: [node["value"]],
    "boolean": lambda node: [node["value"]],
    "iota": lambda node: list(range(node["size"])),
}


def places(shape, first=0):
    """The flat index of each element, counted from `first`."""
    size = numpy.prod(shape, dtype=numpy.int64)
    return numpy.arange(first, first + size, dtype=numpy.int64).reshape(shape)


def broadcast_places(shape, result):
    return numpy.broadcast_to(places(shape), result).ravel().tolist()


def rows_of(shape, axes):
    """A row for each element of the result: the places of the elements that are reduced to it."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    rows = places(shape).transpose(kept + list(axes))
    count = int(numpy.prod([shape[axis] for axis in axes]))
    return rows.reshape(int(numpy.prod([shape[axis] for axis in kept])), count).tolist()


def contracted_places(equation, shapes):
    """For each element of the result the places of its factors in both operands."""
    x, y, out = equation.replace("->", ",").split(",")
    sizes = dict(zip(x + y, shapes[0] + shapes[1]))
    letters = out + "".join(sorted(set(sizes) - set(out)))
    full = [sizes[letter] for letter in letters]
    count = int(numpy.prod([sizes[letter] for letter in letters[len(out):]]))
    tables = []
    for operand, shape in zip((x, y), shapes):
        order = sorted(range(len(operand)), key=lambda axis: letters.index(operand[axis]))
        table = places(shape).transpose(order).reshape([sizes[one] if one in operand else 1 for one in letters])
        size = int(numpy.prod([sizes[letter] for letter in out]))
        tables.append(numpy.broadcast_to(table, full).reshape(size, count).tolist())
    return zip(*tables)


def checked_indices(node, nodes, values):
    shape, axis = nodes[node.inputs[0]].shape, node.attributes["axis"]
    indices = values[node.inputs[1]]
    for i in indices:
        require(0 <= i < shape[axis], f"index {i} is outside of an axis of {shape[axis]}")
    return numpy.array(indices, dtype=numpy.int64).reshape(nodes[node.inputs[1]].shape), axis


def sliced(node, tables):
    parts = zip(*(node.attributes[name] for name in ("start", "stop", "step")))
    return tables[0][numpy.ix_(*[list(range(*part)) for part in parts])] if node.shape else tables[0]


def updated(node, tables):
    out = tables[0].copy()
    box = zip(node.attributes["start"], tables[1].shape)
    out[tuple(slice(start, start + size) for start, size in box)] = tables[1]
    return out


def taken(node, table, nodes, values):
    indices, axis = checked_indices(node, nodes, values)
    take = numpy.take if node.op in ("gather", "scatter_add") else numpy.take_along_axis
    return take(table, indices, axis)


def scattered_places(node, nodes, values):
    """The place in x to which each element of the update is added."""
    return taken(node, places(nodes[node.inputs[0]].shape), nodes, values).ravel().tolist()


def scattered(x, added, where):
    rows = [[one] for one in x]
    for place, one in zip(where, added):
        rows[place].append(one)
    return [numbers.total(row) if row[1:] else row[0] for row in rows]


SCATTERS = ("scatter_add", "scatter_add_along")
MOVES = {
    "where": lambda node, tables, condition: numpy.where(condition, *tables[1:]),
    "reshape": lambda node, tables, _: tables[0],
    "detach": lambda node, tables, _: tables[0],
    "transpose": lambda node, tables, _: tables[0].transpose(node.attributes["axes"]),
    "broadcast": lambda node, tables, _: numpy.broadcast_to(tables[0], node.shape),
    "slice": lambda node, tables, _: sliced(node, tables),
    "concatenate": lambda node, tables, _: numpy.concatenate(tables, node.attributes["axis"]),
    "update": lambda node, tables, _: updated(node, tables),
}


def moved_from(node, nodes, values):
    """The elements that an operator only moves; None for an operator that computes."""
    if node.op not in MOVES and node.op not in ("gather", "take_along"):
        return None
    tables, first = [], 0
    for index in node.inputs:
        tables.append(places(nodes[index].shape, first))
        first += nodes[index].size
    if node.op not in MOVES:
        return taken(node, tables[0], nodes, values).ravel().tolist()
    condition = None
    if node.op == "where":
        condition = numpy.array(values[node.inputs[0]], dtype=bool).reshape(nodes[node.inputs[0]].shape)
    return MOVES[node.op](node, tables, condition).ravel().tolist()


def largest(row):
    out = row[0]
    for x in row[1:]:
        out = numbers.maximum(out, x)
    return out


def running_sums(row, kind):
    plus, out = FUNCTIONS[kind]["add"], []
    for x in row:
        out.append(plus(out[-1], x) if out else x)
    return out


def along(node, x, row_function, axes=None):
    """row_function of each row along an axis, or axes, and what it returns in the same places."""
    out = [None] * node.size
    for row in rows_of(node.shape, axes or [node.attributes["axis"]]):
        for place, value in zip(row, row_function([x[i] for i in row])):
            out[place] = value
    return out


def values_of(node, nodes, values):
    """The elements of a node from those of earlier nodes."""
    if node.op in CONSTANTS:
        return CONSTANTS[node.op](node.attributes)
    inputs, operands = [nodes[i] for i in node.inputs], [values[i] for i in node.inputs]
    sources = moved_from(node, nodes, values)
    if sources is not None:
        elements = [x for operand in operands for x in operand]
        return [elements[i] for i in sources]
    x, kind, shape = operands[0], inputs[0].kind, inputs[0].shape
    if node.op == "softmax":
        return along(node, x, functions.softmax)
    if node.op == "cumulative_sum":
        return along(node, x, lambda row: running_sums(row, kind))
    if node.op == "contract":
        pairs = contracted_places(node.attributes["of"], [one.shape for one in inputs])
        return [numbers.total(numbers.multiply(x[i], operands[1][j]) for i, j in zip(*row)) for row in pairs]
    if node.op == "contract_where":
        pairs = contracted_places(node.attributes["of"], [one.shape for one in inputs[:2]])
        return [numbers.total(numbers.multiply(x[i], operands[1][j]) for i, j in zip(*row) if operands[2][i])
                for row in pairs]
    if node.op in SCATTERS:
        return scattered(x, operands[2], scattered_places(node, nodes, values))
    if node.op == "largest_share":
        return along(node, x, functions.shares_of_largest, node.attributes["axes"])
    if "axes" in node.attributes:
        row_function = largest if node.op == "largest" else ROW_FUNCTIONS[node.op]
        return [row_function([x[i] for i in row]) for row in rows_of(shape, node.attributes["axes"])]
    if node.op == "power":
        return [power(one, node.attributes["p"], node.attributes["q"]) for one in x]
    if node.op == "geometric_frequencies":
        first, count, steps = (node.attributes[name] for name in ("first", "count", "steps"))
        return [frequency(base, t, steps) for base in x for t in range(first, first + count)]
    function = FUNCTIONS[kind][node.op]
    spread = [[operand[i] for i in broadcast_places(one.shape, node.shape)] for operand, one in zip(operands, inputs)]
    return list(map(function, *spread))
