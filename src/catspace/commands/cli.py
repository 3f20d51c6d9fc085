"""The command `catspace`.

What a command needs is imported when the command runs: `catspace --help` loads none of it.
"""

import csv
import io
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any, NoReturn

try:
    import typer
except ImportError:  # pragma: no cover - only where the extra is not installed
    sys.exit('The command line needs typer. Install it with: pip install "catspace[cli]"')

from catspace.exceptions import CatspaceError
from catspace.names import visible, visible_lines
from catspace.terminal import PlainConsole

_INTERRUPTED = 130  # what typer ends with after Ctrl-C, as shells do

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


Source = Annotated[
    str, typer.Argument(help="A CSV or Parquet file, a pattern, a folder, or - for standard input.")
]
Model = Annotated[Path, typer.Argument(help="A model file that catspace fit has written.")]
Out = Annotated[
    str, typer.Option("--out", "-o", help="A CSV or Parquet file, or - for standard output.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for a script.")]


@app.command(epilog="Example: catspace fit sales.csv --target Sales --log -o sales.catspace")
def fit(
    source: Source,
    target: Annotated[str, typer.Option(help="The column to predict.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where to save the model.")],
    categorical: Annotated[
        str, typer.Option(help="Columns of integers that are categories, separated by commas.")
    ] = "",
    date_parts: Annotated[
        str,
        typer.Option(help="What columns of dates are taken apart into: year,month,day_of_week."),
    ] = "",
    drop: Annotated[str, typer.Option(help="Columns to leave out, separated by commas.")] = "",
    task: Annotated[
        str | None, typer.Option(help="regression or classification; by default, the target says.")
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Learn the logarithm of the target.")] = False,
    networks: Annotated[int, typer.Option(help="Networks to train and average.")] = 1,
    validation: Annotated[
        float, typer.Option(help="Share of the rows to hold back for the scores; 0 for none.")
    ] = 0.1,
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
    as_json: AsJson = False,
) -> None:
    """Learn from a table: vectors for its categories, and a model that predicts."""
    from catspace.commands.places import check_places, save_somewhere

    console, start = PlainConsole(stderr=as_json), time.perf_counter()
    check_places(out, report, source=source)
    from catspace.commands.fit import Request, fit_files, fit_on_cluster

    request = Request(
        source,
        target,
        categorical=_names(categorical),
        drop=_names(drop),
        date_parts=_names(date_parts),
        task=task,
        log=log,
        n_networks=networks,
        seed=seed,
        validation=validation,
    )
    if ray is not None:
        if report is not None:
            raise CatspaceError(
                "--report needs the rows here, and --ray leaves them where they are.",
                hint="catspace report MODEL --data FILE, with some of the rows.",
            )
        model = fit_on_cluster(request, address=ray, num_workers=workers, console=console)
        save_somewhere(model, out)
        seconds = time.perf_counter() - start
        console.print(
            f"Trained by {workers} workers in {seconds:.1f} s. The model is in {visible(out)}."
        )
        if as_json:
            _print_json({"model": str(out)})
        return
    if report is not None:
        from catspace.export.report import check_report

        check_report()
    fitting = fit_files(request, console=console)
    save_somewhere(fitting.model, out)
    n_rows = len(fitting.used)
    console.print(
        f"Trained on {n_rows:,} rows in {fitting.seconds:.1f} s. The model is in {visible(out)}."
    )
    # Only now: whatever becomes of the scores, the model is there.
    found = fitting.score(seed=seed)
    _show_scores(found, len(fitting.held_back), console, is_brief=as_json)
    if report is not None:
        from catspace.commands.report import report_model

        report_model(fitting.model, report, fitting.training, scores=found.scores, console=console)
    if as_json:
        page = None if report is None else str(report)
        result = {"model": str(out), "scores": found.scores, "notes": found.notes, "rows": n_rows}
        _print_json({**result, "report": page})


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
    _score(model, source, out, what="predict", probabilities=proba)


@app.command(epilog="Example: catspace transform sales.catspace new.parquet -o vectors.parquet")
def transform(model: Model, source: Source, out: Out = "-") -> None:
    """Add the learned vectors to a file of any size."""
    _score(model, source, out, what="transform")


@app.command(epilog="Example: catspace neighbors sales.catspace store 12 -k 10")
def neighbors(
    model: Model,
    column: Annotated[str, typer.Argument(help="A categorical column.")],
    category: Annotated[str, typer.Argument(help="One of its values.")],
    k: Annotated[int, typer.Option("-k", help="How many.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the categories that are closest to one category."""
    from catspace.commands.show import find_neighbours, neighbour_grid

    found = find_neighbours(model, column, category, k)
    if as_json:
        _print_json(found)
    else:
        PlainConsole().print(neighbour_grid(found, column, category))


@app.command(epilog="Example: catspace embeddings sales.catspace --column store -o store.csv")
def embeddings(
    model: Model,
    column: Annotated[str, typer.Option(help="A categorical column.")],
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
        typer.Option(help="The training table: for colours by the target, and distances."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="The column that was predicted, if the model does not know.")
    ] = None,
) -> None:
    """Write what a model learned as one page that opens in any browser, offline."""
    from catspace.commands.places import check_places

    check_places(out, models=[model], source=data)
    from catspace.commands.fit import read_source
    from catspace.commands.report import report_model
    from catspace.estimators import load

    table = None if data is None else read_source(data)
    report_model(load(model), out, table, target, console=PlainConsole())


@app.command(epilog="Example: catspace info sales.catspace")
def info(model: Model, as_json: AsJson = False) -> None:
    """Tell what is in a model file."""
    from catspace.commands.show import describe_model, info_grid

    found = describe_model(model)
    if as_json:
        _print_json(found)
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
        _print_json(written)
    else:
        PlainConsole().print(export_grid(written))


def _score(model: Path, source: str, out: str, *, what: str, probabilities: bool = False) -> None:
    from catspace.commands.places import check_places

    check_places(out, models=[model], source=source)
    from catspace.commands.predict import score_files
    from catspace.estimators import load

    start = time.perf_counter()
    n_rows = score_files(load(model), source, out, what=what, probabilities=probabilities)
    seconds = time.perf_counter() - start
    if out != "-":
        PlainConsole(stderr=True).print(f"{n_rows:,} rows in {seconds:.1f} s: {visible(out)}")


def _show_scores(found: Any, n_rows: int, console: PlainConsole, *, is_brief: bool) -> None:
    from catspace.commands.scores import score_grid

    if found.scores and not is_brief:
        console.print(score_grid(found.scores, n_rows))
    for note in found.notes:
        console.print(note, highlight=False)


def _print_json(record: Any) -> None:
    """Print JSON, with letters as they are where a terminal shows them as they are."""
    text = json.dumps(record, ensure_ascii=False, default=str)
    print(text if visible(text) == text else json.dumps(record, default=str))


def _names(listed: str) -> list[str]:
    """Return the names in a list; one that has a comma in it stands in double quotes."""
    names = next(csv.reader([listed], skipinitialspace=True), [])
    return [name.strip() for name in names if name.strip()]


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
        only=_names(only),
        split=split,
        rows=rows,
        seed=seed,
        figures=figures,
        report=report,
        out=out,
    )


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
        if _State.debug:
            raise
        _say(error)
        sys.exit(1)
    except OSError as error:
        if _State.debug or error.filename is None:
            raise
        _say(f"{str(error.filename)!r}: {error.strerror}.")
        sys.exit(1)
    sys.exit(0)


def _say(message: object) -> None:
    """Tell the user of the command what an error or a warning says, in the command's words."""
    from catspace.commands.wording import in_options

    print(f"catspace: {visible_lines(in_options(message))}", file=sys.stderr)
