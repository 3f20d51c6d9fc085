"""Fits on a real Ray, with two workers."""

import os
import signal

import numpy as np
import pandas as pd
import pytest
import ray

from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor, make_sales
from catspace.distributed import fit
from catspace.distributed import tables as tables_module
from catspace.estimators import fitting as fitting_module
from catspace.exceptions import CatspaceError, InputError, InputTypeError, ParameterError
from catspace.model.progress import TrainingProgress

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.usefixtures("cluster"),
    # Ray's own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*look like identifiers"),
]

N = 3000
N_LONG = 40  # epochs, so that a training is not over before it is interrupted


def sales(n=N):
    data = make_sales(n, n_stores=20, random_state=0, backend="pandas")
    return data.X.astype(str).assign(price=np.arange(n) % 97, sales=data.y)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of one table, and an empty one."""
    folder, table = tmp_path_factory.mktemp("sales"), sales()
    table.iloc[:0].to_parquet(folder / "0 is empty.parquet")
    for i in range(3):
        part = table.iloc[i * N // 3 : (i + 1) * N // 3]
        part.to_parquet(folder / f"{i}.parquet", row_group_size=300)
    return folder


def regressor(**parameters):
    settings = {"target_transform": "log", "max_epochs": 3, "random_state": 0, "n_networks": 2}
    return EmbeddingRegressor(**{**settings, **parameters})


def features():
    return sales().drop(columns="sales")


def r2(model):
    y = np.log(sales()["sales"])
    return 1 - ((np.log(model.predict(features())) - y) ** 2).mean() / y.var()


def assert_same_model(first, second):
    np.testing.assert_array_equal(first.predict(features()), second.predict(features()))
    assert [epoch["loss"] for epoch in first.history_] == [e["loss"] for e in second.history_]


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "quantile", "quantile": [0.1, 0.5, 0.9]},
        {"loss": "poisson", "target_transform": None},
        {"loss": lambda outputs, target: (outputs - target).abs().mean(dim=1)},
    ],
    ids=["quantiles", "counts", "function"],
)
def test_losses_of_every_kind_are_learned_as_in_one_process(folder, parameters):
    settings = {"smooth": 8, "pairs": None, "max_epochs": 1, "hidden_layer_sizes": (8,)}
    there, here = regressor(**parameters, **settings), regressor(**parameters, **settings)
    fit(there, folder, "sales", parallel="networks")
    assert_same_model(there, here.fit(folder, "sales"))


class Killer:
    """Kills the worker that came last, when so many epochs are over."""

    def __init__(self, monkeypatch, n_epochs):
        self.n_epochs, self.processes, self.epochs = n_epochs, [], []
        processes = self.processes

        class Progress(TrainingProgress):
            def tell(self, sentence, *, verbosity=2):
                if sentence.startswith("Worker"):
                    processes.append(int(sentence.split("process ")[1].split()[0]))

        monkeypatch.setattr(fitting_module, "TrainingProgress", Progress)

    def __call__(self, epoch):
        self.epochs.append(epoch["epoch"])
        if len(self.epochs) == self.n_epochs:
            os.kill(self.processes[-1], signal.SIGKILL)


def test_workers_with_networks_of_their_own_give_the_networks_of_a_fit_here(folder, monkeypatch):
    settings = {"max_epochs": 8, "batch_size": 16}
    kill = Killer(monkeypatch, n_epochs=4)
    model = fit(regressor(**settings), folder, "sales", parallel="networks", on_epoch=kill)
    assert len(kill.processes) == 4  # two workers, and two in their place
    assert kill.epochs == [epoch for epoch in range(1, 9) for _ in range(2)]  # none of them twice
    assert_same_model(model, regressor(**settings).fit(folder, "sales"))
    assert list(model.feature_names_in_) == list(features().columns)


def test_workers_that_share_the_rows_learn_as_well_and_a_killed_one_costs_an_epoch(
    folder, monkeypatch
):
    settings = {"max_epochs": 8, "batch_size": 32, "n_networks": 1}
    whole = fit(regressor(**settings), folder, "sales", parallel="rows")
    alone = regressor(**settings).fit(folder, "sales")
    assert r2(alone) > 0.5
    assert r2(whole) == pytest.approx(r2(alone), abs=0.03)
    assert [epoch["epoch"] for epoch in whole.history_] == list(range(1, 9))
    kill = Killer(monkeypatch, n_epochs=3)
    killed = fit(regressor(**settings), folder, "sales", parallel="rows", on_epoch=kill)
    assert len(kill.processes) == 4
    assert kill.epochs == list(range(1, 9))
    assert_same_model(killed, whole)  # as if nothing had happened


def interrupt_at(n_epochs, epochs):
    """Return a listener that presses Ctrl-C when so many epochs are over."""

    def listen(epoch):
        epochs.append(epoch["epoch"])
        if len(epochs) == n_epochs:
            os.kill(os.getpid(), signal.SIGINT)

    return listen


@pytest.mark.parametrize("parallel", ["rows", "networks"])
def test_given_vectors_go_to_every_worker_and_stay_where_they_are_frozen(folder, parallel):
    stores = sales()["store"].unique()
    vectors = np.random.default_rng(0).normal(size=(len(stores), 3)).astype(np.float32)
    frame = pd.DataFrame({"category": stores, "x": vectors[:, 0], "y": vectors[:, 1]})
    given = {"initial_vectors": {"store": frame}, "frozen_columns": ["store"], "smooth": 4}
    there = fit(regressor(**given), folder, "sales", num_workers=2, parallel=parallel)
    store = there.embeddings_["store"]
    np.testing.assert_array_equal([store.vector(name) for name in stores], vectors[:, :2])
    if parallel == "networks":
        assert_same_model(there, regressor(**given).fit(folder, "sales"))


def test_a_fit_that_was_interrupted_goes_on_also_without_a_seed(folder, tmp_path):
    settings = {"max_epochs": N_LONG, "n_networks": 1, "random_state": None, "smooth": 0}
    handler, epochs, states = signal.getsignal(signal.SIGINT), [], tmp_path / "states"
    listen = interrupt_at(3, epochs)
    with pytest.raises(KeyboardInterrupt):
        fit(regressor(**settings), folder, "sales", storage_path=states, on_epoch=listen)
    assert signal.getsignal(signal.SIGINT) is handler
    n_before = len(epochs)
    # As if Ray had been killed while it wrote down which states are the last.
    (note,) = states.glob("*/checkpoint_manager_snapshot.json")
    note.write_bytes(note.read_bytes()[:100])
    model = fit(regressor(**settings), folder, "sales", storage_path=states, on_epoch=listen)
    assert 3 <= n_before < N_LONG
    assert epochs == list(range(1, N_LONG + 1))
    assert [epoch["epoch"] for epoch in model.history_] == list(range(1, N_LONG + 1))
    assert r2(model) > 0.5
    assert list(states.iterdir()) == []


def test_a_state_of_other_rows_is_of_no_use(tmp_path):
    """Targets change places: all that is known of the columns and the target stays the same."""
    settings = {"max_epochs": N_LONG, "n_networks": 1, "smooth": 0, "target_transform": None}
    table, states = sales(1_500), tmp_path / "states"
    how = {"parallel": "networks", "num_workers": 1, "storage_path": states}
    path = tmp_path / "sales.parquet"
    table.to_parquet(path)
    with pytest.raises(KeyboardInterrupt):
        fit(regressor(**settings), path, "sales", **how, on_epoch=interrupt_at(1, []))
    assert len(list(states.iterdir())) == 1
    table["sales"] = table["sales"].to_numpy()[::-1]
    table.to_parquet(path)
    model = fit(regressor(**settings), path, "sales", **how)
    assert list(states.iterdir()) == []  # it was taken for the same training at first
    here, X = regressor(**settings).fit(path, "sales"), table.drop(columns="sales")
    np.testing.assert_array_equal(model.predict(X), here.predict(X))


def test_blocks_of_a_dataset_weights_classes_and_rows_that_are_held_back():
    table = sales().assign(weight=np.arange(N) % 3)
    table["big"] = np.where(table["sales"] > table["sales"].median(), "yes", "no")
    table = table.drop(columns=["sales", "price"])
    dataset = ray.data.from_pandas([table.iloc[:1000], table.iloc[1000:]])
    model = EmbeddingClassifier(
        max_epochs=3, random_state=0, class_weight="balanced", early_stopping=True
    )
    fit(model, dataset, "big", sample_weight="weight")
    assert model.classes_.tolist() == ["no", "yes"]
    assert all(epoch["validation_loss"] > 0 for epoch in model.history_)
    accuracy = (model.predict(table.drop(columns=["big", "weight"])) == table["big"]).mean()
    assert accuracy > 0.6
    store = model.embeddings_["store"]
    of_3 = (table["store"] == "3") & (table["weight"] > 0)
    assert store.counts[store.categories.index("3")] == of_3.sum()


def test_csv_files_bins_and_rows_to_judge_by_are_read_as_here(tmp_path):
    for i in range(2):
        sales().iloc[i * 1500 : (i + 1) * 1500].to_csv(tmp_path / f"{i}.csv", index=False)
    settings = {"n_networks": 1, "discretize": {"price": 5}}
    source, judges = tmp_path / "*.csv", tmp_path / "1.csv"
    model = fit(
        regressor(**settings),
        source,
        "sales",
        X_val=judges,
        parallel="networks",
        num_workers=1,
    )
    here = regressor(**settings).fit(source, "sales", X_val=judges, y_val="sales")
    X = pd.read_csv(judges).drop(columns="sales")
    np.testing.assert_array_equal(model.predict(X), here.predict(X))
    assert model.best_epoch_ == here.best_epoch_


def test_what_cannot_work_is_said_in_a_sentence(folder, tmp_path):
    with pytest.raises(CatspaceError, match=r"num_workers=50 needs as many CPUs.* has 2"):
        fit(regressor(n_networks=50), folder, "sales", num_workers=50)
    with pytest.raises(ParameterError, match="3 workers and n_networks=2"):
        fit(regressor(), folder, "sales", num_workers=3, parallel="networks")
    with pytest.raises(ParameterError, match="parallel"):
        fit(regressor(), folder, "sales", parallel="columns")
    with pytest.raises(ParameterError, match="cv needs the whole table in memory"):
        fit(EmbeddingEncoder(cv=3), folder, "sales")
    with pytest.raises(InputError, match=r"'sale' is not a column.*Did you mean 'sales'"):
        fit(regressor(), folder, "sale")
    with pytest.raises(InputTypeError, match=r"ray.data.Dataset, or the path.*got DataFrame"):
        fit(regressor(), sales(), "sales")
    with pytest.raises(InputError, match="name of a column"):
        fit(regressor(), folder, sales()["sales"])


def test_a_target_that_is_missing_on_some_node_is_told_here():
    table = sales(100).assign(sales=[np.nan, *range(1, 100)])
    with pytest.raises(InputError, match=r"y contains NaN.*\(1 in all\)"):
        fit(regressor(), ray.data.from_pandas(table), "sales")


def test_files_that_do_not_fit_together_are_named(tmp_path):
    sales(100).to_parquet(tmp_path / "0.parquet")
    sales(100).assign(price="high").to_parquet(tmp_path / "1.parquet")
    with pytest.raises(InputError, match=r"'price' holds integers in .*0\.parquet"):
        fit(regressor(), tmp_path, "sales")


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "sales.parquet"
    sales(400).to_parquet(path, row_group_size=100)
    data = bytearray(path.read_bytes())
    data[4:2000] = bytes(1996)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"sales\.parquet"):
        fit(regressor(), tmp_path, "sales")


def test_a_file_that_is_written_to_during_the_fit_is_noticed(tmp_path, monkeypatch):
    path = tmp_path / "sales.parquet"
    sales(400).to_parquet(path)
    learn = tables_module.ClusterTable.learn

    def learn_and_write(self, make):
        found = learn(self, make)
        sales(500).to_parquet(path)
        return found

    monkeypatch.setattr(tables_module.ClusterTable, "learn", learn_and_write)
    with pytest.raises(InputError, match=r"while they were read: .*sales\.parquet' was written"):
        fit(regressor(), path, "sales")


def test_lists_are_learned_where_their_blocks_lie(tmp_path):
    worth = {"Comedy": 1.0, "Drama": -1.0, "War": 3.0}
    random = np.random.default_rng(0)
    # The longest list is in one block alone.
    genres = [random.choice([*worth], size=i % 3, replace=False).tolist() for i in range(600)]
    genres[599] = [*worth]
    y = [sum(worth[one] for one in row) / max(1, len(row)) for row in genres]
    table = pd.DataFrame({"genres": genres, "worth": y})
    table.to_parquet(tmp_path / "films.parquet", row_group_size=100)
    model = EmbeddingRegressor(max_epochs=12, smooth=1.0, random_state=0)
    fit(model, tmp_path / "films.parquet", "worth", num_workers=2)
    assert model.fitted_.learned.encoder.lists == {"genres": 3}
    counts = table["genres"].explode().value_counts()
    assert model.embeddings_["genres"].counts.tolist() == [counts[one] for one in worth]
    predicted = model.predict(table[["genres"]])
    assert np.corrcoef(predicted, y)[0, 1] > 0.9
