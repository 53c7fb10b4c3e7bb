"""A second oracle: proves y and y:low of golden sets by other means than the program that made them.

    python3 check.py [--verbose] SET ...

Prints each element that disagrees or stays undecided with file, tensor and index, then how many files and elements of
each operation were checked, and last how many elements agree to the bit. Exits with 1 if an element disagrees or is
undecided, if an operation has no formula here, or if there is no file. Zeros agree whatever their signs.

It shares nothing with Assay: its own reader, its own rounding, formulas from the papers, intervals on mpmath's
arithmetic. Derivatives come from a tape, where Assay makes a program of each gradient.
"""

import argparse
import collections
import importlib
import json
import math
import multiprocessing
import os
import sys

from mpmath.libmp import mpf_sub

import differentiation
import interval
import safetensors_file
from formula import Call
from interval import Interval, Undecided

LADDER = (0, 500, 1300, 4500, 16000)  # bits of precision; 0: 106 more than the format has
ZERO = Interval.of(0)


def low_of(truth, y):
    """truth - y; the truth itself where y overflowed, 0 where the truth is infinite or NaN."""
    if interval.is_special(truth.lo):
        return ZERO
    if math.isinf(y):
        return truth
    # 2200 bits more than the truth has: all doubles lie on one grid of 2098 bits, so the difference from one is exact.
    bits, point = interval.PRECISION + 2200, Interval.of(y).lo
    return Interval(mpf_sub(truth.lo, point, bits, "f"), mpf_sub(truth.hi, point, bits, "c"), truth.open)


def formula_of(operation):
    """The function of this name in the module of its encoding; None where there is none."""
    encoding, _, name = operation.partition(":")[0].partition("/")
    there = os.path.exists(os.path.join(os.path.dirname(os.path.abspath(__file__)), encoding + ".py"))
    return getattr(importlib.import_module(encoding), name, None) if there else None


class Evaluation:
    """The parts of a call; `run` gives the outputs of a part at the precision that is set."""

    def __init__(self, operation, settings, tensors, sizes):
        self.kind = operation.partition(":")[2]
        self.tensors = {name: array.ravel() for name, (_, array) in tensors.items()}
        self.parts = formula_of(operation)(Call(settings, self.tensors, sizes, differentiated=bool(self.kind)))

    def element(self, name, index):
        return Interval.of(float(self.tensors[name][index]))

    def run(self, part):
        if not self.kind:
            return part(self.element)
        tape, inputs = [], {}

        def get(name, index):
            if (name, index) not in inputs:
                inputs[name, index] = differentiation.Number(tape, self.element(name, index))
            return inputs[name, index]
        outputs = part(get)
        numbers = {key: x for key, x in outputs.items() if isinstance(x, differentiation.Number)}
        if self.kind == "vjp":
            for (name, index), x in numbers.items():
                x.bar = differentiation.accumulate(x.bar, self.element("grad_" + name, index))
            differentiation.backward(tape)
            return {("grad_" + name, index): x.bar or ZERO for (name, index), x in inputs.items()}
        for (name, index), x in inputs.items():
            x.bar = self.element("tangent_" + name, index)
        differentiation.forward(tape)
        return {("tangent_" + name, index): getattr(outputs[name, index], "bar", None) or ZERO
                for name, index in outputs}


def same(x, y):
    return x == y or (math.isnan(x) and math.isnan(y))


def check_file(task):
    path, entry = task
    tensors, _ = safetensors_file.read(path)
    operation = entry["operation"]
    claims = [name for name in tensors if name + ":low" in tensors]
    inputs = {name: t for name, t in tensors.items() if ":" not in name and name not in claims}
    evaluation = Evaluation(operation, entry["attributes"], inputs, dict(entry["axes"]))
    dtypes = {name: tensors[name][0] for name in claims}
    claimed = {name: tensors[name][1].ravel() for name in claims + [c + ":low" for c in claims]}
    proved, faults, rungs = set(), [], collections.Counter()

    def judge(name, index, truth):
        """Whether value and remainder are decided. If they are, notes each that the set has wrong."""
        y = safetensors_file.rounded(truth, dtypes[name])
        low = None if y is None else safetensors_file.rounded(low_of(truth, y), "F64")
        if low is None:
            return False
        for tensor, value in ((name, y), (name + ":low", low)):
            if not same(value, claimed[tensor][index]):
                faults.append((path, tensor, index, f"holds {claimed[tensor][index].hex()}, truth {value.hex()}"))
        proved.add((name, index))
        return True

    for part in evaluation.parts:
        open_elements = None
        for rung, bits in enumerate(LADDER):
            interval.set_precision(bits or 106 + safetensors_file.FORMATS.get(entry["dtype"].upper(), (53,))[0])
            try:
                values = evaluation.run(part)
            except Undecided:
                continue
            if open_elements is None:
                faults += [(path, *key, "is missing") for key in values if key[0] not in dtypes]
            wanted = [key for key in values if key[0] in dtypes] if open_elements is None else open_elements
            open_elements = [key for key in wanted if not judge(*key, values[key])]
            rungs[rung] += len(wanted) - len(open_elements)
            if not open_elements:
                break
        else:
            names = open_elements if open_elements is not None else [("a part", 0)]
            faults += [(path, *key, f"is undecided at {LADDER[-1]} bits") for key in names]
            proved.update(open_elements or [])
    for name in claims:
        for index in range(claimed[name].size):
            if (name, index) not in proved:
                if evaluation.kind == "vjp" and name.removeprefix("grad_") in inputs:  # nothing depends on this input
                    judge(name, index, ZERO)
                else:
                    faults.append((path, name, index, "is no output of the formula"))
    return operation, len(proved), rungs, faults


def files_of(folder):
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    return [(os.path.join(folder, f"{entry['id']}.{entry['dtype']}.safetensors"), entry) for entry in manifest["files"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--verbose", action="store_true", help="print how many elements each precision decided")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    tasks = [task for folder in options.sets for task in files_of(folder)]
    without = sorted({entry["operation"] for _, entry in tasks if formula_of(entry["operation"]) is None})
    for operation in without:
        encoding, _, name = operation.partition(":")[0].partition("/")
        print(f"{operation}: not checked, for it has no formula: golden/second_oracle/{encoding}.py must define {name}(call)")
    tasks = [task for task in tasks if task[1]["operation"] not in without]
    files, elements, rungs, faults = collections.Counter(), collections.Counter(), collections.Counter(), []
    with multiprocessing.Pool(options.jobs) as pool:
        for operation, count, file_rungs, wrong in pool.imap_unordered(check_file, tasks, chunksize=4):
            files[operation] += 1
            elements[operation] += count
            rungs += file_rungs
            faults += wrong
    for path, tensor, index, what in sorted(faults):
        print(f"{path}: {tensor}[{index}] {what}")
    for operation in sorted(files):
        print(f"{operation}: {files[operation]} files, {elements[operation]} elements")
    if options.verbose:
        print("decided at " + ", ".join(f"{LADDER[k] or 'the first'} bits: {rungs[k]}" for k in sorted(rungs)))
    bad = len({(path, tensor.removesuffix(":low"), index) for path, tensor, index, _ in faults})
    total = sum(elements.values())
    print(f"{total - bad} of {total} elements agree to the bit, value and remainder")
    return 1 if faults or without or not tasks else 0


if __name__ == "__main__":
    sys.exit(main())
