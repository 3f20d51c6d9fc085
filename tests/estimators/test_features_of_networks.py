"""The vectors of one network or of all as features: `EmbeddingEncoder(networks=…)`."""

import numpy as np
import onnxruntime
import pandas as pd
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import catspace
from catspace import EmbeddingEncoder, to_onnx
from catspace.commands.cli import app
from catspace.exceptions import InputError, ParameterError

QUICK = {"max_epochs": 1, "smooth": 4, "embedding_dim": 2, "random_state": 0}
FIRST = ["town_0", "town_1", "weekday_0", "weekday_1"]
ALL = [f"network{i}_{name}" for i in range(3) for name in FIRST]


@pytest.fixture(scope="module")
def of_all(shops):
    return EmbeddingEncoder(n_networks=3, networks="all", **QUICK).fit(*shops)


def test_all_are_the_vectors_of_each_network_side_by_side(shops, of_all):
    X, y = shops
    found = of_all.transform(X)
    assert found.shape == (len(X), 13)
    assert of_all.get_feature_names_out().tolist() == [*ALL, "price"]
    codes = of_all.encode(X).codes
    for i, embeddings in enumerate(of_all.network_embeddings()):
        vectors = [
            embeddings[name].table[code] for name, code in zip(embeddings, codes, strict=True)
        ]
        np.testing.assert_array_equal(found[:, 4 * i : 4 * i + 4], np.hstack(vectors))
    first = EmbeddingEncoder(n_networks=3, **QUICK).fit(X, y)
    assert first.get_feature_names_out().tolist() == [*FIRST, "price"]
    np.testing.assert_array_equal(first.transform(X), found[:, [0, 1, 2, 3, 12]])


def test_it_can_be_changed_after_fit_and_is_kept_in_the_model_file(shops, of_all, tmp_path):
    X, y = shops
    first = EmbeddingEncoder(n_networks=3, **QUICK).fit(X, y)
    np.testing.assert_array_equal(
        first.set_params(networks="all").transform(X), of_all.transform(X)
    )
    of_all.save(tmp_path / "a.catspace")
    loaded = catspace.load(tmp_path / "a.catspace")
    assert loaded.get_feature_names_out().tolist() == [*ALL, "price"]
    np.testing.assert_array_equal(loaded.transform(X), of_all.transform(X))


def test_cross_fitted_vectors_are_those_of_each_network_too(shops):
    X, y = shops
    found = EmbeddingEncoder(n_networks=2, networks="all", cv=3, **QUICK).fit_transform(X, y)
    first = EmbeddingEncoder(n_networks=2, cv=3, **QUICK).fit_transform(X, y)
    assert found.shape == (len(X), 9)
    np.testing.assert_array_equal(found[:, [0, 1, 2, 3, 8]], first)
    assert (found[:, :4] != found[:, 4:8]).any()


def test_frames_have_these_names(shops):
    X, y = shops
    model = EmbeddingEncoder(n_networks=3, networks="all", **QUICK).set_output(transform="pandas")
    assert list(model.fit_transform(X, y).columns) == [*ALL, "price"]


def test_the_command_writes_a_column_for_each(shops, of_all, tmp_path):
    X, _ = shops
    of_all.save(tmp_path / "a.catspace")
    X.astype({"weekday": int}).to_parquet(tmp_path / "new.parquet")
    paths = [str(tmp_path / name) for name in ("a.catspace", "new.parquet", "out.parquet")]
    result = CliRunner().invoke(app, ["transform", *paths[:2], "-o", paths[2]])
    assert result.exit_code == 0, result.output
    written = pq.read_table(paths[2])
    assert written.column_names == [*X.columns, *ALL, "price_scaled"]
    found = written.select([*ALL, "price_scaled"]).to_pandas().to_numpy()
    np.testing.assert_array_equal(found, of_all.transform(X))


def test_an_onnx_graph_has_the_features_of_all(shops, of_all):
    X, _ = shops
    session = onnxruntime.InferenceSession(to_onnx(of_all).SerializeToString())
    inputs = {
        "town": X[["town"]].to_numpy(dtype=object),
        "weekday": X[["weekday"]].to_numpy(dtype=np.float64),
        "price": X[["price"]].to_numpy(),
    }
    (found,) = session.run(["features"], inputs)
    np.testing.assert_array_equal(found, of_all.transform(X))


def test_a_number_that_is_called_like_a_component_of_a_network_is_refused(shops):
    X, y = shops
    X = X.rename(columns={"price": "network1_town_0"})
    with pytest.raises(InputError, match="'network1_town_0', and so is another feature called"):
        EmbeddingEncoder(n_networks=2, networks="all", **QUICK).fit(X, y)


@pytest.mark.parametrize("networks", ["second", 1, None])
def test_networks_are_the_first_or_all(shops, of_all, networks):
    message = r'networks must be one of "first", "all"; got'
    with pytest.raises(ParameterError, match=message):
        EmbeddingEncoder(networks=networks, **QUICK).fit(pd.DataFrame({"a": ["b"]}), [1.0])
    X, y = shops
    model = EmbeddingEncoder(**QUICK).fit(X, y).set_params(networks=networks)
    with pytest.raises(ParameterError, match=message):
        model.transform(X)
