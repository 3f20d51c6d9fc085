"""
Numbers as categories
=====================

Where the target goes up and down with a number, bins with a vector each can follow it.
``discretize`` cuts them.
"""

# %%
# Trips of a bicycle hire by the hour of the day: two sharp peaks on working days, one round hill
# at the weekend.
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from catspace import EmbeddingRegressor

random = np.random.default_rng(0)
n = 4_000
hour = random.uniform(0, 24, n)
weekend = random.random(n) < 2 / 7


def truth(hour, weekend):
    rush = 300 * np.exp(-((hour - 8) ** 2)) + 320 * np.exp(-((hour - 17.5) ** 2) / 1.5)
    stroll = 260 * np.exp(-((hour - 14) ** 2) / 12)
    return 40 + np.where(weekend, stroll, rush)


y = truth(hour, weekend) + random.normal(scale=40, size=n)
X = pd.DataFrame({"hour": hour, "weekend": weekend})

# %%
# The number as it is (the network sees it with 16 quantiles), and cut into 48 bins of half an hour
# or so.
models = {
    "as a number": EmbeddingRegressor(smooth=8, random_state=0),
    "48 bins": EmbeddingRegressor(discretize={"hour": 48}, smooth=8, random_state=0),
}
grid = np.linspace(0, 24, 400)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for name, model in models.items():
    model.fit(X, y)
    for ax, flag in zip(axes, (False, True), strict=True):
        answer = model.predict(pd.DataFrame({"hour": grid, "weekend": flag}))
        ax.plot(grid, answer, label=name, color="#0072b2" if "bins" in name else "#e69f00")
for ax, flag in zip(axes, (False, True), strict=True):
    ax.plot(grid, truth(grid, flag), color="0.5", linestyle=":", label="truth")
    ax.set(title="weekend" if flag else "working day", xlabel="hour", xticks=range(0, 25, 6))
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("trips")
axes[1].legend(frameon=False)
plt.show()

# %%
# Both follow. The number gives a smooth curve, since the network sees it with its quantiles; bins
# have steps, and pay where the target jumps or turns more often than that.
#
# Bins are categories like any other: they have neighbours. Eight in the morning is close to the
# evening's peak, hours away on the clock.
hours = models["48 bins"].embeddings_["hour"]
hours.nearest(hours.categories[16], k=5)

# %%
# It does not always help: :doc:`/studies` has cases on real data where the number itself knows
# more.
