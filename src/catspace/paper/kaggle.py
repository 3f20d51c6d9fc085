"""The Kaggle competition: learn from all but the last six weeks, forecast those, by RMSPE."""

import time
from collections.abc import Sequence

import numpy as np
import pandas as pd

from catspace.exceptions import InputError
from catspace.paper.competition import (
    SEARCH_INTEREST,
    WEATHER,
    CompetitionData,
    load_competition,
)
from catspace.paper.fitting import Progress, fit_network
from catspace.paper.printing import bar
from catspace.paper.protocol import scores
from catspace.paper.records import Record, prepare_folder, versions, write_json
from catspace.paper.request import Request

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
    "without weather and search interest": ("weather", *WEATHER, *SEARCH_INTEREST),
}
# What is forecast: by which views, and by how many networks of each.
ENTRIES: dict[str, tuple[tuple[str, ...], int]] = {
    **{f"one network, {view}": ((view,), 1) for view in VIEWS},
    "average of 5 networks of each view": (tuple(VIEWS), 5),
}


def run(request: Request) -> list[Record]:
    """Forecast the last six weeks by each entry, and write ``kaggle.json``."""
    if request.data is None:
        raise InputError(
            "The competition's experiment needs its files.",
            hint="name their folder with --data, or in the environment as CATSPACE_DATA.",
        )
    out, console = request.out, request.console
    prepare_folder(out)
    with console.status("reading the competition's files …"):
        data = load_competition(request.data)
    train, test = data.window(weeks_ago=0)
    n_categories = len(data.X.select_dtypes("category").columns)
    console.print(
        f"{len(train):,} rows to learn from, {len(test):,} of the last six weeks to be judged by; "
        f"{n_categories} categories and {len(data.X.columns) - n_categories} numbers."
    )
    records: list[Record] = []
    for name, (views, n_networks) in ENTRIES.items():
        with bar(console, name) as progress:
            record = compete(
                data,
                train,
                test,
                views=views,
                n_networks=n_networks,
                seed=request.seed,
                progress=progress,
            )
        records.append(record)
        console.print(
            f"{name}: RMSPE {record['rmspe']:.4f}, MAPE {record['mape']:.4f}, "
            f"fit {record['fit_seconds']:.0f} s",
            highlight=False,
        )
        write_json(out / "kaggle.json", records)
    console.print(f"Written: {out / 'kaggle.json'}")
    return records


def compete(
    data: CompetitionData,
    train: np.ndarray,
    test: np.ndarray,
    *,
    views: Sequence[str],
    n_networks: int,
    seed: int,
    progress: Progress,
) -> Record:
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
        Called with the share of the work that is done.
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
        "parameters": {**parameters, "views": list(views), "forecast_factor": FORECAST_FACTOR},
        "versions": versions(),
    }


def seen_by(view: str, X: pd.DataFrame) -> pd.DataFrame:
    """Return the table without the columns that a view leaves out."""
    return X.drop(columns=list(VIEWS[view]))


def forecast(medians: Sequence[np.ndarray]) -> np.ndarray:
    """Average forecasts on the scale that networks learn on, and lower them for the score.

    Examples
    --------
    >>> forecast([np.array([100.0]), np.array([400.0])])  # 0.985 of 200
    array([197.])
    """
    return np.asarray(FORECAST_FACTOR * np.exp(np.mean(np.log(medians), axis=0)))
