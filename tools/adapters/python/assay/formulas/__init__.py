"""Formulas of one's own: a plain function of NumPy, torch or JAX is one (assay/formulas/tracing.py)."""
from assay.formulas.refusal import CannotTrace
from assay.formulas.tracing import Trace, trace

__all__ = ["CannotTrace", "Trace", "trace"]
