"""Adapters for the shapes that popular code has. Each takes the user's function and returns one that Assay can call:

    # gated.py; run: assay gate --candidate python:gated.py:rotate
    from assay.adapters import from_cos_sin
    from model import apply_rotary_pos_emb
    rotate = from_cos_sin(apply_rotary_pos_emb)

They compose: even_heads(heads_first(rotate)). Cases that a function cannot be asked are declined, and the report counts
them. What a function says of itself by assay.candidate stays with it.
"""
import sys

from assay.host import Candidate, Unsupported
from assay.rotary import from_cos_sin, from_freqs_cis  # noqa: F401, adapters too
from assay.signature import signature_of
from assay.wrapping import USUAL_WIDTH, decline_odd, each, in_place_of, positional, swap, with_claims

_MOST_ROWS = 1 << 16


def heads_first(function):
    """For a function whose tensors of four axes have the heads before the tokens where Assay has them behind, or the
    other way around: axes 1 and 2 change places in what it takes and returns.

        >>> from model import rotate_heads_first  # x [B, h, n, d]
        >>> rope = assay.adapters.heads_first(rotate_heads_first)
        >>> assay.check(rope, "rope/rotate", ["f32"], effort="smoke",
        ...             domain={"layout": ["half_split"], "d": {"multiple_of": 2}})
    """
    def swapped(*values, **settings):
        return each(swap, function(*each(swap, values), **each(swap, settings)))
    return in_place_of(function, swapped)


def axes_first(function):
    """For a function of x and position (rope_axes/rotate, rope_axes/rotate_by) whose positions have their axes first,
    [a, B, n], as Qwen2-VL has them.

        >>> from model import rotate_on_axes  # position [3, B, n]
        >>> rope = assay.adapters.axes_first(rotate_on_axes)
        >>> x, position = numpy.ones((1, 4, 2, 12)), numpy.ones((1, 4, 3), int)
        >>> settings = {"layout": "half_split", "exponent": "shared"}
        >>> assay.judge("rope_axes/rotate", rope(x, position), x=x, position=position, **settings)
        'right: 96 elements, ...'
    """
    def moved(*values, **named):
        given = signature_of(function).bind(*values, **named)
        position = given.arguments["position"]
        given.arguments["position"] = position.movedim(-1, 0) if hasattr(position, "movedim") else position.transpose(
            2, 0, 1)
        return function(*given.args, **given.kwargs)
    return in_place_of(function, moved)


def even_heads(function):
    """For a function of x that takes even widths of x only: it declares them, and odd ones are declined.

        >>> from model import rotate  # splits x into halves
        >>> rope = assay.adapters.even_heads(rotate)
        >>> rope(numpy.ones((1, 4, 2, 5)), numpy.zeros((1, 4)))
        Traceback (most recent call last):
        assay.host.Unsupported: it takes even widths only, and this one is 5
    """
    def even(x, *values, **settings):
        decline_odd(x)
        return function(x, *values, **settings)
    return in_place_of(function, even, domain={"d": {"multiple_of": 2}})


def consecutive(function):
    """For a function of x and the position of its first token, or of x alone, whose first position is 0. Positions that
    are not consecutive, or begin elsewhere, are declined.

        >>> from model import rotate_from  # rotate_from(x, offset=0)
        >>> rope = assay.candidate(operation="rope/rotate")(assay.adapters.consecutive(rotate_from))
        >>> x, position = numpy.ones((1, 4, 2, 8)), numpy.arange(10, 14)[None]
        >>> assay.judge("rope/rotate", rope(x, position), x=x, position=position, layout="half_split")
        'right: 64 elements, ...'
    """
    takes_offset = len(positional(function)) > 1

    def rotate_at(x, position):
        offset = _offset_of(position)
        if not takes_offset and offset != 0:
            raise Unsupported(f"the function begins at position 0, and this case at {offset}")
        return function(x, offset) if takes_offset else function(x)
    return with_claims(function, rotate_at)


def one_row(function, axes=1):
    """For a function of x and position (rope/rotate, rope/rotate_by) that takes one row of positions for all rows of x:
    position [n], or with axes=2 [1, n]. Where the rows of a case have different positions, or gradients of their own,
    each is a call.

        >>> from model import rotate_one_row  # position [n]
        >>> rope = assay.adapters.one_row(rotate_one_row)
        >>> x, position = numpy.ones((2, 4, 2, 8)), numpy.array([[0, 1, 2, 3], [7, 8, 9, 10]])
        >>> assay.judge("rope/rotate", rope(x, position), x=x, position=position, layout="half_split")
        'right: 128 elements, ...'
    """
    def rows(*values, **named):
        given = signature_of(function).bind(*values, **named)
        names = [*given.arguments]
        first, last = names[0], "position" if "position" in names else names[len(values) - 1]
        x, position = given.arguments[first], given.arguments[last]

        def call(x, position):
            given.arguments.update({first: x, last: position if axes == 2 else position[0]})
            return function(*given.args, **given.kwargs)
        if not len(position):
            raise Unsupported("there is no row of positions")
        is_one = all(row == position[0].tolist() for row in position.tolist())
        if is_one and not getattr(position, "requires_grad", False):
            return call(x, position[:1])
        results = [call(x[i:i + 1], position[i:i + 1]) for i in range(len(x))]
        package = sys.modules[type(results[0]).__module__.partition(".")[0]]  # torch or numpy
        return (package.cat if hasattr(package, "cat") else package.concatenate)(results)
    return in_place_of(function, rows)


def from_table(function):
    """For a function of a number of rows and a width that returns the encodings of positions 0, 1, ...: each position is
    looked up in its table. Positions that are no integers from 0 to 65535 are declined. A table is cast to the dtype of
    a call, and one in f32 holds no more digits in f64: that is not asked for, unless it is declared.

        >>> from model import sinusoids  # sinusoids(length, width) returns [length, width]
        >>> table = assay.candidate(domain={"d": {"multiple_of": 2}})(assay.adapters.from_table(sinusoids))
        >>> assay.check(table, dtypes=["f64"], effort="smoke")
    """
    def table(position, width, dtype):
        rows = [int(m) if float(m).is_integer() and 0 <= m < _MOST_ROWS else None for m in position.tolist()]
        if None in rows:
            raise Unsupported(f"a table has rows for the positions 0 to {_MOST_ROWS - 1}")
        found = function(max(rows, default=0) + 1, width)
        found = found.reshape(found.shape[-2:])  # [1, length, width] too
        # Tables are made in one dtype and cast: torch has to(), NumPy astype().
        return (found.to(dtype) if hasattr(found, "to") else found.astype(dtype))[rows]
    return with_claims(function, table, operation="sinusoidal/table", **_dtypes_of_table(function))


def _dtypes_of_table(function):
    """The claim of f32 where a table of a usual width is no table of f64."""
    try:
        return {} if "float64" in str(function(1, USUAL_WIDTH).dtype) else {"dtypes": ["f32"]}
    except Exception:  # the call of a case reports it
        return {}


def alibi_in_one(function, form="distance", causal=True, dtypes=("f32",), rule="official", alpha_max=8.0):
    """For a function of a number of heads and of tokens that makes slopes and biases in one: it returns the bias
    [h, n, n], [1, h, n, n] or [h, 1, n]. The result is a Candidate of alibi/slopes and alibi/bias. The slopes are the
    bias of the token before, with its sign changed (form "key": the bias of key 1). Assay asks for the bias of slopes
    that it chooses: the bias is divided by its own slopes and multiplied by those. The division is exact where its own
    slopes are powers of two; other numbers of heads are declined, and so are queries that are not the last tokens. The
    function does not know where its keys end: form "key_from_last" declines keys that do not end at last_position.
    `rule` and `alpha_max` are those of its slopes.

        >>> from model import alibi  # alibi(heads, tokens) returns [h, n, n]
        >>> candidate = assay.adapters.alibi_in_one(alibi, causal=False, rule="naive")
        >>> list(candidate.operations)
        ['alibi/slopes', 'alibi/bias', 'alibi/bias:vjp']
    """
    import torch
    made = Candidate(getattr(function, "__name__", "alibi").strip("<>"))

    def biases(heads, tokens):
        found = torch.as_tensor(function(heads, tokens))
        return found.reshape(found.shape[-3:]).expand(heads, tokens, tokens)

    def own_slopes(heads):
        own = biases(heads, 2)[:, 1, 1].clone() if form == "key" else -biases(heads, 2)[:, 1, 0]
        if heads and bool((own == 0).all()):
            other = "distance" if form == "key" else "key"
            where = "last key" if form == "key" else "token before"
            raise ValueError(f"all biases of the {where} are 0: is its form {other!r}?")
        return own

    counts = {"alpha_of_official": [True]} if rule == "official" and alpha_max != 8 else {}

    @made.torch("alibi/slopes", list(dtypes), vjp=False,
                domain={"rule": [rule], "alpha_max": [float(alpha_max)], "all_heads": [0], "first_head": [0], **counts})
    def slopes(heads, dtype, **_):
        return {"slopes": own_slopes(heads).to(dtype)}

    last = {} if form == "key_from_last" else {"last_position": [0]}

    @made.torch("alibi/bias", list(dtypes), domain={"form": [form], "causal": [causal], **last})
    def bias(slopes, query_position, key_position, last_position, **_):
        heads, tokens = len(slopes), len(key_position)
        _decline_unless_last(query_position, key_position, from_zero=form == "key")
        if form == "key_from_last" and key_position[-1:].tolist() != [last_position]:
            raise Unsupported(f"the keys do not end at last_position, {last_position}")
        found, own = (biases(heads, tokens).double(), own_slopes(heads).double()) if heads and tokens else (None, None)
        if found is None or not bool((torch.frexp(own.abs())[0] == 0.5).all()):
            raise Unsupported(f"the slopes of {heads} heads are no powers of two")
        found = found[:, tokens - len(query_position):]
        hidden = found == -torch.inf
        multiples = (found / own[:, None, None]).masked_fill(hidden, 0.0)
        return {"bias": (multiples * slopes.double()[:, None, None]).to(slopes.dtype).masked_fill(hidden, -torch.inf)}
    return made


def _offset_of(position):
    """The first position, of rows that all count on from it by one."""
    rows = position.tolist() if position.ndim == 2 else [position.tolist()]
    first = next((row[0] for row in rows if row), 0)
    if any(row != [first + i for i in range(len(row))] for row in rows):
        raise Unsupported("the positions are not consecutive from one offset")
    return first


def _decline_unless_last(query_position, key_position, from_zero):
    first, queries = _offset_of(key_position), query_position.tolist()
    if from_zero and first != 0:
        raise Unsupported(f"the function begins at position 0, and this case at {first}")
    if queries != key_position.tolist()[len(key_position) - len(queries):]:
        raise Unsupported("the queries are not the last tokens")
