"""Fit and score on Ray: on this machine, or on a cluster by its address.

    python examples/cluster.py                      # Ray on this machine
    python examples/cluster.py 10.0.0.5:6379        # the same on a cluster

A cluster needs a folder that all its nodes see; `--shared` names it.
"""

import argparse
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import ray

from catspace import EmbeddingRegressor, distributed, make_sales


def write_table(folder: Path) -> None:
    """Write a table of sales, as four files."""
    sales = make_sales(n_rows=100_000, n_stores=200, random_state=0, backend="pyarrow")
    table = sales.X.append_column("sales", pa.array(sales.y))
    for i in range(4):
        pq.write_table(table.slice(i * 25_000, 25_000), folder / f"{i}.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address", nargs="?", default="local")
    parser.add_argument("--shared", type=Path)
    arguments = parser.parse_args()
    ray.init(address=arguments.address, log_to_driver=False)  # the only difference
    with tempfile.TemporaryDirectory(dir=arguments.shared) as name:
        folder = Path(name)
        write_table(folder)
        model = EmbeddingRegressor(target_transform="log", n_networks=2, verbose=1, random_state=0)
        distributed.fit(
            model, folder, "sales", num_workers=2, parallel="networks", storage_path=folder / "ray"
        )
        scored = distributed.predict(model, folder / "*.parquet")
        print(scored.to_pandas()[["store", "sales", "prediction"]].head())
        print(model.embeddings_["state"].nearest("SN", k=3).to_pandas())


if __name__ == "__main__":
    main()
