"""Both readers of programs against one another: every element that both decide is the same number, up to a zero's sign.

    PROGRAM_VALUES=.../build/release/reference/program_values python3 test_program_engine.py [--programs N] [--seed S]

The programs are those of the tests of the second reader (each operator, formulas, ends of domains, chains of few
operators) and N random ones of all operators. Gradients are compared, too, but for slopes by convention and where no
number is finite. $PROGRAM_VALUES is the engine: program_values.cpp in
reference/formula/tests.

What one of them alone decides is a small share, for these reasons. The second reader knows that a node is the same as
itself (x <= x), that the zero x - x has no minus sign, and reduces angles beyond 2^4096. It leaves a whole output
open where an element or comparison on the way is; the engine takes both branches of a choice. The engine leaves all
outputs open where an integer hangs on a comparison that is.
"""

import argparse
import collections
import json
import math
import os
import random
import subprocess
import sys
import unittest

import numpy
from mpmath.libmp import finf, fninf, fzero

import interval
import safetensors_file
import test_program
import test_program_domains
import test_program_formulas
import test_program_random
from check import same
from interval import Interval, Undecided
from program import Program, evaluate, gradient, node_values, rounded
from program_evaluation import turns_of
from program_reading import REAL
from program_gradient import Convention
from program_random import random_call
from program_text import Text

BITS = (0, 500, 1300, 4000)  # 0: 106 more than the format has; the engine has 1000 digits
DTYPES = ("f32", "f64", "f16", "bf16")


class Recorded(Program):
    """A program that keeps its text."""

    @staticmethod
    def read(text):
        program = Program.read(text)
        program.text = text
        return program


def decided(sizes, dtype, evaluate_here):
    """The elements of each output or gradient in `sizes`; None for an element that BITS do not decide."""
    found = {name: [None] * size for name, size in sizes.items()}
    for bits in BITS:
        interval.set_precision(bits or 106 + safetensors_file.FORMATS[dtype.upper()][0])
        try:
            found = {name: [rounded(x, dtype) for x in elements] for name, elements in evaluate_here().items()}
        except Undecided:
            continue
        if not any(None in elements for elements in found.values()):
            break
    return found


def by_second_reader(text, inputs, dtype):
    """The outputs by the second reader; None if it refuses the inputs."""
    program = Program.read(text)
    try:
        found = {}
        for name, index in program.outputs.items():  # each by itself: an undecided output leaves the others
            found |= decided({name: program.nodes[index].size}, dtype, lambda name=name: evaluate(program, inputs, [name]))
        return found
    except ValueError:
        return None


def has_slopes_of_its_own(nodes, values):
    """Whether the engine has a slope by convention where the second reader has another one: of a logarithm or a power
    beyond its domain (the zeros beside a box that was sliced are numbers to the engine, as to PyTorch), of a sum of
    exponentials that is infinite (its weights of 0 take no NaN), and of 0^0."""
    for node, made in zip(nodes, values, strict=True):
        taken = [x for k in node.inputs for x in values[k] or ()]
        if made and node.op == "scan" and any(has_slopes_of_its_own(node.attributes["body"].nodes, turn)
                                              for turn in turns_of(node, [values[k] for k in node.inputs])):
            return True
        if made and node.op in ("log", "log1p", "power") and any(y.is_nan and not x.is_nan for x, y in zip(taken, made)):
            return True
        if made and node.op in ("log_sum_exp", "log_add_exp") and any(x.lo in (finf, fninf) for x in made):
            return True
        if made and node.op == "pow" and any(x.is_value(fzero) for x in taken):
            return True
    return False


def gradient_by_second_reader(program, inputs, cotangents, dtype):
    """The gradients by the second reader; None if it refuses the inputs, or if a gradient is a convention."""
    try:
        interval.set_precision(500)
        if has_slopes_of_its_own(program.nodes, node_values(program, inputs, program.outputs)):
            return None
        sizes = {name: program.nodes[index].size for name, index in program.inputs.items()
                 if program.nodes[index].kind == REAL}
        found = decided(sizes, dtype, lambda: gradient(program, inputs, cotangents))
        return {f"grad_{name}": elements for name, elements in found.items()}
    except (ValueError, Convention, Undecided):
        return None


def in_json(x):
    return x if isinstance(x, (bool, int)) or math.isfinite(x) else str(x)


class Engine:
    def __init__(self):
        self.process = subprocess.Popen([os.environ["PROGRAM_VALUES"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def values(self, text, inputs, dtype, cotangents=None):
        """The outputs by the engine; with cotangents by output, the gradients. None if it refuses."""
        program = Program.read(text)

        def entry(index, values):
            return {"shape": program.nodes[index].shape, "values": list(map(in_json, values))}
        entries = {name: entry(index, inputs[name]) for name, index in program.inputs.items()}
        entries |= {f"grad_{name}": entry(program.outputs[name], values)
                    for name, values in (cotangents or {}).items()}
        line = json.dumps({"program": json.loads(text), "inputs": entries, "dtype": dtype,
                           "gradient": cotangents is not None})
        print(line, file=self.process.stdin, flush=True)
        outputs = json.loads(self.process.stdout.readline()).get("outputs")
        return outputs and {name: [float.fromhex(x) if isinstance(x, str) else x for x in output["values"]]
                            for name, output in outputs.items()}


def operators():
    """Each operator, on the numbers of test_program.py."""
    draws = test_program.Draws(5)
    for op, attributes, spelled, _ in test_program.OPERATORS:
        text, inputs = Text(), {}
        for k, (letter, *sizes) in enumerate(spelled.split()):
            shape = tuple(map(int, sizes))
            text.array(f"x{k}", *shape, kind=test_program.KINDS[letter])
            inputs[f"x{k}"] = numpy.ravel(draws.array(letter, shape)).tolist()
        yield text.json(y=text(op, *range(len(inputs)), **attributes)), inputs


def calls_of_tests(module):
    """The calls of `certified` that the tests of a module make."""
    calls = []

    def note(program, inputs, *others, function=module.certified):
        calls.append((program.text, inputs))
        return function(program, inputs, *others)
    module.Program, module.certified, module.agrees_with_differences = Recorded, note, lambda *_: None
    for case in unittest.defaultTestLoader.loadTestsFromModule(module):
        case.debug()
    return [call for call in calls if not any(isinstance(x, Interval) for values in call[1].values() for x in values)]


def chains(count, draws):
    test_program_random.Program = Recorded
    for _ in range(count):
        program = test_program_random.random_program(draws, 8)
        yield program.text, {name: [test_program_random.random_input(draws) for _ in range(3)] for name in "xy"}


class Comparison:
    def __init__(self):
        self.engine, self.counts, self.faults, self.alone = Engine(), collections.Counter(), [], []

    def run(self, text, inputs, dtype):
        ours, theirs = self.engine.values(text, inputs, dtype), by_second_reader(text, inputs, dtype)
        if ours is None or theirs is None:
            self.counts["programs that both refuse"] += ours is theirs
            if ours is not theirs:
                self.faults.append((text, inputs, dtype, "refused by one", ours, theirs))
            return
        self.compare_all(ours, theirs, (text, inputs, dtype), "both")

    def run_gradient(self, text, inputs, dtype, draws):
        """Compares gradients of programs that have one: reals in, reals out, and no convention on the way."""
        program = Program.read(text)
        real = {name: index for name, index in program.outputs.items() if program.nodes[index].kind == REAL}
        cotangents = {name: [float(numpy.float32(draws.gauss(0, 1))) for _ in range(program.nodes[index].size)]
                      for name, index in real.items()}
        theirs = gradient_by_second_reader(program, inputs, cotangents, dtype) if real else None
        if not theirs:
            self.counts["programs without a gradient"] += 1
            return
        ours = self.engine.values(text, inputs, dtype, cotangents)
        if ours is None:
            self.faults.append((text, inputs, dtype, "its gradient is refused by the engine"))
            return
        self.compare_all(ours, theirs, (text, inputs, dtype, cotangents), "both, of gradients")

    def compare_all(self, ours, theirs, where, count_as):
        for name, elements in theirs.items():
            for k, (x, y) in enumerate(zip(ours[name], elements, strict=True)):
                self.compare(x, y, (*where[:3], f"{name}[{k}]", *where[3:]), count_as)

    def compare(self, x, y, where, count_as):
        if x is None or y is None:
            who = "neither" if x is y else "the engine alone" if y is None else "the second reader alone"
            self.counts[who] += 1
            if x is not y:
                self.alone.append((*where, who))
            return
        self.counts[count_as] += 1
        # The rules of both readers may make different things of an infinite cotangent.
        if count_as != "both" and not math.isfinite(x) and not math.isfinite(y):
            return
        if type(x) is not type(y) or not same(x, y):
            self.faults.append((*where, x, y))


def compared(programs, seed):
    comparison, draws = Comparison(), random.Random(seed)
    calls = [*operators(), *calls_of_tests(test_program_formulas), *calls_of_tests(test_program_domains)]
    for text, inputs in calls:
        for dtype in DTYPES:
            comparison.run(text, inputs, dtype)
        comparison.run_gradient(text, inputs, draws.choice(DTYPES), draws)
    for text, inputs in chains(programs // 3, draws):
        comparison.run(text, inputs, draws.choice(DTYPES))
        comparison.run_gradient(text, inputs, draws.choice(DTYPES), draws)
    for _ in range(programs):
        text, inputs = random_call(draws, 8)
        comparison.run(text, inputs, draws.choice(DTYPES))
        comparison.run_gradient(text, inputs, draws.choice(DTYPES), draws)
    return comparison


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=300, help="random programs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print what one reader alone decides")
    options = parser.parse_args()
    comparison = compared(options.programs, options.seed)
    for text, inputs, dtype, *what in comparison.faults[:20]:
        print("DIFFERENT", dtype, *what, text, inputs)
    if options.verbose:
        for text, inputs, dtype, *what in comparison.alone[:20]:
            print(dtype, *what, text, inputs)
    counts = comparison.counts
    print(", ".join(f"{who}: {count}" for who, count in sorted(counts.items())))
    alone = counts["the engine alone"] + counts["the second reader alone"]
    return 1 if comparison.faults or counts["both"] < 5 * options.programs or alone > counts["both"] // 50 else 0


if __name__ == "__main__":
    sys.exit(main())
