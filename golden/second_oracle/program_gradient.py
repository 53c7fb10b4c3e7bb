"""Derivatives of programs: cotangents go back from node to node, array by array.

None is a structural zero, where no derivative reaches: 0 * inf does not arise from it. No derivative passes `floor`,
`detach` and `largest_share`. log_sum_exp of nothing but -inf has the derivative 0; of more than one inf it is a
convention.
"""

from mpmath.libmp import finf, fninf

from formula import exceeds
from interval import Interval, Undecided, pi
from program_evaluation import elements_of_turn, turns_of
from program_functions import cos_sin, exp, index_of_largest, log, sigmoid, softmax
from program_numbers import NAN, ONE, PLUS_ZERO, add, divide, known_sign, multiply, negative, sign_of, subtract, total
from program_operators import (SCATTERS, broadcast_places, contracted_places, fraction, moved_from, rows_of,
                               scattered_places)
from program_powers import pow, power
from program_reading import REAL


class Convention(Exception):
    """A derivative that only a convention decides: of equal maxima, the maximum of a NaN, the magnitude of 0, several
    infinities."""


MINUS_ONE, TWO = Interval.of(-1), Interval.of(2)


def slope_of_magnitude(x, _):
    if x.is_nan:
        return x
    sign = sign_of(x)
    if sign == 0:
        raise Convention("the magnitude of 0")
    return ONE if sign > 0 else MINUS_ONE


def is_larger(x, y):
    if x.is_nan or y.is_nan:
        raise Convention("the maximum of a NaN")
    if x is y or (x.is_point and x.is_value(y.lo) and y.is_point):
        raise Convention("the maximum of equal numbers")
    return exceeds(x, y)


def in_exponent(x, y, out):
    if x.is_value(PLUS_ZERO.lo) and known_sign(y) == 1:
        return PLUS_ZERO  # the limit
    return multiply(out, log(x))


def in_base(x, y, _):
    if y.is_value(PLUS_ZERO.lo):
        return PLUS_ZERO  # x^0 is 1 everywhere
    return multiply(y, pow(x, subtract(y, ONE)))


def slope_of_sigmoid(x):
    return multiply(sigmoid(x), sigmoid(negative(x)))


def slope_of_tanh(x, _):
    """4 s(2 x) s(-2 x): 1 - tanh^2 without its cancellation."""
    return multiply(Interval.of(4), slope_of_sigmoid(multiply(TWO, x)))


def slope_of_erf(x, _):
    return divide(multiply(TWO, exp(negative(multiply(x, x)))), power(pi(), 1, 2))


def weights(numbers):
    """The derivatives of log_sum_exp."""
    infinite = [x.lo == finf for x in numbers]
    if any(infinite) and not any(x.is_nan for x in numbers):
        if sum(infinite) > 1:
            raise Convention("log_sum_exp of more than one infinity")
        return [ONE if one else PLUS_ZERO for one in infinite]
    return [PLUS_ZERO] * len(numbers) if all(x.lo == fninf for x in numbers) else softmax(numbers)


# The derivative in each operand, of the operands and the result. None: a structural zero.
DERIVATIVES = {
    "add": (lambda x, y, out: ONE, lambda x, y, out: ONE),
    "subtract": (lambda x, y, out: ONE, lambda x, y, out: MINUS_ONE),
    "multiply": (lambda x, y, out: y, lambda x, y, out: x),
    "divide": (lambda x, y, out: divide(ONE, y), lambda x, y, out: negative(divide(out, y))),
    "negative": (lambda x, out: MINUS_ONE,),
    "magnitude": (slope_of_magnitude,),
    "maximum": (lambda x, y, out: ONE if is_larger(x, y) else None, lambda x, y, out: ONE if is_larger(y, x) else None),
    "minimum": (lambda x, y, out: ONE if is_larger(y, x) else None, lambda x, y, out: ONE if is_larger(x, y) else None),
    "exp": (lambda x, out: out,),
    "log": (lambda x, out: NAN if out.is_nan else divide(ONE, x),),
    "log1p": (lambda x, out: NAN if out.is_nan else divide(ONE, add(ONE, x)),),
    "sin": (lambda x, out: cos_sin(x)[0],),
    "cos": (lambda x, out: negative(cos_sin(x)[1]),),
    "sine_of_angle": (lambda x, out: cos_sin(x)[0],),
    "cosine_of_angle": (lambda x, out: negative(cos_sin(x)[1]),),
    "tanh": (slope_of_tanh,), "erf": (slope_of_erf,),
    "sigmoid": (lambda x, out: slope_of_sigmoid(x),),
    "softplus": (lambda x, out: sigmoid(x),),
    "log_sigmoid": (lambda x, out: sigmoid(negative(x)),),
    "floor": (lambda x, out: None,), "taken_by": (lambda x, out: ONE,), "rounded_once": (lambda x, out: ONE,),
    "pow": (in_base, in_exponent),
    "log_add_exp": (lambda x, y, out: weights([x, y])[0], lambda x, y, out: weights([x, y])[1]),
    "right_as_well": (lambda x, y, out: ONE, lambda x, y, out: None),
    "another_way": (lambda x, y, out: ONE, lambda x, y, out: None),
    "off_by": (lambda x, y, out: ONE, lambda x, y, out: None),
}


def times(derivative, bar):
    return None if derivative is None or bar is None else bar if derivative is ONE else multiply(derivative, bar)


def accumulate(bars, place, x):
    if x is not None:
        bars[place] = x if bars[place] is None else add(bars[place], x)


def accumulate_all(bars, added, first=0):
    for place, x in enumerate(added, first):
        accumulate(bars, place, x)


def gradient_of_softmax(p, bars):
    """p_i times the sum of p_j (g_i - g_j): a weight that is 1 or 0 has the derivative 0 exactly."""
    out = []
    for i, weight in enumerate(p):
        inner = total(multiply(q, subtract(bars[i] or PLUS_ZERO, bar or PLUS_ZERO))
                      for j, (q, bar) in enumerate(zip(p, bars)) if j != i)
        out.append(multiply(weight, inner))
    return out


def slopes_of_largest(row):
    largest = index_of_largest(row)
    for k, x in enumerate(row):
        if k != largest:
            is_larger(row[largest], x)  # raises where it is not decided
    return [ONE if k == largest else None for k in range(len(row))]


def gradient_of_running_sums(bars):
    out = [None] * (len(bars) + 1)
    for k in range(len(bars) - 1, -1, -1):
        out[k] = bars[k]
        accumulate(out, k, out[k + 1])
    return out[:-1]


class Pullback:
    """Adds what the cotangents of one node contribute to those of its operands, into their lists."""

    def __init__(self, node, nodes, values, result):
        self.node, self.nodes, self.values, self.result = node, nodes, values, result
        self.inputs = [nodes[i] for i in node.inputs]
        self.operands = [values[i] for i in node.inputs]

    def run(self, bars, into):
        """`into` has a list for each operand that a derivative may reach, None for others."""
        if self.node.op in ("contract", "contract_where"):
            return self._contraction(bars, into)
        if self.node.op in SCATTERS:
            return self._scatter(bars, into)
        if self.node.op in ("softmax", "cumulative_sum"):
            return self._along(bars, into[0])
        if self.node.op == "scan":
            return self._turns(bars, into)
        if self.node.op == "geometric_frequencies":
            return self._frequencies(bars, into[0])
        if self.node.op in ("power", "sum_of_products") or self.node.op in DERIVATIVES:
            return self._elementwise(bars, into)
        if "axes" in self.node.attributes and self.node.op != "transpose":
            return self._reduction(bars, into[0])
        return self._move(bars, into)

    def _move(self, bars, into):
        owners = [(k, place) for k, one in enumerate(self.inputs) for place in range(one.size)]
        for source, bar in zip(moved_from(self.node, self.nodes, self.values), bars):
            k, place = owners[source]
            if into[k] is not None:
                accumulate(into[k], place, bar)

    def _scatter(self, bars, into):
        where = scattered_places(self.node, self.nodes, self.values)
        for k, sources in ((0, range(len(bars))), (2, where)):
            for place, source in enumerate(sources if into[k] is not None else ()):
                accumulate(into[k], place, bars[source])

    def _contraction(self, bars, into):
        pairs = contracted_places(self.node.attributes["of"], [one.shape for one in self.inputs[:2]])
        for bar, row in zip(bars, pairs):
            for places in zip(*row) if bar is not None else ():
                if self.node.op == "contract_where" and not self.operands[2][places[0]]:
                    continue
                for k in (0, 1):
                    if into[k] is not None:
                        accumulate(into[k], places[k], multiply(self.operands[1 - k][places[1 - k]], bar))

    def _along(self, bars, into):
        for row in rows_of(self.node.shape, [self.node.attributes["axis"]]):
            row_bars = [bars[i] for i in row]
            if all(bar is None for bar in row_bars):
                continue
            softened = self.node.op == "softmax"
            out = (gradient_of_softmax([self.result[i] for i in row], row_bars) if softened
                   else gradient_of_running_sums(row_bars))
            for place, x in zip(row, out):
                accumulate(into, place, x)

    def _turns(self, bars, into):
        """From the last turn to the first: what a turn carries has the cotangents of the next one."""
        body, carried, stepped = (self.node.attributes[name] for name in ("body", "carried", "stepped"))
        inputs, outputs = (list(indices.values()) for indices in (body.inputs, body.outputs))
        turns, passing, passes = list(turns_of(self.node, self.operands)), [one is not None for one in into], []
        for _ in turns:
            passes.append(reached(body.nodes, dict(zip(inputs, passing))))
            passing[:carried] = [passes[-1][index] for index in outputs[:carried]]
        given, place = [], 0
        for k, index in enumerate(outputs):
            size = body.nodes[index].size * (1 if k < carried else len(turns))
            given.append(bars[place:place + size])
            place += size
        for turn in range(len(turns) - 1, -1, -1):
            output_bars = {}
            for k, index in enumerate(outputs):
                one = given[k] if k < carried else elements_of_turn(turn, given[k], body.nodes[index].size)
                output_bars.setdefault(index, []).append(one)
            sums = swept(body.nodes, turns[turn], output_bars, passes[turn])
            for k, index in enumerate(inputs):
                found = sums.get(index, [None] * body.nodes[index].size)
                if k < carried:
                    given[k] = found
                elif into[k] is not None:
                    accumulate_all(into[k], found, turn * len(found) if k < carried + stepped else 0)
        for k in range(carried):
            if into[k] is not None:
                accumulate_all(into[k], given[k])

    def _reduction(self, bars, into):
        x = self.operands[0]
        for bar, row in zip(bars, rows_of(self.inputs[0].shape, self.node.attributes["axes"])):
            if bar is None:
                continue
            derivatives = {
                "sum": lambda row: [ONE] * len(row), "mean": lambda row: [fraction(1, len(row))] * len(row),
                "largest": lambda row: slopes_of_largest([x[i] for i in row]),
                "log_sum_exp": lambda row: weights([x[i] for i in row]),
            }[self.node.op](row)
            for place, derivative in zip(row, derivatives):
                accumulate(into, place, times(derivative, bar))

    def _frequencies(self, bars, into):
        first, count, steps = (self.node.attributes[name] for name in ("first", "count", "steps"))
        for k, (bar, y) in enumerate(zip(bars, self.result)):
            if bar is not None:
                place, t = divmod(k, count)
                slope = divide(multiply(fraction(-first - t, steps), y), self.operands[0][place])
                accumulate(into, place, multiply(bar, slope))

    def _elementwise(self, bars, into):
        if self.node.op == "power":
            p, q = self.node.attributes["p"], self.node.attributes["q"]
            rules = (lambda x, out: multiply(fraction(p, q), power(x, p - q, q)) if p else None,)
        elif self.node.op == "sum_of_products":
            rules = [lambda *all, k=k: all[k ^ 1] for k in range(len(self.inputs))]
        else:
            rules = DERIVATIVES[self.node.op]
        places = [broadcast_places(one.shape, self.node.shape) for one in self.inputs]
        for index, bar in enumerate(bars):
            if bar is None:
                continue
            operands = [operand[where[index]] for operand, where in zip(self.operands, places)]
            for k, rule in enumerate(rules):
                if into[k] is not None:
                    accumulate(into[k], places[k][index], times(rule(*operands, self.result[index]), bar))


def reached(nodes, wanted=None):
    """By node: whether a derivative may pass from it to an input, in the body of a loop to one that is wanted."""
    out = []
    for index, node in enumerate(nodes):
        passes = node.kind == REAL and node.op not in ("detach", "to_real", "index_number", "largest_share")
        is_end = node.op == "input" and (wanted is None or wanted[index])
        out.append(passes and (is_end or any(out[i] for i in node.inputs)))
    return out


def swept(nodes, values, bars, may_pass):
    """{node: cotangents} from the values of the nodes and the cotangents of some, which are lists of lists."""
    sums = {}
    for index, lists in bars.items():
        sums[index] = [None] * nodes[index].size
        for one in lists:
            accumulate_all(sums[index], one)
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        if node.op == "input" or not may_pass[index] or all(bar is None for bar in sums.get(index, ())):
            continue
        for i in node.inputs:
            if may_pass[i]:
                sums.setdefault(i, [None] * nodes[i].size)
        into = [sums[i] if may_pass[i] else None for i in node.inputs]
        try:
            Pullback(node, nodes, values, values[index]).run(sums[index], into)
        except (Undecided, Convention) as error:
            raise type(error)(f"node {index} ({node.op}): {error or 'undecided'}") from None
    return sums


def backward(program, values, bars):
    """{real input: cotangents}."""
    nodes = program.nodes
    sums = swept(nodes, values, bars, reached(nodes))
    return {name: [bar or PLUS_ZERO for bar in sums.get(index, [None] * nodes[index].size)]
            for name, index in program.inputs.items() if nodes[index].kind == REAL}
