"""What the command does with dates without being told: the parts, and text that is dates."""

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catspace.data.dates import find_date_formats, read_dates
from catspace.data.hints import look_like_dates
from catspace.data.kinds import is_text
from catspace.data.table import Column, Table
from catspace.exceptions import InputError, shorten

# Those of the paper, which every table of dates has. What else a table needs (a trend, days of the
# year), its own validation rows have to say.
USUAL_PARTS = ("year", "month", "day", "day_of_week")
_FEWEST_DATES = 5  # that a column of text must hold, where two digits are a year
_MOST_NONSENSE = 0.1  # of the different texts; where more are no dates, the column is plain text
_SOME_WORDS = 500  # of which each is read by itself, where no form fits all


def find_formats(table: Table, known: Collection[str] = ()) -> dict[str, str]:
    """Return how dates are written in columns of text that hold nothing but dates.

    Parameters
    ----------
    table : Table
    known : collection of str
        Columns that the user has decided about.

    Raises
    ------
    InputError
        Where nearly all are dates but some are not, where they are written in several ways, or
        where nobody can tell the day from the month.
    """
    found = {}
    for column in table.columns:
        if column.type is not None and is_text(column.type) and column.name not in known:
            form = _find_format(column)
            if form is not None:
                found[column.name] = form
    return found


def choose_parts(table: Table, formats: Mapping[str, str]) -> list[str]:
    """Return what dates are taken apart into where the user has not said it.

    Hours only where there are any.
    """
    columns = [read_as_dates(column, formats) for column in table.columns]
    dates = [column.parts[0][1] for column in columns if column is not None]
    return [*USUAL_PARTS, "hour"] if any(map(_has_hours, dates)) else [*USUAL_PARTS]


def _has_hours(dates: pa.Array) -> bool:
    return pa.types.is_timestamp(dates.type) and bool(
        pc.any(pc.not_equal(pc.hour(dates), 0)).as_py()
    )


def read_as_dates(column: Column, formats: Mapping[str, str]) -> Column | None:
    """Return a column of dates, or of text that is dates; None where it is neither."""
    if column.is_date or column.name in formats:
        return read_dates(column, formats.get(column.name))
    return None


def _find_format(column: Column) -> str | None:
    words = pa.concat_arrays([values.cast(pa.large_string()) for _, _, values, _ in column.factors])
    words = words.drop_null().unique()
    is_alike = look_like_dates(words)
    if not len(words) or is_alike.mean() < 1 - _MOST_NONSENSE:
        return None
    wrong = words.filter(pa.array(~is_alike)).to_pylist()
    likely = words.filter(pa.array(is_alike)).to_pylist()
    forms = find_date_formats(likely)
    if all("%y" in form for form in forms) and len(words) < _FEWEST_DATES:
        return None
    if not forms:  # what looks like a date may be none: 31.02.2023, or 45.67.89, which is a code
        strange = [word for word in likely[:_SOME_WORDS] if not find_date_formats([word])]
        if len(strange) > _MOST_NONSENSE * len(likely[:_SOME_WORDS]):
            return None
        wrong += strange or [one for one in _differing(likely) if not find_date_formats([one])]
    apart = (
        f"--drop {column.name} leaves it out, --categorical {column.name} takes each as a category."
    )
    if wrong:
        date = next(word for word in likely if word not in wrong)
        raise InputError(
            f"Column {column.name!r} holds dates such as {date!r}, and {shorten(wrong, 3)}.",
            hint=f"mend these cells, or empty them where the date is not known; {apart}",
        )
    if not forms:
        one, other = _differing(likely)
        raise InputError(
            f"Column {column.name!r} holds dates of several forms, such as {one!r} and {other!r}.",
            hint=f"write all of them in one form; {apart}",
        )
    if len(forms) > 1:
        raise InputError(
            f"Column {column.name!r} holds dates such as {likely[0]!r}, of which nobody can tell "
            "the day from the month.",
            hint=" or ".join(f"--set \"date_formats={{{column.name!r}: '{f}'}}\"" for f in forms)
            + " says it.",
        )
    return forms[0]


def _differing(words: list[str]) -> tuple[str, str]:
    """Return two words that are not of one form."""
    first = set(find_date_formats(words[:1]))
    for word in words[1:]:
        if not first & set(find_date_formats([word])):
            return words[0], word
    return words[0], words[int(np.argmax([len(word) for word in words]))]
