import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import silhouette_samples

from catspace import Embeddings
from catspace.analysis import analogy, cluster, direction, explain_direction, nearest
from catspace.exceptions import InputError, InputTypeError, UnknownCategoryError
from tests.analysis.helpers import make_embedding

# king - man + woman = queen, on a grid.
ROYALS = make_embedding(
    [[0, 0], [0, 1], [5, 0], [5, 1], [9, 9]], ["man", "king", "woman", "queen", "tree"]
)


def test_nearest_is_a_naive_search(model):
    embedding = model.embeddings_["store"]
    distances = {
        other: float(np.linalg.norm(embedding.vector(other) - embedding.vector(12)))
        for other in embedding.categories
        if other != 12
    }
    expected = sorted(distances, key=distances.get)[:4]
    found = nearest(model, "store", 12, k=4)
    assert found["category"].tolist() == expected
    np.testing.assert_allclose(found["distance"], [distances[c] for c in expected], rtol=1e-5)
    counts = dict(zip(embedding.categories, embedding.counts, strict=True))
    assert found["count"].tolist() == [counts[c] for c in expected]


def test_frames_say_in_every_row_which_column_and_which_anchor_they_are_about():
    source = make_embedding(np.eye(4), ["a", "b", "c", "d"])
    near = nearest(source, "place", "b", k=3)
    assert near["anchor"].tolist() == ["b"] * 3
    assert near["column"].tolist() == ["place"] * 3
    line = direction(source, "place", "a", "c")
    assert set(zip(line["a"], line["b"], line["column"], strict=True)) == {("a", "c", "place")}
    assert nearest(source, "place", None, k=2)["anchor"].isna().all()


def test_agreement_counts_the_networks_that_have_the_same_neighbour(model):
    found = nearest(model, "store", 12, k=4, with_agreement=True)
    other = model.network_embeddings()[1]["store"].nearest(12, k=4)["category"].tolist()
    assert found["agreement"].tolist() == [float(c in other) for c in found["category"]]


def test_agreement_needs_networks_and_not_only_vectors(model):
    with pytest.raises(InputTypeError, match=r"^Fitted estimators are needed, with their networks"):
        nearest(model.embeddings_, "store", 12, with_agreement=True)


def test_a_model_file_is_enough_for_its_vectors(model, tmp_path):
    model.save(tmp_path / "m.catspace")
    by_file = nearest(tmp_path / "m.catspace", "store", 12)
    pd.testing.assert_frame_equal(by_file, nearest(model, "store", 12))


def test_frames_are_of_the_kind_that_the_model_was_fitted_on():
    polars = make_embedding([[0.0], [1.0], [5.0]], backend="polars")
    assert isinstance(nearest(polars, "place", "c00000", k=1), pl.DataFrame)


def test_queen_is_to_woman_as_king_is_to_man():
    found = analogy(ROYALS, "place", "man", "king", "woman", k=1)
    assert found["category"].tolist() == ["queen"]
    assert found["distance"].tolist() == [0.0]


def test_an_analogy_does_not_answer_with_what_it_was_asked():
    found = analogy(ROYALS, "place", "man", "king", "woman", k=9)["category"].tolist()
    assert set(found) == {"queen", "tree"}


def test_a_direction_runs_from_0_to_1():
    found = direction(ROYALS, "place", "man", "woman").set_index("category")
    assert found.loc["man", "position"] == 0
    assert found.loc["woman", "position"] == 1
    assert found.loc["queen", "position"] == 1
    assert found.loc["queen", "distance"] == 1
    assert found.loc["tree", "position"] == pytest.approx(9 / 5)
    assert found["position"].is_monotonic_increasing


def test_a_direction_is_explained_by_the_column_that_it_follows():
    X = pd.DataFrame(
        {
            "place": ["man", "king", "woman", "queen"] * 5,
            "sex": ["m", "m", "f", "f"] * 5,
            "rank": [0.0, 1.0, 0.0, 1.0] * 5,
        }
    )
    found = explain_direction(ROYALS, "place", "man", "woman", X).set_index("column")["explained"]
    assert found["sex"] == pytest.approx(1)
    assert found["rank"] == pytest.approx(0)
    by_rank = explain_direction(ROYALS, "place", "man", "king", X)
    assert by_rank["column"].tolist() == ["rank", "sex"]


def test_a_direction_is_explained_by_columns_of_every_kind_of_value():
    people = ["man", "king", "woman", "queen"]  # 0, 0, 1 and 1 along the direction
    X = pd.DataFrame(
        {
            "place": people * 5,
            "mixed": [1, "x", 1, None] * 5,  # means of 0.5, 0 and 1
            "date": pd.to_datetime(["2024-01-01", "2024-01-01", "2024-03-01", None] * 5),
            "bytes": [b"m", b"m", b"f", b"f"] * 5,
            "missing": [None] * 20,
        }
    )
    found = explain_direction(ROYALS, "place", "man", "woman", X).set_index("column")["explained"]
    assert found.to_dict() == pytest.approx({"date": 1, "bytes": 1, "mixed": 0.5, "missing": 0})


def test_equal_vectors_have_no_direction():
    same = make_embedding([[1.0], [1.0], [2.0]])
    with pytest.raises(InputError, match=r"have the same vector in column 'place'"):
        direction(same, "place", "c00000", "c00001")


@pytest.mark.parametrize("method", ["kmeans", "agglomerative", "hdbscan"])
def test_clusters_that_lie_apart_are_found(method):
    random = np.random.default_rng(0)
    centres = np.array([[0, 0], [9, 0], [0, 9]])
    sizes = [20, 10, 15]
    vectors = np.concatenate(
        [c + random.normal(0, 0.3, (n, 2)) for c, n in zip(centres, sizes, strict=True)]
    )
    source = make_embedding(vectors)
    found = cluster(source, "place", method=method)
    # Numbered by size: the first twenty, the last fifteen, the ten between.
    assert found["cluster"].tolist() == [0] * 20 + [2] * 10 + [1] * 15
    expected = silhouette_samples(source["place"].vectors, found["cluster"])
    np.testing.assert_allclose(found["silhouette"], expected, rtol=1e-5)


def test_the_number_of_clusters_can_be_set():
    source = make_embedding(np.arange(12)[:, None])
    assert cluster(source, "place", n_clusters=4)["cluster"].nunique() == 4


def test_a_million_vectors_are_searched(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(100_000, 4)).astype(np.float32)
    source = make_embedding(vectors)
    found = nearest(source, "place", "c00007", k=3)
    distance = np.linalg.norm(vectors - vectors[7], axis=1)
    assert found["category"].tolist() == [f"c{i:05d}" for i in np.argsort(distance)[1:4]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: nearest(ROYALS, "plcae", "man"), UnknownCategoryError, "Did you mean 'place'"),
        (lambda: nearest(ROYALS, "place", "men"), UnknownCategoryError, "Did you mean 'man'"),
        (
            lambda: nearest(ROYALS, "place", "man", k=0),
            InputError,
            "^k must be an int of at least 1",
        ),
        (lambda: nearest(7, "place", "man"), InputTypeError, "^A fitted estimator, its embeddings"),
        (
            lambda: analogy(make_embedding([[1], [2], [3]]), "place", *"abc"),
            InputError,
            "^Column 'place' has 3 categories, and this needs at least 4",
        ),
        (
            lambda: cluster(make_embedding([[1], [1], [1]]), "place"),
            InputError,
            "^All vectors of column 'place' are equal",
        ),
        (lambda: cluster(ROYALS, "place", method="dbscan"), InputError, "^method must be one of"),
        (
            lambda: cluster(ROYALS, "place", n_clusters=6),
            InputError,
            "^n_clusters must be between 1 and the 5 categories; got 6",
        ),
        (
            lambda: explain_direction(ROYALS, "place", "man", "king", {"plac": ["man"]}),
            InputError,
            "^The table has no column 'place'. Did you mean 'plac'",
        ),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_embeddings_can_be_passed_themselves(model):
    assert isinstance(model.embeddings_, Embeddings)
    pd.testing.assert_frame_equal(
        nearest(model.embeddings_, "store", 3), nearest(model, "store", 3)
    )
