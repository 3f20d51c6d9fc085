"""The Kaggle competition: richer columns, all but the last six weeks to learn from, RMSPE."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from catspace.exceptions import InputError, shorten
from catspace.paper.fitting import Progress, fit_network
from catspace.paper.protocol import scores
from catspace.paper.runner import versions
from catspace.storage.files import read_file

TEST_DAYS = 42

# Chosen on the six weeks before the last ones, and on the six before those (docs/reproduction.md).
COMPETITION_NETWORK = {"target_transform": "log", "loss": "squared_error"}
# The competition's score divides by the truth, so a forecast that is too high costs more than one
# that is too low. Where errors are log-normal with standard deviation s, the best forecast is
# exp(-1.5 s²) of the median; s is about 0.1 in the six weeks that end six weeks before the end.
FORECAST_FACTOR = 0.985
# A view is all columns but those that it leaves out. Weather and search interest help to forecast
# some weeks and harm others, and which of the two cannot be known beforehand. Networks with and
# without them err differently, so that their average errs less than either.
VIEWS: dict[str, tuple[str, ...]] = {
    "all columns": (),
    "without weather and search interest": (
        "weather",
        "temperature",
        "humidity",
        "wind",
        "precipitation",
        "cloud",
        "search_interest",
        "search_interest_in_state",
    ),
}
# What is forecast: by which views, and by how many networks of each.
ENTRIES: dict[str, tuple[tuple[str, ...], int]] = {
    **{f"one network, {view}": ((view,), 1) for view in VIEWS},
    "average of 5 networks of each view": (tuple(VIEWS), 5),
}

CATEGORIES = (
    "store",
    "day_of_week",
    "promo",
    "year",
    "month",
    "day",
    "week",
    "state",
    "state_holiday",
    "school_holiday",
    "store_type",
    "assortment",
    "promo2",
    "days_closed_before",
    "days_closed_after",
    "weather",
)
NUMBERS = (
    "competition_distance",
    "competition_months",
    "promo2_weeks",
    "temperature",
    "humidity",
    "wind",
    "precipitation",
    "cloud",
    "search_interest",
    "search_interest_in_state",
)

_WEATHER_FILE_OF = {
    "BE": "Berlin",
    "BW": "BadenWuerttemberg",
    "BY": "Bayern",
    "HB,NI": "Niedersachsen",
    "HE": "Hessen",
    "HH": "Hamburg",
    "NW": "NordrheinWestfalen",
    "RP": "RheinlandPfalz",
    "SH": "SchleswigHolstein",
    "SN": "Sachsen",
    "ST": "SachsenAnhalt",
    "TH": "Thueringen",
}
_WEATHER = {
    "Mean_TemperatureC": "temperature",
    "Mean_Humidity": "humidity",
    "Mean_Wind_SpeedKm_h": "wind",
    "Precipitationmm": "precipitation",
    "CloudCover": "cloud",
    "Events": "weather",
}
_MOST_CLOSED_DAYS = 10


@dataclass(frozen=True)
class CompetitionData:
    """The competition's rows, oldest first.

    Attributes
    ----------
    X : DataFrame of shape (n_rows, 26)
    y : float64 array of shape (n_rows,)
        Sales.
    date : datetime64 array of shape (n_rows,)
    """

    X: pd.DataFrame
    y: np.ndarray
    date: np.ndarray

    def window(self, weeks_ago: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows before and those of six weeks that ended some weeks before the end."""
        end = self.date.max() - np.timedelta64(7 * weeks_ago, "D")
        start = end - np.timedelta64(TEST_DAYS, "D")
        return (
            np.flatnonzero(self.date <= start),
            np.flatnonzero((self.date > start) & (self.date <= end)),
        )


def load_competition(path: str | Path) -> CompetitionData:
    """Read all that the competition's files tell of a shop and a day.

    Parameters
    ----------
    path : str or Path
        A folder with Kaggle's ``train`` (CSV or Parquet) and ``store.csv``, and with
        ``store_states.csv``, ``external/weather`` and ``external/googletrend`` as they were
        shared on the competition's forum; or one that holds such a folder ``rossmann``.
    """
    folder = Path(path).expanduser()
    if (folder / "rossmann").is_dir():
        folder /= "rossmann"
    train = _read(
        folder,
        ("train.parquet", "train.csv"),
        ["Store", "Date", "DayOfWeek", "Open", "Sales", "Promo", "StateHoliday", "SchoolHoliday"],
    )
    store = _read(
        folder,
        ("store.csv",),
        [
            "Store",
            "StoreType",
            "Assortment",
            "CompetitionDistance",
            "CompetitionOpenSinceMonth",
            "CompetitionOpenSinceYear",
            "Promo2",
            "Promo2SinceWeek",
            "Promo2SinceYear",
            "PromoInterval",
        ],
    )
    states = _read(folder, ("store_states.csv",), ["Store", "State"])
    rows = train[(train["Open"] == 1) & (train["Sales"] > 0)]
    rows = rows.assign(Date=pd.to_datetime(rows["Date"]))
    rows = rows.sort_values(["Date", "Store"], ascending=[True, False], ignore_index=True)
    rows = rows.merge(store, on="Store", how="left", validate="many_to_one")
    rows = rows.merge(states, on="Store", how="left", validate="many_to_one")
    rows = rows.merge(_weather(folder), on=["State", "Date"], how="left", validate="many_to_one")
    rows = rows.merge(_trend(folder), on=["State", "Date"], how="left", validate="many_to_one")
    return CompetitionData(_features(rows), rows["Sales"].to_numpy(float), rows["Date"].to_numpy())


def compete(
    data: CompetitionData,
    train: np.ndarray,
    test: np.ndarray,
    *,
    views: Sequence[str],
    n_networks: int,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """Learn from some rows, forecast others, and return the record of it.

    Parameters
    ----------
    data : CompetitionData
    train, test : int arrays
        Positions of rows.
    views : sequence of str
        Names among `VIEWS`.
    n_networks : int
        How many networks learn from each view.
    seed : int
    progress : callable
        Is told the share of the work that is done.
    """
    parameters = {**COMPETITION_NETWORK, "n_networks": n_networks}
    medians, fit_seconds, predict_seconds = [], 0.0, 0.0
    for i, view in enumerate(views):
        X = seen_by(view, data.X)

        def share_of_all(share: float, n_done: int = i) -> None:
            progress((n_done + share) / len(views))

        start = time.perf_counter()
        model = fit_network(
            X.iloc[train], data.y[train], parameters, seed=seed, progress=share_of_all
        )
        fit_end = time.perf_counter()
        medians.append(model.predict(X.iloc[test]))
        fit_seconds += fit_end - start
        predict_seconds += time.perf_counter() - fit_end
    predicted = forecast(medians)
    return {
        "data": "rossmann",
        "split": "last six weeks",
        "method": "catspace",
        "encoding": "ee",
        **scores(data.y[test], predicted),
        "paper_mape": None,
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "rows": len(train),
        "test_rows": len(test),
        "seed": seed,
        "parameters": {
            **parameters,
            "views": list(views),
            "forecast_factor": FORECAST_FACTOR,
        },
        "versions": versions(),
    }


def seen_by(view: str, X: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that a view leaves in."""
    return X.drop(columns=list(VIEWS[view]))


def forecast(medians: Sequence[np.ndarray]) -> np.ndarray:
    """Average forecasts on the scale that networks learn on, and bend them to the score.

    Examples
    --------
    >>> forecast([np.array([100.0]), np.array([400.0])])  # 0.985 of 200
    array([197.])
    """
    return np.asarray(FORECAST_FACTOR * np.exp(np.mean(np.log(medians), axis=0)))


def _features(rows: pd.DataFrame) -> pd.DataFrame:
    date = rows["Date"].dt
    months = (date.year - rows["CompetitionOpenSinceYear"]) * 12 + (
        date.month - rows["CompetitionOpenSinceMonth"]
    )
    since = pd.to_datetime(
        rows["Promo2SinceYear"].fillna(2100).astype(int).astype(str)
        + rows["Promo2SinceWeek"].fillna(1).astype(int).astype(str).str.zfill(2)
        + "1",
        format="%G%V%u",
    )
    promo2_weeks = ((rows["Date"] - since).dt.days // 7).clip(lower=-1)
    restarts = [
        name in interval
        for name, interval in zip(
            date.strftime("%b"), rows["PromoInterval"].fillna("").astype(str), strict=True
        )
    ]
    # A shop is closed on the days that lie between two of its rows. That is known beforehand:
    # Kaggle's test file says which days are open.
    by_store = rows.groupby("Store")["Date"]
    before = (rows["Date"] - by_store.shift(1)).dt.days - 1
    after = (by_store.shift(-1) - rows["Date"]).dt.days - 1
    columns: dict[str, Any] = {
        "store": rows["Store"],
        "day_of_week": rows["DayOfWeek"],
        "promo": rows["Promo"],
        "year": date.year,
        "month": date.month,
        "day": date.day,
        "week": date.isocalendar().week,
        "state": rows["State"],
        "state_holiday": rows["StateHoliday"].astype(str),
        "school_holiday": rows["SchoolHoliday"],
        "store_type": rows["StoreType"],
        "assortment": rows["Assortment"],
        # Not taking part, taking part, and in a month in which a round starts.
        "promo2": np.where(promo2_weeks < 0, 0, 1 + np.array(restarts)),
        # On the last day nothing is known of the next: take it for an ordinary weekend.
        "days_closed_before": before.fillna(0).clip(0, _MOST_CLOSED_DAYS).astype(int),
        "days_closed_after": after.where(after.notna(), (rows["DayOfWeek"] == 6).astype(int))
        .astype(int)
        .clip(0, _MOST_CLOSED_DAYS),
        "weather": rows["weather"],
        "competition_distance": np.log1p(rows["CompetitionDistance"].astype(float)),
        "competition_months": months.clip(-1, 24).astype(float),
        "promo2_weeks": promo2_weeks.clip(-1, 52).astype(float),
        "temperature": rows["temperature"],
        "humidity": rows["humidity"],
        "wind": rows["wind"],
        "precipitation": rows["precipitation"],
        "cloud": rows["cloud"],
        "search_interest": rows["search_interest"],
        "search_interest_in_state": rows["search_interest_in_state"],
    }
    X = pd.DataFrame(columns)
    return X.astype(dict.fromkeys(CATEGORIES, "category") | dict.fromkeys(NUMBERS, float))


def _weather(folder: Path) -> pd.DataFrame:
    parts = []
    for state, name in _WEATHER_FILE_OF.items():
        part = _read(folder, (f"external/weather/{name}.csv",), ["Date", *_WEATHER])
        parts.append(part.rename(columns=_WEATHER).assign(State=state))
    weather = pd.concat(parts, ignore_index=True)
    return weather.assign(Date=pd.to_datetime(weather["Date"]))


def _trend(folder: Path) -> pd.DataFrame:
    """Return the search interest of each state and day; the files tell it by the week."""
    country = _weeks(folder, "Rossmann_DE.csv").rename("search_interest")
    parts = []
    for state in _WEATHER_FILE_OF:
        file = f"Rossmann_DE_{state.split(',')[-1]}.csv"
        both = pd.concat([country, _weeks(folder, file).rename("search_interest_in_state")], axis=1)
        parts.append(both.resample("D").ffill().rename_axis("Date").reset_index())
        parts[-1]["State"] = state
    return pd.concat(parts, ignore_index=True)


def _weeks(folder: Path, name: str) -> pd.Series:
    table = _read(folder, (f"external/googletrend/{name}",), [])
    week, interest = table.columns[:2]
    start = pd.to_datetime(table[week].str.slice(0, 10))
    end_of_last = pd.DatetimeIndex([start.iloc[-1] + pd.Timedelta(days=6)])
    values = table[interest].to_numpy(float)
    return pd.Series([*values, values[-1]], index=pd.DatetimeIndex(start).append(end_of_last))


def _read(folder: Path, names: tuple[str, ...], columns: list[str]) -> pd.DataFrame:
    found = [folder / name for name in names if (folder / name).exists()]
    if not found:
        raise InputError(
            f"{names[-1]} is missing in {str(folder)!r}.",
            hint="the competition's files are at "
            "https://www.kaggle.com/c/rossmann-store-sales/data; weather, search interest and "
            "states were shared on its forum and come with the authors' code, "
            "https://github.com/entron/entity-embedding-rossmann.",
        )
    frame: pd.DataFrame = read_file(found[0]).to_pandas()
    missing = [column for column in columns if column not in frame]
    if missing:
        raise InputError(
            f"{str(found[0])!r} has no {' and no '.join(missing)}; its columns are "
            f"{shorten(frame.columns)}."
        )
    return frame
