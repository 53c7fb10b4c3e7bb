"""Text in which order is all: tokens drawn by three rules, and the probability of each token under them.

A line is a marker and then 6 or 9 letters, each length with probability 1/2. A letter repeats the token 4 places before
with probability 2/5 (unless that is a marker), and otherwise is drawn given the two tokens before it, in their order.
So a reader must tell neighbours from each other, find an exact distance, and count the place in the line. The tables of
letters are drawn anew for each seed.

No rule refers to where a text is cut into segments, none to a decay, and none looks back more than 9 tokens: learned
positions, sinusoids and a recurrence can all serve.
"""
from dataclasses import dataclass

import numpy

LETTERS = 5
MARKER = LETTERS
TOKENS = LETTERS + 1
LINE_LENGTHS = (6, 9)
DISTANCE, REPEATS = 4, 0.4
SHARPNESS = 3.0  # of the logits of letters: 0 is uniform


@dataclass
class Text:
    tokens: numpy.ndarray  # [streams, length], int64
    surprise: numpy.ndarray  # of each token given all before it: -log of its probability, in nats; as tokens


def letter_probabilities(rng: numpy.random.Generator) -> numpy.ndarray:
    """[TOKENS, TOKENS, LETTERS]: of the next letter, given the second to last token and the last."""
    weights = numpy.exp(SHARPNESS * rng.normal(size=(TOKENS, TOKENS, LETTERS)))
    return weights / weights.sum(axis=-1, keepdims=True)


def text(table: numpy.ndarray, streams: int, length: int, rng: numpy.random.Generator) -> Text:
    """Each stream begins somewhere: the first tokens are drawn and thrown away."""
    before = 2 * (max(LINE_LENGTHS) + 1)
    tokens = numpy.full((streams, before + length), MARKER)
    surprise = numpy.zeros(tokens.shape)
    place = rng.integers(0, max(LINE_LENGTHS), size=streams)  # letters since the marker
    rows = numpy.arange(streams)
    for i in range(DISTANCE, before + length):
        stop = numpy.where(place == LINE_LENGTHS[0], 0.5, (place >= LINE_LENGTHS[1]) * 1.0)
        letters = table[tokens[:, i - 2], tokens[:, i - 1]]
        far = tokens[:, i - DISTANCE]
        repeats = numpy.where(far == MARKER, 0.0, REPEATS)
        chances = numpy.zeros((streams, TOKENS))
        chances[:, :LETTERS] = (1 - repeats)[:, None] * letters
        chances[rows, far] += repeats
        chances *= (1 - stop)[:, None]
        chances[:, MARKER] = stop
        drawn = (rng.random(streams)[:, None] >= numpy.cumsum(chances, axis=1)).sum(axis=1).clip(max=MARKER)
        # A sum that is rounded to less than 1 may let a token through that has no chance.
        drawn = numpy.where(chances[rows, drawn] > 0, drawn, chances.argmax(axis=1))
        tokens[:, i] = drawn
        surprise[:, i] = -numpy.log(chances[rows, drawn])
        place = numpy.where(drawn == MARKER, 0, place + 1)
    return Text(tokens[:, before:], surprise[:, before:])
