"""What came out, in Markdown: tables, a sentence for each comparison that its interval supports, and a chart."""
import math
from typing import Dict, List, Sequence

from chart import Row, drawn
from intervals import Interval, interval
from model import ENCODINGS
from training import KINDS, Outcome

BASELINE = "learned"
CONFIDENCE = 0.95
WORDS = {"learned": "learned positions", "sinusoidal": "sinusoids", "fresh": "Heinsen, fresh in each segment",
         "detached": "Heinsen, handed on, detached", "attached": "Heinsen, handed on, attached", "none": "no positions"}


def losses(outcomes: Sequence[Outcome], kind: str, encoding: str) -> List[float]:
    """By seed, in one order for all encodings."""
    return [o.loss for o in sorted(outcomes, key=lambda o: o.run.seed)
            if (o.run.kind, o.run.encoding) == (kind, encoding)]


def differences(outcomes: Sequence[Outcome], kind: str) -> Dict[str, Interval]:
    """Of each encoding from the baseline, seed by seed: equal seeds have equal texts. The intervals of both kinds hold
    together with the given confidence [Bonferroni]."""
    comparisons = len(KINDS) * (len(ENCODINGS) - 1)
    base = losses(outcomes, kind, BASELINE)
    return {encoding: interval([x - y for x, y in zip(losses(outcomes, kind, encoding), base)],
                               1 - (1 - CONFIDENCE) / comparisons)
            for encoding in ENCODINGS if encoding != BASELINE}


def verdict(difference: Interval) -> str:
    if math.isnan(difference.half):
        return "one seed tells nothing"
    if difference.is_above_zero:
        return "worse"
    return "better" if difference.is_below_zero else "not told apart"


def shown(x: Interval, sign: str = "") -> str:
    return f"{x.mean:{sign}.3f} ± {x.half:.3f}"


def table(outcomes: Sequence[Outcome]) -> str:
    lines = ["| model | positions | cross-entropy, nats | less that of learned positions | in words | parameters |",
             "|---|---|---|---|---|---|"]
    for kind in KINDS:
        outcomes_of_kind = [o for o in outcomes if o.run.kind == kind]
        apart = differences(outcomes, kind)
        for encoding in ENCODINGS:
            mean = interval(losses(outcomes, kind, encoding), CONFIDENCE)
            size = next(o.parameters for o in outcomes_of_kind if o.run.encoding == encoding)
            words = ["", ""] if encoding == BASELINE else [shown(apart[encoding], "+"), verdict(apart[encoding])]
            lines.append(f"| {kind} | {WORDS[encoding]} | {shown(mean)} | {words[0]} | {words[1]} | {size} |")
        if kind == "autoregressive":
            least = interval([o.least for o in outcomes_of_kind if o.run.encoding == BASELINE], CONFIDENCE)
            lines.append(f"| {kind} | one who knows the rules and all tokens before | {shown(least)} | | | |")
    return "\n".join(lines) + "\n"


def sentences(outcomes: Sequence[Outcome]) -> str:
    """What the intervals support, and no more."""
    said = []
    for kind in KINDS:
        for encoding, apart in differences(outcomes, kind).items():
            said.append(f"- {kind}: {WORDS[encoding]} against {WORDS[BASELINE]}: {verdict(apart)} "
                        f"(from {apart.mean - apart.half:+.3f} to {apart.mean + apart.half:+.3f} nats)")
    return "\n".join(said) + "\n"


def cross_entropy_chart(outcomes: Sequence[Outcome]) -> str:
    panels = {kind: [Row(WORDS[encoding], losses(outcomes, kind, encoding),
                         interval(losses(outcomes, kind, encoding), CONFIDENCE)) for encoding in ENCODINGS]
              for kind in KINDS}
    return drawn(panels, "cross-entropy of held-out text, nats a token: seeds, mean and 95 % interval")
