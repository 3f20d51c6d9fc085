"""The tables of the paper with our numbers beside them: Markdown, CSV, and the terminal."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.table import Table

from catspace.paper.methods import METHODS
from catspace.paper.protocol import ENCODINGS, SPLITS

Record = dict[str, Any]

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
    """Return both tables as Markdown, with a word on the data above each."""
    parts = []
    for split in SPLITS:
        rows = table_rows(records, split)
        if not rows:
            continue
        first = next(record for record in records if record["split"] == split)
        lines = [
            f"### {_TITLES[split]}",
            "",
            caption(first),
            "",
            "| " + " | ".join(_HEADER) + " |",
            "|" + "---|" * len(_HEADER),
        ]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        parts.append("\n".join(lines) + "\n")
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


def study_table(records: Sequence[Record]) -> str:
    """Return the variants of a study as a Markdown table, a column for each split."""
    splits = list(dict.fromkeys(record["split"] for record in records))
    scores = {(r["variant"], r["split"]): r for r in records}
    lines = [
        "| variant | " + " | ".join(f"validation MAPE, {split}" for split in splits) + " | fit s |",
        "|" + "---|" * (len(splits) + 2),
    ]
    for variant in dict.fromkeys(record["variant"] for record in records):
        found = [scores[variant, split] for split in splits if (variant, split) in scores]
        cells = [f"{record['mape']:.4f}" for record in found]
        seconds = sum(record["fit_seconds"] for record in found) / len(found)
        lines.append(f"| {variant} | {' | '.join(cells)} | {seconds:.0f} |")
    first = records[0]
    origin = "real Rossmann" if first["data"] == "rossmann" else "GENERATED (make_sales)"
    lines += [
        "",
        f"Data: {origin}; {first['rows']:,} rows to learn from, {first['judged_by']:,} training "
        f"rows held back to judge by; seed {first['seed']}; two networks averaged.",
    ]
    return "\n".join(lines) + "\n"


def frame_table(frame: Any) -> str:
    """Return a small pandas frame as a Markdown table; numbers with four digits."""

    def shown(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:.4g}"
        return str(value).replace("|", "\\|")

    lines = [f"| {' | '.join(map(str, frame.columns))} |", "|" + "---|" * len(frame.columns)]
    rows = frame.itertuples(index=False)
    lines += [f"| {' | '.join(shown(value) for value in row)} |" for row in rows]
    return "\n".join(lines) + "\n"


def frame_records(frame: Any) -> list[Record]:
    """Return the rows of a pandas frame for JSON, numbers in full; what is missing is None.

    pandas' own ``to_json`` keeps ten decimals, of which a p-value may need more.
    """
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]


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
    for name, method in METHODS.items():
        row = shown.get(method.label, [method.label, *[""] * (len(_HEADER) - 1)])
        if running is not None and running[0] == name:
            row = list(row)
            row[1 if running[1] == "raw" else 3] = "…"
        if method.label in shown or (running is not None and running[0] == name):
            cells = [row[place] for _, place in _NARROW]
            # Fitting and predicting together: the files tell them apart.
            cells[-2:] = [
                str(sum(map(int, cell.split(" / ")))) if cell else "" for cell in cells[-2:]
            ]
            table.add_row(row[0], *cells)
    return table


def _number(record: Record | None, name: str, digits: int) -> str:
    if record is None or record[name] is None:
        return ""
    return f"{record[name]:.{digits}f}"


def _seconds(record: Record | None) -> str:
    if record is None:
        return ""
    return f"{record['fit_seconds']:.0f} / {record['predict_seconds']:.0f}"
