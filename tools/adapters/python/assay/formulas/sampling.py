"""Calls too large to be judged whole: which positions of which axes a sample has.

An axis may be sampled where its positions do not reach one another: no operation of the program sums, shifts or indexes
along it, and the program of some positions is that of all but for sizes. Each element of the sample is then the element of
the whole call, and judged as it would be there.
"""
import json
import math
import re

import numpy

from assay.formulas.asking import formula_of

# The most steps of a call that is judged whole, and of a sample. A step is a term of a contraction; each number of another
# node counts as _STEPS_OF_A_NUMBER steps.
MOST_STEPS, STEPS_OF_SAMPLE, _STEPS_OF_A_NUMBER = 1 << 27, 1 << 26, 8

# The result has the shape of the operand; positions along the axes mix.
_SAME_SHAPE = {"largest_share", "softmax", "cumulative_sum"}
_REDUCTIONS = {"sum", "mean", "largest", "log_sum_exp", "any", "all"}
_SIZES = {"shape", "stop"}  # attributes that hold sizes of axes; they may differ between two sizes of a program


class _Axes:
    """The axes of all arrays of a program, joined where a position of one is that of the other."""

    def __init__(self):
        self._up, self.mixed, self.size = [], set(), []
        self.flat = set()  # axes of scans, and of parts of them: many axes one after another

    def new(self, size, is_mixed=False):
        self._up.append(len(self._up))
        self.size.append(size)
        if is_mixed:
            self.mixed.add(len(self._up) - 1)
        return len(self._up) - 1

    def root(self, axis):
        while self._up[axis] != axis:
            axis = self._up[axis]
        return axis

    def join(self, a, b):
        a, b = self.root(a), self.root(b)
        if a != b:
            self._up[b] = a
            if b in self.mixed:
                self.mixed.add(a)

    def mix(self, *axes):
        self.mixed.update(self.root(axis) for axis in axes)

    def sizes(self, axes):
        return tuple(self.size[axis] for axis in axes)


class _Reading:
    """The axes of each array of a program. `costs`: (weight, axes) of all its work: the steps are weight times the
    sizes."""

    def __init__(self, axes, costs):
        self.axes, self.costs, self._parts = axes, costs, {}

    def run(self, program, given=None):
        """The axes of each node. `given`: the axes of each input, in order."""
        now, inputs = [], iter(given or ())
        for node in program["nodes"]:
            taken = [now[k] for k in node.get("in", ())]
            if node["op"] == "input" and given is not None:
                now.append(next(inputs))
            else:
                now.append(self._axes_of_node(node, taken, len(now)))
            self.costs.append((_STEPS_OF_A_NUMBER, now[-1]))
        return now

    def _axes_of_node(self, node, taken, k):
        op = node["op"]
        known = getattr(self, "_" + op, None)
        if known:
            return known(node, taken)
        if op in ("input", "data"):
            return [self.axes.new(size, op == "data" and size > 1) for size in node["shape"]]
        if op in _REDUCTIONS or op in _SAME_SHAPE:
            along = node.get("axes", [node.get("axis")])
            self.axes.mix(*(taken[0][axis] for axis in along))
            return taken[0] if op in _SAME_SHAPE else [a for axis, a in enumerate(taken[0]) if axis not in along]
        if op.startswith("scatter"):
            self.axes.mix(*(a for one in taken for a in one))
            return taken[0]
        return self._beside(taken)

    def _beside(self, taken, shape=None):
        """The axes of an elementwise result, broadcast as NumPy does."""
        shape = shape or numpy.broadcast_shapes(*(self.axes.sizes(one) for one in taken))
        made = []
        for back in range(len(shape), 0, -1):
            like = [one[-back] for one in taken if len(one) >= back and self.axes.size[one[-back]] == shape[-back]]
            if shape[-back] == 1 or not like:
                made.append(self.axes.new(shape[-back]))
                continue
            for other in like[1:]:
                self.axes.join(like[0], other)
            made.append(like[0])
        return made

    def _iota(self, node, taken):
        return [self.axes.new(node["size"], True)]

    def _geometric_frequencies(self, node, taken):
        return [*taken[0], self.axes.new(node["count"], True)]

    def _broadcast(self, node, taken):
        return self._beside(taken, tuple(node["shape"]))

    def _transpose(self, node, taken):
        return [taken[0][axis] for axis in node["axes"]]

    def _slice(self, node, taken):
        made = []
        for a, start, stop, step in zip(taken[0], node["start"], node["stop"], node["step"]):
            if (start, stop, step) == (0, self.axes.size[a], 1):
                made.append(a)
            else:
                self.axes.mix(a)
                made.append(self.axes.new(len(range(start, stop, step)), True))
                self.axes.flat.update(made[-1:] if a in self.axes.flat else ())
        part = self._part_of(taken[0], self.axes.sizes(made), node["start"])
        if part:
            self._parts[tuple(made)] = {0: part}
            return part if len(part) == 1 else made
        return made

    def _part_of(self, flat, shape, start=(0,)):
        """The axes of a part of a scan, of which this is a box of so many elements; None of other arrays."""
        part = self._parts.get(tuple(flat), {}).get(start[0] if start else None)
        return part if part and math.prod(self.axes.sizes(part)) == math.prod(shape) else None

    def _reshape(self, node, taken):
        own, shape = taken[0], tuple(node["shape"])
        part = self._part_of(own, shape)
        if part and self.axes.sizes(part) == shape:
            return part
        made = []
        own = [a for a in own if self.axes.size[a] != 1]
        while own or len(made) < len(shape):
            if len(made) < len(shape) and shape[len(made)] == 1:
                made.append(self.axes.new(1))
                continue
            if not own:  # an empty array
                return [self.axes.new(size, True) for size in shape]
            group, into = [own.pop(0)], [len(made)]
            made.append(None)
            while math.prod(self.axes.sizes(group)) != math.prod(shape[k] for k in into):
                if math.prod(self.axes.sizes(group)) < math.prod(shape[k] for k in into) and own:
                    group.append(own.pop(0))
                elif len(made) < len(shape):
                    into.append(len(made))
                    made.append(None)
                else:
                    return [self.axes.new(size, True) for size in shape]
            if len(group) == len([k for k in into if shape[k] != 1]) == 1:
                for k in into:
                    made[k] = group[0] if shape[k] != 1 else self.axes.new(1)
            else:
                self.axes.mix(*group)
                for k in into:
                    made[k] = self.axes.new(shape[k], shape[k] != 1)
        return made

    def _concatenate(self, node, taken):
        along = node["axis"]
        self.axes.mix(*(one[along] for one in taken))
        size = sum(self.axes.size[one[along]] for one in taken)
        for one in taken[1:]:
            for axis, a in enumerate(one):
                if axis != along:
                    self.axes.join(taken[0][axis], a)
        return [self.axes.new(size, True) if axis == along else a for axis, a in enumerate(taken[0])]

    def _gather(self, node, taken):
        x, index = taken
        self.axes.mix(x[node["axis"]])
        return [*x[:node["axis"]], *index, *x[node["axis"] + 1:]]

    def _take_along(self, node, taken):
        x, index = taken
        self.axes.mix(x[node["axis"]], index[node["axis"]])
        for axis, (a, b) in enumerate(zip(x, index)):
            if axis != node["axis"]:
                self.axes.join(a, b)
        return index

    def _update(self, node, taken):
        base, box = taken
        for a, b, start in zip(base, box, node["start"]):
            if start == 0 and self.axes.size[a] == self.axes.size[b]:
                self.axes.join(a, b)
            else:
                self.axes.mix(a, b)
        return base

    def _contract(self, node, taken):
        operands, kept = node["of"].split("->")
        by_letter = {}
        for letters, one in zip(operands.split(","), taken):
            for letter, a in zip(letters, one):
                self.axes.join(by_letter.setdefault(letter, a), a)
        self.axes.mix(*(a for letter, a in by_letter.items() if letter not in kept))
        self.costs.append((1, list(by_letter.values())))
        return [by_letter[letter] for letter in kept]

    def _scan(self, node, taken):
        carried, stepped = node["carried"], node["stepped"]
        stacks = taken[carried:carried + stepped]
        self.axes.mix(*(one[0] for one in stacks))
        body = _Reading(self.axes, [])
        inside = body.run(node["body"], [*taken[:carried], *(one[1:] for one in stacks), *taken[carried + stepped:]])
        turns = self.axes.new(node["turns"], True)
        self.costs.extend((weight, [turns, *axes]) for weight, axes in body.costs)
        parts, first = {}, 0
        for k, output in enumerate(node["body"]["outputs"]):
            made = inside[output["node"]]
            if k < carried:
                for a, b in zip(taken[k], made):
                    self.axes.join(a, b)
            part = made if k < carried else [turns, *made]
            parts[first] = part
            first += math.prod(self.axes.sizes(part))
        flat = [self.axes.new(first, True)]
        self.axes.flat.add(flat[0])
        self._parts[tuple(flat)] = parts
        return flat


def _is_same_but_for_sizes(a, b):
    """Whether two programs differ in sizes alone."""
    if len(a["nodes"]) != len(b["nodes"]) or a["outputs"] != b["outputs"]:
        return False
    for x, y in zip(a["nodes"], b["nodes"]):
        if "body" in x and not ("body" in y and _is_same_but_for_sizes(x["body"], y["body"])):
            return False
        # Where a part of a scan begins depends on the sizes.
        is_of_scan = x["op"] == "slice" and a["nodes"][x["in"][0]]["op"] == "scan"
        if any(x.get(name) != y.get(name) for name in (x.keys() | y.keys()) - _SIZES - {"body"} - ({"start"} if is_of_scan else set())):
            return False
    return True


class Sample:
    """The formula of some positions, and their inputs. `places`: for each input and output the positions along each axis;
    None for an axis that is whole."""

    def __init__(self, formula, inputs, places, shapes):
        self.formula, self.inputs, self.places, self._shapes = formula, inputs, places, shapes

    def sampled_outputs(self, outputs):
        """The outputs at the sampled positions. An output of another shape than in the whole call stays, and is refused."""
        return {name: at_places(x, self.places[name]) if tuple(getattr(x, "shape", ())) == self._shapes.get(name) else x
                for name, x in outputs.items()}

    def words(self, words):
        """The words of a judgement of the sample, with the places of the whole call."""
        def whole(found):
            index = [int(k) for k in found[2].split(",")]
            chosen = self.places.get(found[1])
            if chosen is None or len(index) != len(chosen):
                return found[0]
            return f"{found[1]}{[k if one is None else int(one[k]) for k, one in zip(index, chosen)]}"
        kept = [f"{len(one)} of {size} positions of axis {axis} of {name}" for name, shape in self._shapes.items()
                for axis, (one, size) in enumerate(zip(self.places[name], shape)) if one is not None]
        return re.sub(r"\b(\w+)\[([\d, ]+)\]", whole, words) + f" (a sample: {', '.join(kept)})"


def sampled(formula, inputs):
    """A Sample of the call, or None if it is judged whole: it is small, no axis may be sampled, or the function of
    fewer positions fails or has another program."""
    program, axes, costs = json.loads(formula.text), _Axes(), []
    now = _Reading(axes, costs).run(program)
    input_axes = {node["name"]: now[k] for k, node in enumerate(program["nodes"]) if node["op"] == "input"}
    output_axes = {output["name"]: now[output["node"]] for output in program["outputs"]}
    seen = {axes.root(a) for one in output_axes.values() for a in one} & {axes.root(a) for one in input_axes.values() for a in one}
    free = {a: axes.size[a] for a in seen if a not in {axes.root(one) for one in axes.mixed} and axes.size[a] > 2}

    def size_in(kept, a):
        return kept.get(axes.root(a), axes.size[a])

    def steps(kept):
        return sum(weight * math.prod(size_in(kept, a) for a in one) for weight, one in costs)
    if steps({}) <= MOST_STEPS or not free:
        return None
    kept = dict(free)
    while steps(kept) > STEPS_OF_SAMPLE and max(kept.values()) > 2:
        largest = max(kept, key=kept.get)
        kept[largest] = max(2, kept[largest] // 2)
    random = numpy.random.default_rng(0)
    chosen = {a: numpy.sort(numpy.append(random.choice(numpy.arange(1, free[a] - 1), size - 2, replace=False), [0, free[a] - 1]))
              for a, size in kept.items() if size < free[a]}
    places = {name: [chosen.get(axes.root(a)) for a in one] for name, one in {**input_axes, **output_axes}.items()}
    try:
        few = {name: at_places(value, places[name]) for name, value in inputs.items()}
        found = formula_of(formula.function, few, formula.settings)
    except Exception:  # pylint: disable=broad-except # a function may refuse other sizes
        return None
    own, own_axes, own_costs = json.loads(found.text), _Axes(), []
    if not _is_same_but_for_sizes(program, own):
        return None
    _Reading(own_axes, own_costs).run(own)
    if any(size_in(kept, a) != own_axes.size[b] for (_, cost_axes), (_, own_cost_axes) in zip(costs, own_costs)
           for a, b in zip(cost_axes, own_cost_axes)
           if a not in axes.flat):
        return None  # something else depends on a size
    return Sample(found, few, places, {name: axes.sizes(one) for name, one in output_axes.items()})


def at_places(array, places):
    """The array at some positions along each axis; None stands for all positions."""
    for axis, chosen in enumerate(places):
        if chosen is not None:
            array = array[(slice(None),) * axis + (chosen,)]
    return array
