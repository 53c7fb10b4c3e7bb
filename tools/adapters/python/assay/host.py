"""Host for candidates written in Python: speaks Assay's candidate protocol, version 1.

    from assay.host import Candidate
    candidate = Candidate("my-scan", version="1.2")

    @candidate.torch("heinsen/scan", dtypes=["f32", "f64"])
    def scan(log_p, h, s0):
        ...
        return {"s": s, "s_n": s_n}

    candidate.serve()

A function gets the inputs of the operation by name (and the attributes of the call, if any) and returns its
outputs by name. One with a parameter `dtype` also gets the dtype of the call, as one of torch or numpy: an operation
without floating-point inputs has no other sign of it. An output may be a tensor, an array, or numbers of Python, which
are rounded to the dtype of the call. The inputs must be unchanged after the call. Needs numpy; torch is imported only
for functions registered with `Candidate.torch`. What a function prints goes to stderr. bf16 reaches numpy functions as
float32 (exact), and their float32 results are rounded to bf16; torch functions get torch.bfloat16.
"""
import json
import os
import re
import sys

from assay.claims import WrongClaim, check_finite
from assay.devices import is_lost_by
from assay.errors import in_words, is_out_of_memory, users_traceback
from assay.frameworks import InputOverwritten, NumpyFunction, TorchFunction
from assay.signature import named_parameters
from assay.streams import protocol_streams, send
from assay.strides import STRIDES, can_expand
from assay.tensors import FLOATING, KNOWN, read_safetensors, write_safetensors


class Unsupported(Exception):
    """A function raises it to decline a call: Assay counts the case as skipped, not as failed.

        >>> def rotate(x, position):
        ...     if x.shape[-1] % 16:
        ...         raise assay.Unsupported(f"widths are multiples of 16, and this one is {x.shape[-1]}")
        ...     return model.rotate(x, position)
        >>> rotate(numpy.ones((1, 3, 2, 8)), numpy.arange(3)[None])
        Traceback (most recent call last):
        assay.host.Unsupported: widths are multiples of 16, and this one is 8
    """


# Further members of the hello.
_CLAIMS = ("compute", "flush_subnormals", "variants", "properties", "written_for")


def _check_sendable(word, value):
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as reason:
        raise WrongClaim(f"{word} is {value!r}, which is no JSON: {reason}; dtypes are words such as \"f32\"") from None


def _decline_empty(inputs):
    for name, (_, array) in inputs.items():
        if 0 in array.shape:
            raise Unsupported(f"empty axes are declared as unsupported, and '{name}' has the shape {list(array.shape)}")


def _answer_of(function, inputs, attributes, dtype):
    """The outputs of a call. An error on inputs that are not contiguous declines the call: it is no wrong value."""
    own = dict(attributes)
    strides = own.pop("strides", None)
    if strides is None:
        return function(inputs, own, dtype)
    if strides not in STRIDES:
        raise Unsupported(f"no strides {strides!r}; known: {', '.join(STRIDES)}")
    if strides == "expanded" and not any(can_expand(array) for _, array in inputs.values()):
        raise Unsupported("no input has equal values along an axis")
    try:
        return function(inputs, own, dtype, strides)
    except (InputOverwritten, Unsupported):
        raise
    except Exception as error:
        raise Unsupported(f"it refuses {strides} inputs: {in_words(error)}") from None


def _refused_setting(error, settings):
    """The setting that a function refuses by a ValueError that names the setting or quotes its value; None if there is none.
    A later Assay may know more values than the function was written for."""
    if not isinstance(error, ValueError):
        return None
    words = set(re.findall(r"\w+", str(error)))
    return next((name for name, value in settings.items()
                 if name in words or isinstance(value, str) and value in words), None)


def _is_of_an_index(error):
    """Whether an index lies beyond its table. This is no fault of the order of axes, although a call with exchanged axes may
    not meet it."""
    return isinstance(error, IndexError) or "out of bounds" in str(error)  # as torch.gather says it


def _answers_with_heads_exchanged(function, inputs, message):
    """Whether the function answers if axes 1 and 2 of tensors of four axes change places, with outputs of a fitting shape:
    rows, heads and tokens of each output of four axes are those of an input."""
    shapes_of_four = [array.shape for _, array in inputs.values() if array.ndim == 4]
    if all(shape[1] == shape[2] for shape in shapes_of_four) or any(0 in shape for shape in shapes_of_four):
        return False
    exchanged = {name: (stored, array.swapaxes(1, 2).copy() if array.ndim == 4 else array)
                 for name, (stored, array) in inputs.items()}
    try:
        outputs = _answer_of(function, exchanged, message["attributes"], message["dtype"])
    except Exception:  # then it says nothing of axes
        return False
    known = {(shape[0], shape[2], shape[1]) for shape in shapes_of_four}
    answered = [array.shape for _, array in outputs.values()]
    return all(shape[:3] in known for shape in answered if len(shape) == 4)


class Candidate:
    """A set of operations under a name. `claims` are further members of the hello, such as
    compute={"bf16": "f32"} (or a precision for each stage), flush_subnormals=True, variants={"block": [32, 64]},
    properties={"deterministic": True} or written_for="0.2", the version of Assay whose settings and values it knows.
    With strides=False the functions get contiguous inputs alone; otherwise also views, such as transposed ones
    (assay/strides.py). `device`, such as "cuda", is where the inputs of torch functions lie when they are called.

        >>> import model
        >>> candidate = assay.Candidate("my-scan", version="1.2", properties={"deterministic": True})
        >>> @candidate.numpy("heinsen/scan", dtypes=["f32"])
        ... def scan(log_p, h, s0):
        ...     return dict(zip(("s", "s_n"), model.scan(log_p, h, s0)))
        >>> assay.check(candidate, effort="smoke")
    """

    def __init__(self, name, version="", strides=True, device=None, **claims):
        unknown = sorted(set(claims) - set(_CLAIMS))
        if unknown:
            raise WrongClaim(f"unknown claim '{unknown[0]}'; known: {', '.join(_CLAIMS)}")
        for word, value in claims.items():
            _check_sendable(word, value)
        if set(claims.get("properties", {})) - {"deterministic"}:
            raise WrongClaim(f"properties is {claims['properties']!r}; known: deterministic")
        variants = claims.get("variants", {})
        if "strides" in variants:
            raise WrongClaim("variants: 'strides' is a word of Assay's own: see strides=False")
        if strides and isinstance(variants, dict):
            claims["variants"] = {**variants, "strides": list(STRIDES)}
        self._hello = {"protocol": 1, "name": name, "version": str(version), "operations": {}, "domain": {}, **claims}
        self._functions, self._reported = {}, set()
        self.device = device

    def numpy(self, operation, dtypes, domain=None, empty=None):
        """Registers a function of numpy arrays. A domain maps input names (or "state") to "finite" or [low, high], and
        names of settings to lists of the values that the function takes. With empty=False calls with an empty axis are
        declined as unsupported, with empty=True an error to one is a failure, and otherwise a refusal. Derivatives are
        operations of their own: "<operation>:vjp".

            >>> candidate = assay.Candidate("slopes")
            >>> @candidate.numpy("alibi/slopes", dtypes=["f64", "f32"], domain={"rule": ["naive"], "alpha_max": [8.0]})
            ... def slopes(heads, dtype):
            ...     return {"slopes": (2.0 ** (-8 * numpy.arange(1, heads + 1) / heads)).astype(dtype)}
        """
        def register(function):
            if self.device not in (None, "cpu"):
                raise WrongClaim(f"device is {self.device!r}, which is for functions of torch tensors: {operation} is one "
                                 "of NumPy arrays, and brings them there and back itself")
            self._add(operation, dtypes, domain, empty, NumpyFunction(function))
            return function
        return register

    def torch(self, operation, dtypes, domain=None, vjp=True, vjp_domain=None, empty=None):
        """Registers a function of torch tensors and, unless vjp=False, its derivative by autograd.
        vjp_domain is the domain of the derivative, which takes the settings that the function does.

            >>> candidate = assay.Candidate("learned")
            >>> @candidate.torch("learned/embed", dtypes=["f32", "bf16"], domain={"input_factor": ["one"]})
            ... def embed(x, table, position):
            ...     return {"y": x + torch.nn.functional.embedding(position, table)}
            >>> candidate.operations
            {'learned/embed': ['f32', 'bf16'], 'learned/embed:vjp': ['f32', 'bf16']}
        """
        def register(function):
            self._add(operation, dtypes, domain, empty, TorchFunction(function, self.device))
            if vjp:
                self.autograd(operation, vjp_domain)
            return function
        return register

    def autograd(self, operation, domain=None):
        """Registers the derivative of a function of torch tensors that was registered before.

            >>> candidate = assay.Candidate("learned")
            >>> @candidate.torch("learned/multiply", dtypes=["f32"], vjp=False)
            ... def multiply(x, table, position):
            ...     return {"y": x * torch.nn.functional.embedding(position, table)}
            >>> candidate.autograd("learned/multiply", domain={"x": [-100, 100]})
        """
        function, empty = self._functions[operation]
        self._add(operation + ":vjp", self.operations[operation], domain, empty, function.vjp)

    @property
    def operations(self):
        """The dtypes of each operation.

            >>> candidate = assay.Candidate("slopes")
            >>> @candidate.numpy("alibi/slopes", dtypes=["f64", "f32"])
            ... def slopes(heads, dtype):
            ...     return {"slopes": (2.0 ** (-8 * numpy.arange(1, heads + 1) / heads)).astype(dtype)}
            >>> candidate.operations
            {'alibi/slopes': ['f64', 'f32']}
        """
        return self._hello["operations"]

    @property
    def domains(self):
        """The declared domain of each operation that has one.

            >>> candidate = assay.Candidate("scan")
            >>> @candidate.numpy("heinsen/scan", dtypes=["f32"], domain={"log_p": "finite", "h": [-9, 9]})
            ... def scan(log_p, h, s0):
            ...     return dict(zip(("s", "s_n"), model.scan(log_p, h, s0)))
            >>> candidate.domains
            {'heinsen/scan': {'log_p': 'finite', 'h': [-9, 9]}}
        """
        return self._hello["domain"]

    def _add(self, operation, dtypes, domain, empty, function):
        unknown = [name for name in dtypes if name not in KNOWN]
        if unknown or operation in self._functions:
            raise WrongClaim(f"{operation}: " + (f"unknown dtypes {unknown}; known: {', '.join(FLOATING)}" if unknown
                                                 else "registered twice"))
        if empty not in (None, True, False):
            raise WrongClaim(f"{operation}: empty must be True or False, not {empty!r}")
        for name, values in (domain or {}).items():
            check_finite(values if isinstance(values, (list, tuple)) else [values], f"{operation}: domain: '{name}'")
            _check_sendable(f"{operation}: domain: '{name}'", values)
        self._functions[operation] = function, empty
        self._hello["operations"][operation] = list(dtypes)
        if domain:
            self._hello["domain"][operation] = domain
        known = named_parameters(getattr(function, "function", None))
        if known is not None:
            self._hello.setdefault("parameters", {})[operation] = known
        if empty:
            properties = self._hello.get("properties", {})
            self._hello["properties"] = {**properties, "empty": [*properties.get("empty", []), operation]}

    def answer(self, message):
        """The answer to one message of the protocol.

            >>> hello = assay.Candidate("my-scan", version="1.2").answer({"hello": {"protocol": 1}})["hello"]
            >>> hello["protocol"], hello["name"], hello["version"]
            (1, 'my-scan', '1.2')
        """
        if "hello" in message:
            return {"hello": self._hello}
        answer, inputs = {"id": message["id"], "ok": False}, {}
        try:
            if message["operation"] not in self._functions:
                raise Unsupported(f"no operation {message['operation']}")
            function, empty = self._functions[message["operation"]]
            inputs = read_safetensors(message["inputs"])
            if empty is False:
                _decline_empty(inputs)
            outputs = _answer_of(function, inputs, message["attributes"], message["dtype"])
            write_safetensors(message["outputs"], outputs)
            answer["ok"] = True
        except Unsupported as reason:
            answer.update(unsupported=True, reason=str(reason))
        except Exception as error:  # whatever the function did wrong is an answer, not the end
            if is_out_of_memory(error):  # a square of 65 000 tokens, say, is too large, and not wrong
                answer.update(unsupported=True, reason=f"not enough memory: {in_words(error)}")
                return answer
            refused = _refused_setting(error, message["attributes"])
            if refused is not None:
                value = json.dumps(message["attributes"][refused])
                answer.update(unsupported=True, reason=f"it refuses {refused} = {value}: {in_words(error)}")
                return answer
            self._report(error)
            if is_lost_by(error):  # later calls would fail for this one: a new process answers them
                sys.exit(f"{in_words(error)}: no later call of this process can use the accelerator, so it ends")
            answer["error"] = in_words(error)
            if not _is_of_an_index(error) and _answers_with_heads_exchanged(function, inputs, message):
                answer["error"] += ("; it answers where axes 1 and 2 of tensors of four axes are exchanged, heads and "
                                    "tokens: the adapter heads_first of assay.adapters does that")
        return answer

    def _report(self, error):
        """The traceback to stderr, once for all calls that fail alike."""
        text = users_traceback(error)
        if text not in self._reported:
            self._reported.add(text)
            print(text, file=sys.stderr, flush=True)

    def serve(self, streams=None):
        """Answers until the requests end; `streams` are those of protocol_streams, for the program that took them. The
        last line of a file that `assay gate` starts; by hand it says so:

            >>> assay.Candidate("my-scan").serve()
            Traceback (most recent call last):
            SystemExit: ... is a candidate for Assay; run: assay gate --candidate 'process:...'
        """
        if os.environ.get("ASSAY_PROTOCOL") != "1":
            sys.exit(f"{sys.argv[0]} is a candidate for Assay; run: "
                     f"assay gate --candidate 'process:{sys.executable} {sys.argv[0]}'")
        requests, answers = streams or protocol_streams()
        for line in iter(requests.readline, ""):
            send(self.answer(json.loads(line)), answers)
