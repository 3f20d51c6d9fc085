"""What was chosen for the competition, judged by weeks before those that it is judged by.

Two validation windows of six weeks: the one that ends six weeks before the end of the data, and
the one that ends twelve weeks before it. Each network learns from all that lies before its window.
The last six weeks are not touched.
"""

import numpy as np
from common import DATA, print_table, timed

from catspace.paper.competition import load_competition
from catspace.paper.fitting import fit_network
from catspace.paper.kaggle import COMPETITION_NETWORK, VIEWS, forecast, seen_by
from catspace.paper.protocol import rmspe

WEEKS_AGO = (6, 12)


def medians(data, train, judged, view, **changes):
    """Return what one network of a view expects of the judged rows."""
    X = seen_by(view, data.X)
    parameters = {**COMPETITION_NETWORK, "n_networks": 1, **changes}
    model, seconds = timed(
        lambda: fit_network(
            X.iloc[train], data.y[train], parameters, seed=0, progress=lambda share: None
        )
    )
    print(f"  {len(train):,} rows, {view} {changes or ''}: {seconds:.0f} s", flush=True)
    return model.predict(X.iloc[judged])


def scores(data, weeks_ago):
    """Return the RMSPE of each choice in one window."""
    train, judged = data.window(weeks_ago)
    with_weather, without = VIEWS
    absolute = medians(data, train, judged, with_weather, loss="absolute_error")
    both = {view: medians(data, train, judged, view) for view in VIEWS}
    forecasts = {
        "all columns, absolute error, as the networks say": absolute,
        "all columns, as the networks say": both[with_weather],
        "all columns, absolute error": forecast([absolute]),
        "all columns": forecast([both[with_weather]]),
        without: forecast([both[without]]),
        "both views, averaged": forecast(list(both.values())),
    }
    return {name: rmspe(data.y[judged], found) for name, found in forecasts.items()}


def main():
    data = load_competition(DATA)
    found = [scores(data, weeks_ago) for weeks_ago in WEEKS_AGO]
    print("\nValidation RMSPE, one network of each view\n")
    rows = [
        [
            name,
            *(f"{window[name]:.4f}" for window in found),
            f"{np.mean([w[name] for w in found]):.4f}",
        ]
        for name in found[0]
    ]
    print_table(["forecast", *(f"ends {weeks} weeks before" for weeks in WEEKS_AGO), "mean"], rows)


if __name__ == "__main__":
    main()
