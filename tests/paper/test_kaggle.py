import io
import json

import numpy as np
import pytest
from rich.console import Console

from catspace.exceptions import InputError
from catspace.paper import kaggle
from catspace.paper.competition import CompetitionData, load_competition
from catspace.paper.kaggle import VIEWS, compete, forecast, seen_by
from catspace.paper.protocol import rmspe
from catspace.paper.reproduce import reproduce


@pytest.fixture
def small_network(monkeypatch):
    small = {"target_transform": "log", "max_epochs": 1}
    monkeypatch.setattr(kaggle, "COMPETITION_NETWORK", small)


def compete_with(views, data, progress=lambda share: None):
    """Forecast the last six weeks with one network of each view."""
    return compete(
        data, *data.window(weeks_ago=0), views=views, n_networks=1, seed=0, progress=progress
    )


def test_every_view_leaves_out_columns_that_there_are_and_no_others(write_competition):
    X = load_competition(write_competition(days=9)).X
    weather = ("weather", "temperature", "humidity", "wind", "precipitation", "cloud")
    search = ("search_interest", "search_interest_in_state")
    assert list(VIEWS.values()) == [(), (*weather, *search)]
    for view, left_out in VIEWS.items():
        assert list(seen_by(view, X)) == [name for name in X if name not in left_out]


def test_a_view_forecasts_the_same_whatever_the_columns_say_that_it_leaves_out(
    write_competition, small_network
):
    data = load_competition(write_competition(days=60))
    other = CompetitionData(data.X.assign(temperature=np.arange(len(data.y))), data.y, data.date)

    def scores(view):
        return [compete_with([view], each)["rmspe"] for each in (data, other)]

    with_weather, without = VIEWS
    assert len(set(scores(with_weather))) == 2
    assert len(set(scores(without))) == 1


def test_forecasts_are_averaged_in_logarithms_and_a_little_lower():
    found = forecast([np.array([100.0, 50.0]), np.array([400.0, 50.0])])
    np.testing.assert_allclose(found, kaggle.FORECAST_FACTOR * np.array([200.0, 50.0]))


def test_several_views_are_averaged_and_their_progress_adds_up(
    write_competition, monkeypatch, small_network
):
    data = load_competition(write_competition(days=60))
    averaged = []
    monkeypatch.setattr(
        kaggle, "forecast", lambda medians: averaged.append(medians) or forecast(medians)
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


def test_the_experiment_writes_a_record_of_each_view_and_of_their_average(
    write_competition, tmp_path, small_network
):
    console = Console(file=io.StringIO(), width=120)
    data = write_competition(days=60)
    records = reproduce("kaggle", data=data, out=tmp_path / "out", console=console)
    found = [(r["parameters"]["views"], r["parameters"]["n_networks"]) for r in records]
    assert found == [([view], 1) for view in VIEWS] + [(list(VIEWS), 5)]
    assert all(record["rmspe"] > record["mape"] > 0 for record in records)
    assert json.loads((tmp_path / "out" / "kaggle.json").read_text(encoding="utf-8")) == records
    assert "one network, all columns: RMSPE " in console.file.getvalue()


def test_without_data_there_is_no_competition(tmp_path):
    with pytest.raises(InputError, match=r"^The competition's experiment needs its files"):
        reproduce("kaggle", data=None, out=tmp_path / "out")
