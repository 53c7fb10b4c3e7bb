"""Parts of a formula that code computes in a format of its own."""
import contextlib
import os
import re

from assay.formulas.refusal import line_of_caller
from assay.formulas.traced import is_tracing, writer

REST = "rest"


@contextlib.contextmanager
def stage(name, narrow=False):
    """What is computed within it is a stage of the formula: a candidate may say which format it has,
    compute={"bf16": {"scores": "bf16", "rest": "f32"}}; `rest` is what no stage has. `narrow`: code of which nothing is known
    has it in the dtype of its arrays, as frameworks have products of matrices in bf16; otherwise in f32."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name) or name == REST:
        raise ValueError(f"a stage has a name such as scores, and {name!r} is none")
    if not is_tracing():
        yield
        return
    to = writer()
    path, line = line_of_caller()
    if to.stages.setdefault(name, (bool(narrow), f"{os.path.basename(path)}:{line}"))[0] != bool(narrow):
        raise ValueError(f"the stage {name} is narrow in one place and not in another")
    kept, to.stage = to.stage, name
    try:
        yield
    finally:
        to.stage = kept
