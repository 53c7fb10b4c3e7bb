"""Tests of the adapters for functions that rotate by tables. Run by pytest with ASSAY set to the program. The functions
are stand-ins, each in the shape of code that many have."""
import functools

import pytest

import assay
from assay.claims import WrongClaim, claims_of
from assay.host import Unsupported

torch = pytest.importorskip("torch")
from assay.adapters import axes_first, from_cos_sin, from_freqs_cis, one_row  # noqa: E402

FEW = ["--property=value", "--property=vjp", "--family=mild", "--max-elements=2000"]


def half_turn(x):
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], -1)


def rotate_both(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + half_turn(q) * sin, k * cos + half_turn(k) * sin


def rotate_one(x, cos, sin):
    return rotate_both(x, x, cos, sin, unsqueeze_dim=2)[0]


class Rotary(torch.nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base

    def forward(self, x, position_ids):
        theta = self.base ** -(torch.arange(0, x.shape[-1], 2).double() / x.shape[-1])
        angle = torch.cat([position_ids.double().unsqueeze(-1) * theta] * 2, -1)
        return angle.cos().to(x.dtype), angle.sin().to(x.dtype)


class RotaryOfWidth(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("theta", 10000.0 ** -(torch.arange(0, width, 2).float() / width))

    def forward(self, x, position_ids):
        angle = torch.cat([position_ids.float().unsqueeze(-1) * self.theta] * 2, -1)
        return angle.cos().to(x.dtype), angle.sin().to(x.dtype)


def rotate_by_half_tables(tensor, sin, cos):
    """tensor [B, n, h, d], pairs beside each other; sin and cos [B, n, d/2]."""
    sin, cos = (value.repeat_interleave(2, -1).unsqueeze(2) for value in (sin, cos))
    turned = torch.stack([-tensor[..., 1::2], tensor[..., 0::2]], -1).flatten(-2)
    return tensor * cos + turned * sin


def rotate_by_complex(xq, xk, freqs_cis):
    """xq [B, n, h, d] and xk, of which each has its own number of heads; freqs_cis [n, d/2]."""
    assert freqs_cis.is_complex() and freqs_cis.shape == (xq.shape[1], xq.shape[-1] // 2)

    def rotate(x):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * freqs_cis[None, :, None]).flatten(3)
    return rotate(xq), rotate(xk)


def rotate_one_by_complex(x, freqs_cis):
    """x [B, h, n, d], halves; freqs_cis [B, n, d/2]."""
    pairs = torch.view_as_complex(torch.stack(x.chunk(2, -1), -1).contiguous()) * freqs_cis.unsqueeze(1)
    return torch.cat([pairs.real, pairs.imag], -1)


class RefusesOthers(RotaryOfWidth):
    def forward(self, x, position_ids):
        return super().forward(x * self.theta.repeat(2), position_ids)


@pytest.mark.parametrize("tables", [RotaryOfWidth(16), RefusesOthers(16)])
def test_tables_of_one_width_are_told_of_width(tables):
    rotate = from_cos_sin(rotate_both, tables=tables)
    rotate(x=torch.ones(1, 2, 1, 16), position=torch.zeros(1, 2))
    with pytest.raises(TypeError, match=r"tables .*of x \[1, 2, 1, 8\]: .* of_width=RotaryEmbedding in place of tables"):
        rotate(x=torch.ones(1, 2, 1, 8), position=torch.zeros(1, 2))


ROTATIONS = {
    "q and k": from_cos_sin(rotate_both),
    "own tables": from_cos_sin(rotate_both, tables=Rotary(500000.0), base=500000.0),
    "tables of a width": from_cos_sin(rotate_both, of_width=RotaryOfWidth),
    "heads behind": from_cos_sin(functools.partial(rotate_both, unsqueeze_dim=2), heads_first=False),
    "x alone": from_cos_sin(rotate_one, heads_first=False),
    "tables of half the width":
        from_cos_sin(rotate_by_half_tables, layout="interleaved", heads_first=False, half_width=True),
    "complex": assay.candidate(empty=False)(one_row(from_freqs_cis(rotate_by_complex))),
    "complex, x alone": assay.candidate(empty=False)(
        from_freqs_cis(rotate_one_by_complex, layout="half_split", heads_first=True)),
}


def rotate_multimodal(q, k, cos, sin, mrope_section, unsqueeze_dim=1):
    """cos and sin [a, B, n, d]: each axis has its section of the first half of d, and again of the second half."""
    def joined_sections(tables):
        parts = tables.split(2 * list(mrope_section), -1)
        return torch.cat([part[i % 3] for i, part in enumerate(parts)], -1)
    return rotate_both(q, k, joined_sections(cos), joined_sections(sin), unsqueeze_dim=unsqueeze_dim)


def test_tables_by_axis():
    assay.check(from_cos_sin(rotate_multimodal), dtypes=["f32"], options=FEW)

    def height_first(q, k, cos, sin, mrope_section):
        return rotate_multimodal(q, k, cos[[0, 2, 1]], sin[[0, 2, 1]], mrope_section)
    with pytest.raises(AssertionError, match="rope_axes/rotate"):
        assay.check(from_cos_sin(height_first), dtypes=["f32"], options=FEW)


def test_positions_by_axis_may_stand_first():
    def rotate(x, position, section_0, section_1, section_2, base=10000.0):
        sections = [section_0, section_1, section_2][:len(position)]
        sections = sections if any(sections) else [x.shape[-1] // 2 // len(position)] * len(position)
        if 2 * sum(sections) != x.shape[-1]:
            raise Unsupported("the rest is no pair")
        theta = base ** -(torch.arange(sum(sections)).double() / max(sum(sections), 1))
        angle = torch.cat([part[i] for i, part in enumerate((position.unsqueeze(-1) * theta).split(sections, -1))], -1)
        return rotate_one(x, torch.cat([angle.cos()] * 2, -1).to(x.dtype), torch.cat([angle.sin()] * 2, -1).to(x.dtype))
    assay.check(axes_first(rotate), "rope_axes/rotate", dtypes=["f32"], options=FEW,
                domain={"layout": ["half_split"], "exponent": ["shared"], "base": [10000.0], "d": {"multiple_of": 2}})


def test_scores_alone_are_judged():
    order = [2, 0, 3, 1]

    def in_another_order(q, k, cos, sin):
        q, k = rotate_both(q, k, cos, sin)
        by = [i for i in order if i < q.shape[-1]] + list(range(4, q.shape[-1]))
        return q[..., by], k[..., by]
    with pytest.raises(AssertionError):
        assay.check(from_cos_sin(in_another_order), dtypes=["f32"], options=FEW)
    assay.check(from_cos_sin(in_another_order, scores=True), dtypes=["f32"], options=FEW)
    with pytest.raises(AssertionError, match="rope/scores"):
        assay.check(from_cos_sin(leaves_k, scores=True), dtypes=["f32"], options=FEW)


@pytest.mark.parametrize("name", ROTATIONS)
def test_right_rotations_pass(name):
    assay.check(ROTATIONS[name], dtypes=["f32"], options=FEW)


def test_tables_bring_their_dtype_and_their_precision():
    of_width = ROTATIONS["tables of a width"]
    assert claims_of(of_width)["dtypes"] == ["f32"]
    assay.check(of_width, options=FEW)
    assay.check(ROTATIONS["q and k"], dtypes=["bf16", "f32"], options=["--property=value", "--family=mild"])


def test_wrong_tables_are_told():
    for rotate, words in ((from_cos_sin(rotate_both, tables=Rotary(500000.0)), "base"),
                          (from_cos_sin(rotate_both, tables=Rotary(10000.0), layout="interleaved"), "half_split"),
                          (from_freqs_cis(rotate_one_by_complex, heads_first=True), "half_split")):
        with pytest.raises(AssertionError, match=words):
            assay.check(rotate, dtypes=["f32"], empty=False, options=FEW)


def leaves_k(q, k, cos, sin):
    return rotate_both(q, k, cos, sin)[0], k


def leaves_q(q, k, cos, sin):
    return q, rotate_both(q, k, cos, sin)[1]


def scales_k(q, k, cos, sin):
    return rotate_both(q, k / 2, cos, sin)


def exchanges(q, k, cos, sin):
    return rotate_both(k, q, cos, sin)


def turns_q_by_k(q, k, cos, sin):
    q, k, cos, sin = q, k, cos.unsqueeze(1), sin.unsqueeze(1)
    return q * cos + half_turn(k) * sin, k * cos + half_turn(k) * sin


def turns_k_by_q(q, k, cos, sin):
    q, k, cos, sin = q, k, cos.unsqueeze(1), sin.unsqueeze(1)
    return q * cos + half_turn(q) * sin, k * cos + half_turn(q) * sin


def repeats_heads_of_k(q, k, cos, sin):
    return rotate_both(q, k.repeat_interleave(q.shape[1] // k.shape[1], 1), cos, sin)


def leaves_a_second_group(q, k, cos, sin):
    turned, few = rotate_both(q, k, cos, sin)
    return turned, few if q.shape == k.shape else torch.cat([few[:, :1], k[:, 1:]], 1)


@pytest.mark.parametrize("function, words", [
    (leaves_k, "it returns k as it came"), (leaves_q, "it returns q as it came"),
    (scales_k, "it rotates k otherwise than q"), (exchanges, "it returns q and k in exchanged places"),
    (turns_q_by_k, "what it returns for q depends on k"), (turns_k_by_q, "value"),
    (repeats_heads_of_k, "beside q .* it returns k .* as"), (leaves_a_second_group, "value"),
])
def test_both_results_are_judged(function, words):
    """If q and k were one x, and q alone were judged, all functions but the first three would pass."""
    with pytest.raises(AssertionError, match=words):
        assay.check(from_cos_sin(function), dtypes=["f32"], options=FEW)


def test_k_has_fewer_heads_where_the_function_takes_that():
    seen = []

    def rotate(q, k, cos, sin):
        seen.append((q.shape[1], k.shape[1]))
        return rotate_both(q, k, cos, sin)

    def rotate_stacked(q, k, cos, sin):
        return rotate_both(*torch.stack([q, k]), cos, sin)
    x, position = torch.randn(1, 3, 6, 4), torch.arange(3)[None]
    wanted = from_cos_sin(rotate)(x, position, 10000.0)
    assert seen == [(6, 6), (6, 6), (6, 3)]
    assert torch.equal(wanted, from_cos_sin(rotate_stacked)(x, position, 10000.0))
    assay.check(from_cos_sin(rotate_stacked), dtypes=["f32"], options=FEW)


@pytest.mark.parametrize("adapter, function, words", [
    (from_cos_sin, rotate_by_complex, r"is for \(q, k, cos, sin\) and \(x, cos, sin\), and the parameters of "
     r"rotate_by_complex are \(xq, xk, freqs_cis\); from_freqs_cis is for"),
    (from_freqs_cis, rotate_one, r"parameters of rotate_one are \(x, cos, sin\); from_cos_sin is for"),
    (from_cos_sin, lambda x, c, s: x, r"\(x, c, s\)"),
    (from_cos_sin, lambda cos, sin, x: x, r"\(cos, sin, x\)"),
    (from_cos_sin, lambda q, k, v, cos, sin: q, r"\(q, k, v, cos, sin\)"),
    (from_cos_sin, lambda q, k, cos, sin, position_ids: q, r"position_ids\)"),
    (from_cos_sin, lambda q, sincos: q, r"\(q, sincos\)"),
    (from_freqs_cis, lambda x, angles: x, r"\(x, angles\)"),
])
def test_a_function_whose_parameters_do_not_say_what_they_are_is_refused(adapter, function, words):
    with pytest.raises(WrongClaim, match=words):
        adapter(function)


def test_odd_widths_are_declined():
    with pytest.raises(Unsupported, match="even widths only, and this one is 3"):
        from_cos_sin(rotate_one, tables=Rotary(1e4))(torch.ones(1, 2, 1, 3), torch.tensor([[0, 1]]))


def test_neighbours_beside_tables_of_halves_are_named():
    def turned_neighbours(q, k, cos, sin):  # q and k [B, h, n, d], pairs beside each other
        def turn(x):
            partner = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)
            return x * cos.unsqueeze(1) + partner * sin.unsqueeze(1)
        return turn(q), turn(k)
    with pytest.raises(AssertionError, match="neighbours are paired, and columns of cosines and sines in the order of halves"):
        assay.check(from_cos_sin(turned_neighbours), dtypes=["f32"], options=["--property=value", "--max-elements=2000"])
    assay.check(from_cos_sin(turned_neighbours, layout="interleaved"), dtypes=["f32"], options=FEW)
