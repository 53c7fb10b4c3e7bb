"""Assay from Python, for tests of your own:

    import assay

    def test_my_scan():
        assay.check(my_scan, "heinsen/scan")

See assay/checking.py for what it takes. assay.truth and assay.judge (assay/asking.py) are for tests that are there
already: the truth of one call with what is allowed of it, and whether outputs are right. assay.check_embed_position
(assay/embedding.py) judges a module of Heinsen's form, whatever its H and R are. assay.scan and assay.gated_scan compute
the log-linear recurrence on arrays and on tensors, with its gradient, and assay.scan_jvp and assay.gated_scan_jvp its
derivative along a direction: see assay/scans. They need libassay_scan and not the program. A function that meets a call
that it is not made for raises assay.Unsupported("why"): the case is skipped, and the report says why.

In the examples of doc comments the module `model` stands for yours: assay, numpy and torch are imported.
"""
import importlib
import sys

# A name is imported when it is wanted: the host must say itself that numpy is missing, and whoever checks a function of
# his own needs no libassay_scan.
_MODULES = {"assay.asking": ("Truth", "judge", "truth"), "assay.formulas.declaring": ("formula", "same_as"), "assay.formulas.staging": ("stage",), "assay.checking": ("check",),
            "assay.claims": ("WrongClaim", "candidate"), "assay.embedding": ("check_embed_position",),
            "assay.host": ("Candidate", "Unsupported"), "assay.installed": ("program",),
            "assay.matching": ("NotAnOperation",),
            "assay.scans": ("gated_scan", "gated_scan_jvp", "scan", "scan_jvp"), "assay.watching": ("NotEmbedPosition",)}
_SUBMODULES = ("testing",)
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted([*_MODULE_OF, *_SUBMODULES])


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module 'assay' has no attribute '{name}'")
    try:
        found = importlib.import_module(_MODULE_OF.get(name, f"assay.{name}"))
        return found if name in _SUBMODULES else getattr(found, name)
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise ModuleNotFoundError(f"assay.{name} needs NumPy, which {sys.executable} does not have: install it there",
                                  name="numpy") from None


def __dir__():
    return sorted({*globals(), *__all__})
