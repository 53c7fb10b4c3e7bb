"""vLLM's get_rope with dynamic NTK, as a config of transformers has it: the frequencies are read off row 1 of its table."""
import unittest.mock
import shared
import numpy
import torch

folder = shared.fetched("vllm", shared.version("0.33.0"), extra=("setuptools-rust", "setuptools-scm", "packaging", "wheel"))


class Layer(torch.nn.Module):
    """In place of vLLM's base of layers, which chooses among kernels."""
    enabled = classmethod(lambda cls: False)
    register = staticmethod(lambda name, **more: lambda registered: registered)

    def __init__(self, enforce_enable=False):
        super().__init__()


nothing = unittest.mock.MagicMock()
get_rope = shared.imported(folder, "vllm.model_executor.layers.rotary_embedding", without={
    "vllm.model_executor.custom_op": {"CustomOp": Layer, "PluggableLayer": Layer},
    "vllm.logger": {"init_logger": nothing}, "vllm.platforms": {"current_platform": nothing},
    "vllm.utils": {}, "vllm.utils.torch_utils": {"direct_register_custom_op": nothing, "async_tensor_h2d": nothing},
    "vllm.utils.flashinfer": {"has_flashinfer": lambda: False}, "vllm.triton_utils": {"tl": nothing, "triton": nothing},
    "vllm._aiter_ops": {"rocm_aiter_ops": nothing}, "vllm.config": {}, "vllm.distributed": {}}).get_rope
PAIRS, FACTOR, TRAINED = 32, 2.0, 2048


def table(**parameters):
    return get_rope(2 * PAIRS, TRAINED, rope_parameters={"rope_theta": 10000, **parameters}, dtype=torch.float32).cos_sin_cache


def frequencies(table):
    cos, sin = table[1].double().chunk(2)
    return torch.atan2(sin, cos).float()[None]


dynamic = table(rope_type="dynamic", factor=FACTOR)
shared.proof(f"With factor 2 the model takes 2 * {TRAINED} positions (_get_and_verify_max_len in vllm/config/model.py); "
             f"the table has {len(dynamic)} rows.")
shared.proof(f"At length L the base grows by (s L / L0 - (s - 1))^(64/62); vLLM puts L = L0 = {TRAINED}: 1 for every s. Its "
             f"pair 31 has {frequencies(dynamic)[0, 31]:.6g}, and 10000^(-31/32) is {10000 ** (-31 / 32):.6g}.")
base = numpy.array([10000], numpy.float32)
shared.ask("control", "rope/frequencies", frequencies(table(rope_type="linear", factor=FACTOR)), base=base, pairs=PAIRS,
           scaling="interpolation", factor=FACTOR)
shared.ask("Assay", "rope/extended_frequencies", frequencies(dynamic), base=base, pairs=PAIRS, scaling="dynamic", factor=FACTOR,
           trained_length=TRAINED, length=int(FACTOR * TRAINED))
