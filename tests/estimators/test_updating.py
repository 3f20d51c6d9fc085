"""A model is fitted on Monday, and on Tuesday there is a new shop."""

import threading
from copy import deepcopy

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.exceptions import NotFittedError

import catspace
from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, to_onnx
from catspace.exceptions import InputError, InterruptedWarning
from catspace.model import turns
from catspace.model.known import Known
from catspace.model.optimizer import Shares

SETTINGS = {"random_state": 0, "smooth": 4, "max_epochs": 6, "batch_size": 32}
KINDS = [EmbeddingRegressor, EmbeddingClassifier, EmbeddingEncoder]
EFFECT = {"Aachen": 0.0, "Bonn": 1.0, "Celle": 4.0, "Dresden": 4.2, "Berlin": 5.0, "Zwickau": -0.5}


def make_rows(towns, n=400, seed=0):
    """Return rows whose target is the sum of what town, weekday and price contribute."""
    random = np.random.default_rng(seed)
    town = random.choice(list(towns), size=n)
    weekday = random.integers(1, 8, size=n)
    price = random.normal(10, 2, size=n)
    y = np.array([EFFECT[t] for t in town]) + 0.5 * (weekday >= 6) + 0.3 * (price - 10)
    X = pd.DataFrame({"town": town, "weekday": pd.Categorical(weekday), "price": price})
    return X, y + random.normal(0, 0.1, size=n)


MONDAY = make_rows(["Aachen", "Bonn", "Celle", "Dresden"], 600)
# One new town sorts between those that are known, the other after all of them.
TUESDAY = make_rows(["Bonn", "Berlin", "Zwickau"], 120, seed=1)


def target_of(kind, y):
    return np.where(y > 2, "high", "low") if kind is EmbeddingClassifier else y


FITTED = {}


def fitted(kind=EmbeddingRegressor, **settings):
    """Return a model of Monday's rows, which each test has for itself."""
    key, (X, y) = (kind, str(settings)), MONDAY
    if key not in FITTED:
        FITTED[key] = kind(**{**SETTINGS, **settings}).fit(X, target_of(kind, y))
    return deepcopy(FITTED[key])


def updated(kind=EmbeddingRegressor, **settings):
    X, y = TUESDAY
    return fitted(kind, **settings).partial_fit(X, target_of(kind, y))


def state_of(model):
    """Return everything that a model file holds of a model, as bytes by name."""
    document, arrays = model.fitted_.learned.to_state()
    found = {name: array.tolist() for name, array in arrays.items()}
    for i, network in enumerate(model.fitted_.networks):
        weights = network.state_dict()
        found |= {f"{i}.{name}": weight.numpy().tobytes() for name, weight in weights.items()}
    return {**found, "document": str(document), "history": str(len(model.history_))}


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_category_has_a_vector_of_its_own_and_the_old_ones_keep_their_places(kind):
    before, after = fitted(kind), updated(kind)
    town = after.embeddings_["town"]
    assert town.categories == ["Aachen", "Berlin", "Bonn", "Celle", "Dresden", "Zwickau"]
    counts = pd.concat([MONDAY[0], TUESDAY[0]])["town"].value_counts()
    assert town.counts.tolist() == [counts[name] for name in town.categories]
    old = before.embeddings_["town"]
    spread = np.linalg.norm(old.vectors - old.vectors.mean(0), axis=1).mean()
    for name in old.categories:
        assert np.linalg.norm(town.vector(name) - old.vector(name)) < 0.1 * spread
    assert np.linalg.norm(town.vector("Berlin") - old.table[2]) > 0.1 * spread
    for name in ("Berlin", "Zwickau", "Bonn"):
        found = town.nearest(name, k=5)
        assert sorted(found["category"]) == sorted({*town.categories} - {name})


@pytest.mark.filterwarnings("ignore:None of the values of column 'town'")
def test_new_categories_are_learned_and_the_old_ones_are_not_forgotten(monkeypatch):
    X, y = make_rows(["Berlin", "Zwickau"], 300, seed=2)
    X_old, y_old = make_rows(["Aachen", "Bonn", "Celle", "Dresden"], 300, seed=3)
    settings = {"max_epochs": "auto", "batch_size": "auto"}
    before, after = fitted(**settings), updated(**settings)

    def error(model, X, y):
        return np.abs(model.predict(X) - y).mean()

    assert error(after, X, y) < error(before, X, y) / 5
    assert error(after, X_old, y_old) < 1.5 * error(before, X_old, y_old)
    # Networks that nothing holds forget: all weights move as if they had learned nothing yet.
    monkeypatch.setattr(
        Known, "shares", lambda start, new, *_: Shares([one * 0 + 1.0 for one in new], 1.0)
    )
    careless = updated(**settings)
    assert error(careless, X_old, y_old) > 3 * error(after, X_old, y_old)


@pytest.mark.parametrize("encoding", ["embedding", "onehot"])
@pytest.mark.parametrize("smooth", [0, 4])
def test_vectors_that_the_new_rows_do_not_meet_stay_to_the_last_bit(encoding, smooth):
    settings = {"input_encoding": encoding, "smooth": smooth}
    before, after = (f(**settings).embeddings_["town"] for f in (fitted, updated))
    for name in ("Aachen", "Celle", "Dresden"):
        np.testing.assert_array_equal(after.vector(name), before.vector(name))
    assert (after.vector("Bonn") != before.vector("Bonn")).any()


def test_missing_rare_and_unseen_stay_three_things():
    X, y = TUESDAY
    model = fitted(min_frequency=10)
    few = pd.concat([X[X["town"] == "Berlin"][:9], X[X["town"] == "Zwickau"][:10]])
    few.loc[few.index[0], "town"] = None
    model.partial_fit(few, y[few.index])
    town = model.embeddings_["town"]
    assert "Berlin" not in town.categories
    assert "Zwickau" in town.categories
    assert town.vocabulary.counts[:3].tolist() == [1, 8, 0]
    asked = pd.DataFrame({"town": [None, "Berlin", "Paris"], "weekday": [1, 1, 1], "price": 10.0})
    codes = model.encode(asked.astype({"weekday": X["weekday"].dtype})).codes[0]
    assert codes.tolist() == [0, 1, 2]


def test_one_that_was_rare_gets_a_vector_when_enough_new_rows_have_it():
    X, y = MONDAY
    rare = X.copy()
    rare.loc[:4, "town"] = "Berlin"
    model = EmbeddingRegressor(min_frequency=10, **SETTINGS).fit(rare, y)
    assert model.embeddings_["town"].vocabulary.counts[1] == 5
    model.partial_fit(*TUESDAY)
    town = model.embeddings_["town"]
    assert town.counts[town.categories.index("Berlin")] == (TUESDAY[0]["town"] == "Berlin").sum()
    assert town.vocabulary.counts[1] == 5  # whose rows were counted together


def test_a_share_of_rows_is_one_of_all_rows_until_now():
    n_berlin = int((TUESDAY[0]["town"] == "Berlin").sum())
    for share, has_own in ((n_berlin / 720, True), ((n_berlin + 1) / 720, False)):
        town = updated(min_frequency=share).embeddings_["town"]
        assert ("Berlin" in town.categories) == has_own


def test_max_categories_takes_no_vector_away_and_gives_none_beyond():
    known = ["Aachen", "Bonn", "Celle", "Dresden"]
    # Where not all new ones have room, the vector of the rare is one of those that count.
    for most, found in (
        (4, known),
        (5, known),
        (6, [*known, "Berlin", "Zwickau"]),
    ):
        assert updated(max_categories={"town": most}).embeddings_["town"].categories == sorted(
            found
        )
    three = make_rows(["Berlin", "Zwickau"], 60, seed=1)[0]["town"].tolist() + ["Essen"] * 5
    X = TUESDAY[0][:65].assign(town=three)
    town = fitted(max_categories={"town": 6}).partial_fit(X, TUESDAY[1][:65]).embeddings_["town"]
    common = pd.Series(three).value_counts().idxmax()
    assert town.categories == sorted([*known, common])
    assert town.vocabulary.counts[1] == 65 - three.count(common)


def test_buckets_bins_and_parts_of_dates_that_are_new_get_vectors_too():
    X, y = (pd.concat([MONDAY[0], TUESDAY[0]]), np.concatenate([MONDAY[1], TUESDAY[1]]))
    X = X.assign(day=pd.date_range("2024-01-01", periods=len(y), freq="D"))
    settings = {"hash_buckets": {"town": 50}, "discretize": {"price": 4}, "date_parts": ["year"]}
    model = EmbeddingRegressor(**settings, **SETTINGS).fit(X[:300], y[:300])
    bins, first = model.fitted_.learned.encoder.bins, model.embeddings_
    model.partial_fit(X[300:], y[300:])
    assert model.fitted_.learned.encoder.bins == bins
    assert model.embeddings_["price"].categories == first["price"].categories
    assert first["day_year"].categories == [2024]
    assert model.embeddings_["day_year"].categories == [2024, 2025]
    assert len(model.embeddings_["town"]) == len(first["town"]) + 2
    assert len(model.predict(X)) == len(X)


def test_numbers_keep_their_scales():
    X, y = TUESDAY
    model = fitted()
    scalings = dict(model.fitted_.learned.encoder.scalings)
    model.partial_fit(X.assign(price=1000 * X["price"]), y)
    assert model.fitted_.learned.encoder.scalings == scalings


def test_a_table_of_numbers_alone_goes_on_learning():
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 2))
    model = EmbeddingRegressor(**SETTINGS).fit(X[:200], X[:200, 0])
    before = state_of(model)
    model.partial_fit(X[200:], X[200:, 0] + 5)
    assert model.fitted_.learned.n_known == 400
    assert model.predict(X).mean() > 0.5
    assert state_of(model)["0.layers.0.weight"] != before["0.layers.0.weight"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_bits_whatever_n_jobs(kind):
    one, two = (updated(kind, n_networks=3, n_jobs=n_jobs) for n_jobs in (1, 3))
    assert state_of(one) == state_of(two)


def test_all_networks_go_on():
    before, after = fitted(n_networks=2), updated(n_networks=2)
    for old, new in zip(before.network_embeddings(), after.network_embeddings(), strict=True):
        assert new["town"].categories == after.embeddings_["town"].categories
        np.testing.assert_array_equal(new["town"].vector("Celle"), old["town"].vector("Celle"))
        assert (new["town"].vector("Berlin") != old["town"].table[2]).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_was_loaded_goes_on_like_the_one_that_was_saved(kind, tmp_path):
    X, y = TUESDAY
    model = fitted(kind)
    model.save(tmp_path / "m.catspace")
    loaded = catspace.load(tmp_path / "m.catspace")
    for one in (model, loaded):
        one.partial_fit(X, target_of(kind, y))
    assert state_of(model) == state_of(loaded)
    model.save(tmp_path / "m.catspace")
    again = catspace.load(tmp_path / "m.catspace")
    assert state_of(again) == state_of(model)
    np.testing.assert_array_equal(again.transform(X), model.transform(X))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_give_what_the_same_rows_in_memory_give(ending, tmp_path):
    model, by_file = fitted(), fitted()
    for i, part in enumerate((slice(0, 50), slice(50, None))):
        frame = TUESDAY[0][part].assign(sales=TUESDAY[1][part])
        frame["weekday"] = frame["weekday"].astype(int)
        place = tmp_path / f"{i}.{ending}"
        frame.to_csv(place, index=False) if ending == "csv" else frame.to_parquet(place)
    model.partial_fit(*TUESDAY)
    by_file.partial_fit(str(tmp_path / f"*.{ending}"), "sales")
    assert state_of(by_file) == state_of(model)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_the_kind_of_table_does_not_matter(make):
    X, y = TUESDAY
    columns = {name: X[name].tolist() for name in X}
    columns["weekday"] = pa.array(columns["weekday"]).dictionary_encode()
    if make in (pd.DataFrame, pl.DataFrame):
        columns["weekday"] = pd.Categorical(X["weekday"])
    if make is pl.DataFrame:
        columns = pl.from_pandas(X).to_dict()
        columns["weekday"] = pl.Series(X["weekday"].tolist())
    expected = fitted(categorical_features=["weekday"]).partial_fit(X, y)
    found = fitted(categorical_features=["weekday"]).partial_fit(make(columns), y)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


def test_rows_of_weight_zero_are_absent_and_heavy_ones_count_more():
    X, y = TUESDAY
    weight = np.where(X["town"] == "Berlin", 0.0, 1.0)
    model = fitted().partial_fit(X, y, sample_weight=weight)
    alone = fitted().partial_fit(X[weight > 0], y[weight > 0], sample_weight=weight[weight > 0])
    assert "Berlin" not in model.embeddings_["town"].categories
    assert state_of(model) == state_of(alone)
    by_name = fitted().partial_fit(X.assign(w=weight, y=y), "y", sample_weight="w")
    assert state_of(by_name) == state_of(model)
    heavy = fitted().partial_fit(X, y, sample_weight=np.where(y > y.mean(), 100.0, 1.0))
    assert heavy.predict(X).mean() > fitted().partial_fit(X, y).predict(X).mean()


@pytest.mark.parametrize("weights", ["balanced", {"high": 2.0}])
def test_weights_of_classes_are_those_of_the_parameter_also_where_a_class_is_absent(weights):
    X, y = TUESDAY
    labels = target_of(EmbeddingClassifier, y)
    model = fitted(EmbeddingClassifier, class_weight=weights)
    only = labels == "low"
    model.partial_fit(X[only], labels[only]).partial_fit(X, labels)
    assert model.classes_.tolist() == ["high", "low"]


def test_it_goes_on_again_and_again():
    X, y = TUESDAY
    model = fitted(n_networks=2)
    n_before = len(model.history_)
    for begin in range(0, 120, 30):
        model.partial_fit(X[begin : begin + 30], y[begin : begin + 30])
    whole = pd.concat([MONDAY[0], X])
    town = model.embeddings_["town"]
    assert town.counts.sum() == len(whole)
    assert model.fitted_.learned.n_samples == len(whole)
    assert len(model.history_) == n_before + 4 * 2 * 6
    for network in (0, 1):
        epochs = [epoch["epoch"] for epoch in model.history_ if epoch["network"] == network]
        assert epochs == list(range(1, 6 * 5 + 1))
    assert model.n_iter_ == 30
    assert model.best_epoch_ == [30, 30]


def test_it_returns_the_estimator_and_leaves_its_parameters_alone():
    X, y = TUESDAY
    model = fitted(early_stopping=True)
    parameters = model.get_params()
    told = []
    assert model.partial_fit(X, y, on_epoch=told.append) is model
    assert model.get_params() == parameters
    assert [record["epoch"] for record in told] == [
        record["epoch"] for record in model.history_[-len(told) :]
    ]
    assert all(record["validation_loss"] is None for record in told)


def test_pairs_that_were_met_keep_what_they_tell_and_new_ones_are_told_by_the_new_rows():
    settings = {"pairs": [("town", "weekday")]}
    before, after = fitted(**settings), updated(**settings)
    X, y = TUESDAY
    known, grown = (model.fitted_.networks[0].pairs for model in (before, after))
    asked = MONDAY[0]
    np.testing.assert_array_equal(
        grown(codes_of(after, asked)).numpy(), known(codes_of(before, asked)).numpy()
    )
    target = after.fitted_.learned.target.encode(y)[:, 0].astype(float)
    for town, weekday in (("Berlin", 1), ("Zwickau", 7)):
        is_pair = ((X["town"] == town) & (X["weekday"].astype(int) == weekday)).to_numpy()
        row = X[is_pair][:1]
        # Two rows with the mean of all are added to those of a pair; told is the difference.
        expected = (target[is_pair].sum() + 2 * known.prior[0]) / (is_pair.sum() + 2)
        found = grown(codes_of(after, row)).numpy()[0, 0]
        np.testing.assert_allclose(found, expected - known.prior[0], rtol=1e-5)


def codes_of(model, X):
    return torch.from_numpy(model.encode(X).codes)


def test_pairs_survive_saving_between_updates(tmp_path):
    X, y = TUESDAY
    model = fitted(pairs=[("town", "weekday")])
    model.save(tmp_path / "m.catspace")
    loaded = catspace.load(tmp_path / "m.catspace")
    assert state_of(loaded.partial_fit(X, y)) == state_of(model.partial_fit(X, y))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_what_shows_and_hands_out_a_model_knows_the_new_categories(tmp_path):
    X, y = TUESDAY
    model = updated()
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    feed = {
        "town": X[["town"]].to_numpy(dtype=object),
        "weekday": X[["weekday"]].to_numpy(dtype=np.float64),
        "price": X[["price"]].to_numpy(),
    }
    (found,) = session.run(["prediction"], feed)
    np.testing.assert_allclose(found.ravel(), model.predict(X), rtol=1e-4)
    assert "Zwickau" in model.report(X, y)._repr_html_()
    names = model.get_feature_names_out().tolist()
    assert model.transform(X).shape == (len(X), len(names))
    assert names == fitted().get_feature_names_out().tolist()
    shown = catspace.analysis.project(model, "town")
    assert list(shown["category"]) == model.embeddings_["town"].categories


def test_a_large_table_is_updated_row_by_row():
    n = 60_000
    ids = np.arange(n)
    X = pd.DataFrame({"id": pd.Categorical(ids)})
    model = EmbeddingRegressor(embedding_dim=20, smooth=4, max_epochs=1, random_state=0)
    model.fit(X, ids % 7)
    before = model.embeddings_["id"]
    model.partial_fit(pd.DataFrame({"id": pd.Categorical([n + 5, 3, n + 1])}), [1.0, 2.0, 3.0])
    after = model.embeddings_["id"]
    assert after.categories[-2:] == [n + 1, n + 5]
    others = np.delete(np.arange(n), 3)
    np.testing.assert_array_equal(after.vectors[others], before.vectors[others])


WRONG = {
    "other columns": (lambda X: X.rename(columns={"price": "cost"}), "feature names should match"),
    "fewer columns": (lambda X: X.drop(columns="price"), "now missing:\n- price"),
    "text for numbers": (
        lambda X: X.assign(price="cheap"),
        "Column 'price' held numbers in fit and holds text now",
    ),
    "text for a category of numbers": (
        lambda X: X.assign(weekday=X["weekday"].astype(str)),
        "Column 'weekday' held numbers in fit and holds text now",
    ),
    "numbers for text": (
        lambda X: X.assign(town=pd.Categorical(np.arange(len(X)))),
        "Column 'town' held text in fit and holds numbers now",
    ),
    "no rows": (lambda X: X[:0], "The table has no rows"),
    "infinity": (lambda X: X.assign(price=np.inf), "Column 'price' holds infinity"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_rows_that_do_not_fit_are_refused_and_the_model_stays(wrong):
    change, message = WRONG[wrong]
    X, y = TUESDAY
    model = fitted()
    before = state_of(model)
    changed = change(X)
    with pytest.raises(InputError, match=message):
        model.partial_fit(changed, y[: len(changed)])
    assert state_of(model) == before


@pytest.mark.parametrize(
    ("kind", "label", "message"),
    [
        (EmbeddingRegressor, np.nan, r"Input y contains NaN, first in row 5 \(1 in all\)"),
        (EmbeddingRegressor, np.inf, "Input y contains infinity, first in row 5"),
        (EmbeddingClassifier, "middle", "The target holds the class 'middle', which fit has not"),
        (EmbeddingClassifier, None, "Input y contains NaN"),
    ],
)
def test_a_target_that_cannot_be_learned_is_refused_and_the_model_stays(kind, label, message):
    X, y = TUESDAY
    model = fitted(kind)
    before = state_of(model)
    labels = target_of(kind, y).astype(object)
    labels[5] = label
    with pytest.raises(InputError, match=message):
        model.partial_fit(X, labels)
    assert state_of(model) == before


def test_files_that_cannot_be_learned_from_are_refused_and_the_model_stays(tmp_path):
    model = fitted()
    before = state_of(model)
    with pytest.raises(InputError, match="There is no file"):
        model.partial_fit(str(tmp_path / "nowhere.csv"), "sales")
    frame = TUESDAY[0].assign(sales=TUESDAY[1])
    for name, table, message in (
        ("empty", frame[:0], "has no rows"),
        ("text", frame.assign(weekday="Monday"), "Column 'weekday'"),
        ("nan", frame.assign(sales=[np.nan, *TUESDAY[1][1:]]), "Input y contains NaN"),
        ("other", frame.drop(columns="town"), "now missing:\n- town"),
    ):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
        with pytest.raises(InputError, match=message):
            model.partial_fit(str(tmp_path / f"{name}.csv"), "sales")
    assert state_of(model) == before


@pytest.mark.parametrize("kind", KINDS)
def test_before_fit_it_says_that_there_is_nothing_to_go_on_from(kind):
    with pytest.raises(NotFittedError, match=f"a model that is fitted, and this {kind.__name__}"):
        kind().partial_fit(*TUESDAY)


def test_weights_that_are_all_zero_are_refused():
    X, y = TUESDAY
    with pytest.raises(InputError, match="at least one non-zero"):
        fitted().partial_fit(X, y, sample_weight=np.zeros(len(y)))


@pytest.mark.parametrize("epoch", [1, 4])
def test_after_an_interruption_the_model_is_as_it_was(epoch, monkeypatch):
    X, y = TUESDAY
    model = fitted(n_networks=2, n_jobs=1)
    before = state_of(model)
    wait = turns.wait

    def interrupted(futures):
        reached.wait(timeout=60)
        raise KeyboardInterrupt

    reached = threading.Event()
    monkeypatch.setattr(turns, "wait", interrupted)
    with (
        pytest.warns(InterruptedWarning, match="The model is as it was before it"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.partial_fit(
            X, y, on_epoch=lambda found: found["epoch"] >= 6 + epoch and reached.set()
        )
    assert state_of(model) == before
    monkeypatch.setattr(turns, "wait", wait)
    assert state_of(model.partial_fit(X, y)) == state_of(updated(n_networks=2))
