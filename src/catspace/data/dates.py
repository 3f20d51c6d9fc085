"""Dates, and text that is dates -> the parts of them that a network reads."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catspace.data.kinds import is_text
from catspace.data.table import Column, Table, describe
from catspace.exceptions import InputError, ParameterError, did_you_mean, shorten
from catspace.validation import check_column_names


def _hour(values: pa.Array) -> pa.Array:
    """Return the hour of times; that of days is 0."""
    is_time = pa.types.is_timestamp(values.type)
    return pc.hour(values if is_time else values.cast(pa.timestamp("us")))


# The parts that are categories.
_CATEGORIES: dict[str, Callable[[pa.Array], pa.Array]] = {
    "year": pc.year,
    "quarter": pc.quarter,
    "month": pc.month,
    "week": pc.iso_week,
    "day": pc.day,
    "day_of_week": lambda values: pc.day_of_week(values, count_from_zero=False, week_start=1),
    "day_of_year": pc.day_of_year,
    "hour": _hour,
    "date": lambda values: values.cast(pa.date32()),
}
# The one that is a number: days since the first day of training.
ELAPSED = "elapsed"
DATE_PARTS = (*_CATEGORIES, ELAPSED)
_DAY = 86_400_000_000  # in microseconds

# How people write dates; two digits of a year last, since 01.02.03 may be something else.
_DAYS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
    *("%d %b %Y", "%d %B %Y", "%d. %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", "T%H:%M", "T%H:%M:%S", "T%H:%M:%S.%f")
_FIRST_WORDS = 20  # that a form must fit before it is tried on all


@dataclass(frozen=True)
class DateColumns:
    """The columns of dates that are replaced by their parts, and how they are read."""

    names: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    # How dates are written in the columns that are text
    formats: Mapping[str, str] = field(default_factory=dict)
    # The first day of each column in training, where "elapsed" is a part; in days since 1970
    first_days: Mapping[str, float] = field(default_factory=dict)
    # The zone of columns that held points in time in fit, "" for none; hours are those of that zone
    zones: Mapping[str, str] = field(default_factory=dict)

    @property
    def made(self) -> dict[str, tuple[str, str]]:
        """The columns that are made, with the one that each is made of, and the part."""
        return {f"{name}_{part}": (name, part) for name in self.names for part in self.parts}

    def expand(self, table: Table) -> Table:
        """Replace the columns of dates by their parts."""
        if not self.names:
            return table
        columns: list[Column] = []
        for column in table.columns:
            columns.extend(self._parts_of(column) if column.name in self.names else [column])
        for name, count in Counter(column.name for column in columns).items():
            if count > 1:
                raise InputError(
                    f"date_parts makes a column {name!r}, and the table has one of that name.",
                    hint="rename that column.",
                )
        return replace(table, columns=tuple(columns))

    def read(self, column: Column) -> Column:
        """Return one of the columns as dates, as it was read in fit."""
        return read_dates(column, self.formats.get(column.name), self.zones.get(column.name))

    def _parts_of(self, column: Column) -> list[Column]:
        dates = self.read(column)
        first_day = self.first_days.get(column.name, 0.0)
        return [take_part(dates, part, first_day) for part in self.parts]


def zone_of(column: Column) -> str | None:
    """Return the zone of points in time, "" for those without one; None for anything else."""
    if column.type is None or not pa.types.is_timestamp(column.type):
        return None
    return column.type.tz or ""


def is_zone(name: str) -> bool:
    """Whether there is a zone of that name here; "" is none, which is always there."""
    try:
        pc.local_timestamp(pa.array([0], pa.timestamp("us", name or "UTC")))
    except (pa.ArrowInvalid, UnicodeEncodeError):
        return False
    return True


def read_dates(column: Column, date_format: str | None = None, zone: str | None = None) -> Column:
    """Return a column of dates, or say that it holds something else.

    Parameters
    ----------
    column : Column
    date_format : str, optional
        How text is to be read, as Python's `strptime` has it.
    zone : str, optional
        Where the hours of points in time are told, "" for those without a zone. By default in the
        zone that they have.
    """
    values = column.parts[0][1] if len(column.parts) == 1 else None
    if values is not None and pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if values is not None and _holds_nothing(values):
        values = pa.nulls(len(values), pa.timestamp("us"))
    if values is not None and is_text(values.type):
        values = _parse(column.name, values, date_format) if date_format else _from_iso(values)
    if values is None or not (pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)):
        raise InputError(
            f"Column {column.name!r} held dates in fit and holds {describe(column.type)} now.",
            hint="convert the column to dates, as it was in fit.",
        )
    given = getattr(values.type, "tz", None)
    if given and not is_zone(given):
        raise InputError(
            f"Column {column.name!r} holds times of the zone {given!r}, which is not known here.",
            hint="give them a zone that is ('Europe/Berlin', '+02:00').",
        )
    if zone is not None and pa.types.is_timestamp(values.type):
        values = _in_zone(column.name, values, zone)
    return Column(column.name, ((None, values),), column.n_rows)


def _holds_nothing(values: pa.Array) -> bool:
    """Whether nothing is known of any row; readers of CSV files make numbers of such a column."""
    if pa.types.is_floating(values.type):
        return bool(values.is_null(nan_is_null=True).true_count == len(values))
    return bool(pa.types.is_null(values.type))


def _in_zone(name: str, times: pa.Array, zone: str) -> pa.Array:
    """Return the same instants as clocks of a zone show them; those without one have no other."""
    given = times.type.tz or ""
    if bool(given) == bool(zone) or times.null_count == len(times):
        return times.cast(pa.timestamp(times.type.unit, zone or None))

    def show(zone: str) -> str:
        return f"times of the zone {zone}" if zone else "times without a zone"

    raise InputError(
        f"Column {name!r} held {show(zone)} in fit and holds {show(given)} now.",
        hint="say of which zone they are (in pandas: dt.tz_localize)."
        if zone
        else "convert them to the local time that fit was given, and leave the zone out (in "
        "pandas: dt.tz_convert, then dt.tz_localize(None)).",
    )


def take_part(dates: Column, part: str, first_day: float = 0.0) -> Column:
    """Return one part of a column of dates.

    Parameters
    ----------
    dates : Column
        As `read_dates` returns it.
    part : str
        One of `DATE_PARTS`.
    first_day : float
        What "elapsed" counts from, in days since 1970.
    """
    values, name = dates.parts[0][1], f"{dates.name}_{part}"
    if part == ELAPSED:
        instants = values.cast(pa.timestamp("us", getattr(values.type, "tz", None)), safe=False)
        days = instants.cast(pa.int64()).to_numpy(zero_copy_only=False) / _DAY - first_day
        made = pa.array(days, pa.float64(), from_pandas=True)
    else:
        if getattr(values.type, "tz", None):
            values = pc.local_timestamp(values)
        made = _CATEGORIES[part](values).dictionary_encode()
    return Column(name, ((None, made),), dates.n_rows)


def _from_iso(values: pa.Array) -> pa.Array:
    """Return text as ISO writes dates, as in a CSV file, as dates; any other as it is."""
    for type_ in (pa.date32(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return values.cast(type_)
        except pa.ArrowInvalid:
            continue
    return values


def _parse(name: str, values: pa.Array, date_format: str) -> pa.Array:
    """Return text as dates; each distinct word is read once."""
    encoded = values.dictionary_encode()
    words = encoded.dictionary.to_pylist()
    times = [parse_date(word, date_format) for word in words]
    wrong = [word for word, time in zip(words, times, strict=True) if time is None]
    if wrong:
        raise InputError(
            f"Column {name!r} holds {shorten(wrong, 3)}, which is no date of the form "
            f"{date_format!r}.",
            hint="mend the cells, or empty them where the date is not known.",
        )
    read = pa.array(times, pa.timestamp("us")).take(encoded.indices)
    return read if "%H" in date_format else read.cast(pa.date32())


def parse_date(word: str, date_format: str) -> datetime | None:
    """Return what a word says, or None where it is no date of that form."""
    try:
        return datetime.strptime(word.strip(), date_format)
    except ValueError:
        return None


def is_date_format(form: str) -> bool:
    """Whether a form tells the day of a date."""
    day = datetime(2003, 2, 1)
    try:
        return parse_date(day.strftime(form), form) == day
    except (ValueError, re.error):  # a percent sign at the end, or one part twice
        return False


def find_date_formats(words: Sequence[str]) -> list[str]:
    """Return the forms in which all words are dates, the most usual first.

    Examples
    --------
    >>> find_date_formats(["31.12.2014", "1.2.2015"])
    ['%d.%m.%Y']
    >>> find_date_formats(["1/2/2015", "3/4/2015"])  # who knows?
    ['%d/%m/%Y', '%m/%d/%Y']
    >>> find_date_formats(["31.12.2014", "2014-12-31"])
    []
    """
    forms = [day + clock for day in _DAYS for clock in _CLOCKS]
    for some in (words[:1], words[:_FIRST_WORDS], words):
        forms = [form for form in forms if all(parse_date(word, form) for word in some)]
    # A short month such as May is also its whole name.
    return [form for form in forms if form.replace("%B", "%b") == form or len(forms) == 1]


def check_date_parts(date_parts: Iterable[str] | None) -> tuple[str, ...]:
    """Return the parts that are asked for, or say which there are."""
    if date_parts is None:
        return ()
    if not isinstance(date_parts, Iterable):
        raise ParameterError(f"date_parts must be a list of parts; got {date_parts!r}.")
    parts = (date_parts,) if isinstance(date_parts, str) else tuple(date_parts)
    for part in parts:
        if part not in DATE_PARTS:
            raise ParameterError(
                f"date_parts holds {part!r}; it takes {', '.join(DATE_PARTS)}."
                f"{did_you_mean(part, DATE_PARTS)}"
            )
    return parts


def check_date_formats(date_formats: Any, table: Table) -> dict[str, str]:
    """Return how the dates of columns of text are written, or say what is wrong with it."""
    if date_formats is None:
        return {}
    if not isinstance(date_formats, Mapping):
        raise ParameterError(
            f"date_formats must be a dict of column to the form of its dates; got {date_formats!r}."
        )
    check_column_names("date_formats", date_formats, table.names)
    for name, form in date_formats.items():
        if not isinstance(form, str) or not is_date_format(form):
            raise ParameterError(
                f"date_formats must give {name!r} a form such as '%d.%m.%Y'; got {form!r}."
            )
    for name in date_formats:
        if not _is_text_column(table[name]) and not table[name].is_date:
            raise InputError(
                f"date_formats names {name!r}, which holds {describe(table[name].type)} and not "
                "text.",
                hint="convert the column to text, or to dates, before fit.",
            )
    return {name: form for name, form in date_formats.items() if _is_text_column(table[name])}


def _is_text_column(column: Column) -> bool:
    return column.type is not None and (is_text(column.type) or pa.types.is_null(column.type))
