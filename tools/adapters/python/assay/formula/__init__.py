"""Formulas of one's own: a plain NumPy function is one (assay/formula/tracing.py)."""
from assay.formula.refusal import CannotTrace
from assay.formula.tracing import Trace, trace

__all__ = ["CannotTrace", "Trace", "trace"]
