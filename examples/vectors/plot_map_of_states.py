"""
The map of the states
=====================

A network learns to predict the sales of shops. It is never told where a shop lies, only the name
of its state. Its vectors know the map all the same, because seasons and promotions work
differently in the north and in the east.
"""

# %%
# Sales of 400 shops
# ------------------
# ``make_sales`` generates a table like the paper's. The season, Christmas and promotions depend
# smoothly on where a state lies: that is the truth that the network may find.
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor, analysis, make_sales, plots

sales = make_sales(n_rows=12_000, n_stores=400, backend="pandas")
sales.X.head()

# %%
# Learn
# -----
# Sales span orders of magnitude, so the network learns their logarithm. Every column here is a
# category.
model = EmbeddingRegressor(target_transform="log", random_state=0)
model.fit(sales.X, sales.y)
model.embeddings_

# %%
# Lay the vectors on the map
# --------------------------
# ``compare_with_map`` takes the first two principal components of the states' vectors and moves,
# turns, mirrors and scales them to lie on the real places as well as they can. ``score`` is the
# share of the map that they explain, and ``p_value`` how often a map with shuffled names is met as
# well.
beside = analysis.compare_with_map(model, "state", sales.truth.state_coordinates)
plots.plot_map(beside)
plt.show()

# %%
# A vector is no map by itself: two dimensions of it look like one here, because geography is what
# makes these states differ. ``project`` draws the plane as it is, without knowing of a map.
plots.plot_projection(analysis.project(model, "state"))
plt.show()

# %%
# The same on the paper's real data is in :doc:`/map`: there the map explains 0.42 of the layout,
# since real states are more than their places.
