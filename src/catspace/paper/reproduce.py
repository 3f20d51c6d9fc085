"""`catspace reproduce`: runs an experiment by its name."""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from catspace.exceptions import InputError, shorten
from catspace.paper import activations, dimensions, figures, kaggle, metric, tables
from catspace.paper import map as map_of_states
from catspace.paper.protocol import SPLITS
from catspace.paper.records import Record
from catspace.paper.request import Request
from catspace.paper.runner import choose_cells
from catspace.terminal import PlainConsole

EXPERIMENTS: dict[str, Callable[[Request], list[Record]]] = {
    "tables": tables.run,
    "figures": figures.run,
    "kaggle": kaggle.run,
    "map": map_of_states.run,
    "metric": metric.run,
    "activations": activations.run,
    "dimensions": dimensions.run,
}


def reproduce(
    experiment: str = "tables",
    *,
    data: Path | None,
    only: Sequence[str] = (),
    split: str = "both",
    rows: int | None = None,
    seed: int = 0,
    out: Path = Path("out"),
    figures: bool = False,
    report: bool = False,
    console: Console | None = None,
) -> list[Record]:
    """Run an experiment and write its results.

    Parameters
    ----------
    experiment : {"tables", "figures", "kaggle", "map", "metric", "activations", "dimensions"}
    data : Path or None
        Folder with the Rossmann files; None takes generated data.
    only : sequence of str
        Methods to run, such as "knn" or "knn:ee"; by default all.
    split : {"shuffled", "time", "both"}
    rows : int, optional
        Training rows.
    seed : int
    out : Path
        Folder for what the experiment writes: records, tables, figures and trained networks.
    figures : bool, default=False
        Whether to draw the figures after the tables.
    report : bool, default=False
        Whether to write ``report.html`` after the tables: what catspace's own model learned.
    console : rich.console.Console, optional

    Returns
    -------
    list of dict
        The records of the experiment; empty for "figures" and "metric", which have none.
    """
    if experiment not in EXPERIMENTS:
        names = shorten(EXPERIMENTS, most=len(EXPERIMENTS))
        raise InputError(f"experiment must be one of {names}; got {experiment!r}.")
    if split not in (*SPLITS, "both"):
        raise InputError(f"split must be one of {shorten([*SPLITS, 'both'])}; got {split!r}.")
    splits = SPLITS if split == "both" else (split,)
    request = Request(
        data=data,
        splits=splits,
        cells=choose_cells(splits, only),
        rows=rows,
        seed=seed,
        out=out,
        figures=figures,
        report=report,
        console=console or PlainConsole(),
    )
    return EXPERIMENTS[experiment](request)
