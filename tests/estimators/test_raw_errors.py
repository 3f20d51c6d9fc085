"""What used to end in an error of somebody else: a sentence, or it just works."""

import datetime
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import catspace
from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor
from catspace.exceptions import CatspaceError, InputError, ParameterError

X = pd.DataFrame({"town": ["a", "b", "c"] * 10, "size": np.arange(30.0)})
y = np.arange(30.0)
FAST = {"max_epochs": 1, "random_state": 0, "smooth": 1.0, "hidden_layer_sizes": (8,)}


@pytest.fixture(scope="module")
def model():
    return EmbeddingRegressor(**FAST).fit(X, y)


def test_records_as_json_has_them_are_read_by_name(model):
    records = X.to_dict("records")
    np.testing.assert_array_equal(model.predict(records), model.predict(X))
    turned = [{"size": record["size"], "id": 7, "town": record["town"]} for record in records]
    np.testing.assert_array_equal(model.predict(turned), model.predict(X))
    fitted = EmbeddingRegressor(**FAST).fit(records, y)
    np.testing.assert_array_equal(fitted.predict(X), model.predict(X))


def test_what_a_record_does_not_have_is_missing(model):
    some = model.predict([{"town": "a"}, {"town": "a", "size": 3.0}])
    np.testing.assert_array_equal(
        some, model.predict(pd.DataFrame({"town": ["a", "a"], "size": [np.nan, 3.0]}))
    )
    with pytest.raises(InputError, match=r"yet now missing:\n- size"):
        model.predict([{"town": "a"}])
    with pytest.raises(InputError, match=r"'town' must be a list of values; got 'a'\.\nHint: one "):
        model.predict({"town": "a", "size": 3.0})


@pytest.mark.parametrize(
    ("parameter", "value", "sentence"),
    [
        ("verbose", None, r"^verbose must be 0, 1 or 2; got None\."),
        ("n_jobs", "x", r"^n_jobs must be an int other than 0, or None; got 'x'\."),
        ("n_jobs", 0, r"^n_jobs must be an int other than 0, or None; got 0\."),
        ("device", "meta", r"^device must be .*; got 'meta' \(it has no memory\)\."),
        ("device", 2**70, r"^device must be .*; got 1180591620717411303424 \("),
        ("random_state", -1, r"^random_state must be an int from 0 to 2\*\*32 - 1, .*; got -1\."),
        ("random_state", "x", r"^random_state must be an int from 0 to .*; got 'x'\."),
    ],
)
def test_parameters_of_the_wrong_kind_are_refused_in_a_sentence(model, parameter, value, sentence):
    with pytest.raises(ParameterError, match=sentence):
        EmbeddingRegressor(**{**FAST, parameter: value}).fit(X, y)
    if parameter in ("n_jobs", "device"):
        set_later = EmbeddingRegressor(**FAST).fit(X, y).set_params(**{parameter: value})
        with pytest.raises(ParameterError, match=sentence):
            set_later.predict(X)


KEPT = {
    "decimals": ([Decimal(1), Decimal(2)], [1.0, 2.0]),
    "truth values in objects": (np.array([True, False], dtype=object), [False, True]),
    "bytes": ([b"a", b"b"], [b"a", b"b"]),
    "text of numpy": (np.array(["a", "b"], dtype=np.dtypes.StringDType()), ["a", "b"]),
    "points in time": (pd.to_datetime(["2020-01-01", "2020-01-02"]).to_numpy(), None),
}


@pytest.mark.parametrize(("labels", "classes"), KEPT.values(), ids=KEPT)
def test_labels_of_many_types_are_learned_saved_and_loaded(labels, classes, tmp_path):
    model = EmbeddingClassifier(**FAST).fit(X, np.tile(labels, 15))
    assert classes is None or model.classes_.tolist() == classes
    model.save(tmp_path / "m.catspace")
    loaded = catspace.load(tmp_path / "m.catspace")
    assert loaded.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "labels",
    [
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        [datetime.time(1), datetime.time(2)],
        [uuid.UUID(int=1), uuid.UUID(int=2)],
        [2**70, 2**70 + 1],
        [Decimal("12345678901234567890"), Decimal("12345678901234567891")],
    ],
)
def test_labels_that_would_merge_or_have_no_form_are_refused(labels):
    values = np.empty(30, dtype=object)
    values[:] = labels * 15
    with pytest.raises(
        InputError, match=r"^Unknown label type: the target holds .*\nHint: turn th"
    ):
        EmbeddingClassifier(**FAST).fit(X, values)


def test_decimals_with_fractions_are_numbers_where_the_target_says():
    values = [Decimal(i) / 8 for i in range(30)]
    assert EmbeddingEncoder(**FAST).fit(X, values).target_type_ == "continuous"


@pytest.mark.parametrize("dtype", [object, str])
def test_labels_of_validation_that_fit_has_not_met_are_named_with_those_of_fit(dtype):
    labels = np.array(["a", "b"] * 15, dtype=dtype)
    with pytest.raises(CatspaceError, match=r"class 0, which fit has not met: .*were \['a', 'b'\]"):
        EmbeddingClassifier(**FAST).fit(X, labels, X_val=X, y_val=np.tile([0, 1], 15))
