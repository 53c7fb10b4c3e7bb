"""Stages: parts of a formula that a kernel may compute in a format of their own."""
import os
import re

from assay.formulas.refusal import line_of_caller
from assay.formulas.traced import is_tracing, writer

REST = "rest"


class stage:
    """with assay.stage("scores"): the block is a stage of the formula. A candidate may say in which format it computes
    each stage, compute={"bf16": {"scores": "bf16", "rest": "f32"}}; `rest` is all that no stage has. Code that says
    nothing is taken to compute a `narrow` stage in the dtype of its arrays, as frameworks multiply matrices in bf16;
    others in f32.

        >>> def attention(q, k, v):
        ...     with assay.stage("scores"):
        ...         scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
        ...     return model.softmax(scores) @ v
    """

    def __init__(self, name, narrow=False):
        if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name) or name == REST:
            raise ValueError(f"a stage has a name such as scores, and {name!r} is none")
        self.name, self.narrow, self.outer = name, bool(narrow), []

    def __enter__(self):
        if not is_tracing():
            return
        to = writer()
        path, line = line_of_caller()
        if to.stages.setdefault(self.name, (self.narrow, f"{os.path.basename(path)}:{line}"))[0] != self.narrow:
            raise ValueError(f"the stage {self.name} is narrow in one place and not in another")
        self.outer.append(to.stage)
        to.stage = self.name

    def __exit__(self, *error):
        if is_tracing():
            writer().stage = self.outer.pop()
