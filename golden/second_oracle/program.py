"""A second reader of programs: formulas as lists of nodes over arrays, evaluated in intervals.

    python3 program.py PROGRAM.json INPUTS.json [--gradient] --dtype f32

INPUTS.json is {"x": {"shape": [2], "values": [0.5, "-inf"]}}. Prints the outputs, rounded, in the same form with
hexadecimal numbers. With --gradient the inputs hold a cotangent "grad_y" of each real output y, and what is printed is
"grad_x" for each real input x. Ends with 2 where the program or an input is refused, 3 where no precision decides an
element, 4 where a derivative is a convention. Zeros are printed without a sign.
"""

import argparse
import json
import math
import sys

import interval
import safetensors_file
from check import LADDER
from interval import Interval, Undecided
from program_attributes import is_integer, is_name, is_shape, json_of, require
from program_evaluation import elements_of, node_values
from program_gradient import Convention, backward
from program_reading import AXES, ELEMENTS, ELEMENTS_IN_ALL, LOOPS, NODES, REAL, RULES


class Node:
    """One node: its operator, the indices of its inputs, its attributes by name, its kind and shape. `nodes` and
    `elements` count those of its body, too."""

    def __init__(self, members, earlier, loops):
        require(isinstance(members, dict), "it is no object")
        self.op = members.get("op")
        require(isinstance(self.op, str) and self.op in RULES, f"unknown operator {self.op!r}")
        kinds, attributes, result = RULES[self.op]
        known = {"op", "stage", *attributes} | ({"in"} if kinds else set())
        for name in members:
            require(name in known, f"{self.op} has no member {name!r}")
        for name in known - {"stage"}:
            require(name in members, f"{self.op} needs the member {name!r}")
        for name, is_right in attributes.items():
            require(is_right(members[name]), f"{name} of {self.op} is not what it should be")
        require(is_name(members.get("stage", "none")), "the stage is no name")
        self.attributes = {"op": self.op} | {name: members[name] for name in attributes}
        self.inputs = members.get("in", [])
        inputs = self._check_inputs(kinds, earlier)
        body = None
        if "body" in attributes:
            body = self.attributes["body"] = Program.from_document(members["body"], loops + 1)
        self.kind, self.shape = result(self.attributes, inputs)
        self.size = math.prod(self.shape)
        require(len(self.shape) <= AXES, f"more than {AXES} axes")
        require(self.size <= ELEMENTS, f"more than {ELEMENTS} elements")
        self.nodes = 1 + (sum(node.nodes for node in body.nodes) if body else 0)
        self.elements = self.size + (sum(node.elements for node in body.nodes) if body else 0)

    def _check_inputs(self, kinds, earlier):
        require(isinstance(self.inputs, list), "in is no list")
        for index in self.inputs:
            require(is_integer(index) and 0 <= index < len(earlier), f"{index!r} is no earlier node")
        inputs = [earlier[index] for index in self.inputs]
        if ... in kinds:
            kinds = kinds[:1] * max(1, len(inputs))
        require(len(inputs) == len(kinds), f"{self.op} has {len(kinds)} inputs, not {len(inputs)}")
        for x, kind in zip(inputs, kinds):
            require(x.kind == kind if isinstance(kind, str) else x.kind in kind, f"{self.op} of a {x.kind}")
        alike = {x.kind for x, kind in zip(inputs, kinds) if isinstance(kind, tuple)}
        require(len(alike) <= 1, f"{self.op} of two kinds")
        return inputs


class Program:
    """Nodes in order; the node of each output by its name, the node of each input by its name."""

    def __init__(self, nodes, outputs):
        self.nodes, self.outputs = nodes, outputs
        self.inputs = {node.attributes["name"]: index for index, node in enumerate(nodes) if node.op == "input"}

    @staticmethod
    def read(text):
        """A ValueError says which node is wrong, and what is."""
        document = json_of(text)
        require(isinstance(document, dict) and "schema" in document, "a program has the members schema, nodes, outputs")
        schema = document.pop("schema")
        require(schema == "assay-program/1", f"unknown schema {schema!r}")
        return Program.from_document(document)

    @staticmethod
    def from_document(document, loops=0):
        """A program; the body of a loop has that many loops around it."""
        require(loops <= LOOPS, f"loops are nested more than {LOOPS} deep")
        require(isinstance(document, dict) and set(document) == {"nodes", "outputs"},
                "a program has the members nodes and outputs")
        require(isinstance(document["nodes"], list) and len(document["nodes"]) <= NODES,
                f"nodes are no list of at most {NODES}")
        nodes, names, count, elements = [], set(), 0, 0
        for index, members in enumerate(document["nodes"]):
            try:
                nodes.append(Node(members, nodes, loops))
                name = nodes[-1].attributes.get("name")
                require(name is None or name not in names, f"a second input {name!r}")
                names.add(name)
                count += nodes[-1].nodes
                elements += nodes[-1].elements
                require(count <= NODES, f"more than {NODES} nodes in all")
                require(elements <= ELEMENTS_IN_ALL, f"more than {ELEMENTS_IN_ALL} elements in all")
            except ValueError as error:
                raise ValueError(f"node {index}: {error}") from None
        return Program(nodes, Program._read_outputs(document["outputs"], len(nodes)))

    @staticmethod
    def _read_outputs(entries, count):
        require(isinstance(entries, list), "outputs are no list")
        outputs = {}
        for index, entry in enumerate(entries):
            require(isinstance(entry, dict) and set(entry) == {"name", "node"}, f"output {index} is no name and node")
            name, node = entry["name"], entry["node"]
            require(is_name(name) and name not in outputs, f"output {index}: no name of its own: {name!r}")
            require(is_integer(node) and 0 <= node < count, f"output {index}: there is no node {node!r}")
            outputs[name] = node
        return outputs


def evaluate(program, inputs, outputs=None):
    """The outputs (all, or those named) from inputs by name, all as lists of elements in row-major order: intervals,
    ints, bools. An input has doubles or intervals, ints, bools."""
    names = list(program.outputs) if outputs is None else outputs
    values = node_values(program, inputs, names)
    return {name: values[program.outputs[name]] for name in names}


def gradient(program, inputs, cotangents):
    """The derivative in each real input of the sum of all products of outputs and their cotangents."""
    bars = {}
    for name in cotangents:
        require(name in program.outputs, f"there is no output {name!r}")
        node = program.nodes[program.outputs[name]]
        require(node.kind == REAL, f"the output {name!r} has no derivative")
        bars.setdefault(program.outputs[name], []).append(elements_of(name, REAL, node.size, cotangents[name]))
    return backward(program, node_values(program, inputs, list(cotangents)), bars)


def rounded(x, dtype):
    return safetensors_file.rounded(x, dtype.upper()) if isinstance(x, Interval) else x


def certified(program, inputs, dtype, cotangents=None):
    """The outputs, or with cotangents the gradients, each real rounded to the dtype: it is the one number that all of
    its enclosure rounds to."""
    reason = None
    for bits in LADDER:
        interval.set_precision(bits or 106 + safetensors_file.FORMATS[dtype.upper()][0])
        try:
            exact = evaluate(program, inputs) if cotangents is None else gradient(program, inputs, cotangents)
        except Undecided as error:
            reason = error
            continue
        out = {name: [rounded(x, dtype) for x in values] for name, values in exact.items()}
        open_elements = [f"{name}[{values.index(None)}]" for name, values in out.items() if None in values]
        if not open_elements:
            return out
        reason = Undecided(f"no single number of {dtype}: {', '.join(open_elements)}")
    raise reason


def printable(x):
    return x.hex() if isinstance(x, float) else x


def read_inputs(program, text, wants_gradient):
    """Inputs and cotangents by name."""
    inputs, cotangents = {}, {}
    entries = json_of(text)
    require(isinstance(entries, dict), "the inputs are no object")
    for name, entry in entries.items():
        require(isinstance(entry, dict) and set(entry) == {"shape", "values"} and is_shape(entry["shape"]) and
                isinstance(entry["values"], list), f"{name} is no shape and values")
        output = name.removeprefix("grad_")
        is_cotangent = wants_gradient and name not in program.inputs and name != output
        known = program.outputs if is_cotangent else program.inputs
        key = output if is_cotangent else name
        require(key in known, f"there is no {'output' if is_cotangent else 'input'} {key!r}")
        shape = program.nodes[known[key]].shape
        require(entry["shape"] == shape, f"{name} has the shape {entry['shape']}, not {shape}")
        (cotangents if is_cotangent else inputs)[key] = entry["values"]
    for name, index in program.outputs.items() if wants_gradient else ():
        require(name in cotangents or program.nodes[index].kind != REAL, f"the cotangent grad_{name} is missing")
    return inputs, cotangents


def run(options):
    with open(options.program, encoding="utf-8") as file:
        program = Program.read(file.read())
    with open(options.inputs, encoding="utf-8") as file:
        inputs, cotangents = read_inputs(program, file.read(), options.gradient)
    values = certified(program, inputs, options.dtype, cotangents if options.gradient else None)
    prefix, indices = ("grad_", program.inputs) if options.gradient else ("", program.outputs)
    print(json.dumps({prefix + name: {"shape": program.nodes[indices[name]].shape,
                                      "values": [printable(x) for x in elements]}
                      for name, elements in values.items()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("inputs")
    parser.add_argument("--gradient", action="store_true", help="derivatives in the inputs")
    parser.add_argument("--dtype", required=True, choices=[name.lower() for name in safetensors_file.FORMATS])
    try:
        run(parser.parse_args())
    except (ValueError, Undecided, Convention) as error:
        print(error, file=sys.stderr)
        return {Undecided: 3, Convention: 4}.get(type(error), 2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
