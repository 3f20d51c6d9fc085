"""
Vectors in front of other methods
=================================

The paper's claim: nearest neighbours and boosted trees do better when they are fed the vectors in
place of the categories. ``EmbeddingEncoder`` is a transformer, so that it is one step of a
pipeline.
"""

# %%
# Sales, and the last tenth of the rows to judge by. The rows are in the order of time, so this is
# a small forecast.
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_percentage_error
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from catspace import EmbeddingEncoder, EmbeddingRegressor, make_sales

sales = make_sales(n_rows=8_000, n_stores=80, backend="pandas")
X, X_test = sales.X[:7_200], sales.X[7_200:]
y, y_test = sales.y[:7_200], sales.y[7_200:]

# %%
# Nearest neighbours and boosting, each with the encoding that one would choose without vectors,
# and with them.
encoder = EmbeddingEncoder(target_transform="log", random_state=0)
one_hot = OneHotEncoder(handle_unknown="ignore")
ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
methods = {
    "nearest neighbours": {
        "categories": make_pipeline(one_hot, KNeighborsRegressor(10)),
        "vectors": make_pipeline(encoder, KNeighborsRegressor(10)),
    },
    "boosting": {
        "categories": make_pipeline(ordinal, HistGradientBoostingRegressor(random_state=0)),
        "vectors": make_pipeline(encoder, HistGradientBoostingRegressor(random_state=0)),
    },
}
scores = {
    method: {
        fed: mean_absolute_percentage_error(y_test, pipeline.fit(X, y).predict(X_test))
        for fed, pipeline in pipelines.items()
    }
    for method, pipelines in methods.items()
}
network = EmbeddingRegressor(target_transform="log", random_state=0).fit(X, y)
scores["catspace's network"] = {
    "vectors": mean_absolute_percentage_error(y_test, network.predict(X_test))
}
table = pd.DataFrame(scores).T
table.round(4)

# %%
ax = table.plot.barh(color=["#9a9a9a", "#0072b2"], figsize=(7, 3), width=0.7)
ax.invert_yaxis()
ax.set(xlabel="mean absolute percentage error on the latest rows: less is better")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, title="fed with")
ax.figure.set_layout_engine("constrained")
plt.show()

# %%
# **What to keep in mind.** The vectors have seen the target of the training rows, so whatever
# learns from them on the same rows trusts them a little too much. Judge by rows that neither has
# seen, as here. Where categories have few rows each, ``EmbeddingEncoder(cv=5)`` gives each row
# vectors that were learned from other rows: :doc:`/features` says when that pays.
# :doc:`/reproduction` has the paper's tables on its own data.
