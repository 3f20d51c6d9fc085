"""The methods that the paper compares, with its parameters, and methods of today."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from catspace.paper import fitting
from catspace.paper.protocol import PAPER_DIMS

Fit = Callable[[fitting.Task], fitting.Fitted]


@dataclass(frozen=True)
class Method:
    """One row of the tables."""

    name: str
    label: str
    inputs: Mapping[str, str]  # the encodings in which the method is run, and what it takes in each
    fit: Fit
    parameters: Mapping[str, Any]


def _on_frames(name: str, label: str, fit: Fit, **parameters: Mapping[str, Any]) -> Method:
    """Return a method that takes frames, with its parameters for each encoding."""
    return Method(name, label, dict.fromkeys(parameters, "frames"), fit, parameters)


def _on_codes_and_vectors(name: str, label: str, fit: Fit, parameters: Mapping[str, Any]) -> Method:
    """Return a method that takes codes or vectors, with the same parameters for both."""
    inputs = {"raw": "codes", "ee": "vectors"}
    return Method(name, label, inputs, fit, dict.fromkeys(inputs, parameters))


# The network of the paper, as published.
PAPER_NETWORK = {
    "embedding_dim": PAPER_DIMS,
    "hidden_layer_sizes": (1000, 500),
    "activation": "relu",
    "dropout": 0,
    "loss": "absolute_error",
    "target_transform": "paper",
    "initialization": "uniform",
    "optimizer": "adam",
    "schedule": "constant",
    "learning_rate": 1e-3,
    "batch_size": 128,
    "max_epochs": 10,
    "n_networks": 5,
}
_ONE_HOT = {**PAPER_NETWORK, "embedding_dim": "auto", "input_encoding": "onehot"}
_EXTRA_LAYER = (sum(PAPER_DIMS.values()), *PAPER_NETWORK["hidden_layer_sizes"])  # type: ignore[misc]

_CATSPACE = {"target_transform": "log", "n_networks": 5, "smooth": "auto"}
_MEDIAN = {"by": ("store", "day_of_week", "promo")}
_KNN = {"n_neighbors": 10, "weights": "distance", "p": 1}
_TREE = {"min_samples_leaf": 5, "ccp_alphas": [0.0, 1e-7, 3e-7, 1e-6, 3e-6, 1e-5]}
_FOREST = {"n_estimators": 200, "max_depth": 35, "min_samples_split": 2, "min_samples_leaf": 1}
_XGBOOST = {
    "max_depth": 10,
    "eta": 0.02,
    "objective": "reg:squarederror",  # called reg:linear in the paper's time
    "colsample_bytree": 0.7,
    "subsample": 0.7,
    "num_boost_round": 3000,
    # The paper's xgboost tried every split. With more bins than there are stores, the histogram
    # does too.
    "tree_method": "hist",
    "max_bin": 2048,
}
_LIGHTGBM = {
    "objective": "regression",
    "learning_rate": 0.05,
    "num_leaves": 255,
    "max_rounds": 2000,
    "patience": 50,
}
_CATBOOST = {
    "loss_function": "RMSE",
    "learning_rate": 0.1,
    "depth": 10,
    "iterations": 1000,
    "patience": 50,
}

METHODS = {
    method.name: method
    for method in [
        _on_frames("median", "historical median", fitting.fit_median, raw=_MEDIAN),
        _on_frames(
            "network", "neural network", fitting.fit_networks, raw=_ONE_HOT, ee=PAPER_NETWORK
        ),
        _on_frames(
            "network_extra_layer",
            "one-hot network, extra layer",
            fitting.fit_networks,
            raw={**_ONE_HOT, "hidden_layer_sizes": _EXTRA_LAYER},
        ),
        _on_codes_and_vectors("knn", "KNN", fitting.fit_knn, _KNN),
        _on_codes_and_vectors("tree", "decision tree, pruned", fitting.fit_tree, _TREE),
        _on_codes_and_vectors("random_forest", "random forest", fitting.fit_forest, _FOREST),
        _on_codes_and_vectors("xgboost", "gradient boosted trees", fitting.fit_xgboost, _XGBOOST),
        _on_frames("lightgbm", "LightGBM, native categories", fitting.fit_lightgbm, raw=_LIGHTGBM),
        _on_frames("catboost", "CatBoost, native categories", fitting.fit_catboost, raw=_CATBOOST),
        _on_frames("catspace", "catspace, its defaults", fitting.fit_networks, ee=_CATSPACE),
    ]
}
