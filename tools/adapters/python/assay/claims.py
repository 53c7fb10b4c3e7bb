"""What a function says of itself: by the decorator assay.candidate, or by constants of its module.

    @assay.candidate(operation="rope/rotate", dtypes=["f32", "bf16"], compute={"bf16": "bf16"},
                     domain={"layout": ["half_split"]}, vjp=False)
    def rotate(x, position):
        ...

or, in a module that must not import Assay:

    ASSAY_DTYPES = ["f32", "bf16"]
    ASSAY_COMPUTE = {"bf16": "bf16"}

The words are the same. The decorator overrides the module, and a decorator that is applied later overrides an earlier
one.
"""
import math
import re

_ATTRIBUTE, _PREFIX = "__assay__", "ASSAY_"
WORDS = ("operation", "dtypes", "compute", "domain", "vjp", "vjp_domain", "framework", "device", "empty", "strides", "variants",
         "properties", "flush_subnormals", "written_for", "name", "version")


class WrongClaim(ValueError):
    """A declaration that Assay cannot use.

        >>> assay.candidate(dtype="f32")
        Traceback (most recent call last):
        assay.claims.WrongClaim: assay.candidate has the unknown declaration dtype; known: operation, dtypes, ...
    """


def candidate(**claims):
    """A decorator that leaves the function as it is and notes what it says of itself:

    A parameter named dtype holds that of the call: torch.float32 and so on for a function of torch tensors, and
    numpy.float32 and so on for one of arrays, which hold bf16 as float32. The words are:

    operation         what it computes, where the names of its parameters do not tell
    dtypes            such as ["f32", "bf16"]; otherwise f32 and f64, or the dtype of a torch module's parameters
    compute           the precision of its arithmetic by dtype, such as {"bf16": "f32"}, or of its stages, such as
                      {"bf16": {"angle": "f32", "product": "bf16"}}; see: assay list stages
    domain            such as {"log_p": "finite", "h": [-9, 9], "layout": ["half_split"]}; sizes of axes as
                      {"n": {"multiple_of": 64}, "d": [2, 256]}; whole numbers of a setting also as
                      {"width": {"at_least": 2}}; how sizes go together as {"relations": ["n <= m", "2 r = d"]}
    vjp               False: autograd has no derivative of it; or a function that computes the derivative
    vjp_domain        the domain of the derivative, where it is another than that of the function
    framework         "torch" or "numpy", where the function does not show it
    device            "cuda" or another word of torch: where the inputs of a torch function lie when it is called, and
                      the numbers of a module; its outputs are brought back
    empty             False: it takes no empty axis, and is not asked for any; True: it takes them, and an error is a
                      failure; without it an error to one is a refusal, which the report tells and which fails nothing
    strides           False: it takes contiguous inputs, and is not given views, such as transposed ones
    written_for       the version of Assay whose settings, values and families of special values it knows, such as "0.2";
                      what came later is asked only where the domain names it. Without it: the first version
    variants, properties, flush_subnormals, name, version: as for a Candidate

        >>> import model
        >>> @assay.candidate(dtypes=["f32"], domain={"layout": ["half_split"], "d": {"multiple_of": 2}})
        ... def rotate(x, position):
        ...     return model.rotate(x, position)
    """
    check_words(claims, "assay.candidate")

    def note(function):
        try:
            setattr(function, _ATTRIBUTE, joined(_noted(function), claims))
        except (AttributeError, TypeError):
            raise WrongClaim(f"nothing can be noted on {function!r}: decorate a function around it, or use constants "
                             "of the module") from None
        return function
    return note


def joined(claims, more):
    """Both claims; where they differ, `more` holds. Domains are joined in the same way."""
    domains = {word: {**claims[word], **more[word]} for word in ("domain", "vjp_domain")
               if isinstance(claims.get(word), dict) and isinstance(more.get(word), dict)}
    return {**claims, **more, **domains}


def claims_of(function, constants=()):
    """The claims of a function, whatever it is wrapped in, and of the module whose constants these are."""
    module = {name[len(_PREFIX):].lower(): value for name, value in dict(constants).items() if name.startswith(_PREFIX)}
    check_words(module, "the module", lambda word: _PREFIX + word.upper())
    return joined(module, _noted(function))


def _noted(function):
    for inner in ("forward", "func"):  # of a torch module, of functools.partial
        if not hasattr(function, _ATTRIBUTE) and hasattr(function, inner):
            function = getattr(function, inner)
    return getattr(function, _ATTRIBUTE, {})


def check_words(claims, where, spelt=str):
    unknown = [word for word in claims if word not in WORDS]
    if unknown:
        raise WrongClaim(f"{where} has the unknown declaration {spelt(unknown[0])}; known: "
                         f"{', '.join(map(spelt, WORDS))}")


def check_domain(domain, declared, word="domain"):
    """An error unless the domain names inputs, the state, settings and axes of the operation, each with values."""
    if not isinstance(domain, dict):
        raise WrongClaim(f"{word} must map names of inputs and settings to their values, and is {domain!r}")
    settings = [setting["name"] for setting in declared["attributes"]]
    values = [tensor["name"] for tensor in declared["inputs"]] + ["state"] * declared["recurrent"]
    integers = [setting["name"] for setting in declared["attributes"] if type(setting.get("standard")) is int]
    sized = {setting["axis"] for setting in declared["attributes"] if "axis" in setting}
    words = {setting["name"]: setting["values"] for setting in declared["attributes"] if type(setting.get("standard")) is str}
    axes = [axis for axis in sorted({*declared["axes"], *sized}) if axis not in values + settings]
    for name, allowed in domain.items():
        where = f"{word}: '{name}'"
        if name == "relations":
            _check_relations(allowed, {*declared["axes"], *sized}, where)
            continue
        if name not in values + settings + axes:
            raise WrongClaim(f"{where} is no input, setting or axis of {declared['name']}; known: "
                             f"{', '.join(values + settings + axes)}")
        if name in axes or (name in integers and isinstance(allowed, dict)):
            _check_sizes(allowed, where)
        elif name in settings and not (isinstance(allowed, (list, tuple)) and allowed):
            range_too = ' or a range such as {"at_least": 2}' if name in integers else ""
            raise WrongClaim(f"{where} is a setting: it needs a list of values{range_too}, not {allowed!r}")
        if name in settings and isinstance(allowed, (list, tuple)):
            wrong = [value for value in allowed if not isinstance(value, (bool, int, float, str))]
            if wrong:
                raise WrongClaim(f"{where} is a setting: its values are numbers, strings or booleans, not {wrong[0]!r}")
        unknown = [value for value in allowed if value not in words[name]] if name in words else []
        if unknown:
            raise WrongClaim(f"{where} has the value {unknown[0]!r}; known: {', '.join(words[name])}")
        if name in values and allowed != "finite":
            _check_interval(allowed, where)


def _check_relations(allowed, axes, where):
    """A list of such as "n <= m", "e = d", "2 r = d"."""
    if not isinstance(allowed, (list, tuple)) or not allowed:
        raise WrongClaim(f"{where} needs a list such as [\"n <= m\"], not {allowed!r}")
    for text in allowed:
        found = re.fullmatch(r" *(?:[1-9]\d*)? *([A-Za-z_]\w*) *(?:<=|>=|=) *(?:[1-9]\d*)? *([A-Za-z_]\w*) *", str(text))
        if not found:
            raise WrongClaim(f"{where}: {text!r} is no relation of two axes, such as \"n <= m\", \"e = d\" or \"2 r = d\"")
        unknown = [axis for axis in found.groups() if axis not in axes]
        if unknown:
            raise WrongClaim(f"{where}: there is no axis {unknown[0]!r}; known: {', '.join(sorted(axes))}")


def _check_sizes(allowed, where):
    words = ("multiple_of", "at_least", "at_most")
    if isinstance(allowed, dict) and allowed:
        unknown = [word for word in allowed if word not in words]
        if unknown:
            raise WrongClaim(f"{where} has the unknown word {unknown[0]!r}; known: {', '.join(words)}")
        numbers = list(allowed.values())
    elif isinstance(allowed, (list, tuple)) and len(allowed) == 2:
        numbers = list(allowed)
    else:
        raise WrongClaim(f"{where} needs [low, high] or {{\"multiple_of\": k}}, not {allowed!r}")
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in numbers):
        raise WrongClaim(f"{where} needs whole numbers, not {allowed!r}")


def check_finite(numbers, where):
    """JSON has neither NaN nor infinities."""
    if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
        raise WrongClaim(f"{where} has {numbers!r}: the ends of an interval must be finite numbers; \"finite\" stands "
                         "for all of them")


def _check_interval(allowed, where):
    is_pair = isinstance(allowed, (list, tuple)) and len(allowed) == 2
    if not is_pair or not all(isinstance(end, (int, float)) and not isinstance(end, bool) for end in allowed):
        raise WrongClaim(f"{where} needs \"finite\" or [low, high], not {allowed!r}")
    check_finite(allowed, where)
    low, high = allowed
    if low > high:
        raise WrongClaim(f"{where} has the interval {allowed!r}, which holds no value: low exceeds high")
