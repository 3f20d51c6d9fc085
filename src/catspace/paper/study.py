"""Variants of catspace's own network, compared on a validation part of the training rows.

Something is chosen here, so the test rows are not touched.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from catspace.paper.fitting import Progress, fit_network
from catspace.paper.printing import bar, data_of, markdown_table, publish
from catspace.paper.protocol import Problem, scores
from catspace.paper.records import Record, prepare_folder, write_json
from catspace.paper.request import Request

Variants = Mapping[str, Mapping[str, Any]]

_BASE = {"target_transform": "log", "n_networks": 2}


def run_study(request: Request, name: str, variants: Variants) -> list[Record]:
    """Compare variants on each split, and write ``<name>.json`` and ``<name>.md``."""
    problems = [request.problem(split) for split in request.splits]
    prepare_folder(request.out)
    records: list[Record] = []
    for problem in problems:
        with bar(request.console, f"{name}, {problem.split}") as progress:
            for record in compare_variants(name, variants, problem, progress=progress):
                records.append(record)
                write_json(request.out / f"{name}.json", records)
    publish(request.console, request.out / f"{name}.md", study_table(records))
    return records


def compare_variants(
    study: str, variants: Variants, problem: Problem, *, progress: Progress
) -> Iterator[Record]:
    """Fit each variant on nine tenths of the training rows, and yield its scores on the last.

    Parameters
    ----------
    study : str
        Its name in the records.
    variants : mapping of name to parameters
    problem : Problem
    progress : callable
        Called with the share of a variant's training that is done.
    """
    held_back = problem.validation
    X, y = problem.frames.train, problem.y_train
    for variant, changes in variants.items():
        parameters = {**_BASE, **changes}
        start = time.perf_counter()
        model = fit_network(
            X[~held_back], y[~held_back], parameters, seed=problem.seed, progress=progress
        )
        seconds = time.perf_counter() - start
        yield {
            "study": study,
            "data": problem.name,
            "split": problem.split,
            "variant": variant,
            **scores(y[held_back], model.predict(X[held_back])),
            "fit_seconds": seconds,
            "rows": int((~held_back).sum()),
            "judged_by": int(held_back.sum()),
            "seed": problem.seed,
            "parameters": parameters,
        }


def study_table(records: Sequence[Record]) -> str:
    """Return the variants of a study as a Markdown table, a column for each split."""
    splits = list(dict.fromkeys(record["split"] for record in records))
    found = {(record["variant"], record["split"]): record for record in records}
    rows = []
    for variant in dict.fromkeys(record["variant"] for record in records):
        of_variant = [found[variant, split] for split in splits if (variant, split) in found]
        seconds = sum(record["fit_seconds"] for record in of_variant) / len(of_variant)
        rows.append(
            [variant, *(f"{record['mape']:.4f}" for record in of_variant), f"{seconds:.0f}"]
        )
    header = ["variant", *(f"validation MAPE, {split}" for split in splits), "fit s"]
    first = records[0]
    return (
        f"{markdown_table(header, rows)}\n{data_of(first)}, {first['judged_by']:,} training "
        f"rows held back to judge by; seed {first['seed']}; two networks averaged.\n"
    )
