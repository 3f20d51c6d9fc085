"""What is kept of a training on a cluster, whenever its processes are killed."""

import pytest
import torch

from catspace.distributed.states import Begun
from catspace.distributed.storage import Storage
from catspace.model.architecture import Architecture
from catspace.model.plan import TrainingPlan
from catspace.model.recipe import Recipe

NOTE = "checkpoint_manager_snapshot.json"
WHOLE = b'{"latest": "epoch 3, of L\xc3\xbcbeck"}'


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "catspace-1"
    folder.mkdir()
    (folder / NOTE).write_bytes(WHOLE)
    return folder


@pytest.mark.parametrize("n_bytes", range(len(WHOLE)))
def test_a_note_that_was_cut_off_is_the_one_before_again(run, n_bytes):
    storage = Storage.open(run.parent)
    storage.keep_note(run.name)
    (run / NOTE).write_bytes(WHOLE[:n_bytes])
    storage.mend_note(run.name)
    assert (run / NOTE).read_bytes() == WHOLE


def test_a_note_that_is_whole_stays_although_there_is_a_copy_of_another(run):
    storage = Storage.open(run.parent)
    storage.keep_note(run.name)
    (run / NOTE).write_bytes(b'{"latest": "epoch 4"}')
    storage.mend_note(run.name)
    assert (run / NOTE).read_bytes() == b'{"latest": "epoch 4"}'


def test_a_first_note_that_was_cut_off_is_none(run):
    (run / NOTE).write_bytes(WHOLE[:5])
    Storage.open(run.parent).mend_note(run.name)
    assert list(run.iterdir()) == []


def test_there_is_nothing_to_mend_before_the_first_note(tmp_path):
    states = tmp_path / "states"
    Storage.open(states).mend_note("catspace-1")
    assert list(states.iterdir()) == []


def test_a_copy_that_was_cut_off_is_written_again(run):
    (run / f"{NOTE}.whole.new").write_bytes(b"{")
    storage = Storage.open(run.parent)
    storage.keep_note(run.name)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == {
        NOTE: WHOLE,
        f"{NOTE}.whole": WHOLE,
    }


def test_a_fit_that_goes_on_has_the_dropout_that_was_found():
    recipe = Recipe("squared_error", 5, 32, 0.01, 0.1, smooth=(4.0,))
    shape = Architecture((5,), (2,), (), 1, (4,))
    plan = TrainingPlan(shape, recipe, [1], ["shop"], (), torch.device("cpu"), noisy_dropout=0.3)
    settled = Begun("", [1], recipe, 0.3, None).settled(plan)
    assert settled.architecture.dropout == 0.3
    assert settled.noisy_dropout is None
