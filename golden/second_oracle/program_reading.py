"""The rules by which a text is a program: members, attributes, kinds, shapes. Each refusal is a ValueError."""

import math

from program_attributes import (below, double_of, is_equation, is_integer, is_integers, is_name, is_shape,
                                natural_below, positive_below, require)

REAL, INTEGER, BOOLEAN = "real", "integer", "boolean"
NUMBERS, KINDS = (REAL, INTEGER), (REAL, INTEGER, BOOLEAN)
NODES, AXES, ELEMENTS, ELEMENTS_IN_ALL, LOOPS, TURNS = 2**16, 8, 2**26, 2**30, 4, 2**31


# Shapes.

def broadcast(shapes):
    """The common shape to which NumPy broadcasts these shapes."""
    out = []
    for axis in range(max(map(len, shapes))):
        sizes = {shape[-1 - axis] for shape in shapes if axis < len(shape)} - {1}
        require(len(sizes) <= 1, "shapes do not broadcast: " + ", ".join(map(str, map(list, shapes))))
        out.append(sizes.pop() if sizes else 1)
    return out[::-1]


def axis_of(node, shape):
    axis = node["axis"]
    require(0 <= axis < len(shape), f"axis {axis} is none of {len(shape)}")
    return axis


def elementwise(node, inputs):
    return inputs[-1].kind, broadcast([x.shape for x in inputs])


def power(node, inputs):
    require(math.gcd(node["p"], node["q"]) == 1, "p and q have a common divisor")
    return REAL, inputs[0].shape


def comparison(node, inputs):
    return BOOLEAN, broadcast([x.shape for x in inputs])


def reshape(node, inputs):
    shape = node["shape"]
    require(math.prod(shape) == math.prod(inputs[0].shape), f"{inputs[0].shape} has other elements than {shape}")
    return inputs[0].kind, shape


def transpose(node, inputs):
    axes = node["axes"]
    require(sorted(axes) == list(range(len(inputs[0].shape))), f"{axes} is no permutation of the axes")
    return inputs[0].kind, [inputs[0].shape[axis] for axis in axes]


def broadcast_to(node, inputs):
    shape = node["shape"]
    require(len(shape) >= len(inputs[0].shape) and broadcast([inputs[0].shape, shape]) == shape,
            f"{inputs[0].shape} does not broadcast to {shape}")
    return inputs[0].kind, shape


def slices(node, inputs):
    shape, parts = inputs[0].shape, [node[name] for name in ("start", "stop", "step")]
    require(all(len(part) == len(shape) for part in parts), "start, stop and step need one integer an axis")
    out = []
    for size, start, stop, step in zip(shape, *parts):
        require(start >= 0 and step != 0 and stop >= (-1 if step < 0 else 0), "start, stop or step is out of range")
        indices = range(start, stop, step)
        require(not indices or max(indices[0], indices[-1]) < size, f"{indices} leaves an axis of {size}")
        out.append(len(indices))
    return inputs[0].kind, out


def concatenate(node, inputs):
    shape = inputs[0].shape
    axis = axis_of(node, shape)
    for x in inputs:
        require(x.shape[:axis] == shape[:axis] and x.shape[axis + 1:] == shape[axis + 1:] and
                len(x.shape) == len(shape), f"{x.shape} and {shape} differ beside axis {axis}")
    return inputs[0].kind, shape[:axis] + [sum(x.shape[axis] for x in inputs)] + shape[axis + 1:]


def gather(node, inputs):
    axis = axis_of(node, inputs[0].shape)
    return inputs[0].kind, inputs[0].shape[:axis] + inputs[1].shape + inputs[0].shape[axis + 1:]


def take_along(node, inputs):
    x, i = (one.shape for one in inputs[:2])
    axis = axis_of(node, x)
    require(len(x) == len(i) and x[:axis] == i[:axis] and x[axis + 1:] == i[axis + 1:],
            f"{x} and {i} differ beside axis {axis}")
    return inputs[0].kind, i


def scattering(take):
    """The transpose of a gather: the third input is added to x, the first one, at the places that a gather would
    take."""
    def result(node, inputs):
        taken = take(node, inputs)[1]
        require(taken == inputs[2].shape, f"{inputs[2].shape} is added where the indices take {taken}")
        return REAL, inputs[0].shape
    return result


def update(node, inputs):
    x, part, start = inputs[0].shape, inputs[1].shape, node["start"]
    require(len(x) == len(part) == len(start), "x, part and start have different numbers of axes")
    require(all(s >= 0 and s + p <= size for size, p, s in zip(x, part, start)), "the part leaves the array")
    return inputs[0].kind, x


def reduction(node, inputs):
    axes, shape = node["axes"], inputs[0].shape
    require(axes and axes == sorted(set(axes)) and 0 <= axes[0] and axes[-1] < len(shape),
            f"{axes} are no distinct, ascending axes of {shape}")
    require(node["op"] not in ("mean", "largest", "largest_share") or math.prod(shape[axis] for axis in axes) > 0, "of no elements")
    return inputs[0].kind, [size for axis, size in enumerate(shape) if axis not in axes]


def share(node, inputs):
    reduction(node, inputs)
    return REAL, inputs[0].shape


def along_axis(node, inputs):
    axis_of(node, inputs[0].shape)
    return inputs[0].kind, inputs[0].shape


def contract(node, inputs):
    x, y, out = node["of"].replace("->", ",").split(",")
    sizes = {}
    for letters, operand in zip((x, y), inputs):
        require(len(letters) == len(operand.shape), f"{letters} names other axes than {operand.shape} has")
        for letter, size in zip(letters, operand.shape):
            require(sizes.setdefault(letter, size) == size, f"{letter} has two sizes")
    require(set(out) <= set(sizes), "a letter of the result is in no operand")
    require(set(x) ^ set(y) <= set(out), "a letter of one operand alone is not in the result")
    return REAL, [sizes[letter] for letter in out]


def contract_where(node, inputs):
    require(inputs[2].shape == inputs[0].shape, "its mask has the shape of its first input")
    return contract(node, inputs[:2])


def frequencies(node, inputs):
    return REAL, [*inputs[0].shape, node["count"]]


def products(node, inputs):
    require(len(inputs) % 2 == 0, "products have two factors")
    return elementwise(node, inputs)


def data(node, inputs):
    is_right = {REAL: lambda x: double_of(x) is not None, BOOLEAN: lambda x: isinstance(x, bool),
                INTEGER: lambda x: is_integer(x, -2**53, 2**53)}[node["kind"]]
    require(len(node["values"]) == math.prod(node["shape"]), "as many values as elements")
    require(all(map(is_right, node["values"])), f"a value is no {node['kind']}")
    return node["kind"], node["shape"]


def scan(node, inputs):
    turns, carried, stepped, body = (node[name] for name in ("turns", "carried", "stepped", "body"))
    taken, given = ([body.nodes[i] for i in indices.values()] for indices in (body.inputs, body.outputs))
    require(carried + stepped <= len(inputs), f"{carried} carried and {stepped} stepped arrays of {len(inputs)}")
    require(len(taken) == len(inputs), f"its body has {len(taken)} inputs, not {len(inputs)}")
    require(len(given) >= max(1, carried), f"its body has {len(given)} outputs")
    for k, (x, y) in enumerate(zip(inputs, taken)):
        shape = [turns] * (0 <= k - carried < stepped) + y.shape
        require(x.kind == y.kind, f"input {k} of its body is a {y.kind}, not a {x.kind}")
        require(x.shape == shape, f"input {k} of its body takes {shape}, not {x.shape}")
    for k, y in enumerate(given):
        require(y.kind == REAL, f"output {k} of its body is no real")
        require(k >= carried or (inputs[k].kind == REAL and inputs[k].shape == y.shape),
                f"output {k} of its body is not what is carried")
        require(k < carried or len(y.shape) < AXES, f"output {k} of its body has no axis left for the turns")
    return REAL, [sum(y.size for y in given[:carried]) + turns * sum(y.size for y in given[carried:])]


def always(kind):
    return lambda node, inputs: (kind, [])


# For each operator: the kinds of its inputs, its attributes, kind and shape of the result. A tuple of kinds: one of
# these, the same for all inputs that have a tuple. A set of kinds: any of these. `...`: one or more inputs.
def rules():
    real, integer, boolean, number, any_kind = REAL, INTEGER, BOOLEAN, NUMBERS, KINDS
    axis, axes, shape = {"axis": is_integer}, {"axes": is_integers}, {"shape": is_shape}
    out = {
        "input": ((), {"name": is_name, "kind": lambda kind: kind in KINDS, **shape},
                  lambda node, inputs: (node["kind"], node["shape"])),
        "number": ((), {"value": lambda value: double_of(value) is not None}, always(REAL)),
        "data": ((), {"kind": lambda kind: kind in KINDS, **shape, "values": lambda values: isinstance(values, list)}, data),
        "setting": ((), {"value": lambda value: double_of(value) is not None}, always(REAL)),
        "fraction": ((), {"numerator": below(53), "denominator": positive_below(53)}, always(REAL)),
        "pi": ((), {}, always(REAL)),
        "integer": ((), {"value": is_integer}, always(INTEGER)),
        "boolean": ((), {"value": lambda value: isinstance(value, bool)}, always(BOOLEAN)),
        "iota": ((), {"size": lambda size: is_integer(size, 0)}, lambda node, inputs: (INTEGER, [node["size"]])),
        "power": ((real,), {"p": below(31), "q": positive_below(31)}, power),
        "is_nan": ((real,), {}, comparison),
        "not": ((boolean,), {}, elementwise),
        "where": ((boolean, any_kind, any_kind), {}, elementwise),
        "to_real": (((INTEGER, BOOLEAN),), {}, lambda node, inputs: (REAL, inputs[0].shape)),
        "index_number": ((integer,), {}, lambda node, inputs: (REAL, inputs[0].shape)),
        "to_integer": ((boolean,), {}, lambda node, inputs: (INTEGER, inputs[0].shape)),
        "reshape": ((any_kind,), shape, reshape),
        "transpose": ((any_kind,), axes, transpose),
        "broadcast": ((any_kind,), shape, broadcast_to),
        "slice": ((any_kind,), dict.fromkeys(("start", "stop", "step"), is_integers), slices),
        "concatenate": ((any_kind, ...), axis, concatenate),
        "gather": ((any_kind, integer), axis, gather),
        "take_along": ((any_kind, integer), axis, take_along),
        "scatter_add": ((real, integer, real), axis, scattering(gather)),
        "scatter_add_along": ((real, integer, real), axis, scattering(take_along)),
        "largest_share": ((real,), axes, share),
        "update": ((any_kind, any_kind), {"start": is_integers}, update),
        "softmax": ((real,), axis, along_axis),
        "cumulative_sum": ((number,), axis, along_axis),
        "contract": ((real, real), {"of": is_equation}, contract),
        "contract_where": ((real, real, boolean), {"of": is_equation}, contract_where),
        "geometric_frequencies": ((real,), {"first": natural_below(31), "count": natural_below(31),
                                            "steps": positive_below(31)}, frequencies),
        "sum_of_products": ((real, ...), {}, products),
        "scan": (({*KINDS}, ...), {"turns": lambda turns: is_integer(turns, 1, TURNS),
                                   **dict.fromkeys(("carried", "stepped"), lambda count: is_integer(count, 0)),
                                   "body": lambda body: isinstance(body, dict)}, scan),
        "taken_by": ((real,), {"from": is_name}, elementwise),
    }
    for kinds, result, names in (
            ((number, number), elementwise, "add subtract multiply maximum minimum"),
            ((real, real), elementwise, "divide pow log_add_exp right_as_well another_way off_by"),
            ((integer, integer), elementwise, "floor_divide remainder"),
            ((number,), elementwise, "negative magnitude"),
            ((real,), elementwise, "exp log log1p sin cos sine_of_angle cosine_of_angle tanh erf sigmoid softplus"),
            ((real,), elementwise, "log_sigmoid floor detach rounded_once"),
            ((number, number), comparison, "less less_equal equal"),
            ((boolean, boolean), elementwise, "and or")):
        out |= {name: (kinds, {}, result) for name in names.split()}
    out |= {name: ((real,), axes, reduction) for name in ("sum", "mean", "largest", "log_sum_exp")}
    return out | {name: ((boolean,), axes, reduction) for name in ("any", "all")}


RULES = rules()
