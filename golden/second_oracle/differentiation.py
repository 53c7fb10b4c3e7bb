"""Derivatives of interval computations by a tape: each number keeps its derivatives with respect to its arguments."""

from interval import Interval

ONE = Interval.of(1)


class Number:
    """A number on a tape. Formulas use it exactly as they use an Interval."""
    __slots__ = ("value", "arguments", "tape", "bar")

    def __init__(self, tape, value, arguments=()):
        self.value, self.arguments, self.tape, self.bar = value, arguments, tape, None
        tape.append(self)

    def _on_tape(self, value, *arguments):
        return Number(self.tape, value, arguments)

    def __neg__(self):
        return self._on_tape(-self.value, (self, -ONE))

    def __add__(self, other):
        if isinstance(other, Interval):
            return self._on_tape(self.value + other, (self, ONE))
        return self._on_tape(self.value + other.value, (self, ONE), (other, ONE))

    __radd__ = __add__

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        if isinstance(other, Interval):
            return self._on_tape(self.value * other, (self, other))
        return self._on_tape(self.value * other.value, (self, other.value), (other, self.value))

    __rmul__ = __mul__

    def __truediv__(self, other):
        if isinstance(other, Interval):
            return self._on_tape(self.value / other, (self, ONE / other))
        quotient = self.value / other.value
        return self._on_tape(quotient, (self, ONE / other.value), (other, -(quotient / other.value)))

    def __rtruediv__(self, other):
        quotient = other / self.value
        return self._on_tape(quotient, (self, -(quotient / self.value)))

    def exp(self):
        value = self.value.exp()
        return self._on_tape(value, (self, value))

    def log(self):
        return self._on_tape(self.value.log(), (self, ONE / self.value))

    def cos_sin(self):
        cosine, sine = self.value.cos_sin()
        return self._on_tape(cosine, (self, -sine)), self._on_tape(sine, (self, cosine))

    def log_add_exp(self, other):
        if isinstance(other, Interval):
            return self._on_tape(self.value.log_add_exp(other), (self, self.value.log_add_exp_derivatives(other)[0]))
        own_derivative, other_derivative = self.value.log_add_exp_derivatives(other.value)
        return self._on_tape(self.value.log_add_exp(other.value), (self, own_derivative), (other, other_derivative))

    def with_derivative(self, value, derivative):
        return self._on_tape(value, (self, derivative))


def accumulate(x, y):
    return y if x is None else x + y


def times(factor, x):
    return x if factor is ONE else factor * x


def backward(tape):
    """Carries the cotangents `bar` of some numbers back to all numbers on which they depend."""
    for number in reversed(tape):
        if number.bar is not None:
            for argument, derivative in number.arguments:
                argument.bar = accumulate(argument.bar, times(derivative, number.bar))


def forward(tape):
    """Carries the tangents `bar` of the inputs on to all numbers that depend on them."""
    for number in tape:
        for argument, derivative in number.arguments:
            if argument.bar is not None:
                number.bar = accumulate(number.bar, times(derivative, argument.bar))
