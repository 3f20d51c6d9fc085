import json
import threading

import numpy as np
import pytest

from catspace import make_sales
from catspace.exceptions import CatspaceError, InputError
from catspace.paper import methods
from catspace.paper.methods import METHODS, Method
from catspace.paper.protocol import scores
from catspace.paper.runner import Cell, Reproduction, choose_cells, read_results

SMALL_NETWORK = {
    **methods.PAPER_NETWORK,
    "embedding_dim": 2,
    "hidden_layer_sizes": (16, 8),
    "max_epochs": 1,
    "n_networks": 1,
}


class Silent:
    """Counts what was computed and what was only told."""

    def __init__(self):
        self.computed, self.told = [], []

    def started(self, cell):
        self.computed.append(cell)

    def progressed(self, share):
        assert 0 <= share <= 1

    def finished(self, record):
        self.told.append(record)


@pytest.fixture(scope="module")
def sales():
    return make_sales(2_000, n_stores=15, backend="pandas")


@pytest.fixture
def small(monkeypatch):
    """Make every method cheap, and leave how it is run as it is."""
    changes = {
        "network": {"raw": {**SMALL_NETWORK, "input_encoding": "onehot"}, "ee": SMALL_NETWORK},
        "network_extra_layer": {"raw": {**SMALL_NETWORK, "input_encoding": "onehot"}},
        "catspace": {"ee": {"target_transform": "log", "n_networks": 1, "max_epochs": 1}},
    }
    for name, changed in {
        "random_forest": {"n_estimators": 12, "max_depth": 5},
        "tree": {"ccp_alphas": [0.0, 1e-3]},
        "xgboost": {"num_boost_round": 5, "max_depth": 3},
        "lightgbm": {"max_rounds": 10, "num_leaves": 7},
        "catboost": {"iterations": 5, "depth": 3},
    }.items():
        changes[name] = {
            e: {**METHODS[name].parameters[e], **changed} for e in METHODS[name].inputs
        }
    for name, parameters in changes.items():
        old = METHODS[name]
        changed_method = Method(old.name, old.label, old.inputs, old.fit, parameters)
        monkeypatch.setitem(METHODS, name, changed_method)


def run(sales, out, only=(), splits=("time",), **changes):
    listener = Silent()
    arguments = {"rows": 1_000, "seed": 0, **changes}
    reproduction = Reproduction(sales, "generated", out, **arguments)
    return reproduction.run(choose_cells(splits, only), listener), listener


def test_every_cell_of_both_tables_is_there():
    cells = choose_cells()
    assert len(cells) == len(set(cells)) == 2 * 15
    for split in ("shuffled", "time"):
        for method in ("knn", "random_forest", "xgboost", "network"):
            assert {Cell(split, method, "raw"), Cell(split, method, "ee")} <= set(cells)


def test_the_papers_parameters_are_the_papers():
    forest, boosting = (METHODS[name].parameters["raw"] for name in ("random_forest", "xgboost"))
    assert (forest["n_estimators"], forest["max_depth"]) == (200, 35)
    assert (boosting["max_depth"], boosting["eta"], boosting["num_boost_round"]) == (10, 0.02, 3000)
    assert boosting["max_bin"] > 1115
    assert METHODS["network"].parameters["ee"]["hidden_layer_sizes"] == (1000, 500)
    assert METHODS["network_extra_layer"].parameters["raw"]["hidden_layer_sizes"] == (41, 1000, 500)


@pytest.mark.usefixtures("small")
def test_every_method_runs_and_its_record_is_whole(sales, tmp_path):
    records, _ = run(sales, tmp_path)
    assert len(records) == 15
    for record in records:
        assert record["data"] == "generated"
        assert record["rows"] == 1_000
        assert record["test_rows"] == 200
        assert 0 < record["mape"] < record["rmspe"] < 5
        assert record["fit_seconds"] >= 0
        assert record["versions"]["torch"]
        assert record["parameters"]
        if record["paper_mape"] is not None:
            assert record["difference"] == record["mape"] - record["paper_mape"]
    assert read_results(tmp_path) == records


@pytest.mark.usefixtures("small")
def test_what_is_finished_is_not_computed_again(sales, tmp_path):
    first, _ = run(sales, tmp_path, ["median", "knn:raw"])
    again, listener = run(sales, tmp_path, ["median", "knn"])
    assert [cell.method + cell.encoding for cell in listener.computed] == ["networkee", "knnee"]
    assert again[:2] == first


@pytest.mark.usefixtures("small")
def test_other_rows_or_another_seed_are_other_numbers(sales, tmp_path):
    run(sales, tmp_path, ["median"])
    for changes in ({"rows": 900}, {"seed": 1}):
        _, listener = run(sales, tmp_path, ["median"], **changes)
        assert len(listener.computed) == 1
    assert len(read_results(tmp_path)) == 3


@pytest.mark.usefixtures("small")
def test_an_interrupted_run_keeps_what_it_has(sales, tmp_path, monkeypatch):
    def interrupt(task):
        raise KeyboardInterrupt

    broken = Method("knn", "KNN", {"raw": "codes"}, interrupt, {"raw": {}})
    monkeypatch.setitem(METHODS, "knn", broken)
    with pytest.raises(KeyboardInterrupt):
        run(sales, tmp_path, ["median", "knn"])
    assert [record["method"] for record in read_results(tmp_path)] == ["median"]


def test_a_network_that_ctrl_c_cut_short_is_no_number(sales, tmp_path, monkeypatch):
    first_epoch = threading.Event()

    def interrupted_wait(futures):
        first_epoch.wait()
        raise KeyboardInterrupt

    def watch(self, epoch):
        first_epoch.set()

    monkeypatch.setattr("catspace.model.turns.wait", interrupted_wait)
    monkeypatch.setattr("catspace.model.progress.TrainingProgress.__call__", watch)
    with pytest.raises(KeyboardInterrupt):
        run(sales, tmp_path, only=["network:ee"])
    assert read_results(tmp_path) == []


def test_the_median_is_that_of_store_weekday_and_promotion(sales, tmp_path):
    (record,), _ = run(sales, tmp_path, ["median"])
    problem = Reproduction(sales, "generated", tmp_path, rows=1_000, seed=0).problems["time"]
    groups = {}
    by = ["store", "day_of_week", "promo"]
    for *key, y in zip(*(problem.frames.train[name] for name in by), problem.y_train, strict=True):
        groups.setdefault(tuple(key), []).append(y)
    overall = np.median(problem.y_train)
    predicted = np.array(
        [
            np.median(groups.get(key, [overall]))
            for key in zip(*(problem.frames.test[name] for name in by), strict=True)
        ]
    )
    for name, score in scores(problem.y_test, predicted).items():
        assert record[name] == pytest.approx(score)


def test_an_unknown_method_gets_a_hint():
    with pytest.raises(InputError, match=r"There is no method 'xgbost'.* Did you mean 'xgboost'"):
        choose_cells(only=["xgbost"])
    with pytest.raises(InputError, match=r"'median' is not run with 'ee', only \['raw'\]"):
        choose_cells(only=["median:ee"])


def test_a_folder_that_cannot_be_written_is_a_sentence(sales, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(CatspaceError, match=r"Results cannot be written to .*: Not a directory"):
        run(sales, blocked / "out")


def test_a_foreign_results_file_is_not_overwritten(sales, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({"mine": 1}))
    with pytest.raises(InputError, match=r"results.json' is not a list of results"):
        run(sales, tmp_path, ["median"])
    assert json.loads((tmp_path / "results.json").read_text()) == {"mine": 1}


def test_too_many_rows_leave_no_folder_behind(sales, tmp_path):
    with pytest.raises(InputError, match=r"5,000 training rows were asked for"):
        run(sales, tmp_path / "out", rows=5_000)
    assert not (tmp_path / "out").exists()
