"""Modules of torch as functions. The arguments of a function are those of forward() and the parameters of the module; a
parameter has its name with _ for each dot. The module is in evaluation mode, and its buffers are captured as constants."""
import copy
import inspect
import re

import torch

from assay.formulas.traced import is_tracing
from assay.signature import signature_of

try:
    from torch.func import functional_call
except ImportError:  # before torch 2
    from torch.nn.utils.stateless import functional_call


class ModuleFunction:
    framework = "torch"

    def __init__(self, module):
        self.module, self._copies = copy.deepcopy(module).eval(), {}
        self.parameters = {re.sub(r"^(?=\d)", "p", name.replace(".", "_")): name for name, _ in module.named_parameters()}
        if len(self.parameters) < len(list(module.named_parameters())):
            raise TypeError(f"{type(module).__name__}: two of its parameters have one name with _ for each dot: rename one")
        self.__name__ = getattr(module, "__name__", None) or type(module).__name__
        signature = signature_of(module)
        of_forward = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        clashes = {p.name for p in of_forward} & {*self.parameters}
        if clashes:
            raise TypeError(f"{self.__name__}: forward() takes {', '.join(sorted(clashes))}, and the module has a parameter of that name")
        self.__signature__ = signature.replace(parameters=of_forward + [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in self.parameters])
        axes = {name: " ".join(map(str, x.shape)) for name, x in self.values().items()}
        self.__assay_formula__ = {**axes, **getattr(module, "__assay_formula__", {})}
        self.__assay_inputs__ = getattr(module, "__assay_inputs__", None)
        self.__assay_other_ways__ = getattr(module, "__assay_other_ways__", [])

    def values(self):
        """The numbers of the module's parameters, by the names of the function's arguments."""
        own = dict(self.module.named_parameters())
        return {name: own[path].detach() for name, path in self.parameters.items()}

    def __call__(self, *arguments, **named):
        numbers = {path: named.pop(name) for name, path in self.parameters.items()}
        dtype = next((x.dtype for x in numbers.values() if x.is_floating_point()), torch.get_default_dtype())
        return functional_call(self.module if is_tracing() else self._module_in(dtype), numbers, arguments, named)

    def _module_in(self, dtype):
        """The module with floating buffers of this dtype, which is that of the parameters. A trace takes the module itself:
        it captures the numbers of buffers as they are."""
        if dtype not in self._copies:
            has_dtype = all(x.dtype == dtype for x in self.module.buffers() if x.is_floating_point())
            self._copies[dtype] = self.module if has_dtype else copy.deepcopy(self.module).to(dtype)
        return self._copies[dtype]
