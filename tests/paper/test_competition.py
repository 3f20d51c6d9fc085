"""The competition's columns, on files small enough to work out by hand."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from catspace.exceptions import InputError
from catspace.paper import competition
from catspace.paper.competition import (
    CATEGORIES,
    NUMBERS,
    VIEWS,
    CompetitionData,
    compete,
    forecast,
    load_competition,
    seen_by,
)
from catspace.paper.protocol import rmspe
from catspace.paper.reproduce import reproduce

STATES = competition._WEATHER_FILE_OF


def write_files(folder, days):
    """Write two shops; the second is closed on the third day."""
    dates = pd.date_range("2015-01-05", periods=days)  # a Monday
    rows = [
        {
            "Store": store,
            "DayOfWeek": date.isoweekday(),
            "Date": date.date().isoformat(),
            "Sales": 0 if (store, i) == (2, 2) else 1000 * store + i,
            "Customers": 1,
            "Open": int((store, i) != (2, 2)),
            "Promo": i % 2,
            "StateHoliday": "a" if i == 1 else "0",
            "SchoolHoliday": 0,
        }
        for i, date in enumerate(dates)
        for store in (1, 2)
    ]
    pd.DataFrame(rows).sort_values("Date", ascending=False).to_csv(
        folder / "train.csv", index=False
    )
    (folder / "store.csv").write_text(
        "Store,StoreType,Assortment,CompetitionDistance,CompetitionOpenSinceMonth,"
        "CompetitionOpenSinceYear,Promo2,Promo2SinceWeek,Promo2SinceYear,PromoInterval\n"
        '1,c,a,1270,11,2014,1,2,2015,"Jan,Apr,Jul,Oct"\n'
        "2,a,c,,,,0,,,\n"
    )
    (folder / "store_states.csv").write_text('Store,State\n1,HE\n2,"HB,NI"\n')
    (folder / "external" / "weather").mkdir(parents=True)
    (folder / "external" / "googletrend").mkdir()
    names = ["Mean_TemperatureC", "Mean_Humidity", "Mean_Wind_SpeedKm_h", "Precipitationmm"]
    for i, name in enumerate(STATES.values()):
        lines = [";".join(["Date", *names, "CloudCover", "Events"])]
        lines += [f"{date.date()};{i};{10 + i};{j};0.5;NA;Rain" for j, date in enumerate(dates)]
        (folder / "external" / "weather" / f"{name}.csv").write_text("\n".join(lines) + "\n")
    weeks = "Woche,Jan\n2014-12-28 - 2015-01-03,50\n2015-01-04 - 2015-01-10,{}\n2015-01-11 - x,{}\n"
    trend = folder / "external" / "googletrend"
    (trend / "Rossmann_DE.csv").write_text(weeks.format(70, 80))
    for state in STATES:
        file = trend / f"Rossmann_DE_{state.split(',')[-1]}.csv"
        file.write_text(weeks.format(*((31, 41) if state == "HE" else (30, 40))))


@pytest.fixture
def small_network(monkeypatch):
    small = {"target_transform": "log", "max_epochs": 1}
    monkeypatch.setattr(competition, "COMPETITION_NETWORK", small)


def compete_with(views, data, progress=lambda share: None):
    """Forecast the last six weeks with one network of each view."""
    return compete(
        data, *data.window(weeks_ago=0), views=views, n_networks=1, seed=0, progress=progress
    )


@pytest.fixture
def files(tmp_path):
    write_files(tmp_path, days=9)
    return tmp_path


def column(data, name, store):
    return data.X.loc[data.X["store"] == store, name].tolist()


def test_rows_are_the_open_days_in_order_of_time(files):
    data = load_competition(files)
    assert list(data.X.columns) == [*CATEGORIES, *NUMBERS]
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
    states = list(STATES)
    assert set(column(data, "temperature", 2)) == {states.index("HB,NI")}
    assert column(data, "wind", 1) == list(range(9))
    assert np.isnan(column(data, "cloud", 1)).all()
    # The week begins on Sunday.
    assert column(data, "search_interest", 1) == [70.0] * 6 + [80.0] * 3
    assert column(data, "search_interest_in_state", 1) == [31.0] * 6 + [41.0] * 3


def test_windows_are_six_weeks_and_lie_before_each_other(tmp_path):
    write_files(tmp_path, days=100)
    data = load_competition(tmp_path)
    train, test = data.window(weeks_ago=0)
    assert len(train) + len(test) == len(data.y)
    assert len(np.unique(data.date[test])) == 42
    _, before = data.window(weeks_ago=6)
    assert len(np.unique(data.date[before])) == 42
    assert data.date[before].max() < data.date[test].min()


def test_every_view_leaves_out_columns_that_there_are_and_no_others(files):
    X = load_competition(files).X
    weather, search = ("weather", *NUMBERS[3:8]), NUMBERS[8:]
    assert list(VIEWS.values()) == [(), (*weather, *search)]
    for view, left_out in VIEWS.items():
        assert list(seen_by(view, X)) == [name for name in X if name not in left_out]


def test_a_view_forecasts_the_same_whatever_the_columns_say_that_it_leaves_out(
    tmp_path, small_network
):
    write_files(tmp_path, days=60)
    data = load_competition(tmp_path)
    other = CompetitionData(data.X.assign(temperature=np.arange(len(data.y))), data.y, data.date)

    def scores(view):
        return [compete_with([view], each)["rmspe"] for each in (data, other)]

    with_weather, without = VIEWS
    assert len(set(scores(with_weather))) == 2
    assert len(set(scores(without))) == 1


def test_forecasts_are_averaged_in_logarithms_and_a_little_lower():
    found = forecast([np.array([100.0, 50.0]), np.array([400.0, 50.0])])
    np.testing.assert_allclose(found, competition.FORECAST_FACTOR * np.array([200.0, 50.0]))


def test_several_views_are_averaged_and_their_progress_adds_up(
    tmp_path, monkeypatch, small_network
):
    write_files(tmp_path, days=60)
    data = load_competition(tmp_path)
    averaged = []
    monkeypatch.setattr(
        competition, "forecast", lambda medians: averaged.append(medians) or forecast(medians)
    )
    shares = []
    record = compete_with(list(VIEWS), data, progress=shares.append)
    for view in VIEWS:
        compete_with([view], data)
    together, *alone = averaged
    np.testing.assert_array_equal(together, [medians for (medians,) in alone])
    _, test = data.window(weeks_ago=0)
    assert record["rmspe"] == rmspe(data.y[test], forecast(together))
    assert shares == [0.5, 1.0]


def test_the_experiment_writes_a_record_of_each_view_and_of_their_average(tmp_path, small_network):
    write_files(tmp_path, days=60)
    console = Console(file=io.StringIO(), width=120)
    records = reproduce("kaggle", data=tmp_path, out=tmp_path / "out", console=console)
    found = [(r["parameters"]["views"], r["parameters"]["n_networks"]) for r in records]
    assert found == [([view], 1) for view in VIEWS] + [(list(VIEWS), 5)]
    assert all(record["rmspe"] > record["mape"] > 0 for record in records)
    assert json.loads((tmp_path / "out" / "kaggle.json").read_text(encoding="utf-8")) == records
    assert "one network, all columns: RMSPE " in console.file.getvalue()


def test_a_file_that_is_missing_is_named(files):
    (files / "external" / "weather" / "Hessen.csv").unlink()
    with pytest.raises(InputError, match=r"^external/weather/Hessen.csv is missing in"):
        load_competition(files)


def test_a_column_that_is_missing_is_named(files):
    (files / "store.csv").write_text("Store,Type\n1,a\n")
    with pytest.raises(InputError, match=r"store.csv' has no StoreType and no Assortment"):
        load_competition(files)


def test_without_data_there_is_no_competition(tmp_path):
    with pytest.raises(InputError, match=r"^The competition's experiment needs its files"):
        reproduce("kaggle", data=None, out=tmp_path / "out")
