"""What a user reads when something is wrong: one sentence each, and never a torch traceback."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import catspace
from catspace import EmbeddingClassifier, EmbeddingRegressor
from catspace.exceptions import CatspaceError

X = pd.DataFrame({"town": ["a", "b"] * 10, "price": np.arange(20.0)})
y = np.arange(1.0, 21.0)


def message_of(action):
    with pytest.raises(CatspaceError) as caught:
        action()
    return str(caught.value)


def fit(X=X, y=y, weight=None, **parameters):
    return EmbeddingRegressor(max_epochs=1, random_state=0, **parameters).fit(X, y, weight)


@pytest.mark.parametrize(
    ("action", "sentence"),
    [
        (lambda: fit(X=X[:0], y=y[:0]), "The table has no rows: 0 sample(s)"),
        (lambda: fit(y=y[:5]), "Found input variables with inconsistent numbers of samples: the "),
        (lambda: fit(y=None), "This EmbeddingRegressor requires y to be passed, but the target y"),
        (lambda: fit(y="Sales"), "The target 'Sales' is not a column of the table."),
        (lambda: fit(y="Price"), "The target 'Price' is not a column of the table. Did you mean "),
        (lambda: fit(y=np.where(y > 3, np.nan, y)), "Input y contains NaN, first in row 3 (17 in"),
        (lambda: fit(y=np.where(y > 3, np.inf, y)), "Input y contains infinity, first in row 3"),
        (lambda: fit(y=["text"] * 20), "The target must hold numbers; got "),
        (lambda: fit(y=-y, target_transform="log"), "target_transform='log' needs a target above"),
        (lambda: fit(y=np.zeros((20, 2, 2))), "The target must have one or two dimensions; got"),
        (lambda: fit(weight=-y), "Negative values in data passed to sample_weight: -1 in row 0."),
        (lambda: fit(weight=0 * y), "Sample weights must contain at least one non-zero number"),
        (lambda: fit(X=np.array(3)), "Expected 2D array, got 0D array instead"),
        (lambda: fit(X=np.zeros((20, 1, 1))), "Expected 2D array, got 3D array instead"),
        (lambda: fit(X=X.assign(tags=[[[1]]] * 20)), "Column 'tags' holds lists whose items are"),
        (lambda: fit(X=X.assign(price=np.inf)), "Column 'price' holds infinity, first in row 0."),
        (lambda: fit(X=pd.concat([X, X], axis=1)), "Column names must be unique, and these stand"),
        (lambda: fit(X=X.assign(day=pd.Timestamp("2020"))), "Column 'day' holds dates."),
        (lambda: fit(embedding_dim=-3), 'embedding_dim must be "auto", a positive int, or a dict'),
        (lambda: fit(embedding_dim={"Town": 2}), "embedding_dim names 'Town', which is not a cat"),
        (lambda: fit(categorical_features=["x"]), "categorical_features names 'x', which is not"),
        (lambda: fit(min_frequency=0), "min_frequency must be a count of at least 1 or a share"),
        (lambda: fit(handle_unknown="skip"), 'handle_unknown must be one of "mean", "error"; got'),
        (lambda: fit(input_encoding="hot"), 'input_encoding must be one of "embedding", "onehot"'),
        (lambda: fit(hidden_layer_sizes=(0,)), "each of hidden_layer_sizes must be a positive int"),
        (lambda: fit(hidden_layer_sizes="big"), "hidden_layer_sizes must be a tuple of ints; got"),
        (lambda: fit(activation="rellu"), "activation must be one of "),
        (lambda: fit(embedding_activation=3), "embedding_activation must be one of "),
        (lambda: fit(dropout=1), "dropout must be a number at least 0 and below 1; got 1."),
        (lambda: fit(loss="mse"), 'loss must be one of "auto", "squared_error", "absolute_error"'),
        (lambda: fit(quantile=2), "quantile must be a number above 0 and below 1; got 2."),
        (lambda: fit(target_transform="ln"), 'target_transform must be None, "log", "log1p", "pa'),
        (lambda: fit(n_networks=0), "n_networks must be a positive int; got 0."),
        (lambda: fit(n_networks=10**9), "n_networks must be at most 10,000; got 1000000000."),
        (lambda: fit(batch_size=0.5), "batch_size must be a positive int; got 0.5."),
        (lambda: fit(learning_rate=0), "learning_rate must be a number above 0; got 0."),
        (lambda: fit(weight_decay=-1), "weight_decay must be a number at least 0; got -1."),
        (lambda: fit(optimizer="sgd"), 'optimizer must be one of "adamw", "adam"; got \'sgd\'.'),
        (lambda: fit(n_iter_no_change=0), "n_iter_no_change must be a positive int; got 0."),
        (
            lambda: fit(early_stopping=True, validation_fraction=0.001),
            "early_stopping would hold back 0 of 20 rows.",
        ),
        (lambda: fit(device="abacus"), 'device must be "auto" or a device of torch that is here'),
    ],
)
def test_what_cannot_be_fitted_says_why(action, sentence):
    assert message_of(action).startswith(sentence)


@pytest.mark.parametrize(
    ("new", "sentence"),
    [
        (X.rename(columns={"town": "Town"}), "Feature names unseen at fit time:\n- Town\nFeature"),
        (X[["town"]], "Feature names seen at fit time, yet now missing:\n- price\n"),
        (X.assign(extra=1), "Feature names unseen at fit time:\n- extra\n"),
        (X[["price", "town"]], "Feature names must be in the same order as they were in fit.\n"),
    ],
)
def test_columns_that_differ_at_predict_say_how(new, sentence):
    model = fit()
    start = "The feature names should match those that were passed during fit.\n"
    assert message_of(lambda: model.predict(new)).startswith(start + sentence)


def test_text_in_a_number_column_at_predict_says_so():
    message = message_of(lambda: fit().predict(X.assign(price="cheap")))
    assert message.startswith("Column 'price' held numbers in fit and holds text now: ['cheap', ")


def test_an_empty_table_at_predict_says_so():
    message = message_of(lambda: fit().predict(X[:0]))
    assert message.startswith("The table has no rows: 0 sample(s) (shape=(0, 2))")


def test_missing_labels_say_so():
    labels = np.array(["a", None] * 10, dtype=object)
    message = message_of(lambda: EmbeddingClassifier().fit(X, labels))
    assert message.startswith("Input y contains NaN, first in row 1 (10 in all).")


@pytest.mark.parametrize(
    "table",
    [
        X[:1],
        pd.DataFrame({"town": ["same"] * 20}),
        pd.DataFrame({"price": [3.0] * 20}),
        pd.DataFrame({"id": [f"id {i}" for i in range(20)]}),
        pd.DataFrame({"town": [None] * 20}),
        pd.DataFrame({"price": [np.nan] * 20}),
    ],
    ids=["one row", "constant text", "constant number", "all-unique ids", "no text", "no numbers"],
)
def test_poor_columns_are_fitted_all_the_same(table):
    model = fit(X=table, y=y[: len(table)])
    assert np.isfinite(model.predict(table)).all()
    assert np.isfinite(model.transform(table)).all()


def test_a_constant_target_is_predicted_as_it_is():
    np.testing.assert_array_equal(fit(y=np.full(20, 7.0)).predict(X), 7.0)


# --- what once went wrong without a word


def test_a_pandas_index_in_a_parquet_file_is_not_a_feature(tmp_path):
    shuffled = X.assign(t=y).sample(frac=1, random_state=0)
    shuffled.to_parquet(tmp_path / "t.parquet")
    model = fit(tmp_path / "t.parquet", "t")
    assert model.feature_names_in_.tolist() == ["town", "price"]
    expected = fit(shuffled[["town", "price"]], shuffled["t"]).predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)


def test_what_a_masked_array_masks_is_missing():
    masked = np.ma.masked_array(np.c_[y, y], mask=np.c_[y > 3, y > 3])
    assert all(
        scaling.has_missing for scaling in fit(masked).fitted_.learned.encoder.scalings.values()
    )
    message = message_of(lambda: fit(y=np.ma.masked_array(y, mask=y > 3)))
    assert message.startswith("Input y contains NaN")


def test_dates_are_not_a_target_nor_a_weight():
    dates = pd.date_range("2020", periods=20)
    assert message_of(lambda: fit(y=dates)).startswith("The target must hold numbers; got ")
    message = message_of(lambda: fit(weight=dates))
    assert message.startswith("sample_weight must hold numbers.")


def test_validation_targets_of_another_width_say_so():
    model = EmbeddingRegressor(max_epochs=1)
    message = message_of(lambda: model.fit(X, y, X_val=X, y_val=np.c_[y, y]))
    assert message.startswith("The target has 2 columns, and in fit it had 1.")
    message = message_of(lambda: model.fit(X, y, y_val=y))
    assert message.startswith("y_val was passed without X_val.")


def test_training_that_diverges_says_so():
    model = EmbeddingRegressor(learning_rate=1e30, schedule="constant", max_epochs=5)
    message = message_of(lambda: model.fit(X, y))
    assert message.startswith("Training diverged: the loss of epoch ")
    assert "Hint: lower learning_rate, which is 1e+30." in message


def test_dates_that_change_type_at_predict_say_so():
    days = X.assign(day=pd.date_range("2020", periods=20))
    model = fit(days, date_parts=["month"])
    message = message_of(lambda: model.predict(days.assign(day="1.1.2020")))
    assert message.startswith("Column 'day' held dates in fit and holds text now.")
    assert np.isfinite(model.predict(days.assign(day=None))).all()
    clash = days.assign(day_month="x")
    message = message_of(lambda: fit(clash, date_parts=["month"]))
    assert message.startswith("date_parts makes a column 'day_month', and the table has one of")


def test_mixed_objects_in_a_number_column_at_predict_say_so():
    mixed = X.assign(price=pd.Series([1.0] * 19 + ["x"], dtype=object))
    message = message_of(lambda: fit().predict(mixed))
    assert message.startswith("Column 'price' held numbers in fit and holds text now: ['x']")


def test_wild_numbers_are_bent_and_not_lost():
    transformed = fit().transform(X[:1].assign(price=1e300))
    assert transformed[0, -1] == pytest.approx(3.0)


def test_options_that_are_not_what_they_seem_say_so():
    assert message_of(lambda: fit(early_stopping="no")).startswith("early_stopping must be True")
    assert message_of(lambda: fit(date_parts=True)).startswith("date_parts must be a list of parts")
    message = message_of(lambda: fit(learning_rate=float("inf")))
    assert message.startswith("learning_rate must be a number above 0; got inf.")


def test_features_that_would_have_the_same_name_say_so():
    message = message_of(lambda: fit(X.assign(town_0=1.5)))
    assert message.startswith("The vectors of 'town' have a component 'town_0', and so is another")


def as_arrow_text(values):
    """Return bytes as Arrow text, which nobody has looked at."""
    return pa.Array.from_buffers(
        pa.string(), len(values), pa.array(values, pa.binary()).buffers()
    )  # fmt: skip


def test_arrow_text_that_is_not_utf_8_says_so_in_fit_and_at_predict():
    towns = as_arrow_text([b"K\xf6ln", b"Bonn"] * 10)
    sentence = "Column 'town' cannot be read: Invalid UTF8 sequence at string index 0."
    model = fit(pa.table({"town": ["Bonn", "Celle"] * 10}))
    for column in (towns, pa.chunked_array([towns]), towns.dictionary_encode()):
        for table in (pa.table({"town": column}), {"town": column}):
            for action in (fit, model.predict):
                said = message_of(lambda act=action, table=table: act(table))
                assert said.startswith("Column 'town' cannot be read: ")
    assert message_of(lambda: fit({"town": towns})).startswith(sentence)
    labels = EmbeddingClassifier(max_epochs=1)
    assert "The target cannot be read: Invalid UTF8" in message_of(lambda: labels.fit(X, towns))


def test_text_that_ends_in_nul_stays_itself(tmp_path):
    values = np.array(["b", "b\0", "b\0\0", "c"] * 25, dtype=object)
    for table in (pd.DataFrame({"x": values}), pa.table({"x": values.tolist()}), {"x": values}):
        model = EmbeddingClassifier(max_epochs=30, smooth=0, random_state=0).fit(table, values)
        model.save(tmp_path / "m.catspace")
        for same in (model, catspace.load(tmp_path / "m.catspace")):
            assert same.embeddings_["x"].categories == ["b", "b\0", "b\0\0", "c"]
            assert same.classes_.tolist() == ["b", "b\0", "b\0\0", "c"]
            assert same.predict(table).tolist() == values.tolist()
    listed = EmbeddingClassifier(max_epochs=1).fit({"x": values}, values.tolist())
    assert listed.classes_.tolist() == ["b", "b\0", "b\0\0", "c"]


def test_a_listed_target_of_several_types_is_not_made_text():
    classifier = EmbeddingClassifier(max_epochs=1)
    assert "Input y contains NaN" in message_of(lambda: classifier.fit(X, ["a", np.nan] * 10))
    several = message_of(lambda: classifier.fit(X, ["1", 1] * 10))
    assert several.startswith("Unknown label type: unknown. The target holds several: int, str.")
    assert EmbeddingClassifier(max_epochs=1).fit(X, ["a", "b"] * 10).classes_.dtype == "<U1"
