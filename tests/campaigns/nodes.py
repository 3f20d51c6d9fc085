"""A cluster that loses a node at any moment of a fit.

The fit gives the same bits as one that nothing happened to. Where too few CPUs are left it says so,
and goes on from its last epoch when it is called again. No epoch is told of twice, and none is left
out.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from catspace.exceptions import CatspaceError
from tests.campaigns.commands import start
from tests.campaigns.outcome import Outcome

_OTHERS = 2  # nodes with a CPU each, beside the one of the process that fits
# With three workers there is no CPU to spare.
_KINDS = (("rows", 2), ("networks", 2), ("rows", 3))
_EPOCHS = 30
_LONGEST = 900  # seconds, after which a fit hangs


def lose_nodes(n_cases: int, *, seed: int, folder: Path) -> Outcome:
    """Lose a node at a random moment of each fit."""
    outcome: Outcome = start(_lose_nodes, n_cases, seed, folder, scratch=folder / "temp").result()
    return outcome


def _lose_nodes(n_cases: int, seed: int, folder: Path) -> Outcome:
    from tests.distributed.lab import Lab, write_table

    outcome, table = Outcome(), write_table(folder / "table")
    all_fits: dict[tuple[str, int], _Fits] = {}
    with Lab(_OTHERS) as lab:
        for case in range(n_cases):
            kind, dice = _KINDS[case % len(_KINDS)], random.Random(f"{seed} {case}")
            if kind not in all_fits:
                all_fits[kind] = _Fits(*kind, folder, table)
            with outcome.case(f"{case}, {kind[1]} workers by {kind[0]}"):
                outcome.counts[all_fits[kind].lose_once(lab, dice)] += 1
    return outcome


@dataclass
class _Fit:
    """A fit on a thread, and the epochs that it told of."""

    work: Callable[..., Any]
    epochs: list[int] = field(default_factory=list)  # of the first network
    error: BaseException | None = None
    model: Any = None
    is_over: bool = False

    def __post_init__(self) -> None:
        self._has_told = threading.Condition()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.model = self.work(self._listen)
        except BaseException as error:
            self.error = error
        self._tell(None)

    def _tell(self, epoch: int | None) -> None:
        with self._has_told:
            self.is_over = epoch is None
            self.epochs += [] if epoch is None else [epoch]
            self._has_told.notify_all()

    def _listen(self, epoch: Any) -> None:
        if epoch["network"] == 0:
            self._tell(epoch["epoch"])

    def wait_for_epochs(self, n_epochs: int) -> None:
        """Wait until so many epochs have been told of, or the fit is over."""
        with self._has_told:
            self._has_told.wait_for(lambda: self.is_over or len(self.epochs) >= n_epochs, _LONGEST)

    def wait(self) -> None:
        self.thread.join(_LONGEST)
        assert not self.thread.is_alive(), "the fit hangs"


class _Fits:
    """Fits of one kind, all of which give the same."""

    def __init__(self, parallel: str, num_workers: int, folder: Path, table: Any) -> None:
        self.parallel, self.num_workers, self.folder = parallel, num_workers, folder
        self.X = table.drop(columns="sales")
        began = time.perf_counter()
        fit = self._fit()
        fit.wait()
        self.seconds = time.perf_counter() - began
        assert fit.error is None, fit.error
        self.expected = fit.model.predict(self.X)

    def lose_once(self, lab: Any, dice: random.Random) -> str:
        fit = self._fit()
        if dice.random() < 0.5:  # any moment of the fit, most of which is not spent on training
            fit.thread.join(dice.uniform(0, self.seconds))
        else:
            fit.wait_for_epochs(dice.randint(1, _EPOCHS // 2))
        if fit.is_over:
            return "over before a node was lost"
        n_epochs = len(fit.epochs)
        lab.lose(dice)
        fit.wait()
        lab.add()
        when = "while training" if n_epochs else "before"
        end, told = f"the same model, a node lost {when}", fit.epochs
        if fit.error is not None:
            self._check_sentence(fit.error)
            end = f"a sentence, then the same model, a node lost {when}"
            fit = self._fit()
            fit.wait()
            assert fit.error is None, fit.error
            told = [*told, *fit.epochs]
        assert told == list(range(1, len(told) + 1)), f"epochs were told of as {told}"
        assert np.array_equal(fit.model.predict(self.X), self.expected), "another model"
        kept = list((self.folder / "states").iterdir())
        assert not kept, f"{kept} are left"
        return end

    def _fit(self) -> _Fit:
        from catspace import distributed
        from tests.distributed.lab import regressor

        model = regressor(max_epochs=_EPOCHS)

        def work(listen: Callable[..., None]) -> Any:
            return distributed.fit(
                model,
                self.folder / "table",
                "sales",
                num_workers=self.num_workers,
                parallel=self.parallel,
                storage_path=self.folder / "states",
                on_epoch=listen,
            )

        return _Fit(work)

    def _check_sentence(self, error: BaseException) -> None:
        assert isinstance(error, CatspaceError), f"{type(error).__name__}: {error}"
        assert self.num_workers > _OTHERS, error
        assert f"num_workers={self.num_workers} needs as many CPUs" in str(error), error
