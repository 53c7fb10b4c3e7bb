"""Gates of trained models as inputs of `assay explore`: what they do to each accuracy class."""
import json
import os
import subprocess
import sys
from typing import Dict, List, Sequence

import numpy

from training import KINDS, Outcome

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "adapters", "python"))
from assay.tensors import write_safetensors

# The algorithms that accuracy classes are named after, and prefix sums in chunks.
CLASSES = ("sequential", "balanced_tree", "linear", "cumsum", "chunked_cumsum")
RANDOM = {"random, mean 0": 0.0, "random, mean 4": 4.0}  # mean of the gate logits, for comparison
FORMATS = ("f32", "bf16")


def keep(outcomes: Sequence[Outcome], folder: str) -> Dict[str, str]:
    """Writes a file for each kind of model: log p and h, [1, tokens, features of all seeds]. Features of one number stand
    together, so that the first lanes are of all seeds. The paths by the name of the family."""
    paths = {}
    for kind in KINDS:
        for encoding in ("detached", "attached"):
            paths[f"{kind}, {encoding}"] = os.path.join(os.path.abspath(folder), f"gates-{kind}-{encoding}.safetensors")
            gates_of_seeds = [o.gates for o in outcomes if (o.run.kind, o.run.encoding) == (kind, encoding)]
            log_p, h = numpy.stack(gates_of_seeds, -1).reshape(2, 1, len(gates_of_seeds[0][0]), -1)
            write_safetensors(paths[f"{kind}, {encoding}"], {"log_p": ("F32", log_p), "h": ("F32", h)})
    return paths


def sweep_of(paths: Dict[str, str], tokens: int) -> str:
    """In the words of assay explore."""
    def grid(family: List[str], decay: List[float]) -> str:
        return (f'[[grid]]\nmeasure = "scan"\nimplementation = {json.dumps(CLASSES)}\narithmetic = {json.dumps(FORMATS)}\n'
                f"family = {json.dumps(family)}\ndecay = {decay}\nsize = {[n for n in (64, 512, 4096) if n <= tokens]}\n")
    return ('name = "trained"\nquestion = "What do the gates of trained models do to each accuracy class?"\n'
            + grid([f"file:{path}" for path in paths.values()], [0.0]) + grid(["gates"], list(RANDOM.values())))


def explore(assay: str, folder: str, paths: Dict[str, str], tokens: int) -> List[dict]:
    """The cells of the sweep."""
    sweep, out = os.path.join(folder, "trained.toml"), os.path.join(folder, "sweep")
    with open(sweep, "w", encoding="utf-8") as file:
        file.write(sweep_of(paths, tokens))
    subprocess.run([assay, "explore", "--sweep", sweep, "--out", out], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(out, "cells.json"), encoding="utf-8") as file:
        return json.load(file)["cells"]


def table(cells: Sequence[dict], paths: Dict[str, str], tokens: int) -> str:
    """Root mean square errors in units of u over the last tokens of the longest sequence."""
    columns = {**{name: ("gates", decay) for name, decay in RANDOM.items()},
               **{name: (f"file:{path}", 0.0) for name, path in paths.items()}}
    found = {(c["implementation"], c["arithmetic"], c["family"], c["decay"]): c["results"] for c in cells
             if c["size"] == max(cell["size"] for cell in cells)}
    lines = ["| rounding error of s in u | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for format_ in FORMATS:
        for algorithm in CLASSES:
            errors = [found[algorithm, format_, *key]["rms_u"] for key in columns.values()]
            lines.append(f"| `{algorithm}`, {format_} | " + " | ".join(f"{x:.3g}" for x in errors) + " |")
    decays = [found["cumsum", "f32", *key]["log_decay"] / tokens for key in columns.values()]
    lines.append("| mean of \\|log p\\| | " + " | ".join(f"{x:.3g}" for x in decays) + " |")
    return "\n".join(lines) + "\n"
