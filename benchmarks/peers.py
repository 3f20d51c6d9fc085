"""Score and seconds of catspace beside its peers, each with the settings that its makers recommend.

fastai's tabular learner, pytorch_tabular's category embeddings, RealMLP and TabM (pytabkit),
LightGBM and CatBoost; on Rossmann's two splits and on three tables of benchmarks/travel.py. All
learn the logarithm of sales on Rossmann, as catspace does. ``--minutes`` is the most that one fit
may take: a method whose own number of epochs takes longer runs as many as fit into that time, and
its row says how many of how many. Everything runs on the cores of this machine, without a GPU.

``arena`` is Rossmann by the protocol of the public benchmark BeyondArena (arXiv 2606.30410):
RMSE of open rows without `Customers`, three blocks of 42 days to test on, walking back from
2015-07-31, with a day between training and test; ``--blocks`` says which. The 54 open rows without
sales are not in the file that is read here.

It has an environment of its own: ``make peers``.
"""

import argparse
import logging
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import DATA, mape, print_table, rossmann_split, timed
from sklearn.metrics import log_loss, r2_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

SEED = 0
ARENA_DAYS, ARENA_BLOCKS = 42, (1, 2, 3)


@dataclass(frozen=True)
class Problem:
    """A table to learn from, and one to test on; the target is numbers, or classes 0 and 1."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    y_test: np.ndarray
    is_class: bool
    measure: str
    score: Callable[[np.ndarray, np.ndarray], float]
    is_log: bool = False  # the logarithm of the target is learned

    @property
    def goal(self) -> np.ndarray:
        """What methods learn."""
        return np.log(self.y) if self.is_log else self.y

    @property
    def categories(self) -> list[str]:
        """The columns that are categories."""
        return [name for name in self.X if not pd.api.types.is_numeric_dtype(self.X[name])]

    @property
    def numbers(self) -> list[str]:
        """The others."""
        return [name for name in self.X if name not in self.categories]

    def judge(self, predicted: np.ndarray) -> float:
        """Return the score of what was predicted for the rows to test on."""
        return self.score(self.y_test, np.exp(predicted) if self.is_log else predicted)


# Predictions of the test rows, what the table says of the training, and seconds that do not count
Answer = tuple[np.ndarray, str, float]
Method = Callable[[Problem, float], Answer]


def as_text(problem: Problem) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return both tables with categories as text, which all peers read."""
    kinds = dict.fromkeys(problem.categories, str)
    return problem.X.astype(kinds), problem.X_test.astype(kinds)


def epochs_within(minutes: float, wanted: int, fit: Callable[[int], Any]) -> tuple[Any, str, float]:
    """Fit with the epochs that are wanted, or with as many as there is time for.

    Returns
    -------
    model : object
    said : str
        How many epochs there were, where that is fewer.
    seconds : float
        That it took to find out, which are not the method's own.
    """
    _, one = timed(lambda: fit(1))
    n_epochs = max(1, min(wanted, math.floor(60 * minutes / one)))
    return fit(n_epochs), f"{n_epochs} of {wanted} epochs" if n_epochs < wanted else "", one


def catspace(n_networks: int) -> Method:
    def run(problem: Problem, minutes: float) -> Answer:
        from catspace import EmbeddingClassifier, EmbeddingRegressor

        if problem.is_class:
            classifier = EmbeddingClassifier(n_networks=n_networks, random_state=SEED)
            classifier.fit(problem.X, problem.y)
            return classifier.predict_proba(problem.X_test)[:, 1], "", 0.0
        model = EmbeddingRegressor(
            n_networks=n_networks,
            random_state=SEED,
            target_transform="log" if problem.is_log else None,
        ).fit(problem.X, problem.y)
        predicted = model.predict(problem.X_test)
        return np.log(predicted) if problem.is_log else predicted, "", 0.0

    return run


def lightgbm(problem: Problem, minutes: float) -> Answer:
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    kinds = {
        name: pd.CategoricalDtype(sorted({*problem.X[name].dropna()}, key=str))
        for name in problem.categories
    }
    X, X_test = problem.X.astype(kinds), problem.X_test.astype(kinds)
    fitting, judging, goal, judged = train_test_split(
        X, problem.goal, test_size=0.1, random_state=SEED
    )
    kind = LGBMClassifier if problem.is_class else LGBMRegressor
    model = kind(n_estimators=2000, learning_rate=0.05, random_state=SEED, verbose=-1)
    stop = early_stopping(50, verbose=False)
    model.fit(fitting, goal, eval_set=[(judging, judged)], callbacks=[stop])
    said = f"{model.best_iteration_} trees"
    answer = model.predict_proba(X_test)[:, 1] if problem.is_class else model.predict(X_test)
    return answer, said, 0.0


def catboost(problem: Problem, minutes: float) -> Answer:
    from catboost import CatBoostClassifier, CatBoostRegressor

    X, X_test = as_text(problem)
    kind = CatBoostClassifier if problem.is_class else CatBoostRegressor
    model = kind(
        cat_features=problem.categories, random_state=SEED, verbose=0, allow_writing_files=False
    ).fit(X, problem.goal)
    said = f"{model.tree_count_} trees"
    answer = model.predict_proba(X_test)[:, 1] if problem.is_class else model.predict(X_test)
    return answer, said, 0.0


def fastai(problem: Problem, minutes: float) -> Answer:
    """Take layers, dropout and decay as its course teaches them on this very data."""
    from fastai.tabular.all import (
        Categorify,
        CategoryBlock,
        FillMissing,
        Normalize,
        RandomSplitter,
        RegressionBlock,
        TabularPandas,
        set_seed,
        tabular_config,
        tabular_learner,
    )

    X, X_test = as_text(problem)
    X["goal"] = problem.goal

    def fit(n_epochs: int) -> Any:
        set_seed(SEED)
        table = TabularPandas(
            X.copy(),
            procs=[Categorify, FillMissing, Normalize],
            cat_names=list(problem.categories),
            cont_names=list(problem.numbers),
            y_names="goal",
            y_block=CategoryBlock() if problem.is_class else RegressionBlock(),
            splits=RandomSplitter(valid_pct=0.1, seed=SEED)(range(len(X))),
        )
        loaders = table.dataloaders(bs=512 if len(X) > 50_000 else 64)
        config = tabular_config(ps=[0.001, 0.01], embed_p=0.04)
        learner = tabular_learner(loaders, layers=[1000, 500], config=config, path=FOLDER)
        with learner.no_bar(), learner.no_logging():
            learner.fit_one_cycle(n_epochs, 1e-3, wd=0.2)
        return learner

    learner, said, spent = epochs_within(minutes, 5, fit)
    rows = learner.dls.test_dl(X_test)
    with learner.no_bar(), learner.no_logging():
        predicted = learner.get_preds(dl=rows)[0].numpy()
    return predicted[:, 1] if problem.is_class else predicted[:, 0], said, spent


def pytorch_tabular(problem: Problem, minutes: float) -> Answer:
    """Take what its README begins with; early stopping is its own default."""
    from pytorch_tabular import TabularModel
    from pytorch_tabular.config import DataConfig, OptimizerConfig, TrainerConfig
    from pytorch_tabular.models import CategoryEmbeddingModelConfig

    X, X_test = as_text(problem)
    X["goal"] = problem.goal

    def fit(n_epochs: int) -> Any:
        model = TabularModel(
            data_config=DataConfig(
                target=["goal"],
                continuous_cols=problem.numbers,
                categorical_cols=problem.categories,
                num_workers=0,
            ),
            model_config=CategoryEmbeddingModelConfig(
                task="classification" if problem.is_class else "regression",
                layers="1024-512-512",
                activation="LeakyReLU",
                learning_rate=1e-3,
            ),
            optimizer_config=OptimizerConfig(),
            trainer_config=TrainerConfig(
                batch_size=1024,
                max_epochs=n_epochs,
                accelerator="cpu",
                progress_bar="none",
                load_best=True,
                checkpoints_path=str(FOLDER),
                trainer_kwargs={"default_root_dir": str(FOLDER), "enable_model_summary": False},
            ),
            verbose=False,
            suppress_lightning_logger=True,
        )
        model.fit(train=X, seed=SEED)
        return model

    model, said, spent = epochs_within(minutes, 100, fit)
    predicted = model.predict(X_test)
    name = "goal_1_probability" if problem.is_class else "goal_prediction"
    return predicted[name].to_numpy(), said, spent


def pytabkit(kind: str, n_epochs: int) -> Method:
    def run(problem: Problem, minutes: float) -> Answer:
        import pytabkit

        X, X_test = as_text(problem)
        made = getattr(pytabkit, f"{kind}_{'Classifier' if problem.is_class else 'Regressor'}")

        def fit(n: int) -> Any:
            model = made(n_epochs=n, random_state=SEED, device="cpu", verbosity=0)
            return model.fit(X, problem.goal, cat_col_names=problem.categories)

        model, said, spent = epochs_within(minutes, n_epochs, fit)
        if problem.is_class:
            return model.predict_proba(X_test)[:, 1], said, spent
        return np.ravel(model.predict(X_test)), said, spent

    return run


METHODS: dict[str, Method] = {
    "catspace, one network": catspace(1),
    "catspace, five networks": catspace(5),
    "LightGBM": lightgbm,
    "CatBoost": catboost,
    "fastai": fastai,
    "pytorch_tabular": pytorch_tabular,
    "RealMLP": pytabkit("RealMLP_TD", 256),
    "TabM": pytabkit("TabM_D", 1_000),
}


def rossmann(kind: str) -> Iterator[Problem]:
    X, X_test, y, y_test = rossmann_split(kind)
    X, X_test = X.astype("category"), X_test.astype("category")
    yield Problem(f"Rossmann, {kind}", X, y, X_test, y_test, False, "MAPE", mape, is_log=True)


def from_travel(name: str) -> Iterator[Problem]:
    import travel

    frame, target = getattr(travel, name)()
    X, y = frame.drop(columns=target).reset_index(drop=True), frame[target]
    is_class = isinstance(y.dtype, pd.CategoricalDtype)
    goal = (y.cat.codes if is_class else y).to_numpy()
    train, test = next(travel.splits(len(goal), 1))
    measure, score = ("log loss", log_loss) if is_class else ("1 - R²", _unexplained)
    X_train, X_test = X.iloc[train], X.iloc[test]
    yield Problem(name, X_train, goal[train], X_test, goal[test], is_class, measure, score)


def arena(blocks: Sequence[int] = ARENA_BLOCKS) -> Iterator[Problem]:
    """Rossmann with all of its columns, tested on some of the last three times 42 days."""
    frame = pd.read_parquet(DATA / "rossmann" / "train.parquet").drop(columns="Customers")
    frame = frame.merge(pd.read_csv(DATA / "rossmann" / "store.csv"), on="Store")
    day = pd.to_datetime(frame.pop("Date"))
    parts = {"year": day.dt.year, "month": day.dt.month, "day": day.dt.day}
    frame = frame.assign(**parts, week=day.dt.isocalendar().week.astype(int))
    names = ["Store", "DayOfWeek", "Promo", "StateHoliday", "SchoolHoliday", "StoreType"]
    names += ["Assortment", "PromoInterval", *parts, "week"]
    frame = frame.drop(columns="Open", errors="ignore").astype(dict.fromkeys(names, "category"))
    X, y = frame.drop(columns="Sales"), frame["Sales"].to_numpy(dtype=float)
    for block in blocks:
        end = pd.Timestamp("2015-07-31") - pd.Timedelta(days=ARENA_DAYS * (block - 1))
        start = end - pd.Timedelta(days=ARENA_DAYS - 1)
        train, test = (day < start - pd.Timedelta(days=1)), day.between(start, end)
        name = f"arena, {start:%Y-%m-%d} on"
        X_test, y_test = X[test], y[test.to_numpy()]
        rmse = root_mean_squared_error
        yield Problem(
            name, X[train], y[train.to_numpy()], X_test, y_test, False, "RMSE", rmse, is_log=True
        )


TABLES: dict[str, Callable[[], Iterator[Problem]]] = {
    "shuffled": lambda: rossmann("shuffled"),
    "time": lambda: rossmann("time"),
    "bikeshare": lambda: from_travel("bikeshare"),
    "salaries": lambda: from_travel("salaries"),
    "mortgages": lambda: from_travel("mortgages"),
    "arena": arena,
}


def _unexplained(y: np.ndarray, predicted: np.ndarray) -> float:
    return 1 - r2_score(y, predicted)


def main(tables: list[str], methods: list[str], minutes: float) -> None:
    rows = []
    for table in tables:
        for problem in TABLES[table]():
            for name in methods:
                try:
                    (predicted, said, spent), seconds = timed(
                        lambda name=name, problem=problem: METHODS[name](problem, minutes)
                    )
                    found = f"{problem.judge(predicted):.4f}"
                    seconds -= spent
                except Exception as error:  # a peer that fails is a row of the table
                    found, said, seconds = "failed", f"{type(error).__name__}: {error}"[:60], 0.0
                row = [problem.name, problem.measure, name, found, f"{seconds:.1f}", said]
                rows.append(row)
                print(*row, flush=True)
    print()
    print_table(["table", "score", "method", "less is better", "seconds", "cut short"], rows)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], help="all but arena by default")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--minutes", type=float, default=10.0, help="the most for one fit")
    parser.add_argument(
        "--blocks", nargs="+", type=int, choices=ARENA_BLOCKS, default=ARENA_BLOCKS, help="of arena"
    )
    arguments = parser.parse_args()
    TABLES["arena"] = lambda: arena(arguments.blocks)
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = Path(folder)
        os.chdir(folder)  # where peers leave their logs
        everything = [name for name in TABLES if name != "arena"]
        main(arguments.tables or everything, arguments.methods, arguments.minutes)
