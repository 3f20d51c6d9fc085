"""What a user sees while networks train: bars in a terminal or notebook, lines in a log."""

import sys
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from catspace.model.training import Epoch
from catspace.terminal import PlainConsole

_LOG_LINES = 10  # for each network, where there is no terminal to draw a bar on


class TrainingProgress:
    """Shows each epoch as it ends; a context manager that is called with epochs.

    Parameters
    ----------
    n_networks : int
    verbose : int
        0 shows nothing, 1 the epochs, 2 also what is told beside them.
    console : rich.console.Console, optional
        Where to show it; standard error by default.
    """

    def __init__(self, n_networks: int, verbose: int, console: Console | None = None) -> None:
        self._n_networks = n_networks
        self._console = console or PlainConsole(file=sys.stderr)
        self._is_live = self._console.is_terminal or self._console.is_jupyter
        self._verbose = verbose
        self._bars: Progress | None = None

    def __enter__(self) -> Self:
        if self._verbose and self._is_live:
            self._bars = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[losses]}"),
                TimeRemainingColumn(),
                console=self._console,
            )
            for index in range(self._n_networks):
                # How many epochs there will be, the first one says.
                self._bars.add_task(self._name(index), total=None, losses="")
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, epoch: Epoch) -> None:
        """Show a finished epoch."""
        if not self._verbose:
            return
        losses = f"loss {epoch.loss:.4f}"
        if epoch.validation_loss is not None:
            losses += f", validation {epoch.validation_loss:.4f}"
        if self._bars is not None:
            task = self._bars.task_ids[epoch.network]
            self._bars.update(task, advance=1, total=epoch.max_epochs, losses=losses)
            return
        n_epochs = epoch.max_epochs
        every = max(1, n_epochs // _LOG_LINES)
        if epoch.epoch % every == 0 or epoch.epoch in (1, n_epochs):
            left = epoch.seconds / epoch.epoch * (n_epochs - epoch.epoch)
            self._console.print(
                f"{self._name(epoch.network)}: epoch {epoch.epoch}/{n_epochs}, {losses}, "
                f"{epoch.seconds:.1f} s, {left:.0f} s left",
                highlight=False,
            )

    def tell(self, sentence: str) -> None:
        """Show how the training is done, to those who asked for more than its progress."""
        if self._verbose >= 2:
            self._console.print(sentence, highlight=False, soft_wrap=True)

    def _name(self, index: int) -> str:
        if self._n_networks == 1:
            return "network"
        return f"network {index + 1} of {self._n_networks}"
