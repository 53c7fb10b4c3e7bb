"""Finds the operation that a function computes by the names of its parameters, or says why there is none.

Declarations of operations are dicts as `assay list operations --json` prints them.
"""
import difflib
import inspect

from assay.signature import is_module, signature_of, takes


class NotAnOperation(ValueError):
    """The function is no implementation of any operation, or of the one named. `choices`: the operations whose
    inputs its parameters are, where there are several.

        >>> assay.check(lambda a, b: a)
        Traceback (most recent call last):
        assay.matching.NotAnOperation: its parameters (a, b) are the inputs of no operation; ...
    """

    def __init__(self, reason, choices=()):
        super().__init__(reason)
        self.choices = list(choices)


def deduce(function, declarations):
    """The declaration whose inputs are the parameters of the function; parameters with a default may be more."""
    # An operation without inputs would match every function.
    matching = [d for d in declarations if d["inputs"] and takes_by_name(function, d)]
    if not matching:
        raise _no_match(function, declarations)
    # A function of all inputs of a derivative takes those of the operation too, and then more.
    most = max(len(d["inputs"]) for d in matching)
    meant = [d for d in matching if len(d["inputs"]) == most]
    usual = [d for d in meant if not d["named_only"]] or [d for d in meant if _has_setting_of(function, d, declarations)]
    if len(usual) != 1:
        names = names_of(usual or meant)
        raise NotAnOperation(f"the parameters are the inputs of {' and of '.join(names)}: name the operation that is "
                             f"meant{_what_is_for(function)}", names)
    return usual[0]


def _has_setting_of(function, declared, declarations):
    """Whether a parameter is a setting that usual operations do not have: rotate(x, position) means RoPE, and
    rotate(x, position, down) means xPos."""
    usual = {name for d in declarations if not d["named_only"] for name in names_of(d["attributes"])}
    return bool({p.name for p in _parameters(function)} & (set(names_of(declared["attributes"])) - usual))


def names_of(tensors):
    return [tensor["name"] for tensor in tensors]


def declaration_of(declarations, operation):
    for declared in declarations:
        if declared["name"] == operation:
            return declared
    near = difflib.get_close_matches(operation, names_of(declarations))
    raise NotAnOperation(f"unknown operation '{operation}' ({'near: ' + ', '.join(near) + '; ' if near else ''}"
                         "see: assay list operations)")


def _parameters(function):
    return [p for p in signature_of(function).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]


def takes_by_name(function, declared):
    by_name = {p.name for p in _parameters(function) if p.kind != inspect.Parameter.POSITIONAL_ONLY}
    inputs = set(parameter_by_input(function, declared).values())
    return _required(function) <= inputs | set(names_of(declared["attributes"])) and inputs <= by_name


def parameter_by_input(function, declared):
    """The parameter for each input. It has the input's name; of several inputs, one may be in the other number, such as
    `sinks` for `sink`."""
    names = [p.name for p in _parameters(function)]
    own = names_of(declared["inputs"]) + names_of(declared["attributes"])

    def called(name):
        other = name[:-1] if name.endswith("s") else name + "s"
        return other if name not in names and other in names and other not in own else name
    found = {name: called(name) for name in names_of(declared["inputs"])}
    others = [name for name, parameter in found.items() if parameter != name]
    return found if len(others) == 1 < len(found) else {name: name for name in found}


def _required(function):
    """The parameters without a default, except `dtype`."""
    return {p.name for p in _parameters(function) if p.default is p.empty} - {"dtype"}


def check_positions(function, declared):
    """An error unless the function takes the inputs by position and its settings by name."""
    inputs, taken = names_of(declared["inputs"]), settings_taken(function, declared)
    by_name = [name for name in names_of(declared["attributes"]) if name in taken]
    by_name += ["dtype"] if takes(function, "dtype") else []
    try:
        signature_of(function).bind(*inputs, **dict.fromkeys(by_name))
    except TypeError as reason:
        raise NotAnOperation(f"{reason}: it cannot be called as {_shown(declared)} is, neither by name nor by "
                             f"position{_what_is_for(function)}") from None
    for place, parameter in enumerate(_parameters(function)[:len(inputs)]):
        if parameter.name in inputs and inputs[place] != parameter.name:
            raise NotAnOperation(f"its parameter '{parameter.name}' stands where {_shown(declared)} has "
                                 f"'{inputs[place]}': give all of them these names, or none")


def settings_taken(function, declared):
    """The settings of an operation that a function has a parameter for."""
    if any(p.kind == p.VAR_KEYWORD for p in signature_of(function).parameters.values()):
        return names_of(declared["attributes"])
    return [p.name for p in _parameters(function)]


def _shown(declared):
    return f"{declared['name']}({', '.join(names_of(declared['inputs']))})"


def _what_is_for(function):
    """The end of a sentence: it names the adapter for functions with such parameters, or the check for such modules."""
    names = [p.name for p in _parameters(function) if p.default is p.empty]
    if is_module(function) and all(is_module(getattr(function, part, None)) for part in "HR"):
        return "; assay.check_embed_position(MODULE) judges modules with H and R"
    if all(any(word in name for name in names) for word in ("cos", "sin")):
        return "; assay.adapters.from_cos_sin(FUNCTION) is for functions of cosines and sines"
    if any("freqs" in name for name in names):
        return "; assay.adapters.from_freqs_cis(FUNCTION) is for functions of complex tables"
    return ""


_MOST_NEAR = 3


def _no_match(function, declarations):
    """The error that says why the function is none of the nearest operations, the nearest one first."""
    names = [p.name for p in _parameters(function)]
    text = f"its parameters ({', '.join(names)}) are the inputs of no operation"
    if made := _what_is_for(function):
        return NotAnOperation(text + made)
    if names[:1] == ["self"]:
        return NotAnOperation(text + ": it is a method of a class; name the method of an instance")
    required = _required(function)
    setting_operations = [d["name"] for d in declarations
                          if not d["inputs"] and required and required <= set(names_of(d["attributes"]))]
    if setting_operations:
        return NotAnOperation(f"{text}, but settings of {' and of '.join(setting_operations)}: name the operation that is "
                              "meant", setting_operations)
    misfits = [(_misfit(function, d), d) for d in declarations if set(names) & set(names_of(d["inputs"]))]
    misfits.sort(key=lambda pair: (len(pair[0]), ":" in pair[1]["name"]))
    near = [f"{_shown(d)} does not fit: {', '.join(misfit)}" for misfit, d in misfits[:_MOST_NEAR]]
    return NotAnOperation(f"{text}; " + ("\n  ".join(near) if near else (
        "name them so, or name the operation, whose inputs then come in its order: python:MODULE:FUNCTION@OPERATION, "
        "assay.check(FUNCTION, OPERATION); see: assay list operations")))


def _misfit(function, declared):
    """The parameters that the function lacks for an operation, and those that are too many."""
    names, called = [p.name for p in _parameters(function)], parameter_by_input(function, declared)
    too_many = _required(function) - set(called.values()) - set(names_of(declared["attributes"]))
    return [f"no parameter '{name}'" for name, parameter in called.items() if parameter not in names] + [
        f"'{name}' is no input and has no default" for name in names if name in too_many]
