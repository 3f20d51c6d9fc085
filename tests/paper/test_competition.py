"""The competition's columns, on files small enough to work out by hand."""

import numpy as np
import pytest

from catspace.exceptions import InputError
from catspace.paper.competition import WEATHER_FILE_OF, load_competition

CATEGORIES = [
    "store", "day_of_week", "promo", "year", "month", "day", "week", "state", "state_holiday",
    "school_holiday", "store_type", "assortment", "promo2", "days_closed_before",
    "days_closed_after", "weather",
]  # fmt: skip
NUMBERS = [
    "competition_distance", "competition_months", "promo2_weeks", "temperature", "humidity",
    "wind", "precipitation", "cloud", "search_interest", "search_interest_in_state",
]  # fmt: skip


@pytest.fixture
def files(write_competition):
    return write_competition(days=9)


def column(data, name, store):
    return data.X.loc[data.X["store"] == store, name].tolist()


def test_rows_are_the_open_days_in_order_of_time(files):
    data = load_competition(files)
    kinds = [*((name, "category") for name in CATEGORIES), *((name, "float64") for name in NUMBERS)]
    assert list(data.X.dtypes.astype(str).items()) == kinds
    assert data.y.tolist()[:5] == [2000, 1000, 2001, 1001, 1002]
    assert (np.diff(data.date) >= np.timedelta64(0)).all()
    assert len(data.y) == 17


def test_closed_days_are_counted_before_and_after(files):
    data = load_competition(files)
    assert column(data, "days_closed_after", 2) == [0, 1, 0, 0, 0, 0, 0, 0]
    assert column(data, "days_closed_before", 2) == [0, 0, 1, 0, 0, 0, 0, 0]
    assert column(data, "days_closed_after", 1) == [0] * 9


def test_competition_and_promo2_are_counted_from_their_start(files):
    data = load_competition(files)
    assert column(data, "competition_months", 1) == [2.0] * 9  # since November
    assert np.isnan(column(data, "competition_months", 2)).all()
    assert column(data, "promo2_weeks", 1) == [0.0] * 7 + [1.0] * 2  # since that very Monday
    assert column(data, "promo2_weeks", 2) == [-1.0] * 8
    assert column(data, "promo2", 1) == [2] * 9  # January starts a round
    assert column(data, "promo2", 2) == [0] * 8


def test_weather_and_search_interest_are_those_of_state_and_day(files):
    data = load_competition(files)
    states = list(WEATHER_FILE_OF)
    assert set(column(data, "temperature", 2)) == {states.index("HB,NI")}
    assert column(data, "wind", 1) == list(range(9))
    assert np.isnan(column(data, "cloud", 1)).all()
    # The week begins on Sunday.
    assert column(data, "search_interest", 1) == [70.0] * 6 + [80.0] * 3
    assert column(data, "search_interest_in_state", 1) == [31.0] * 6 + [41.0] * 3


def test_windows_are_six_weeks_and_lie_before_each_other(write_competition):
    data = load_competition(write_competition(days=100))
    train, test = data.window(weeks_ago=0)
    assert len(train) + len(test) == len(data.y)
    assert len(np.unique(data.date[test])) == 42
    _, before = data.window(weeks_ago=6)
    assert len(np.unique(data.date[before])) == 42
    assert data.date[before].max() < data.date[test].min()


def test_a_file_that_is_missing_is_named(files):
    (files / "external" / "weather" / "Hessen.csv").unlink()
    with pytest.raises(InputError, match=r"^external/weather/Hessen.csv is missing in"):
        load_competition(files)


def test_a_column_that_is_missing_is_named(files):
    (files / "store.csv").write_text("Store,Type\n1,a\n")
    with pytest.raises(InputError, match=r"store.csv' has no StoreType and no Assortment"):
        load_competition(files)
