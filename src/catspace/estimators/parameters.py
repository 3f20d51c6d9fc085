"""Parameters of estimators, each declared once: name, type, default, and a text for its docstring.

An estimator is a dataclass whose fields are its parameters, so that its ``__init__`` is written by
Python, editors know the choices, and scikit-learn finds the signature that it expects. The section
"Parameters" of its docstring is made of the same fields.
"""

import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from textwrap import indent
from typing import (
    Any,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import torch

from catspace.exceptions import InputError
from catspace.model.recipe import CUSTOM

_C = TypeVar("_C")


def parameter(*, default: Any, text: str, is_kept: bool = True, is_named: bool = True) -> Any:
    """Declare a parameter of an estimator.

    Parameters
    ----------
    default : object
    text : str
        For the docstring.
    is_kept : bool, default=True
        Whether a model file keeps its value; otherwise it is None there.
    is_named : bool, default=True
        Whether a model file has it also where it is None.
    """
    metadata = {"text": inspect.cleandoc(text), "is_kept": is_kept, "is_named": is_named}
    return field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(parameter,))
def declares_parameters(cls: type[_C]) -> type[_C]:
    """Give a class an ``__init__`` with its parameters, and complete its docstring.

    ``{parameters}`` stands there for the texts of all parameters, in the order of the signature,
    and ``{attributes}`` for those of the properties that end in an underscore.
    """
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    made.__doc__ = (made.__doc__ or "").replace("{parameters}", _indent(describe_parameters(made)))
    made.__doc__ = made.__doc__.replace("{attributes}", _indent(describe_attributes(made)))
    return made


def describe_parameters(cls: type) -> str:
    """Return the parameters of an estimator in numpydoc's form."""
    hints = get_type_hints(cls)
    entries = []
    for declared in fields(cls):
        kind, default = describe_type(hints[declared.name]), _show(declared.default)
        text = indent(declared.metadata["text"], "    ")
        entries.append(f"{declared.name} : {kind}, default={default}\n{text}")
    return "\n".join(entries)


def describe_attributes(cls: type) -> str:
    """Return the fitted attributes of an estimator in numpydoc's form."""
    entries = []
    for name, member in inspect.getmembers(cls, lambda member: isinstance(member, property)):
        if name.endswith("_") and not name.startswith("_"):
            kind = describe_type(get_type_hints(member.fget)["return"])
            entries.append(f"{name} : {kind}\n{indent(inspect.getdoc(member) or '', '    ')}")
    return "\n".join(entries)


def describe_type(hint: Any) -> str:
    """Return a type in the words of scikit-learn's docstrings.

    Examples
    --------
    >>> describe_type(int | Mapping[str, int] | Literal["auto"])
    'int, dict of str to int or "auto"'
    >>> describe_type(Literal["mean", "error"])
    '{"mean", "error"}'
    """
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        shown = ", ".join(map(_show, inside))
        return shown if len(inside) == 1 else f"{{{shown}}}"
    if origin in (Union, types.UnionType):
        *first, last = [describe_type(one) for one in inside]
        return f"{', '.join(first)} or {last}"
    if origin is not None and issubclass(origin, Mapping):
        key, value = map(describe_type, inside)
        return f"dict of {key} to {value}"
    if origin is Callable:
        return "callable"
    if origin is tuple:
        return f"({', '.join(map(describe_type, inside))})"
    if origin is not None and issubclass(origin, Sequence):
        return f"list of {describe_type(inside[0])}"
    if hint is np.ndarray:
        return "array"
    if hint is Any:
        return "object"
    return "None" if hint is type(None) else str(getattr(hint, "__name__", hint))


def _indent(text: str) -> str:
    return indent(text, "    ").lstrip()


def _show(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def pack_parameter(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it, so that `unpack_parameter` gives the same again."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, torch.device):
        return str(value)
    if name == "loss" and callable(value):
        return CUSTOM
    if isinstance(value, np.random.RandomState):
        return None  # its state has moved on; a loaded model draws anew
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if name == "cv":
        return None  # speaks of the rows of fit, which no file holds
    if isinstance(value, Mapping):
        pairs = [
            [pack_parameter(name, key), pack_parameter(name, item)] for key, item in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, tuple):
        return {"tuple": [pack_parameter(name, item) for item in value]}
    if isinstance(value, Iterable):
        return [pack_parameter(name, item) for item in value]
    raise InputError(f"The parameter {name}={value!r} cannot be kept in a model file.")


def unpack_parameter(value: Any) -> Any:
    """Return the parameter that `pack_parameter` took apart."""
    if isinstance(value, dict):
        ((kind, items),) = value.items()
        if kind == "tuple":
            return tuple(unpack_parameter(item) for item in items)
        return {unpack_parameter(key): unpack_parameter(item) for key, item in items}
    return [unpack_parameter(item) for item in value] if isinstance(value, list) else value
