"""The first hour on the command line: the screens of docs/command-line.md, with their seconds.

``python benchmarks/first_hour.py FOLDER`` makes a table of 50,000 days of sales out of Kaggle's
Rossmann files, with dates, shops by number and empty cells, and runs the commands of the page on
it.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from common import DATA, timed

N_ROWS = 50_000
COLUMNS = [
    "Date",
    "Store",
    "State",
    "StoreType",
    "Assortment",
    "Promo",
    "StateHoliday",
    "SchoolHoliday",
    "CompetitionDistance",
    "CompetitionOpenSinceYear",
    "PromoInterval",
    "Sales",
]
FIT = "fit sales.csv --target Sales --log --categorical Store --validate-by Date --seed 0"
COMMANDS = [
    f"{FIT} -o sales.catspace --report sales.html",
    "importance sales.catspace sales.csv",
]


def make_table() -> pd.DataFrame:
    folder = DATA / "rossmann"
    train = pd.read_parquet(folder / "train.parquet")
    chosen = np.random.default_rng(0).choice(len(train), size=N_ROWS, replace=False)
    frame = train.iloc[chosen]
    for name in ("store.csv", "store_states.csv"):
        frame = frame.merge(pd.read_csv(folder / name), on="Store")
    return frame[COLUMNS]


def main(folder: Path) -> None:
    make_table().to_csv(folder / "sales.csv", index=False)
    for words in COMMANDS:
        print(f"$ catspace {words}", flush=True)
        command = [sys.executable, "-m", "catspace", *words.split()]
        environment = {**os.environ, "COLUMNS": "110"}
        _, seconds = timed(
            lambda command=command, environment=environment: subprocess.run(
                command, cwd=folder, env=environment, check=True
            )
        )
        print(f"({seconds:.0f} seconds)\n", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
