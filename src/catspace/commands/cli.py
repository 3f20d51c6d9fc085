"""The command `catspace`.

What a command needs is imported when the command runs: `catspace --help` loads none of it.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, NoReturn

try:
    import typer
except ImportError:  # pragma: no cover - only where the extra is not installed
    sys.exit('The command line needs typer. Install it with: pip install "catspace[cli]"')

from rich.console import Console

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
    _check_folders(out, report)
    from catspace.commands.fit import Request, fit_files, fit_on_cluster
    from catspace.commands.scores import score_grid

    console = Console(stderr=as_json)
    named = _names(categorical)
    request = Request(source, target, named, _names(drop), task, log, networks, seed)
    if ray is not None:
        if report is not None:
            raise CatspaceError(
                "--report needs the rows here, and --ray leaves them where they are.",
                hint="catspace report MODEL --data FILE, with some of the rows.",
            )
        start = time.perf_counter()
        model = fit_on_cluster(request, address=ray, num_workers=workers, console=console)
        model.save(out)
        seconds = time.perf_counter() - start
        console.print(
            f"Trained by {workers} workers in {seconds:.1f} s. The model is in [bold]{out}[/bold]."
        )
        if as_json:
            print(json.dumps({"model": str(out)}))
        return
    fitting = fit_files(request, validation=validation, console=console)
    fitting.model.save(out)
    n_rows = fitting.table.n_rows
    if fitting.scores and not as_json:
        console.print(score_grid(fitting.scores, fitting.n_validation))
    console.print(
        f"Trained on {n_rows:,} rows in {fitting.seconds:.1f} s. The model is in "
        f"[bold]{out}[/bold]."
    )
    if report is not None:
        from catspace.commands.report import report_model

        report_model(fitting.model, report, fitting.table, scores=fitting.scores, console=console)
    if as_json:
        page = None if report is None else str(report)
        result = {"model": str(out), "scores": fitting.scores, "rows": n_rows, "report": page}
        print(json.dumps(result))


@app.command(epilog="Example: catspace predict sales.catspace new.csv -o predicted.csv")
def predict(
    model: Model,
    source: Source,
    out: Out = "-",
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
) -> None:
    """Predict for a file of any size; its columns and its order stay as they are."""
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
        print(json.dumps(found, ensure_ascii=False, default=str))
    else:
        Console().print(neighbour_grid(found, column, category))


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
    _check_folders(out)
    from catspace.commands.fit import read_source
    from catspace.commands.report import report_model
    from catspace.estimators import load

    table = None if data is None else read_source(data)
    report_model(load(model), out, table, target, console=Console())


@app.command(epilog="Example: catspace info sales.catspace")
def info(model: Model, as_json: AsJson = False) -> None:
    """Tell what is in a model file."""
    from catspace.commands.show import describe_model, info_grid

    found = describe_model(model)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        Console().print(info_grid(found))


@app.command(epilog="Example: catspace export sales.catspace --onnx sales.onnx")
def export(
    model: Model,
    onnx: Annotated[Path, typer.Option(help="Where to write the graph, by custom a .onnx file.")],
    as_json: AsJson = False,
) -> None:
    """Write a model as an ONNX graph, from raw values to predictions."""
    from catspace.commands.export import export_grid, export_onnx

    written = export_onnx(model, onnx)
    if as_json:
        print(json.dumps(written, ensure_ascii=False))
    else:
        Console().print(export_grid(written))


def _score(model: Path, source: str, out: str, *, what: str, probabilities: bool = False) -> None:
    from catspace.commands.predict import score_files
    from catspace.estimators import load

    start = time.perf_counter()
    n_rows = score_files(load(model), source, out, what=what, probabilities=probabilities)
    seconds = time.perf_counter() - start
    if out != "-":
        Console(stderr=True).print(f"{n_rows:,} rows in {seconds:.1f} s: {out}")


def _check_folders(*files: Path | None) -> None:
    """Say before the work, not after it, that there is no place for its result."""
    for file in files:
        if file is not None and not file.expanduser().parent.is_dir():
            raise CatspaceError(f"There is no folder {str(file.parent)!r} to write to.")


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]


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
    # A warning is for the user of the command, who does not care which line of ours gave it.
    warnings.showwarning = lambda message, *where, **more: print(
        f"catspace: {message}", file=sys.stderr
    )
    try:
        app(standalone_mode=True)
    except CatspaceError as error:
        if _State.debug:
            raise
        print(f"catspace: {error}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)
