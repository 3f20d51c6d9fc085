"""What a user sees while networks train: bars in a terminal or notebook, lines in a log."""

import sys
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from catspace.model.turns import Epoch
from catspace.notebook import progress_bars
from catspace.terminal import PlainConsole

_LOG_LINES = 10  # for each network, where there is no terminal to draw a bar on
_NOTEBOOK_SECONDS = 0.1  # between two pictures


class TrainingProgress:
    """Shows each epoch as it ends; a context manager that is called with epochs.

    Parameters
    ----------
    trainings : int or sequence of str
        How many networks are trained, or what the trainings are called.
    verbose : int
        0 shows nothing, 1 the epochs, 2 also what is told beside them.
    console : rich.console.Console, optional
        Where to show it; standard error by default.
    """

    def __init__(
        self, trainings: int | Sequence[str], verbose: int, console: Console | None = None
    ) -> None:
        self._console = console or PlainConsole(file=sys.stderr)
        self._verbose = verbose
        names = _name(trainings) if isinstance(trainings, int) else list(trainings)
        self._screen: _Screen | None = None
        if verbose:
            kind = _Notebook if self._console.is_jupyter else _Lines
            self._screen = (_Terminal if self._console.is_terminal else kind)(names, self._console)

    def __enter__(self) -> Self:
        if self._screen is not None:
            self._screen.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._screen is not None:
            self._screen.stop()

    def __call__(self, epoch: Epoch) -> None:
        """Show a finished epoch."""
        if self._screen is None:
            return
        losses = f"loss {epoch.loss:.4f}"
        if epoch.validation_loss is not None:
            losses += f", validation {epoch.validation_loss:.4f}"
        self._screen.show(epoch, losses)

    def tell(self, sentence: str, *, verbosity: int = 2) -> None:
        """Show how the training is done, by default to those who asked for more than progress."""
        if self._verbose >= verbosity:
            self._console.print(sentence, highlight=False, soft_wrap=True)


def _name(n_networks: int) -> list[str]:
    several = [f"network {i + 1} of {n_networks}" for i in range(n_networks)]
    return several if n_networks > 1 else ["network"]


class _Screen(Protocol):
    """One way to show epochs."""

    def start(self) -> None: ...

    def show(self, epoch: Epoch, losses: str) -> None: ...

    def stop(self) -> None: ...


class _Terminal:
    """Bars that move."""

    def __init__(self, names: list[str], console: Console) -> None:
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[losses]}"),
            TimeRemainingColumn(),
            console=console,
        )
        for name in names:
            # How many epochs there will be, the first one says.
            self._bars.add_task(name, total=None, losses="")

    def start(self) -> None:
        self._bars.start()

    def show(self, epoch: Epoch, losses: str) -> None:
        task = self._bars.task_ids[epoch.network]
        self._bars.update(task, advance=1, total=epoch.max_epochs, losses=losses)

    def stop(self) -> None:
        self._bars.stop()


class _Notebook:
    """Bars in the output of a cell, which the notebook replaces; needs no widgets."""

    def __init__(self, names: list[str], console: Console) -> None:
        self._bars = [(name, 0.0, "") for name in names]
        self._handle: Any = None
        self._shown = 0.0

    def start(self) -> None:
        # IPython is there wherever a notebook is, and nowhere else.
        display = import_module("IPython.display").display
        self._handle = display({"text/html": self._html}, raw=True, display_id=True)

    def show(self, epoch: Epoch, losses: str) -> None:
        name, _, _ = self._bars[epoch.network]
        share = epoch.epoch / epoch.max_epochs
        words = f"{epoch.epoch}/{epoch.max_epochs}, {losses}, {_remaining(epoch)}"
        self._bars[epoch.network] = (name, share, words)
        now = time.monotonic()
        if now - self._shown >= _NOTEBOOK_SECONDS:
            self._shown = now
            self._update()

    def stop(self) -> None:
        self._update()

    def _update(self) -> None:
        self._handle.update({"text/html": self._html}, raw=True)

    @property
    def _html(self) -> str:
        return progress_bars(self._bars)


class _Lines:
    """A few lines for each network."""

    def __init__(self, names: list[str], console: Console) -> None:
        self._names, self._console = names, console

    def start(self) -> None:
        pass

    def show(self, epoch: Epoch, losses: str) -> None:
        every = max(1, epoch.max_epochs // _LOG_LINES)
        if epoch.epoch % every == 0 or epoch.epoch in (1, epoch.max_epochs):
            self._console.print(
                f"{self._names[epoch.network]}: epoch {epoch.epoch}/{epoch.max_epochs}, {losses}, "
                f"{_remaining(epoch)}",
                highlight=False,
            )

    def stop(self) -> None:
        pass


def _remaining(epoch: Epoch) -> str:
    left = epoch.seconds / epoch.epoch * (epoch.max_epochs - epoch.epoch)
    return f"{epoch.seconds:.1f} s, {left:.0f} s left"
