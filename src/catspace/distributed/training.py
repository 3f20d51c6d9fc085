"""Training on a cluster: Ray Train's workers, started as often as it takes."""

import signal
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from catspace.distributed.board import Board, KeptEpochs
from catspace.distributed.rows import SharedRows
from catspace.distributed.storage import Storage
from catspace.distributed.worker import Assignment, Results, read_results, work
from catspace.model.plan import TrainingPlan


@dataclass(frozen=True)
class ClusterTraining:
    """What workers are to train, and from what."""

    plan: TrainingPlan
    n_held_back: Sequence[int]  # how many rows of each share are held back to judge epochs by
    is_by_network: bool  # whether each worker trains networks of its own
    num_workers: int
    use_gpu: bool

    def run(self, rows: SharedRows, board: Board, storage: Storage) -> Results:
        """Train, from the last epoch that a run of the board's name has kept in the storage."""
        storage.mend_note(board.name)
        assignment = Assignment(
            self.plan, self.n_held_back, self.is_by_network, rows.shares(), board
        )
        trainer = TorchTrainer(
            work,
            train_loop_config={"assignment": assignment},
            torch_config=TorchConfig(backend="cpu:gloo,cuda:nccl" if self.use_gpu else "gloo"),
            scaling_config=ScalingConfig(num_workers=self.num_workers, use_gpu=self.use_gpu),
            run_config=RunConfig(
                name=board.name,
                storage_path=storage.path,
                callbacks=[KeptEpochs(board, storage)],  # type: ignore[list-item]
                # Ray would start workers again without asking where their rows are.
                failure_config=FailureConfig(max_failures=0, controller_failure_limit=0),  # type: ignore[call-arg]
                checkpoint_config=CheckpointConfig(num_to_keep=1),
            ),
        )
        with _interrupts_kept(), _frames_cleared():
            checkpoint = trainer.fit().checkpoint
        assert checkpoint is not None  # the workers have reported at least once
        with checkpoint.as_directory() as folder:
            return read_results(Path(folder), self.plan)


@contextmanager
def _frames_cleared() -> Iterator[None]:
    """Let an error not keep alive what Ray Train has started.

    Its controller ends when nobody knows it any more, and the traceback of an error would.
    """
    try:
        yield
    except BaseException as error:
        traceback.clear_frames(error.__traceback__)
        raise


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Let Ctrl-C mean what it means elsewhere.

    Ray ends the process as if all were well, and goes on to listen when its work is over.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit:
        raise KeyboardInterrupt from None
    finally:
        if signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)
