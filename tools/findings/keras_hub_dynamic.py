"""keras_hub.layers.RotaryEmbedding(rope_type="dynamic"): the frequencies are the angles at position 1."""
import keras_rotary
import shared
import numpy
import torch

RotaryEmbedding = keras_rotary.rotary(shared.version("0.32.0"))
PAIRS, FACTOR, TRAINED = 32, 4, 2048


def frequencies(**settings):
    _, y = keras_rotary.turned(RotaryEmbedding(**settings), 2 * PAIRS, 1)
    return torch.atan2(y[0, 0, 0, PAIRS:].double(), y[0, 0, 0, :PAIRS].double()).float()[None]


theta = frequencies(rope_type="dynamic", scaling_factor=FACTOR)[0]
shared.proof(f"Dynamic NTK changes the base alone, and pair 0 has base^0 = 1 for every base. Keras has {theta[0]:.7f}.")
shared.proof(f"That is 4^(-64/62) = {4 ** (-64 / 62):.7f}, the factor of every pair: "
             f"{theta[7] * 10000 ** (7 / 32):.7f} for pair 7, {theta[31] * 10000 ** (31 / 32):.7f} for pair 31.")
base = numpy.array([10000], numpy.float32)
shared.ask("control", "rope/frequencies", frequencies(rope_type="linear", scaling_factor=FACTOR), base=base, pairs=PAIRS,
           scaling="interpolation", factor=FACTOR)
for length in (TRAINED, FACTOR * TRAINED):
    print(f"asked for length: {length}")
    shared.ask("Assay", "rope/extended_frequencies", theta[None], base=base, pairs=PAIRS, scaling="dynamic", factor=FACTOR,
               trained_length=TRAINED, length=length)
