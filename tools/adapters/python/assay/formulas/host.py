"""The process behind `--formula python:MODULE:FUNCTION`: it prints the declarations of the formula, then answers
questions for its program or its inputs at given sizes and settings. Each message is a line of JSON.

    {"ask": "trace", "sizes": {"B": 2, "n": 3}, "settings": {"window": 3}}
    {"ok": true, "program": {...}}, or {"ok": false, "error": "reference.py:12: ..."}
    {"ask": "draw", "sizes": ..., "settings": ..., "seed": 1}
    {"ok": true, "inputs": {"table": [0, 3, 1]}}
"""
import functools
import hashlib
import json
import math
import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import assay  # noqa: E402, F401, from the folder above
from assay.installed import IS_HOST  # noqa: E402
sys.path.append(sys.path.pop(0))
from assay.python_candidate import load, named, why_not  # noqa: E402
from assay.streams import protocol_streams, send  # noqa: E402


class Host:
    def __init__(self, function, given):
        from assay.formulas.declaring import (declaration_of, even_axes, name_of, outputs_of, role_of, sizes_in_settings,
                                               sizes_that_differ, symbol_of, symbols_of)
        from assay.formulas.drawing import check_values
        from assay.formulas.program import FLOATS
        from assay.formulas.doors import as_function, door_of
        self.function = function = as_function(function)
        self.other_ways = getattr(function, "__assay_other_ways__", [])
        self.inputs, self.settings, multiples = declaration_of(function, given)
        standard = {name: values[0] for name, values in self.settings.items()}
        multiples |= even_axes(self.trace, self.inputs, standard, multiples)
        sizes, others = (sizes_that_differ(self.inputs, multiples, first) for first in (0, 1))
        counts = sizes_in_settings(self.settings)
        found, again = self.trace(sizes, standard), self.trace(others, standard | {name: v for name, (_, v) in counts.items()})
        outputs = outputs_of(*((trace, own | {name: pair[k] for name, pair in counts.items()})
                               for k, (trace, own) in enumerate(((found, sizes), (again, others)))))
        symbols = {symbol_of(axis) for out in outputs for axis in out["axes"]}
        self.draw = getattr(function, "__assay_inputs__", None)
        drawn = self.drawn(sizes, standard, 1)
        door = door_of(function)
        check_values(*(functools.partial(ask, function, settings=standard, narrowest=found.narrowest)
                       for ask in (door.run, door.where_nan_begins)), self.inputs, sizes, multiples,
                     lambda sizes, seed: self.drawn(sizes, standard, seed))
        texts = [json.dumps([self.inputs, self.settings, multiples]), found.text, again.text]
        texts += [self.trace(sizes, standard | {name: value}).text for name, values in self.settings.items()
                  for value in values[1:]]
        self.greeting = {
            "ok": True, "name": name_of(function), "given": given, "inputs": list(self.inputs.values()),
            "outputs": outputs,
            "other_ways": [name_of(way) for way in self.other_ways], "multiples": multiples, "sizes": sizes,
            "roles": {axis: role_of(axis) for axis in sorted({*symbols_of(self.inputs), *symbols} - {""})},
            "settings": [{"name": name, "values": values, "axis": name if name in symbols else ""}
                         for name, values in self.settings.items()],
            "sha256": hashlib.sha256("\n".join(texts).encode()).hexdigest(),
            "narrowest": max((found.narrowest, again.narrowest), key=FLOATS.index),
            "arrays": self.arrays(found, sizes),
            "turns": self.turns(sizes, others, standard, multiples),
            "drawn": sorted(drawn),
            "stages": [{"name": name, "narrow": narrow, "meaning": place} for name, (narrow, place) in found.stages.items()]
            + [{"name": "rest", "narrow": False, "meaning": "all that no stage has"}] * bool(found.stages),
            "captured": [f"{path}:{line}: an array {list(shape)}" for (path, line), shape in found.captured]}

    def arrays(self, found, sizes):
        """The largest arrays of the program, by their axes: a size that is no axis is a number."""
        by_size = {size: axis for axis, size in sizes.items()}
        named = {tuple(sorted(str(by_size.get(size, size)) for size in shape if size != 1)) for shape in found.shapes}
        return sorted(named, key=lambda axes: -math.prod(sizes.get(axis) or int(axis) for axis in axes))[:16]

    def turns(self, sizes, others, settings, multiples):
        """The loops: {"axes": the axes whose size changes the number of operations, "powers": the power of each size,
        "operations": for each turn, "rolled": whether the program has one body for all turns}. If there are other ways to
        compute the formula, the longest counts."""
        from assay.formulas.declaring import size_of

        def found(sizes_now):
            all_ways = [self.trace(sizes_now, settings, way) for way in (self.function, *self.other_ways)]
            return max(one.operations for one in all_ways), max(len(one.steps) for one in all_ways)

        def larger(axis, by):
            sizes_now = sizes | {axis: by * sizes[axis]}
            return sizes_now | {other: 2 * size_of(divisor, sizes_now)
                                for other, divisor in multiples.items() if divisor == axis}
        here, _ = found(sizes)
        if here == found(others)[0]:
            return {"axes": [], "powers": [], "operations": here, "rolled": True}
        along, powers, is_rolled = [], [], True
        for axis in sizes:
            grown, _ = found(larger(axis, 3))
            if grown > here:
                along.append(axis)
                powers.append(min(3, max(1, round(math.log(grown / here, 3) + 0.3))))
                is_rolled &= found(larger(axis, 12))[1] <= found(larger(axis, 6))[1]
        turns = 1
        for axis, power in zip(along, powers):
            turns *= sizes[axis]**power
        return {"axes": along, "powers": powers, "operations": -(-here // turns), "rolled": is_rolled}

    def trace(self, sizes, settings, function=None):
        import numpy
        from assay.formulas.declaring import size_of
        from assay.formulas.tracing import trace
        types = {"integer": numpy.int64, "boolean": bool, "real": numpy.float64}
        shapes = {name: numpy.broadcast_to(numpy.zeros((), types[one["type"]]),
                                           tuple(size_of(axis, sizes) for axis in one["axes"]))
                  for name, one in self.inputs.items()}
        return trace(function or self.function, shapes, settings)

    def drawn(self, sizes, settings, seed):
        """The arrays, by name, that the formula's own function draws (inputs=...)."""
        from assay.formulas.drawing import drawn_by
        return drawn_by(self.draw, self.inputs, sizes, settings, seed) if self.draw else {}

    def answer(self, question):
        try:
            if question["ask"] == "draw":
                found = self.drawn(question["sizes"], question["settings"], question["seed"])
                return {"ok": True, "inputs": {name: [x if math.isfinite(x) else str(x) for x in array.astype(float).ravel().tolist()]
                                               for name, array in found.items()}}
            found, *others = (self.trace(question["sizes"], question["settings"], way)
                              for way in (self.function, *self.other_ways))
        except Exception as error:
            return {"ok": False, "error": f"{type(error).__name__}: {error}"}
        steps = list(dict.fromkeys(found.steps))
        place = {step: k for k, step in enumerate(steps)}
        return {"ok": True, "program": json.loads(found.text), "steps": steps,
                "step_of": [place[step] for step in found.steps], "other_ways": [json.loads(way.text) for way in others]}


def main():
    module, name, given = sys.argv[1:]
    streams = protocol_streams()  # before the user's module may print
    os.environ[IS_HOST] = "1"
    sys.path.insert(0, os.getcwd())
    try:
        host = Host(named(load(module), name), json.loads(given))
    except (Exception, SystemExit) as error:
        from assay.formulas.declaring import WrongDeclaration
        from assay.formulas.refusal import CannotTrace
        reason = str(error) if isinstance(error, (CannotTrace, WrongDeclaration)) else why_not(error, module, name)
        print(reason, file=sys.stderr)
        send({"ok": False, "error": reason}, streams[1])
        sys.exit(1)
    send(host.greeting, streams[1])
    for line in streams[0]:
        send(host.answer(json.loads(line)), streams[1])


if __name__ == "__main__":
    main()
