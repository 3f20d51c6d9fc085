"""Tables and labels of odd kinds mean what they hold, are kept as they are, or are refused."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

import catspace
from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor
from catspace.exceptions import InputError, ParameterError

QUICK = {"max_epochs": 1, "smooth": 4, "random_state": 0, "pairs": None}
X = pd.DataFrame({"a": list("abcd") * 10})
Y = np.arange(40.0)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["maybe"] * 4 + ["no", "yes"] * 18)[4:],  # as wide as one that is not there
        np.array(["no", "yes"] * 18).astype("U50"),
        np.array([b"no", b"yes"] * 18).astype("S50"),
        np.array([1, 2] * 18, dtype=">i4"),
        np.array([1, 2] * 18, dtype=np.longdouble),
        np.array(["2020", "2021"] * 18, dtype="M8[Y]"),
        np.array(["2020-01-01T01", "2020-01-01T02"] * 18, dtype="M8[h]"),
        np.array([1, 2] * 18, dtype="m8[W]"),
        np.array([True, False] * 18),
        np.array(["no", "yes"] * 18, dtype=object),
    ],
    ids=lambda labels: labels.dtype.str,
)
def test_a_classifier_that_was_saved_can_be_loaded_whatever_its_labels_are(labels, tmp_path):
    model = EmbeddingClassifier(**QUICK).fit(X[:36], labels)
    model.save(tmp_path / "a.catspace")
    loaded = catspace.load(tmp_path / "a.catspace")
    np.testing.assert_array_equal(loaded.classes_, np.unique(labels))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    "labels", [["\ud800", "b"] * 20, np.array([1, 2] * 20).astype("m8[M]")], ids=["text", "months"]
)
def test_labels_that_no_file_can_hold_are_refused_before_anything_is_learned(labels):
    with pytest.raises(InputError, match="labels that no model file can hold"):
        EmbeddingClassifier(**QUICK).fit(X, np.array(labels))


@pytest.mark.parametrize("values", [{0: "a", 1: "b"}, b"ab", {"a", "b"}, "ab", 3])
def test_a_column_of_a_dict_is_a_list(values):
    with pytest.raises(InputError, match="Column 'a' must be a list of values"):
        EmbeddingRegressor(**QUICK).fit({"a": values}, [1.0, 2.0])


def test_names_that_read_the_same_are_refused_in_dicts_too():
    with pytest.raises(InputError, match=r"more than once: \['1'\]"):
        EmbeddingRegressor(**QUICK).fit({1: ["a"] * 10, "1": ["b"] * 10}, np.arange(10.0))


def test_a_record_batch_is_a_table_with_names():
    batch = pa.RecordBatch.from_pandas(X)
    model = EmbeddingRegressor(**QUICK).fit(batch, Y)
    assert [*model.embeddings_] == ["a"]
    np.testing.assert_array_equal(model.predict(X), model.predict(batch))


@pytest.mark.parametrize(
    "numbers",
    [
        pd.Series([0, 3] * 20, dtype="Sparse[int]"),
        pd.Series([0.5, np.nan] * 20, dtype="Sparse[float]"),
        pl.Series([1, None] * 20, dtype=pl.Int128),
    ],
    ids=["sparse", "sparse with gaps", "of 128 bits"],
)
def test_numbers_are_numbers_in_whatever_they_come(numbers):
    table = (
        pd.DataFrame({"n": numbers}) if isinstance(numbers, pd.Series) else numbers.to_frame("n")
    )
    model = EmbeddingRegressor(**QUICK).fit(table, Y)
    assert [*model.embeddings_] == []


@pytest.mark.parametrize(
    "values",
    [
        pa.array([b"ab", b"cd", b"\xff\xff", b"ef"] * 10, pa.binary(2)).dictionary_encode(),
        *(
            pa.array([*map(Decimal, (1, 2, 3, 4))] * 10, getattr(pa, name)(5, 2))
            for name in ("decimal32", "decimal64", "decimal128")
            if hasattr(pa, name)  # which the first are not in every version of Arrow
        ),
    ],
    ids=lambda values: str(values.type),
)
def test_types_that_arrow_knows_little_of_are_read(values):
    model = EmbeddingRegressor(categorical_features=["v"], **QUICK).fit(pa.table({"v": values}), Y)
    assert len(model.embeddings_["v"].categories) == 4


def test_infinity_is_refused_where_numbers_are_cut_into_bins_as_everywhere():
    table = {"n": np.r_[[np.inf] * 20, np.arange(20.0)]}
    with pytest.raises(InputError, match="Column 'n' holds infinity, first in row 0"):
        EmbeddingRegressor(discretize={"n": 4}, **QUICK).fit(table, Y)
    model = EmbeddingRegressor(discretize={"n": 4}, **QUICK).fit({"n": Y}, Y)
    with pytest.raises(InputError, match="Column 'n' holds infinity"):
        model.predict({"n": [np.inf]})


def test_forms_of_dates_are_for_text_and_not_silently_left_out():
    days = pd.date_range("2020", periods=40).strftime("%Y%m%d").astype(int)
    model = EmbeddingRegressor(date_formats={"day": "%Y%m%d"}, date_parts=["month"], **QUICK)
    with pytest.raises(InputError, match="date_formats names 'day', which holds integers"):
        model.fit(pd.DataFrame({"day": days}), Y)


def test_a_target_far_from_zero_is_learned_as_far_as_doubles_tell_it():
    y = 1e13 + np.repeat([0.0, 8.0], 200)
    table = {"a": np.repeat(["low", "high"], 200)}
    model = EmbeddingRegressor(max_epochs=30, smooth=0, random_state=0).fit(table, y)
    low, high = model.predict({"a": ["low", "high"]})
    assert high - low > 4


def test_rows_that_count_for_nothing_do_not_shift_the_numbers_of_the_others():
    y, weight = Y.copy(), np.ones(40)
    weight[:10], y[20] = 0, np.nan
    with pytest.raises(InputError, match=r"Input y contains NaN \(1 in all\)"):
        EmbeddingRegressor(**QUICK).fit(X, y, sample_weight=weight)


def test_rows_that_judge_must_have_a_target():
    with pytest.raises(InputError, match=r"X_val was passed without y_val\."):
        EmbeddingRegressor(**QUICK).fit(X, Y, X_val=X)


def test_rows_that_judge_must_count():
    model = EmbeddingRegressor(early_stopping=True, **QUICK)
    with pytest.raises(InputError, match="The rows that judge epochs weigh nothing"):
        model.fit(X, Y, X_val=X, y_val=Y, sample_weight_val=np.full(40, 5e-324))


def test_more_rows_of_a_class_that_counts_for_nothing_are_refused():
    labels = np.array(["a", "b"] * 20)
    model = EmbeddingClassifier(class_weight={"a": 0, "b": 1}, **QUICK).fit(X, labels)
    with pytest.raises(InputError, match="No row counts"):
        model.partial_fit(X[:4], ["a"] * 4)


@pytest.mark.parametrize("weight", [np.array([1.0, 2.0]), pd.Series([1.0, 2.0]), 3, "even"])
def test_weights_of_classes_are_a_dict(weight):
    with pytest.raises(ParameterError, match="class_weight must be a dict"):
        EmbeddingClassifier(class_weight=weight, **QUICK).fit(X, ["a", "b"] * 20)


@pytest.mark.parametrize("kind", [EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder])
def test_what_is_not_fitted_says_so_also_in_transform(kind):
    with pytest.raises(NotFittedError, match="not fitted"):
        kind().transform(X)


def test_integers_past_all_doubles_are_no_target():
    with pytest.raises(InputError, match="integers that are past all doubles"):
        EmbeddingRegressor(**QUICK).fit(X[:8], [10**400] * 4 + [1] * 4)


def test_a_lazy_table_that_fails_says_why():
    with pytest.raises(InputError, match="The lazy table cannot be collected"):
        EmbeddingRegressor(**QUICK).fit(pl.LazyFrame({"a": [1, 2]}).select("b"), [1.0, 2.0])
