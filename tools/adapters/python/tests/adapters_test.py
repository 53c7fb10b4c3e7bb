"""Tests of the adapters for the shapes of popular code, and of what functions say of themselves. Run by pytest with
ASSAY set to the program. The functions are stand-ins, each in the shape of code that many have."""
import functools
import math

import numpy
import pytest

import assay
from assay.checking import _relayed as relayed
from assay.claims import WrongClaim, check_domain, claims_of
from assay.function import _adapted, candidate_of, framework_of
from assay.host import Unsupported

torch = pytest.importorskip("torch")
arange = torch.arange
from assay.adapters import alibi_in_one, consecutive, even_heads, from_table, heads_first, one_row  # noqa: E402

# Some functions are called once for each row.
FEW = ["--property=value", "--property=vjp", "--family=mild", "--max-elements=2000"]


def rotate_pairs(x, position):
    """x [B, h, n, d], pairs beside each other, by complex numbers."""
    width = x.shape[-1]
    theta = 10000.0 ** -(torch.arange(0, width, 2).double() / width)
    angle = position.double()[:, None, :, None] * theta
    pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], width // 2, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2).to(x.dtype)


def rotate_from(x, offset=0):
    return heads_first(rotate_pairs)(x, torch.arange(offset, offset + x.shape[1]).expand(x.shape[0], -1))


def rotate_rows(x, position):
    assert position.ndim == 1
    return heads_first(rotate_pairs)(x, position.expand(x.shape[0], -1))


def rotate_row(x, position):
    assert position.shape == (1, x.shape[1])
    return rotate_rows(x, position[0])


def rotate_in_numpy(x, position):
    assert position.ndim == 1
    width = x.shape[-1]
    angle = (position[:, None] * 10000.0 ** (-numpy.arange(0, width, 2) / width))[:, None]
    cos, sin, result = numpy.cos(angle), numpy.sin(angle), numpy.empty_like(x)
    result[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    result[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return result


def rotate_by(x, theta, position):
    assert position.ndim == 1
    angle = (position.unsqueeze(-1) * theta).unsqueeze(1)
    cos, sin, turning, rest = angle.cos(), angle.sin(), x[..., :2 * len(theta)], x[..., 2 * len(theta):]
    a, b = turning[..., 0::2], turning[..., 1::2]
    return torch.cat([torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2), rest], -1)


def geometric(heads):
    ratio = 2.0 ** (-8.0 / heads)
    return [ratio ** (k + 1) for k in range(heads)]


def official(heads):
    power = 2 ** int(math.log2(heads))
    return geometric(power) + geometric(2 * power)[0::2][:heads - power]


def bias_of(heads, tokens):
    distance = torch.arange(tokens)[None, :] - torch.arange(tokens)[:, None]
    return (torch.tensor(official(heads))[:, None, None] * distance).masked_fill(distance > 0, -math.inf)[None]


def key_bias_from_last(heads, tokens):
    return torch.tensor(official(heads))[:, None, None] * torch.arange(1 - tokens, 1)[None, None]


def key_bias_of(heads, tokens):
    return torch.tensor(official(heads))[:, None, None] * torch.arange(tokens)[None, None]


def encodings(length, width):
    angle = torch.arange(length).unsqueeze(1) * 10000.0 ** -(torch.arange(0, width, 2) / width)
    table = torch.zeros(length, width)
    table[:, 0::2], table[:, 1::2] = angle.sin(), angle.cos()[:, :width // 2]
    return table.unsqueeze(0)


ROTATIONS = {
    "heads first": even_heads(heads_first(rotate_pairs)),
    "offset": assay.candidate(operation="rope/rotate")(even_heads(consecutive(rotate_from))),
    "one row": even_heads(one_row(rotate_rows)),
    "one row of two axes": even_heads(one_row(rotate_row, axes=2)),
    "one row in NumPy": even_heads(one_row(rotate_in_numpy)),
    "by given frequencies": even_heads(one_row(rotate_by)),
}


@pytest.mark.parametrize("name", ROTATIONS)
def test_right_rotations_pass(name):
    assay.check(ROTATIONS[name], dtypes=["f32"], options=FEW)


def test_what_cannot_be_asked_is_declined():
    odd = torch.ones(1, 2, 1, 3)
    with pytest.raises(Unsupported, match="even widths only, and this one is 3"):
        even_heads(heads_first(rotate_pairs))(odd, torch.tensor([[0, 1]]))
    with pytest.raises(Unsupported, match="no row of positions"):
        one_row(rotate_rows)(torch.ones(0, 2, 1, 4), torch.ones(0, 2))
    rotate = consecutive(rotate_from)
    for positions in ([[0, 2]], [[0, 1], [1, 2]], [[1, 0]]):
        with pytest.raises(Unsupported, match="not consecutive"):
            rotate(torch.ones(len(positions), 2, 1, 4), torch.tensor(positions))
    with pytest.raises(Unsupported, match="begins at position 0, and this case at 3"):
        consecutive(lambda x: rotate_from(x))(torch.ones(1, 2, 1, 4), torch.tensor([[3, 4]]))
    assert torch.equal(rotate(odd[..., :2], torch.tensor([[3, 4]])), rotate_from(odd[..., :2], 3))
    for position in ([0.5], [-1.0], [1e9]):
        with pytest.raises(Unsupported, match="rows for the positions 0 to 65535"):
            from_table(encodings)(torch.tensor(position), 4, torch.float32)


@pytest.mark.parametrize("made", [alibi_in_one(bias_of), alibi_in_one(key_bias_of, form="key", causal=False),
                                  alibi_in_one(key_bias_from_last, form="key_from_last", causal=False)])
def test_slopes_and_bias_in_one(made):
    assay.check(made, dtypes=["f32"], options=FEW)


SQUARES = {"official": lambda heads: [m * m for m in official(heads)],  # of MPT, too
           "naive": lambda heads: [2.0 ** (-8 * (k + 1) / heads) for k in range(heads)]}


@pytest.mark.parametrize("slopes,words", [("official", {"alpha_max": 16}), ("official", {"rule": "mpt", "alpha_max": 16}),
                                          ("naive", {"rule": "naive"})])
def test_slopes_of_every_rule_and_bias_in_one(slopes, words):
    def bias(heads, tokens):
        return torch.tensor(SQUARES[slopes](heads))[:, None, None] * (arange(tokens)[None, :] - arange(tokens)[:, None])
    assay.check(alibi_in_one(bias, causal=False, **words), dtypes=["f32"], options=FEW)
    with pytest.raises(AssertionError, match="`alibi/slopes`"):
        assay.check(alibi_in_one(bias, causal=False), dtypes=["f32"], options=FEW)


def test_keys_that_do_not_end_where_the_function_thinks_are_declined():
    made = alibi_in_one(key_bias_from_last, form="key_from_last", causal=False)
    bias = made._functions["alibi/bias"][0].function
    slopes, keys = torch.ones(2), torch.tensor([5, 6, 7])
    assert bias(slopes, keys, keys, form="key_from_last", last_position=7)["bias"][0, 0].tolist() == [-2, -1, 0]
    with pytest.raises(Unsupported, match="the keys do not end at last_position, 0"):
        bias(slopes, keys, keys, form="key_from_last", last_position=0)

    def wrong(heads, tokens):
        return key_bias_from_last(heads, tokens) - (torch.arange(tokens) < tokens - 2).float()
    with pytest.raises(AssertionError, match="`alibi/bias`"):
        assay.check(alibi_in_one(wrong, form="key_from_last", causal=False), dtypes=["f32"], options=FEW)


def test_rows_with_positions_of_their_own_are_calls_of_their_own():
    calls = []

    def rotate(x, position):
        calls.append((len(x), position.tolist()))
        return rotate_rows(x, position)
    x = torch.ones(3, 2, 1, 4)
    one_row(rotate)(x, torch.tensor([[1, 2]] * 3))
    assert calls == [(3, [1, 2])]
    calls.clear()
    y = one_row(rotate)(x, torch.tensor([[1, 2], [3, 4], [1, 2]]))
    assert calls == [(1, [1, 2]), (1, [3, 4]), (1, [1, 2])]
    assert torch.equal(y[1:2], rotate_rows(x[:1], torch.tensor([3, 4])))


def test_wrong_slopes_and_wrong_biases_are_told_apart():
    def wrong_slopes(heads, tokens):
        return bias_of(heads, tokens) * 2

    def wrong_bias(heads, tokens):
        bias = bias_of(heads, tokens)
        bias[..., 2:, 0] -= 1
        return bias
    for function, wrong, right in ((wrong_slopes, "slopes", "bias"), (wrong_bias, "bias", "slopes")):
        with pytest.raises(AssertionError) as failure:
            assay.check(alibi_in_one(function), dtypes=["f32"], options=FEW)
        assert f"`alibi/{wrong}`" in str(failure.value) and f"of `alibi/{right}` in" not in str(failure.value)


def test_biases_of_the_other_form_are_told():
    with pytest.raises(AssertionError, match="is its form 'key'?"):
        assay.check(alibi_in_one(key_bias_of), dtypes=["f32"], options=FEW)


def test_a_table_of_consecutive_positions():
    table = assay.candidate(domain={"odd": ["extra"]})(from_table(encodings))
    assert claims_of(table)["operation"] == "sinusoidal/table"
    assay.check(table, options=FEW)


def test_a_table_is_asked_for_in_the_dtypes_whose_digits_it_has():
    def exact(length, width):
        return encodings(length, width).double().numpy()[0]

    def table_of_width_8(length, width):
        return encodings(length, width) if width == 8 else None
    assert claims_of(from_table(encodings))["dtypes"] == ["f32"]
    for table in (exact, table_of_width_8):
        assert "dtypes" not in claims_of(from_table(table))
    assert claims_of(from_table(assay.candidate(dtypes=["f64"])(lambda length, width: encodings(length, width))))[
        "dtypes"] == ["f64"]


def test_the_framework_is_that_of_the_names_that_are_used():
    """Names of attributes do not count, although this module has an `arange` of torch."""
    def table(length, width):
        return numpy.arange(length)[:, None] * [numpy.exp(float(-i)) for i in range(width)]

    def within(length, width):
        return [torch.exp(value) for value in range(length)]
    assert framework_of(table) == framework_of(from_table(table)) == "numpy"
    assert framework_of(within) == "torch"


def test_a_module_is_checked_in_its_dtype_and_without_dropout():
    class Bias(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("one", torch.ones(()))
            self.drop = torch.nn.Dropout(0.5)

        def forward(self, slopes, query_position, key_position):
            distance = key_position[None, :] - query_position[:, None]
            return self.drop(self.one * slopes[:, None, None] * distance).masked_fill(distance > 0, -math.inf)
    module = Bias()
    for function in (module, torch.jit.script(module)):
        assay.check(function, options=FEW)
    assert module.training
    assert assay.candidate(dtypes=["f64"])(module) is module
    assay.check(module, options=FEW)
    assert module.one.dtype == torch.float32


def test_torchscript_and_partial():
    @torch.jit.script
    def scan(log_p: torch.Tensor, h: torch.Tensor, s0: torch.Tensor):
        s = s0
        states = []
        for i in range(h.shape[1]):
            s = torch.logaddexp(log_p[:, i] + s, h[:, i])
            states.append(s)
        return torch.stack(states, 1), s
    # It cannot stack no states: that is a refusal, unless it is declared to.
    # Gradients through thousands of scripted steps take minutes.
    assay.check(scan, dtypes=["f32"], empty=False, vjp=False, options=FEW)
    assay.check(scan, dtypes=["f32"], vjp=False, options=["--property", "empty_axes"])
    with pytest.raises(AssertionError, match="n = 0: error reply: "):
        assay.check(scan, dtypes=["f32"], empty=True, vjp=False, options=["--property", "empty_axes"])
    traced = torch.jit.trace(rotate_pairs, (torch.ones(1, 1, 2, 4), torch.ones(1, 2)))
    assert claims_of(heads_first(traced)) == {}

    def scaled(factor, slopes, query_position, key_position):
        return factor * slopes[:, None, None] * (key_position[None, :] - query_position[:, None])
    assay.check(functools.partial(scaled, 1), dtypes=["f32"], domain={"causal": [False]}, options=FEW)


def test_numbers_of_python_are_slopes():
    assay.check(official, "alibi/slopes", ["f32", "bf16"], options=FEW)


SCAN = {"name": "heinsen/scan", "attributes": [], "recurrent": True, "axes": ["B", "d", "n"],
        "inputs": [{"name": "log_p"}, {"name": "h"}, {"name": "s0"}]}
ROTATE = {"name": "rope/rotate", "attributes": [{"name": "layout"}], "recurrent": False, "axes": ["d"],
          "inputs": [{"name": "x"}]}
BUCKETS = {"name": "t5_bias/bucket", "recurrent": False, "axes": ["n"], "inputs": [{"name": "distance"}],
           "attributes": [{"name": "buckets", "standard": 32}, {"name": "both_sides", "standard": True},
                          {"name": "form", "standard": "log", "values": ["log", "clipped"]}]}


@pytest.mark.parametrize("declared, domain, words", [
    (SCAN, {"logp": "finite"},
     "'logp' is no input, setting or axis of heinsen/scan; known: log_p, h, s0, state, B, d, n$"),
    (SCAN, {"m": [1, 8]}, "'m' is no input, setting or axis"),
    (SCAN, {"n": 8}, r"'n' needs \[low, high\] or \{\"multiple_of\": k\}, not 8"),
    (SCAN, {"n": {"times": 8}}, "'n' has the unknown word 'times'; known: multiple_of, at_least, at_most"),
    (SCAN, {"n": {"multiple_of": 0.5}}, "'n' needs whole numbers"),
    (ROTATE, {"state": "finite"}, "'state' is no input, setting or axis of rope/rotate; known: x, layout, d"),
    (ROTATE, {"layout": "half_split"}, "'layout' is a setting: it needs a list of values, not 'half_split'"),
    (BUCKETS, {"buckets": 2}, r"needs a list of values or a range such as \{\"at_least\": 2\}, not 2"),
    (BUCKETS, {"buckets": {"from": 2}}, "'buckets' has the unknown word 'from'; known: multiple_of, at_least, at_most"),
    (BUCKETS, {"both_sides": {"at_least": 1}}, "needs a list of values, not"),
    (BUCKETS, {"buckets": [[32]]}, r"its values are numbers, strings or booleans, not \[32\]"),
    (BUCKETS, {"form": {"at_least": 1}}, "needs a list of values, not"),
    (SCAN, {"h": [2, 1]}, "holds no value: low exceeds high"),
    (SCAN, {"h": [math.nan, 1]}, "must be finite numbers"),
    (SCAN, {"h": [0, math.inf]}, "must be finite numbers"),
    (SCAN, {"h": []}, r'needs "finite" or \[low, high\], not \[\]'),
    (SCAN, {"h": "positive"}, "needs \"finite\" or"),
    (SCAN, {"h": [True, 2]}, "needs \"finite\" or"),
    (SCAN, ["h"], "must map names of inputs"),
])
def test_a_domain_that_is_none(declared, domain, words):
    with pytest.raises(WrongClaim, match=words):
        check_domain(domain, declared)


def test_a_domain_that_is_one():
    check_domain({"log_p": "finite", "h": [-1, 2.5], "s0": (0, 0), "state": "finite"}, SCAN)
    check_domain({"layout": ["half_split"]}, ROTATE)
    check_domain({"buckets": {"at_least": 2}}, BUCKETS)
    check_domain({"buckets": [2, 4], "both_sides": [True]}, BUCKETS)
    check_domain({"n": {"multiple_of": 64, "at_most": 4096}, "d": [2, 256]}, SCAN)
    table = {"name": "sinusoidal/table", "inputs": [{"name": "position"}], "axes": ["n"], "recurrent": False,
             "attributes": [{"name": "width", "axis": "d", "standard": 8}]}
    for domain in ({"d": {"multiple_of": 2}}, {"width": {"multiple_of": 2}}, {"width": [2, 4]}, {"d": [2, 64]}):
        check_domain(domain, table)
    with pytest.raises(WrongClaim, match="'width' has the unknown word 'times'"):
        check_domain({"width": {"times": 2}}, table)


def test_a_setting_of_at_least_two():
    def bucket(distance, buckets, max_distance):
        """Logarithmic buckets of one direction. It needs 8 buckets and a max_distance of 200 at least."""
        assert buckets >= 8 and max_distance >= 200
        half = buckets // 2
        near = -distance.clamp(max=0)
        far = half + (near.double() / half).log() / math.log(max_distance / half) * (buckets - half)
        return torch.where(near < half, near, far.nan_to_num(neginf=0).long().clamp(max=buckets - 1))
    assay.check(bucket, dtypes=["f32"], options=FEW[:1] + FEW[2:], domain={
        "buckets": {"at_least": 8}, "max_distance": {"at_least": 200}, "bidirectional": [False]})


def test_the_hello_of_a_function_of_this_process_says_so():
    hello = relayed({"hello": {"name": "f", "properties": {"deterministic": True}}})["hello"]
    assert hello == {"name": "f", "properties": {"deterministic": True, "relayed": True}}
    assert relayed({"id": 1, "ok": True}) == {"id": 1, "ok": True}


def test_a_precision_of_a_dtype_that_is_not_asked_for_is_left_out():
    def double(x):
        return 2 * x
    declared = {"name": "a/b", "attributes": [], "inputs": [{"name": "x", "axes": ["n"]}],
                "outputs": [{"name": "y", "axes": ["n"]}], "recurrent": False, "axes": ["n"]}
    assay.candidate(dtypes=["f32", "bf16"], compute={"f32": "f32", "bf16": "bf16", "f16": "f32"})(double)
    hello = candidate_of(double, [declared], "a/b", ["f32"], vjp=False).answer({"hello": {}})["hello"]
    assert hello["compute"] == {"f32": "f32", "f16": "f32"}  # the last one is a mistake, which the program refuses


def test_claims_of_decorators_and_modules():
    @assay.candidate(dtypes=["f32"], domain={"x": "finite"})
    def rotate(x):
        return x
    assert rotate(3) == 3
    assay.candidate(vjp=False, domain={"layout": ["half_split"]})(rotate)
    module_names = {"ASSAY_DTYPES": ["f64"], "ASSAY_COMPUTE": {"bf16": "f32"}, "other": 3}
    assert claims_of(functools.partial(rotate), module_names) == {
        "dtypes": ["f32"], "compute": {"bf16": "f32"}, "vjp": False,
        "domain": {"x": "finite", "layout": ["half_split"]}}
    with pytest.raises(WrongClaim, match="unknown declaration dtype; known: operation, dtypes, "):
        assay.candidate(dtype="f32")
    with pytest.raises(WrongClaim, match="unknown declaration ASSAY_DTYPE; known: ASSAY_OPERATION, ASSAY_DTYPES"):
        claims_of(rotate, {"ASSAY_DTYPE": "f32"})
    with pytest.raises(WrongClaim, match="nothing can be noted on"):
        assay.candidate(dtypes=["f32"])(math.exp)


def test_a_setting_that_is_not_sent_has_its_standard_value():
    def shifted(x, chunk):
        return x + chunk
    declared = {"inputs": [{"name": "x", "axes": ["n"]}], "outputs": [{"name": "y", "axes": ["n"]}],
                "attributes": [{"name": "chunk", "standard": 2, "values": [2, 3]}]}
    call = _adapted(shifted, declared, True, None)
    assert call("f32", x=1) == {"y": 3}
    assert call("f32", x=1, chunk=3) == {"y": 4}
