"""What a JSON document may hold, said once: forms with bounds, and the place where one is not kept.

A form is checked before anything is built of the document, so that whoever builds can rely on it.
"""

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol


class FormError(ValueError):
    """A document that is not of its form: where, what is wanted, and what stands there."""

    def __init__(self, where: str, wanted: str, value: Any) -> None:
        # Cut at every depth, since a value may be nested as deep as Python can read.
        super().__init__(f"{where or 'the document'} must be {wanted}; got {reprlib.repr(value)}")


class Form(Protocol):
    """What a value of a document may be."""

    def check(self, value: Any, where: str) -> None:
        """Raise `FormError` where a value is something else."""


@dataclass(frozen=True)
class Number:
    """A finite number within bounds, which are allowed themselves."""

    low: float = -math.inf
    high: float = math.inf
    is_whole: bool = False

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no such number."""
        types = (int,) if self.is_whole else (int, float)
        # An int beyond all floats cannot even be asked whether it is finite.
        is_number = isinstance(value, types) and not isinstance(value, bool)
        is_finite = is_number and (isinstance(value, int) or math.isfinite(value))
        if not is_finite or not self.low <= value <= self.high:
            kind = "a whole number" if self.is_whole else "a number"
            raise FormError(where, f"{kind} from {self.low:g} to {self.high:g}", value)


@dataclass(frozen=True)
class Flag:
    """True or false."""

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is neither."""
        if not isinstance(value, bool):
            raise FormError(where, "true or false", value)


@dataclass(frozen=True)
class Text:
    """Text that can be written as UTF-8, perhaps one of a few."""

    options: tuple[str, ...] = ()

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no such text."""
        if not isinstance(value, str) or (self.options and value not in self.options):
            wanted = "text" if not self.options else f"one of {', '.join(self.options)}"
            raise FormError(where, wanted, value)
        try:
            value.encode()
        except UnicodeEncodeError:  # half of a pair
            raise FormError(where, "text of whole characters", ascii(value)) from None


@dataclass(frozen=True)
class Maybe:
    """A value of a form, or null."""

    form: Form

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is neither."""
        if value is not None:
            self.form.check(value, where)


@dataclass(frozen=True)
class ListOf:
    """A list of values of one form."""

    form: Form
    at_least: int = 0
    at_most: float = math.inf
    is_distinct: bool = False  # of values that can be hashed
    is_rising: bool = False  # of numbers

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no such list."""
        if not isinstance(value, list) or not self.at_least <= len(value) <= self.at_most:
            raise FormError(where, f"a list of {self.at_least} to {self.at_most:g} values", value)
        for i, item in enumerate(value):
            self.form.check(item, f"{where}[{i}]")
        if self.is_distinct and len(set(value)) < len(value):
            raise FormError(where, "a list without repetitions", value)
        if self.is_rising and any(a >= b for a, b in pairwise(value)):
            raise FormError(where, "a rising list", value)


@dataclass(frozen=True)
class OneOrList:
    """A value of a form, or a list of values."""

    form: Form
    listed: ListOf

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is neither."""
        (self.listed if isinstance(value, list) else self.form).check(value, where)


@dataclass(frozen=True)
class MapOf:
    """A mapping of any names to values of one form."""

    form: Form

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no such mapping."""
        if not isinstance(value, dict):
            raise FormError(where, "a mapping", value)
        for name, item in value.items():
            Text().check(name, f"a name in {where}")
            self.form.check(item, f"{where}[{name!r}]")


@dataclass(frozen=True)
class Record:
    """A mapping with a form for each of its names."""

    fields: Mapping[str, Form]
    optional: Mapping[str, Form] = field(default_factory=dict)
    is_open: bool = False  # whether there may be more names, which nobody reads

    def check(self, value: Any, where: str) -> None:
        """Raise where a value is no such record."""
        if not isinstance(value, dict):
            raise FormError(where, "a mapping", value)
        for name in self.fields:
            if name not in value:
                raise FormError(where, f"a mapping with {name!r}", sorted(value))
        known = {**self.fields, **self.optional}
        for name, item in value.items():
            if name in known:
                known[name].check(item, f"{where}.{name}" if where else name)
            elif not self.is_open:
                raise FormError(where, f"a mapping without {name!r}", sorted(value))
