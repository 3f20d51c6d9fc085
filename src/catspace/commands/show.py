"""What a model file holds, without torch where vectors are enough."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.table import Table as Grid

from catspace.commands.places import STANDARD, check_places
from catspace.embeddings import Embedding, Embeddings
from catspace.names import visible
from catspace.storage.cells import parse_column
from catspace.storage.document import read_model
from catspace.storage.paths import expand
from catspace.storage.shapes import MISSING_CELLS
from catspace.storage.sinks import write_table
from catspace.storage.writing import explaining

Record = dict[str, Any]


def find_neighbours(model: Path, column: str, category: str, k: int) -> list[Record]:
    """Return the categories closest to one that was typed, with distance, count and evidence."""
    embedding = Embeddings.load(model)[column]
    value = _as_category(embedding, category)
    codes, distances = embedding.search(embedding.vector(value), k=k, without=[value])
    names = embedding.category_array(codes).to_pylist()
    counts, evidence = embedding.counts[codes].tolist(), embedding.evidence[codes].tolist()
    found = zip(names, distances.tolist(), counts, evidence, strict=True)
    return [
        {"category": name, "distance": distance, "count": count, "evidence": share}
        for name, distance, count, share in found
    ]


def neighbour_grid(found: list[Record], column: str, category: str) -> Grid:
    """Return the neighbours for the terminal."""
    header = (visible(column), "distance", "rows in training", "evidence")
    grid = Grid(*header, title=f"Closest to {visible(category)}")
    for record in found:
        grid.add_row(
            visible(record["category"]),
            f"{record['distance']:.4f}",
            f"{record['count']:,}",
            f"{record['evidence']:.0%}",
        )
    return grid


def write_embedding(model: Path, column: str, out: str) -> None:
    """Write the vectors of a column in the format that the name of the output asks for."""
    path = expand(out)
    is_folder = out != STANDARD and (out.endswith("/") or not path.suffix)
    if not is_folder:
        check_places(out, models=[model])
    embedding = Embeddings.load(model)[column]
    if path.suffix.lower() == ".w2v":
        with explaining(path):
            embedding.to_word2vec(path)
    elif is_folder:
        with explaining(path):
            embedding.to_tensorboard(path)
    else:
        write_table(embedding.to_arrow(), out)


def describe_model(model: Path) -> Record:
    """Return what a model file says about itself."""
    document, _ = read_model(model)
    embeddings = Embeddings.load(model)
    history = document["history"]
    last = max((epoch["epoch"] for epoch in history), default=0)
    return {
        "file": str(model),
        "estimator": document["estimator"],
        "written_by": f"catspace {document['library_version']}",
        "bytes": expand(model).stat().st_size,
        "networks": document["n_networks"],
        "epochs": last,
        "target": document["schema"].get("target"),  # None where fit was not given its name
        "columns": [
            {
                "column": name,
                "categories": len(embedding),
                "dimension": embedding.dim,
                "rows": embedding.n_rows,
                "smooth": embedding.smooth,
            }
            for name, embedding in embeddings.items()
        ],
        "numbers": list(document["encoder"]["scalings"]),
    }


def info_grid(found: Record) -> Grid:
    """Return the description for the terminal."""
    target = found["target"]
    predicts = "" if target is None else f", to predict {visible(target)}"
    grid = Grid(
        "column",
        "categories",
        "dimension",
        "smoothed by rows",
        title=f"{visible(found['estimator'])}{predicts}: {found['networks']} network(s), "
        f"{found['epochs']} epochs, {found['bytes'] / 1e6:.1f} MB, {visible(found['written_by'])}",
    )
    for record in found["columns"]:
        grid.add_row(
            visible(record["column"]),
            f"{record['categories']:,}",
            str(record["dimension"]),
            f"{record['smooth']:g}",
        )
    for name in found["numbers"]:
        grid.add_row(visible(name), "number", "", "")
    return grid


def _as_category(embedding: Embedding, typed: str) -> Any:
    """Return what was typed as a value of the column: the number 12, or the text '12'."""
    cell = pa.array([None if typed in MISSING_CELLS else typed], pa.string())
    column = parse_column(embedding.column, cell, embedding.vocabulary.kinds)
    for _, values in column.parts:
        if len(values):
            return values.to_pylist()[0]
    return None
