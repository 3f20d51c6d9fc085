import hypothesis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from catspace import EmbeddingRegressor, make_sales

# How long an example takes says more about the machine than about the code.
hypothesis.settings.register_profile("catspace", deadline=None)
hypothesis.settings.load_profile("catspace")


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def make_table(request):
    """Build a table from columns with each of the libraries that users have."""
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[request.param]


@pytest.fixture(scope="session")
def shops():
    """Return a small table in which the target is the sum of what each column contributes."""
    random = np.random.default_rng(0)
    n = 600
    town = random.choice(["Aachen", "Bonn", "Celle", "Dresden"], size=n)
    weekday = random.integers(1, 8, size=n)
    price = random.normal(10, 2, size=n)
    effect = {"Aachen": 0.0, "Bonn": 1.0, "Celle": 4.0, "Dresden": 4.2}
    y = np.array([effect[t] for t in town]) + 0.5 * (weekday >= 6) + 0.3 * (price - 10)
    X = pd.DataFrame({"town": town, "weekday": pd.Categorical(weekday), "price": price})
    return X, y + random.normal(0, 0.1, size=n)


@pytest.fixture(scope="session")
def sales():
    return make_sales(6_000, n_stores=30, random_state=0, backend="pandas")


@pytest.fixture(scope="session")
def model(sales):
    settings = {"target_transform": "log", "n_networks": 2, "random_state": 0}
    return EmbeddingRegressor(**settings).fit(sales.X, sales.y)
