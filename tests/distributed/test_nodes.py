"""Clusters that lose nodes, and nodes that do not see what the others see.

One process has the cluster and asks it everything; the tests look at what it found.
"""

import multiprocessing
import threading
import warnings

import numpy as np
import pytest
from tests.distributed.lab import Lab, can_unshare, regressor, write_table

pytestmark = pytest.mark.cluster

EPOCHS = 40  # so that a training is not over before its node is lost
LONGEST = 1_800  # seconds


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nodes")
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_explore, args=(folder, theirs))
    process.start()
    theirs.close()
    is_done = ours.poll(LONGEST)
    found = ours.recv() if is_done else None
    if not is_done:
        process.kill()
    process.join()
    assert is_done, "a fit waits for something that will not come"
    return found


def _explore(folder, pipe):
    warnings.simplefilter("ignore")
    with Lab(3) as lab:
        found = _lose(lab, folder / "lost")
        found |= _lose_at_the_start(lab, folder / "start")
        pipe.send({**found, **_look(lab, folder / "blind")})


def _lose(lab, folder):
    """Lose a node while the table is learned, one when it is encoded, and one in training."""
    from catspace import distributed
    from catspace.distributed.tables import ClusterTable
    from catspace.exceptions import CatspaceError

    folder.mkdir()
    table, states = write_table(folder / "table"), folder / "states"
    found, epochs = {"said": ""}, []
    learn, encode = ClusterTable.learn, ClusterTable.encode

    def learn_and_lose(self, make):
        ClusterTable.learn = learn
        losing = threading.Thread(target=lab.lose)
        losing.start()
        learned = learn(self, make)
        losing.join()
        return learned

    def encode_and_lose(self, encoding):
        ClusterTable.encode = encode
        rows = encode(self, encoding)
        lab.lose()
        return rows

    def lose(epoch):
        epochs.append(epoch["epoch"])
        if len(epochs) == 5:
            lab.lose()

    def fit():
        return distributed.fit(
            regressor(max_epochs=EPOCHS), folder / "table", "sales", parallel="networks",
            num_workers=2, storage_path=states, on_epoch=lose,
        )  # fmt: skip

    ClusterTable.learn, ClusterTable.encode = learn_and_lose, encode_and_lose
    try:
        fit()
    except CatspaceError as error:
        found["said"] = str(error)
    found["first"] = list(epochs)
    found["kept"] = [path.name for path in states.iterdir()]
    lab.add()
    model = fit()
    X = table.drop(columns="sales")
    found |= {"second": epochs[len(found["first"]) :], "predicted": model.predict(X)}
    found["expected"] = regressor(max_epochs=EPOCHS).fit(folder / "table", "sales").predict(X)
    found["left"] = [path.name for path in states.iterdir()]
    found["states"] = str(states)
    return found


def _lose_at_the_start(lab, folder):
    """Lose a node as soon as CPUs are reserved for workers, which then fail to start."""
    from ray.util import placement_group_table

    from catspace import distributed

    folder.mkdir()
    table, epochs, lost = write_table(folder / "table"), [], []
    lab.add()
    before, is_over = placement_group_table(), threading.Event()

    def lose():
        while not lost and not is_over.wait(0.05):
            for name, group in placement_group_table().items():
                if name not in before and group["state"] == "CREATED" and not lost:
                    lost.append(len(epochs))
                    lab.lose_one_of(group["bundles_to_node_id"].values())

    losing = threading.Thread(target=lose)
    losing.start()
    model = distributed.fit(
        regressor(), folder / "table", "sales", num_workers=2, on_epoch=epochs.append
    )
    is_over.set()
    losing.join()
    again = distributed.fit(regressor(), folder / "table", "sales", num_workers=2)
    X = table.drop(columns="sales")
    return {"at_the_start": (lost, model.predict(X), again.predict(X))}


def _look(lab, folder):
    """Fit beside a node that does not see the table, and one that does not see the storage."""
    import ray.data

    from catspace import distributed
    from catspace.exceptions import CatspaceError

    if not can_unshare():
        return {"blind": None}
    folder.mkdir()
    table, states = write_table(folder / "table"), folder / "states"
    states.mkdir()
    node = lab.start_blind([folder / "table", states])
    said = []
    for source in (folder / "table", ray.data.from_pandas(table)):
        try:
            distributed.fit(regressor(), source, "sales", num_workers=2, storage_path=states)
        except CatspaceError as error:
            said.append(f"{type(error).__name__}: {error}")
    node.kill()
    node.wait()
    return {"blind": said, "marks": [path.name for path in states.iterdir()]}


def test_a_fit_that_loses_nodes_says_when_too_few_are_left_and_how_to_go_on(findings):
    message, hint = findings["said"].splitlines()
    assert message == (
        "The cluster has lost 3 nodes: num_workers=2 needs as many CPUs, and 1 is left."
    )
    assert hint == (
        f"Hint: call fit again with storage_path={findings['states']!r} when there are enough: it "
        "goes on from its last epoch."
    )


def test_called_again_it_goes_on_from_its_last_epoch(findings):
    assert findings["first"][0] == 1  # although rows were lost before the training began
    # An epoch is told of when the states of both workers are kept, and all that is kept is told of.
    assert findings["second"][0] == max(findings["first"]) + 1
    both = [epoch for epoch in range(1, EPOCHS + 1) for _ in range(2)]  # of each network
    assert findings["first"] + findings["second"] == both


def test_the_model_is_the_same_as_if_nothing_had_happened(findings):
    np.testing.assert_array_equal(findings["predicted"], findings["expected"])


def test_cpus_that_were_reserved_for_workers_that_never_started_are_given_back(findings):
    n_epochs_when_lost, predicted, again = findings["at_the_start"]
    assert n_epochs_when_lost == [0]
    np.testing.assert_array_equal(predicted, again)


def test_states_are_kept_until_the_fit_comes_to_its_end(findings):
    (name,) = findings["kept"]
    assert name.startswith("catspace-")
    assert findings["left"] == []


def test_files_that_not_all_nodes_see_are_named(findings):
    if findings["blind"] is None:
        pytest.skip("this system lets nobody start a process that sees other folders")
    table, storage = findings["blind"]
    assert "InputError" in table
    assert "/blind/table/0.parquet' is a file that not all nodes can see" in table
    assert "Hint: put the table into a folder that all nodes share" in table
    assert "ParameterError: Checkpoints go to" in storage
    assert "does not see that folder" in storage
    assert findings["marks"] == []
