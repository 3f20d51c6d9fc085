"""
Dates and forecasts
===================

A column of dates is taken apart into categories: the month, the day of the month, the weekday.
Whoever forecasts should judge by rows of the future.
"""

# %%
# A table as it comes from a till: a date, a shop, the sales.
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.dates import DateFormatter
from sklearn.metrics import mean_absolute_percentage_error

from catspace import EmbeddingRegressor, make_sales

sales = make_sales(n_rows=12_000, n_stores=50, backend="pandas")
calendar = sales.X[["year", "month", "day"]].astype(int)
table = pd.DataFrame(
    {
        "date": pd.to_datetime(calendar),
        "store": sales.X["store"].astype(int),
        "promo": sales.X["promo"].astype(int),
        "sales": sales.y,
    }
)
table.head()

# %%
# Learn from the past, judge by the future
# ----------------------------------------
# The last six weeks are for the last number alone. The six weeks before them judge each epoch
# (``X_val``), and the best one is kept. Integers are numbers unless they are named: ``store`` is
# one of those that look like a number and are not.
end = table["date"].max()
test = table[table["date"] > end - pd.Timedelta(weeks=6)]
judge = table[table["date"].between(end - pd.Timedelta(weeks=12), end - pd.Timedelta(weeks=6))]
train = table[table["date"] < judge["date"].min()]
columns = ["date", "store", "promo"]

model = EmbeddingRegressor(
    target_transform="log",
    categorical_features=["store", "promo"],
    date_parts=["month", "day", "day_of_week"],
    random_state=0,
)
model.fit(train[columns], train["sales"], X_val=judge[columns], y_val=judge["sales"])
model.embeddings_

# %%
# The median of each shop, weekday and promotion is what a forecast has to beat.
keys = ["store", "weekday", "promo"]
median = train.assign(weekday=train["date"].dt.day_of_week).groupby(keys)["sales"].median()
wanted = pd.MultiIndex.from_frame(test.assign(weekday=test["date"].dt.day_of_week)[keys])
naive = median.reindex(wanted).fillna(train["sales"].median()).to_numpy()
forecast = model.predict(test[columns])
for name, numbers in (("median", naive), ("catspace", forecast)):
    error = mean_absolute_percentage_error(test["sales"], numbers)
    print(f"{name:10s} mean absolute percentage error {error:.3f}")

# %%
# The sales of all shops, day by day.
days = test.assign(forecast=forecast).groupby("date")[["sales", "forecast"]].mean()
fig, ax = plt.subplots(figsize=(8, 3.5), layout="constrained")
ax.plot(days.index, days["sales"], color="0.5", label="sold")
ax.plot(days.index, days["forecast"], color="#0072b2", label="forecast")
ax.set(ylabel="mean sales of a shop")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
ax.xaxis.set_major_formatter(DateFormatter("%d %b"))
plt.show()

# %%
# The weekday has a vector like any other category. Monday, on which promotions work best, stands
# apart from the rest of the week, and Sunday, on which few shops are open, from all.
week = model.embeddings_["date_day_of_week"]
distance = np.linalg.norm(week.vectors[:, None] - week.vectors[None], axis=2)
pd.DataFrame(distance, index=week.categories, columns=week.categories).round(2)
