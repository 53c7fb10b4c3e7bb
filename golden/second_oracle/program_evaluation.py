"""The values of all nodes of a program, and of the bodies of its loops turn by turn."""

import interval
from interval import Interval, Undecided
from program_attributes import double_of, is_integer, require
from program_numbers import real_of
from program_operators import values_of
from program_reading import INTEGER, REAL


def elements_of(name, kind, size, values):
    """The elements of an input as they are computed with."""
    require(len(values) == size, f"{name} has {len(values)} elements, not {size}")
    if kind == REAL:
        # A NaN and infinities come as names in JSON, and as floats from Python.
        reals = [x if isinstance(x, (float, Interval)) else double_of(x) for x in values]
        require(None not in reals, f"{name} has an element that is no double")
        return [x if isinstance(x, Interval) else real_of(x) for x in reals]
    right = is_integer if kind == INTEGER else lambda x: isinstance(x, bool)
    require(all(map(right, values)), f"{name} has an element that is no {kind}")
    return list(values)


def node_values(program, inputs, outputs):
    """The values of all nodes that these outputs need; None of others."""
    for name in inputs:
        require(name in program.inputs, f"there is no input {name!r}")
    needed = {program.outputs[name] for name in outputs}
    for index in range(len(program.nodes) - 1, -1, -1):
        if index in needed:
            needed.update(program.nodes[index].inputs)
    values = [None] * len(program.nodes)
    for index in sorted(needed):
        node = program.nodes[index]
        try:
            if node.op == "input":
                name = node.attributes["name"]
                require(name in inputs, f"the input {name!r} is missing")
                values[index] = elements_of(name, node.kind, node.size, inputs[name])
            elif node.op == "scan":
                values[index] = scanned(node, [values[i] for i in node.inputs])
            else:
                values[index] = values_of(node, program.nodes, values)
        except ValueError as error:
            raise ValueError(f"node {index}: {error}") from None
        except Undecided as error:
            raise Undecided(f"node {index} ({node.op}): {error or 'an element'} at {interval.PRECISION} bits") from None
    return values


def elements_of_turn(turn, elements, size):
    return elements[turn * size:(turn + 1) * size]


def turns_of(node, operands):
    """The values of the nodes of a scan's body, turn by turn."""
    body, carried, stepped = (node.attributes[name] for name in ("body", "carried", "stepped"))
    taken = list(operands)
    for turn in range(node.attributes["turns"]):
        inputs = {}
        for k, (name, index) in enumerate(body.inputs.items()):
            is_stepped = 0 <= k - carried < stepped
            inputs[name] = elements_of_turn(turn, taken[k], body.nodes[index].size) if is_stepped else taken[k]
        values = node_values(body, inputs, body.outputs)
        yield values
        taken[:carried] = [values[index] for index in list(body.outputs.values())[:carried]]


def scanned(node, operands):
    """The arrays carried out of the last turn, then those that all turns give, one output of the body after the other."""
    outputs = node.attributes["body"].outputs.values()
    parts = [[] for _ in outputs]
    for values in turns_of(node, operands):
        for k, index in enumerate(outputs):
            if k < node.attributes["carried"]:
                parts[k] = values[index]
            else:
                parts[k] += values[index]
    return [x for part in parts for x in part]
