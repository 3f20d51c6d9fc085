"""
Vectors that a large table taught
=================================

A new question often comes with few rows, and with shops that a larger table knows well. Their
vectors can start where that table has put them.
"""

# %%
# A large table and a small one
# -----------------------------
# Two years of sales of 200 shops teach what each shop is like. The question is about returns, of
# which there are 400 rows: two for each shop.
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor

random = np.random.default_rng(0)
n_shops = 200
level, weekend = random.normal(size=n_shops), random.normal(size=n_shops)


def draw(n):
    shop, day = random.integers(n_shops, size=n), random.integers(7, size=n)
    X = pd.DataFrame({"shop": [f"shop {i}" for i in shop], "day": day.astype(str)})
    return X, level[shop] + weekend[shop] * (day >= 5)


X_sales, sales = draw(10_000)
X_returns, returns = draw(400)
sales = sales + random.normal(scale=0.5, size=len(sales))
returns = np.exp(0.5 * returns) + random.normal(scale=0.3, size=len(returns))
seller = EmbeddingRegressor(random_state=0).fit(X_sales, sales)

# %%
# Three ways to learn from the small one
# --------------------------------------
# ``initial_vectors`` takes the vectors of a fitted model for the column of the same name; few rows
# leave them close to where they start. ``frozen_columns`` keeps them there.
given = {"initial_vectors": {"shop": seller}}
models = {
    "without": EmbeddingRegressor(random_state=0),
    "given": EmbeddingRegressor(random_state=0, **given),
    "given and frozen": EmbeddingRegressor(random_state=0, frozen_columns=["shop"], **given),
}
for model in models.values():
    model.fit(X_returns, returns)

# %%
# What is gained on new rows
# --------------------------
X_new, levels = draw(5_000)
truth = np.exp(0.5 * levels)
errors = {name: np.abs(model.predict(X_new) - truth).mean() for name, model in models.items()}
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.barh(list(errors), list(errors.values()), color=["#c8553d", "#0072b2", "#56b4e9"])
ax.invert_yaxis()
ax.set_xlabel("mean absolute error")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# How far they have moved
# -----------------------
# Also a frame, or a file in word2vec's text, will do: whatever has a vector for a category.
before, after = seller.embeddings_["shop"], models["given"].embeddings_["shop"]
frame = before.to_frame()
again = EmbeddingRegressor(initial_vectors={"shop": frame}, random_state=0).fit(X_returns, returns)
moved = [np.linalg.norm(after.vector(shop) - before.vector(shop)) for shop in after.categories]
pd.Series(moved, name="distance from where they started").describe().round(3)

# %%
# :doc:`/given-vectors` says what else can be given, and what it gains on Rossmann's stores.
