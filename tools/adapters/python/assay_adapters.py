"""Adapters for the shapes that popular code has. Each takes the user's function and returns one that Assay can call:

    # gated.py; run: assay gate --candidate python:gated.py:rotate
    from assay_adapters import from_cos_sin
    from model import apply_rotary_pos_emb
    rotate = from_cos_sin(apply_rotary_pos_emb)

They compose: even_heads(heads_first(rotate)). Cases that a function cannot be asked are declined, and the report counts
them. What a function says of itself by assay.candidate stays with it.
"""
import functools
import inspect

from assay_claims import candidate, claims_of, joined
from assay_host import Candidate, Unsupported
from assay_modules import dtypes_of_module
from assay_signature import is_module, signature_of

_MOST_ROWS = 1 << 16
_USUAL_WIDTH = 64


def heads_first(function):
    """Of a function whose tensors of four axes have the heads before the tokens where Assay has them behind, or the
    other way around: axes 1 and 2 change places in what it takes and returns.

        def rotate(x, position):  # x [B, h, n, d]
            ...
        rope = heads_first(rotate)
    """
    def swapped(*values, **settings):
        return _each(_swap, function(*_each(_swap, values), **_each(_swap, settings)))
    return _in_place_of(function, swapped)


def even_heads(function):
    """Of a function of x that takes even widths of x only: it declares them, and odd ones are declined.

        def rotate(x, position):
            first, second = x.chunk(2, -1)
            ...
        rope = even_heads(rotate)
    """
    def even(x, *values, **settings):
        _decline_odd(x)
        return function(x, *values, **settings)
    return _in_place_of(function, even, domain={"d": {"multiple_of": 2}})


def consecutive(function):
    """Of a function of x and the position of its first token, or of x alone, whose first position is 0. Positions that
    are not consecutive, or begin elsewhere, are declined.

        def rotate(x, offset=0):
            angles = torch.arange(offset, offset + x.shape[1])[:, None] * theta
            ...
        rope = candidate(operation="rope/rotate")(consecutive(rotate))
    """
    takes_offset = len(_positional(function)) > 1

    def at(x, position):
        offset = _offset_of(position)
        if not takes_offset and offset != 0:
            raise Unsupported(f"the function begins at position 0, and this case at {offset}")
        return function(x, offset) if takes_offset else function(x)
    return _with_claims(function, at)


def from_table(function):
    """Of a function of a number of rows and a width that returns the encodings of positions 0, 1, ...: each position is
    looked up in its table. Positions that are no integers from 0 to 65535 are declined.

        def encodings(length, width):
            ...
            return pe  # [length, width]
        table = candidate(domain={"odd": ["extra"]})(from_table(encodings))
    """
    def table(position, width, dtype):
        rows = [int(m) if float(m).is_integer() and 0 <= m < _MOST_ROWS else None for m in position.tolist()]
        if None in rows:
            raise Unsupported(f"a table has rows for the positions 0 to {_MOST_ROWS - 1}")
        found = function(max(rows, default=0) + 1, width)
        found = found.reshape(found.shape[-2:])  # [1, length, width] too
        # Tables are made in one dtype and cast: torch has to(), NumPy astype().
        return (found.to(dtype) if hasattr(found, "to") else found.astype(dtype))[rows]
    return _with_claims(function, table, operation="sinusoidal/table")


def from_cos_sin(function, tables=None, layout="half_split", heads_first=True, base=None, of_width=None):
    """Of a function (q, k, cos, sin) that returns q and k rotated, or (x, cos, sin) that returns x rotated, as
    Hugging Face's transformers have it: x [B, h, n, d], or with heads_first=False [B, n, h, d]; cos and sin [B, n, d],
    each angle twice. It is given the same x for q and k, and must return the same for both.

    `tables(x, position)` returns cos and sin, such as a rotary embedding module with that forward. One that is made
    for a width is made by `of_width(width)` in its place, for each width that Assay asks for. It has one `base`, which
    is 10000 unless it is named. Without either the adapter makes cos and sin, from angles in f64, for every base.
    They are rounded to the dtype of x. Unless `compute` says otherwise, tables and products of bf16 and f16 are taken to
    have that dtype, and angles to be in f32.

        from_cos_sin(apply_rotary_pos_emb)
        from_cos_sin(apply_rotary_pos_emb, of_width=RotaryEmbedding)
        from_cos_sin(apply_rotary_pos_emb, tables=rotary_emb, base=500000.0)
    """
    takes_two = len(_positional(function)) > 3
    arrange = _ARRANGED[layout]
    made = functools.lru_cache(of_width or (lambda width: tables))

    def turned(x, position, cos_sin):
        _decline_odd(x)
        x = _swap(x) if heads_first else x
        cos, sin = cos_sin(x, position)
        result = function(x, x, cos, sin) if takes_two else function(x, cos, sin)
        if takes_two:
            result = _same(*result)
        return _swap(result) if heads_first else result

    def rotate(x, position, base):
        return turned(x, position, lambda x, position: _cos_sin(x, position, base, arrange))

    def rotate_with_tables(x, position):
        return turned(x, position, made(x.shape[-1]))
    claims = {"operation": "rope/rotate", "framework": "torch",
              "domain": {"layout": [layout], "d": {"multiple_of": 2}}}
    if not (tables or of_width):
        return _with_claims(function, rotate, **claims)
    claims["domain"]["base"] = [base or 10000.0]
    claims["dtypes"] = dtypes_of_module(made(_USUAL_WIDTH))
    return _with_claims(function, rotate_with_tables, **claims)


def alibi_in_one(function, form="distance", causal=True, dtypes=("f32",)):
    """Of a function of a number of heads and of tokens that makes slopes and biases in one: it returns the bias
    [h, n, n], [1, h, n, n] or [h, 1, n]. The result is a Candidate of alibi/slopes and alibi/bias. The slopes are the
    bias of the token before, with its sign changed (form "key": the bias of key 1). Assay asks for the bias of slopes
    that it chooses: the bias is divided by its own slopes and multiplied by those. The division is exact where its own
    slopes are powers of two; other numbers of heads are declined, and so are queries that are not the last tokens.

        def bias(heads, tokens):
            return slopes(heads)[:, None, None] * distances(tokens)  # [h, n, n]
        candidate = alibi_in_one(bias, causal=False)
    """
    import torch
    made = Candidate(getattr(function, "__name__", "alibi"))

    def biases(heads, tokens):
        found = torch.as_tensor(function(heads, tokens))
        return found.reshape(found.shape[-3:]).expand(heads, tokens, tokens)

    def own_slopes(heads):
        own = biases(heads, 2)[:, 1, 1].clone() if form == "key" else -biases(heads, 2)[:, 1, 0]
        if heads and bool((own == 0).all()):
            other = "distance" if form == "key" else "key"
            raise ValueError(f"all biases of the {'last key' if form == 'key' else 'token before'} are 0: is its form {other!r}?")
        return own

    @made.torch("alibi/slopes", list(dtypes), domain={"rule": ["official"], "alpha_max": [8.0]}, vjp=False)
    def slopes(heads, dtype, **_):
        return {"slopes": own_slopes(heads).to(dtype)}

    @made.torch("alibi/bias", list(dtypes), domain={"form": [form], "causal": [causal], "last_position": [0]})
    def bias(slopes, query_position, key_position, **_):
        heads, tokens = len(slopes), len(key_position)
        _decline_unless_last(query_position, key_position, from_zero=form == "key")
        found, own = (biases(heads, tokens).double(), own_slopes(heads).double()) if heads and tokens else (None, None)
        if found is None or not bool((torch.frexp(own.abs())[0] == 0.5).all()):
            raise Unsupported(f"the slopes of {heads} heads are no powers of two")
        found = found[:, tokens - len(query_position):]
        hidden = found == -torch.inf
        multiples = (found / own[:, None, None]).masked_fill(hidden, 0.0)
        return {"bias": (multiples * slopes.double()[:, None, None]).to(slopes.dtype).masked_fill(hidden, -torch.inf)}
    return made


def _in_place_of(function, wrapper, **claims):
    """The wrapper with the parameters and claims of the function, and claims of its own."""
    wrapper.__signature__ = signature_of(function)
    return _with_claims(function, wrapper, **claims)


def _with_claims(function, wrapper, **claims):
    wrapper.__name__ = getattr(function, "__name__", type(function).__name__)
    if is_module(function):
        claims = {"framework": "torch", **claims}
    return candidate(**joined(claims, claims_of(function)))(wrapper)


def _positional(function):
    """The parameters that are filled by position when nothing else is said: those without a default, and `offset`."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in signature_of(function).parameters.values()
            if p.kind in kinds and (p.default is p.empty or p.name == "offset")]


def _each(change, values):
    if isinstance(values, dict):
        return {name: change(value) for name, value in values.items()}
    return type(values)(map(change, values)) if isinstance(values, (tuple, list)) else change(values)


def _swap(value):
    return value.swapaxes(1, 2) if getattr(value, "ndim", 0) == 4 else value


def _decline_odd(x):
    if x.shape[-1] % 2:
        raise Unsupported(f"it takes even widths only, and this one is {x.shape[-1]}")


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


_ARRANGED = {"half_split": lambda torch, angle: torch.cat([angle, angle], -1),
             "interleaved": lambda torch, angle: angle.repeat_interleave(2, -1)}


def _cos_sin(x, position, base, arrange):
    import torch
    pairs = x.shape[-1] // 2
    theta = base ** -(torch.arange(pairs, dtype=torch.float64) / max(pairs, 1))
    angle = arrange(torch, position.double().unsqueeze(-1) * theta)
    return angle.cos().to(x.dtype), angle.sin().to(x.dtype)


def _same(q, k):
    import torch
    if not torch.equal(torch.nan_to_num(q), torch.nan_to_num(k)):
        raise ValueError("of equal q and k it returns others: it rotates k otherwise than q")
    return q
