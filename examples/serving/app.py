"""Predictions over HTTP, from an ONNX graph alone: MODEL=sales.onnx uvicorn app:app."""

import json
import os

import numpy as np
import onnxruntime
from fastapi import FastAPI, HTTPException

Cell = bool | int | float | str | None
session = onnxruntime.InferenceSession(os.environ.get("MODEL", "model.onnx"))
columns = json.loads(session.get_modelmeta().custom_metadata_map["inputs"])
app = FastAPI(title="catspace")


def read(column: dict[str, str], rows: list[dict[str, Cell]]) -> np.ndarray:
    """Return one column of the rows as the graph wants it; what a row leaves out is missing."""
    cells = [row.get(column["name"]) for row in rows]
    is_text = column["type"] == "string"
    wrong = [c for c in cells if c is not None and isinstance(c, str) != is_text]
    if wrong:
        kind = "text" if is_text else "numbers"
        raise HTTPException(422, f"Column {column['name']!r} holds {kind}; got {wrong[0]!r}.")
    filled = [column["missing"] if cell is None else cell for cell in cells]
    return np.array(filled, dtype=object if is_text else column["type"]).reshape(-1, 1)


@app.post("/predict")
def predict(rows: list[dict[str, Cell]]) -> dict[str, list]:
    """Return what the graph says of each row: predictions, or labels and probabilities."""
    if not rows:
        raise HTTPException(422, "There are no rows.")
    answers = session.run(None, {column["name"]: read(column, rows) for column in columns})
    names = [output.name for output in session.get_outputs()]
    return {name: answer.tolist() for name, answer in zip(names, answers, strict=True)}


@app.get("/columns")
def tell_columns() -> list[dict]:
    """Return the columns that a row has, with their types."""
    return columns
