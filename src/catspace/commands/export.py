"""A model file as an ONNX graph."""

import json
from pathlib import Path
from typing import Any

from rich.table import Table as Grid

from catspace.estimators import load
from catspace.export.onnx import to_onnx
from catspace.names import visible
from catspace.storage.paths import expand
from catspace.storage.writing import write_bytes

Record = dict[str, Any]


def export_onnx(model: Path, out: Path) -> Record:
    """Write a model file as an ONNX graph; return what goes into the graph and comes out."""
    made = to_onnx(load(model))
    content = made.SerializeToString()
    write_bytes(expand(out), content)
    metadata = {entry.key: entry.value for entry in made.metadata_props}
    return {
        "file": str(out),
        "bytes": len(content),
        "inputs": json.loads(metadata["inputs"]),
        "outputs": [output.name for output in made.graph.output],
    }


def export_grid(written: Record) -> Grid:
    """Return what was written for the terminal."""
    grid = Grid(
        "input",
        "type",
        "holds",
        "where missing",
        title=f"{visible(written['file'])}, {written['bytes'] / 1e6:.1f} MB, returns "
        f"{' and '.join(written['outputs'])}",
    )
    for column in written["inputs"]:
        shown = "NaN" if column["type"] == "double" else repr(column["missing"])
        grid.add_row(visible(column["name"]), column["type"], column["holds"], visible(shown))
    return grid
