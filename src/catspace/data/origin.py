"""What a column that the network reads is made of, to find it again in a user's table."""

from dataclasses import dataclass

from catspace.data.bins import Bins
from catspace.data.dates import read_dates, take_part
from catspace.data.table import Column, Table
from catspace.exceptions import InputError, did_you_mean


@dataclass(frozen=True)
class Origin:
    """The column of a table that one of the network's is made of, and how."""

    raw: str  # the column of the table
    part: str | None = None  # the part of its dates that is used
    bins: Bins | None = None  # what its numbers are cut into
    date_format: str | None = None  # how its dates are written, where they are text
    zone: str | None = None  # of its points in time, "" for none, where fit met any
    first_day: float = 0.0  # what elapsed days are counted from, in days since 1970
    holds_lists: bool = False  # whether a row has several values of it, or none

    def read(self, table: Table) -> Column:
        """Return the column that the vocabulary knows, made of a table's own.

        A column that only has the name of a date's part is no substitute for the dates: nobody
        knows whether its Monday is 0 or 1.
        """
        column = get_column(table, self.raw)
        if self.holds_lists:
            raise InputError(
                f"Column {self.raw!r} holds lists, so that a row has no one category of it.",
                hint="explode it into rows, or ask about another column.",
            )
        if self.part is not None:
            dates = read_dates(column, self.date_format, self.zone)
            column = take_part(dates, self.part, self.first_day)
        return column if self.bins is None else self.bins.apply(column)


def get_column(table: Table, name: str) -> Column:
    """Return a column by name, or say that the table has none."""
    if name not in table.names:
        raise InputError(f"The table has no column {name!r}.{did_you_mean(name, table.names)}")
    return table[name]
