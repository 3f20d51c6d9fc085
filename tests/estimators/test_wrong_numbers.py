"""Numbers that cannot be computed with: a right answer or a sentence, never NaN."""

import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingClassifier, EmbeddingRegressor
from catspace.exceptions import CatspaceError

random = np.random.default_rng(0)
N = 100
y = random.normal(size=N)
TOWNS = random.choice(list("abcd"), N)
LABELS = np.where(y > 0, "yes", "no")
FAST = {"max_epochs": 1, "random_state": 0, "smooth": 1.0, "hidden_layer_sizes": (8,)}


def fit(x=None, y=y, weight=None, X_val=None, **options):
    X = pd.DataFrame({"town": TOWNS} if x is None else {"town": TOWNS, "x": x})
    given = {name: options.pop(name) for name in ("y_val", "sample_weight_val") if name in options}
    return EmbeddingRegressor(**FAST, **options).fit(X, y, weight, X_val=X_val, **given)


@pytest.mark.parametrize(
    "x",
    [
        np.where(y > 0, 1.7e308, -1.7e308),
        np.where(y > 0, 1.0, 1.7e308),
        1e307 * y,
        1e-150 * y,
        1e-310 * y,
    ],
    ids=["both ends", "one end", "large", "small", "denormal"],
)
def test_columns_of_any_size_give_finite_predictions(x):
    model = fit(x)
    for new in (x, np.full(N, 1.7e308), np.full(N, -1.7e308), np.full(N, 1e-320)):
        X = pd.DataFrame({"town": TOWNS, "x": new})
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.transform(X)).all()


def test_large_numbers_are_scaled_like_small_ones():
    small, large = fit(y), fit(y * 2.0**1000)
    X = pd.DataFrame({"town": TOWNS, "x": y})
    np.testing.assert_allclose(
        small.predict(X), large.predict(X.assign(x=y * 2.0**1000)), rtol=1e-6
    )


def test_bins_of_large_numbers_are_finite():
    model = fit(y * 5e307, discretize={"x": 4})
    assert model.embeddings_["x"].vocabulary.n_categories == 4


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (lambda: fit(y=y * 1e307), "The target holds 1.25"),
        (lambda: fit(y=y * 1e200), "and squares of such numbers cannot be added."),
        (lambda: fit(y=["1_000"] * N), "The target must hold numbers; got '1_000' first."),
        (
            lambda: fit(X_val=pd.DataFrame({"town": TOWNS}), y_val=np.full(N, 1e100)),
            "The target holds 1e+100 in row 0, and squares of such numbers cannot be added.",
        ),
        (lambda: fit(weight=np.full(N, 1e308)), "sample_weight holds 1e+308, and weights past 1e"),
        (
            lambda: fit(
                X_val=pd.DataFrame({"town": TOWNS}), y_val=y, sample_weight_val=np.full(N, 1e40)
            ),
            "sample_weight holds 1e+40, which is too much for rows to be judged by.",
        ),
        (
            lambda: fit(x=np.where(y > 0, 1e300, 1.0), discretize={"x": "tree"}),
            'discretize="tree" cuts numbers up to 3.4e38, and a column has larger ones.',
        ),
    ],
)
def test_targets_and_weights_that_cannot_be_added_are_refused(action, sentence):
    with pytest.raises(CatspaceError) as caught:
        action()
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("class_weight", "sentence"),
    [
        ({"yes": -1, "no": 1}, r"^class_weight\['yes'\] must be a number at least 0 and below 1e"),
        ({"yes": np.nan}, r"^class_weight\['yes'\] must be a number .*; got nan\."),
        ({"yes": np.inf}, r"^class_weight\['yes'\] must be a number .*; got inf\."),
        ({"yes": "x"}, r"^class_weight\['yes'\] must be a number .*; got 'x'\."),
        ({"yes": None}, r"^class_weight\['yes'\] must be a number .*; got None\."),
        ({"yes": 1e308, "no": 1e308}, r"^class_weight\['yes'\] must be a number .*; got 1e\+308"),
        ({"yes": 0, "no": 0}, r"^class_weight must not be 0 for all classes; got "),
        ({"maybe": 1}, r"^class_weight does not fit the target: The classes, \['no', 'yes'\]"),
    ],
)
def test_class_weights_that_make_no_sense_are_refused(class_weight, sentence):
    model = EmbeddingClassifier(class_weight=class_weight, **FAST)
    with pytest.raises(CatspaceError, match=sentence):
        model.fit(pd.DataFrame({"town": TOWNS}), LABELS)
