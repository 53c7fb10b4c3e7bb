"""keras_hub.layers.RotaryEmbedding(rope_type="yarn", truncate=True) beyond the trained length."""
import math
import keras_rotary
import shared
import numpy
import torch

RotaryEmbedding = keras_rotary.rotary(shared.version("0.31.1"))
WIDTH, FACTOR, TRAINED = 64, 4, 4096
layer = RotaryEmbedding(rope_type="yarn", scaling_factor=FACTOR, original_max_position_embeddings=TRAINED, truncate=True)
magnitude = 0.1 * math.log(FACTOR) + 1
theta = shared.assay.truth("rope/extended_frequencies", base=numpy.array([10000], numpy.float32), pairs=WIDTH // 2,
                           scaling="yarn", factor=FACTOR, trained_length=TRAINED)["theta"][0]


def cosine(position):
    return keras_rotary.turned(layer, WIDTH, position)[1][0, 0, 0, 0].item()


def ask(word, position):
    x, y = keras_rotary.turned(layer, WIDTH, position)
    shared.ask(word, "rope/rotate_by", y / magnitude, x=x, theta=torch.tensor(theta),
               position=torch.tensor([[float(position)]]), layout="half_split")


shared.proof(f"Pair 0 keeps its frequency 1: its cosine is {magnitude:.6f} cos m, and m = 4096, 5000, 6000 give "
             + ", ".join(f"{magnitude * math.cos(m):.6f}" for m in (4096, 5000, 6000)) + ".")
shared.proof("Keras has " + ", ".join(f"{cosine(m):.6f}" for m in (4096, 5000, 6000)) + ".")
ask("control", 4000)
ask("Assay", 5000)
