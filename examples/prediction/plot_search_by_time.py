"""
Tuning by scikit-learn's search, by time
========================================

The defaults are meant to do without tuning. Where a few percent matter, an estimator of catspace
goes into scikit-learn's own search, and ``TimeSeriesSplit`` sees to it that every trial is judged
by rows that lie in its future.
"""

# %%
# ``make_sales`` has its rows in the order of time, oldest first.
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.metrics import mean_absolute_percentage_error
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from catspace import EmbeddingRegressor, make_sales

sales = make_sales(n_rows=5_000, n_stores=40, backend="pandas")
past, future = slice(0, 4_000), slice(4_000, None)

# %%
# How long to train, how large the vectors are, and how much rare categories are smoothed. A number
# for ``smooth`` saves the time in which "auto" would look for one.
search = GridSearchCV(
    EmbeddingRegressor(target_transform="log", smooth=8, random_state=0),
    {"embedding_dim": ["half", "sqrt"], "max_epochs": [5, 15]},
    scoring="neg_mean_absolute_percentage_error",
    cv=TimeSeriesSplit(n_splits=3),
)
search.fit(sales.X[past], sales.y[past])
trials = pd.DataFrame(search.cv_results_).sort_values("rank_test_score")
trials["MAPE"] = -trials["mean_test_score"]
trials[["param_embedding_dim", "param_max_epochs", "MAPE", "std_test_score"]].round(4)

# %%
fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
for rule, color in (("half", "#0072b2"), ("sqrt", "#e69f00")):
    chosen = trials[trials["param_embedding_dim"] == rule].sort_values("param_max_epochs")
    x, mean, spread = (chosen[c] for c in ("param_max_epochs", "MAPE", "std_test_score"))
    ax.errorbar(x, mean, spread, fmt="o-", color=color, label=f'"{rule}"', capsize=3)
ax.set(xlabel="max_epochs", ylabel="MAPE on the next rows", xticks=[5, 15])
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, title="embedding_dim")
plt.show()

# %%
# The last rows were in no trial. Beside what was found stand the defaults, which looked at
# nothing: differences smaller than the bars above are noise.
defaults = EmbeddingRegressor(target_transform="log", random_state=0)
defaults.fit(sales.X[past], sales.y[past])
for name, model in (("found", search.best_estimator_), ("defaults", defaults)):
    error = mean_absolute_percentage_error(sales.y[future], model.predict(sales.X[future]))
    print(f"{name:9s} {error:.4f}")
