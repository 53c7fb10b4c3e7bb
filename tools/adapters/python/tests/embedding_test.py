"""Tests of assay.check_embed_position, run by pytest with ASSAY set to the program: a module of Heinsen's form, H and R of
one's own, and modules that go wrong."""
import numpy
import pytest

import assay

torch = pytest.importorskip("torch")
nn = torch.nn
E_, D = 6, 5  # columns of tokens and of states


class StepLoop(nn.Module):
    """Heinsen's form, token by token. Each method is one thing that faults replace."""

    def __init__(self, h=None, r=None):
        super().__init__()
        torch.manual_seed(1)
        self.H = h or nn.Linear(E_, 2 * D)
        self.R = r or nn.Linear(D, E_)
        self.kept = None

    def halves(self, logits):
        return logits.split(logits.shape[-1] // 2, -1)

    def log_p(self, g):
        return nn.functional.logsigmoid(g)

    def step(self, a, h, s):
        return torch.logaddexp(a + s, h)

    def scan(self, a, h, s):
        states = []
        for i in range(h.shape[-2]):
            s = self.step(a[..., i, :], h[..., i, :], s)
            states.append(s)
        return torch.stack(states, -2)

    def start(self, h, goes_on):
        return self.kept if goes_on else torch.zeros_like(h[..., 0, :])

    def keep(self, s):
        self.kept = s[..., -1, :].detach()

    def total(self, x, r):
        return x + r

    def forward(self, x, using_prev_context=False):
        g, h = self.halves(self.H(x))
        s = self.scan(self.log_p(g), h, self.start(h, using_prev_context))
        self.keep(s)
        return self.total(x, self.R(s))


class PrefixSums(StepLoop):
    def scan(self, a, h, s):
        A = a.cumsum(-2)
        terms = torch.cat([s.unsqueeze(-2), h - A], -2)
        return A + torch.logcumsumexp(terms, -2)[..., 1:, :]


class CausalConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.along = nn.Conv1d(E_, 2 * D, 3)

    def forward(self, x):
        return self.along(nn.functional.pad(x.transpose(-1, -2), (2, 0))).transpose(-1, -2)


class TwoTensors(nn.Module):
    def __init__(self):
        super().__init__()
        self.g, self.h = nn.Linear(E_, D), nn.Linear(E_, D)

    def forward(self, x):
        return self.g(x), self.h(x)


class GatedUnit(nn.Module):
    def __init__(self):
        super().__init__()
        self.value, self.gate = nn.Linear(D, E_), nn.Linear(D, E_)

    def forward(self, s):
        return self.value(s) * torch.sigmoid(self.gate(s))


def mlp():
    return nn.Sequential(nn.Linear(E_, 16), nn.GELU(), nn.Linear(16, 2 * D))


@pytest.mark.parametrize("module", [
    StepLoop(), PrefixSums(), StepLoop(h=mlp()), PrefixSums(h=CausalConvolution()), StepLoop(r=GatedUnit()),
    PrefixSums(mlp(), nn.Sequential(nn.LayerNorm(D), nn.Linear(D, E_)))], ids=lambda m: f"{type(m).__name__}-{type(m.R).__name__}")
def test_right_modules_pass_whatever_h_and_r_are(module):
    report = assay.check_embed_position(module, sizes={"e": E_})
    assert report.is_right and list(report) == ["f32"]
    assert {name: part.calls > 0 for name, part in report["f32"].items()} == {
        "scan": True, "chunk state": True, "residual": True, "gradient": True}
    assert (report["f32"]["scan"].accuracy_class == "cumsum") == isinstance(module, PrefixSums)
    assert 4 <= report["f32"]["scan"].digits[""] <= 8 and "scan in f32: right in" in str(report)


def test_dtypes_two_tensors_examples_and_a_state_that_is_attached():
    class Attached(StepLoop):
        def halves(self, logits):
            return logits

        def keep(self, s):
            self.kept = s[..., -1, :]
    x = torch.randn(2, 2, 9, E_)
    report = assay.check_embed_position(Attached(h=TwoTensors()), x, ["f32", "f64"], state="attached")
    assert list(report) == ["f32", "f64"] and report["f64"]["scan"].digits[""] > 13
    assay.check_embed_position(StepLoop(), x[0, 0])


def test_bf16_is_judged_in_the_arithmetic_that_is_declared():
    class InF32(StepLoop):
        def halves(self, logits):
            return [half.float() for half in super().halves(logits)]

        def total(self, x, r):
            return x + r

        def scan(self, a, h, s):
            return super().scan(a, h, s.float()).bfloat16()
    assert assay.check_embed_position(InF32(), dtypes=["bf16"]).is_right
    with pytest.raises(AssertionError, match='explained if the scan is computed in bf16: declare it .compute={"bf16": "bf1'):
        assay.check_embed_position(StepLoop(), dtypes=["bf16"])
    assert assay.check_embed_position(StepLoop(), dtypes=["bf16"], compute={"bf16": "bf16"}).is_right


def test_h_may_return_log_p_and_submodules_may_lie_deeper():
    class LogP(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(E_, 2 * D)

        def forward(self, x):
            g, h = self.linear(x).chunk(2, -1)
            return torch.cat([nn.functional.logsigmoid(g), h], -1)

    class Given(StepLoop):
        def log_p(self, g):
            return g

    class Around(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Given(h=LogP())

        def forward(self, x, goes_on=False):
            return self.inner(x, using_prev_context=goes_on)
    report = assay.check_embed_position(Around(), h="inner.H", r="inner.R", sizes={"e": E_}, gate="log_p",
                                        continued={"goes_on": True})
    assert report.is_right


def test_a_module_without_chunks():
    class Whole(StepLoop):
        def forward(self, x):
            return super().forward(x)
    with pytest.raises(assay.NotEmbedPosition, match=r"forward takes no using_prev_context: continued=\{...\} has"):
        assay.check_embed_position(Whole())
    assert assay.check_embed_position(Whole(), cuts=[])["f32"]["chunk state"].calls == 0


def fault(base=StepLoop, **methods):
    return type("Faulty", (base,), methods)()


def _mixed(self, a, h, s):
    return StepLoop.scan(self, a.roll(1, 0), h.roll(1, 0), s)


def _before(self, a, h, s):
    states = StepLoop.scan(self, a, h, s)
    return torch.cat([s.unsqueeze(-2), states[..., :-1, :]], -2)


def _before_last_kept(self, s):
    self.kept, self.later = self.later, s[..., -1, :].detach()


def _forgets_the_sequence_before(self, h, goes_on):
    if not goes_on:
        self.kept = self.later = torch.zeros_like(h[..., 0, :])
    return self.kept


def _shifted_sums(self, a, h, s):
    A = nn.functional.pad(a.cumsum(-2), (0, 0, 1, 0))[..., :-1, :]
    return A + torch.logcumsumexp(torch.cat([s.unsqueeze(-2), h - A], -2), -2)[..., 1:, :]


def _detached_within(self, a, h, s):
    states = []
    for i in range(h.shape[-2]):
        s = self.step(a[..., i, :], h[..., i, :], s.detach())
        states.append(s)
    return torch.stack(states, -2)


def _overwrites(self, x, r):
    y = x + r
    x.data.zero_()
    return y


def _kept_after_the_first(self, s):
    self.kept = s[..., :1, :].squeeze(-2).detach()


FAULTS = {
    "sums shifted": (dict(scan=_shifted_sums), "scan", "token i is decayed by the gate of token i - 1"),
    "no decay": (dict(log_p=torch.zeros_like), "scan", "the states have no decay, as if p were 1"),
    "log-sigmoid missing": (dict(log_p=lambda self, g: g), "scan", "g is taken for log p: the log-sigmoid is missing"),
    "1 - p": (dict(log_p=lambda self, g: nn.functional.logsigmoid(-g)), "scan", "the gates decay by 1 - p instead of p"),
    "halves exchanged": (dict(halves=lambda self, t: StepLoop.halves(self, t)[::-1]), "scan",
                         "the second half of H is taken for the gates"),
    "state before the token": (dict(scan=_before, keep=lambda self, s: None, start=lambda self, h, goes_on: torch.zeros_like(
        h[..., 0, :])), "scan", "R is given the state before token i, and not that behind it"),
    "backwards": (dict(scan=lambda self, a, h, s: StepLoop.scan(self, a.flip(-2), h.flip(-2), s).flip(-2)), "scan",
                  "the scan runs from the last token to the first"),
    "rows mixed": (dict(scan=_mixed), "scan", "rows of the batch are mixed: each has the states of the row before"),
    "overflow": (dict(step=lambda self, a, h, s: torch.log(torch.exp(a + s) + torch.exp(h))), "scan",
                 "R is given states that are infinite or NaN: exponentials overflow"),
    "a term too much": (dict(step=lambda self, a, h, s: torch.logaddexp(torch.logaddexp(a + s, h), h - 3)), "scan",
                        "The first token whose states are wrong is 0: s[0, 0, 0]: expected"),
    "state not carried": (dict(start=lambda self, h, goes_on: torch.zeros_like(h[..., 0, :])), "chunk state",
                          "a chunk starts from s_0 = 0: the state of the chunk before is not carried"),
    "state of another chunk": (dict(keep=_before_last_kept, start=_forgets_the_sequence_before), "chunk state",
                               "a chunk starts from the state that the chunk before started from"),
    "first state kept": (dict(keep=_kept_after_the_first), "chunk state",
                         "a chunk starts from the first state of the chunk before"),
    "state of another row": (dict(start=lambda self, h, goes_on: StepLoop.start(self, h, goes_on).roll(1, 0)), "chunk state",
                             "a chunk starts from the state of the row before"),
    "state never dropped": (dict(start=lambda self, h, goes_on: self.kept if self.kept is not None and len(self.kept) == len(
        h) else torch.zeros_like(h[..., 0, :])), "chunk state", "a call that continues nothing starts from the state that"),
    "state attached": (dict(keep=lambda self, s: setattr(self, "kept", s[..., -1, :])), "chunk state",
                       "the state is declared detached, and it is attached: gradients reach the chunk before"),
    "residual missing": (dict(total=lambda self, x, r: r), "residual", "y is R(s): the tokens x are missing"),
    "R missing": (dict(total=lambda self, x, r: x + 0 * r), "residual", "y is x: R(s) is missing"),
    "subtracted": (dict(total=lambda self, x, r: x - r), "residual", "y is x - R(s)"),
    "halved": (dict(total=lambda self, x, r: x + 0.5 * r), "residual", "y is not x + R(s): y[0, 0, 0] is"),
    "residual detached": (dict(total=lambda self, x, r: x.detach() + r), "residual",
                          "the residual is detached: x has no gradient of y but through H"),
    "R detached": (dict(total=lambda self, x, r: x + r.detach()), "residual", "the gradient that reaches R's output is not"),
    "x detached": (dict(forward=lambda self, x, using_prev_context=False: x - x.detach() + StepLoop.forward(
        self, x.detach(), using_prev_context)), "residual", "H is given x without its gradient: x is detached before H"),
    "another x": (dict(forward=lambda self, x, using_prev_context=False: 0.5 * x + StepLoop.forward(
        self, 0.5 * x, using_prev_context)), "residual", "H is given other numbers than the tokens x"),
    "x overwritten": (dict(total=_overwrites), "residual", "forward overwrites its input"),
    "detached within": (dict(scan=_detached_within), "gradient", "the state is detached between tokens: each token has"),
    "gates detached": (dict(log_p=lambda self, g: nn.functional.logsigmoid(g).detach()), "gradient",
                       "the gradient that reaches the gates is 0"),
    "scan detached": (dict(halves=lambda self, t: [half.detach() for half in StepLoop.halves(self, t)]), "gradient",
                      "no gradient reaches the gates that H returned: the scan is detached"),
    "gradient doubled": (dict(log_p=lambda self, g: 2 * nn.functional.logsigmoid(g) - nn.functional.logsigmoid(g).detach()),
                         "gradient", "The first token whose gradients are wrong is 0: grad_g[0, 0, 0]: expected")}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_in_its_part_and_named(name):
    methods, part, words = FAULTS[name]
    with pytest.raises(AssertionError) as failure:
        assay.check_embed_position(fault(**methods), sizes={"e": E_})
    lines = dict(line.removeprefix("- ").split(" in f32: ", 1) for line in str(failure.value).splitlines()[1:])
    said = lines.pop(part)
    assert words in said and (" or " not in said or name == "overflow")
    assert not any("wrong" in line for line in lines.values()), lines


def test_a_state_that_is_declared_attached_and_is_not():
    with pytest.raises(AssertionError, match="declared attached, and it is detached: gradients do not reach the chunk before"):
        assay.check_embed_position(StepLoop(), state="attached")


def _in_place(self, logits):
    logits[..., :D] = 0
    return StepLoop.halves(self, logits)


@pytest.mark.parametrize("module, arguments, said", [
    (lambda: abs, {}, "a torch.nn.Module is watched, and a builtin_function_or_method came"),
    (lambda: nn.Linear(2, 2), {"cuts": []}, "Linear has no submodule 'H': name H by h=\"...\"; its submodules: none"),
    (StepLoop, {"r": "kept"}, "has no submodule 'kept': name R by r="),
    (StepLoop, {"h": "scan"}, "has 'scan', which is a method and no submodule"),
    (lambda: fault(total=lambda self, x, r: x + r + 0 * self.R(torch.zeros_like(self.kept).unsqueeze(-2).expand(
        *x.shape[:-1], D))), {}, "R .'R'. is called 2 times in a call of the module: once is watched"),
    (lambda: fault(forward=lambda self, x, using_prev_context=False: x + self.R(x[..., :D])), {}, "R is called before H"),
    (lambda: fault(forward=lambda self, x, using_prev_context=False: x + 0 * self.H(x).sum()), {},
     "R .'R'. is called never in a call of the module: once is watched, as R.x. is seen and R.forward.x. is not"),
    (lambda: StepLoop(h=nn.Linear(E_, 2 * D + 1)), {}, r"H returns a tensor \[3, 1, 11\] of tokens \[3, 1, 6\]: a tensor"),
    (lambda: StepLoop(h=nn.LSTM(E_, 2 * D)), {"sizes": {"e": E_}}, "H returns a tuple of a tensor .*, a tuple of a tensor"),
    (lambda: fault(scan=lambda self, a, h, s: torch.cat([s.unsqueeze(-2), StepLoop.scan(self, a, h, s)], -2)), {},
     r"R is given a tensor \[3, 2, 5\] where H returned 5 gates and 5 logits of 1 tokens: one state of each token"),
    (lambda: StepLoop(r=nn.Linear(D, 1)), {}, r"R returns a tensor \[3, 1, 1\], and the tokens it is added to"),
    (lambda: fault(halves=_in_place), {}, "the module changes in place what H returned"),
    (StepLoop, {"x": torch.full((1, 2, E_), float("nan"))}, "H itself returns NaN"),
    (lambda: StepLoop(h=mlp()), {}, "nothing tells how many columns tokens have: give sizes="),
    (StepLoop, {"state": "kept"}, "state must be one of detached, attached, not 'kept'"),
    (StepLoop, {"gate": "p"}, "gate must be one of logits, log_p, not 'p'"),
    (StepLoop, {"x": 3}, "x must be a tensor of tokens"),
    (StepLoop, {"dtypes": ["f8"]}, "unknown in dtypes: 'f8'; sizes are B, n and e, dtypes f64"),
    (StepLoop, {"sizes": {"d": 3}}, "unknown in sizes: 'd'"),
    (StepLoop, {"compute": "bf16"}, "unknown in compute: 'b'"),
    (StepLoop, {"cuts": [[5, 60]]}, r"\[5, 60\] are no chunks of at most 64 tokens"),
    (lambda: fault(total=lambda self, x, r: (x + r).sum()), {}, r"forward returns a tensor \[\], and tokens of the shape")])
def test_what_cannot_be_watched_is_said(module, arguments, said):
    with pytest.raises(ValueError, match=said):
        assay.check_embed_position(module(), **arguments)


def test_errors_of_the_module_are_said_and_the_module_stays_as_it_is():
    def raises(self, h, goes_on):
        if goes_on:
            raise KeyError("cache")
        return StepLoop.start(self, h, goes_on)
    with pytest.raises(AssertionError, match=r"forward of \[3, 16, 6\] with using_prev_context=True fails: KeyError: 'cache'"):
        assay.check_embed_position(fault(start=raises))
    module = StepLoop().train()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    assay.check_embed_position(module)
    assert module.training and module.kept is None and not module.H._forward_hooks and module.H.weight.grad is None
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    with pytest.raises(AssertionError, match="the output of forward has no gradient"):
        assay.check_embed_position(fault(total=lambda self, x, r: (x + r).detach()))


def test_a_module_that_keeps_a_graph_is_not_copied():
    module = fault(keep=lambda self, s: setattr(self, "kept", s[..., -1, :]))
    module(torch.randn(1, 2, E_))
    with pytest.raises(assay.NotEmbedPosition, match="the module cannot be copied, .* give one that has not run yet"):
        assay.check_embed_position(module)
    module.kept = None
    assert assay.check_embed_position(module, state="attached").is_right


def test_what_h_returns_in_itself_is_judged_alone_where_that_is_wanted():
    unstable = fault(step=lambda self, a, h, s: torch.log(torch.exp(a + s) + torch.exp(h)))
    assert assay.check_embed_position(unstable, largest=None).is_right
    with pytest.raises(AssertionError, match="with numbers up to 1000 in place of what H returned: R is given states that are inf"):
        assay.check_embed_position(unstable)
    assert numpy.isfinite(assay.check_embed_position(unstable, largest=20.0)["f32"]["scan"].digits["up to 20"])


def test_whoever_gates_such_a_module_is_told_this_check():
    """Its forward has the inputs of no operation."""
    for operation in (None, "heinsen/embed_position"):
        with pytest.raises(assay.NotAnOperation, match=r"; assay\.check_embed_position\(MODULE\) judges modules with H and R$"):
            assay.check(StepLoop(), operation)
    with pytest.raises(assay.NotAnOperation, match=r"^((?!check_embed_position).|\n)*$"):
        assay.check(nn.Linear(2, 2))
