"""What the scans on NumPy arrays and on tensors of PyTorch share: checks of their arguments, and the calls."""
from assay.scans.library import DTYPES, IN_16_BITS, Direction, Inputs, Outputs, Tangents, call


def _checked(name, value, kind, dtype, rank):
    """The dtype of an array. TypeError or ValueError unless it is of this kind, has the dtype that goes with h (None:
    it is h itself) and has this rank."""
    if not isinstance(value, kind):
        raise TypeError(f"{name}: expected a {kind.__module__}.{kind.__name__}, but it is a "
                        f"{type(value).__module__}.{type(value).__name__}")
    own = str(value.dtype).replace("torch.", "")
    if own not in DTYPES:
        raise TypeError(f"{name}: its dtype {own} is not offered; expected {' or '.join(DTYPES)}")
    if dtype is not None and dtype.split()[0] != own:
        raise TypeError(f"{name}: expected the dtype {dtype}, but it is {own}")
    if value.ndim != rank:
        raise ValueError(f"{name}: expected {'[B, n, d]' if rank == 3 else '[B, d]'}, but its shape is "
                         f"{list(value.shape)}")
    return own


def check_all(given, kind):
    """The dtype of h. TypeError or ValueError if an array does not go with it."""
    dtype = _checked("h", given["h"], kind, None, 3)
    for name, value in given.items():
        state = name.removeprefix("tangent_").startswith("s0")
        if value is not None or not state:
            own = f"{dtype_of_states(dtype)} of a state" if state and dtype in IN_16_BITS else f"{dtype} of h"
            _checked(name, value, kind, own, 2 if state else 3)
    return dtype


def dtype_of_states(dtype):
    return "float32" if dtype in IN_16_BITS else dtype


def call_forward(gated, threads, target, view, inputs, outputs):
    call("assay_gated_scan" if gated else "assay_scan", threads, target, Inputs(*map(view, inputs)),
         Outputs(*map(view, outputs)))


def call_jvp(gated, threads, target, view, inputs, direction, outputs):
    """`outputs`: those of the scan, then the two tangents."""
    call("assay_gated_scan_jvp" if gated else "assay_scan_jvp", threads, target, Inputs(*map(view, inputs)),
         Direction(*map(view, direction)), Outputs(*map(view, outputs[:2])), Tangents(*map(view, outputs[2:])))
