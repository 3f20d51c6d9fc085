"""What a user does first, with the base dependencies alone: no pandas, no matplotlib, no typer."""

import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import catspace

EXTRAS = ("matplotlib", "onnx", "pandas", "plotly", "polars", "ray", "typer")


def main() -> None:
    """Fit, predict, save and load."""
    found = [name for name in EXTRAS if find_spec(name)]
    assert not found, f"this environment has more than the base dependencies: {found}"
    sales = catspace.make_sales(n_rows=2_000, n_stores=20)
    model = catspace.EmbeddingRegressor(target_transform="log", smooth=8, random_state=0)
    model.fit(sales.X, sales.y)
    error = float(np.median(np.abs(model.predict(sales.X) / sales.y - 1)))
    assert error < 0.15, error
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sales.catspace"
        model.save(path)
        assert np.array_equal(catspace.load(path).predict(sales.X), model.predict(sales.X))
        vectors = catspace.Embeddings.load(path)
    # Frames are Arrow tables where there is no pandas.
    assert vectors["state"].nearest("SN", k=3).num_rows == 3
    print(f"catspace {catspace.__version__} fits, predicts, saves and loads: {vectors}")


if __name__ == "__main__":
    main()
