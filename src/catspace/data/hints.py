"""What a column looks like beside what it is used as: warnings about what a user may not mean."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catspace.data.dates import find_date_formats
from catspace.data.table import Column
from catspace.data.vocabulary import Vocabulary
from catspace.exceptions import warn

_ID_NAME = r"(^|_|[a-z])(id|Id|ID|code|Code|key|Key|nr|no)$"
# Things that people number, in English and as the paper's country says it; one of them, since the
# plural is a count.
_NUMBERED_THING = (
    r"(?i)(^|_)(store|shop|branch|station|customer|client|user|member|patient|driver|product|item"
    r"|article|sku|account|device|machine|department|dept|warehouse|zip|postcode|plz"
    r"|filiale|laden|markt|kunde|mitglied|fahrer|produkt|artikel|konto|abteilung|lager)$"
)
# Dates as people write them, perhaps with a time of the day behind.
_DATE = (
    r"^\s*([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}"
    r"|[0-9]{1,2}[-. ]{1,2}[A-Za-z]{3,9}[-., ]{1,2}[0-9]{2,4}"
    r"|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{4})"
    r"([T ,]+[0-9]{1,2}:[0-9]{2}.*)?\s*$"
)
_FEWEST_DATES = 5
_SOME_VALUES = 10_000  # of which it is seen whether they look like dates


def hint_at_id(column: Column, values: np.ndarray) -> None:
    """Warn when a column of integers that is used as numbers looks like an identifier.

    A column of integers with missing values may come as one of fractions.

    Parameters
    ----------
    column : Column
    values : float array of shape (n_samples,)
        Of some of its rows.
    """
    present = values[~np.isnan(values)]
    if column.type is None or not (
        pa.types.is_integer(column.type)
        or (pa.types.is_floating(column.type) and len(present) < len(values))
    ):
        return
    distinct, counts = np.unique(present, return_counts=True)
    if len(distinct) < 3 or (distinct % 1 != 0).any():
        return
    is_named_so = re.search(_ID_NAME, column.name) or re.search(_NUMBERED_THING, column.name)
    if is_named_so or _is_numbered(distinct, counts):
        warn(
            f"Column {column.name!r} holds integers that look like identifiers "
            f"({len(distinct)} different ones, from {distinct[0]:.0f} to {distinct[-1]:.0f}) and "
            f"is used as a number.",
            hint=f"categorical_features=[{column.name!r}, …] gives each value a vector.",
        )


def _is_numbered(distinct: np.ndarray, counts: np.ndarray) -> bool:
    """Whether values are numbered without gaps, and met often: shops, not counts.

    Numbers begin at 0 or 1, or at 1,000 or 10,001 where all shall have as many digits.
    """
    begins_at_power = re.fullmatch("10{2,}[01]", f"{distinct[0]:.0f}") is not None
    is_dense = distinct[-1] - distinct[0] < 1.05 * len(distinct)
    if not is_dense or not (distinct[0] in (0, 1) or begins_at_power):
        return False
    mean = counts.mean()
    # A small table shows fewer of each; but all about as often as if they were drawn, which numbers
    # that mean a quantity are not. Then the variance is the mean.
    is_even = len(distinct) >= 10 and mean >= 2 and counts.var() <= 3 * mean
    is_often = distinct[0] in (0, 1) and len(distinct) >= 100 and mean >= 5
    return bool(is_often or is_even)


def look_like_dates(words: pa.Array) -> np.ndarray:
    """Return which words look like dates, as a bool array; some of them may be none."""
    return np.asarray(pc.match_substring_regex(words, _DATE).to_numpy(zero_copy_only=False))


def hint_at_dates(column: str, vocabulary: Vocabulary) -> None:
    """Warn when the categories of a column are text that looks like dates."""
    if vocabulary.kinds != ("text",) or "text" not in vocabulary.values:
        return
    values = vocabulary.values["text"]
    some = values[:_SOME_VALUES]
    if len(some) < _FEWEST_DATES or not look_like_dates(some).all():
        return
    forms = find_date_formats(some.to_pylist())
    convert = "convert the column to dates, which"
    if len(forms) == 1:
        convert = f"date_formats={{{column!r}: {forms[0]!r}}} reads them as dates, which"
    warn(
        f"Column {column!r} holds text that looks like dates ({len(values)} different ones, "
        f"such as {values[0].as_py()!r}). Each is a category, and every other date is unseen.",
        hint=f'{convert} date_parts=["year", "month", "day_of_week"] takes apart; '
        f"categorical_features=[{column!r}, …] takes them as they are.",
    )
