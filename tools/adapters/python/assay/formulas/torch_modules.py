"""Modules of torch as functions: in evaluation mode, of what forward() takes and of their parameters. Buffers are
captured. A parameter goes by its name with _ for each dot."""
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
        own = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        taken = {p.name for p in own} & {*self.parameters}
        if taken:
            raise TypeError(f"{self.__name__}: forward() takes {', '.join(sorted(taken))}, as a parameter of the module is called")
        self.__signature__ = signature.replace(parameters=own + [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in self.parameters])
        texts = {name: " ".join(map(str, x.shape)) for name, x in self.values().items()}
        self.__assay_formula__ = {**texts, **getattr(module, "__assay_formula__", {})}
        self.__assay_inputs__ = getattr(module, "__assay_inputs__", None)
        self.__assay_other_ways__ = getattr(module, "__assay_other_ways__", [])

    def values(self):
        """The numbers that the module has, by parameter."""
        own = dict(self.module.named_parameters())
        return {name: own[path].detach() for name, path in self.parameters.items()}

    def __call__(self, *arguments, **named):
        numbers = {path: named.pop(name) for name, path in self.parameters.items()}
        floats = next((x.dtype for x in numbers.values() if x.is_floating_point()), torch.get_default_dtype())
        return functional_call(self.module if is_tracing() else self._module_in(floats), numbers, arguments, named)

    def _module_in(self, floats):
        """With buffers of this dtype, as those of parameters: a trace takes their numbers as they are."""
        if floats not in self._copies:
            is_same = all(x.dtype == floats for x in self.module.buffers() if x.is_floating_point())
            self._copies[floats] = self.module if is_same else copy.deepcopy(self.module).to(floats)
        return self._copies[floats]
