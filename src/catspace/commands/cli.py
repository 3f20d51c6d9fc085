"""The command `catspace`.

What a command needs is imported when the command runs: `catspace --help` loads none of it.
"""

import io
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, NoReturn

from catspace.commands.options import (
    AsJson,
    ColumnName,
    Model,
    Out,
    Source,
    State,
    Target,
    app,
    names_in,
    print_json,
    print_notes,
)

# isort: split
import typer  # which the options look for first

from catspace.commands import experiments as experiments  # which adds a command, as
from catspace.commands import update as update  # this one does
from catspace.exceptions import CatspaceError
from catspace.names import visible, visible_lines
from catspace.terminal import PlainConsole

_INTERRUPTED = 130  # what typer ends with after Ctrl-C, as shells do


@app.command(epilog="Example: catspace fit sales.csv --target Sales --log -o sales.catspace")
def fit(
    source: Source,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to save the model.")],
    categorical: Annotated[
        str, typer.Option(help="Columns of integers that are categories, separated by commas.")
    ] = "",
    dates: Annotated[
        str,
        typer.Option(
            help="What dates are taken apart into: year, quarter, month, week, day, day_of_week, "
            "day_of_year, hour, date, elapsed (days, for a trend); or none, which refuses them. "
            "auto: year,month,day,day_of_week, and hour where there are any.",
        ),
    ] = "auto",
    drop: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    task: Annotated[
        str | None, typer.Option(help="regression or classification; by default, the target says.")
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Learn the logarithm of the target.")] = False,
    networks: Annotated[int, typer.Option(help="Networks to train and average.")] = 1,
    validation: Annotated[
        float, typer.Option(help="Share of the rows to hold back for the scores; 0 for none.")
    ] = 0.1,
    validate_by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Hold back the latest rows by this column of dates, not any."
        ),
    ] = None,
    early_stopping: Annotated[
        bool,
        typer.Option(
            "--early-stopping", help="End the training when held back rows say that it is enough."
        ),
    ] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any parameter of the estimator, such as max_epochs=20; may be repeated.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything that is random.")] = 0,
    report: Annotated[
        Path | None, typer.Option(help="Also write a page that shows what the model learned.")
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Fit on the Ray cluster at this address; local starts Ray on this machine.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that train, with --ray.")] = 2,
    storage: Annotated[
        str | None, typer.Option(help="With --ray: a shared folder that a fit goes on from.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Learn from a table: vectors for its categories, and a model that predicts."""
    from catspace.commands.places import check_places, save_somewhere

    console, start = PlainConsole(stderr=as_json), time.perf_counter()
    check_places(out, report, source=source)
    from catspace.commands.fit import Request, fit_files, fit_on_cluster
    from catspace.commands.settings import parse_settings

    request = Request(
        source,
        target,
        categorical=names_in(categorical),
        drop=names_in(drop),
        dates=_date_parts(dates),
        task=task,
        log=log,
        n_networks=networks,
        seed=seed,
        validation=validation,
        validate_by=validate_by,
        early_stopping=early_stopping,
        settings=parse_settings(set_ or []),
    )
    if storage is not None and ray is None:
        raise CatspaceError("--storage is for fits on a cluster, which --ray asks for.")
    if ray is not None:
        if report is not None:
            raise CatspaceError(
                "--report needs the rows here, and --ray leaves them where they are.",
                hint="catspace report MODEL --data FILE, with some of the rows.",
            )
        model = fit_on_cluster(
            request, address=ray, num_workers=workers, storage=storage, console=console
        )
        save_somewhere(model, out)
        seconds = time.perf_counter() - start
        console.print(
            f"Trained by {workers} workers in {seconds:.1f} s. The model is in {visible(out)}."
        )
        if as_json:
            print_json({"model": str(out)})
        return
    if report is not None:
        from catspace.export.report import check_report

        check_report()
    fitting = fit_files(request, console=console)
    save_somewhere(fitting.model, out)
    n_rows = len(fitting.split.used)
    console.print(
        f"Trained on {n_rows:,} rows in {fitting.seconds:.1f} s. The model is in {visible(out)}."
    )
    # Only now: whatever becomes of the scores, the model is there.
    found = fitting.score(seed=seed)
    if found.scores and not as_json:
        from catspace.commands.scores import score_grid

        console.print(score_grid(found.scores, fitting.split.title))
    print_notes(found.notes, console)
    if report is not None:
        from catspace.commands.report import report_model

        # Rows that could not be scored are of no use to the page either.
        new = fitting.held_back if "catspace" in found.scores else None
        report_model(
            fitting.model, report, fitting.training, new=new, scores=found.scores, console=console
        )
    if as_json:
        page = None if report is None else str(report)
        result = {"model": str(out), "scores": found.scores, "notes": found.notes, "rows": n_rows}
        print_json({**result, "report": page})


@app.command(epilog="Example: catspace predict sales.catspace new.csv -o predicted.csv")
def predict(
    model: Model,
    source: Source,
    out: Out = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
) -> None:
    """Predict for a file of any size; its columns and its order stay as they are.

    In CSV files an apostrophe goes before text that a spreadsheet would run as a formula.
    """
    _add_columns(model, source, out, what="predict", probabilities=proba)


@app.command(epilog="Example: catspace transform sales.catspace new.parquet -o vectors.parquet")
def transform(model: Model, source: Source, out: Out = "-") -> None:
    """Add the learned vectors to a file of any size."""
    _add_columns(model, source, out, what="transform")


@app.command(epilog="Example: catspace score sales.catspace new.csv --boosting sales.csv")
def score(
    model: Model,
    source: Source,
    target: Target = None,
    boosting: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Also score gradient boosting that has learned from this table."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell how well a model predicts the rows of a file of any size, beside a constant."""
    from catspace.commands.judge import score_source
    from catspace.estimators import load

    console = PlainConsole(stderr=as_json)
    found, n_rows = score_source(load(model), source, target, boosting, console=console)
    if as_json:
        print_json({"scores": found.scores, "notes": found.notes, "rows": n_rows})
        return
    from catspace.commands.scores import score_grid

    if found.scores:
        console.print(score_grid(found.scores, f"On {n_rows:,} rows"))
    print_notes(found.notes, console)


@app.command(epilog="Example: catspace importance sales.catspace new.csv")
def importance(
    model: Model,
    source: Source,
    target: Target = None,
    together: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns that are shuffled together; may be repeated."),
    ] = None,
    repeats: Annotated[int, typer.Option(help="How often each column is shuffled.")] = 5,
    seed: Annotated[int, typer.Option(help="Of the shuffling.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Tell which columns matter: how much worse a model does when it cannot read them."""
    from catspace.commands.judge import find_importance, importance_grid
    from catspace.estimators import load

    console = PlainConsole(stderr=as_json)
    groups = [names_in(listed) for listed in together or []]
    fitted = load(model)
    found = find_importance(
        fitted, source, target, groups, n_repeats=repeats, seed=seed, console=console
    )
    if as_json:
        print_json(found)
    else:
        console.print(importance_grid(found, fitted))


@app.command(epilog="Example: catspace neighbors sales.catspace store 12 -k 10")
def neighbors(
    model: Model,
    column: ColumnName,
    category: Annotated[str, typer.Argument(help="One of its values.")],
    k: Annotated[int, typer.Option("-k", help="How many.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the categories that are closest to one category."""
    from catspace.commands.show import find_neighbours, neighbour_grid

    found = find_neighbours(model, column, category, k)
    if as_json:
        print_json(found)
    else:
        PlainConsole().print(neighbour_grid(found, column, category))


@app.command(epilog="Example: catspace embeddings sales.catspace store -o store.csv")
def embeddings(
    model: Model,
    column: ColumnName,
    out: Annotated[
        str,
        typer.Option(
            "--out", "-o", help="A .csv, .parquet or .w2v file, a folder for TensorBoard, or -."
        ),
    ] = "-",
) -> None:
    """Write the vectors of a column."""
    from catspace.commands.show import write_embedding

    write_embedding(model, column, out)


@app.command(epilog="Example: catspace report sales.catspace --data sales.csv -o sales.html")
def report(
    model: Model,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")],
    data: Annotated[
        str | None,
        typer.Option(
            help="Rows with their target: how good, which columns matter, where it fails."
        ),
    ] = None,
    target: Target = None,
) -> None:
    """Write what a model learned as one page that opens in any browser, offline."""
    from catspace.commands.places import check_places

    check_places(out, models=[model], source=data)
    from catspace.commands.judge import name_target, read_whole
    from catspace.commands.report import report_model
    from catspace.estimators import load

    fitted = load(model)
    table = None if data is None else read_whole(fitted, data, name_target(fitted, target))
    report_model(fitted, out, table, target, console=PlainConsole())


@app.command(epilog="Example: catspace info sales.catspace")
def info(model: Model, as_json: AsJson = False) -> None:
    """Tell what is in a model file."""
    from catspace.commands.show import describe_model, info_grid

    found = describe_model(model)
    if as_json:
        print_json(found)
    else:
        PlainConsole().print(info_grid(found))


@app.command(epilog="Example: catspace export sales.catspace --onnx sales.onnx")
def export(
    model: Model,
    onnx: Annotated[Path, typer.Option(help="Where to write the graph, by custom a .onnx file.")],
    as_json: AsJson = False,
) -> None:
    """Write a model as an ONNX graph, from raw values to predictions."""
    from catspace.commands.places import check_places

    check_places(onnx, models=[model])
    from catspace.commands.export import export_grid, export_onnx

    written = export_onnx(model, onnx)
    if as_json:
        print_json(written)
    else:
        PlainConsole().print(export_grid(written))


def _add_columns(
    model: Path, source: str, out: str, *, what: str, probabilities: bool = False
) -> None:
    from catspace.commands.places import check_places

    check_places(out, models=[model], source=source)
    from catspace.commands.predict import score_files
    from catspace.estimators import load

    start = time.perf_counter()
    n_rows = score_files(load(model), source, out, what=what, probabilities=probabilities)
    seconds = time.perf_counter() - start
    if out != "-":
        PlainConsole(stderr=True).print(f"{n_rows:,} rows in {seconds:.1f} s: {visible(out)}")


def _date_parts(listed: str) -> list[str] | None:
    if listed.strip() == "auto":
        return None
    return [] if listed.strip() == "none" else names_in(listed)


def main() -> NoReturn:
    """Run the command: errors are one sentence on standard error, with exit code 1."""
    # A name that the terminal's encoding lacks is shown as an escape, and ends nothing.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    # A warning is for the user of the command, who does not care which line of ours gave it.
    warnings.showwarning = lambda message, *where, **more: _say(message)
    try:
        app(standalone_mode=True)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            _say("Interrupted.")
        raise
    except CatspaceError as error:
        if State.debug:
            raise
        _say(error)
        sys.exit(1)
    except OSError as error:
        if State.debug:
            raise
        where = "" if error.filename is None else f"{str(error.filename)!r}: "
        _say(f"{where}{error.strerror or error}.")
        sys.exit(1)
    sys.exit(0)


def _say(message: object) -> None:
    """Tell the user of the command what an error or a warning says, in the command's words."""
    from catspace.commands.wording import in_options

    print(f"catspace: {visible_lines(in_options(message))}", file=sys.stderr)
