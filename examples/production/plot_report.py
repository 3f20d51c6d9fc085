"""
A page to send around
=====================

What a model learned, as one HTML file: interactive, offline, for people who do not write Python.
"""

# sphinx_gallery_thumbnail_path = 'images/report.png'

# %%
# Two networks, so that the page can say where they agree.
import tempfile
from pathlib import Path

import numpy as np

from catspace import EmbeddingRegressor, make_sales, write_report

sales = make_sales(n_rows=6_000, n_stores=50, backend="pandas")
train, test = slice(0, 5_400), slice(5_400, None)
model = EmbeddingRegressor(target_transform="log", n_networks=2, random_state=0)
model.fit(sales.X[train], sales.y[train])

# %%
# Scores are shown as they are given: here those of the latest rows, beside what the median says.
forecasts = {"catspace": model.predict(sales.X[test]), "the median": np.median(sales.y[train])}
scores = {
    name: {"mean absolute % error": 100 * float(np.abs(numbers / sales.y[test] - 1).mean())}
    for name, numbers in forecasts.items()
}
scores

# %%
# With the table, categories are coloured by their mean target.
page = Path(tempfile.mkdtemp()) / "sales.html"
write_report(model, page, sales.X[train], sales.y[train], target_name="sales", scores=scores)

# %%
# On the command line it is an option: ``catspace fit sales.csv --target sales --report sales.html
# -o sales.catspace``.
