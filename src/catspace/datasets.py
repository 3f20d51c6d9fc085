"""Sales that are generated, and the loader of the data that the paper uses."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from catspace.data.frames import make_frame
from catspace.exceptions import InputError, shorten

FEATURES = ("store", "day_of_week", "promo", "year", "month", "day", "state")

# The twelve states of the Rossmann data, with the latitude and longitude of their centres in
# degrees, to a tenth or so. Bremen and Lower Saxony are one value there.
STATE_CENTRES: dict[str, tuple[float, float]] = {
    "BE": (52.5, 13.4), "BW": (48.5, 9.0), "BY": (48.9, 11.4), "HB,NI": (52.8, 9.4),
    "HE": (50.6, 9.0), "HH": (53.6, 10.0), "NW": (51.5, 7.6), "RP": (49.9, 7.4),
    "SH": (54.2, 9.8), "SN": (51.1, 13.4), "ST": (52.0, 11.7), "TH": (50.9, 11.0),
}  # fmt: skip
# Roughly the share of the shops that each state has.
_STATE_SHARE = np.array([8, 11, 16, 10, 10, 3, 25, 4, 10, 7, 5, 7]) / 116

_FIRST_DAY, _N_DAYS = np.datetime64("2013-01-01"), 942  # to 2015-07-31, as in the paper


@dataclass(frozen=True)
class SalesTruth:
    """What `make_sales` put into its data, to compare with what a model finds.

    Attributes
    ----------
    store_effect : float array of shape (n_stores,)
        Of stores 1, 2, …, on log(sales), the state's part included.
    store_state : str array of shape (n_stores,)
    state_effect : dict of state to float
        On log(sales).
    state_coordinates : dict of state to (latitude, longitude)
        In degrees. Season, Christmas and promotion act by these, smoothly.

    Examples
    --------
    >>> from catspace import make_sales
    >>> truth = make_sales(n_rows=1_000, n_stores=10).truth
    >>> truth.store_effect.shape, truth.state_coordinates["BE"]
    ((10,), (52.5, 13.4))
    """

    store_effect: np.ndarray
    store_state: np.ndarray
    state_effect: Mapping[str, float]
    state_coordinates: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class SalesData:
    """Daily sales of shops: the paper's seven features and the target, oldest day first.

    Attributes
    ----------
    X : frame of shape (n_samples, 7)
        store, day_of_week (1 is Monday), promo, year, month, day, state. The integer columns are
        categories in pandas and Arrow; polars has no integer categories, so there they are named:
        ``categorical_features=list(X.columns)``.
    y : float64 array of shape (n_samples,)
        Sales.
    truth : SalesTruth or None
        Only of generated data.

    Examples
    --------
    >>> from catspace import make_sales
    >>> sales = make_sales(n_rows=1_000, n_stores=10, backend="pandas")
    >>> list(sales.X.columns), sales.y.shape
    (['store', 'day_of_week', 'promo', 'year', 'month', 'day', 'state'], (1000,))
    """

    X: Any
    y: np.ndarray
    truth: SalesTruth | None = None


def make_sales(
    n_rows: int = 200_000,
    *,
    n_stores: int = 1115,
    random_state: int = 0,
    backend: str | None = None,
) -> SalesData:
    """Generate daily sales that look like the paper's, with effects that are known.

    Log sales are the sum of a store's size and type, its state, the weekday, a promotion that
    works best on Mondays, paydays, the season, Christmas, growth, and heavy-tailed noise. Season,
    Christmas and promotion depend on where a state lies, so that its place on the map can be
    learned from sales alone.

    Parameters
    ----------
    n_rows : int, default=200_000
        Number of samples: at most one for each store and day, 942 days less most Sundays.
    n_stores : int, default=1115
    random_state : int, default=0
    backend : {"pandas", "polars", "pyarrow"}, optional
        The kind of frame; by default the first of these that is installed.

    Returns
    -------
    SalesData

    Examples
    --------
    >>> sales = make_sales(n_rows=1_000, n_stores=10)
    >>> sales.X.shape, sales.y.shape
    ((1000, 7), (1000,))
    """
    random = np.random.default_rng(random_state)
    truth, is_open_on_sunday = _draw_stores(n_stores, random)

    day_index = np.arange(_N_DAYS)
    is_sunday = _weekday(day_index) == 7
    cells = np.flatnonzero(~is_sunday[:, None] | is_open_on_sunday)  # (day, store), flattened
    if not 1 <= n_rows <= len(cells):
        raise InputError(
            f"n_rows must be between 1 and {len(cells)} for {n_stores} stores; got {n_rows}.",
            hint="more stores make more rows.",
        )
    chosen = random.choice(cells, size=n_rows, replace=False)
    day, store = np.divmod(chosen, n_stores)
    order = np.lexsort((-store, day))  # the paper's order: oldest first, store number falling
    day, store = day[order], store[order]

    date = _FIRST_DAY + day
    month_start = date.astype("datetime64[M]")
    year = date.astype("datetime64[Y]").astype(int) + 1970
    month = month_start.astype(int) % 12 + 1
    day_of_month = (date - month_start).astype(int) + 1
    weekday = _weekday(day)
    promo = ((day // 7) % 2 == 0) & (weekday <= 5)

    place = np.array([STATE_CENTRES[state] for state in truth.store_state])[store]
    north = (place[:, 0] - 51.3) / 1.8
    east = (place[:, 1] - 10.3) / 2.0
    log_sales = (
        8.75
        + truth.store_effect[store]
        + np.array([0.15, 0.0, -0.03, -0.02, 0.05, -0.05, -0.25])[weekday - 1]
        + promo * (0.27 + 0.12 * (weekday == 1) - 0.05 * (weekday == 5) + 0.08 * east)
        + 0.07 * ((day_of_month <= 2) | (day_of_month >= 30))
        + 0.04 * (np.abs(day_of_month - 16) <= 1)
        + (0.05 + 0.06 * north) * np.sin(2 * np.pi * (month - 4) / 12)
        + (month == 12)
        * np.where(day_of_month <= 24, (0.25 + 0.1 * east) * day_of_month / 24, -0.1)
        + (0.03 + 0.015 * east) * (day / 365)
        + 0.08 * random.standard_t(df=4, size=n_rows)
    )
    columns = {
        "store": store + 1,
        "day_of_week": weekday,
        "promo": promo.astype(int),
        "year": year,
        "month": month,
        "day": day_of_month,
        "state": truth.store_state[store],
    }
    return SalesData(_frame(columns, backend), np.exp(log_sales).round(), truth)


def load_rossmann(path: str | Path, *, backend: str | None = None) -> SalesData:
    """Read the Rossmann Store Sales data of Kaggle as the paper uses it.

    Days on which a shop was closed or sold nothing are left out.

    Parameters
    ----------
    path : str or Path
        A folder with ``train`` (as ``.csv``, ``.csv.zip``, ``.zip`` or ``.parquet``) and
        ``store_states.csv``, or one that holds such a folder ``rossmann``.
    backend : {"pandas", "polars", "pyarrow"}, optional
        The kind of frame; by default the first of these that is installed.

    Returns
    -------
    SalesData

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> from pathlib import Path
    >>> from catspace import load_rossmann
    >>> with tempfile.TemporaryDirectory() as folder:  # in place of Kaggle's files
    ...     train = ["Store,DayOfWeek,Date,Sales,Open,Promo", "1,5,2015-07-31,5263,1,1"]
    ...     states = ["Store,State", "1,HE"]
    ...     _ = Path(folder, "train.csv").write_text(os.linesep.join(train))
    ...     _ = Path(folder, "store_states.csv").write_text(os.linesep.join(states))
    ...     sales = load_rossmann(folder)
    >>> list(sales.X.columns), sales.y
    (['store', 'day_of_week', 'promo', 'year', 'month', 'day', 'state'], array([5263.]))
    """
    folder = Path(path)
    if (folder / "rossmann").is_dir():
        folder /= "rossmann"
    wanted = ["Store", "DayOfWeek", "Date", "Sales", "Open", "Promo"]
    train = _read(
        folder,
        "train",
        wanted,
        "it is train.csv of the Kaggle competition rossmann-store-sales "
        "(https://www.kaggle.com/c/rossmann-store-sales/data)",
    )
    states = _read(
        folder,
        "store_states",
        ["Store", "State"],
        "it was shared on the competition's forum and comes with the authors' code "
        "(https://github.com/entron/entity-embedding-rossmann)",
    )
    is_used = pc.and_(pc.equal(train["Open"], 1), pc.greater(train["Sales"], 0))
    train = train.filter(is_used).sort_by([("Date", "ascending"), ("Store", "descending")])
    position = pc.index_in(train["Store"], value_set=states["Store"].cast(train["Store"].type))
    if position.null_count:
        lost = train.filter(pc.is_null(position))["Store"].unique().to_pylist()
        raise InputError(f"store_states.csv has no state for the stores {shorten(sorted(lost))}.")
    date = train["Date"]
    columns = {
        "store": train["Store"].to_numpy(),
        "day_of_week": train["DayOfWeek"].to_numpy(),
        "promo": train["Promo"].to_numpy(),
        "year": pc.year(date).to_numpy(),
        "month": pc.month(date).to_numpy(),
        "day": pc.day(date).to_numpy(),
        "state": states["State"].take(position).to_numpy(),
    }
    return SalesData(_frame(columns, backend), train["Sales"].to_numpy().astype(np.float64))


def _draw_stores(n_stores: int, random: np.random.Generator) -> tuple[SalesTruth, np.ndarray]:
    states = np.array(list(STATE_CENTRES))
    # The first twelve stores lie in different states, so that no state is without a store.
    state = np.concatenate([np.arange(len(states)), random.choice(12, n_stores, p=_STATE_SHARE)])
    state = random.permutation(state[:n_stores])
    latitude, longitude = np.array(list(STATE_CENTRES.values())).T
    state_effect = 0.05 * (latitude - 51.3) / 1.8 - 0.1 * (longitude - 10.3) / 2.0
    kind = random.choice(4, size=n_stores, p=[0.54, 0.02, 0.13, 0.31])
    size = np.array([0.0, 0.5, 0.02, -0.04])[kind] + random.normal(0, 0.3, size=n_stores)
    truth = SalesTruth(
        size + state_effect[state],
        states[state],
        dict(zip(states.tolist(), state_effect.tolist(), strict=True)),
        STATE_CENTRES,
    )
    return truth, random.random(n_stores) < 0.03


def _weekday(day_index: np.ndarray) -> np.ndarray:
    return (day_index + 1) % 7 + 1  # 2013-01-01 was a Tuesday


def _frame(columns: Mapping[str, np.ndarray], backend: str | None) -> Any:
    arrays = {
        name: pa.array(values) if name == "state" else pa.array(values).dictionary_encode()
        for name, values in columns.items()
    }
    if backend not in (None, "pandas", "polars", "pyarrow"):
        raise InputError(f'backend must be "pandas", "polars" or "pyarrow"; got {backend!r}.')
    return make_frame(arrays, backend or "")


def _read(folder: Path, name: str, columns: list[str], origin: str) -> pa.Table:
    for ending in (".parquet", ".csv", ".csv.zip", ".zip"):
        file = folder / f"{name}{ending}"
        if file.exists():
            break
    else:
        raise InputError(
            f"{name}.csv is missing in {str(folder)!r}.", hint=f"{origin}; put it there."
        )
    try:
        table = _read_columns(file, name)
    except (pa.ArrowInvalid, zipfile.BadZipFile, KeyError) as error:
        raise InputError(f"{str(file)!r} cannot be read: {error}") from None
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise InputError(
            f"{str(file)!r} has no {' and no '.join(missing)}; its columns are "
            f"{shorten(table.column_names)}.",
            hint=f"is it another file? {origin}.",
        )
    return table.select(columns)


def _read_columns(file: Path, name: str) -> pa.Table:
    if file.suffix == ".parquet":
        return pyarrow.parquet.read_table(file)
    # The first rows of StateHoliday are all 0, some later ones are letters: read it as text.
    convert = pyarrow.csv.ConvertOptions(column_types={"StateHoliday": pa.string()})
    if file.suffix == ".csv":
        return pyarrow.csv.read_csv(file, convert_options=convert)
    with zipfile.ZipFile(file) as archive:
        content = archive.read(f"{name}.csv")
    return pyarrow.csv.read_csv(io.BytesIO(content), convert_options=convert)
