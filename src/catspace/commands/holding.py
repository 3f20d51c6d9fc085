"""Which rows a fit holds back: some at random, or the latest."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from catspace.data.table import Column
from catspace.exceptions import InputError

_MICROSECONDS = pa.timestamp("us")


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and rows that are held back; positions in a table, in order."""

    used: np.ndarray
    held_back: np.ndarray
    since: str | None = None  # the first date that is held back, where dates decide

    @property
    def title(self) -> str:
        """What the rows that are held back are called in a table of scores."""
        rows = f"On {len(self.held_back):,} rows that were held back"
        return rows if self.since is None else f"{rows}: the latest, from {self.since} on"


def split_at_random(n_rows: int, share: float, seed: int) -> Split:
    """Hold back a share of the rows; one at least is learned from."""
    order = np.random.default_rng(seed).permutation(n_rows)
    n_held_back = min(round(share * n_rows), max(0, n_rows - 1))
    return Split(np.sort(order[n_held_back:]), np.sort(order[:n_held_back]))


def split_by_date(dates: Column, rows: np.ndarray, share: float) -> Split:
    """Hold back the latest share of some rows; those of one date stay together.

    Rows whose date is missing are learned from.

    Parameters
    ----------
    dates : Column
        Of dates, of the whole table.
    rows : int array
        Positions of the rows that are split.
    share : float
    """
    values = dates.parts[0][1].take(pa.array(rows))
    instants = values.cast(pa.timestamp("us", getattr(values.type, "tz", None)), safe=False)
    known = instants.is_valid().to_numpy(zero_copy_only=False)
    times = instants.cast(pa.int64()).fill_null(0).to_numpy()
    rising = np.sort(times[known])
    if not len(rising):
        raise InputError(f"--validate-by: column {dates.name!r} is missing in every row.")
    bound = rising[min(len(rising) - 1, len(rising) - round(share * len(rising)))]
    if bound == rising[0]:  # a date that very many rows have: only later ones are held back
        later = rising[rising > bound]
        if not len(later):
            day = pa.scalar(int(bound), pa.int64()).cast(_MICROSECONDS).as_py()
            raise InputError(
                f"--validate-by: all rows have the same {dates.name!r}, {day:%Y-%m-%d}, so that "
                "none is later than the others.",
                hint="leave out --validate-by to hold back rows at random.",
            )
        bound = later[0]
    is_late = known & (times >= bound)
    since = pa.scalar(int(bound), pa.int64()).cast(_MICROSECONDS).as_py()
    shown = f"{since:%Y-%m-%d %H:%M}" if (since.hour or since.minute) else f"{since:%Y-%m-%d}"
    return Split(rows[~is_late], rows[is_late], shown)
