"""From a fitted model to its page, telling the user what happens."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from catspace.export.report import write_report
from catspace.names import visible
from catspace.storage.paths import expand
from catspace.terminal import PlainConsole, as_text


def report_model(
    model: Any,
    out: Path,
    table: Any = None,
    target: str | None = None,
    *,
    new: Any = None,
    scores: Mapping[str, Mapping[str, float]] | None = None,
    console: PlainConsole,
) -> None:
    """Write the report, judged by new rows where there are some, with a word about the work."""
    start = time.perf_counter()
    with console.status("Writing the report") as status:
        write_report(
            model,
            out,
            table,
            target,
            X_val=new,
            y_val=target,
            scores=scores,
            on_step=lambda column: status.update(
                as_text(f"Laying out the categories of {column!r}")
            ),
        )
    seconds, size = time.perf_counter() - start, expand(out).stat().st_size
    console.print(
        f"The report is in {visible(out)} ({size / 1e6:.1f} MB, {seconds:.1f} s): open it in a "
        f"browser."
    )
