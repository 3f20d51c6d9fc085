"""The files that TensorBoard's embedding projector reads."""

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from catspace.storage.paths import expand
from catspace.storage.writing import explaining, write_text


def write_projector(
    directory: str | Path,
    column: str,
    categories: Sequence[Any],
    counts: np.ndarray,
    vectors: np.ndarray,
) -> None:
    """Write ``vectors.tsv``, ``metadata.tsv`` and what tells the projector of both.

    Parameters
    ----------
    directory : str or Path
    column : str
    categories : sequence of object
    counts : int array of shape (n_categories,)
    vectors : float array of shape (n_categories, dim)
    """
    folder = expand(directory)
    with explaining(folder):
        folder.mkdir(parents=True, exist_ok=True)
    names = [re.sub(r"[\t\r\n]", " ", str(category)) for category in categories]
    labels = [f"{name}\t{count}" for name, count in zip(names, counts, strict=True)]
    metadata = "\n".join(["category\tcount", *labels]) + "\n"
    config = (
        f'embeddings {{\n  tensor_name: "{_quote(column)}"\n'
        '  tensor_path: "vectors.tsv"\n  metadata_path: "metadata.tsv"\n}\n'
    )
    lines = io.StringIO()
    np.savetxt(lines, vectors, delimiter="\t", fmt="%.9g")
    write_text(folder / "metadata.tsv", metadata)
    write_text(folder / "vectors.tsv", lines.getvalue())
    write_text(folder / "projector_config.pbtxt", config)


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
