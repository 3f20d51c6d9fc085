"""
A table larger than memory
==========================

``fit`` takes a path in place of a table: files are read block by block, rows wait on disk in a few
bytes each, and the memory that it takes does not grow with them.
"""

# %%
# Twelve Parquet files, one for each month of deliveries. Here they are small, so that this page is
# built in seconds.
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib import pyplot as plt
from sklearn.base import clone

from catspace import EmbeddingRegressor, Embeddings, make_sales

folder = Path(tempfile.mkdtemp())
sales = make_sales(n_rows=12_000, n_stores=60, backend="pyarrow")
table = sales.X.append_column("sales", pa.array(sales.y))
for month in range(12):
    pq.write_table(table.slice(month * 1_000, 1_000), folder / f"{month + 1:02d}.parquet")
print(sorted(path.name for path in folder.iterdir()))

# %%
# The target is named, not handed over, and so are the columns of integers that are categories. A
# folder, CSV files or a ``pyarrow.dataset.Dataset`` do as well as a pattern.
model = EmbeddingRegressor(
    target_transform="log",
    categorical_features=["store", "day_of_week", "promo", "year", "month", "day"],
    smooth=8,
    random_state=0,
)
model.fit(str(folder / "*.parquet"), y="sales")
model.embeddings_

# %%
# A table of up to 200,000 rows gives the same model from files as from memory, bit for bit.
in_memory = clone(model).fit(sales.X, sales.y)
np.array_equal(model.predict(sales.X), in_memory.predict(sales.X))

# %%
# A model file holds arrays and JSON, never code. The vectors come out of it without torch.
model.save(folder / "sales.catspace")
store = Embeddings.load(folder / "sales.catspace")["store"]
print(f"{(folder / 'sales.catspace').stat().st_size / 1e6:.1f} MB, {store}")

# %%
# The first component of the stores' vectors beside what a store really sells more or less than the
# others.
centred = store.vectors - store.vectors.mean(axis=0)
first = centred @ np.linalg.svd(centred, full_matrices=False)[2][0]
effect = sales.truth.store_effect[np.array(store.categories) - 1]
fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.scatter(first, effect, color="#0072b2", s=16, linewidths=0)
ax.set(xlabel="first component of a store's vector", ylabel="its true effect on log(sales)")
ax.set_title(f"correlation {abs(np.corrcoef(first, effect)[0, 1]):.2f}", fontsize=9)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# :doc:`/scaling` has twenty million rows in 0.7 GB, ten million categories, and a cluster.
