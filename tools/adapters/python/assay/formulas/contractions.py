"""Products of matrices and tensors, each as contractions of two."""
from assay.formulas import functions as f
from assay.formulas.plain import numpy
from assay.formulas.program import REAL
from assay.formulas.refusal import CannotTrace
from assay.formulas.shaping import diagonal, moveaxis, reshape, transpose
from assay.formulas.sums import total
from assay.formulas.traced import as_traced, constant, made, writer


def _letters(count, taken=""):
    return "".join(letter for letter in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" if letter not in taken)[:count]


def contract(x, y, letters):
    to = writer()
    own, other, out = letters.replace("->", ",").split(",")
    sizes = {**dict(zip(own, x.plain_shape)), **dict(zip(other, y.plain_shape))}
    for letters_of_one, each in ((own, x), (other, y)):
        for letter, size in zip(letters_of_one, each.plain_shape):
            if sizes[letter] != size:
                raise ValueError(f"a product of axes with the sizes {size} and {sizes[letter]}")
    value = None
    if f.known(x, y):
        value = numpy.einsum(letters, x.value, y.value)
        if REAL not in (x.kind, y.kind):
            return constant(value)
    if x.kind == y.kind == f.BOOLEAN:  # whether there is a place where both are
        return f.not_equal(contract(f.as_type(x, float), f.as_type(y, float), letters), 0)
    return made(to.add("contract", (to.to_kind(x.node, REAL), to.to_kind(y.node, REAL)), REAL,
                       [sizes[letter] for letter in out], of=letters), value)


def _alone_summed(x, own, wanted):
    """x summed along the axes that nothing else has, and the letters of its other axes."""
    gone = [k for k, letter in enumerate(own) if letter not in wanted]
    return (total(x, axis=tuple(gone)) if gone else x), "".join(letter for letter in own if letter in wanted)


def _without_repeats(x, own):
    for letter in dict.fromkeys(own):
        while own.count(letter) > 1:
            first = own.index(letter)
            second = own.index(letter, first + 1)
            x = diagonal(x, 0, first, second)
            own = own[:first] + own[first + 1:second] + own[second + 1:] + letter
    return x, own


def _broadcasting(x, y, own, other):
    """Axes of size 1 that meet larger ones are no axes of a contraction: they vanish from it."""
    sizes = {}
    for letters, each in ((own, x), (other, y)):
        for letter, size in zip(letters, each.plain_shape):
            sizes.setdefault(letter, []).append(size)
    out = []
    for letters, each in ((own, x), (other, y)):
        drop = [k for k, (letter, size) in enumerate(zip(letters, each.plain_shape))
                if size == 1 and len(sizes[letter]) == 2 and max(sizes[letter]) != 1]
        out.append((reshape(each, tuple(size for k, size in enumerate(each.plain_shape) if k not in drop)),
                    "".join(letter for k, letter in enumerate(letters) if k not in drop)))
    return out


def einsum(equation, *operands, **_):
    if not isinstance(equation, str):
        raise CannotTrace("numpy.einsum of lists of axes", "write the letters")
    operands = [as_traced(x) for x in operands]
    inputs, _, result = equation.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if len(parts) != len(operands):
        raise ValueError("einsum: more or fewer operands than the equation has")
    most = max((x.ndim - len(part.replace("...", "")) for part, x in zip(parts, operands) if "..." in part), default=0)
    dots = _letters(most, equation)
    parts = [part.replace("...", dots[most - (x.ndim - len(part.replace("...", ""))):] if "..." in part else "")
             for part, x in zip(parts, operands)]
    if "->" in equation:
        result = result.replace("...", dots)
    else:
        every = "".join(parts)
        result = dots + "".join(sorted(letter for letter in set(every) if every.count(letter) == 1 and letter not in dots))
    todo = [_without_repeats(x, own) for x, own in zip(operands, parts)]
    while len(todo) > 1:
        (x, own), (y, other) = todo[:2]
        rest = result + "".join(letters for _, letters in todo[2:])
        x, own = _alone_summed(x, own, other + rest)
        y, other = _alone_summed(y, other, own + rest)
        (x, own), (y, other) = _broadcasting(x, y, own, other)
        kept = "".join(letter for letter in dict.fromkeys(own + other) if letter in rest)
        if len(todo) == 2:
            kept = result
        todo = [(contract(x, y, f"{own},{other}->{kept}"), kept), *todo[2:]]
    x, own = _alone_summed(*todo[0], result)
    return transpose(x, [own.index(letter) for letter in result]) if result else x


def matmul(x, y):
    x, y = as_traced(x), as_traced(y)
    if not x.ndim or not y.ndim:
        raise ValueError("matmul: an operand has no axes")
    left = "i" * (x.ndim > 1) + "k"
    right = "k" + "j" * (y.ndim > 1)
    return einsum(f"...{left},...{right}->...{left[:-1]}{right[1:]}", x, y)


def dot(x, y, **_):
    x, y = as_traced(x), as_traced(y)
    if x.ndim == 0 or y.ndim == 0:
        return f.multiply(x, y)
    own = _letters(x.ndim)
    other = _letters(y.ndim, own)
    place = max(y.ndim - 2, 0)
    other = other[:place] + own[-1] + other[place + 1:]
    return einsum(f"{own},{other}->{own[:-1]}{other.replace(own[-1], '')}", x, y)


def inner(x, y):
    x, y = as_traced(x), as_traced(y)
    return dot(x, moveaxis(y, -1, max(y.ndim - 2, 0))) if y.ndim > 1 else dot(x, y)


def outer(x, y, **_):
    return einsum("i,j->ij", reshape(x, -1), reshape(y, -1))


def tensordot(x, y, axes=2):
    x, y = as_traced(x), as_traced(y)
    if isinstance(axes, (int, numpy.integer)):
        axes = list(range(x.ndim - axes, x.ndim)), list(range(axes))
    mine, yours = ([one] if isinstance(one, int) else list(one) for one in axes)
    own = _letters(x.ndim)
    other = list(_letters(y.ndim, own))
    for a, b in zip(mine, yours):
        other[b % y.ndim] = own[a % x.ndim]
    out = [letter for k, letter in enumerate(own) if k not in [a % x.ndim for a in mine]]
    out += [letter for k, letter in enumerate(other) if k not in [b % y.ndim for b in yours]]
    return einsum(f"{own},{''.join(other)}->{''.join(out)}", x, y)


FUNCTIONS = {"einsum": einsum, "matmul": matmul, "dot": dot, "inner": inner, "outer": outer, "tensordot": tensordot,
             "vdot": lambda x, y: dot(reshape(x, -1), reshape(y, -1))}
