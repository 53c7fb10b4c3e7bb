"""NeMo's KERPLE for one cached query: the last row of a square, as 8 queries on 8 keys have it."""
import shared
import numpy
import torch

NLP = "nemo.collections.nlp.modules.common.megatron.position_embedding"
folder = shared.fetched("nemo-toolkit", shared.version("2.5.3"))
kerple = shared.imported(folder, f"{NLP}.kerple_relative_position_embedding").KERPLERelativePositionEmbedding(
    bidirectional=False, num_attention_heads=2, layer_type=None)
KEYS = 8


def bias(queries):
    return kerple(queries, KEYS).detach()[0]


slope = kerple.kerple_b[0].item()
shared.proof(f"Key 6 lies 1 before query 7, so that the bias of head 0 is -{slope:g} log(1 + 1) = {-slope * numpy.log(2):.6f}.")
shared.proof(f"With 8 queries the function gives {bias(KEYS)[0, -1, 6].item():.6f}, and with the last query alone "
             f"{abs(bias(1)[0, 0, 6].item()):g}: the same pair of tokens, two answers.")


def ask(word, queries):
    r1 = kerple.kerple_b.detach().flatten()
    shared.ask(word, "kerple/log", bias(queries), r1=r1, r2=torch.ones_like(r1), future="zero",
               query_position=numpy.arange(KEYS - queries, KEYS), key_position=numpy.arange(KEYS))


ask("control", KEYS)
ask("Assay", 1)
