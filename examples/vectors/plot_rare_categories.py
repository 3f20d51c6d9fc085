"""
Rare categories and evidence
============================

A shop with two rows is not a shop with two thousand. catspace lets a vector move away from that of
*unseen* as far as its rows allow; how far is found from the data.
"""

# %%
# Shops with few rows
# -------------------
# 500 shops. The row of a shop is drawn with a probability that falls with its number, so that some
# have hundreds and many have one or two.
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor

random = np.random.default_rng(0)
n_shops, n_rows = 500, 5_000
true_level = random.normal(size=n_shops)
share = 1 / np.arange(1, n_shops + 1)


def draw(n):
    shop = random.choice(n_shops, size=n, p=share / share.sum())
    X = pd.DataFrame({"shop": [f"shop {i}" for i in shop], "price": random.normal(size=n)})
    return X, true_level[shop] + 0.5 * X["price"] + random.normal(scale=1.5, size=n)


X, y = draw(n_rows)
X["shop"].value_counts().describe().round(1)

# %%
# With and without smoothing
# --------------------------
# ``smooth="auto"`` is the default; ``smooth=0`` leaves every vector to its own rows, as in the
# paper.
smoothed = EmbeddingRegressor(random_state=0).fit(X, y)
plain = EmbeddingRegressor(smooth=0, random_state=0).fit(X, y)
smoothed.smooth_

# %%
# A category with as many rows as ``smooth`` has evidence one half: its vector has gone half of the
# way from *unseen* to where its rows alone would have put it.
smoothed.embeddings_["shop"].to_frame()[["category", "count", "evidence"]].iloc[::100]

# %%
# What is gained
# --------------
# The error on new rows, by how many rows the shop had in training. All that is gained is gained
# among the rare ones.
X_new, y_new = draw(20_000)
rows = X_new["shop"].map(X["shop"].value_counts()).fillna(0).to_numpy()
edges = np.array([0, 1, 3, 6, 12, 25, 50, 100, 10_000])
group = np.digitize(rows, edges) - 1
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name, model, color in (("smooth=0", plain, "#c8553d"), ("auto", smoothed, "#0072b2")):
    square = (model.predict(X_new) - y_new) ** 2
    mean = [square[group == g].mean() for g in range(len(edges) - 1)]
    ax.plot(mean, "o-", label=name, color=color)
labels = ["unseen", "1, 2", "3 to 5", "6 to 11", "12 to 24", "25 to 49", "50 to 99", "100 or more"]
ax.set_xticks(range(len(labels)), labels, rotation=30, ha="right")
ax.axhline(1.5**2, color="0.6", linewidth=1, label="noise that nobody can predict")
ax.set(xlabel="rows of the shop in training", ylabel="mean squared error")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# :doc:`/high-cardinality` says how it works, how it compares with CatBoost and others, and where
# it loses.
