"""Writes programs as text, node by node; for tests."""

import json


class Text:
    """text("exp", x) appends a node and returns its index; text.array(name, shape) appends an input."""

    def __init__(self):
        self.nodes = []

    def __call__(self, op, *inputs, **attributes):
        self.nodes.append({"op": op} | ({"in": list(inputs)} if inputs else {}) | attributes)
        return len(self.nodes) - 1

    def array(self, name, *shape, kind="real"):
        return self("input", name=name, kind=kind, shape=list(shape))

    def body(self, **outputs):
        """Of a scan."""
        return {"nodes": self.nodes, "outputs": [{"name": name, "node": node} for name, node in outputs.items()]}

    def json(self, **outputs):
        return json.dumps({"schema": "assay-program/1"} | self.body(**outputs))
