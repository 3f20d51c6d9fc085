"""What a fitted model says about a block of a table, as further columns of it."""

from typing import Any

import numpy as np
import pyarrow as pa

from catspace.data.table import Table
from catspace.exceptions import InputError, shorten


def check_answerable(model: Any, what: str, *, probabilities: bool) -> None:
    """Raise where a model has no such answers for tables with named columns."""
    if what == "predict" and not hasattr(model, "predict"):
        raise InputError(
            f"{type(model).__name__} does not predict.",
            hint="catspace transform gives vectors.",
        )
    if probabilities and not hasattr(model, "predict_proba"):
        raise InputError(
            f"{type(model).__name__} has no probabilities; only models of classes have them."
        )
    if not hasattr(model, "feature_names_in_"):
        raise InputError("The model was fitted on an array without column names, not on a file.")


def answer(
    model: Any, block: pa.Table, table: Table, what: str, *, probabilities: bool = False
) -> pa.Table:
    """Return a block with predictions or vectors beside its columns.

    Parameters
    ----------
    model : fitted estimator
    block : Arrow table
        What the answers are put beside.
    table : Table
        The same rows, typed as the model reads them.
    what : {"predict", "transform"}
    probabilities : bool
        Whether a classifier's probabilities stand beside its predictions.
    """
    wanted = list(model.feature_names_in_)
    missing = [name for name in wanted if name not in table.names]
    if missing:
        raise InputError(
            f"The file has no {' and no '.join(map(repr, missing))}; its columns are "
            f"{shorten(block.column_names, most=10)}."
        )
    table = table.select(wanted)
    for name, values in _answers(model, table, what, probabilities).items():
        if name in block.column_names:
            raise InputError(
                f"The file has a column {name!r} already.", hint="rename it there first."
            )
        block = block.append_column(name, pa.array(values))
    return block


def _answers(model: Any, table: Table, what: str, probabilities: bool) -> dict[str, np.ndarray]:
    if what == "transform":
        vectors = model.transform(table)
        # Numbers come on the network's scale, beside the user's own of the same name.
        numbers = model.fitted_.learned.encoder.scalings
        names = [
            f"{name}_scaled" if name in numbers else name for name in model.get_feature_names_out()
        ]
        return {name: np.ascontiguousarray(vectors[:, i]) for i, name in enumerate(names)}
    if probabilities:
        shares = model.predict_proba(table)
        answers = {"prediction": model.classes_[shares.argmax(axis=1)]}
        for i, label in enumerate(model.classes_):
            answers[f"probability_{label}"] = np.ascontiguousarray(shares[:, i])
        return answers
    predicted = np.asarray(model.predict(table))
    if predicted.ndim == 1:
        return {"prediction": predicted}
    outputs = model.fitted_.learned.target.quantiles or range(predicted.shape[1])
    return {
        f"prediction_{output}": column
        for output, column in zip(outputs, predicted.T.copy(), strict=True)
    }
