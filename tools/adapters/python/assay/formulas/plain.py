"""NumPy's own functions, also while its names stand for functions that record."""
import types

import numpy as _numpy

numpy = types.SimpleNamespace(**vars(_numpy))
