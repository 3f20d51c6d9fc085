"""Why two cells of the shuffled table miss the paper's number: KNN and the network with EE.

Judged by training rows that the 200,000 do not contain; the test rows are not touched. Needs the
networks that `make reproduce` keeps in docs/reproduction/models, and trains further ones.
"""

from pathlib import Path

import numpy as np
from common import DATA, mape, print_table
from sklearn.neighbors import KNeighborsRegressor

from catspace import load, load_rossmann
from catspace.paper.fitting import fit_network
from catspace.paper.methods import PAPER_NETWORK
from catspace.paper.protocol import ROWS, make_problem

MODELS = Path(__file__).parents[1] / "docs" / "reproduction" / "models"
JUDGED_BY = 20_000


def vectors(embeddings, codes):
    """Return the features that a network's vectors make of codes (columns, rows)."""
    tables = [embedding.table for embedding in embeddings.values()]
    return np.hstack([table[code] for table, code in zip(tables, codes, strict=True)])


def knn(features, target, asked):
    model = KNeighborsRegressor(10, weights="distance", p=1, algorithm="brute", n_jobs=-1)
    return np.exp(model.fit(features, np.log(target)).predict(asked))


def main():
    data = load_rossmann(DATA, backend="pandas")
    problem = make_problem(data, "rossmann", "shuffled", rows=ROWS, seed=0)
    X = data.X.astype("category")
    unused = np.setdiff1d(np.arange(len(data.y)), np.concatenate([problem.train, problem.test]))
    random = np.random.default_rng(1)
    judged = random.choice(unused, size=JUDGED_BY, replace=False)
    truth = data.y[judged]
    kept = load(MODELS / "rossmann-shuffled-200000-0.catspace")

    def judge(model, rows):
        """Return the MAPE of KNN with the vectors of each network, and of each network itself."""
        learn, ask = (model._encode(X.iloc[part]).codes for part in (rows, judged))
        outputs = model._outputs(X.iloc[judged])
        found = []
        for embeddings, output in zip(model.network_embeddings(), outputs, strict=True):
            by_knn = knn(vectors(embeddings, learn), data.y[rows], vectors(embeddings, ask))
            alone = model.fitted_.learned.target.decode(output.astype(np.float64))
            found.append((mape(truth, by_knn), mape(truth, alone)))
        return found

    rows = [
        [f"network {i + 1} of the five", f"{by_knn:.4f}", f"{alone:.4f}"]
        for i, (by_knn, alone) in enumerate(judge(kept, problem.train))
    ]
    rows.append(["average of the five", "", f"{mape(truth, kept.predict(X.iloc[judged])):.4f}"])
    together = [
        np.hstack([vectors(e, kept._encode(X.iloc[part]).codes) for e in kept.network_embeddings()])
        for part in (problem.train, judged)
    ]
    by_all = knn(together[0], data.y[problem.train], together[1])
    rows.append(["vectors of all five side by side", f"{mape(truth, by_all):.4f}", ""])
    pool = np.concatenate([problem.train, np.setdiff1d(unused, judged)])
    drawn = random.choice(pool, size=ROWS, replace=True)
    one = {**PAPER_NETWORK, "n_networks": 1}
    for name, sample, parameters in [
        ("rows drawn with replacement, as the authors' code does", drawn, one),
        ("20 epochs instead of 10", problem.train, {**one, "max_epochs": 20}),
    ]:
        model = fit_network(
            X.iloc[sample], data.y[sample], parameters, seed=0, progress=lambda share: None
        )
        ((by_knn, alone),) = judge(model, sample)
        rows.append([f"one network, {name}", f"{by_knn:.4f}", f"{alone:.4f}"])
    print_table(["vectors of", "KNN with EE", "the network itself"], rows)
    print(f"MAPE on {JUDGED_BY:,} training rows that no network has seen.")


if __name__ == "__main__":
    main()
