"""Arrays that record what is done with them.

A traced array stands for an array of float64, int64 or bool. It is a node of the program that is being written. If it
depends on no input, it is known: it holds its numbers, too. The function may then read them, loop over them and branch on
them, and the array stays an exact expression of sizes and settings. Writes go through views as NumPy's do: a view
remembers the array that it shows.
"""
from fractions import Fraction

from assay.formulas.plain import numpy
from numpy.lib.mixins import NDArrayOperatorsMixin

from assay.formulas.program import BOOLEAN, DTYPE_OF, KIND_OF, REAL, Writer
from assay.formulas.refusal import CannotTrace, line_of_caller, step_of_caller

_tracing = []  # the writers of the traces that run; the last one is in use


def writer() -> Writer:
    if not _tracing:
        raise CannotTrace("an array that an earlier trace made", "the function keeps it, in a cache or a global")
    return _tracing[-1]


def is_tracing():
    return bool(_tracing)


class Cell:
    """The elements that an array and its views share. If they are known integers or truths, their node is written only when
    it is asked for: as the operation that made them (MadeBy), or else as a constant."""

    def __init__(self, node, value, kind, shape, made_by=None):
        self.own_node, self.value, self.kind, self.shape = node, value, kind, tuple(int(size) for size in shape)
        self.version, self.writer, self.made_by = 0, _tracing[-1] if _tracing else None, made_by
        self.step = (_tracing[-1].step or step_of_caller()) if node is None and _tracing else None

    @property
    def node(self):
        if self.own_node is None:
            with writer().at_step(self.step):
                written = self.made_by.node() if self.made_by else None
                self.own_node = writer().constant(self.value) if written is None else written
        return self.own_node

    def assign(self, node, value):
        self.own_node, self.value, self.made_by = node, value, None
        self.version += 1


class MadeBy:
    """The operation that computed known integers or truths, and its operands, which are known arrays."""
    DEEPEST = 64  # operations within one another that node() writes; it calls itself for each operand

    def __init__(self, op, kind, arrays):
        self.op, self.kind, self.arrays = op, kind, arrays
        self.versions = [x._cell.version for x in arrays]
        self.depth = 1 + max((x._cell.made_by.depth for x in arrays if x._cell.made_by), default=0)

    def node(self):
        """The node of the operation. None if an operand was written to since, or if the operations are nested too deep."""
        if self.depth > self.DEEPEST or self.versions != [x._cell.version for x in self.arrays]:
            return None
        program = writer()
        return program.elementwise(self.op, [program.to_kind(x.node, self.kind) for x in self.arrays],
                                   BOOLEAN if self.op in _TRUTHS else self.kind)


_TRUTHS = ("less", "less_equal", "equal", "and", "or", "not")


class Size(int):
    """A size or a setting: an integer that stays exact where it becomes a real."""


class Number(float):
    """A setting that is a real number: what is computed from it stays exact."""


class Exact(float):
    """A number computed from sizes and settings, for a framework that takes only plain numbers. `array` is the traced array
    of this number; the writer finds it again by its double."""

    @classmethod
    def from_array(cls, array):
        made = cls(array.value)
        made.array = array
        writer().exact.setdefault(float(made), array)
        return made

    def __neg__(self):
        return _dispatch("negative", (self,))

    def astype(self, dtype, **_):  # NumPy's numbers have this method: np.sqrt(d).astype(x.dtype)
        writer().casts_to(dtype)
        return self

    def item(self):
        return self


def plain_number(x):
    """A known real number as an Exact, if the framework of the traced function takes only plain numbers; else x itself."""
    is_exact = isinstance(x, Traced) and writer().exact is not None and not x.ndim and x.kind == REAL and x.value is not None
    return Exact.from_array(x) if is_exact else x


def given_back(x):
    """The result x of a function of NumPy or of math, in the form that the traced function gets."""
    return (writer().given_back or plain_number)(x)


def _method_of_plain(name, reflected):
    """An operator of Size, Number and Exact: whole results of whole numbers are sizes, and others are traced."""
    def method(self, other):
        if isinstance(other, (numpy.ndarray, Traced)):
            return NotImplemented
        pair = (other, self) if reflected else (self, other)
        whole = all(isinstance(x, int) for x in pair)
        if name in ("add", "subtract", "multiply", "floor_divide", "remainder") and whole:
            return Size({"add": int.__add__, "subtract": int.__sub__, "multiply": int.__mul__,
                         "floor_divide": int.__floordiv__, "remainder": int.__mod__}[name](int(pair[0]), int(pair[1])))
        if name == "power" and whole and pair[1] >= 0:
            return Size(int(pair[0]) ** int(pair[1]))
        if not isinstance(other, (int, float)):
            return NotImplemented
        return _dispatch(name, pair)
    return method


def _dispatch(name, arguments):
    from assay.formulas.functions import UFUNCS
    return plain_number(UFUNCS[name](*arguments))


for _name, _method in (("add", "add"), ("subtract", "sub"), ("multiply", "mul"), ("true_divide", "truediv"),
                       ("floor_divide", "floordiv"), ("remainder", "mod"), ("power", "pow")):
    for _plain in (Size, Number, Exact):
        for _reflected in (False, True):
            setattr(_plain, f"__{'r' * _reflected}{_method}__", _method_of_plain(
                "divide" if _name == "true_divide" else _name, _reflected))


class View:
    """One step from an array to a view of it: a box of its elements, or all of them in another shape or order.

    read(node): the node of the view. read_value(value): the numbers of the view. write(node, part): the node of the array
    after `part` was written to the view.
    """

    def __init__(self, read, read_value, write, shape):
        self.read, self.read_value, self.write, self.shape = read, read_value, write, tuple(shape)


class Traced(NDArrayOperatorsMixin):
    __array_priority__ = 1e6

    def __init__(self, cell, views=()):
        self._cell, self._views, self._known = cell, views, None

    # What the array is.

    @property
    def __class__(self):
        return numpy.ndarray  # isinstance(x, numpy.ndarray) holds; type(x) is still Traced

    @property
    def kind(self):
        return self._cell.kind

    @property
    def plain_shape(self):
        return self._views[-1].shape if self._views else self._cell.shape

    @property
    def shape(self):
        return tuple(Size(size) for size in self.plain_shape)

    @property
    def ndim(self):
        return len(self.plain_shape)

    @property
    def size(self):
        return Size(int(numpy.prod(self.plain_shape, dtype=numpy.int64)))

    @property
    def dtype(self):
        return DTYPE_OF[self.kind]

    @property
    def node(self):
        if self._cell.writer is not writer():
            raise CannotTrace("an array that an earlier trace made", "the function keeps it, in a cache or a global")
        if self._known is None or self._known[0] != self._cell.version:
            node = self._cell.node
            for view in self._views:
                node = view.read(node)
            self._known = self._cell.version, node
        return self._known[1]

    @property
    def value(self):
        """The numbers, or None if they depend on an input."""
        value = self._cell.value
        for view in self._views:
            if value is not None:
                value = view.read_value(value)
        return value

    def write(self, node, value):
        """Replaces the elements. All views of the same array see the new ones."""
        self._cell.assign(*self._written(0, (self._cell.node, self._cell.value), (node, value)))

    def _written(self, step, old, new):
        """(node, value) of the array `old` that stands before this step of the views, after `new` was written to the last one."""
        if step == len(self._views):
            return new
        view = self._views[step]
        inner = view.read(old[0]), None if old[1] is None else view.read_value(old[1])
        inner = self._written(step + 1, inner, new)
        value = None
        if old[1] is not None and inner[1] is not None:
            value = old[1].copy()
            view.read_value(value)[...] = inner[1]
        return view.write(old[0], inner[0]), value

    def viewed(self, view):
        return Traced(self._cell, (*self._views, view))

    # What asks for numbers: it refuses arrays that depend on an input.

    def _numbers(self, what, instead):
        value = self.value
        if value is None:
            raise CannotTrace(f"{what} of a number that the inputs decide", instead)
        return value

    def __bool__(self):
        return bool(self._numbers("`if`, `and`, `or`, `not` or `while`", "write numpy.where, & or |, and for max() and min() numpy.maximum and numpy.minimum"))

    def __int__(self):
        return int(self._numbers("int()", "a program has the same nodes whatever its inputs are"))

    def __index__(self):
        if self.kind == REAL:
            raise TypeError("a real number is no index")
        return int(self._numbers("an index", "write numpy.take or take_along_axis"))

    def __float__(self):
        return float(self._numbers("float()", "leave it an array"))

    def __array__(self, dtype=None, copy=None):
        value = self._numbers("an array of numbers", "the function that is called here is not traced")
        return numpy.array(value, dtype=dtype)

    def item(self, *index):
        return self._numbers("item()", "leave it an array").item(*index)

    def tolist(self):
        return self._numbers("tolist()", "leave it an array").tolist()

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.plain_shape[0]

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def __repr__(self):
        return f"<traced {self.kind} {list(self.plain_shape)}>"

    __hash__ = None

    # What NumPy and Python's operators call.

    def __array_ufunc__(self, ufunc, method, *arguments, out=None, **more):
        from assay.formulas.dispatch import ufunc_result
        return ufunc_result(ufunc.__name__, method, arguments, out, more)

    def __array_function__(self, function, types, arguments, more):
        from assay.formulas.dispatch import function_result
        return function_result(function.__name__, arguments, more, f"{function.__module__}.{function.__name__}")

    def __getitem__(self, key):
        from assay.formulas.indexing import taken
        return taken(self, key)

    def __setitem__(self, key, new):
        from assay.formulas.indexing import put
        put(self, key, new)

    def __getattr__(self, name):
        from assay.formulas.dispatch import method_named
        return method_named(self, name)

    def __copy__(self):
        return self.copy()

    def __round__(self, digits=None):
        return round(self._numbers("round()", "write numpy.floor").item(), digits)

    def __format__(self, format_spec):
        return format(self.value.item() if self.value is not None and not self.ndim else repr(self), format_spec)

    def is_integer(self):
        return float(self).is_integer()

    @property
    def T(self):
        return self.transpose()


def made(node, value=None):
    """A new array for a node, and its numbers if they are known."""
    program = writer()
    return Traced(Cell(node, value, program.kinds[node], program.shapes[node]))


def constant(value, made_by=None):
    """An array of known integers or truths; `made_by` is the operation that computed them."""
    value = numpy.array(value)
    kind = KIND_OF[value.dtype.kind]
    return Traced(Cell(None, value.astype(DTYPE_OF[kind]), kind, value.shape, made_by if value.size > 1 else None))


def as_traced(x):
    """The traced array of an argument of an operator or function."""
    if isinstance(x, (Traced, Exact)):
        return x if isinstance(x, Traced) else x.array
    if isinstance(x, int) and abs(x) >= 2**63:
        if Fraction(float(x)) != x:
            raise CannotTrace(f"the integer {x}", "write it as a float")
        x = float(x)
    if isinstance(x, (bool, int, numpy.bool_, numpy.integer)):
        return constant(bool(x) if isinstance(x, (bool, numpy.bool_)) else int(x))
    if isinstance(x, Fraction):
        return made(writer().add("fraction", (), REAL, (), numerator=x.numerator, denominator=x.denominator),
                    numpy.float64(x))
    if isinstance(x, (float, numpy.floating)):
        return made(writer().number(x), numpy.float64(x))
    if isinstance(x, (list, tuple)):
        from assay.formulas.creating import array_of
        return array_of(x)
    if isinstance(x, numpy.ndarray) and x.dtype.kind in "biu":
        return constant(x)
    if isinstance(x, numpy.ndarray) and x.dtype.kind == "f":
        return captured(x)
    if isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c":
        raise CannotTrace("a complex number", "write its two parts, such as a cosine and a sine")
    raise CannotTrace(f"an operand of the type {type(x).__name__}")


def captured(array):
    """The traced array of numbers that come from no input and no size. They count as exact. Arrays of different numbers are
    reported."""
    known = writer().known_array and writer().known_array(array)
    if known is not None:
        return known
    wide = numpy.asarray(array, dtype=numpy.float64)
    if wide.ndim == 0 or (wide.size and (wide == wide.flat[0]).all()):
        node = writer().broadcast(writer().number(wide.flat[0]), wide.shape)
    else:
        node = writer().data(wide)
        writer().captured.setdefault(node, (line_of_caller(), wide.shape))
    return made(node, wide)
