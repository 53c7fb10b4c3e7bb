"""Adapters for functions that rotate by tables, as popular code has them: cosines and sines, or complex numbers."""
import functools

from assay.claims import WrongClaim
from assay.errors import in_words, is_out_of_memory
from assay.host import Unsupported
from assay.modules import dtypes_of_module
from assay.wrapping import USUAL_WIDTH, decline_odd, positional, swap, with_claims


def from_cos_sin(function, tables=None, layout="half_split", heads_first=True, base=None, of_width=None,
                 half_width=False, scores=False):
    """For a function (q, k, cos, sin) that returns q and k rotated, or (x, cos, sin) that returns x rotated, as
    Hugging Face's transformers have it: x [B, h, n, d], or with heads_first=False [B, n, h, d]; cos and sin [B, n, d],
    each angle twice, or with half_width=True [B, n, d/2]. The names of its parameters say which it is; sin may stand
    before cos. Both results are judged: see _both.

    A function (q, k, cos, sin, mrope_section), as Qwen2-VL has it, takes positions on several axes: cos and sin
    [a, B, n, d], and how many pairs each of the three axes has. Its operation is rope_axes/rotate.

    `tables(x, position)` returns cos and sin, such as a rotary embedding module with that forward; positions on several
    axes are [a, B, n]. One that is made for a width is made by `of_width(width)` in its place, for each width that
    Assay asks for. It has one `base`, which is 10000 unless it is named. Without either the adapter makes cos and sin,
    from angles in f64, for every base. They are rounded to the dtype of x. Unless `compute` says otherwise, tables and
    products of bf16 and f16 are taken to have that dtype, and angles to be in f32.

    With scores=True only products of q and k are judged, by rope/scores: for functions that return coordinates in an
    order of their own, or something that only such products undo.

        >>> from model import apply_rotary_pos_emb, RotaryEmbedding
        >>> rope = assay.adapters.from_cos_sin(apply_rotary_pos_emb)
        >>> assay.check(rope, dtypes=["f32"], effort="smoke")
        >>> rope_by_tables = assay.adapters.from_cos_sin(apply_rotary_pos_emb, of_width=RotaryEmbedding, base=10000.0)
    """
    def cos_sin(x, angle):
        angle = angle if half_width else _TWICE[layout](angle)
        return angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    words = ("cos", "sin", "section") if any("section" in p.name for p in positional(function)) else ("cos", "sin")
    return _rotation(function, words, cos_sin, tables, layout, heads_first, base, of_width, scores)


def from_freqs_cis(function, tables=None, layout="interleaved", heads_first=False, base=None, of_width=None,
                   scores=False):
    """For a function (xq, xk, freqs_cis) that returns both rotated, or (x, freqs_cis) that returns x rotated, as Meta's
    Llama has it: x [B, n, h, d], or with heads_first=True [B, h, n, d]; freqs_cis complex [B, n, d/2], the e^(i angle).
    `tables(x, position)` returns freqs_cis. The adapter makes complex numbers of f64 for x in f64, of f32 for all
    others. The rest is as in from_cos_sin.

        >>> from assay.adapters import from_freqs_cis, one_row
        >>> from model import apply_rotary_emb  # freqs_cis [n, d/2]
        >>> rope = one_row(from_freqs_cis(apply_rotary_emb))
        >>> assay.check(rope, dtypes=["f32"], effort="smoke")
    """
    def cis(x, angle):
        import torch
        return (torch.polar(torch.ones_like(angle), angle).to(torch.promote_types(x.dtype, torch.complex64)),)
    return _rotation(function, ("freqs",), cis, tables, layout, heads_first, base, of_width, scores)


_PARAMETERS = {("cos", "sin"): "from_cos_sin is for (q, k, cos, sin) and (x, cos, sin)",
               ("cos", "sin", "section"): "from_cos_sin is for (q, k, cos, sin, mrope_section)",
               ("freqs",): "from_freqs_cis is for (xq, xk, freqs_cis) and (x, freqs_cis)"}
_TWICE = {"half_split": lambda angle: angle.repeat(*[1] * (angle.ndim - 1), 2),
          "interleaved": lambda angle: angle.repeat_interleave(2, -1)}


def _rotation(function, words, standard, tables, layout, heads_first, base, of_width, scores):
    """`words`: what the names of the parameters for tables hold. `standard(x, angle)` makes these tables of angles
    [..., d/2] in f64, in the order of the words."""
    turned, order = _parameters_of(function, words)
    made = functools.lru_cache(of_width or (lambda width: tables))
    own_tables = tables or of_width
    by_axis = "section" in words

    def turn(values, given):
        """The rotated q and k, or the rotated x, as the function returns them."""
        given = dict(zip(words, given if isinstance(given, (tuple, list)) else [given]))
        given = [given[word] for word in order]
        results = function(*map(swap, values), *given) if heads_first else function(*values, *given)
        if turned == 1:
            return swap(results) if heads_first else results
        if not isinstance(results, (tuple, list)) or len(results) != 2:
            raise TypeError("it must return q and k, both rotated")
        return [swap(result) if heads_first else result for result in results]

    def tables_of(x, position, base):
        decline_odd(x)
        if of_width:
            return made(x.shape[-1])(x, position)
        return _tables_of_one_width(tables, x, position) if tables else standard(x, _angles(x, position, base))

    def rotated(x, given):
        return turn([x], given) if turned == 1 else _both(lambda *values: turn(values, given), x)

    def rotate(x, position, base):
        return rotated(x, tables_of(x, position, base))

    def rotate_on_axes(x, position, base, section_0, section_1, section_2):
        decline_odd(x)
        position = position.movedim(-1, 0)  # [B, n, a] to [a, B, n]
        sections = _sections(x.shape[-1] // 2, len(position), [section_0, section_1, section_2])
        return rotated(x, (*tables_of(x, position, base), sections))

    def products(q, k, query_position, key_position, base, scale, group):
        q = turn([q] * turned, tables_of(q, query_position, base))
        k = turn([k] * turned, tables_of(k, key_position, base))
        q, k = (q, k) if turned == 1 else (q[0], k[1])
        k = k.repeat_interleave(group, 2)  # heads of q follow one another in their group
        s = q.transpose(1, 2) @ k.permute(0, 2, 3, 1)
        return s * max(q.shape[-1], 1) ** -0.5 if scale == "inverse_sqrt" else s

    answer = products if scores else rotate_on_axes if by_axis else rotate
    claims = {"operation": "rope/scores" if scores else "rope_axes/rotate" if by_axis else "rope/rotate",
              "framework": "torch", "domain": {"layout": [layout], "d": {"multiple_of": 2}}}
    if by_axis:
        claims["domain"].update(assignment=["blocks"], exponent=["shared"], order=["xy"], a=[3, 3])
    if own_tables:
        answer = functools.partial(answer, base=None)
        claims["domain"]["base"] = [base or 10000.0]
        claims["dtypes"] = dtypes_of_module(made(USUAL_WIDTH))
    return with_claims(function, answer, **claims)


def _sections(pairs, axes, sections):
    """The pairs of each axis, where 0 everywhere says equal shares."""
    sections = sections[:axes] if any(sections) else [pairs // axes] * axes
    if sum(sections) != pairs:
        raise Unsupported(f"it turns all {pairs} pairs, and sections of {sum(sections)} leave a rest")
    return sections


def _parameters_of(function, words):
    """How many tensors the function rotates, 1 or 2, which stand first, and the order in which it takes its tables."""
    names = [p.name for p in positional(function) if p.default is p.empty]
    held = [[word for word in words if word in name] for name in names]
    turned = len(names) - len(words)
    if turned not in (1, 2) or any(held[:turned]) or sorted(held[turned:]) != [[word] for word in sorted(words)]:
        others = "; ".join(form for known, form in _PARAMETERS.items() if not {*known} & {*words})
        called = getattr(function, "__name__", "the function")
        raise WrongClaim(f"{_PARAMETERS[words]}, and the parameters of {called} are ({', '.join(names)}); {others}; a "
                         "function around it may name them so")
    return turned, [word for word, in held[turned:]]


def _tables_of_one_width(tables, x, position):
    """The tables of a call. If they were made for another width, the error names of_width: torch's own error would only
    say that shapes do not fit."""
    hint = (f"of x {list(x.shape)}: what is made for one width goes by of_width, a function of the width that makes it, as in "
            "of_width=RotaryEmbedding in place of tables=RotaryEmbedding(64)")
    try:
        found = tables(x, position)
    except (AssertionError, IndexError, RuntimeError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        raise TypeError(f"{in_words(error)}, in tables {hint}") from error
    for table in found if isinstance(found, (tuple, list)) else [found]:
        if table.shape[-1] not in (x.shape[-1], x.shape[-1] // 2):
            raise TypeError(f"tables has the shape {list(table.shape)} {hint}")
    return found


def _angles(x, position, base):
    import torch
    pairs = x.shape[-1] // 2
    theta = base ** -(torch.arange(pairs, dtype=torch.float64, device=position.device) / max(pairs, 1))
    return position.double().unsqueeze(-1) * theta


def _both(turn, x):
    """x rotated by a function of q and k, whose results must each depend on their own input alone: x is given for both,
    then for q beside another k, then for k beside another q. There k has fewer heads than q, as in attention by groups,
    where the function takes that. The heads of x come from the last k, the remaining ones from q."""
    import torch
    q, k = turn(x, x)
    if not _equal(q, k):
        unchanged = [name for name, value in (("q", q), ("k", k)) if _equal(value, x)]
        raise ValueError("of equal q and k it returns others: it " + (
            f"returns {unchanged[0]} as it came" if unchanged else "rotates k otherwise than q"))
    if q.shape != x.shape:
        return q
    other = -x.detach().roll(1, -1)
    beside_k, beside_q = turn(x, other)
    if not _equal(beside_k, q):
        raise ValueError("it returns q and k in exchanged places" if _equal(beside_q, q) else
                         "what it returns for q depends on k")
    heads = x.shape[2]
    few = next((count for count in range(heads // 2, 0, -1) if heads % count == 0), heads)
    try:
        k = turn(other, x[:, :, :few])[1]
    except Exception:  # it takes q and k of one shape only
        few = heads
        k = turn(other, x)[1]
    if k.shape != x[:, :, :few].shape:
        raise ValueError(f"beside q {list(x.shape)} it returns k {list(x[:, :, :few].shape)} as {list(k.shape)}")
    return torch.cat([k, q[:, :, few:]], 2)


def _equal(one, other):
    return one.shape == other.shape and bool(((one == other) | (one.isnan() & other.isnan())).all())
