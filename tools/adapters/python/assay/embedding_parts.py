"""Judges the calls of a watched module: the scan between H and R, the state that chunks hand on, the residual, and the
gradients."""
import copy
import re
from dataclasses import dataclass, field, replace

from assay.asking import judge, truth
from assay.embedding_faults import faults_of_gradient, fault_of_residual, faults_of_state, faults_of_states
from assay.watching import NotEmbedPosition, logits_of

DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
PARTS = ("scan", "chunk state", "residual", "gradient")
_EXPLAINED = 12  # calls whose faults are looked for
_CLASSES = ("", "uniform", "sequential", "tree", "linear", "cumsum")


@dataclass
class Part:
    """The findings on one part of the module in one dtype."""
    calls: int = 0
    wrong: int = 0
    digits: dict = field(default_factory=dict)     # of the worst element, by the numbers that H returned: "", "up to 1000"
    accuracy_class: str = ""
    explained: list = field(default_factory=list)  # faults in words; each explains the wrong calls that were examined
    where: str = ""                                # the first call that is wrong, and the numbers of H in it
    details: str = ""                              # the first wrong token of that call, and its element in words

    def __str__(self):
        if self.wrong:
            words = ". ".join(filter(None, (" or ".join(self.explained), self.details)))
            return f"wrong in {self.wrong} of {self.calls} calls. Of {self.where}: {words}"
        digits = ", and ".join(f"{max(int(d), 0)} digits" + (f" of numbers {numbers}" if numbers else "")
                                for numbers, d in self.digits.items())
        return ", ".join(filter(None, (f"right in {self.calls} calls" if self.calls else "not judged", digits,
                                       self.accuracy_class and f"class {self.accuracy_class}")))


@dataclass
class Call:
    """One call of the scan, [rows, tokens, columns]: what H returned, the state before, the states that R was given. With
    gradients `grad_first`, `grad_h` and `grad_s` those that arrived there, and `grad_s_n` what the next chunk hands back."""
    first: object
    h: object
    s: object
    s0: object = None
    gate: str = "logits"
    grad_first: object = None
    grad_h: object = None
    grad_s: object = None
    grad_s_n: object = None


@dataclass
class Verdict:
    right: bool
    digits: float = 17.0    # of the worst element
    token: int = 0          # the first that is wrong
    grad_s0: object = None  # of a gradient: the true one
    words: object = lambda: ""  # what Assay says of it; it is computed when somebody needs it


class Check:
    """Judges sequences that one module is run on, in one dtype."""

    def __init__(self, torch, watch, dtype, state, gate, initial, compute, continued):
        self.torch, self.watch, self.dtype, self.state, self.initial = torch, watch, dtype, state, initial
        self.compute, self.continued, self.gate, self.left = compute, continued, gate, None
        self.parts = {name: Part() for name in PARTS}

    def run(self, tokens, sizes, largest, seed):
        """One sequence in chunks, forward and back. With `largest` H returns numbers up to it, whatever it is given."""
        torch, draw = self.torch, self.torch.Generator().manual_seed(seed + tokens.shape[-2] + len(sizes))

        def drawn(like, width):
            numbers = (torch.randn(*like.shape[:-1], width, dtype=torch.float64, generator=draw) / 3).clamp(-1, 1) * largest
            if self.gate == "log_p":
                numbers[..., :width // 2] = -numbers[..., :width // 2].abs()
            return numbers.to(like)
        where = next(self.watch.module.parameters(), tokens).device
        chunks = tokens.to(where, getattr(torch, DTYPES[self.dtype])).split(sizes, -2)
        cotangents = [torch.randn(c.shape, dtype=torch.float64, generator=draw).to(c) for c in chunks]
        self.numbers = f"up to {largest:g}" if largest else ""
        tokens_of = f"{sizes[0]} token{'s' * (sizes[0] > 1)}"
        self.of = (tokens_of if len(sizes) == 1 else f"chunks of {', '.join(map(str, sizes))} tokens") + (
            f", with numbers {self.numbers} in place of what H returned" if largest else "")
        done = self.watch.run(chunks, cotangents, self.continued, largest and drawn)
        calls = [self._call_of(chunk) for chunk in done]
        for k, call in enumerate(calls):
            call.s0 = calls[k - 1].s[:, -1] if k else torch.zeros_like(call.s[:, 0]) + self.initial
        if all([self._judge_states(calls, k) for k in range(len(calls))]):  # other states have other gradients
            self._judge_gradients(calls)
        self._judge_residual(done, cotangents)
        self.left = calls[-1].s[:, -1]

    def _call_of(self, chunk):
        s, (first, h) = chunk.value("s"), logits_of(chunk, chunk.value)
        if self.torch.finfo(s.dtype).eps > self.torch.finfo(h.dtype).eps:
            raise NotEmbedPosition(f"R is given states in {s.dtype}, and H returned {h.dtype}: round the states in R")
        zeros, grad_s = self.torch.zeros_like(s), chunk.gradient("s")
        none = zeros if grad_s is None else None  # where none arrives at R, none has to arrive at H
        grads = (none if grad is None else grad.to(s) for grad in logits_of(chunk, chunk.gradient))
        return Call(first.to(s), h.to(s), s, None, self.gate, *grads, zeros if grad_s is None else grad_s.to(s), zeros[:, 0])

    def states(self, call):
        """The verdict on the states of a call."""
        return self._verdict(call, "", {"s": call.s, "s_n": call.s[:, -1]}, {})

    def gradients(self, call):
        """The verdict on the gradients of a call."""
        given = {"grad_s": call.grad_s, "grad_s_n": call.grad_s_n}
        first = "grad_g" if call.gate == "logits" else "grad_log_p"
        return self._verdict(call, ":vjp", {first: call.grad_first, "grad_h": call.grad_h, "grad_s0": None}, given)

    def with_compute(self, compute):
        """The same check for arithmetic of another precision."""
        other = copy.copy(self)
        other.compute = compute
        return other

    def _verdict(self, call, derivative, outputs, given):
        first, name = ("g", "heinsen/gated_scan") if call.gate == "logits" else ("log_p", "heinsen/scan")
        question = {first: call.first, "h": call.h, "s0": call.s0, **given, "compute": self.compute}
        expected = truth(name + derivative, **question)
        verdict = Verdict(True, 17.0, call.s.shape[1])
        for output, found in outputs.items():
            true, allowed = (self.torch.as_tensor(a).double() for a in (expected[output], expected.allowed[output]))
            if found is None:  # not watched
                outputs[output] = verdict.grad_s0 = true.to(call.s)
                continue
            found = found.double().cpu()
            error = (found - true).abs()
            relative = (error / true.abs().clamp(min=1))[true.isfinite()]
            if relative.numel() and float(relative.max()) > 0:
                verdict.digits = min(verdict.digits, -float(relative.max().log10()))
            wrong = ~((error <= allowed) | (found == true) | found.isnan() & true.isnan())
            verdict.right &= not bool(wrong.any())
            if found.dim() == 3 and bool(wrong.any()):
                verdict.token = min(verdict.token, int(wrong.any(-1).any(0).nonzero()[0]))

        def words():
            try:
                return judge(name + derivative, outputs, **question)
            except AssertionError as wrong:
                return str(wrong).split("wrong: ", 1)[-1].splitlines()[0]
        verdict.words = words
        return verdict

    def _note(self, part, verdict):
        found = self.parts[part]
        found.calls += 1
        named = re.search(r"of class (\w+)", verdict.words())
        if named:
            found.digits[self.numbers] = min(found.digits.get(self.numbers, 17.0), verdict.digits)
            found.accuracy_class = max(found.accuracy_class, named.group(1), key=_CLASSES.index)

    def _fail(self, part, explained, verdict=None, what="states"):
        """Notes a wrong call. explained() returns the words of the faults that explain it; it is called only for the first
        wrong calls of a part."""
        found = self.parts[part]
        found.calls += 1
        found.wrong += 1
        if found.wrong == 1:
            found.where, found.explained = self.of, explained()
            found.details = verdict and f"The first token whose {what} are wrong is {verdict.token}: {verdict.words()}"
        elif found.wrong <= _EXPLAINED and len(found.explained) > 1:
            found.explained = [words for words in explained() if words in found.explained] or found.explained

    def _judge_states(self, calls, k):
        """Whether the states of call k are right."""
        verdict = self.states(calls[k])
        if not verdict.right and k:  # a state that is kept in a wider format than R is given
            verdict.right = self.states(self._joined(calls[:k + 1])).right
        if verdict.right:
            self._note("chunk state" if k else "scan", verdict)
            return True
        faults = [] if self.parts["scan"].wrong else faults_of_state(self, calls, k)
        if faults:
            self._fail("chunk state", lambda: faults, verdict)
        else:
            self._fail("scan", lambda: faults_of_states(self, calls[k]), verdict)
        return False

    def _joined(self, calls):
        together = {name: self.torch.cat([getattr(c, name) for c in calls], 1) for name in (
            "first", "h", "s", "grad_first", "grad_h", "grad_s") if getattr(calls[0], name) is not None}
        return Call(**together, s0=calls[0].s0, gate=self.gate, grad_s_n=calls[-1].grad_s_n)

    def _judge_residual(self, done, cotangents):
        for k, (chunk, cotangent) in enumerate(zip(done, cotangents)):
            fault = fault_of_residual(self.torch, chunk, cotangent)
            if fault:
                return self._fail("residual", lambda: [f"in chunk {k + 1}, {fault}" if len(done) > 1 else fault])
        self._note("residual", Verdict(True))

    def _judge_gradients(self, calls):
        for what, name in (("the gates", "grad_first"), ("h", "grad_h")):
            if any(getattr(call, name) is None for call in calls):
                return self._fail("gradient", lambda: [f"no gradient reaches {what} that H returned: the scan is detached"])
        verdicts = self._gradients_of(self.state, calls)
        if all(v.right for v in verdicts):
            return self._note("gradient", min(verdicts, key=lambda v: v.digits))
        other = "attached" if self.state == "detached" else "detached"
        if len(calls) > 1 and all(v.right for v in self._gradients_of(other, calls)):
            return self._fail("chunk state", lambda: [
                f"the state is declared {self.state}, and it is {other}: gradients "
                f"{'reach' if other == 'attached' else 'do not reach'} the chunk before"])
        k = next(k for k, v in enumerate(verdicts) if not v.right)
        self._fail("gradient", lambda: faults_of_gradient(self, calls[k]), verdicts[k], "gradients")

    def _gradients_of(self, state, calls):
        """Verdicts on the gradients of chunks whose state is detached, one by one; or attached: as one sequence, or else
        with what each chunk hands back to the one before."""
        if state == "detached" or len(calls) == 1:
            return [self.gradients(call) for call in calls]
        whole = self.gradients(self._joined(calls))
        if whole.right:
            return [whole]
        verdicts, handed = [], calls[-1].grad_s_n
        for call in reversed(calls):
            verdicts.insert(0, self.gradients(replace(call, grad_s_n=handed)))
            handed = verdicts[0].grad_s0
        return verdicts
