"""How each method is fitted: a function takes a `Task` and returns what predicts the test rows.

xgboost, LightGBM and CatBoost are imported when they are needed.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import mean_absolute_percentage_error
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from catspace.estimators import EmbeddingRegressor
from catspace.exceptions import CatspaceError, InterruptedWarning
from catspace.paper.neighbours import HammingNeighbours
from catspace.paper.protocol import Features, Problem

Progress = Callable[[float], None]
_QUERY_ROWS = 2_000  # of nearest neighbours, between two reports of progress


@dataclass(frozen=True)
class Task:
    """What a method is asked to do."""

    problem: Problem
    encoding: str  # {"raw", "ee"}
    features: Features  # frames, codes or vectors, whichever the method takes in this encoding
    parameters: Mapping[str, Any]
    progress: Progress  # called with the share that is done, from 0 to 1

    @property
    def target(self) -> np.ndarray:
        """The logarithm of the sales of the training rows."""
        return np.asarray(np.log(self.problem.y_train))


@dataclass(frozen=True)
class Fitted:
    """A fitted method: `predict` returns the sales of the test rows."""

    predict: Callable[[Progress], np.ndarray]
    model: EmbeddingRegressor | None = None
    chosen: Mapping[str, Any] = field(default_factory=dict)


def _in_logs(model: Any, features: Any, **chosen: Any) -> Fitted:
    """Wrap a regressor that has learned the logarithm of the sales."""
    return Fitted(lambda progress: np.exp(model.predict(features)), chosen=chosen)


def fit_median(task: Task) -> Fitted:
    """Predict the median sales of the training rows with the same values."""
    by = list(task.parameters["by"])
    train = task.features.train.assign(sales=task.problem.y_train)
    medians = train.groupby(by, observed=True)["sales"].median().rename("median")

    def predict(progress: Progress) -> np.ndarray:
        found = task.features.test.join(medians, on=by)["median"]
        return np.asarray(found.fillna(train["sales"].median()))

    return Fitted(predict)


def fit_knn(task: Task) -> Fitted:
    """Fit nearest neighbours, on one-hot rows or on vectors."""
    if task.encoding == "raw":
        hamming = HammingNeighbours(task.parameters["n_neighbors"])
        hamming.fit(task.features.train, task.target)
        return Fitted(lambda progress: np.exp(hamming.predict(task.features.test, progress)))
    model = KNeighborsRegressor(**task.parameters, algorithm="brute", n_jobs=-1)
    model.fit(task.features.train, task.target)

    def predict(progress: Progress) -> np.ndarray:
        blocks = []
        for begin in range(0, len(task.features.test), _QUERY_ROWS):
            blocks.append(model.predict(task.features.test[begin : begin + _QUERY_ROWS]))
            progress(begin / len(task.features.test))
        return np.asarray(np.exp(np.concatenate(blocks)))

    return Fitted(predict)


def fit_tree(task: Task) -> Fitted:
    """Fit one tree; how far it is pruned back is chosen on the validation rows."""
    held_back, alphas = task.problem.validation, task.parameters["ccp_alphas"]
    X, target = task.features.train, task.target
    errors = []
    # scikit-learn prunes in time that grows with the square of the leaves: start with fewer.
    settings = {
        "min_samples_leaf": task.parameters["min_samples_leaf"],
        "random_state": task.problem.seed,
    }
    for i, alpha in enumerate(alphas):
        tree = DecisionTreeRegressor(ccp_alpha=alpha, **settings)
        tree.fit(X[~held_back], target[~held_back])
        predicted = np.exp(tree.predict(X[held_back]))
        errors.append(mean_absolute_percentage_error(np.exp(target[held_back]), predicted))
        task.progress((i + 1) / (len(alphas) + 1))
    best = alphas[int(np.argmin(errors))]
    tree = DecisionTreeRegressor(ccp_alpha=best, **settings).fit(X, target)
    return _in_logs(tree, task.features.test, ccp_alpha=best)


def fit_forest(task: Task) -> Fitted:
    """Fit a random forest, ten trees at a time, to report progress."""
    parameters = dict(task.parameters)
    n_trees = parameters.pop("n_estimators")
    forest = RandomForestRegressor(
        **parameters, n_estimators=0, warm_start=True, n_jobs=-1, random_state=task.problem.seed
    )
    for n_grown in [*range(10, n_trees, 10), n_trees]:
        forest.set_params(n_estimators=n_grown).fit(task.features.train, task.target)
        task.progress(n_grown / n_trees)
    return _in_logs(forest, task.features.test)


def fit_xgboost(task: Task) -> Fitted:
    """Fit xgboost."""
    xgboost = _import("xgboost", "xgboost-cpu")
    parameters = dict(task.parameters)
    n_rounds = parameters.pop("num_boost_round")

    class Report(xgboost.callback.TrainingCallback):  # type: ignore[misc, name-defined]
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            task.progress((epoch + 1) / n_rounds)
            return False

    train = xgboost.QuantileDMatrix(
        task.features.train.astype(np.float32), task.target, max_bin=parameters["max_bin"]
    )
    booster = xgboost.train(
        {**parameters, "seed": task.problem.seed}, train, n_rounds, callbacks=[Report()]
    )
    test = task.features.test.astype(np.float32)
    return Fitted(lambda progress: np.exp(booster.inplace_predict(test)))


def fit_network(
    X: Any, y: np.ndarray, parameters: Mapping[str, Any], *, seed: int, progress: Progress
) -> EmbeddingRegressor:
    """Fit a regressor, and report the share of its epochs that is done.

    Ctrl-C raises KeyboardInterrupt: a network that was stopped early is no result.
    """
    # Paper: every vector is left to its own rows. What is to be smoothed says so.
    model = EmbeddingRegressor(**{"smooth": 0, **parameters}, random_state=seed)
    n_done = 0

    def on_epoch(epoch: Mapping[str, Any]) -> None:
        nonlocal n_done
        n_done += 1
        progress(n_done / (epoch["max_epochs"] * parameters["n_networks"]))

    with warnings.catch_warnings():
        warnings.simplefilter("error", InterruptedWarning)
        try:
            return model.fit(X, y, on_epoch=on_epoch)
        except InterruptedWarning:
            raise KeyboardInterrupt from None


def fit_networks(task: Task) -> Fitted:
    """Fit networks of catspace."""
    model = fit_network(
        task.features.train,
        task.problem.y_train,
        task.parameters,
        seed=task.problem.seed,
        progress=task.progress,
    )
    return Fitted(lambda progress: model.predict(task.features.test), model)


def fit_lightgbm(task: Task) -> Fitted:
    """Fit LightGBM; the number of trees is chosen by early stopping on the validation rows."""
    lightgbm = _import("lightgbm")
    parameters = {**task.parameters, "seed": task.problem.seed, "verbosity": -1}
    limit, patience = parameters.pop("max_rounds"), parameters.pop("patience")
    X, target, held_back = task.features.train, task.target, task.problem.validation

    def report(environment: Any) -> None:
        task.progress((environment.iteration + 1) / (2 * limit))

    fit_rows = lightgbm.Dataset(X[~held_back], target[~held_back])
    stopped = lightgbm.train(
        parameters,
        fit_rows,
        limit,
        valid_sets=[lightgbm.Dataset(X[held_back], target[held_back], reference=fit_rows)],
        callbacks=[lightgbm.early_stopping(patience, verbose=False), report],
    )
    n_rounds = stopped.best_iteration
    booster = lightgbm.train(parameters, lightgbm.Dataset(X, target), n_rounds)
    return _in_logs(booster, task.features.test, num_boost_round=n_rounds)


def fit_catboost(task: Task) -> Fitted:
    """Fit CatBoost; the number of trees is chosen by early stopping on the validation rows."""
    catboost = _import("catboost")
    parameters = {
        **task.parameters,
        "random_seed": task.problem.seed,
        "cat_features": list(task.features.train.columns),
        "allow_writing_files": False,
        "logging_level": "Silent",
    }
    patience = parameters.pop("patience")
    X, target, held_back = task.features.train, task.target, task.problem.validation

    class Report:
        def after_iteration(self, info: Any) -> bool:
            task.progress(info.iteration / (2 * parameters["iterations"]))
            return True

    stopped = catboost.CatBoostRegressor(**parameters)
    stopped.fit(
        X[~held_back],
        target[~held_back],
        eval_set=(X[held_back], target[held_back]),
        early_stopping_rounds=patience,
        callbacks=[Report()],
    )
    n_rounds = stopped.tree_count_
    model = catboost.CatBoostRegressor(**{**parameters, "iterations": n_rounds})
    model.fit(X, target)
    return _in_logs(model, task.features.test, iterations=n_rounds)


def _import(module: str, package: str | None = None) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise CatspaceError(
            f"This experiment needs {package or module}.",
            hint='install it with: pip install "catspace[paper]"',
        ) from None
