"""More rows for a model that is fitted -> what it knows then, and rows to go on learning from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from catspace.data.growing import MoreRows
from catspace.data.labels import no_weight
from catspace.data.roles import count_threshold, most_categories
from catspace.data.target import ClassTarget
from catspace.exceptions import InputError
from catspace.preparation.encoding import RowEncoding, keep_rows
from catspace.preparation.learning import Learned, Weigher
from catspace.preparation.prepare import Given, Preparation
from catspace.preparation.rows import RowSource


@dataclass(frozen=True)
class MorePrepared:
    """What there is to go on learning from."""

    learned: Learned  # with the categories of the rows
    # For each embedded column the row that each row was before; see `Growth`
    origins: Sequence[np.ndarray]
    rows: RowSource  # to train on; in memory or on disk


def prepare_more(preparation: Preparation, given: Given, known: Learned) -> MorePrepared:
    """Return what there is to go on learning from; a table in files need not fit in memory.

    Parameters
    ----------
    preparation : Preparation
        With the parameters that the estimator has now.
    given : Given
        The new rows.
    known : Learned
        What is known of the rows before them. It stays as it is.
    """
    parameters = preparation.parameters
    table = known.open(given.X, given.y, given.sample_weight, estimator=preparation.estimator)
    found = table.learn(lambda seed: MoreRows(known.encoder, known.target))
    n_samples = found.columns.n_samples
    if n_samples == 0:
        raise no_weight() if table.is_weighted else InputError("The table has no rows to learn.")
    found.check()
    n_all = known.n_known + n_samples
    grown = found.columns.grow(
        count_threshold(parameters["min_frequency"], n_all),
        most_categories(parameters["max_categories"], list(known.encoder.vocabularies)),
    )
    learned = replace(known, encoder=grown.encoder, n_samples=n_all)
    classes = known.target if isinstance(known.target, ClassTarget) else None
    weigher = None
    by_class = found.target.class_weights(parameters.get("class_weight"), classes)
    if table.is_weighted or by_class is not None:
        weigher = Weigher(found.target.mean_weight(by_class, classes), by_class)
    rows, _ = keep_rows(
        table, RowEncoding(learned, weigher), preparation.stack, n_samples=n_samples
    )
    return MorePrepared(learned, grown.origins, rows)
