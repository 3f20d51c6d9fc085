"""The main job in a minute: train on the embedded data set, and see what the vectors are good for.

Prints a table of methods fed with integer codes and with learned vectors, shows what is close to
what, saves the model, and draws what it learned.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.spatial import procrustes
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import mean_absolute_percentage_error
from sklearn.neighbors import KNeighborsRegressor

import catspace
from catspace import EmbeddingRegressor, make_sales

mpl.use("Agg")
import matplotlib.pyplot as plt


def neighbours(metric):
    return KNeighborsRegressor(10, weights="distance", metric=metric)


def forest():
    return RandomForestRegressor(50, min_samples_leaf=2, n_jobs=-1, random_state=0)


def main(out, n_rows):
    console = Console()
    console.rule("[bold]catspace quickstart")
    sales = make_sales(n_rows, n_stores=200, random_state=0, backend="pandas")
    X, y = sales.X, sales.y
    random = np.random.default_rng(0)
    order = random.permutation(len(y))
    test, train = order[: len(y) // 10], order[len(y) // 10 :]
    console.print(
        f"Generated sales (not real data): {len(train):,} rows to learn from, {len(test):,} to "
        f"test; {X['store'].nunique()} stores in {X['state'].nunique()} states.\n"
    )

    model = EmbeddingRegressor(target_transform="log", random_state=0, verbose=1)
    model.fit(X.iloc[train], y[train])

    codes = X.apply(lambda column: column.astype("category").cat.codes).to_numpy()
    vectors = model.transform(X)

    def score(method, features):
        method.fit(features[train], np.log(y[train]))
        error = mean_absolute_percentage_error(y[test], np.exp(method.predict(features[test])))
        return f"{error:.4f}"

    table = Table("method", "raw categories", "with entity embeddings", title="Test MAPE")
    with console.status("k-nearest neighbours …"):
        # Counting the columns that differ is the distance on one-hot features, only faster.
        by_codes = score(neighbours("hamming"), codes)
        table.add_row("k-nearest neighbours", by_codes, score(neighbours("manhattan"), vectors))
    with console.status("random forest …"):
        table.add_row("random forest", score(forest(), codes), score(forest(), vectors))
    own = mean_absolute_percentage_error(y[test], model.predict(X.iloc[test]))
    table.add_row("the network itself", "", f"{own:.4f}")
    console.print(table)
    console.print("\nThe states closest to Saxony (SN), judged by sales alone:")
    console.print(model.embeddings_["state"].nearest("SN", k=3).to_string(index=False))

    out.mkdir(parents=True, exist_ok=True)
    model.save(out / "sales.catspace")
    again = catspace.load(out / "sales.catspace")
    assert (again.predict(X[:5]) == model.predict(X[:5])).all()
    draw(model, sales, out / "learned.png")
    console.print(f"\nThe model is in {out / 'sales.catspace'}, a picture of what it learned in")
    console.print(f"[bold]{out / 'learned.png'}[/bold]: open that next.")


def draw(model, sales, path):
    """Draw stores against their true size, and states against the map."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 5), width_ratios=(1.25, 1), layout="constrained"
    )
    stores = model.embeddings_["store"]
    first = PCA(1).fit_transform(stores.vectors)[:, 0]
    truth = sales.truth.store_effect[np.array(stores.categories) - 1]
    first *= np.sign(np.corrcoef(first, truth)[0, 1])
    left.scatter(first, truth, s=12, alpha=0.6, color="#3b6ea8", linewidths=0)
    left.set_xlabel("first principal component of the store vectors")
    left.set_ylabel("true effect of the store on log(sales)")
    left.set_title(f"Stores: correlation {np.corrcoef(first, truth)[0, 1]:.3f}", loc="left")

    states = model.embeddings_["state"]
    place = np.array([sales.truth.state_coordinates[state] for state in states.categories])
    place = place[:, ::-1] * [np.cos(np.radians(51)), 1]  # (east, north), to scale
    plane = PCA(2).fit_transform(states.vectors)
    real, learned, disparity = procrustes(place, plane)
    for (x, y), (u, v), name in zip(real, learned, states.categories, strict=True):
        right.plot([x, u], [y, v], color="0.8", linewidth=1, zorder=1)
        # A label goes left where it would cover another point.
        ahead = np.vstack([learned, real]) - (u, v)
        is_crowded = ((ahead > (0.01, -0.06)) & (ahead < (0.12, 0.08))).all(axis=1).any()
        offset, side = ((-6, -3), "right") if is_crowded else ((6, -3), "left")
        right.annotate(name, (u, v), offset, textcoords="offset points", ha=side, fontsize=9)
    right.scatter(*real.T, s=26, color="0.65", label="place on the map", zorder=2)
    right.scatter(*learned.T, s=34, color="#c8553d", label="learned vector, in the plane", zorder=3)
    right.set_aspect("equal")
    right.set_xticks([])
    right.set_yticks([])
    right.legend(loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False, ncols=2, fontsize=9)
    right.set_title(f"States: {1 - disparity:.0%} of the map explained", loc="left")
    left.spines[["top", "right"]].set_visible(False)
    right.spines[:].set_visible(False)
    figure.suptitle(
        "What the vectors know: learned from sales alone, beside the truth (generated data)"
    )
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--rows", type=int, default=40_000)
    arguments = parser.parse_args()
    main(arguments.out, arguments.rows)
