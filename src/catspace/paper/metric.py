"""The paper's questions about the finite metric space, put to a trained network.

What do the vectors have to do with the distance between categories?
"""

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import TSNE

from catspace import analysis
from catspace.datasets import STATE_CENTRES
from catspace.paper.fitting import Progress, fit_network
from catspace.paper.printing import bar, frame_table, show_markdown
from catspace.paper.protocol import PAPER_DIMS, Problem
from catspace.paper.records import Record, write_json
from catspace.paper.request import Request
from catspace.paper.subject import Subject, train_subject
from catspace.storage.writing import write_text

Answer = tuple[str, pd.DataFrame]

_STORE_DIMS = (1, 2, 5, 10, 20, 50)
_CONTEXTS = 300


def run(request: Request) -> list[Record]:
    """Ask every question, and write the answers as ``metric.json`` and ``metric.md``."""
    problem, out, console = request.problem("time"), request.out, request.console
    subject = train_subject(request)
    answers: dict[str, list[Record]] = {}
    page = [subject.origin + "\n"]
    with bar(console, "training for the dimensions") as progress:
        for title, answer in question_the_metric(subject, problem, progress=progress):
            frame = answer.drop(columns="column", errors="ignore")  # The title names it.
            answers[title] = frame_records(frame)
            page.append(f"**{title}**\n\n{frame_table(frame)}")
            show_markdown(console, page[-1])
            write_json(out / "metric.json", answers)
    summary = frame_table(summarise_schoenberg(answers))
    page.append(f"**Schoenberg's condition, smallest eigenvalues**\n\n{summary}")
    write_text(out / "metric.md", "\n".join(page))
    console.print(f"Written: {out / 'metric.md'}, and metric.json beside it.")
    return []


def question_the_metric(
    subject: Subject, problem: Problem, *, progress: Progress
) -> Iterator[Answer]:
    """Yield the answers to the paper's questions about the finite metric space, as frames.

    Parameters
    ----------
    subject : Subject
        The network of the figures.
    problem : Problem
        Rows for the networks of several dimensions.
    progress : callable
        Called with the share of a network's training that is done.
    """
    model, X, y = subject.model, subject.X, subject.y
    started = time.perf_counter()
    by_model = {
        column: analysis.model_distance(model, X, column, n_contexts=_CONTEXTS, transform=np.log)
        for column in ("store", "state")
    }
    seconds = time.perf_counter() - started
    yield "Seconds for the model's distances", _row(columns="store and state", seconds=seconds)
    for column, distances in by_model.items():
        yield f"Axioms of a metric, {column}, by the model", analysis.check_metric(distances)
        yield f"Schoenberg's condition, {column}, by the model", analysis.schoenberg(distances)
        compared = analysis.compare_distances(model, column, distances)
        yield (
            f"Learned and metric distance, {column}",
            _first(compared, "pearson", "spearman", "slope"),
        )
        yield f"Distortion, {column}", analysis.distortion(model, column, distances)
        layouts = {
            f"{n} dimensions": analysis.mds(distances, n_components=n, source=model)
            for n in (2, 10)
        }
        yield f"MDS, {column}", _firsts(layouts, "stress", "learned_stress", "procrustes")
    yield from _parts_of_the_distance(model, by_model["store"])
    yield from _observed(subject, by_model["store"])
    for column in ("store", "state"):
        yield f"Normality along components, {column}", analysis.normality(model, column)
        yield f"Mardia's tests, {column}", analysis.mardia(model, column)
    rows = X.sample(min(50_000, len(X)), random_state=0)
    yield "Correlation between the subspaces", analysis.subspace_correlation(model, rows)
    along: Any = analysis.target_along(model, "store", X, y)
    along = along.drop_duplicates("direction")[["direction", "pearson", "spearman"]]
    yield "Sales along directions, store", along
    yield "What goes along with the components, store", _meaning_of_components(subject)
    yield from _states_in_the_plane(model)
    n_stores, seconds = len(model.embeddings_["store"]), time.perf_counter() - started
    yield "Seconds for all of the above", _row(categories=n_stores, seconds=seconds)
    yield "Distortion by dimension, store", _distortion_by_dimension(problem, progress)


def summarise_schoenberg(answers: Mapping[str, list[Record]]) -> pd.DataFrame:
    """Return the smallest eigenvalue for each kernel and λ, a column for each distance.

    How many eigenvalues are negative stands behind it in brackets.
    """
    condition = "Schoenberg's condition, "
    found: dict[tuple[str, float], dict[str, Any]] = {}
    for title, rows in answers.items():
        if not title.startswith(condition):
            continue
        for row in rows:
            kernel, factor = row["kernel"], row["lambda"]
            line = found.setdefault((kernel, factor), {"kernel": kernel, "lambda": factor})
            count = f" ({row['negative']})" if row["negative"] else ""
            line[title.removeprefix(condition)] = f"{row['smallest']:.3g}{count}"
    return pd.DataFrame(list(found.values()))


def frame_records(frame: Any) -> list[Record]:
    """Return the rows of a pandas frame for JSON, numbers in full; what is missing is None.

    pandas' own ``to_json`` keeps ten decimals, of which a p-value may need more.
    """
    return [
        {name: None if value != value else value for name, value in row.items()}
        for row in frame.to_dict(orient="records")
    ]


def _parts_of_the_distance(model: Any, by_model: analysis.DistanceMatrix) -> Iterator[Answer]:
    """Ask which components of the vectors carry the metric distance, and what the others do."""
    dim = model.embeddings_["store"].dim
    frame: Any = analysis.components(model, "store", n_components=dim)
    assert list(frame["category"]) == by_model.categories
    positions = frame.filter(like="component ").to_numpy()  # (n_categories, n_components)
    metric = squareform(by_model.values, checks=False)
    learned = pdist(positions)
    rows = []
    for first, last in ((1, 1), (2, 2), (2, dim), (1, dim)):
        part = pdist(positions[:, first - 1 : last])
        rows.append(
            {
                "components": str(first) if first == last else f"{first} to {last}",
                "share_of_squares": np.square(part).sum() / np.square(learned).sum(),
                "pearson": np.corrcoef(part, metric)[0, 1],
                "spread": part.std() / part.mean(),
            }
        )
    yield "Parts of the learned distance, store", pd.DataFrame(rows)
    # A network is Lipschitz in its vectors: what differs by d is at least d / slope apart.
    slope = metric / learned
    yield (
        "Metric distance for each unit of learned distance, store",
        _row(least=slope.min(), median=np.median(slope), most=slope.max()),
    )


def _observed(subject: Subject, by_model: analysis.DistanceMatrix) -> Iterator[Answer]:
    """Compare the distance that the table shows with the model's, and with the vectors."""
    observed = _observe(subject.X, subject.y, np.log)
    assert observed.categories == by_model.categories
    a, b = np.triu_indices(len(observed), k=1)
    known = np.isfinite(observed.values[a, b])
    shown = pd.Series(observed.values[a, b][known])
    asked = pd.Series(by_model.values[a, b][known])
    yield (
        "Observed distance and the model's, store",
        _row(
            pairs=int(known.sum()),
            share_known=float(known.mean()),
            contexts=float(np.median(observed.contexts[a, b])),
            pearson=shown.corr(asked),
            spearman=shown.corr(asked, method="spearman"),
            mean_observed=shown.mean(),
            mean_by_model=asked.mean(),
        ),
    )
    ways = {"observed": observed}
    # The authors' code takes the sales themselves, not their logarithms.
    ways["observed, without logarithms"] = _observe(subject.X, subject.y, None)
    compared = {
        name: analysis.compare_distances(subject.model, "store", found)
        for name, found in ways.items()
    }
    yield "Observed and learned distance, store", _firsts(compared, "pearson", "spearman")
    # Each pair has contexts of its own, unless only those count in which no store is missing.
    shared = _in_contexts_of_all_stores(subject.X)
    if shared.any():
        found = _observe(subject.X[shared], subject.y[shared], np.log)
        ways["observed where all stores are"] = found
        n_contexts, n_rows = int(found.contexts.max()), int(shared.sum())
        yield "Contexts in which all stores are", _row(contexts=n_contexts, rows=n_rows)
    for name, found in ways.items():
        yield f"Axioms of a metric, store, {name}", analysis.check_metric(found)
        if np.isfinite(found.values).all():
            yield f"Schoenberg's condition, store, {name}", analysis.schoenberg(found)
    tolerances = (1e-9, 0.01, 0.02, 0.05)
    merged = [analysis.merge_redundant(by_model, tolerance=t)["merged_into"] for t in tolerances]
    yield (
        "Stores left when those within a tolerance are merged",
        pd.DataFrame({"tolerance": tolerances, "stores": [found.nunique() for found in merged]}),
    )


def _observe(X: Any, y: np.ndarray, transform: Any) -> analysis.DistanceMatrix:
    # A store lies in one state: its state is no context of its own.
    return analysis.observed_distance(X, y, "store", ignore=["state"], transform=transform)


def _in_contexts_of_all_stores(X: Any) -> np.ndarray:
    """Return which rows lie in contexts that no store is missing from."""
    others = [name for name in X if name not in ("store", "state")]
    context = X.groupby(others, observed=True).ngroup()
    counts = X["store"].groupby(context).nunique()
    return np.asarray(context.map(counts) == X["store"].nunique())


def _meaning_of_components(subject: Subject) -> pd.DataFrame:
    """Correlate the first components of the stores with what the table tells of each store."""
    X = subject.X.drop(columns="state").astype(int)
    log_sales = pd.Series(np.log(subject.y), index=X.index)
    weekday, month, plain = X["day_of_week"], X["month"], X["promo"] == 0

    def mean(rows: Any) -> Any:
        return log_sales[rows].groupby(X["store"][rows]).mean()

    on_weekdays = mean(plain & (weekday <= 5))
    spring = month.between(1, 4)
    properties = {
        "sales": mean(weekday > 0),
        "sales on promotion": mean(X["promo"] == 1) - on_weekdays,
        "sales on Mondays": mean(plain & (weekday == 1)) - on_weekdays,
        "sales on Saturdays": mean(weekday == 6) - on_weekdays,
        "sales in December": mean(month == 12) - mean(month < 12),
        "sales in summer": mean(month.between(6, 8)) - mean(month.between(1, 3)),
        "growth": mean(spring & (X["year"] == 2014)) - mean(spring & (X["year"] == 2013)),
    }
    frame: Any = analysis.components(subject.model, "store")
    components = frame.set_index("category").filter(like="component ")
    return pd.DataFrame(
        [
            {"property": name, **components.corrwith(values.reindex(components.index)).to_dict()}
            for name, values in properties.items()
        ]
    )


def _states_in_the_plane(model: Any) -> Iterator[Answer]:
    """Ask which projection into the plane shows the map, and which spreads the states evenly."""
    compared = {
        method: analysis.compare_with_map(model, "state", STATE_CENTRES, method=method)
        for method in ("pca", "mds", "tsne")
    }
    yield "Ways into the plane and the map, state", _firsts(compared, "score", "p_value")
    # With a perplexity as large as the number of other states, all states are neighbours.
    vectors = model.embeddings_["state"].vectors
    rows = []
    for perplexity in (3, len(vectors) - 1):
        plane = TSNE(
            perplexity=perplexity, init="pca", method="exact", random_state=0
        ).fit_transform(vectors)
        apart = squareform(pdist(plane))
        nearest = np.where(np.eye(len(apart)) > 0, np.inf, apart).min(axis=1)
        evenness = float(nearest.mean() / pdist(plane).mean())
        rows.append({"perplexity": perplexity, "nearest_over_mean": evenness})
    yield "Distance to the nearest state by t-SNE", pd.DataFrame(rows)


def _distortion_by_dimension(problem: Problem, progress: Progress) -> pd.DataFrame:
    found = []
    for dim in _STORE_DIMS:
        dims = {**PAPER_DIMS, "store": dim}
        parameters = {"target_transform": "log", "n_networks": 1, "embedding_dim": dims}
        X, y = problem.frames.train, problem.y_train
        model = fit_network(X, y, parameters, seed=problem.seed, progress=progress)
        distances = analysis.model_distance(
            model, X, "store", n_contexts=_CONTEXTS, transform=np.log
        )
        row = analysis.distortion(model, "store", distances)
        compared = analysis.compare_distances(model, "store", distances)
        found.append(row.assign(pearson=compared["pearson"].iloc[0]))
    return pd.DataFrame(pd.concat(found, ignore_index=True))


def _row(**values: Any) -> pd.DataFrame:
    """Return a frame of one row."""
    return pd.DataFrame([values])


def _first(frame: Any, *names: str) -> pd.DataFrame:
    """Return what a frame says of all its rows."""
    return pd.DataFrame(frame.head(1)[list(names)])


def _firsts(frames: Mapping[str, Any], *names: str) -> pd.DataFrame:
    """Return what each frame says of all its rows, a row for each frame."""
    rows = [_first(frame, *names) for frame in frames.values()]
    found = pd.concat(rows, ignore_index=True)
    found.insert(0, "way", list(frames))
    return pd.DataFrame(found)
