"""The data of the Kaggle competition: what its files tell of a shop and a day, as columns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from catspace.exceptions import InputError, shorten
from catspace.storage.files import read_file
from catspace.storage.paths import expand

TEST_DAYS = 42

WEATHER = ("temperature", "humidity", "wind", "precipitation", "cloud")
SEARCH_INTEREST = ("search_interest", "search_interest_in_state")

WEATHER_FILE_OF = {
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
_WEATHER_NAMES = {
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
    """The competition's rows, oldest first."""

    # DataFrame of shape (n_samples, 26): 16 columns of dtype category, then 10 of floats
    X: pd.DataFrame
    y: np.ndarray  # float64 of shape (n_samples,): sales
    date: np.ndarray  # datetime64 of shape (n_samples,)

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
    folder = expand(path)
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
    categories: dict[str, Any] = {
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
        # After a store's last row nothing is known: only a Saturday is followed by a closed day.
        "days_closed_before": before.fillna(0).clip(0, _MOST_CLOSED_DAYS).astype(int),
        "days_closed_after": after.where(after.notna(), (rows["DayOfWeek"] == 6).astype(int))
        .astype(int)
        .clip(0, _MOST_CLOSED_DAYS),
        "weather": rows["weather"],
    }
    numbers: dict[str, Any] = {
        "competition_distance": np.log1p(rows["CompetitionDistance"].astype(float)),
        "competition_months": months.clip(-1, 24).astype(float),
        "promo2_weeks": promo2_weeks.clip(-1, 52).astype(float),
        **rows[[*WEATHER, *SEARCH_INTEREST]],
    }
    kinds = dict.fromkeys(categories, "category") | dict.fromkeys(numbers, "float64")
    return pd.DataFrame({**categories, **numbers}).astype(kinds)


def _weather(folder: Path) -> pd.DataFrame:
    parts = []
    for state, name in WEATHER_FILE_OF.items():
        part = _read(folder, (f"external/weather/{name}.csv",), ["Date", *_WEATHER_NAMES])
        parts.append(part.rename(columns=_WEATHER_NAMES).assign(State=state))
    weather = pd.concat(parts, ignore_index=True)
    return weather.assign(Date=pd.to_datetime(weather["Date"]))


def _trend(folder: Path) -> pd.DataFrame:
    """Return the search interest of each state and day; the files have a number for each week."""
    country = _weeks(folder, "Rossmann_DE.csv").rename("search_interest")
    parts = []
    for state in WEATHER_FILE_OF:
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
