"""Values that a table tells apart are two categories, or their column is refused."""

import datetime
import fractions
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from catspace.data.reading import read_table
from catspace.data.vocabulary import ValueCounts, Vocabulary
from catspace.exceptions import InputError

UTC = datetime.UTC
NOON = datetime.datetime(2020, 1, 1, 12)


class Nameless:
    pass


KEPT = {
    "integers past 2**53": [2**53, 2**53 + 1, -(2**53) - 1],
    "unsigned integers": np.array([2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64),
    "integers past 64 bits": [2**70, 2**70 + 1, 5],
    "unsigned beside negative": [2**63 + 1, 2**63 + 2, -1],
    "decimals past all doubles": [Decimal("1e400"), Decimal("1e401"), Decimal("1.5")],
    "durations past 64 bits": [datetime.timedelta(5 * 10**8), datetime.timedelta(1)],
    "neighbouring doubles": [0.1, np.nextafter(0.1, 1)],
    "singles": np.array([0.1, np.nextafter(np.float32(0.1), np.float32(1))], dtype=np.float32),
    "halves": np.array([0.1, 0.2], dtype=np.float16),
    "extended doubles": np.array([0.5, 1.5], dtype=np.longdouble),
    "short decimals": [Decimal("1.10"), Decimal("1.2"), Decimal("123456789012345")],
    "numbers and their text": [1, "1", 1.5, "1.5"],
    "truth values and their text": [True, "True", "true"],
    "text with and without space": ["a", "a ", " a", "A", "a\x00"],
    "composed letters": ["é", "e\u0301"],
    "missing words": ["NA", "", "nan", "None", "NULL"],
    "bytes": [b"a", b"a\x00", b"\xff"],
    "text and its bytes": ["a", b"a"],
    "microseconds": [NOON, NOON.replace(microsecond=1)],
    "instants": [NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=UTC, hour=13)],
    "dates beside times": [datetime.date(2020, 1, 1), NOON, NOON.replace(hour=13)],
    "clock times": [datetime.time(0, 0, 0, 1), datetime.time(0, 0, 0, 2)],
    "durations": [datetime.timedelta(microseconds=1), datetime.timedelta(microseconds=2)],
    "identifiers": [uuid.UUID(int=1), uuid.UUID(int=2)],
    "fractions": [fractions.Fraction(1, 3), fractions.Fraction(1, 2)],
    "polars objects": pl.Series([uuid.UUID(int=1), uuid.UUID(int=2)], dtype=pl.Object),
    "polars integers": pl.Series([2**70, 2**70 + 1], dtype=pl.Int128),
    "enumerations": pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])),
    "categories of two types": pd.Categorical([1, "1"]),
    "categories of text and its bytes": pd.Categorical(["a", b"a"]),
    "categories of dates beside times": pd.Categorical([NOON.date(), NOON]),
    "numbers of two types": [1.5, Decimal("2.5"), 3],
    "intervals": pd.interval_range(0, 2),
    "periods": pd.period_range("2020-01", periods=2, freq="M"),
    "bytes of one length": pa.array([b"ab", b"cd"], pa.binary(2)),
    "large decimals of few digits": pa.array([Decimal("1e20"), Decimal("2e20")]),
}


def tables(values):
    """Yield a column in every kind of table that can hold it."""
    if isinstance(values, pa.Array):
        yield pa.table({"x": values})
    elif isinstance(values, pl.Series):
        yield values.to_frame("x")
    else:
        yield pd.DataFrame(
            {"x": pd.Series(values, dtype=object if isinstance(values, list) else None)}
        )
        if isinstance(values, list):
            rows = np.empty((len(values), 1), dtype=object)
            rows[:, 0] = values
            yield rows
            yield {"x": values}


@pytest.mark.parametrize("values", KEPT.values(), ids=KEPT)
def test_values_that_the_table_tells_apart_are_two_categories(values):
    for table in tables(values):
        column = read_table(table).columns[0]
        vocabulary = Vocabulary.fit(column)
        assert vocabulary.n_categories == len(values)
        assert sorted(vocabulary.encode(column)) == list(range(3, 3 + len(values)))


@pytest.mark.parametrize("values", KEPT.values(), ids=KEPT)
def test_a_value_is_the_same_category_alone_and_beside_others(values):
    objects = np.empty((len(values), 1), dtype=object)
    objects[:, 0] = list(values)
    together = read_table(objects).columns[0]
    vocabulary = Vocabulary.fit(together)
    alone = [vocabulary.encode(read_table(objects[[i]]).columns[0])[0] for i in range(len(values))]
    assert alone == vocabulary.encode(together).tolist()


@pytest.mark.parametrize("values", KEPT.values(), ids=KEPT)
def test_what_a_column_begins_with_does_not_decide_for_the_rest_of_it(values):
    if isinstance(values, list):  # which alone may hold values of several types
        for table in tables([*[values[0]] * 150, *values]):
            assert Vocabulary.fit(read_table(table).columns[0]).n_categories == len(values)


TWENTY = [Decimal("12345678901234567890"), Decimal("12345678901234567891")]
REFUSED = {
    "decimals of twenty digits": (TWENTY, "decimals of more than 15 digits, such as 1234567890123"),
    "decimals of a fraction": (
        [Decimal("0.12345678901234567890"), Decimal("0.12345678901234567891")],
        "decimals of more than 15 digits, such as 0.123456789012345",
    ),
    "categories of decimals": (pd.Categorical(TWENTY), "decimals of more than 15 digits"),
    "decimals of Arrow": (pa.array(TWENTY), "decimals of more than 15 digits"),
    "decimals of polars": (pl.Series(TWENTY), "decimals of more than 15 digits"),
    "large integers beside a fraction": ([2**53, 2**53 + 1, 0.5], "integers past 2**53 beside"),
    "nanoseconds": (pd.to_datetime([1, 2], unit="ns"), "times that are finer than a microsecond"),
    "nanoseconds in objects": (
        [pd.Timestamp(1), pd.Timestamp(2)],
        "times that are finer than a microsecond",
    ),
    "fine durations in objects": (
        [pd.Timedelta(1, "ns"), pd.Timedelta(2, "ns")],
        "times that are finer than a microsecond",
    ),
    "categories of times with and without a zone": (
        pd.Categorical([NOON, NOON.replace(tzinfo=UTC)]),
        "times and times with a zone side by side",
    ),
    "fine durations": (pd.to_timedelta([1, 2], unit="ns"), "times that are finer than a micros"),
    "fine clock times": (pa.array([1, 2], pa.time64("ns")), "times that are finer than a micro"),
    "years past 9999": (pa.array([10**12], pa.timestamp("s")), "times before the year 1 or after"),
    "times out of range": (pa.array([10**15], pa.timestamp("s")), "times that are finer than a mi"),
    "times with and without a zone": (
        [NOON, NOON.replace(tzinfo=UTC)],
        "times and times with a zone side by side",
    ),
    "clock times with a zone": (
        [datetime.time(1), datetime.time(1, tzinfo=UTC)],
        "times of the day with a zone: 01:00:00+00:00",
    ),
    "objects and their text": (
        [uuid.UUID(int=1), str(uuid.UUID(int=1))],
        "different objects that read the same as text (UUID, str)",
    ),
    "objects without text": ([Nameless(), Nameless()], "objects of type 'Nameless', which show"),
    "extended doubles": (
        np.array([1, 1], dtype=np.longdouble) + np.array([0, 1e-18], dtype=np.longdouble),
        "numbers of more digits than a double has",
    ),
    "spans of months": (
        pa.array([pa.MonthDayNano([1, 2, 3])]),
        "month_day_nano_interval, which is neither a number nor a category",
    ),
}


@pytest.mark.parametrize(("values", "sentence"), REFUSED.values(), ids=REFUSED)
def test_values_that_would_merge_are_refused_with_what_to_do(values, sentence):
    for table in tables(values):
        with pytest.raises(InputError) as caught:
            Vocabulary.fit(read_table(table).columns[0])
        message = str(caught.value)
        assert f"holds {sentence}" in message
        assert "\nHint: " in message


def test_a_decimal_is_the_double_that_is_written_like_it():
    numbers = ["1.13", "0.1", "2.675", "-1234567.89", "1e20"]
    decimals = Vocabulary.fit(read_table({"x": [Decimal(n) for n in numbers]}).columns[0])
    doubles = read_table({"x": [float(n) for n in numbers]}).columns[0]
    assert decimals.encode(doubles).tolist() == Vocabulary.fit(doubles).encode(doubles).tolist()


def test_a_list_of_rows_keeps_large_integers_beside_fractions():
    table = read_table([[2**53, 0.5], [2**53 + 1, 1.5]])
    assert Vocabulary.fit(table.columns[0]).categories == [2**53, 2**53 + 1]


def test_halves_of_surrogate_pairs_are_two_categories():
    rows = np.array([["\ud800"], ["\udfff"], ["?"]], dtype=object)
    assert Vocabulary.fit(read_table(rows).columns[0]).n_categories == 3


def test_blocks_of_one_table_do_not_merge_large_integers_either():
    counts = ValueCounts()
    counts.add(read_table({"x": [2**53, 2**53 + 1]}).columns[0])
    counts.add(read_table({"x": [0.5]}).columns[0])
    with pytest.raises(ValueError, match=r"^integers past 2\*\*53 beside fractions or negative"):
        counts.vocabulary()
