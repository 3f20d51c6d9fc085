"""scikit-learn's own checks, and the places where users plug estimators in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor

GOES_ON = (
    "partial_fit goes on from a model that is fitted: scales and sizes are those of the rows of "
    "fit, and the rows of an update are too few to tell them. These checks call it first; below "
    "they run on estimators that fit then."
)
# scikit-learn excuses its own stochastic estimators from the first one with the same words.
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": (
        "sample_weight is not equivalent to removing/repeating samples: batches are drawn at "
        "random, so another number of rows means other batches."
    ),
    "check_estimators_partial_fit_n_features": GOES_ON,
    "check_n_features_in_after_fitting": GOES_ON,
}
# And one that is not among those that are run by themselves.
CALL_IT_FIRST = [
    "check_dataframe_column_names_consistency",
    *(name for name, why in EXPECTED_FAILURES.items() if why == GOES_ON),
]


CHECKS = parametrize_with_checks(
    [
        EmbeddingRegressor(max_epochs=20),
        EmbeddingClassifier(max_epochs=20),
        EmbeddingEncoder(max_epochs=20),
        # Not cv=2, which asks for two rows of every class: some checks have one. Their tables are
        # numbers, so that fit_transform is fit and transform here too.
        EmbeddingEncoder(max_epochs=4, cv=KFold(2, shuffle=True, random_state=0)),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)


# scikit-learn 1.8 hands over a generator, where pytest wants a list.
@pytest.mark.parametrize(CHECKS.args[0], list(CHECKS.args[1]), **CHECKS.kwargs)
@pytest.mark.filterwarnings("ignore")  # the checks feed odd data, and warnings are right then
def test_scikit_learns_own_check(estimator, check):
    check(estimator)


class _Begins:
    """Fits where there is nothing to go on from, as the checks expect it."""

    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y) if hasattr(self, "fitted_") else self.fit(X, y)


class BeginningRegressor(_Begins, EmbeddingRegressor):
    pass


class BeginningClassifier(_Begins, EmbeddingClassifier):
    pass


class BeginningEncoder(_Begins, EmbeddingEncoder):
    pass


@pytest.mark.parametrize("name", CALL_IT_FIRST)
@pytest.mark.parametrize("kind", [BeginningRegressor, BeginningClassifier, BeginningEncoder])
@pytest.mark.filterwarnings("ignore")
def test_checks_that_call_partial_fit_first_hold_after_a_fit(kind, name):
    getattr(estimator_checks, name)(kind.__name__, kind(max_epochs=2))


FAST = {"max_epochs": 3, "random_state": 0}


def test_it_works_in_a_pipeline_in_front_of_neighbours_and_forests(shops):
    X, y = shops
    encoder = EmbeddingEncoder(random_state=0)
    for method in (KNeighborsRegressor(), RandomForestRegressor(20, random_state=0)):
        pipeline = make_pipeline(clone(encoder), method).fit(X[:500], y[:500])
        assert pipeline.score(X[500:], y[500:]) > 0.9


def test_it_works_in_a_column_transformer(shops):
    X, y = shops
    transformer = make_column_transformer(
        (EmbeddingEncoder(**FAST), ["town", "weekday"]),
        ("passthrough", ["price"]),
        verbose_feature_names_out=False,
    )
    features = transformer.fit_transform(X, y)
    assert features.shape[1] == len(transformer.get_feature_names_out())
    assert transformer.get_feature_names_out()[-1] == "price"


def test_it_works_in_a_grid_search_and_in_cross_validation(shops):
    X, y = shops
    search = GridSearchCV(EmbeddingRegressor(**FAST), {"embedding_dim": [1, 3]}, cv=2).fit(X, y)
    assert search.best_params_["embedding_dim"] in (1, 3)
    assert len(cross_val_score(EmbeddingRegressor(**FAST), X, y, cv=3)) == 3


@pytest.mark.parametrize("kind", [EmbeddingRegressor, EmbeddingEncoder])
def test_output_can_be_pandas_or_polars(shops, kind):
    X, y = shops
    model = kind(embedding_dim=2, **FAST).fit(X, y)
    names = ["town_0", "town_1", "weekday_0", "weekday_1", "price"]
    assert model.get_feature_names_out().tolist() == names
    as_pandas = model.set_output(transform="pandas").transform(X)
    as_polars = model.set_output(transform="polars").transform(X)
    assert isinstance(as_pandas, pd.DataFrame)
    assert isinstance(as_polars, pl.DataFrame)
    assert list(as_pandas.columns) == as_polars.columns == names
    np.testing.assert_array_equal(as_pandas.to_numpy(), as_polars.to_numpy())


def test_the_classifier_transforms_too(shops):
    X, y = shops
    model = EmbeddingClassifier(embedding_dim=2, **FAST).fit(X, y > 2)
    assert model.transform(X).shape == (len(X), 5)
