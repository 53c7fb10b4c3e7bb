"""litgpt's tables of YaRN: the frequencies are read off row 1, which holds cos(theta) and sin(theta)."""
import shared
import numpy
import torch

folder = shared.fetched("litgpt", shared.version("0.5.13"))
model = shared.imported(folder, "litgpt.model", without={"lightning": {}, "yaml": {}, "litgpt.scripts": {}, "litgpt.utils": {},
                                                         "litgpt.config": {}})
PAIRS, FACTOR, TRAINED = 32, 32.0, 4096


def frequencies(config):
    cos, sin = (table[1, :PAIRS].double() for table in model.build_rope_cache(2, 2 * PAIRS, base=10000, extra_config=config))
    return torch.atan2(sin, cos).float()[None]


theta = frequencies({"factor": FACTOR, "beta_fast": 32.0, "beta_slow": 1.0, "original_max_seq_len": TRAINED})
shared.proof(f"Pair 0 turns {TRAINED} / 2 pi = 652 times, more than 32: YaRN leaves its frequency 1; litgpt has {theta[0, 0]}.")
shared.proof(f"Pair 31 turns {TRAINED * 10000 ** (-31 / 32) / 6.2831853:.2f} times, less than 1: YaRN divides it by 32. "
             f"litgpt has {theta[0, 31]:.4g}, and 10000^(-31/32) is {10000 ** (-31 / 32):.4g}.")
base = numpy.array([10000], numpy.float32)
shared.ask("control", "rope/extended_frequencies", frequencies({"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                                "original_max_seq_len": 8192}),
           base=base, pairs=PAIRS, scaling="llama3", factor=8, trained_length=8192)
shared.ask("Assay", "rope/extended_frequencies", theta, base=base, pairs=PAIRS, scaling="yarn", factor=FACTOR,
           trained_length=TRAINED)
