"""What the commands have in common: the application, its arguments, and what they print."""

import csv
import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from catspace.exceptions import ParameterError

try:
    import typer
except ImportError:  # pragma: no cover - only where the extra is not installed
    sys.exit('The command line needs typer. Install it with: pip install "catspace[cli]"')

from catspace.names import visible
from catspace.terminal import PlainConsole

app = typer.Typer(
    name="catspace",
    help="Turn categorical variables into vectors.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Source = Annotated[
    str, typer.Argument(help="A CSV or Parquet file, a pattern, a folder, or - for standard input.")
]
Model = Annotated[Path, typer.Argument(help="A model file that catspace fit has written.")]
ColumnName = Annotated[str, typer.Argument(metavar="COLUMN", help="A categorical column.")]
Target = Annotated[
    str | None, typer.Option(help="The column that was predicted, if the model does not know.")
]
Out = Annotated[
    str, typer.Option("--out", "-o", help="A CSV or Parquet file, or - for standard output.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for a script.")]


class State:
    """What was said before the command."""

    debug = False


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"catspace {version('catspace')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    _: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    State.debug = debug


def names_in(listed: str) -> list[str]:
    """Return the names in a list; one that has a comma in it stands in double quotes.

    Examples
    --------
    >>> names_in('store, "a,b"')
    ['store', 'a,b']
    """
    try:
        names = next(csv.reader([listed], skipinitialspace=True), [])
    except csv.Error:
        raise ParameterError(
            f"A list of names stands on one line; got {listed!r}.",
            hint="a name with a comma in it stands in double quotes: '\"a,b\"'.",
        ) from None
    return [name.strip() for name in names if name.strip()]


def print_json(record: Any) -> None:
    """Print JSON, with letters as they are where a terminal shows them as they are."""
    text = json.dumps(record, ensure_ascii=False, default=str)
    print(text if visible(text) == text else json.dumps(record, default=str))


def print_notes(notes: Iterable[str], console: PlainConsole) -> None:
    """Print sentences beside a table."""
    for note in notes:
        console.print(note, highlight=False)
