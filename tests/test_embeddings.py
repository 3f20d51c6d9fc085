import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from catspace import EmbeddingRegressor
from catspace.data.reading import read_table
from catspace.data.vocabulary import Vocabulary
from catspace.embeddings import Embedding, Embeddings
from catspace.exceptions import CatspaceError, InputError, UnknownCategoryError


def embedding(backend="pandas"):
    column = read_table({"town": ["a", "b", "b", "c d", None]}).columns[0]
    vectors = [[9, 9], [0, 0], [1, 1], [0, 0], [3, 4], [0, 1]]
    return Embedding("town", Vocabulary.fit(column), np.array(vectors, dtype=np.float32), backend)


def test_a_vector_is_that_of_its_category():
    assert embedding().vector("b").tolist() == [3, 4]
    assert embedding().vector(None).tolist() == [9, 9]
    with pytest.raises(UnknownCategoryError, match=r"^Column 'town' has no category 'B'"):
        embedding().vector("B")


def test_codes_in_a_table_are_the_rows_of_the_vectors():
    X = {"price": [1, 2, 3, 4], "town": ["c d", None, "b", "new"]}
    codes = embedding().codes_in(X)
    assert codes.tolist() == [5, 0, 4, 2]
    np.testing.assert_array_equal(embedding().table[codes[[0, 2]]], [[0, 1], [3, 4]])
    with pytest.raises(InputError, match=r"^The table has no column 'town'. Did you mean 'Town'"):
        embedding().codes_in({"Town": ["b"]})


def test_nearest_are_sorted_by_euclidean_distance_and_leave_out_the_category_itself():
    frame = embedding().nearest("a", k=9)
    assert frame["category"].tolist() == ["c d", "b"]
    assert frame["distance"].tolist() == [1.0, 5.0]
    assert embedding().nearest("a", k=1)["category"].tolist() == ["c d"]


def test_nearest_agrees_with_a_naive_search():
    random = np.random.default_rng(0)
    names = [f"c{i:03}" for i in range(200)]
    vocabulary = Vocabulary.fit(read_table({"x": names}).columns[0])
    vectors = random.normal(size=(203, 8)).astype("f4")
    frame = Embedding("x", vocabulary, vectors).nearest("c017", k=10)
    distances = {n: np.linalg.norm(vectors[3 + i] - vectors[20]) for i, n in enumerate(names)}
    del distances["c017"]
    expected = sorted(distances, key=distances.get)[:10]
    assert list(frame["category"]) == expected
    np.testing.assert_allclose(frame["distance"], sorted(distances.values())[:10], rtol=1e-5)


def test_k_must_be_positive():
    with pytest.raises(InputError, match=r"^k must be an int of at least 1; got 0"):
        embedding().nearest("a", k=0)


@pytest.mark.parametrize(
    ("backend", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame), ("pyarrow", pa.Table)]
)
def test_frames_are_of_the_kind_that_the_user_works_with(backend, kind):
    assert isinstance(embedding(backend).to_frame(), kind)


def test_a_frame_holds_category_count_and_components():
    frame = embedding().to_frame()
    assert list(frame.columns) == ["category", "count", "evidence", "town_0", "town_1"]
    assert frame.to_numpy().tolist() == [["a", 1, 1, 0, 0], ["b", 2, 1, 3, 4], ["c d", 1, 1, 0, 1]]
    special = embedding().to_frame(include_special=True)
    assert special["category"].tolist()[:3] == ["(missing)", "(rare)", "(unseen)"]
    assert special["count"].tolist() == [1, 0, 0, 1, 2, 1]


def test_evidence_grows_with_rows_and_is_a_half_at_as_many_as_the_smoothing():
    smoothed = replace(embedding(), smooth=2.0)
    assert smoothed.evidence.tolist() == [1 / 5, 1 / 2, 1 / 5]  # of 1, 2 and 1 rows
    assert smoothed.to_frame()["evidence"].tolist() == [1 / 5, 1 / 2, 1 / 5]
    special = smoothed.to_frame(include_special=True)["evidence"].tolist()
    assert special[:3] == [1 / 5, 0, 0]  # one missing value, none rare or unseen
    assert smoothed.nearest("b", k=1)["evidence"].tolist() == [1 / 5]
    assert embedding().evidence.tolist() == [1, 1, 1]


def test_parquet_holds_the_frame(tmp_path):
    embedding().to_parquet(tmp_path / "town.parquet")
    read = pyarrow.parquet.read_table(tmp_path / "town.parquet").to_pandas()
    pd.testing.assert_frame_equal(read, embedding().to_frame())


def test_tensorboard_files_have_a_line_for_each_category(tmp_path):
    embedding().to_tensorboard(tmp_path / "projector")
    vectors = (tmp_path / "projector" / "vectors.tsv").read_text().splitlines()
    metadata = (tmp_path / "projector" / "metadata.tsv").read_text().splitlines()
    assert vectors == ["0\t0", "3\t4", "0\t1"]
    assert metadata == ["category\tcount", "a\t1", "b\t2", "c d\t1"]
    assert (
        'tensor_path: "vectors.tsv"'
        in (tmp_path / "projector" / "projector_config.pbtxt").read_text()
    )


def test_word2vec_text_has_no_spaces_inside_a_word(tmp_path):
    embedding().to_word2vec(tmp_path / "town.w2v")
    assert (tmp_path / "town.w2v").read_text().splitlines() == ["3 2", "a 0 0", "b 3 4", "c_d 0 1"]


def test_a_column_that_is_not_there_suggests_one_that_is():
    embeddings = Embeddings({"town": embedding()})
    assert list(embeddings) == ["town"]
    assert repr(embeddings) == "Embeddings(town: 3x2)"
    with pytest.raises(UnknownCategoryError, match=r"a column 'Town'. Did you mean 'town'\?"):
        embeddings["Town"]


def test_saved_embeddings_open_without_torch(shops, tmp_path):
    X, y = shops
    model = EmbeddingRegressor(max_epochs=1, random_state=0).fit(X, y)
    model.save(tmp_path / "m.catspace")
    code = (
        "import sys; from catspace import Embeddings; "
        f"e = Embeddings.load({str(tmp_path / 'm.catspace')!r}); "
        "print(e['town'].vector('Bonn').tolist()); "
        "assert not {'torch', 'sklearn', 'matplotlib'} & set(sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == str(model.embeddings_["town"].vector("Bonn").tolist())


@pytest.mark.parametrize("method", ["to_parquet", "to_word2vec"])
def test_an_export_that_fails_leaves_the_old_file(tmp_path, monkeypatch, method):
    path = tmp_path / "town"
    path.write_text("old")

    def no_space(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", no_space)
    with pytest.raises(CatspaceError, match=r"town' cannot be written: No space left on device"):
        getattr(embedding(), method)(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_export_for_tensorboard_that_has_no_place_is_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("old")
    with pytest.raises(CatspaceError, match=r"taken' cannot be written: File exists\.$"):
        embedding().to_tensorboard(tmp_path / "taken")
