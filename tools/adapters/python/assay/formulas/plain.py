"""NumPy as it is, also while its names lead to what records."""
import types

import numpy as _numpy

numpy = types.SimpleNamespace(**vars(_numpy))
