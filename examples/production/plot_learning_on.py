"""
A new shop on Tuesday
=====================

A model is fitted on Monday, and on Tuesday there is a shop that it has never seen.
``partial_fit`` gives the shop a vector of its own and leaves the others where they were.
"""

# %%
# Monday
# ------
# Sales of 60 shops. Six of them open later: their rows are kept apart.
import time
import warnings

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor, make_sales
from catspace.exceptions import CatspaceWarning

sales = make_sales(n_rows=14_000, n_stores=60, random_state=0, backend="pandas")
store = sales.X["store"].astype(int).to_numpy()
is_new = store > 54
X, y = sales.X[~is_new], sales.y[~is_new]
settings = {"target_transform": "log", "smooth": 4, "random_state": 0}

start = time.perf_counter()
model = EmbeddingRegressor(**settings).fit(X[:8_000], y[:8_000])
seconds = {"before": time.perf_counter() - start}

# %%
# A shop that was never seen has the vector of *unseen*: what is known without its rows.
X_later, y_later = sales.X[is_new], sales.y[is_new]
first, judged = slice(0, 180), slice(180, None)


def error(model, X, y):
    return np.mean(np.abs(model.predict(X) / y - 1))


def errors(model):
    return {
        "new shops": error(model, X_later[judged], y_later[judged]),
        "old shops": error(model, X[8_000:], y[8_000:]),
    }


with warnings.catch_warnings():
    # Where nothing in a column was met in fit, a warning says so.
    warnings.simplefilter("ignore", CatspaceWarning)
    found = {"before": errors(model)}

# %%
# Tuesday
# -------
# The first 180 rows of the new shops, some thirty of each. On the command line it is
# ``catspace update sales.catspace tuesday.csv -o sales.catspace``.
vector_of_12 = model.embeddings_["store"].vector(12)
start = time.perf_counter()
model.partial_fit(X_later[first], y_later[first])
seconds["partial_fit"] = time.perf_counter() - start
found["partial_fit"] = errors(model)

# %%
# The new shops have neighbours, and ``evidence`` says how much each vector rests on.
model.embeddings_["store"].nearest(57)

# %%
# Against a fit on everything
# ---------------------------
# A fit on all of the same rows is what the update has to be measured by.
start = time.perf_counter()
everything = EmbeddingRegressor(**settings)
everything.fit(pd.concat([X[:8_000], X_later[first]]), np.r_[y[:8_000], y_later[first]])
seconds["fit on everything"] = time.perf_counter() - start
found["fit on everything"] = errors(everything)
pd.DataFrame(found).T.join(pd.Series(seconds, name="seconds")).round(3)

# %%
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
pd.DataFrame(found).T.plot.barh(ax=ax, color=["#c8553d", "#0072b2"])
ax.invert_yaxis()
ax.set_xlabel("mean absolute percentage error on later rows")
ax.set_title("New shops are learned, old ones are not forgotten")

# %%
# What was not met stays to the last bit. Shop 12 had no rows on Tuesday:
print(np.array_equal(model.embeddings_["store"].vector(12), vector_of_12))
