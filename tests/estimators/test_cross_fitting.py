"""Vectors of rows that were learned from other rows: `EmbeddingEncoder(cv=…).fit_transform`."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline

import catspace
from catspace import EmbeddingEncoder
from catspace.data.vocabulary import UNSEEN
from catspace.estimators import fitting
from catspace.exceptions import InputError, NotEnoughMemoryError, ParameterError
from catspace.model import relearning

QUICK = {"max_epochs": 2, "smooth": 4, "random_state": 0}


@pytest.fixture(scope="module")
def towns():
    """Twelve towns and a number; what the target is follows from both."""
    random = np.random.default_rng(0)
    n = 240
    town = random.integers(12, size=n)
    size = random.normal(size=n)
    y = np.sin(town) + 0.5 * size + random.normal(scale=0.2, size=n)
    X = pd.DataFrame({"town": [f"town {one}" for one in town], "size": size})
    return X, y


def test_without_cv_fit_transform_is_fit_and_transform(towns):
    X, y = towns
    found = EmbeddingEncoder(**QUICK).fit_transform(X, y)
    np.testing.assert_array_equal(found, EmbeddingEncoder(**QUICK).fit(X, y).transform(X))


def test_fit_and_fit_transform_learn_the_same(towns):
    X, y = towns
    fitted, transformed = (EmbeddingEncoder(cv=3, **QUICK) for _ in range(2))
    fitted.fit(X, y)
    found = transformed.fit_transform(X, y)
    np.testing.assert_array_equal(fitted.transform(X), transformed.transform(X))
    assert (found != transformed.transform(X)).any()
    plain = EmbeddingEncoder(**QUICK).fit(X, y)
    assert [one["loss"] for one in fitted.history_] == [one["loss"] for one in plain.history_]


def test_numbers_are_the_same_as_in_transform_and_vectors_are_others(towns):
    X, y = towns
    model = EmbeddingEncoder(cv=3, **QUICK)
    found, plain = model.fit_transform(X, y), model.transform(X)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found[:, -1], plain[:, -1])
    assert (found[:, :-1] != plain[:, :-1]).any(axis=1).all()


def naive_vectors(network, codes, pieces, target, epochs, rate):
    """Learn vectors by steps of Adam on all rows at once, under layers that stay."""
    start = network.input.tables[0].detach()
    table = start[UNSEEN].repeat(len(start), 1).requires_grad_()
    mover = torch.optim.AdamW([table], lr=rate, betas=(0.9, 0.99), weight_decay=0)
    for _ in range(epochs):
        x = torch.cat([table[codes], pieces], dim=1)
        for layer in network.layers[:-1]:
            x = torch.relu(x @ layer.weight.detach().T + layer.bias.detach())
        last = network.layers[-1]
        output = x @ last.weight.detach().T + last.bias.detach()
        mover.zero_grad()
        torch.square(output - target).mean().backward()
        mover.step()
    vectors = table.detach()
    counts = torch.bincount(codes, minlength=len(vectors)).float()
    vectors[counts == 0] = (counts / counts.sum()) @ vectors
    return vectors.numpy()


def test_vectors_are_those_of_a_naive_training_without_the_fold(towns):
    X, y = towns
    splits = list(KFold(3).split(X))
    settings = {"max_epochs": 8, "batch_size": 1000, "schedule": "constant", "dropout": 0}
    model = EmbeddingEncoder(cv=splits, smooth=0, random_state=0, **settings)
    found = model.fit_transform(X, y)
    plain = EmbeddingEncoder(**{**model.get_params(), "cv": None}).fit(X, y)
    encoded, network = plain.encode(X), plain.networks_[0]
    target = torch.from_numpy(model.fitted_.learned.target.encode(y))
    codes = torch.from_numpy(encoded.codes[0]).long()
    pieces = network.numbers(torch.from_numpy(encoded.numbers))
    epochs, of_folds = round(8 * relearning.EPOCHS), []
    rate = model.learning_rate_ * relearning.RATE
    for train, test in splits:
        vectors = naive_vectors(network, codes[train], pieces[train], target[train], epochs, rate)
        np.testing.assert_allclose(found[test, :-1], vectors[codes[test]], atol=1e-5)
        of_folds.append(vectors)
    mean = np.mean(of_folds, axis=0)
    np.testing.assert_allclose(model.transform(X)[:, :-1], mean[codes], atol=1e-5)
    np.testing.assert_allclose(model.embeddings_["town"].table, mean, atol=1e-5)


def test_a_row_has_no_part_in_its_own_vectors_but_for_the_layers(towns, monkeypatch):
    """Layers that know all rows are the same here; then a row's own target says nothing."""
    X, y = towns
    splits = list(KFold(3).split(X))
    seen = []

    def remember(networks, plan, parts, **options):
        seen.append([part.rows.target.numpy().copy() for part in parts])
        return relearning.relearn_vectors(networks, plan, parts, **options)

    monkeypatch.setattr("catspace.estimators.cross_fitting.relearn_vectors", remember)
    EmbeddingEncoder(cv=splits, **QUICK).fit_transform(X, y)
    target = EmbeddingEncoder(**QUICK).fit(X, y).fitted_.learned.target.encode(y)
    for (train, _), learned_from in zip(splits, seen[0], strict=True):
        np.testing.assert_array_equal(learned_from, target[train])


def test_of_another_target_a_rows_own_vectors_hardly_tell(towns):
    X, y = towns
    rows = np.arange(0, len(y), 40)
    changed = y.copy()
    changed[rows] += 10 * np.where(rows % 80, 1, -1)  # the mean of the target stays
    moved = {}
    for cv in (None, 5):
        settings = {"smooth": 0, "max_epochs": 10, "random_state": 0, "cv": cv}
        before, after = (
            EmbeddingEncoder(**settings).fit_transform(X, one)[rows] for one in (y, changed)
        )
        moved[cv] = np.abs(after - before).mean()
    assert moved[5] < moved[None]


def test_a_category_of_one_row_has_the_vector_of_unseen(towns):
    X, y = towns
    X = X.assign(town=[f"one of its kind {i}" if i < 60 else town for i, town in X["town"].items()])
    splits = list(KFold(4).split(X))  # the first fold has all of these
    found = EmbeddingEncoder(cv=splits, **QUICK).fit_transform(X, y)
    new = X.assign(town=["nobody knows it" if i < 60 else town for i, town in X["town"].items()])
    others = EmbeddingEncoder(cv=splits, **QUICK).fit_transform(new, y)
    assert len(np.unique(found[:60, :-1], axis=0)) == 1
    assert len(np.unique(others[:60, :-1], axis=0)) == 1
    assert len(np.unique(found[60:, :-1], axis=0)) > 12


@pytest.fixture
def learned_in_folds(monkeypatch):
    """Return a function that fits, and gives the whole network and those of the folds."""
    found = []

    def remember(networks, plan, parts, **options):
        # What is drawn from here on would be noise in vectors that layers no longer learn with.
        monkeypatch.setattr("catspace.model.layers.draw_mask", lambda *_: pytest.fail("dropped"))
        found.append(networks[0])
        for of_fold in relearning.relearn_vectors(networks, plan, parts, **options):
            found.append(of_fold[0])
            yield of_fold

    def fit(X, y, **options):
        with monkeypatch.context() as patch:
            patch.setattr("catspace.estimators.cross_fitting.relearn_vectors", remember)
            features = EmbeddingEncoder(**options).fit_transform(X, y)
        return features, found[0], found[1:]

    return fit


def test_unseen_is_the_same_in_all_folds(towns, learned_in_folds):
    """Where it was learned in each, rare categories lay around five points instead of one."""
    _, whole, folds = learned_in_folds(*towns, cv=5, dropout=0.3, **QUICK)
    assert len(folds) == 5
    for network in folds:
        vectors, before = network.input.tables[0], whole.input.tables[0]
        assert torch.equal(vectors[UNSEEN], before[UNSEEN])
        assert not torch.equal(vectors[UNSEEN + 1], before[UNSEEN + 1])


def test_the_vector_of_a_category_with_one_other_row_tells_that_rows_target():
    random = np.random.default_rng(0)
    director = np.repeat(np.arange(500), 2)
    y = random.normal(size=500)[director] + 0.3 * random.normal(size=1_000)
    X = pd.DataFrame({"director": director.astype(str)})
    first = np.arange(1_000) % 2 == 0  # so that each row has the vector of the row beside it
    splits = [(np.flatnonzero(~first), np.flatnonzero(first))]
    splits.append(splits[0][::-1])
    found = EmbeddingEncoder(cv=splits, smooth=4, random_state=0).fit_transform(X, y)
    other = y.reshape(-1, 2)[:, ::-1].ravel()
    assert LinearRegression().fit(found, other).score(found, other) > 0.98


def test_after_vectors_that_know_the_target_boosting_learns_noise_by_heart():
    random = np.random.default_rng(0)
    n = 1_500
    X = pd.DataFrame({"id": random.integers(500, size=n).astype(str)})
    y = random.normal(size=n)
    r2, correlation = {}, {}
    for cv in (None, 5):
        encoder = EmbeddingEncoder(cv=cv, smooth=0, max_epochs=10, embedding_dim=4, random_state=0)
        features = encoder.fit_transform(X, y)
        boosting = HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=100, random_state=0)
        r2[cv] = boosting.fit(features, y).score(features, y)
        correlation[cv] = np.abs(np.corrcoef(features.T, y)[-1, :-1]).max()
    assert r2[None] > 0.2  # of pure noise, which nothing can explain
    assert r2[5] < 0.05
    assert correlation[None] > 0.5
    assert correlation[5] < 0.05


class Remember(RegressorMixin, BaseEstimator):
    """A method that keeps what it was fitted on."""

    def fit(self, X, y):
        self.X_ = X
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_the_method_behind_it_in_a_pipeline_gets_cross_fitted_vectors(towns):
    X, y = towns
    encoder = EmbeddingEncoder(cv=3, **QUICK)
    pipeline = make_pipeline(clone(encoder), Remember()).fit(X, y)
    np.testing.assert_array_equal(pipeline[-1].X_, encoder.fit_transform(X, y))
    assert pipeline.predict(X).shape == (len(X),)
    assert pipeline[0].get_params()["cv"] == 3


def test_the_weights_of_a_pipeline_reach_the_folds(towns):
    X, y = towns
    weight = np.linspace(0.5, 2, len(y))
    encoder = EmbeddingEncoder(cv=3, **QUICK)
    pipeline = make_pipeline(clone(encoder), Remember())
    pipeline.fit(X, y, embeddingencoder__sample_weight=weight)
    weighted = encoder.fit_transform(X, y, weight)
    np.testing.assert_array_equal(pipeline[-1].X_, weighted)
    assert (weighted != encoder.fit_transform(X, y)).any()


def test_a_row_of_weight_zero_counts_as_absent_and_is_transformed_like_a_new_one(towns):
    X, y = towns
    weight = np.ones(len(y))
    weight[::7] = 0
    unknown = np.where(weight > 0, y, np.nan)
    model = EmbeddingEncoder(cv=3, **QUICK)
    found = model.fit_transform(X, unknown, weight)
    np.testing.assert_array_equal(found[::7], model.transform(X)[::7])
    kept = weight > 0
    without = EmbeddingEncoder(cv=3, **QUICK).fit_transform(X[kept], y[kept], weight[kept])
    np.testing.assert_array_equal(found[kept], without)


def test_positions_that_the_user_gives_are_those_of_the_table_also_where_weights_are_zero(towns):
    X, y = towns
    weight = np.ones(len(y))
    weight[:40] = 0
    given = EmbeddingEncoder(cv=list(KFold(3).split(X)), **QUICK).fit_transform(X, y, weight)
    own = [np.arange(40, 80), np.arange(80, 160), np.arange(160, 240)]
    splits = [(np.setdiff1d(np.arange(240), test), test) for test in own]
    again = EmbeddingEncoder(cv=splits, **QUICK).fit_transform(X, y, weight)
    np.testing.assert_array_equal(given, again)


def test_classes_are_spread_evenly_over_the_folds(towns, monkeypatch):
    X, y = towns
    labels = np.where(y > np.quantile(y, 0.9), "high", "low")
    shares = []

    def remember(networks, plan, parts, **options):
        shares.extend(part.rows.target.float().mean().item() for part in parts)
        return relearning.relearn_vectors(networks, plan, parts, **options)

    monkeypatch.setattr("catspace.estimators.cross_fitting.relearn_vectors", remember)
    found = EmbeddingEncoder(cv=4, **QUICK).fit_transform(X, labels)
    assert found.shape == (240, 7)
    assert shares == pytest.approx([0.9] * 4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_networks": 2, "networks": "all"},
        {"early_stopping": True, "max_epochs": 4},
        {"input_encoding": "onehot"},
        {"optimizer": "adam", "weight_decay": 0.1},
    ],
)
def test_the_same_seed_gives_the_same_bits_whatever_n_jobs_is(towns, options):
    X, y = towns
    one, two, other = (
        EmbeddingEncoder(cv=3, **{**QUICK, **options, **more}).fit_transform(X, y)
        for more in ({"n_jobs": 1}, {"n_jobs": 2}, {"random_state": 1})
    )
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


def test_several_targets_are_learned_from_in_folds_too(towns):
    X, y = towns
    found = EmbeddingEncoder(cv=3, target_type="continuous", **QUICK).fit_transform(
        X, np.column_stack([y, -y])
    )
    assert found.shape == (240, 7)


def test_large_tables_that_are_updated_row_by_row_are_learned_anew_too(towns, monkeypatch):
    X, y = towns
    dense = EmbeddingEncoder(cv=3, **QUICK).fit_transform(X, y)
    monkeypatch.setattr("catspace.model.optimizer.SPARSE_FROM", 1)
    by_row = EmbeddingEncoder(cv=3, **QUICK).fit_transform(X, y)
    assert by_row.shape == dense.shape
    assert (by_row[:, :-1] != EmbeddingEncoder(**QUICK).fit_transform(X, y)[:, :-1]).any()


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_every_kind_of_table_has_the_same_vectors_and_the_target_may_be_a_column(towns, make):
    X, y = towns
    expected = EmbeddingEncoder(cv=3, **QUICK).fit_transform(X, y)
    columns = {name: X[name].to_list() for name in X}
    found = EmbeddingEncoder(cv=3, **QUICK).fit_transform(make(columns), y)
    np.testing.assert_array_equal(found, expected)
    whole = make({**columns, "y": list(y), "w": [1.0] * len(y)})
    named = EmbeddingEncoder(cv=3, **QUICK).fit_transform(whole, "y", "w")
    weighted = EmbeddingEncoder(cv=3, **QUICK).fit_transform(make(columns), y, np.ones(len(y)))
    np.testing.assert_array_equal(named, weighted)


def test_a_file_beside_arrays_is_a_table_in_memory(towns, tmp_path):
    X, y = towns
    X.to_parquet(tmp_path / "towns.parquet")
    found = EmbeddingEncoder(cv=3, **QUICK).fit_transform(tmp_path / "towns.parquet", y)
    np.testing.assert_array_equal(found, EmbeddingEncoder(cv=3, **QUICK).fit_transform(X, y))


def test_numbers_alone_need_no_folds(towns):
    X, y = towns
    model = EmbeddingEncoder(cv=3, **QUICK)
    np.testing.assert_array_equal(model.fit_transform(X[["size"]], y), model.transform(X[["size"]]))


def test_splitters_iterables_and_masks_say_the_same(towns):
    X, y = towns
    positions = list(KFold(3).split(X))
    masks = [tuple(np.isin(np.arange(len(y)), part) for part in split) for split in positions]
    expected = EmbeddingEncoder(cv=KFold(3), **QUICK).fit_transform(X, y)
    for cv in (positions, iter(positions), masks):
        found = EmbeddingEncoder(cv=cv, **QUICK).fit_transform(X, y)
        np.testing.assert_array_equal(found, expected)


def test_a_splitter_is_given_the_target_and_groups_come_as_positions(towns):
    X, y = towns
    high = y > 0
    spread = EmbeddingEncoder(cv=StratifiedKFold(3), **QUICK).fit_transform(X, high)
    given = EmbeddingEncoder(cv=list(StratifiedKFold(3).split(X, high)), **QUICK)
    np.testing.assert_array_equal(spread, given.fit_transform(X, high))
    by_town = list(GroupKFold(3).split(X, y, X["town"]))
    found = EmbeddingEncoder(cv=by_town, **QUICK).fit_transform(X, y)
    for _, test in by_town:  # whose towns the other folds have not met
        assert len(np.unique(found[test, :-1], axis=0)) == 1


def test_output_can_be_a_frame_with_names(towns):
    X, y = towns
    model = EmbeddingEncoder(cv=3, embedding_dim=2, **QUICK).set_output(transform="pandas")
    found = model.fit_transform(X, y)
    assert list(found.columns) == ["town_0", "town_1", "size"]
    plain = clone(model).set_output(transform="default").fit_transform(X, y)
    np.testing.assert_array_equal(found.to_numpy(), plain)


@pytest.mark.parametrize("cv", [3, KFold(3), list(KFold(3).split(np.empty(240)))])
def test_a_model_that_was_cross_fitted_is_saved_and_transforms_the_same(towns, tmp_path, cv):
    X, y = towns
    model = EmbeddingEncoder(cv=cv, **QUICK)
    model.fit_transform(X, y)
    model.save(tmp_path / "a.catspace")
    loaded = catspace.load(tmp_path / "a.catspace")
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
    assert loaded.cv == (3 if cv == 3 else None)  # other splits speak of rows no file has


def test_progress_names_the_folds(towns, capsys):
    X, y = towns
    EmbeddingEncoder(cv=3, verbose=1, n_jobs=1, **QUICK).fit_transform(X, y)
    shown = capsys.readouterr().err
    assert "network: epoch 2/2" in shown
    assert all(f"fold {i} of 3: epoch 1/1" in shown for i in (1, 2, 3))


@pytest.mark.parametrize("cv", [1, 0, -3, "x", "5", 2.5, True, {"folds": 5}, b"5"])
@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_a_cv_that_means_nothing_is_refused_before_the_table_is_read(cv, method):
    model = EmbeddingEncoder(cv=cv)
    with pytest.raises(ParameterError, match=r"cv must be None, an int of at least 2, a splitter"):
        getattr(model, method)(None, None)


BAD = {
    "more folds than rows": (241, "cv=241 makes more folds than there are rows: n_samples=240"),
    "later rows only": (TimeSeriesSplit(3), r"row 0 is in none \(60 such rows in all\)"),
    "rows drawn at random": (ShuffleSplit(3, random_state=0), "must put each row into one fold"),
    "rows twice": (RepeatedKFold(n_splits=2, n_repeats=2), "row 0 is in 2"),
    "no groups": (GroupKFold(3), "does not split the table: The 'groups' parameter"),
    "no splits": ([], "must put each row into one fold; row 0 is in none"),
    "no pairs": ([1, 2], "does not split the table"),
    "texts": ([(["a"], ["b"])], "must be positions of rows"),
    "beyond the table": ([([0], [240])], "positions must be from 0 to 239"),
    "from itself": (
        [(np.arange(240), np.arange(120)), (np.arange(120), np.arange(120, 240))],
        r"lets rows learn from themselves: \[0, 1, 2, 3, 4, …\]",
    ),
    "from nobody": ([([], np.arange(240))], "leaves a fold no other rows to learn from"),
}


@pytest.mark.parametrize("name", BAD)
def test_folds_that_are_none_are_refused_before_training(towns, name, monkeypatch):
    monkeypatch.setattr(
        "catspace.estimators.fitting.train_networks", lambda *_, **__: pytest.fail("trained")
    )
    cv, message = BAD[name]
    model = EmbeddingEncoder(cv=cv, **QUICK)
    with pytest.raises(InputError, match=message):
        model.fit_transform(*towns)
    assert not hasattr(model, "fitted_")


def test_a_class_with_fewer_rows_than_folds_is_refused(towns):
    X, y = towns
    labels = np.where(np.arange(len(y)) < 4, "few", "many")
    model = EmbeddingEncoder(cv=5, **QUICK)
    with pytest.raises(InputError, match=r"the class 'few' has 4\.\nHint: lower cv, or pass cv=KF"):
        model.fit_transform(X, labels)
    assert not hasattr(model, "fitted_")
    assert model.set_params(cv=KFold(5, shuffle=True)).fit_transform(X, labels).shape == (240, 7)


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_rows_to_judge_by_and_folds_are_refused_together(towns, method):
    X, y = towns
    model = EmbeddingEncoder(cv=3, **QUICK)
    with pytest.raises(InputError, match="There is no X_val where cv splits the rows into folds"):
        getattr(model, method)(X, y, X_val=X, y_val=y)
    assert not hasattr(model, "fitted_")


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_files_that_are_read_block_by_block_are_refused(towns, tmp_path, method):
    X, y = towns
    X.assign(y=y).to_parquet(tmp_path / "towns.parquet")
    model = EmbeddingEncoder(cv=3, **QUICK)
    with pytest.raises(InputError, match="cv=3 needs the whole table in memory, and files are"):
        getattr(model, method)(tmp_path / "towns.parquet", "y")
    assert not hasattr(model, "fitted_")


def test_folds_that_do_not_fit_into_memory_are_refused_before_training(towns, monkeypatch):
    monkeypatch.setattr("catspace.estimators.cross_fitting.available_memory", lambda device: 1_000)
    with pytest.raises(NotEnoughMemoryError, match="Training needs about"):
        EmbeddingEncoder(cv=3, **QUICK).fit_transform(*towns)


def test_an_error_leaves_the_model_of_the_fit_before(towns):
    X, y = towns
    model = EmbeddingEncoder(cv=3, **QUICK)
    model.fit_transform(X, y)
    before = model.fitted_
    with pytest.raises(InputError, match="makes more folds"):
        model.set_params(cv=300).fit_transform(X, y)
    assert model.fitted_ is before


def test_an_interruption_of_the_whole_training_leaves_nothing(towns, monkeypatch):
    """A model that was interrupted is usable, and learning five more times from it is not."""
    X, y = towns
    train = fitting.train_networks

    def interrupted(*arguments, **options):
        return [replace(one, interrupted=True) for one in train(*arguments, **options)]

    monkeypatch.setattr(fitting, "train_networks", interrupted)
    model = EmbeddingEncoder(cv=3, **QUICK)
    with pytest.raises(KeyboardInterrupt):
        model.fit_transform(X, y)
    assert not hasattr(model, "fitted_")


def test_an_interruption_of_the_folds_leaves_nothing(towns, monkeypatch):
    X, y = towns
    model = EmbeddingEncoder(cv=3, **QUICK)
    run = relearning.run_side_by_side

    def interrupted(trainings, stop, **options):
        found = run(trainings, stop, **options)
        stop.set()
        return found

    monkeypatch.setattr(relearning, "run_side_by_side", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit_transform(X, y)
    assert not hasattr(model, "fitted_")
