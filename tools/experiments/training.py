"""Trains one model on one seed and says how well it predicts text that it has not seen."""
import time
from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

import numpy
import torch
import torch.nn.functional as F
from torch import Tensor

import source
from model import Transformer

KINDS = ("autoregressive", "masked")
MASK = source.TOKENS  # the token that stands for a hidden one
HIDDEN = 0.2  # share of tokens that a masked model predicts


@dataclass(frozen=True)
class Setting:
    """Of all runs. A batch is `streams` texts, each with `segments` consecutive segments of `segment` tokens; a text
    is read from its beginning to its end, with the state handed on from batch to batch."""
    steps: int = 700
    streams: int = 16
    segment: int = 32
    segments: int = 2
    batches: int = 20  # of a text
    width: int = 32
    heads: int = 2
    layers: int = 2
    rate: float = 1e-2
    tests: int = 64  # texts that are held out
    recorded: int = 4096  # tokens whose gates are kept

    @property
    def stride(self) -> int:
        """Tokens of a text in a batch."""
        return self.segment * self.segments


QUICK = Setting(steps=80, streams=8, segment=16, batches=10, width=16, layers=1, rate=2e-2, tests=8, recorded=512)


@dataclass(frozen=True)
class Run:
    kind: str
    encoding: str
    seed: int


@dataclass
class Outcome:
    run: Run
    loss: float  # cross-entropy of held-out text, in nats a predicted token
    least: float  # of one who knows the rules and all that came before; autoregressive only, else NaN
    parameters: int
    seconds: float  # of the processor
    gates: Optional[numpy.ndarray]  # log p and h over new text, [2, tokens, width], of a recurrence that is handed on


def batches(tokens: Tensor, setting: Setting, together: int) -> Iterator[Tuple[bool, Tensor]]:
    """(whether texts begin here, tokens [together, stride + 1]): each batch with the token after it."""
    for texts in tokens.split(together):
        for first in range(0, tokens.shape[1] - 1, setting.stride):
            yield first == 0, texts[:, first : first + setting.stride + 1]


def task(kind: str, tokens: Tensor, hide: torch.Generator) -> Tuple[Tensor, Tensor, Tensor]:
    """What a model reads, what it is to say, and where that counts."""
    if kind == "autoregressive":
        return tokens[:, :-1], tokens[:, 1:], torch.ones_like(tokens[:, 1:], dtype=torch.bool)
    tokens = tokens[:, :-1]
    hidden = torch.rand(tokens.shape, generator=hide) < HIDDEN
    return tokens.masked_fill(hidden, MASK), tokens, hidden


def rate_at(step: int, steps: int) -> float:
    """Share of the learning rate: a linear rise over a tenth, then a linear fall to 0."""
    rise = max(1, steps // 10)
    return min((step + 1) / rise, (steps - step) / (steps - rise + 1))


def texts_of(seed: int, setting: Setting) -> Tuple[source.Text, source.Text]:
    """To learn from, and held out: for all encodings and kinds the same."""
    rng = numpy.random.default_rng(seed)
    table = source.letter_probabilities(rng)
    length = setting.batches * setting.stride + 1
    groups = -(-setting.steps // setting.batches)
    return source.text(table, groups * setting.streams, length, rng), source.text(table, setting.tests, length, rng)


def train(run: Run, setting: Setting) -> Outcome:
    """Deterministic for a run and a setting, on one thread."""
    begin = time.process_time()
    torch.set_num_threads(1)
    learned, held_out = texts_of(run.seed, setting)
    torch.manual_seed(run.seed)
    model = Transformer(run.encoding, run.kind == "autoregressive", source.TOKENS + 1, width=setting.width,
                        heads=setting.heads, layers=setting.layers, segment=setting.segment)
    optimizer = torch.optim.Adam(model.parameters(), lr=setting.rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, setting.steps))
    hide = torch.Generator().manual_seed(run.seed)
    state: Optional[Tensor] = None
    stream = batches(torch.from_numpy(learned.tokens), setting, setting.streams)
    for _, (begins, tokens) in zip(range(setting.steps), stream):
        given, wanted, counts = task(run.kind, tokens, hide)
        logits, state = model(given, None if begins else state)
        loss = F.cross_entropy(logits[counts], wanted[counts])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    least = held_out.surprise[:, 1:].mean() if run.kind == "autoregressive" else float("nan")
    return Outcome(run, held_out_loss(model, run, held_out, setting), float(least),
                   sum(p.numel() for p in model.parameters()), time.process_time() - begin,
                   recorded_gates(model, run, setting))


@torch.no_grad()
def held_out_loss(model: Transformer, run: Run, text: source.Text, setting: Setting) -> float:
    hide = torch.Generator().manual_seed(run.seed + 1)
    state: Optional[Tensor] = None
    total, count = 0.0, 0
    for begins, tokens in batches(torch.from_numpy(text.tokens), setting, setting.tests):
        given, wanted, counts = task(run.kind, tokens, hide)
        logits, state = model(given, None if begins else state)
        total += float(F.cross_entropy(logits[counts], wanted[counts], reduction="sum"))
        count += int(counts.sum())
    return total / count


@torch.no_grad()
def recorded_gates(model: Transformer, run: Run, setting: Setting) -> Optional[numpy.ndarray]:
    if run.encoding not in ("detached", "attached"):
        return None
    table = source.letter_probabilities(numpy.random.default_rng(run.seed))  # as in texts_of
    text = source.text(table, 1, setting.recorded + 1, numpy.random.default_rng([run.seed, 1]))
    given, _, _ = task(run.kind, torch.from_numpy(text.tokens), torch.Generator().manual_seed(run.seed + 2))
    return torch.cat(model.position.gates(model.embed(given))).numpy()
