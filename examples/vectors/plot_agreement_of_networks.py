"""
Do networks agree?
==================

Networks that differ in their seed alone find different vectors. What they agree on is what the
data say; the rest is chance. Ask before you believe a neighbour.
"""

# %%
# Three networks on few rows: shops have about thirty each.
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor, analysis, make_sales, plots

sales = make_sales(n_rows=4_000, n_stores=120, backend="pandas")
model = EmbeddingRegressor(target_transform="log", n_networks=3, random_state=0)
model.fit(sales.X, sales.y)

# %%
# For each shop, the share of its nearest neighbours that two networks have in common, beside what
# chance gives.
frame = analysis.stability(model, "store")
frame.sort_values("count").head()

# %%
plots.plot_stability(frame)
plt.show()

# %%
# Each of the twelve states has eleven others to be close to: chance has much to say there, unless
# one asks for the nearest few.
print(f"stores: {frame['overlap'].mean():.2f}, chance {frame['chance'].iloc[0]:.2f}")
states = analysis.stability(model, "state", k=3)
print(f"states: {states['overlap'].mean():.2f}, chance {states['chance'].iloc[0]:.2f}")
