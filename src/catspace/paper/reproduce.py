"""`catspace reproduce`: data in, live tables in the terminal, files out."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from catspace.datasets import SalesData, load_rossmann, make_sales
from catspace.exceptions import InputError, shorten
from catspace.paper.competition import (
    CATEGORIES,
    ENTRIES,
    NUMBERS,
    compete,
    load_competition,
)
from catspace.paper.fitting import fit_network
from catspace.paper.methods import METHODS
from catspace.paper.protocol import (
    PAPER_DIMS,
    ROWS,
    SPLITS,
    Problem,
    describe_features,
    make_problem,
)
from catspace.paper.runner import (
    Cell,
    Record,
    Reproduction,
    choose_cells,
    prepare_folder,
)
from catspace.paper.studies import STUDIES, run_study
from catspace.paper.tables import (
    caption,
    comma_separated,
    frame_records,
    frame_table,
    markdown,
    study_table,
    terminal_table,
)
from catspace.storage.writing import write_text

# Generated data: large enough for the embeddings to matter, small enough for a few minutes.
_GENERATED_STORES, _GENERATED_ROWS, _GENERATED_TRAINING = 80, 16_000, 6_000

_BAR = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())

EXPERIMENTS = ("tables", "figures", "kaggle", "map", "metric", *STUDIES)


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
        Folder for ``results.json``, ``results.csv``, ``results.md`` and the trained networks.
    figures : bool, default=False
        Whether to draw the figures after the tables.
    report : bool, default=False
        Whether to write ``report.html`` after the tables: what catspace's own model learned.
    console : rich.console.Console, optional

    Returns
    -------
    list of dict
        The records of the cells that were asked for.
    """
    console = console or Console()
    if experiment not in EXPERIMENTS:
        raise InputError(f"experiment must be one of {shorten(EXPERIMENTS)}; got {experiment!r}.")
    if split not in (*SPLITS, "both"):
        raise InputError(f"split must be one of {shorten([*SPLITS, 'both'])}; got {split!r}.")
    if experiment == "kaggle":
        return _compete(data, seed, out, console)
    cells = choose_cells(SPLITS if split == "both" else [split], only)
    sales, name = _load(data, seed)
    if rows is None:
        rows = ROWS if name == "rossmann" else _GENERATED_TRAINING
    if experiment == "figures":
        _draw(sales, name, seed, out, console)
        return []
    if experiment in ("map", "metric"):
        problem = make_problem(sales, name, "time", rows=rows, seed=seed)
        (_map if experiment == "map" else _metric)(problem, out, console)
        return []
    if experiment in STUDIES:
        problems = [
            make_problem(sales, name, kind, rows=rows, seed=seed)
            for kind in (SPLITS if split == "both" else [split])
        ]
        return _study(experiment, problems, out, console)
    reproduction = Reproduction(sales, name, out, rows=rows, seed=seed)
    _show_features(console, sales)
    try:
        with TableDisplay(console) as display:
            records = reproduction.run(cells, display)
    except KeyboardInterrupt:
        console.print(f"Stopped. The finished cells are in {out}: the same command goes on there.")
        raise
    text = markdown(records)
    write_text(out / "results.md", text)
    write_text(out / "results.csv", comma_separated(records))
    console.print(f"Written: {out / 'results.md'}, results.csv and results.json beside it.")
    if figures:
        _draw(sales, name, seed, out, console)
    if report:
        problem = make_problem(sales, name, SPLITS[0], rows=rows, seed=seed)
        _report(problem, records, out, console)
    return records


def _draw(sales: SalesData, name: str, seed: int, out: Path, console: Console) -> None:
    # Only here, since tables need no matplotlib.
    from catspace.paper.figures import draw_figures, train_for_figures

    prepare_folder(out)
    with _bar(console, "training for the figures") as progress:
        subject = train_for_figures(sales, name, out, seed=seed, progress=progress)
    start = time.perf_counter()
    with _bar(console, "drawing the figures") as progress:
        paths = draw_figures(subject, out, progress=progress)
    seconds = time.perf_counter() - start
    console.print(
        f"Written: {len(paths)} figures in {out / 'figures'}, as PNG and SVG, in {seconds:.0f} s."
    )


def _map(problem: Problem, out: Path, console: Console) -> None:
    """Look for the map of Germany under several trainings, and write how often it appears."""
    from catspace.paper.space import look_for_the_map, map_table

    prepare_folder(out)
    records = []
    with _bar(console, "training for the map") as progress:
        for record in look_for_the_map(problem, progress=progress):
            records.append(record)
            write_text(out / "map.json", json.dumps(records, indent=1))
    text = map_table(records)
    write_text(out / "map.md", text)
    _show_markdown(console, text)
    console.print(f"Written: {out / 'map.md'}, and map.json beside it.")


def _metric(problem: Problem, out: Path, console: Console) -> None:
    """Put the questions about the finite metric space, and write the answers."""
    from catspace.paper.figures import train_for_figures
    from catspace.paper.space import question_the_metric, summarise_schoenberg

    prepare_folder(out)
    with _bar(console, "training for the figures") as progress:
        subject = train_for_figures(
            problem.data, problem.name, out, seed=problem.seed, progress=progress
        )
    answers: dict[str, list[Record]] = {}
    page = [subject.origin + "\n"]
    with _bar(console, "training for the dimensions") as progress:
        for title, frame in question_the_metric(subject, problem, progress=progress):
            answers[title] = frame_records(frame)
            page.append(f"**{title}**\n\n{frame_table(frame)}")
            _show_markdown(console, page[-1])
            write_text(out / "metric.json", json.dumps(answers, indent=1, ensure_ascii=False))
    summary = frame_table(summarise_schoenberg(answers))
    page.append(f"**Schoenberg's condition, smallest eigenvalues**\n\n{summary}")
    write_text(out / "metric.md", "\n".join(page))
    console.print(f"Written: {out / 'metric.md'}, and metric.json beside it.")


def _report(problem: Problem, records: Sequence[Record], out: Path, console: Console) -> None:
    """Show what catspace's own model learned from the training rows of a split."""
    from catspace.export.report import write_report

    X, y = problem.frames.train, problem.y_train
    parameters = METHODS["catspace"].parameters["ee"]
    with _bar(console, "training for the report") as progress:
        model = fit_network(X, y, parameters, seed=problem.seed, progress=progress)
    scores = {
        f"{METHODS[record['method']].label}, {record['encoding']}": {"MAPE": record["mape"]}
        for record in sorted(records, key=lambda record: float(record["mape"]))
        if record["split"] == problem.split
    }
    columns = list(model.embeddings_)
    with _bar(console, "writing the report") as progress:
        write_report(
            model,
            out / "report.html",
            X,
            y,
            target_name="sales",
            scores=scores,
            on_step=lambda column: progress(columns.index(column) / len(columns)),
        )
        progress(1.0)
    console.print(f"Open [bold]{out / 'report.html'}[/bold] in a browser to see what it learned.")


def _study(
    experiment: str, problems: Sequence[Problem], out: Path, console: Console
) -> list[Record]:
    """Compare variants on validation rows, and write what was found."""
    prepare_folder(out)
    records: list[Record] = []
    for problem in problems:
        with _bar(console, f"{experiment}, {problem.split}") as progress:
            for record in run_study(experiment, problem, progress=progress):
                records.append(record)
                write_text(out / f"{experiment}.json", json.dumps(records, indent=1))
    text = study_table(records)
    write_text(out / f"{experiment}.md", text)
    _show_markdown(console, text)
    console.print(f"Written: {out / f'{experiment}.md'}, and {experiment}.json beside it.")
    return records


def _compete(data: Path | None, seed: int, out: Path, console: Console) -> list[Record]:
    """Forecast the competition's last six weeks with one network of each view, and with several."""
    if data is None:
        raise InputError(
            "The competition's experiment needs its files.",
            hint="name their folder with --data, or in the environment as CATSPACE_DATA.",
        )
    prepare_folder(out)
    with console.status("reading the competition's files …"):
        competition = load_competition(data)
    train, test = competition.window(weeks_ago=0)
    console.print(
        f"{len(train):,} rows to learn from, {len(test):,} of the last six weeks to be judged by; "
        f"{len(CATEGORIES)} categories and {len(NUMBERS)} numbers."
    )
    records = []
    for name, (views, n_networks) in ENTRIES.items():
        with _bar(console, name) as progress:
            record = compete(
                competition,
                train,
                test,
                views=views,
                n_networks=n_networks,
                seed=seed,
                progress=progress,
            )
        records.append(record)
        console.print(
            f"{name}: RMSPE {record['rmspe']:.4f}, MAPE {record['mape']:.4f}, "
            f"fit {record['fit_seconds']:.0f} s",
            highlight=False,
        )
        write_text(out / "kaggle.json", json.dumps(records, indent=1))
    console.print(f"Written: {out / 'kaggle.json'}")
    return records


def _show_markdown(console: Console, text: str) -> None:
    # A row that the console breaks is no row of a table any more.
    console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _bar(console: Console, name: str) -> Iterator[Callable[[float], None]]:
    """Show a bar, and yield what moves it."""
    with Progress(*_BAR, console=console) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def _load(data: Path | None, seed: int) -> tuple[SalesData, str]:
    if data is not None:
        return load_rossmann(data, backend="pandas"), "rossmann"
    sales = make_sales(
        _GENERATED_ROWS, n_stores=_GENERATED_STORES, random_state=seed, backend="pandas"
    )
    return sales, "generated"


def _show_features(console: Console, sales: SalesData) -> None:
    table = Table("feature", "type", "values in the data", "EE dimension", title="Features")
    for name, kind, n_values, dim in describe_features(sales):
        table.add_row(name, kind, str(n_values), str(dim))
    table.add_row("", "", "", f"{sum(PAPER_DIMS.values())} in all", style="dim")
    console.print(table)


class TableDisplay:
    """Shows tables that fill as cells finish, and a bar for the one that runs.

    Where there is no terminal, each cell is a line.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._records: list[Record] = []
        self._running: Cell | None = None
        self._bar = Progress(*_BAR, console=console)
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._render)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._running = None
        for task in self._bar.task_ids:
            self._bar.remove_task(task)
        if self._console.is_terminal:
            self._live.stop()
        else:
            self._console.print(self._render())

    def started(self, cell: Cell) -> None:
        """Show which cell runs."""
        self._running = cell
        for task in self._bar.task_ids:
            self._bar.remove_task(task)
        self._bar.add_task(_name(cell.split, cell.method, cell.encoding), total=1.0)

    def progressed(self, share: float) -> None:
        """Move the bar."""
        self._bar.update(self._bar.task_ids[-1], completed=share)

    def finished(self, record: Record) -> None:
        """Fill the cell."""
        self._running = None
        self._records.append(record)
        if not self._console.is_terminal:
            paper = record["paper_mape"]
            name = _name(record["split"], record["method"], record["encoding"])
            self._console.print(
                f"{name}: MAPE {record['mape']:.4f}"
                + ("" if paper is None else f" (paper {paper:.3f})")
                + f", fit {record['fit_seconds']:.1f} s, predict {record['predict_seconds']:.1f} s",
                highlight=False,
                soft_wrap=True,
            )

    def _render(self) -> Group:
        parts: list[object] = []
        for split in SPLITS:
            running = self._running
            mark = None
            if running is not None and running.split == split:
                mark = (running.method, running.encoding)
            found = [record for record in self._records if record["split"] == split]
            if found or mark:
                parts.append(terminal_table(found, split, mark))
        if self._records:
            parts.append(caption(self._records[0]))
        if self._running is not None:
            parts.append(self._bar)
        return Group(*parts)  # type: ignore[arg-type]


def _name(split: str, method: str, encoding: str) -> str:
    return f"{METHODS[method].label}, {encoding}, {split}"
