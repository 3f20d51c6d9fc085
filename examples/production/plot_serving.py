"""
A model behind HTTP, with ONNX and FastAPI
==========================================

An ONNX graph holds the whole path from raw values to the answer. Where it is served, neither
catspace nor torch is needed: a few lines of FastAPI do.
"""

# %%
# Export
# ------
# What happens here once, on the machine that trains. On the command line it is ``catspace export
# sales.catspace --onnx model.onnx``.
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pandas as pd

from catspace import EmbeddingRegressor, make_sales, to_onnx

sales = make_sales(n_rows=5_000, n_stores=40, backend="pandas")
model = EmbeddingRegressor(target_transform="log", smooth=8, random_state=0).fit(sales.X, sales.y)
graph = Path(tempfile.mkdtemp()) / "model.onnx"
onnx.save(to_onnx(model), graph)
print(f"{graph.stat().st_size / 1e6:.1f} MB")

# %%
# Serve
# -----
# This is ``examples/serving/app.py``, whole. ``MODEL=model.onnx uvicorn app:app`` starts it, and
# the ``Dockerfile`` beside it makes an image of it that is small, needs no GPU and does not run as
# root (:doc:`/serving`).
#
# .. literalinclude:: /../examples/serving/app.py
#    :language: python
#
# Ask it
# ------
# Here it runs inside this page. A column that a row leaves out is missing, and a store that was
# never seen is fine.
from fastapi.testclient import TestClient

os.environ["MODEL"] = str(graph)
sys.path.insert(0, str(Path.cwd().parent / "serving"))
from app import app

client = TestClient(app)
row = {"store": 12, "day_of_week": 1, "promo": 1, "year": 2015, "month": 7, "day": 6, "state": "BY"}
rows = [row, row | {"promo": 0}, row | {"store": 99_999}, {"day_of_week": 1}]
answer = client.post("/predict", json=rows)
pd.DataFrame(rows).assign(prediction=np.ravel(answer.json()["prediction"]).round(0))

# %%
# What is wrong with a request is said in a sentence.
client.post("/predict", json=[row | {"store": "twelve"}]).json()

# %%
# The graph gives what the model gives.
known = pd.DataFrame([row]).astype(sales.X.dtypes)
np.testing.assert_allclose(answer.json()["prediction"][0], model.predict(known), rtol=1e-5)
