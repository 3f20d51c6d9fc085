"""
Neighbours and analogies of shops
=================================

Two shops are close when they act alike on the target. Which ones are, what sets two of them apart,
and can shops be computed with?
"""

# %%
# Two networks, so that one can ask whether they agree.
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor, analysis, make_sales, plots

sales = make_sales(n_rows=8_000, n_stores=40, backend="pandas")
model = EmbeddingRegressor(target_transform="log", n_networks=2, random_state=0)
model.fit(sales.X, sales.y)

# %%
# Who is like shop 12?
# --------------------
# ``count`` and ``evidence`` say how much a vector rests on, ``agreement`` in how many of the other
# networks the neighbour is one too.
near = analysis.nearest(model, "store", 12, k=6, with_agreement=True)
near

# %%
plots.plot_nearest(near)
plt.show()

# %%
# Is it true? ``make_sales`` knows how much each shop sells more or less than the average, on a
# logarithmic scale.
effect = sales.truth.store_effect
near.assign(true_effect=effect[near["category"] - 1].round(2), of_shop_12=effect[11].round(2))

# %%
# Groups
# ------
# K-means, with as many clusters as the silhouette asks for, drawn in the plane.
groups = analysis.cluster(model, "store")
plots.plot_clusters(groups, analysis.project(model, "store", method="pca"))
plt.show()

# %%
# A line from one shop to another
# -------------------------------
# All shops along the line from the one that sells least to the one that sells most. The position
# follows the level of sales. Most shops lie far from the line: a vector says more than one number.
least, most = int(effect.argmin()) + 1, int(effect.argmax()) + 1
along = analysis.direction(model, "store", least, most)
plots.plot_direction(along)
plt.show()

# %%
# What goes along with it? Each column of the table is asked how much of the position it explains.
analysis.explain_direction(model, "store", least, most, sales.X)

# %%
# An analogy
# ----------
# What is to Saxony as Baden-Württemberg is to Bavaria? On the map it would be the neighbour to the
# west. Saxony-Anhalt, which comes first, lies to the north-west.
analysis.analogy(model, "state", "BY", "BW", "SN", k=3)
