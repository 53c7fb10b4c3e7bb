"""Makes one node (scan) of each loop that a trace has written out: what the turns have in common is its body.

A loop is a run of operations that comes again and again. In every turn an operation takes what the same turn has made,
what the turn before has made (it is carried), or what stands before the loop: the same in all turns, or another array in
each (it is stepped through). Parts that the turns write side by side into one array are outputs of all turns, stacked.
"""
import json

from assay.formulas.plain import numpy
INTEGER, REAL = "integer", "real"

FEWEST_TURNS, LONGEST_BODY, MOST_AXES = 8, 512, 8
MOST_STEPS_BACK = 1 << 21  # writes that all reads of a program together look back through
TURNS_OF_TRIAL = 10  # a run is first tried as a loop of so few turns
LONGEST_MULTIPLE = 8  # a run that is no loop may be one of up to so many periods a turn
# Attributes that may differ from turn to turn.
VARYING = {"slice": ("start", "stop"), "update": ("start",), "integer": ("value",), "number": ("value",), "setting": ("value",),
           "boolean": ("value",), "fraction": ("numerator", "denominator"), "data": ("values",)}


class Nodes:
    """Nodes in order, each with its kind, shape and step."""

    def __init__(self, nodes=(), kinds=(), shapes=(), steps=()):
        self.nodes, self.kinds, self.shapes, self.steps = list(nodes), list(kinds), list(shapes), list(steps)
        self.body_steps = {}  # of loops: the steps of the nodes of their bodies, in order

    def add(self, node, kind, shape, step):
        self.nodes.append(node)
        self.kinds.append(kind)
        self.shapes.append(tuple(shape))
        self.steps.append(step)
        return len(self.nodes) - 1

    def take(self, other, k, now):
        """Node k of another list, which takes now[...]."""
        node = other.nodes[k]
        if "in" in node:
            node = {**node, "in": [now[taken] for taken in node["in"]]}
        made = self.add(node, other.kinds[k], other.shapes[k], other.steps[k])
        if k in other.body_steps:
            self.body_steps[made] = other.body_steps[k]
        return made

    def all_steps(self):
        """The steps of all nodes; those of a body stand before that of its loop."""
        return [step for k, own in enumerate(self.steps) for step in (*self.body_steps.get(k, ()), own)]

    # Nodes that a trace does not have.

    def reshape(self, x, shape, step):
        shape = [int(size) for size in shape]
        if list(self.shapes[x]) == shape:
            return x
        return self.add({"op": "reshape", "in": [x], "shape": shape}, self.kinds[x], shape, step)

    def box(self, x, start, stop, steps, step):
        shape = [len(range(*one)) for one in zip(start, stop, steps)]
        if tuple(shape) == self.shapes[x] and all(one == 1 for one in steps):
            return x
        return self.add({"op": "slice", "in": [x], "start": list(start), "stop": list(stop), "step": list(steps)}, self.kinds[x],
                        shape, step)

    def rows(self, x, first, count, step, by=1):
        """Elements of the first axis, from `first` on, one behind the other or backwards."""
        shape = self.shapes[x]
        stop = first + count * by
        return self.box(x, [first] + [0] * (len(shape) - 1), [stop, *shape[1:]], [by] + [1] * (len(shape) - 1), step)

    def moved(self, x, axis, to, step):
        order = [k for k in range(len(self.shapes[x])) if k != axis]
        order.insert(to, axis)
        if order == sorted(order):
            return x
        return self.add({"op": "transpose", "in": [x], "axes": order}, self.kinds[x], [self.shapes[x][k] for k in order], step)

    def laid_along(self, stack, axis, step):
        """Arrays of a stack [T, ...] one behind the other along an axis of theirs."""
        turns, *shape = self.shapes[stack]
        shape[axis] *= turns
        return self.reshape(self.moved(stack, 0, axis, step), shape, step)

    def concatenated(self, arrays, step):
        """A stack of arrays of one shape."""
        rows = [self.reshape(x, (1, *self.shapes[x]), step) for x in arrays]
        shape = (len(rows), *self.shapes[arrays[0]])
        return self.add({"op": "concatenate", "in": rows, "axis": 0}, self.kinds[rows[0]], shape, step)


def rolled_up(nodes, outputs):
    """(nodes, outputs: node by name), with loops in place of turns."""
    nodes, outputs = _without_dead(*_read_what_was_written(*_without_dead(nodes, outputs)))
    # `refused`: runs that are no loop, as (first, behind the last, period, whether no multiple of it is one either)
    period, codes, refused = 1, _codes(nodes), []
    while period <= min(LONGEST_BODY, len(nodes.nodes) // FEWEST_TURNS):
        made = _rolled_with_period(nodes, outputs, codes, period, refused)
        period += 1
        if made is not None:
            nodes, outputs = _without_dead(*_stacks_as_they_are(*_without_dead(*made)))
            period, codes, refused = 1, _codes(nodes), []
    return nodes, outputs


def _without_dead(nodes, outputs):
    lives = {k for k, node in enumerate(nodes.nodes) if node["op"] == "input"} | set(outputs.values())
    for k in range(len(nodes.nodes) - 1, -1, -1):
        if k in lives:
            lives.update(nodes.nodes[k].get("in", ()))
    made, now = Nodes(), {}
    for k in sorted(lives):
        now[k] = made.take(nodes, k, now)
    return made, {name: now[k] for name, k in outputs.items()}


def _read_what_was_written(nodes, outputs):
    """Replaces a read of a written part by what was written: x[t - 1] after x[t - 1] = y is y. Of two writes in a row
    only the second is kept if it covers the first."""
    made, now, budget = Nodes(), {}, MOST_STEPS_BACK

    def covers(one, other):
        sizes = [made.shapes[node["in"][1]] for node in (one, other)]
        return all(a <= b and b + n <= a + m for a, m, b, n in zip(one["start"], sizes[0], other["start"], sizes[1]))
    for k, node in enumerate(nodes.nodes):
        if node["op"] == "slice" and all(one == 1 or size == 1 for one, size in zip(node["step"], nodes.shapes[k])):
            source, start, extent = now[node["in"][0]], node["start"], nodes.shapes[k]
            while made.nodes[source]["op"] == "update" and budget > 0:
                budget -= 1
                first, written = made.nodes[source]["start"], made.nodes[source]["in"][1]
                size = made.shapes[written]
                if all(f <= s and s + e <= f + n for f, n, s, e in zip(first, size, start, extent)):
                    source, start = written, [s - f for f, s in zip(first, start)]
                elif any(s + e <= f or f + n <= s for f, n, s, e in zip(first, size, start, extent)):
                    source = made.nodes[source]["in"][0]
                else:
                    break
            now[k] = made.box(source, start, [s + e for s, e in zip(start, extent)], [1] * len(extent), nodes.steps[k])
            continue
        now[k] = made.take(nodes, k, now)
        if node["op"] == "update":
            own = made.nodes[now[k]]
            while made.nodes[own["in"][0]]["op"] == "update" and covers(own, made.nodes[own["in"][0]]):
                own["in"][0] = made.nodes[own["in"][0]]["in"][0]
    return made, {name: now[k] for name, k in outputs.items()}


def _stacks_as_they_are(nodes, outputs):
    """Replaces a concatenation of rows of a stack by the stack itself: a list to which each turn appends becomes
    one."""
    made, now = Nodes(), {}

    def row_of(k):
        """(stack, row), where k is one of a stack in another shape."""
        while made.nodes[k]["op"] == "reshape":
            k = made.nodes[k]["in"][0]
        node = made.nodes[k]
        if node["op"] != "slice" or made.shapes[k][:1] != (1,):
            return None
        stack = node["in"][0]
        return (stack, node["start"][0]) if made.shapes[k][1:] == made.shapes[stack][1:] and min(node["step"]) > 0 else None

    def follows(parts, rows, first, last):
        """Whether part `last` is the next row of the stack of which those from `first` on are rows."""
        if rows[first] is None or rows[last] is None or rows[last][0] != rows[first][0]:
            return False
        by = rows[first + 1][1] - rows[first][1]
        return by in (1, -1) and rows[last][1] == rows[last - 1][1] + by and made.shapes[parts[last]] == made.shapes[parts[first]]

    for k, node in enumerate(nodes.nodes):
        if node["op"] == "concatenate" and len(node["in"]) > 1 and len(nodes.shapes[k]) < MOST_AXES:
            parts = [now[taken] for taken in node["in"]]
            rows = [row_of(x) for x in parts]
            laid, first = [], 0
            while first < len(parts):
                last = first + 1
                while last < len(parts) and follows(parts, rows, first, last):
                    last += 1
                if last == first + 1:
                    laid.append(parts[first])
                else:
                    by = rows[first + 1][1] - rows[first][1]
                    stack = made.rows(rows[first][0], rows[first][1], last - first, nodes.steps[k], by)
                    stack = made.reshape(stack, (last - first, *made.shapes[parts[first]]), nodes.steps[k])
                    laid.append(made.laid_along(stack, node["axis"], nodes.steps[k]))
                first = last
            if len(laid) < len(parts):
                now[k] = laid[0] if len(laid) == 1 else made.add({**node, "in": laid}, nodes.kinds[k], nodes.shapes[k],
                                                                 nodes.steps[k])
                continue
        now[k] = made.take(nodes, k, now)
    return made, {name: now[k] for name, k in outputs.items()}


def _codes(nodes):
    """A code for each node; nodes of equal code may be the same operation in several turns of a loop."""
    known, codes = {}, []
    for k, node in enumerate(nodes.nodes):
        plain = {name: value for name, value in node.items() if name != "in" and name not in VARYING.get(node["op"], ())}
        taken = [(nodes.kinds[x], nodes.shapes[x]) for x in node.get("in", ())]
        codes.append(known.setdefault(json.dumps([plain, taken, nodes.kinds[k], nodes.shapes[k], nodes.steps[k]], sort_keys=True),
                                      len(known)))
    return numpy.array(codes)


def _rolled_with_period(nodes, outputs, codes, period, refused):
    again = codes[period:] == codes[:-period]
    ends = numpy.flatnonzero(numpy.diff(numpy.concatenate([[False], again, [False]]).astype(numpy.int8)))
    uses = None
    found = []
    for first, stop in zip(ends[::2].tolist(), (ends[1::2] + period).tolist()):
        if stop - first < FEWEST_TURNS * period or any(
                a <= first and stop <= b and period % own == 0 and (never or period > LONGEST_MULTIPLE * own)
                for a, b, own, never in refused):
            continue
        uses = uses or _uses_of(nodes, outputs)
        begins = range(first, min(first + period, stop - FEWEST_TURNS * period + 1))
        begins = sorted(begins, key=lambda k: (len(_carried_into_second(nodes, k, period)), k))[:8]
        parts = [_parts_of_run(nodes, begin, period, stop) for begin in begins]
        trials = [_Loop(nodes, uses, part[0][0], period, min(TURNS_OF_TRIAL, part[0][1]), is_trial=True)
                  for part in parts if part]
        if not any(trial.is_one for trial in trials):
            refused.append((first, stop, period, bool(trials) and not any(trial.is_one_of_more for trial in trials)))
            continue
        for part in parts:
            loops = [loop for loop in (_Loop(nodes, uses, own, period, turns) for own, turns in part) if loop.is_one]
            if loops and (not found or loops[0].begin >= found[-1].end):
                found += loops
                break
        else:
            refused.append((first, stop, period, True))
    return _with_loops(nodes, outputs, found) if found else None


def _uses_of(nodes, outputs):
    uses = [[] for _ in nodes.nodes]
    for k, node in enumerate(nodes.nodes):
        for taken in node.get("in", ()):
            uses[taken].append(k)
    for k in outputs.values():
        uses[k].append(len(uses))
    return uses


def _carried_into_second(nodes, begin, period):
    second = range(begin + period, begin + 2 * period)
    return {taken for k in second for taken in nodes.nodes[k].get("in", ()) if begin <= taken < begin + period}


def _parts_of_run(nodes, begin, period, stop):
    """(begin, turns) of loops in a run: it is cut where indices stop going on as they did, at the end of an inner loop."""
    turns = (stop - begin) // period
    cuts = {turns}
    for place in range(period):
        ks = range(begin + place, begin + turns * period, period)
        if nodes.nodes[ks[0]]["op"] in ("slice", "update") and nodes.shapes[ks[0]]:
            by = numpy.diff([nodes.nodes[k]["start"] for k in ks], axis=0)
            first = 0
            for turn in (numpy.flatnonzero((by[1:] != by[:-1]).any(axis=1)) + 1).tolist():
                if turn > first and (by[turn] != by[first]).any():
                    cuts.add(turn + 1)
                    first = turn + 1
    cuts = sorted(cuts)
    return [(begin + first * period, last - first) for first, last in zip([0, *cuts], cuts) if last - first >= FEWEST_TURNS]


def _is_whole(x):
    """An integer that doubles have, and no zero with a minus."""
    return not isinstance(x, str) and x == int(x) and abs(x) < 1 << 53 and (x != 0 or str(x)[0] != "-")


class _NoLoop(Exception):
    """`is_one_of_more`: several turns together may be one."""

    def __init__(self, is_one_of_more=False):
        super().__init__()
        self.is_one_of_more = is_one_of_more


class _Loop:
    """A run of turns, and what each of its operations takes: ("here", place), ("carried", key), ("stepped", key),
    ("whole", node)."""

    def __init__(self, nodes, uses, begin, period, turns, is_trial=False):
        self.nodes, self.uses, self.begin, self.period, self.turns = nodes, uses, begin, period, turns
        self.end = begin + period * turns
        self.carried, self.stepped, self.whole = {}, {}, {}  # keys in order
        self.taken = {}  # by place of the body: its operands
        self.outside = {}  # places whose nodes of all turns are written before the loop
        self.written = {}  # places that write into an array: their operands
        self.filled = {}  # by the last place of a turn that writes into one: (the places in order, the axis, by, the axis along
        # which the places lie)
        try:
            for place in range(period):
                self._read_outside(place)
            for place in set(range(period)) - set(self.outside):
                self._read(place)
            for place, taken in self.written.items():
                self._read_filled(place, taken)
            self.is_one = self.is_one_of_more = True
            if not is_trial:
                self._check_uses()
                self.is_one = self._is_worth_it()
        except _NoLoop as why:
            self.is_one, self.is_one_of_more = False, why.is_one_of_more

    def all_of(self, place):
        return range(self.begin + place, self.end, self.period)

    def _varies(self, place):
        nodes, ks = self.nodes.nodes, self.all_of(place)
        node = nodes[ks[0]]
        return any(nodes[k][name] != node[name] for name in VARYING.get(node["op"], ()) for k in ks)

    def _read_outside(self, place):
        """Notes a place whose node depends on nothing in the loop and differs from turn to turn."""
        nodes, ks = self.nodes.nodes, self.all_of(place)
        if any(x >= self.begin for k in ks for x in nodes[k].get("in", ())):
            return
        if "in" not in nodes[ks[0]] or self._varies(place):
            self.outside[place] = self._stepped_through(tuple(ks)) if len(ks) > 1 else ("whole", ks[0])

    def _read(self, place):
        nodes, ks = self.nodes.nodes, self.all_of(place)
        node = nodes[ks[0]]
        taken = [self._taken(place, [nodes[k]["in"][slot] for k in ks]) for slot in range(len(node["in"]))]
        if not self._varies(place):
            self.taken[place] = taken
        elif node["op"] == "update":
            self.written[place] = taken
        else:
            raise _NoLoop

    def _taken(self, place, refs):
        """How the turns take an operand, from its node in each turn; see _Loop."""
        if all(ref < self.begin for ref in refs):
            return ("whole", refs[0]) if len(set(refs)) == 1 else self._stepped_through(tuple(refs))
        if all(self.nodes.nodes[ref]["op"] == "slice" and self.nodes.nodes[ref]["in"][0] < self.begin for ref in refs):
            kind, key = self._stepped_through(tuple(refs))
            if key[0] == "box":
                return kind, key
        later = [ref - (self.begin + (turn + 1) * self.period) for turn, ref in enumerate(refs[1:])]
        if len(set(later)) != 1 or not -self.period <= later[0] < place:
            raise _NoLoop(is_one_of_more=True)
        if later[0] >= 0:
            if refs[0] != self.begin + later[0]:
                raise _NoLoop
            return self.outside.get(later[0], ("here", later[0]))
        if refs[0] >= self.begin:
            raise _NoLoop
        before = later[0] + self.period
        if before in self.outside:
            return self._stepped_through(tuple(refs))
        last = self.begin + before
        kinds = {self.nodes.kinds[last], self.nodes.kinds[refs[0]]}
        if kinds != {REAL} or self.nodes.shapes[last] != self.nodes.shapes[refs[0]]:
            raise _NoLoop
        return "carried", (before, refs[0])

    def _stepped_through(self, ks):
        """Nodes of which each turn takes another: a box of one array that goes along an axis, numbers that are counted; else
        the arrays themselves."""
        all_of_them = [self.nodes.nodes[k] for k in ks]
        first, shape = all_of_them[0], self.nodes.shapes[ks[0]]
        if any(node["op"] != first["op"] or self.nodes.shapes[k] != shape for k, node in zip(ks, all_of_them)):
            return "stepped", ks
        if first["op"] == "slice" and len({node["in"][0] for node in all_of_them}) == 1 and len(shape) < MOST_AXES:
            along = self._along([node["start"] for node in all_of_them], shape)
            has_gaps = any(one != 1 and size != 1 for node in all_of_them for one, size in zip(node["step"], shape))
            if along is not None and not has_gaps:
                return "stepped", ("box", first["in"][0], tuple(first["start"]), shape, *along)
        if first["op"] in ("integer", "number"):
            values = [node["value"] for node in all_of_them]
            if all(map(_is_whole, values)) and len({b - a for a, b in zip(values, values[1:])}) == 1:
                start, by = int(values[0]), int(values[1]) - int(values[0])
                return "stepped", ("count", start, by, self.nodes.kinds[ks[0]], first.get("stage"))
        return "stepped", ks

    def _along(self, starts, extent, by_parts=False):
        """(axis, by): boxes that lie side by side along it, forwards or backwards. Of one element, or `by_parts`, they may be
        further apart."""
        moving = [axis for axis in range(len(extent)) if len({start[axis] for start in starts}) > 1]
        if len(moving) != 1:
            return None
        axis = moving[0]
        by = starts[1][axis] - starts[0][axis]
        may_be_apart = by_parts or extent[axis] == 1 or abs(by) == extent[axis]
        if not may_be_apart or any(b[axis] - a[axis] != by for a, b in zip(starts, starts[1:])):
            return None
        return axis, by

    def _box_written(self, place):
        """(where in the first turn, its extent)"""
        node = self.nodes.nodes[self.begin + place]
        return node["start"], self.nodes.shapes[node["in"][1]]

    def _read_filled(self, place, taken):
        """An array that is carried from turn to turn to be written into, from its first write in a turn on: what all writes
        of a turn give lies side by side, and so do the turns."""
        kind, what = taken[0]
        if kind == "here" and what in self.written:
            return  # the first one reports it
        if kind != "carried" or what[0] not in self.written or self.nodes.kinds[self.begin + place] != REAL:
            raise _NoLoop
        chain = [place]
        while chain[-1] != what[0]:
            following = [p for p, other in self.written.items() if other[0] == ("here", chain[-1])]
            if len(following) != 1:
                raise _NoLoop
            chain += following
        ways = {self._along([self.nodes.nodes[k]["start"] for k in self.all_of(p)], self._box_written(p)[1], by_parts=True)
                for p in chain}
        if len(ways) != 1 or None in ways or any(self.written[p][1][0] == "whole" for p in chain):
            raise _NoLoop
        axis, by = ways.pop()
        boxes = [self._box_written(p) for p in chain]
        apart = [k for k in range(len(boxes[0][0])) if len({start[k] for start, _ in boxes}) > 1] or [axis]
        beside = apart[0]
        chain.sort(key=lambda p: self._box_written(p)[0][beside])
        boxes = [self._box_written(p) for p in chain]
        lies_beside = all(a[0][beside] + a[1][beside] == b[0][beside] for a, b in zip(boxes, boxes[1:]))
        others = {(*extent[:beside], *extent[beside + 1:]) for _, extent in boxes}
        whole = sum(extent[axis] for _, extent in boxes) if beside == axis else boxes[0][1][axis]
        if len(apart) != 1 or not lies_beside or len(others) != 1 or whole != abs(by) or len(boxes[0][1]) == MOST_AXES:
            raise _NoLoop(is_one_of_more=True)
        self.filled[what[0]] = (chain, axis, by, beside)

    def _check_uses(self):
        """Finds the places that are read after the loop. Raises _NoLoop if the loop reads an array that it fills."""
        self.last, self.given = [], []  # places of which the last turn counts, or all
        for place in range(self.period):
            if place in self.outside:
                continue
            beyond = [any(use >= self.end for use in self.uses[k]) for k in self.all_of(place)]
            if place in self.written:
                within = [[use for use in self.uses[k] if use < self.end] for k in self.all_of(place)]
                is_last = place in self.filled
                if any(len(uses) != 1 for uses in within[:-1 if is_last else None]) or (is_last and within[-1]) or any(
                        beyond[:-1]) or (beyond[-1] and not is_last):
                    raise _NoLoop
            elif any(beyond[:-1]):
                self.given.append(place)
            elif beyond[-1]:
                self.last.append(place)
        real = [*self.last, *self.given, *(what for _, (kind, what) in self.written.values() if kind == "here")]
        shapes = [self.nodes.shapes[self.begin + place] for place in self.given]
        if any(self.nodes.kinds[self.begin + place] != REAL for place in real) or any(len(s) == MOST_AXES for s in shapes):
            raise _NoLoop
        for taken in (*self.taken.values(), *([one] for _, one in self.written.values())):
            for kind, what in taken:
                if (kind == "carried" and what[0] in self.written) or (kind == "here" and what in self.written):
                    raise _NoLoop
                if kind == "stepped" and what[0] not in ("box", "count") and len(self.nodes.shapes[what[0]]) == MOST_AXES:
                    raise _NoLoop
                if kind != "here":
                    getattr(self, kind).setdefault(what, None)
        carried = {place for place, _ in self.carried}
        for place in self.last:
            if place not in carried:
                self.carried[place, None] = None

    def _is_worth_it(self):
        movement = ("reshape", "transpose", "broadcast", "slice", "concatenate", "update")
        listed = sum(1 for key in self.stepped if key[0] not in ("box", "count"))
        now = self.turns * (2 * len(self.given) + listed) + len(self.taken)
        return now < self.turns * self.period and any(
            self.nodes.nodes[self.begin + place]["op"] not in movement for place in self.taken)

    def reads_before(self):
        """The nodes before the loop that it takes."""
        read = set()
        for key in self.stepped:
            read.update([key[1]] if key[0] == "box" else [] if key[0] == "count" else key)
        for place in self.outside:
            read.update(x for k in self.all_of(place) for x in self.nodes.nodes[k].get("in", ()))
        read.update(what[1] for (kind, what), _ in self.written.values() if kind == "carried")
        read.update(self.whole, (x for _, x in self.carried if x is not None))
        return {x for x in read if x < self.begin}

    # The node of the loop.

    def write(self, made, now):
        """Writes the loop, and puts into `now` what later nodes take: a node, or (stack, turn) for places of which all
        turns count."""
        nodes, step = self.nodes, self.nodes.steps[self.begin]
        for place in range(self.period):
            if place in self.outside:
                for k in self.all_of(place):
                    now[k] = made.take(nodes, k, now)
        body, inside = Nodes(), {}

        def enter(key, name, kind, shape):
            inside[key] = body.add({"op": "input", "name": name, "kind": kind, "shape": list(shape)}, kind, shape, ("", 0, ""))

        def zeros(shape):
            x = made.add({"op": "number", "value": 0.0}, REAL, (), step)
            return x if not shape else made.add({"op": "broadcast", "in": [x], "shape": list(shape)}, REAL, shape, step)

        taken = []
        for place, before in self.carried:
            shape = nodes.shapes[self.begin + place]
            enter(("carried", (place, before)), f"s{len(taken)}", REAL, shape)
            taken.append(zeros(shape) if before is None else now[before])
        for key in self.stepped:
            stack = self._stack(made, now, key, step)
            enter(("stepped", key), f"x{len(taken)}", made.kinds[stack], made.shapes[stack][1:])
            taken.append(stack)
        for k in self.whole:
            own = nodes.nodes[k]["name"] if nodes.nodes[k]["op"] == "input" else ""
            enter(("whole", k), own or f"w{len(taken)}", nodes.kinds[k], nodes.shapes[k])
            taken.append(now[k])
        names = [node["name"] for node in body.nodes]
        if len(set(names)) != len(names) or any(name.startswith("grad_") for name in names):
            for k, node in enumerate(body.nodes):
                node["name"] = f"i{k}"
        for place in sorted(self.taken):
            k = self.begin + place
            node = nodes.nodes[k]
            node = {**node, "in": [inside[key] for key in self.taken[place]]}
            inside["here", place] = body.add(node, nodes.kinds[k], nodes.shapes[k], nodes.steps[k])
            if k in nodes.body_steps:
                body.body_steps[inside["here", place]] = nodes.body_steps[k]

        ends = [inside["here", place] for place, _ in self.carried] + [inside["here", place] for place in self.given]
        for chain, _, _, axis in self.filled.values():
            parts = [inside[self.written[place][1]] for place in chain]
            shape = list(body.shapes[parts[0]])
            shape[axis] = sum(body.shapes[part][axis] for part in parts)
            ends.append(parts[0] if len(parts) == 1 else
                        body.add({"op": "concatenate", "in": parts, "axis": axis}, REAL, shape, nodes.steps[self.begin + chain[0]]))
        outputs = [{"name": f"y{k}", "node": end} for k, end in enumerate(ends)]
        shapes = [body.shapes[end] for end in ends]
        shapes = [shape if k < len(self.carried) else (self.turns, *shape) for k, shape in enumerate(shapes)]
        sizes = [int(numpy.prod(shape, dtype=numpy.int64)) for shape in shapes]
        scan = made.add({"op": "scan", "in": taken, "turns": self.turns, "carried": len(self.carried), "stepped": len(self.stepped),
                         "body": {"nodes": body.nodes, "outputs": outputs}}, REAL, (sum(sizes),), step)
        made.body_steps[scan] = body.all_steps()
        parts, first = [], 0
        for shape, size in zip(shapes, sizes):
            flat = made.box(scan, [first], [first + size], [1], step)
            parts.append(made.reshape(flat, shape, step))
            first += size
        for place, part in zip((place for place, _ in self.carried), parts):
            now[self.end - self.period + place] = part
        for place, stack in zip(self.given, parts[len(self.carried):]):
            for turn, k in enumerate(self.all_of(place)):
                now[k] = (stack, turn)
        for place, stack in zip(self.filled, parts[len(self.carried) + len(self.given):]):
            chain, axis, by, _ = self.filled[place]
            ks = self.all_of(chain[0])
            if by < 0:
                stack = made.rows(stack, self.turns - 1, self.turns, step, -1)
            start = list(nodes.nodes[ks[0 if by > 0 else -1]]["start"])
            box = made.laid_along(stack, axis, step)
            base = now[next(what[1] for p in chain for kind, what in [self.written[p][0]] if kind == "carried")]
            now[self.end - self.period + place] = made.add({"op": "update", "in": [base, box], "start": start}, REAL,
                                                           made.shapes[base], nodes.steps[ks[0]])

    def _stack(self, made, now, key, step):
        """The arrays that the turns step through."""
        if key[0] == "count":
            _, first, by, kind, stage = key
            def whole(x):
                return made.add({"op": "integer", "value": x}, INTEGER, (), step)
            turns = made.add({"op": "iota", "size": self.turns}, INTEGER, (self.turns,), step)
            turns = made.add({"op": "multiply", "in": [turns, whole(by)]}, INTEGER, (self.turns,), step)
            turns = made.add({"op": "add", "in": [turns, whole(first)]}, INTEGER, (self.turns,), step)
            own = {"stage": stage} if stage else {}
            return turns if kind == INTEGER else made.add({"op": "to_real", "in": [turns], **own}, REAL, (self.turns,), step)
        if key[0] != "box":
            return made.concatenated([now[k] for k in key], step)
        _, source, start, extent, axis, by = key
        shape = made.shapes[now[source]]
        first = min(start[axis], start[axis] + (self.turns - 1) * by)
        begin, stop, steps = list(start), [s + e for s, e in zip(start, extent)], [1] * len(extent)
        begin[axis] = first
        stop[axis] = first + (self.turns - 1) * abs(by) + extent[axis]
        steps[axis] = abs(by) if extent[axis] == 1 else 1
        assert all(0 <= a and b <= size for a, b, size in zip(begin, stop, shape))
        box = made.box(now[source], begin, stop, steps, step)
        apart = [*extent[:axis], self.turns, extent[axis], *extent[axis + 1:]]
        stack = made.moved(made.reshape(box, apart, step), axis, 0, step)
        return stack if by > 0 else made.rows(stack, self.turns - 1, self.turns, step, -1)


def _with_loops(nodes, outputs, loops):
    made, now, places = Nodes(), {}, iter(loops)
    loop = next(places, None)

    def here(k):
        """The new node in place of node k. A turn of a stack is read where it is taken."""
        if not isinstance(now[k], tuple):
            return now[k]
        stack, turn = now[k]
        return made.reshape(made.rows(stack, turn, 1, nodes.steps[k]), nodes.shapes[k], nodes.steps[k])

    k = 0
    while k < len(nodes.nodes):
        if loop is not None and k == loop.begin:
            for taken in loop.reads_before():
                now[taken] = here(taken)
            loop.write(made, now)
            k, loop = loop.end, next(places, None)
            continue
        made_now = {taken: here(taken) for taken in nodes.nodes[k].get("in", ())}
        now[k] = made.take(nodes, k, made_now)
        k += 1
    return made, {name: here(k) for name, k in outputs.items()}
