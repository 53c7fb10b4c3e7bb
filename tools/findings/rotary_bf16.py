"""rotary-embedding-torch in bfloat16: positions are counted in the dtype of the tensor that is turned."""
import shared
import numpy
import torch

shared.needed("einops")
folder = shared.fetched("rotary-embedding-torch", shared.version("0.9.1"))
RotaryEmbedding = shared.imported(folder, "rotary_embedding_torch.rotary_embedding_torch").RotaryEmbedding
TOKENS, WIDTH = 1024, 64
x = torch.randn(1, 1, TOKENS, WIDTH, generator=torch.Generator().manual_seed(1)).bfloat16()


def rotated(x):
    return RotaryEmbedding(WIDTH).rotate_queries_or_keys(x)


ones = torch.ones(1, 1, TOKENS, WIDTH)
narrow, wide = rotated(ones.bfloat16())[0, 0], rotated(ones)[0, 0]
shared.proof(f"bfloat16 has 8 bits: 1001 is {torch.tensor(1001.).bfloat16().item():g} there. Tokens 1000 and 1001, both all "
             f"ones, come out {'equal' if torch.equal(narrow[1000], narrow[1001]) else 'different'} in all 64 numbers.")
shared.proof(f"cos 1001 - sin 1001 is {numpy.cos(1001) - numpy.sin(1001):.4f}: the first number of token 1001. It is "
             f"{wide[1001, 0].item():.4f} in float32, and {narrow[1001, 0].item():.4f} in bfloat16.")


def ask(word, x, name):
    shared.ask(word, "rope/rotate", rotated(x).transpose(1, 2), x=x.transpose(1, 2), dtype=name,
               position=numpy.arange(TOKENS)[None])


ask("control", x.float(), "f32")
ask("Assay", x, "bf16")
