"""The paper's two tables: every method, raw and with entity embeddings, beside its numbers."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import Progress
from rich.table import Table

from catspace.export.report import check_report, write_report
from catspace.paper import figures
from catspace.paper.fitting import fit_network
from catspace.paper.methods import METHODS
from catspace.paper.printing import BAR, bar, caption, comma_separated, markdown, terminal_table
from catspace.paper.protocol import PAPER_DIMS, SPLITS, describe_features
from catspace.paper.records import Record
from catspace.paper.request import Request
from catspace.paper.runner import Cell, Reproduction
from catspace.storage.writing import write_text


def run(request: Request) -> list[Record]:
    """Compute the cells that are asked for, and write them as JSON, CSV and Markdown."""
    if request.report:
        check_report()
    out, console, sales = request.out, request.console, request.sales
    reproduction = Reproduction(sales, request.name, out, rows=request.n_train, seed=request.seed)
    table = Table("feature", "type", "values in the data", "EE dimension", title="Features")
    for name, kind, n_values, dim in describe_features(sales):
        table.add_row(name, kind, str(n_values), str(dim))
    table.add_row("", "", "", f"{sum(PAPER_DIMS.values())} in all", style="dim")
    console.print(table)
    try:
        with show_tables(console) as display:
            records = reproduction.run(request.cells, display)
    except KeyboardInterrupt:
        console.print(f"Stopped. The finished cells are in {out}: the same command goes on there.")
        raise
    write_text(out / "results.md", markdown(records))
    write_text(out / "results.csv", comma_separated(records))
    console.print(f"Written: {out / 'results.md'}, results.csv and results.json beside it.")
    if request.figures:
        figures.run(request)
    if request.report:
        _report(request, records)
    return records


def _report(request: Request, records: Sequence[Record]) -> None:
    """Show what catspace's own model learned from the training rows of the first split."""
    problem, path = request.problem(SPLITS[0]), request.out / "report.html"
    X, y = problem.frames.train, problem.y_train
    parameters = METHODS["catspace"].parameters["ee"]
    with bar(request.console, "training for the report") as progress:
        model = fit_network(X, y, parameters, seed=problem.seed, progress=progress)
    scores = {
        f"{METHODS[record['method']].label}, {record['encoding']}": {"MAPE": record["mape"]}
        for record in sorted(records, key=lambda record: float(record["mape"]))
        if record["split"] == problem.split
    }
    columns = list(model.embeddings_)
    with bar(request.console, "writing the report") as progress:
        write_report(
            model,
            path,
            X,
            y,
            X_val=problem.frames.test,
            y_val=problem.y_test,
            target_name="sales",
            scores=scores,
            on_step=lambda column: progress(columns.index(column) / len(columns)),
        )
        progress(1.0)
    request.console.print(f"Open {path} in a browser to see what it learned.")


@contextmanager
def show_tables(console: Console) -> Iterator["TableDisplay"]:
    """Show tables that fill as cells finish, and a bar for the one that runs.

    Where there is no terminal, each cell is a line, and the tables come at the end.
    """
    display = TableDisplay(console)
    live = Live(console=console, refresh_per_second=4, get_renderable=display.render)
    if console.is_terminal:
        live.start()
    try:
        yield display
    finally:
        display.running = None
        if console.is_terminal:
            live.stop()
        else:
            console.print(display.render())


class TableDisplay:
    """What `show_tables` shows: the records so far, and the cell that runs."""

    def __init__(self, console: Console) -> None:
        self.running: Cell | None = None
        self._console = console
        self._records: list[Record] = []
        self._bar = Progress(*BAR, console=console)

    def started(self, cell: Cell) -> None:
        """Show which cell runs."""
        self._bar = Progress(*BAR, console=self._console)
        self._bar.add_task(_name(cell.split, cell.method, cell.encoding), total=1.0)
        self.running = cell

    def progressed(self, share: float) -> None:
        """Move the bar."""
        self._bar.update(self._bar.task_ids[0], completed=share)

    def finished(self, record: Record) -> None:
        """Fill the cell."""
        self.running = None
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

    def render(self) -> Group:
        """Return the tables, and the bar of the cell that runs."""
        parts: list[RenderableType] = []
        running = self.running
        for split in SPLITS:
            mark = None
            if running is not None and running.split == split:
                mark = (running.method, running.encoding)
            found = [record for record in self._records if record["split"] == split]
            if found or mark:
                parts.append(terminal_table(found, split, mark))
        if self._records:
            parts.append(caption(self._records[0]))
        if running is not None:
            parts.append(self._bar)
        return Group(*parts)


def _name(split: str, method: str, encoding: str) -> str:
    return f"{METHODS[method].label}, {encoding}, {split}"
