"""Every public function of the package has an example in its doc comment, and each example says what is true. Run by
pytest with ASSAY set to the program and ASSAY_SCAN_LIBRARY to the library of the scans."""
import doctest
import importlib
import inspect
import json
import math
import re
import sys

import numpy
import pytest

import assay
import assay.adapters
import assay.formulas
import assay.rotary
import assay.testing
import model
from assay import embedding, pytest_plugin
from assay.scans import library

# Beside what the package, assay.adapters, assay.formulas and assay.testing export.
OTHERS = {"EmbedPositionReport": embedding.EmbedPositionReport, "targets": library.targets,
          "fixture": pytest_plugin.assay, "Assay": pytest_plugin.Assay}


def _functions_of(module, *homes):
    """The functions of a module that users call; `homes`: other modules in which they may be written."""
    return {name: found for name, found in vars(module).items() if inspect.isfunction(found) and name[0] != "_"
            and found.__module__ in (module.__name__, *homes)}


def _public():
    """{name: function, class or property}."""
    found = {name: getattr(assay, name) for name in assay.__all__ if not inspect.ismodule(getattr(assay, name))}
    found |= {f"testing.{name}": function for name, function in _functions_of(assay.testing).items()}
    found |= {f"adapters.{name}": function for name, function in _functions_of(assay.adapters, "assay.rotary").items()}
    found |= {f"formulas.{name}": getattr(assay.formulas, name) for name in assay.formulas.__all__} | OTHERS
    for name, owner in list(found.items()):
        if inspect.isclass(owner):
            found |= {f"{name}.{own}": member for own, member in vars(owner).items()
                      if own[0] != "_" and (inspect.isfunction(member) or isinstance(member, property))}
    return found


def _example_of(name, documented):
    """One example, to be run alone: besides its own names it has modules, and the user's module is imported anew."""
    sys.modules.pop("model", None)
    given = {"assay": assay, "numpy": numpy, "math": math, "json": json, "model": importlib.import_module("model"),
             "torch": model.torch}
    return doctest.DocTestParser().get_doctest(inspect.getdoc(documented) or "", given, name, None, 0)


def test_the_functions_that_users_call_are_public():
    assert {"check", "judge", "truth", "formula", "scan", "testing.assert_close", "adapters.heads_first",
            "adapters.from_cos_sin", "formulas.trace", "Candidate.torch", "Candidate.operations", "fixture",
            "Assay.check"} <= _public().keys()


@pytest.mark.parametrize("name", sorted(_public()))
def test_the_example_of(name, monkeypatch):
    example = _example_of(name, _public()[name])
    assert example.examples, f"the doc comment of {name} has no example: write one with >>>, as an engineer calls it"
    if model.torch is None and re.search(rf"\b(torch|{'|'.join(model.OF_TORCH)})\b", example.docstring):
        pytest.skip("needs torch")
    monkeypatch.setattr(sys, "argv", ["my_scan.py"])
    said = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert not said, "".join(said)
