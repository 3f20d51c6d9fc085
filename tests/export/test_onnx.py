"""The ONNX graph against the model it was made of: the same answers for the same raw values."""

import json
import sys
from datetime import date, timedelta
from importlib import import_module

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, to_onnx
from catspace.exceptions import CatspaceError, InputError, InputTypeError
from catspace.model.layers import ACTIVATIONS

TOWNS = ["Aachen", "Köln", "日本", "😀", 'the "Ritz"', "O'Hare", " Bonn", "a\tb", "naïve\u0301"]
SMALL = {"hidden_layer_sizes": (16, 8), "max_epochs": 2, "random_state": 0, "n_jobs": 1}
N_NEW = 10_000


@pytest.fixture(scope="module")
def rows():
    """Return a training table with every sort of column, and a positive target."""
    random = np.random.default_rng(0)
    n = 800
    frame = pd.DataFrame(
        {
            "town": random.choice(TOWNS, size=n).astype(object),
            "shop": pd.Categorical(random.integers(0, 40, size=n)),
            "open": random.random(n) < 0.5,
            "price": np.exp(random.normal(size=n)),
            "distance": random.normal(100, 30, size=n),
        }
    )
    frame.loc[random.random(n) < 0.1, ["town", "shop"]] = None
    frame.loc[random.random(n) < 0.1, "price"] = np.nan
    y = np.exp(frame["town"].isin(TOWNS[:4]) + 0.1 * random.normal(size=n) + frame["open"])
    return frame, y.to_numpy()


@pytest.fixture(scope="module")
def new_rows(rows):
    """Return many rows, a fifth of each column unseen or far out, and a fifth missing."""
    frame, _ = rows
    random = np.random.default_rng(1)
    drawn = frame.sample(N_NEW, replace=True, random_state=1).reset_index(drop=True)
    odd = {
        "town": ["Bonn", "aachen", "Aachen ", "nowhere", "naïve"],
        "shop": [41.0, 0.5, 1 + 1e-12, -1.0, 1e300, 2.0**53, -0.0],
        "open": [2.0, 0.5, -1.0],
        "price": [-1e300, 1e300, 0.0, -5.0, 1e9],
        "distance": [-1e300, 1e300, 0.0],
    }
    for name, values in odd.items():
        column = drawn[name].astype(object if name == "town" else float)
        what = random.integers(0, 5, size=N_NEW)
        column[what == 0] = random.choice(np.array(values, dtype=column.dtype), (what == 0).sum())
        column[what == 1] = None
        drawn[name] = column
    return drawn


def metadata_in(made):
    return {entry.key: entry.value for entry in made.metadata_props}


def metadata_of(model):
    return metadata_in(to_onnx(model))


def feeds(made, frame):
    """Return the columns of a frame as the metadata of the graph asks for them."""
    found = {}
    for column in json.loads(metadata_in(made)["inputs"]):
        values = frame[column["name"]]
        if column["type"] == "double":
            array = values.astype(float).to_numpy()
        else:
            dtype = {"string": object, "int64": np.int64}[column["type"]]
            kept = values.astype(object)
            array = kept.where(kept.notna(), column["missing"]).to_numpy(dtype)
        found[column["name"]] = array[:, None]
    return found


def answers(model, frame):
    """Return the outputs of the graph by name, from onnxruntime."""
    made = to_onnx(model)
    onnx.checker.check_model(made, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feeds(made, frame)), strict=True))


def assert_predicts_the_same(model, frame):
    found = answers(model, frame)["prediction"]
    expected = model.predict(frame)
    assert found.dtype == np.float64
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected.reshape(len(frame), -1), rtol=1e-5, atol=1e-5)


def fit(X, y, **parameters):
    return EmbeddingRegressor(**{**SMALL, **parameters}).fit(X, y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"target_transform": "log", "n_networks": 2},
        {"target_transform": "log1p"},
        {"hidden_layer_sizes": ()},
        {"input_encoding": "onehot", "n_networks": 2},
        {"input_encoding": "onehot", "hidden_layer_sizes": (12,)},
        {"discretize": {"price": 7, "distance": "tree"}},
        {"discretize": {"distance": 3}, "min_frequency": 30},
        {"embedding_activation": "tanh"},
        {"embedding_activation": "silu", "embedding_dim": 3},
    ],
    ids=str,
)
def test_unseen_missing_and_wild_values_are_predicted_as_by_the_model(rows, new_rows, parameters):
    assert_predicts_the_same(fit(*rows, **parameters), new_rows)


@pytest.mark.parametrize("transform", [None, "log", "paper"])
def test_several_quantiles_are_as_many_columns_that_rise(rows, new_rows, transform):
    X, y = rows
    model = fit(
        X,
        1 + y,
        loss="quantile",
        quantile=[0.1, 0.5, 0.9],
        target_transform=transform,
        early_stopping=True,
        validation_fraction=0.25,
        n_networks=2,
    )
    assert len(model.fitted_.learned.target.shifts) == 3
    assert_predicts_the_same(model, new_rows)
    assert (np.diff(answers(model, new_rows)["prediction"], axis=1) >= 0).all()
    assert json.loads(metadata_of(model)["quantiles"]) == [0.1, 0.5, 0.9]


def test_the_papers_target_comes_back_to_the_users_scale(rows, new_rows):
    X, y = rows
    assert_predicts_the_same(fit(X, 1 + y, target_transform="paper"), new_rows)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_is_the_networks_own(rows, new_rows, activation):
    model = fit(*rows, activation=activation, embedding_activation=activation)
    assert_predicts_the_same(model, new_rows)


@pytest.mark.parametrize("transform", [None, "log"])
def test_several_targets_are_as_many_columns(rows, new_rows, transform):
    X, y = rows
    model = fit(X, np.column_stack([y, 100 * y, y**2]), target_transform=transform)
    assert_predicts_the_same(model, new_rows)


@pytest.mark.parametrize("columns", [["town", "shop"], ["price"], ["price", "distance"]])
@pytest.mark.parametrize("encoding", ["embedding", "onehot"])
def test_categories_alone_and_numbers_alone_work(rows, new_rows, columns, encoding):
    model = fit(rows[0][columns], rows[1], input_encoding=encoding)
    assert_predicts_the_same(model, new_rows[columns])


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (["hot", "mild", "kühl ❄"], object),
        ([7, -2, 3], np.int64),
        ([1.0, 2.0, 4.0], np.float64),
        ([True, False, True], np.bool_),
    ],
)
def test_labels_and_probabilities_are_those_of_the_classifier(rows, new_rows, labels, dtype):
    X, y = rows
    classes = np.array(labels)[np.digitize(y, np.quantile(y, [0.3, 0.6]))]
    model = EmbeddingClassifier(**SMALL, n_networks=2).fit(X, classes)
    found, expected = answers(model, new_rows), model.predict_proba(new_rows)
    np.testing.assert_allclose(found["probabilities"], expected, rtol=1e-5, atol=1e-5)
    assert found["label"].dtype == dtype
    first, second = np.sort(expected, axis=1)[:, :-3:-1].T
    is_clear = first - second > 1e-5
    assert is_clear.mean() > 0.99
    np.testing.assert_array_equal(found["label"][is_clear], model.predict(new_rows)[is_clear])
    assert json.loads(metadata_of(model)["classes"]) == model.classes_.tolist()


@pytest.mark.parametrize("encoding", ["embedding", "onehot"])
def test_features_are_those_of_the_encoder(rows, new_rows, encoding):
    model = EmbeddingEncoder(**SMALL, n_networks=2, input_encoding=encoding).fit(*rows)
    found = answers(model, new_rows)["features"]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model.transform(new_rows), rtol=1e-6, atol=1e-6)
    assert json.loads(metadata_of(model)["features"]) == model.get_feature_names_out().tolist()


def test_missing_rare_and_unseen_stay_apart():
    X = pd.DataFrame({"town": ["a", "b", None, "c"] * 50 + ["seldom", "hardly"]})
    model = EmbeddingEncoder(**SMALL, embedding_dim=2, min_frequency=5)
    model.fit(X, np.arange(202.0))
    new = pd.DataFrame({"town": [None, "seldom", "never", "hardly", "c"]})
    vectors = answers(model, new)["features"]
    table = model.embeddings_["town"].table
    np.testing.assert_array_equal(vectors, table[[0, 1, 2, 1, 5]])
    assert len(np.unique(table[:3], axis=0)) == 3


def test_only_whole_numbers_meet_integer_categories():
    X = pd.DataFrame({"shop": pd.Categorical([0, 1, 2, 3] * 50)})
    model = EmbeddingEncoder(**SMALL, embedding_dim=2).fit(X, np.arange(200.0))
    values = [0.0, -0.0, 1.0, 0.5, 1 + 1e-15, 2**53, 1e300, -np.inf, np.nan, -np.nan]
    vectors = answers(model, pd.DataFrame({"shop": values}))["features"]
    table = model.embeddings_["shop"].table
    np.testing.assert_array_equal(vectors, table[[3, 3, 4, 2, 2, 2, 2, 2, 0, 0]])


def test_fractions_are_categories_too():
    X = pd.DataFrame({"size": pd.Categorical([0.1, 2.5, -1.5, 1e20] * 50)})
    model = EmbeddingEncoder(**SMALL, embedding_dim=2).fit(X, np.arange(200.0))
    new = pd.DataFrame({"size": [0.1, 0.1 + 1e-15, 1e20, np.nan]})
    np.testing.assert_array_equal(answers(model, new)["features"], model.transform(new))


@pytest.mark.parametrize(
    ("taken", "missing"),
    [([], ""), ([""], "(missing)"), (["", "(missing)"], "(missing)(missing)")],
)
def test_missing_text_is_the_empty_text_unless_that_is_a_category(taken, missing):
    X = pd.DataFrame({"town": [*taken, "a", None] * 50})
    model = EmbeddingEncoder(**SMALL, embedding_dim=1).fit(X, np.arange(float(len(X))))
    assert json.loads(metadata_of(model)["inputs"]) == [
        {"name": "town", "type": "string", "holds": "category", "missing": missing}
    ]
    new = pd.DataFrame({"town": [*taken, "a", None, "new"]})
    np.testing.assert_array_equal(answers(model, new)["features"], model.transform(new))


def test_a_number_on_an_edge_is_in_the_upper_bin():
    X = pd.DataFrame({"size": np.arange(100.0)})
    model = EmbeddingEncoder(**SMALL, discretize={"size": 4}).fit(X, X["size"])
    edges = np.array(model.fitted_.learned.encoder.bins["size"].edges)
    new = pd.DataFrame({"size": [*edges, *np.nextafter(edges, -np.inf)]})
    np.testing.assert_array_equal(answers(model, new)["features"], model.transform(new))


def test_the_first_integer_that_is_not_alone_as_a_double_is_told_from_the_next():
    X = pd.DataFrame({"id": pd.Categorical([1, 2**53] * 50)})
    model = EmbeddingEncoder(**SMALL, embedding_dim=1).fit(X, np.arange(100.0))
    new = pd.DataFrame({"id": [2**53, 2**53 + 1]})
    np.testing.assert_array_equal(answers(model, new)["features"], model.transform(new))


def test_integers_that_no_double_holds_come_as_they_are():
    ids = np.array([2**53, 2**53 + 1, 2**60 + 1, -(2**63)])
    X = pd.DataFrame({"id": pd.Categorical(np.tile(ids, 50))})
    model = EmbeddingEncoder(**SMALL, embedding_dim=2).fit(X, np.arange(200.0))
    (column,) = json.loads(metadata_of(model)["inputs"])
    assert (column["type"], column["missing"]) == ("int64", -(2**63) + 1)
    new = pd.DataFrame({"id": pd.Series([*ids.tolist(), 2**60, None], dtype="Int64")})
    np.testing.assert_array_equal(answers(model, new)["features"], model.transform(new))


def test_infinity_counts_as_very_far_out(rows):
    X = rows[0][["distance"]]
    model = fit(X, rows[1])
    far, infinite = (pd.DataFrame({"distance": [-x, x]}) for x in (1e300, np.inf))
    np.testing.assert_array_equal(
        answers(model, infinite)["prediction"], answers(model, far)["prediction"]
    )


def test_a_column_that_was_all_missing_and_bins_without_edges_work(rows):
    X = pd.DataFrame({"town": [None] * 100, "size": [1.0] * 100})
    model = fit(X, np.arange(100.0), discretize={"size": 4})
    new = pd.DataFrame({"town": [None, "a"], "size": [np.nan, 3.0]})
    assert_predicts_the_same(model, new)


def test_an_array_without_names_and_a_constant_target_work():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = fit(X, np.full(100, 7.0))
    found = answers(model, pd.DataFrame(X, columns=["x0", "x1"]))
    np.testing.assert_array_equal(found["prediction"], np.full((100, 1), 7.0))


@pytest.mark.parametrize("n_rows", [0, 1])
def test_no_rows_and_one_row_are_fine(rows, n_rows):
    model = fit(*rows, discretize={"distance": 3})
    assert answers(model, rows[0][:n_rows])["prediction"].shape == (n_rows, 1)


def test_columns_may_be_named_like_the_inside_of_a_graph(rows):
    inside = [node.name for node in to_onnx(fit(*rows)).graph.node]
    names = [*inside[:3], "rows", " "]
    X = rows[0].set_axis(names, axis=1)
    assert_predicts_the_same(fit(X, rows[1]), X)


def test_inputs_keep_the_order_of_the_table(rows):
    X = rows[0][["distance", "town", "price", "open", "shop"]]
    made = to_onnx(fit(X, rows[1], discretize={"price": 3}))
    assert [column.name for column in made.graph.input] == list(X.columns)
    holds = {column["name"]: column["holds"] for column in json.loads(metadata_in(made)["inputs"])}
    assert holds == {
        "town": "category",
        "shop": "category",
        "open": "category",
        "price": "number, cut into bins",
        "distance": "number",
    }


DAYS = [date(2024, 1, 1) + timedelta(i) for i in range(100)]


@pytest.mark.parametrize(
    ("column", "parameters", "message"),
    [
        (DAYS, {"date_parts": ["month"]}, r"^Column 'x' holds dates, .* no calendar"),
        (DAYS, {"categorical_features": ["x"]}, r"^Column 'x' has categories of dates, and an"),
        ([1, "1"] * 50, {}, r"^Column 'x' has categories of numbers and text"),
        ([b"1", b"2"] * 50, {}, r"^Column 'x' has categories of bytes"),
        ([timedelta(1)] * 100, {}, r"^Column 'x' has categories of durations"),
        (
            np.array([2**63, 1] * 50, dtype=np.uint64),
            {"categorical_features": ["x"]},
            r"^Column 'x' has categories of 2\*\*63 and more",
        ),
        (["a"] * 100, {"handle_unknown": "error"}, r'handle_unknown="error" cannot be kept'),
        (["a", "b"] * 50, {"hash_buckets": {"x": 9}}, r"^Column 'x' is hashed into buckets, and"),
    ],
)
def test_what_no_graph_can_do_is_a_sentence(column, parameters, message):
    model = fit(pd.DataFrame({"x": column}), np.arange(100.0), **parameters)
    with pytest.raises(InputError, match=message):
        to_onnx(model)


@pytest.mark.parametrize(
    ("name", "message"),
    [("prediction", r"^Column 'prediction' has the name of what"), ("", r"^A column has no name")],
)
def test_a_column_whose_name_cannot_be_kept_is_a_sentence(name, message):
    model = fit(pd.DataFrame({name: ["a", "b"] * 50}), np.arange(100.0))
    with pytest.raises(InputError, match=message):
        to_onnx(model)


def test_classes_that_have_no_type_in_onnx_are_a_sentence():
    classes = np.array(["2024-01-01", "2024-01-02"] * 50, dtype="datetime64[D]")
    model = EmbeddingClassifier(**SMALL).fit(pd.DataFrame({"x": ["a", "b"] * 50}), classes)
    with pytest.raises(InputError, match=r"^The classes are of the type datetime64"):
        to_onnx(model)


def test_text_with_nul_stays_itself_in_names_categories_and_classes():
    X = pd.DataFrame({"a\0b\0": ["b", "b\0", "c\0d", "\0"] * 25})
    classes = X["a\0b\0"].to_numpy()
    settings = {**SMALL, "max_epochs": 200, "learning_rate": 0.05, "smooth": 0}
    model = EmbeddingClassifier(**settings).fit(X, classes)
    assert model.predict(X).tolist() == classes.tolist()
    graph = to_onnx(model)
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    assert [found.name for found in session.get_inputs()] == ["a\0b\0"]
    label, _ = session.run(None, {"a\0b\0": X.to_numpy(dtype=object)})
    assert label.tolist() == classes.tolist()


def test_a_model_of_another_library_is_not_taken():
    with pytest.raises(InputTypeError, match=r"model of catspace is needed; got LinearRegression"):
        to_onnx(LinearRegression())


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    for module in ("onnx", "onnx_graph"):
        monkeypatch.delitem(sys.modules, f"catspace.export.{module}")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(CatspaceError, match=r'Install it with: pip install "catspace\[onnx\]"$'):
        import_module("catspace.export.onnx")
