"""Small stand-ins for what the experiments take: files, networks, records."""

import io
import json

import pandas as pd
import pytest
from rich.console import Console

from catspace.paper import map as map_of_states
from catspace.paper import metric, request, subject
from catspace.paper.competition import WEATHER_FILE_OF
from catspace.paper.reproduce import reproduce

SMALL = {"hidden_layer_sizes": (32,), "max_epochs": 3, "n_networks": 2}


@pytest.fixture
def ask(monkeypatch, tmp_path):
    """Run an experiment with small networks on a small table."""
    monkeypatch.setattr(request, "_GENERATED_ROWS", 4_000)
    monkeypatch.setattr(request, "_GENERATED_STORES", 30)
    monkeypatch.setattr(metric, "_STORE_DIMS", (2, 5))
    trainings = {
        name: ({**parameters, **SMALL}, unseen)
        for name, (parameters, unseen) in map_of_states.TRAININGS.items()
    }
    monkeypatch.setattr(map_of_states, "TRAININGS", trainings)
    network = {**subject.PAPER_NETWORK, **SMALL}
    monkeypatch.setattr(subject, "PAPER_NETWORK", network)

    def run(experiment):
        console = Console(file=io.StringIO(), width=60)
        reproduce(experiment, data=None, rows=2_000, out=tmp_path, console=console)
        (tmp_path / "printed.txt").write_text(console.file.getvalue())
        return json.loads((tmp_path / f"{experiment}.json").read_text())

    return run


@pytest.fixture
def make_record():
    """Return a function that makes the record of a cell, with changes."""

    def make(**changes):
        return {
            "data": "rossmann",
            "split": "time",
            "method": "knn",
            "encoding": "raw",
            "rows": 200_000,
            "test_rows": 84_434,
            "seed": 0,
            "mape": 0.2876,
            "rmspe": 0.4,
            "paper_mape": 0.29,
            "difference": -0.0024,
            "fit_seconds": 1.25,
            "predict_seconds": 2.0,
            "parameters": {},
            **changes,
        }

    return make


@pytest.fixture
def write_competition(tmp_path):
    """Return a function that writes the competition's files for some days, and their folder."""

    def write(days):
        write_files(tmp_path, days)
        return tmp_path

    return write


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
    for i, name in enumerate(WEATHER_FILE_OF.values()):
        lines = [";".join(["Date", *names, "CloudCover", "Events"])]
        lines += [f"{date.date()};{i};{10 + i};{j};0.5;NA;Rain" for j, date in enumerate(dates)]
        (folder / "external" / "weather" / f"{name}.csv").write_text("\n".join(lines) + "\n")
    weeks = "Woche,Jan\n2014-12-28 - 2015-01-03,50\n2015-01-04 - 2015-01-10,{}\n2015-01-11 - x,{}\n"
    trend = folder / "external" / "googletrend"
    (trend / "Rossmann_DE.csv").write_text(weeks.format(70, 80))
    for state in WEATHER_FILE_OF:
        file = trend / f"Rossmann_DE_{state.split(',')[-1]}.csv"
        file.write_text(weeks.format(*((31, 41) if state == "HE" else (30, 40))))
