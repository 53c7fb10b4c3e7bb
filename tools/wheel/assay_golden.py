"""Assay's golden sets: inputs and outputs of position encodings, every output proved to be correctly rounded.

    import assay_golden
    tensors, metadata = assay_golden.read("heinsen/scan-mild.f32")

README.md in FOLDER says what the tensors mean, and golden_reader.py how they are read: with NumPy alone.
"""
import os

from assay_golden import golden_reader

FOLDER = os.path.dirname(os.path.abspath(__file__))
SETS = os.path.join(FOLDER, "sets")


def read(name):
    """The tensors and the metadata of the file SETS/name.safetensors, as golden_reader.read gives them."""
    return golden_reader.read(os.path.join(SETS, f"{name}.safetensors"))
