import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingClassifier
from catspace.analysis import model_distance, observed_distance
from catspace.exceptions import InputError, InputTypeError
from tests.analysis.helpers import matrix


def test_the_observed_distance_is_worked_out_by_hand():
    X = pd.DataFrame(
        {
            "shop": ["a", "b", "a", "b", "c", "a", "d"],
            "day": [1, 1, 2, 2, 2, 3, 9],
        }
    )
    y = [10.0, 13.0, 20.0, 21.0, 30.0, 99.0, 5.0]
    found = observed_distance(X, y, "shop")
    assert found.categories == ["a", "b", "c", "d"]
    assert found.values[0, 1] == 2  # (3 + 1) / 2
    assert found.values[0, 2] == 10
    assert found.values[1, 2] == 9
    assert np.isnan(found.values[0, 3])  # they never met
    assert found.contexts[0, 1] == 2
    assert (np.diag(found.values) == 0).all()


def test_several_rows_of_a_context_count_by_their_mean():
    X = {"shop": ["a", "a", "b"], "day": [1, 1, 1]}
    assert observed_distance(X, [1.0, 3.0, 7.0], "shop").values[0, 1] == 5


def test_rows_whose_target_is_missing_do_not_count():
    X = {"shop": ["a", "a", "b", "a", "c", None], "day": [1, 1, 1, 2, 2, 1]}
    found = observed_distance(X, [1.0, None, 7.0, 4.0, None, 9.0], "shop")
    assert found.values[0, 1] == 6
    assert np.isnan(found.values[0, 2])
    assert found.contexts[0].tolist() == [1, 1, 0]


def test_columns_that_the_category_fixes_can_be_ignored():
    X = {"shop": ["a", "b"], "town": ["x", "y"], "day": [1, 1]}
    assert np.isnan(observed_distance(X, [1.0, 2.0], "shop").values[0, 1])
    assert observed_distance(X, [1.0, 2.0], "shop", ignore=["town"]).values[0, 1] == 1


def test_the_models_distance_is_its_naive_definition(model, sales):
    found = model_distance(model, sales.X, "state", n_contexts=20, transform=np.log)
    rows = np.sort(np.random.default_rng(0).choice(len(sales.X), size=20, replace=False))
    contexts = sales.X.iloc[rows]
    f = {s: np.log(model.predict(contexts.assign(state=s))) for s in found.categories}
    for i, p in enumerate(found.categories):
        for j, q in enumerate(found.categories):
            assert found.values[i, j] == pytest.approx(np.abs(f[p] - f[q]).mean(), abs=1e-6)


def test_a_classifier_is_asked_for_its_probabilities(shops):
    X, y = shops
    labels = np.where(y > np.median(y), "high", "low")
    classifier = EmbeddingClassifier(random_state=0).fit(X, labels)
    found = model_distance(classifier, X, "town", n_contexts=50)
    rows = np.sort(np.random.default_rng(0).choice(len(X), size=50, replace=False))
    p, q = (classifier.predict_proba(X.iloc[rows].assign(town=t)) for t in found.categories[:2])
    assert found.values[0, 1] == pytest.approx(np.abs(p - q).sum(axis=1).mean(), abs=1e-6)


def test_a_matrix_is_a_frame_of_pairs():
    found = matrix([[0, 1, np.nan], [1, 0, 2], [np.nan, 2, 0]], ["a", "b", "c"]).to_frame()
    assert found["category_a"].tolist() == ["a", "a", "b"]
    assert found["category_b"].tolist() == ["b", "c", "c"]
    assert found["distance"].tolist()[::2] == [1, 2]
    assert np.isnan(found["distance"][1])


def test_what_cannot_be_measured_is_a_sentence(model, sales):
    with pytest.raises(InputTypeError, match=r"^A fitted model that predicts is needed"):
        model_distance(model.embeddings_, sales.X, "state")
    with pytest.raises(InputError, match=r"^The table has no column 'sate'. Did you mean 'state'"):
        observed_distance(sales.X, sales.y, "sate")
    many = {"id": np.arange(20_001), "day": np.zeros(20_001)}
    with pytest.raises(InputError, match=r"^All distances between 20,001 categories do not fit"):
        observed_distance(many, np.zeros(20_001), "id")
