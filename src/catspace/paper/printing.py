"""How results are shown: as Markdown, as CSV, and in the terminal."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from catspace.paper import fitting
from catspace.paper.methods import METHODS
from catspace.paper.protocol import ENCODINGS, SPLITS
from catspace.paper.records import Record
from catspace.storage.writing import write_text

BAR = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())

_TITLES = {
    "shuffled": "Shuffled: 10 % of the rows, at random, are for testing",
    "time": "By time: the latest 10 % of the rows are for testing",
}
_CSV_COLUMNS = (
    "data",
    "split",
    "method",
    "encoding",
    "mape",
    "paper_mape",
    "difference",
    "rmspe",
    "fit_seconds",
    "predict_seconds",
    "rows",
    "test_rows",
    "seed",
)
_HEADER = (
    "method",
    "MAPE",
    "paper",
    "MAPE with EE",
    "paper",
    "RMSPE",
    "RMSPE with EE",
    "fit / predict s",
    "fit / predict s with EE",
)
# What fits into a terminal of 80 columns: names, and where they stand in a row of the above.
_NARROW = (("MAPE", 1), ("paper", 2), ("with EE", 3), ("paper", 4), ("time s", 7), ("with EE", 8))


def table_rows(records: Iterable[Record], split: str) -> list[list[str]]:
    """Return one row of text for each method of a split that has a number."""
    found = {(r["method"], r["encoding"]): r for r in records if r["split"] == split}
    rows = []
    for name, method in METHODS.items():
        raw, embedded = (found.get((name, encoding)) for encoding in ENCODINGS)
        if raw is None and embedded is None:
            continue
        rows.append(
            [
                method.label,
                _number(raw, "mape", 4),
                _number(raw, "paper_mape", 3),
                _number(embedded, "mape", 4),
                _number(embedded, "paper_mape", 3),
                _number(raw, "rmspe", 4),
                _number(embedded, "rmspe", 4),
                _seconds(raw),
                _seconds(embedded),
            ]
        )
    return rows


def markdown(records: Sequence[Record]) -> str:
    """Return both tables as Markdown, with a sentence on the data above each."""
    parts = []
    for split in SPLITS:
        rows = table_rows(records, split)
        if not rows:
            continue
        first = next(record for record in records if record["split"] == split)
        parts.append(f"### {_TITLES[split]}\n\n{caption(first)}\n\n{markdown_table(_HEADER, rows)}")
    return "\n".join(parts)


def caption(record: Record) -> str:
    """Return one sentence on the data, the rows and the seed."""
    origin = {
        "rossmann": "The real Rossmann data",
        "generated": "GENERATED data (make_sales), not the paper's: its numbers cannot be compared",
    }
    return (
        f"{origin.get(record['data'], record['data'])}; {record['rows']:,} rows to learn from, "
        f"{record['test_rows']:,} to test; seed {record['seed']}."
    )


def data_of(record: Record) -> str:
    """Return the beginning of a sentence on the data and the rows below a table."""
    origin = "real Rossmann" if record["data"] == "rossmann" else "GENERATED (make_sales)"
    return f"Data: {origin}; {record['rows']:,} rows to learn from"


def markdown_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table.

    Examples
    --------
    >>> print(markdown_table(["method", "MAPE"], [["KNN", "0.1"]]), end="")
    | method | MAPE |
    |---|---|
    | KNN | 0.1 |
    """
    names = list(header)
    lines = [f"| {' | '.join(cells)} |\n" for cells in (names, *rows)]
    return "".join([lines[0], "|" + "---|" * len(names) + "\n", *lines[1:]])


def frame_table(frame: Any) -> str:
    """Return a small pandas frame as a Markdown table; numbers with four digits."""

    def shown(value: Any) -> str:
        return f"{value:.4g}" if isinstance(value, float) else str(value).replace("|", "\\|")

    rows = frame.itertuples(index=False)
    return markdown_table(map(str, frame.columns), (map(shown, row) for row in rows))


def comma_separated(records: Iterable[Record]) -> str:
    """Return the records as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, _CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def terminal_table(records: Sequence[Record], split: str, running: tuple[str, str] | None) -> Table:
    """Return one split's table for the terminal, with a mark where a number is being computed."""
    table = Table(
        title=_TITLES[split], box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0)
    )
    table.add_column("method", no_wrap=True)
    for name, place in _NARROW:
        style = "bold" if place in (1, 3) else "dim"
        table.add_column(name, justify="right", style=style, no_wrap=True)
    shown = {row[0]: row for row in table_rows(records, split)}
    running_method, running_encoding = running or ("", "")
    for name, method in METHODS.items():
        if method.label not in shown and name != running_method:
            continue
        row = shown.get(method.label, [method.label, *[""] * (len(_HEADER) - 1)])
        if name == running_method:
            row[1 if running_encoding == "raw" else 3] = "…"
        cells = [row[place] for _, place in _NARROW]
        # Fitting and predicting together: the files tell them apart.
        cells[-2:] = [str(sum(map(int, cell.split(" / ")))) if cell else "" for cell in cells[-2:]]
        table.add_row(row[0], *cells)
    return table


@contextmanager
def bar(console: Console, name: str) -> Iterator[fitting.Progress]:
    """Show a bar, and yield what moves it."""
    with Progress(*BAR, console=console) as progress:
        task = progress.add_task(name, total=1.0)
        yield lambda share: progress.update(task, completed=share)


def show_markdown(console: Console, text: str) -> None:
    """Print Markdown as it is."""
    # A row that the console breaks is no row of a table any more.
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def publish(console: Console, path: Path, text: str) -> None:
    """Write a page of Markdown beside the JSON file of the same name, and show it."""
    write_text(path, text)
    show_markdown(console, text)
    console.print(f"Written: {path}, and {path.stem}.json beside it.")


def _number(record: Record | None, name: str, digits: int) -> str:
    if record is None or record[name] is None:
        return ""
    return f"{record[name]:.{digits}f}"


def _seconds(record: Record | None) -> str:
    if record is None:
        return ""
    return f"{record['fit_seconds']:.0f} / {record['predict_seconds']:.0f}"
