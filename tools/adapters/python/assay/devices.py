"""Where the tensors of a torch function lie while it is called."""
import sys

from assay.claims import WrongClaim
from assay.errors import is_of_accelerator
from assay.signature import takes


def device_named(torch, name):
    """The device of torch that a declaration names; an error unless this machine has it, and gives tensors back."""
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise WrongClaim(f"device is {name!r}, which torch does not know; known are such as \"cpu\", \"cuda\", "
                         "\"cuda:1\", \"mps\" and \"xpu\"") from None
    try:
        torch.zeros(1, device=device).cpu()
    except Exception as error:  # of many types
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].partition(". ")[0]
        raise WrongClaim(f"device is {name!r}, which this machine or its torch {torch.__version__} does not have: "
                         f"{reason}") from None
    return device


def wait_for(torch, device):
    """Until the device has done what it was given. A CPU answers when it is done."""
    synchronize = getattr(getattr(torch, device.type, None), "synchronize", None)
    if device.type != "cpu" and synchronize:
        synchronize(*[device] * takes(synchronize, "device"))  # that of "mps" takes none


def is_lost_by(error):
    """Whether an error has ended the process's use of its accelerator: after the fault of a kernel every call fails."""
    torch = sys.modules.get("torch")
    if torch is None or not is_of_accelerator(error):
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False
