"""Writes programs (assay-program/1) while a function is traced: nodes over arrays, equal ones once."""
import contextlib
import json

from assay.formulas.plain import numpy
from assay.formulas.refusal import CannotTrace, step_of_caller
from assay.formulas.rolling import Nodes, rolled_up

REAL, INTEGER, BOOLEAN = "real", "integer", "boolean"
FLOATS = ("f64", "f32", "f16", "bf16")  # the widest first
MOST_NODES = 1 << 18  # before loops are rolled up
KIND_OF = {"f": REAL, "i": INTEGER, "u": INTEGER, "b": BOOLEAN}
DTYPE_OF = {REAL: numpy.dtype(numpy.float64), INTEGER: numpy.dtype(numpy.int64), BOOLEAN: numpy.dtype(numpy.bool_)}


class Writer:
    """The nodes so far. A node is a number, and has a kind and a shape."""

    def __init__(self, narrowest="f64", exact=None):
        self.nodes, self.kinds, self.shapes, self.written = [], [], [], {}
        self.step = None  # the step that is written now, if it is not that of the caller
        self.steps = []  # the (file, line, expression) that wrote each node
        self.captured = {}  # input: its array
        self.narrowest = narrowest  # the narrowest float to which the function casts
        self.exact = exact  # numbers by their doubles, where a framework passes on doubles alone: see plain_number
        self.foreign = {}  # arrays of a framework that the function did not make, by their identity
        self.given_back = None  # converts results of NumPy's functions for a framework that takes no array that records
        self.known_array = None  # finds the exact array of a value that such a framework gives back; None for other values
        self.stage, self.stages = None, {}  # the stage that is written now; by name: (whether it is narrow, where it begins)

    def add(self, op, inputs, kind, shape, /, **attributes):
        node = {"op": op, **({"in": list(inputs)} if inputs else {}), **attributes, **({"stage": self.stage} if self.stage else {})}
        key = json.dumps(node, sort_keys=True)
        step = self.step or step_of_caller()
        if not inputs and op != "input":
            key += repr(step)  # equal numbers of two steps stay apart: a fault in one is no fault in the other
        if key not in self.written:
            if len(self.nodes) == MOST_NODES:
                raise CannotTrace(f"a program of more than {MOST_NODES} operations", "a loop has too many turns at this size")
            self.written[key] = len(self.nodes)
            self.nodes.append(node)
            self.steps.append(step)
            self.kinds.append(kind)
            self.shapes.append(tuple(int(size) for size in shape))
        return self.written[key]

    def casts_to(self, dtype):
        """Notes a cast. It changes no truth: the function means the number. The narrowest float of all casts is reported."""
        dtype = numpy.dtype(dtype)
        if dtype.kind == "f":
            self.casts_to_named(f"f{min(8 * dtype.itemsize, 64)}")

    def casts_to_named(self, name):
        self.narrowest = max(self.narrowest, name, key=FLOATS.index)

    @contextlib.contextmanager
    def at_step(self, step):
        kept, self.step = self.step, step
        try:
            yield
        finally:
            self.step = kept

    def input(self, name, kind, shape):
        return self.add("input", (), kind, shape, name=name, kind=kind, shape=[int(size) for size in shape])

    def elementwise(self, op, inputs, kind):
        return self.add(op, inputs, kind, numpy.broadcast_shapes(*(self.shapes[k] for k in inputs)))

    def number(self, value):
        value = float(value)
        return self.add("number", (), REAL, (), value=value if numpy.isfinite(value) else str(value))

    def integer(self, value):
        return self.add("integer", (), INTEGER, (), value=int(value))

    def broadcast(self, node, shape):
        shape = tuple(int(size) for size in shape)
        return node if self.shapes[node] == shape else self.add("broadcast", (node,), self.kinds[node], shape,
                                                                shape=list(shape))

    def reshape(self, node, shape):
        shape = tuple(int(size) for size in shape)
        return node if self.shapes[node] == shape else self.add("reshape", (node,), self.kinds[node], shape,
                                                                shape=list(shape))

    def transpose(self, node, axes):
        axes = [int(axis) for axis in axes]
        if axes == sorted(axes):
            return node
        return self.add("transpose", (node,), self.kinds[node], [self.shapes[node][axis] for axis in axes], axes=axes)

    def slices(self, node, ranges):
        """The box of an array with one range for each axis."""
        shape = self.shapes[node]
        if all(r == range(size) for r, size in zip(ranges, shape)):
            return node
        return self.add("slice", (node,), self.kinds[node], [len(r) for r in ranges],
                        start=[r.start if len(r) else 0 for r in ranges],
                        stop=[(r.stop if r.step > 0 else max(r.stop, -1)) if len(r) else 0 for r in ranges],
                        step=[r.step if len(r) else 1 for r in ranges])

    def concatenate(self, nodes, axis):
        if len(nodes) == 1:
            return nodes[0]
        shape = list(self.shapes[nodes[0]])
        shape[axis] = sum(self.shapes[k][axis] for k in nodes)
        return self.add("concatenate", nodes, self.kinds[nodes[0]], shape, axis=axis)

    def constant(self, array):
        """An array of integers or truths, each of them exact."""
        array = numpy.asarray(array)
        kind = KIND_OF[array.dtype.kind]
        if kind == INTEGER and array.ndim == 1 and array.size and (array == numpy.arange(array.size)).all():
            return self.add("iota", (), INTEGER, array.shape, size=array.size)
        if array.size and (array == array.flat[0]).all():
            first = array.flat[0]
            leaf = (self.integer(first) if kind == INTEGER else
                    self.add("boolean", (), BOOLEAN, (), value=bool(first)))
            return self.broadcast(leaf, array.shape)
        once = array
        for axis in range(array.ndim):  # rows that are repeated along an axis are written once
            first = numpy.take(once, [0], axis) if once.shape[axis] > 1 else once
            once = first if (once == first).all() else once
        return self.broadcast(self.data(once), array.shape)

    def data(self, array):
        """An array as a list of its values."""
        array = numpy.asarray(array)
        kind = KIND_OF[array.dtype.kind]
        values = array.ravel().tolist()
        if kind == REAL:
            values = [x if numpy.isfinite(x) else str(x) for x in values]
        return self.add("data", (), kind, array.shape, kind=kind, shape=list(array.shape), values=values)

    def to_kind(self, node, kind):
        own = self.kinds[node]
        if own == kind:
            return node
        if kind == REAL:
            return self.elementwise("to_real", (node,), REAL)
        if own == BOOLEAN and kind == INTEGER:
            return self.elementwise("to_integer", (node,), INTEGER)
        raise ValueError(f"a {own} is no {kind}")

    def text(self, outputs):
        """(assay-program/1, the steps of its nodes): the nodes that outputs need, and all inputs, with loops rolled up;
        `outputs`: node by name. The steps of a loop's body stand before the step of the loop."""
        if self.stages:
            for node in self.nodes:
                if node["op"] != "input":
                    node.setdefault("stage", "rest")
        rolled, outputs = rolled_up(Nodes(self.nodes, self.kinds, self.shapes, self.steps), outputs)
        text = json.dumps({"schema": "assay-program/1", "nodes": rolled.nodes,
                           "outputs": [{"name": name, "node": k} for name, k in outputs.items()]})
        return text, rolled.all_steps()
