"""What is told while a training runs, and when."""

import pytest

from catspace.distributed.board import KeptEpochs, open_board
from catspace.distributed.storage import Storage
from catspace.model.turns import Epoch


class Sheet:
    """A board that only remembers."""

    def __init__(self):
        self.name, self.epochs = "a-fit", []

    def write(self, epochs):
        self.epochs += epochs


def epoch_of(network, number):
    return Epoch(network, number, 0.5, None, 0.001, 1.0, 3)


def test_epochs_are_told_of_as_all_workers_reported_them(tmp_path):
    sheet, first, second = Sheet(), epoch_of(0, 2), epoch_of(1, 2)
    said = [KeptEpochs.report([first]), KeptEpochs.report([]), KeptEpochs.report([second])]
    KeptEpochs(sheet, Storage(str(tmp_path))).after_report(None, said, None)
    assert sheet.epochs == [first, second]


@pytest.mark.cluster
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("fails", [False, True], ids=["comes to its end", "fails"])
def test_all_that_was_written_is_read_when_a_fit(fails):
    heard, told = [], []

    def work():
        with open_board("a-fit", heard.append, told.append) as board:
            board.introduce(1)
            board.write([epoch_of(0, 1), epoch_of(1, 1)])
            if fails:
                raise RuntimeError("a node is lost")

    if fails:
        with pytest.raises(RuntimeError, match="a node is lost"):
            work()
    else:
        work()
    assert heard == [epoch_of(0, 1), epoch_of(1, 1)]
    assert [sentence.split()[:3] for sentence in told] == [["Worker", "1", "is"]]


@pytest.mark.cluster
@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning")
def test_a_board_that_is_gone_harms_nobody_who_writes():
    with open_board("another-fit", print, print) as board:
        pass
    board.write([epoch_of(0, 1)])
