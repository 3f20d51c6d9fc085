"""
How sure is a forecast?
=======================

``loss="quantile"`` learns quantiles of the target in place of its middle. Two of them, learned by
one model, make an interval whose width depends on the row.
"""

# %%
# Deliveries: each route has its own usual time, and some are far less regular than others.
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor

random = np.random.default_rng(0)
n, n_routes = 6_000, 24
usual, spread = random.uniform(20, 90, n_routes), random.uniform(0.05, 0.5, n_routes)


def draw(n):
    route = random.integers(n_routes, size=n)
    X = pd.DataFrame({"route": [f"R{r:02d}" for r in route], "parcels": random.poisson(10, n)})
    noise = spread[route] * usual[route] * random.standard_normal(n)
    return X, usual[route] + 0.5 * X["parcels"] + noise


X, y = draw(n)
X_new, y_new = draw(5_000)

# %%
# Nine of ten deliveries should lie between the quantiles 0.05 and 0.95. Rows that are held back for
# early stopping also say where the quantiles are on rows that the network has not learned from.
model = EmbeddingRegressor(
    loss="quantile", quantile=[0.05, 0.95], early_stopping=True, smooth=8, random_state=0
)
low, high = model.fit(X, y).predict(X_new).T
inside = (y_new > low) & (y_new < high)
print(f"{inside.mean():.1%} of new deliveries lie in an interval that promises 90%")

# %%
# The width that was learned, beside the one that is true: the network has found out which routes
# are regular.
route = X_new["route"].str[1:].astype(int)
width = pd.Series(high - low).groupby(route.to_numpy()).mean()
fig, ax = plt.subplots(figsize=(4.8, 4.2), layout="constrained")
truth = 2 * 1.645 * spread * usual
ax.plot([0, truth.max()], [0, truth.max()], color="0.7", linewidth=1)
ax.scatter(truth[width.index], width, color="#0072b2", s=24, linewidths=0)
ax.set(xlabel="true width of the interval, minutes", ylabel="learned width, minutes")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# By route, the share of deliveries inside:
pd.Series(inside.to_numpy()).groupby(route.to_numpy()).mean().describe().round(3)
