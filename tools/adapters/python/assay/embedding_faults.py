"""The faults of modules of Heinsen's form, in words: what explains wrong states, residuals and gradients. A fault of states
or gradients is named if Assay's truth of a call with that fault explains every number of the call."""
from dataclasses import replace

_NO_DECAY, _ALL_DECAYS = 1e4, -1e4  # gate logits: log p is 0 behind the last place, and -10^4


def faults_of_state(check, calls, k):
    """The wrong states from which chunk k, or a first call, may have started: the words of all that explain it."""
    call, others = calls[k], {}
    if k:
        before, each = calls[k - 1], "a chunk starts from "
        others = {f"{each}s_0 = {check.initial:g}: the state of the chunk before is not carried": calls[0].s0,
                  f"{each}the first state of the chunk before": before.s[:, 0],
                  f"{each}the state that the chunk before started from": before.s0,
                  f"{each}the last state of the first chunk": calls[0].s[:, -1],
                  f"{each}the mean of the states of all rows of the batch": before.s[:, -1].mean(0).expand_as(call.s0)}
        if check.left is not None and check.left.shape == call.s0.shape:
            others[f"{each}the last state of the sequence before"] = check.left
        if before.s.shape[1] > 1:
            others[f"{each}the last state but one of the chunk before"] = before.s[:, -2]
        others |= {f"{each}the state of {what}": rows for what, rows in _other_rows(call.s0)}
    elif check.left is not None and check.left.shape == call.s0.shape:
        others = {"a call that continues nothing starts from the state that an earlier call has left": check.left}
    return [words for words, s0 in others.items() if check.states(replace(call, s0=s0)).right]


def _other_rows(t):
    """Rows of a batch, exchanged in the usual ways."""
    return [] if len(t) < 2 else [("the row before", t.roll(1, 0)), ("the row behind", t.roll(-1, 0)),
                                  ("the first row, for all", t[:1].expand_as(t)), ("the row at the other end", t.flip(0))]


def faults_of_states(check, call):
    """The faults of the scan that explain the call, in words."""
    torch, s, first, h = check.torch, call.s, call.first, call.h
    if not bool(s.isfinite().all()):
        return ["R is given states that are infinite or NaN: exponentials overflow, or a logarithm is taken of 0. Take the "
                "sum as log-sum-exp: m + log(exp(a - m) + exp(b - m)), m the larger one of a and b"]
    no_decay = torch.full_like(first[:, :1], _NO_DECAY if call.gate == "logits" else 0.0)
    others = {"the states have no decay, as if p were 1": replace(call, first=no_decay.expand_as(first)),
              "the states forget all tokens before, as if p were 0": replace(call, first=torch.full_like(first, _ALL_DECAYS)),
              "the second half of H is taken for the gates": replace(call, first=h, h=first),
              "the scan runs from the last token to the first": replace(call, first=first.flip(1), h=h.flip(1), s=s.flip(1)),
              "token i is decayed by the gate of token i - 1": replace(call, first=torch.cat([no_decay, first[:, :-1]], 1)),
              "token i is decayed by the gate of token i + 1": replace(call, first=first.roll(-1, 1))}
    if call.gate == "logits":
        others |= {"the gates decay by 1 - p instead of p": replace(call, first=-first),
                   "g is taken for log p: the log-sigmoid is missing": replace(call, gate="log_p")}
    for (what, firsts), (_, hs) in zip(_other_rows(first), _other_rows(h)):
        others[f"rows of the batch are mixed: each has the states of {what}"] = replace(call, first=firsts, h=hs)
    fitting = [words for words, other in others.items() if check.states(other).right]
    earlier = replace(call, first=first[:, :-1], h=h[:, :-1], s=s[:, 1:])
    if torch.equal(s[:, 0], call.s0) and (s.shape[1] == 1 or check.states(earlier).right):
        fitting.append("R is given the state before token i, and not that behind it")
    narrow = check.dtype if check.dtype in ("f16", "bf16") and check.compute is None else None
    if not fitting and narrow and check.with_compute(narrow).states(call).right:
        return [f'explained if the scan is computed in {narrow}: declare it (compute={{"{narrow}": "{narrow}"}}), or mend it']
    return fitting


def fault_of_residual(torch, chunk, cotangent):
    """The fault of the residual around R in words; None if there is none."""
    x, r, y = chunk.x, chunk.seen["r"], chunk.seen["y"]
    if not torch.equal(chunk.seen["x_of_h"], x):
        return "H is given other numbers than the tokens x"
    if not torch.equal(chunk.seen["x_after"], x):
        return "forward overwrites its input"
    off = _off(torch, y, x, r)
    if off is not None:
        forms = {"y is R(s): the tokens x are missing": r, "y is x: R(s) is missing": x, "y is x - R(s)": x - r,
                 "y is x + 2 R(s)": x + 2 * r, "y is 2 x + R(s)": 2 * x + r}
        forms |= {f"y has R(s) of {what}": x + rows for what, rows in _other_rows(r)} if r.dim() > 2 else {}
        said = next((words for words, form in forms.items() if torch.equal(form.to(y), y)), "y is not x + R(s)")
        return f"{said}: y{off} is {float(y[tuple(off)]):.9g}, and x + R(s) {float(x[tuple(off)]) + float(r[tuple(off)]):.9g}"
    grad_r, grad_x, grad_h = (chunk.nodes[name].grad for name in ("r", "x", "x_of_h"))
    if grad_r is None or not torch.equal(grad_r.to(y), cotangent.to(y)):
        return "the gradient that reaches R's output is not that of y"
    if not chunk.nodes["x_of_h"].requires_grad:
        return "H is given x without its gradient: x is detached before H"
    off = _off(torch, grad_x, cotangent, torch.zeros_like(x) if grad_h is None else grad_h)
    if off is not None:
        if torch.equal(grad_x, torch.zeros_like(x) if grad_h is None else grad_h):
            return "the residual is detached: x has no gradient of y but through H"
        return f"the gradient of x is not that of y and that through H together: first at {off}"
    return None


def _off(torch, total, a, b):
    """The first place where `total` is not a + b, but for one rounding; or None."""
    exact = a.double() + b.double()
    u = torch.finfo(total.dtype).eps / 2
    wrong = ~((total.double() - exact).abs() <= u * exact.abs() * (1 + 2 ** -20) + torch.finfo(total.dtype).tiny * u)
    wrong &= ~(total.isnan() & exact.isnan()) & (total.double() != exact)
    return wrong.nonzero()[0].tolist() if bool(wrong.any()) else None


def faults_of_gradient(check, call):
    """The faults of the gradient that explain the call, in words."""
    gates, h = bool(call.grad_first.any()), bool(call.grad_h.any())
    if not gates or not h:
        return [f"the gradient that reaches {'h' if gates else 'the gates' if h else 'what H returned'} is 0"]
    before = check.torch.cat([call.s0[:, None], call.s[:, :-1]], 1).flatten(0, 1)
    names = ("first", "h", "s", "grad_first", "grad_h", "grad_s")
    alone = {name: getattr(call, name).flatten(0, 1)[:, None] for name in names}
    tokens = replace(call, **alone, s0=before, grad_s_n=check.torch.zeros_like(before))
    return ["the state is detached between tokens: each token has the gradient of its own state alone"
            ] if check.gradients(tokens).right else []
