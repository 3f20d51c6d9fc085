"""The command `catspace`.

What a command needs is imported when the command runs: `catspace --help` loads none of it.
"""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

try:
    import typer
except ImportError:  # pragma: no cover - only where the extra is not installed
    sys.exit('The command line needs typer. Install it with: pip install "catspace[cli]"')

from catspace.exceptions import CatspaceError

app = typer.Typer(
    name="catspace",
    help="Turn categorical variables into vectors.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    _State.debug = debug


class _State:
    debug = False


@app.command(epilog="Example: catspace reproduce --data ~/kaggle --only knn,xgboost:ee")
def reproduce(
    data: Annotated[
        Path | None,
        typer.Option(
            envvar="CATSPACE_DATA",
            help="Folder with the Rossmann files; without it, generated data is used.",
        ),
    ] = None,
    experiment: Annotated[
        str,
        typer.Option(help="tables, figures, kaggle (the competition), activations or dimensions."),
    ] = "tables",
    only: Annotated[
        str, typer.Option(help="Methods to run: knn, or knn:ee, separated by commas.")
    ] = "",
    split: Annotated[str, typer.Option(help="shuffled, time or both.")] = "both",
    rows: Annotated[
        int | None, typer.Option(help="Training rows; 200,000 by default, as in the paper.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the split and of every method.")] = 0,
    figures: Annotated[
        bool, typer.Option("--figures", help="Draw the paper's figures after the tables.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out"),
) -> None:
    """Run the paper's experiments: every method, raw and with entity embeddings.

    Each number is kept as soon as it is there: a run that was interrupted goes on where it
    stopped.
    """
    from catspace.paper.reproduce import reproduce as run

    names = [name.strip() for name in only.split(",") if name.strip()]
    run(
        experiment,
        data=data,
        only=names,
        split=split,
        rows=rows,
        seed=seed,
        figures=figures,
        out=out,
    )


def main() -> NoReturn:
    """Run the command: errors are one sentence on standard error, with exit code 1."""
    try:
        app(standalone_mode=True)
    except CatspaceError as error:
        if _State.debug:
            raise
        print(f"catspace: {error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)
