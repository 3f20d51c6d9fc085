"""The command that runs the paper's experiments."""

from pathlib import Path
from typing import Annotated

import typer

from catspace.commands.options import app, names_in
from catspace.exceptions import CatspaceError


@app.command(
    epilog="Example: catspace reproduce --data ~/kaggle --only knn,xgboost:ee",
    rich_help_panel="The paper",  # below the commands that are for people's own tables
)
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
        typer.Option(
            help="tables, figures, kaggle (the competition), map (of Germany), metric (the paper's "
            "open questions), activations or dimensions."
        ),
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
    report: Annotated[
        bool, typer.Option("--report", help="Write a page about what catspace learned.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out"),
) -> None:
    """Run the paper's experiments: every method, raw and with entity embeddings.

    Each number is kept as soon as it is there: a run that was interrupted goes on where it
    stopped.
    """
    from catspace.validation import check_seed

    check_seed("--seed", seed)
    try:
        from catspace.paper.reproduce import reproduce as run
    except ImportError as error:
        raise CatspaceError(
            f"The experiments need {error.name}.",
            hint='install it with: pip install "catspace[paper]"',
        ) from None

    run(
        experiment,
        data=data,
        only=names_in(only),
        split=split,
        rows=rows,
        seed=seed,
        figures=figures,
        report=report,
        out=out,
    )
