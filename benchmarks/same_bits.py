"""Do two commits fit the same models? Predictions, vectors and files, compared to the last bit.

``python benchmarks/same_bits.py BASE`` fits every model below with the sources of the commit BASE
and with those of this checkout, each in a process of its own and through the public interface
alone. Files that BASE saved are then loaded here. Needs git; run it in the project's environment.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import sources_of

HERE = Path(__file__).resolve().parents[1]
TARGETS = ["sales", "high", "weight", "returns"]
CATEGORIES = ["store", "day_of_week", "promo", "year", "month", "day"]
SHORT = {"max_epochs": 3, "random_state": 0}


def make_table() -> pd.DataFrame:
    """Return sales with numbers, some of them missing, dates, a flag, ids and weights."""
    from catspace import make_sales

    data = make_sales(4_000, n_stores=40, random_state=0, backend="pandas")
    random = np.random.default_rng(0)
    n = len(data.y)
    area = np.where(random.random(n) < 0.05, np.nan, random.lognormal(size=n))
    return data.X.assign(
        area=area,
        visitors=random.poisson(30, size=n),
        flag=random.random(n) < 0.3,
        opened=pd.date_range("2020-01-01", periods=n, freq="7h").floor("D"),
        customer=[f"c{i}" for i in random.integers(0, 900, size=n)],
        weight=random.integers(0, 3, size=n),
        sales=data.y,
        high=np.where(data.y > np.median(data.y), "high", "low"),
        returns=0.1 * data.y + random.normal(size=n),
    )


def fit_models(table: pd.DataFrame, folder: Path) -> Iterator[tuple[str, Any, pd.DataFrame]]:
    """Yield a name, a fitted model and the rows to ask it about."""
    from catspace import EmbeddingClassifier, EmbeddingEncoder, EmbeddingRegressor

    plain = table.drop(columns=["opened", "customer", *TARGETS])
    dated = table.drop(columns=["customer", *TARGETS])
    asked = table.drop(columns=["opened", "customer", "weight", "high", "returns"])
    labelled = table.drop(columns=["opened", "customer", "sales", "returns"])
    asked.to_csv(folder / "sales.csv", index=False)
    asked.to_parquet(folder / "sales.parquet", index=False)
    labelled.to_parquet(folder / "labelled.parquet", index=False)
    settings = {**SHORT, "categorical_features": [*CATEGORIES, "flag"]}
    log = {**settings, "target_transform": "log"}
    y, weight = table["sales"], table["weight"]

    yield "regressor", EmbeddingRegressor(n_networks=2, **log).fit(plain, y), plain
    yield (
        "regressor, parquet",
        EmbeddingRegressor(**log).fit(folder / "sales.parquet", "sales"),
        plain,
    )
    yield "regressor, csv", EmbeddingRegressor(**settings).fit(folder / "sales.csv", "sales"), plain
    balanced = EmbeddingClassifier(class_weight="balanced", n_networks=2, **settings)
    yield "classifier", balanced.fit(plain, table["high"]), plain
    by_path = EmbeddingClassifier(**settings).fit(folder / "labelled.parquet", "high", "weight")
    yield "classifier, parquet, weights", by_path, plain
    yield "encoder", EmbeddingEncoder(**settings).fit(plain, table["high"]), plain
    by_path = EmbeddingEncoder(**settings).fit(folder / "sales.parquet", "sales")
    yield "encoder, parquet", by_path, plain
    yield "weights", EmbeddingRegressor(**log).fit(plain, y, weight), plain
    parts = EmbeddingRegressor(date_parts=["year", "month", "day_of_week"], **settings)
    yield "dates", parts.fit(dated, y), dated
    bins = EmbeddingRegressor(discretize={"area": "tree", "visitors": 5}, **settings)
    yield "bins", bins.fit(plain, y), plain
    ids = plain.assign(customer=table["customer"])
    hashed = EmbeddingRegressor(hash_buckets={"customer": 200}, min_frequency=5, **settings)
    yield "hashing, rare categories", hashed.fit(ids, y), ids
    yield "one-hot", EmbeddingRegressor(input_encoding="onehot", **settings).fit(plain, y), plain
    several = EmbeddingRegressor(loss="absolute_error", **settings)
    yield "several outputs", several.fit(plain, table[["sales", "returns"]]), plain
    judged = EmbeddingRegressor(early_stopping=True, n_networks=2, **log)
    yield "early stopping", judged.fit(plain, y), plain
    median = EmbeddingRegressor(loss="quantile", quantile=0.8, **settings)
    yield (
        "quantile, by dtype",
        median.set_params(categorical_features="from_dtype").fit(
            plain[["state", "flag", "area"]], y
        ),
        plain[["state", "flag", "area"]],
    )


def ask(model: Any, X: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return all that a model says about rows, as arrays of numbers."""
    said = {"transform": model.transform(X)}
    if hasattr(model, "predict_proba"):
        said["predict_proba"] = model.predict_proba(X)
    elif hasattr(model, "predict"):
        said["predict"] = model.predict(X)
    said["loss"] = np.array([epoch["loss"] for epoch in model.history_])
    return said


def work(folder: Path) -> None:
    """Fit all models with the sources that this process imports, and keep what they say."""
    table = make_table()
    for i, (name, model, X) in enumerate(fit_models(table, folder)):
        np.savez(folder / f"{i}.npz", name=np.array(name), **ask(model, X))
        model.save(folder / f"{i}.catspace")
        X.to_parquet(folder / f"{i}.parquet", index=False)


def run(source: Path, folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(source), "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, __file__, "--work", str(folder)]
    subprocess.run(command, env=environment, check=True)


def compare(before: Path, after: Path) -> int:
    """Print a line for each model; return how many differ."""
    from catspace import load

    n_different = 0
    for file in sorted(before.glob("*.npz"), key=lambda file: int(file.stem)):
        old, new = np.load(file), np.load(after / file.name)
        loaded = ask(
            load(file.with_suffix(".catspace")), pd.read_parquet(file.with_suffix(".parquet"))
        )
        different = [
            what
            for what in old.files
            if what != "name" and not np.array_equal(old[what], new[what], equal_nan=True)
        ]
        different += [
            f"{what} of the file" for what in loaded if not np.array_equal(old[what], loaded[what])
        ]
        n_different += bool(different)
        print(f"{old['name']!s:32} {'differs: ' + ', '.join(different) if different else 'equal'}")
    return n_different


def main() -> None:
    if sys.argv[1] == "--work":
        work(Path(sys.argv[2]))
        return
    with tempfile.TemporaryDirectory() as folder, sources_of(sys.argv[1]) as base:
        before, after = (Path(folder) / name for name in ("before", "after"))
        for source, out in ((base, before), (HERE / "src", after)):
            out.mkdir()
            run(source, out)
        sys.exit(1 if compare(before, after) else 0)


if __name__ == "__main__":
    main()
