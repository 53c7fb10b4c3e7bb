"""What happens inside a torch module of Heinsen's form while it runs: what H returns, what R is given, and the gradients
that reach both. Hooks watch a copy in evaluation mode; the module itself stays as it is."""
import copy
import inspect
from dataclasses import dataclass, field

from assay.errors import in_words
from assay.signature import is_module, takes


class NotEmbedPosition(ValueError):
    """The module cannot be watched as one of Heinsen's form: the words say what is missing.

        >>> assay.check_embed_position(torch.nn.Linear(8, 8))
        Traceback (most recent call last):
        assay.watching.NotEmbedPosition: ...
    """


@dataclass
class Chunk:
    """One call of the module. Tensors of torch, as [rows, tokens, columns]; gradients are None where none arrives."""
    x: object
    calls: dict = field(default_factory=lambda: {"H": 0, "R": 0})
    seen: dict = field(default_factory=dict)   # by what it is: x_of_h, g, h, s, r, y, as they were then
    nodes: dict = field(default_factory=dict)  # the same in the graph

    def value(self, name):
        return _rows(self.seen[name])

    def gradient(self, name):
        grad = self.nodes[name].grad
        return None if grad is None else _rows(grad.detach())


def _rows(tensor):
    return tensor.reshape(-1, *tensor.shape[-2:])


def copy_of(module, dtype):
    """A copy in evaluation mode and of a dtype; without a dtype that of its parameters."""
    if not is_module(module):
        raise NotEmbedPosition(f"a torch.nn.Module is watched, and a {type(module).__name__} came: put the function into "
                               "forward of a module that has H and R")
    try:
        return copy.deepcopy(module).eval().to(dtype=dtype)
    except Exception as error:  # of many types; a cached state with a gradient is one reason
        raise NotEmbedPosition("the module cannot be copied, and a copy is watched so that it stays as it is: give one that "
                               f"has not run yet. {in_words(error)}") from None


class Watch:
    """Watches the submodules named `h` and `r` of a module. """

    def __init__(self, torch, module, h, r):
        self.torch, self.module, self.names, self.given, self.chunk = torch, module, {"H": h, "R": r}, None, None
        for part, before, after in (("H", self._before_h, self._after_h), ("R", self._before_r, self._after_r)):
            submodule = self.submodule(part)
            submodule.register_forward_pre_hook(before)
            submodule.register_forward_hook(after)

    def submodule(self, part):
        found, name = self.module, self.names[part]
        for word in name.split("."):
            found = getattr(found, word, None)
        if is_module(found):
            return found
        there = ", ".join(name for name, _ in self.module.named_modules() if name) or "none"
        what = f"no submodule '{name}'" if found is None else f"'{name}', which is a {type(found).__name__} and no submodule"
        raise NotEmbedPosition(f"{type(self.module).__name__} has {what}: name {part} by {part.lower()}=\"...\"; its "
                               f"submodules: {there}")

    def run(self, chunks, cotangents, continued, given=None):
        """The chunks one after another, the later ones called with the words `continued`, and then one gradient of all.
        given(like, columns): what the module gets in place of the numbers that H returns."""
        done, self.given = [], given
        with self.torch.enable_grad():
            for k, x in enumerate(chunks):
                done.append(self._called(x.detach().requires_grad_(), continued if k else {}))
            try:
                self.torch.autograd.backward([chunk.nodes["y"] for chunk in done], cotangents)
            except RuntimeError as error:
                sizes = ", ".join(str(x.shape[-2]) for x in chunks)
                raise AssertionError(f"the gradient of chunks of {sizes} tokens fails: {in_words(error)}") from error
        return done

    def _called(self, x, words):
        self.chunk = chunk = Chunk(x.detach())
        chunk.nodes["x"] = x
        taken = x.clone()  # no leaf, as in a model
        try:
            y = self.module(taken, **words)
        except NotEmbedPosition:
            raise
        except Exception as error:
            raise AssertionError(f"forward of {list(x.shape)}{_call_words(words)} fails: {in_words(error)}") from error
        for part, name in self.names.items():
            if chunk.calls[part] != 1:
                times = "never" if chunk.calls[part] == 0 else f"{chunk.calls[part]} times"
                raise NotEmbedPosition(f"{part} ('{name}') is called {times} in a call of the module: once is watched"
                                       + (f", as {name}(x) is seen and {name}.forward(x) is not" if times == "never" else ""))
        self._check_unchanged()
        y = y[0] if isinstance(y, tuple) and y else y
        if not self.torch.is_tensor(y) or y.shape != x.shape:
            raise NotEmbedPosition(f"forward returns {_described(self.torch, y)}, and tokens of the shape {list(x.shape)} "
                                   "went in")
        if not y.requires_grad:
            raise AssertionError("the output of forward has no gradient: it is detached, or computed under no_grad")
        chunk.seen["y"], chunk.nodes["y"] = y.detach().clone(), y
        chunk.seen["x_after"] = taken.detach()
        return chunk

    def _check_unchanged(self):
        for what, now in self._returned.items():
            before = self.chunk.seen[what]
            if not bool(((now == before) | now.isnan() & before.isnan()).all()):
                raise NotEmbedPosition("the module changes in place what H returned, so that nothing tells what the scan was "
                                       "given: compute on a copy")

    def _argument(self, part, arguments):
        self.chunk.calls[part] += 1
        if not arguments or not self.torch.is_tensor(arguments[0]):
            raise NotEmbedPosition(f"{part} is given no tensor as its first argument: a keyword is not watched")
        return arguments[0]

    def _noted(self, what, tensor):
        """The tensor, its values as they are now, and its gradient once there is one."""
        self.chunk.seen[what], self.chunk.nodes[what] = tensor.detach().clone(), tensor
        if tensor.requires_grad:
            tensor.retain_grad()
        return tensor

    def _before_h(self, _, arguments):
        # A view of its own has the gradient of this use alone, and not that of others of the same tensor.
        x = self._argument("H", arguments)
        return (self._noted("x_of_h", x.view_as(x)), *arguments[1:])

    def _after_h(self, _, arguments, returned):
        parts = returned if isinstance(returned, (tuple, list)) else (returned,)
        if not all(map(self.torch.is_tensor, parts)) or len(parts) > 2 or any(
                p.dim() < 2 or p.shape[:-1] != self.chunk.x.shape[:-1] for p in parts) or (
                parts[0].shape != parts[-1].shape or len(parts) == 1 and parts[0].shape[-1] % 2):
            raise NotEmbedPosition(f"H returns {_described(self.torch, returned)} of tokens {list(self.chunk.x.shape)}: a "
                                   "tensor [..., n, 2d], the gate half first, or two tensors [..., n, d] are watched")
        for p in parts:
            for bad, found in (("NaN", p.isnan()), ("inf", p == float("inf"))):
                if bool(found.any()):
                    raise NotEmbedPosition(f"H itself returns {bad}: what the scan makes of it says nothing about the scan. "
                                           "Give other tokens by x=, or mend H")
        if self.given is not None:  # what H gives is taken away again, and its graph stays
            width = sum(p.shape[-1] for p in parts)
            drawn = self.given(parts[0], width).split([p.shape[-1] for p in parts], -1)
            parts = tuple((p - p.detach()).nan_to_num(0.0) + d for p, d in zip(parts, drawn))
        for k, p in enumerate(parts):
            self._noted(f"H{k}", p)
        self._returned = {f"H{k}": p.detach() for k, p in enumerate(parts)}
        return parts[0] if self.torch.is_tensor(returned) else tuple(parts)

    def _before_r(self, _, arguments):
        s = self._argument("R", arguments)
        halves = [self.chunk.seen[what] for what in ("H0", "H1") if what in self.chunk.seen]
        if not halves:
            raise NotEmbedPosition("R is called before H")
        columns = sum(half.shape[-1] for half in halves) // 2
        if s.shape != (*self.chunk.x.shape[:-1], columns):
            raise NotEmbedPosition(f"R is given {_described(self.torch, s)} where H returned {columns} gates and {columns} "
                                   f"logits of {self.chunk.x.shape[-2]} tokens: one state of each token is watched")
        own = s.view_as(s) if s.requires_grad else s.detach().requires_grad_()  # what arrives is asked of a detached scan, too
        return (self._noted("s", own), *arguments[1:])

    def _after_r(self, _, arguments, returned):
        if not self.torch.is_tensor(returned) or returned.shape != self.chunk.x.shape:
            raise NotEmbedPosition(f"R returns {_described(self.torch, returned)}, and the tokens it is added to have the "
                                   f"shape {list(self.chunk.x.shape)}")
        self._noted("r", returned)


def logits_of(chunk, values):
    """The gate and the logit half of what H returned, or of its gradient: values(name)."""
    if "H1" in chunk.seen:
        return values("H0"), values("H1")
    both = values("H0")
    return (None, None) if both is None else both.chunk(2, -1)


def takes_word(module, name):
    return takes(module, name) or any(p.kind == p.VAR_KEYWORD for p in inspect.signature(module.forward).parameters.values())


def _described(torch, value):
    if torch.is_tensor(value):
        return f"a tensor {list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of " + (", ".join(_described(torch, v) for v in value) or "nothing")
    return f"a {type(value).__name__}"


def _call_words(words):
    return " with " + ", ".join(f"{name}={value!r}" for name, value in words.items()) if words else ""
