"""The command that lets a model go on learning from a new file."""

import time
from pathlib import Path
from typing import Annotated

import typer

from catspace.commands.options import AsJson, Model, Source, Target, app, print_json
from catspace.names import visible
from catspace.terminal import PlainConsole


@app.command(epilog="Example: catspace update sales.catspace tuesday.csv -o sales.catspace")
def update(
    model: Model,
    source: Source,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", help="Where to save the model; may be where it was read from."),
    ],
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Go on learning from the rows of a new file: new categories get vectors of their own.

    The model file is replaced when all is done; until then, and if anything fails, it stays as it
    was.
    """
    from catspace.commands.places import check_places, save_somewhere

    console, start = PlainConsole(stderr=as_json), time.perf_counter()
    check_places(out, source=source)
    from catspace.commands.judge import name_target, read_rows
    from catspace.estimators import load

    found = load(model)
    name = name_target(found, target)
    table = read_rows(found, source, name, console)
    before = {column: len(vectors) for column, vectors in found.embeddings_.items()}
    found.partial_fit(table, name)
    save_somewhere(found, out)
    seconds = time.perf_counter() - start
    new = {column: len(vectors) - before[column] for column, vectors in found.embeddings_.items()}
    console.print(
        f"Learned from {table.n_rows:,} more rows in {seconds:.1f} s. "
        f"The model is in {visible(out)}."
    )
    listed = [f"{count:,} of {visible(column)}" for column, count in new.items() if count]
    console.print(f"New categories: {', '.join(listed) or 'none'}.", highlight=False)
    if as_json:
        print_json({"model": str(out), "rows": table.n_rows, "new_categories": new})
