"""ESM's rotary embedding in float16, as esm/esmfold/v1/esmfold.py has it (self.esm.half())."""
import shared
import numpy
import torch

folder = shared.fetched("fair-esm", shared.version("2.0.0"))
rotary_embedding = shared.imported(folder, "esm.rotary_embedding")
TOKENS, WIDTH = 1024, 64
x = torch.randn(1, TOKENS, WIDTH, generator=torch.Generator().manual_seed(1))


def rotated(dtype):
    return rotary_embedding.RotaryEmbedding(WIDTH).to(dtype)(x.to(dtype), x.to(dtype))[0]


theta = 10000 ** (-2 / WIDTH)
stored, last = float(numpy.float16(theta)), TOKENS - 1
shared.proof(f"10000^(-2/64) = {theta:.9f} is {stored:.9f} in float16; times {last} they are "
             f"{last * (stored - theta):+.4f} apart.")
shared.proof(f"{last} times the stored one is {last * stored:.4f}, and {float(numpy.float16(last * stored)):g} in float16: "
             f"the angle is off by {float(numpy.float16(last * stored)) - last * theta:+.4f} radian, its cosine "
             f"{numpy.cos(float(numpy.float16(last * stored))):.4f} in place of {numpy.cos(last * theta):.4f}.")


def ask(word, dtype, name):
    shared.ask(word, "rope/rotate", rotated(dtype)[:, :, None], x=x.to(dtype)[:, :, None], dtype=name, layout="half_split",
               position=numpy.arange(TOKENS)[None])


ask("control", torch.float32, "f32")
ask("Assay", torch.float16, "f16")
