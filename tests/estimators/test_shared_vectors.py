"""``shared_vectors`` as a user meets it."""

from contextlib import ExitStack

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from sklearn.base import clone

import catspace
from catspace import (
    EmbeddingClassifier,
    EmbeddingEncoder,
    EmbeddingRegressor,
    Embeddings,
    make_report,
    to_onnx,
)
from catspace.analysis import effect, importance, nearest
from catspace.exceptions import ModelFileError, ParameterError
from catspace.model import optimizer
from catspace.model.architecture import Architecture
from catspace.model.evidence import Evidence
from catspace.model.network import EntityNetwork
from catspace.preparation.prepare import Given
from catspace.preparation.rows import Rows
from tests.storage.crafting import run_campaign, sign, take_apart

ESTIMATORS = [EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder]
SHORT = {"max_epochs": 2, "random_state": 0, "shared_vectors": [["home", "away"]]}


def draw(n, seed, n_teams=40):
    """Return games: what a team is worth counts at home and, with another sign, away."""
    random = np.random.default_rng(seed)
    worth = np.random.default_rng(9).normal(size=n_teams)
    home, away = random.integers(n_teams, size=(2, n))
    day = random.choice(["Mon", "Tue", "Wed"], size=n)
    X = pd.DataFrame({"home": home.astype(str), "day": day, "away": away.astype(str)})
    return X, worth[home] - worth[away] + 0.3 * (day == "Tue") + random.normal(scale=0.2, size=n)


@pytest.fixture(scope="module")
def games():
    return draw(300, seed=0)


@pytest.fixture(scope="module")
def model(games):
    return EmbeddingRegressor(**SHORT).fit(*games)


def target_for(kind, y):
    return np.where(y > 0, "won", "lost") if kind is EmbeddingClassifier else y


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_both_columns_answer_with_the_same_vectors(games, kind):
    X, y = games
    model = kind(**SHORT).fit(X, target_for(kind, y))
    home, away = model.embeddings_["home"], model.embeddings_["away"]
    np.testing.assert_array_equal(home.table, away.table)
    assert home.categories == away.categories
    assert home.shared_with == ("away",)
    expected = X["home"].value_counts().add(X["away"].value_counts(), fill_value=0)
    assert dict(zip(home.categories, home.counts, strict=True)) == expected.to_dict()
    assert home.n_rows == model.embeddings_["day"].n_rows == 300
    assert len(list(model.networks_[0].input.tables)) == 2
    np.testing.assert_array_equal(home.evidence, away.evidence)


def test_a_shared_table_learns_more_from_the_same_rows():
    train, (X, y) = draw(250, seed=0), draw(2_000, seed=1)

    def error(**parameters):
        model = EmbeddingRegressor(smooth=4, random_state=0, **parameters).fit(*train)
        return np.mean((model.predict(X) - y) ** 2)

    assert error(shared_vectors=[["home", "away"]]) < 0.8 * error()


def test_changing_the_vector_of_a_team_changes_it_at_home_and_away():
    shape = Architecture((6, 5, 6), (2, 3, 2), (), 1, (4,), table_of=(0, 1, 0))
    network = EntityNetwork(shape)
    network.initialize("normal", torch.Generator().manual_seed(0))
    codes = torch.tensor([[3, 4], [3, 3], [4, 5]])
    before = network.input(codes)
    with torch.no_grad():
        network.input.tables[0][4] += 1
    moved = (network.input(codes) - before).tolist()
    assert moved == [[0, 0, 0, 0, 0, 1, 1], [1, 1, 0, 0, 0, 0, 0]]
    assert shape.table_shapes == [(6, 2), (5, 3)]


def test_the_gradient_of_a_shared_table_is_that_of_both_columns():
    shared = EntityNetwork(Architecture((6, 6), (2, 2), (), 1, (4,), table_of=(0, 0)))
    apart = EntityNetwork(Architecture((6, 6), (2, 2), (), 1, (4,)))
    shared.initialize("normal", torch.Generator().manual_seed(0))
    with torch.no_grad():
        for mine, other in zip(apart.layers, shared.layers, strict=True):
            mine.load_state_dict(other.state_dict())
        for table in apart.input.tables:
            table.copy_(shared.input.tables[0])
    codes, numbers = torch.tensor([[3, 4, 4], [4, 5, 4]]), torch.empty(3, 0)
    for network in (shared, apart):
        evidence = Evidence([torch.full((6,), 5.0)] * 2, [2, 2], [3.0, 3.0], torch.device("cpu"))
        network(codes, numbers, None, _pull(evidence, codes)).square().mean().backward()
    first, second = (table.grad for table in apart.input.tables)
    torch.testing.assert_close(shared.input.tables[0].grad, first + second)


def _pull(evidence, codes):
    rows = Rows(codes, torch.empty(3, 0), torch.zeros(3, 1))
    applied = evidence.apply(rows, torch.Generator().manual_seed(0))
    return evidence.pull(Rows(codes, rows.numbers, rows.target, rates=applied.rates))


def test_memory_and_files_give_the_same_bits(games, model, tmp_path):
    X, y = games
    pq.write_table(pa.Table.from_pandas(X.assign(y=y)), tmp_path / "games.parquet")
    again = EmbeddingRegressor(**SHORT).fit(tmp_path / "games.parquet", "y")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_saved_model_is_restored_with_one_table(games, model, tmp_path):
    model.save(tmp_path / "games.catspace")
    _, arrays = take_apart(tmp_path / "games.catspace")
    assert sorted(name for name in arrays if name.startswith("embedding")) == [
        "embedding.0",
        "embedding.1",
    ]
    again = catspace.load(tmp_path / "games.catspace")
    np.testing.assert_array_equal(again.predict(games[0]), model.predict(games[0]))
    assert again.shared_vectors == [["home", "away"]]
    loaded = Embeddings.load(tmp_path / "games.catspace")
    np.testing.assert_array_equal(loaded["away"].table, model.embeddings_["away"].table)
    assert loaded["away"].shared_with == ("home",)
    assert clone(again).get_params()["shared_vectors"] == [["home", "away"]]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (["encoder", "shared"], [["home"]], "encoder.shared"),
        (["encoder", "shared"], [["home", "price"]], "encoder.shared"),
        (["encoder", "shared"], [["home", "away"], ["away", "day"]], "encoder.shared"),
        (["encoder", "shared"], [["home", "day"]], "the file must be one with an array"),
        (["encoder", "shared"], [], "the file must be one with an array"),
        (["architecture", "table_of"], [0, 1, 1], "architecture.table_of must be [0, 1, 0]"),
        (["architecture", "table_of"], [], "architecture.table_of must be [0, 1, 0]"),
        (["architecture", "table_of"], [0, 1, 10**9], "architecture.table_of"),
        (["architecture", "dims"], [20, 2, 19], "the same for columns that share their vectors"),
        (["recipe", "smooth"], [8, 8, 9], "the same for columns that share their vectors"),
        (["architecture", "input_encoding"], "onehot", "encoder.shared must be empty on one-hot"),
    ],
)
def test_a_file_whose_tables_do_not_fit_is_refused(model, tmp_path, place, value, said):
    model.save(tmp_path / "games.catspace")
    document, arrays = take_apart(tmp_path / "games.catspace")
    document[place[0]][place[1]] = value
    (tmp_path / "crafted.catspace").write_bytes(sign(document, arrays))
    for read in (catspace.load, Embeddings.load):
        with pytest.raises(ModelFileError, match="holds no model that catspace could") as error:
            read(tmp_path / "crafted.catspace")
        assert said in str(error.value)


@pytest.mark.filterwarnings("ignore::catspace.exceptions.CatspaceWarning")
def test_crafted_files_are_refused_in_a_sentence_or_open_within_bounds(games, model, tmp_path):
    model.save(tmp_path / "games.catspace")
    options = {"n_cases": 60, "seed": 1, "folder": tmp_path}
    counts, raw = run_campaign(tmp_path / "games.catspace", games[0], **options)
    assert not raw
    assert counts["refused"] > 25


def test_what_is_said_of_one_column_holds_for_both(games):
    one = EmbeddingRegressor(**SHORT, embedding_dim={"home": 3}, smooth={"away": 5, "day": 1})
    one.fit(*games)
    assert one.embedding_dims_ == {"home": 3, "day": 2, "away": 3}
    assert one.smooth_ == {"home": 5, "day": 1, "away": 5}
    for name, values in (
        ("embedding_dim", {"home": 3, "away": 4}),
        ("smooth", {"home": 1, "away": 0}),
    ):
        with pytest.raises(ParameterError, match=rf"^{name} says of 'home' something else than of"):
            EmbeddingRegressor(**SHORT, **{name: values}).fit(*games)


def test_given_vectors_are_given_to_both_and_frozen_for_both(games, model):
    given = {"initial_vectors": {"away": model}, "frozen_columns": ["home"]}
    again = EmbeddingRegressor(**{**SHORT, "random_state": 1}, **given).fit(*games)
    table = model.embeddings_["home"].table
    np.testing.assert_array_equal(again.embeddings_["home"].table, table)
    np.testing.assert_array_equal(again.embeddings_["away"].table, table)
    two = {"home": model.embeddings_["home"], "away": model.embeddings_["away"].to_frame()}
    with pytest.raises(ParameterError, match=r"^initial_vectors says of 'home' something else"):
        EmbeddingRegressor(**SHORT, initial_vectors=two).fit(*games)


def test_one_hot_input_refuses(games):
    with pytest.raises(ParameterError, match=r'^input_encoding="onehot" has no vectors that col'):
        EmbeddingRegressor(**SHORT, input_encoding="onehot").fit(*games)


def test_a_large_shared_table_is_updated_row_by_row(games, monkeypatch):
    X, y = games
    settings = {**SHORT, "smooth": 4}
    monkeypatch.setattr(optimizer, "SPARSE_FROM", 100)
    model = EmbeddingRegressor(**settings, embedding_dim=4).fit(X, y)
    assert list(model.networks_[0].input.sparse) == [0]
    home, away = model.embeddings_["home"], model.embeddings_["away"]
    np.testing.assert_array_equal(home.table, away.table)


def test_the_memory_of_a_shared_table_is_counted_once(games):
    told = {}
    for shared in (None, [["home", "away"]]):
        model = EmbeddingRegressor(**{**SHORT, "shared_vectors": shared}, smooth=4)
        job = model.start_fit()
        with ExitStack() as stack:
            prepared = job.preparation(stack).prepare(Given(*games), Given(None, None))
            plan = job.plan(prepared.learned, prepared.numbers, 300)
        told[shared is None] = plan.memory(0, has_validation=False).tables
    assert len(told[True]) == 3
    assert told[False] == told[True][:2]


def test_transform_analysis_and_the_report_know_both_columns(games, model):
    X, y = games
    features = model.transform(X)
    dim = model.embedding_dims_["home"]
    names = model.get_feature_names_out().tolist()
    assert names[0] == "home_0"
    assert names[-1] == f"away_{dim - 1}"
    home = np.stack([model.embeddings_["home"].vector(team) for team in X["home"]])
    np.testing.assert_array_equal(features[:, :dim], home)
    assert set(importance(model, X, y, n_repeats=2)["column"]) == {"home", "day", "away"}
    assert set(effect(model, X, "away")["value"]) == set(model.embeddings_["away"].categories)
    home, away = (nearest(model, column, "7", k=39)["category"] for column in ("home", "away"))
    assert home.tolist() == away.tolist()
    assert '["rows in training",300]' in make_report(model, X, y).html.replace(", ", ",")


def test_pairs_of_columns_that_share_are_told(games):
    model = EmbeddingRegressor(**SHORT, pairs=[("home", "away")]).fit(*games)
    assert model.pairs_ == [("home", "away")]


def test_onnx_gives_the_same_answers(games, model):
    runtime = pytest.importorskip("onnxruntime")
    X, _ = games
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    inputs = {name: X[[name]].to_numpy().astype(object) for name in X}
    (found,) = session.run(None, inputs)
    # Outputs near zero are sums of terms that are not: what float32 rounds is a share of those.
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-6, atol=1e-6)


def test_no_groups_are_as_none(games):
    plain = EmbeddingRegressor(**{**SHORT, "shared_vectors": None}).fit(*games)
    empty = EmbeddingRegressor(**{**SHORT, "shared_vectors": []}).fit(*games)
    np.testing.assert_array_equal(plain.predict(games[0]), empty.predict(games[0]))


def test_a_team_that_is_new_in_either_column_has_one_vector_in_both(games, tmp_path):
    X, y = games
    model = EmbeddingRegressor(**SHORT, smooth=2).fit(X, y)
    before = model.embeddings_["home"]
    more = pd.DataFrame({"home": ["new", "3"] * 8, "day": "Mon", "away": ["3", "newer"] * 8})
    model.partial_fit(more, np.linspace(-1, 1, 16))
    home, away = model.embeddings_["home"], model.embeddings_["away"]
    assert set(home.categories) - set(before.categories) == {"new", "newer"}
    assert home.categories == away.categories
    np.testing.assert_array_equal(home.vectors, away.vectors)
    counts = dict(zip(home.categories, home.counts, strict=True))
    known = dict(zip(before.categories, before.counts, strict=True))
    assert (counts["new"], counts["newer"], counts["3"]) == (8, 8, known["3"] + 16)
    assert len(model.networks_[0].input.tables) == 2
    path = tmp_path / "games.catspace"
    model.save(path)
    np.testing.assert_array_equal(catspace.load(path).predict(more), model.predict(more))


def test_cross_fitted_vectors_are_shared_too(games):
    X, y = games
    encoder = EmbeddingEncoder(**SHORT, smooth=2, cv=3, embedding_dim=4).fit(X, y)
    np.testing.assert_array_equal(
        encoder.embeddings_["home"].vectors, encoder.embeddings_["away"].vectors
    )
    assert np.isfinite(encoder.fit_transform(X, y)).all()
