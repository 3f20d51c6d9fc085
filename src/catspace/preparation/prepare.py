"""What fit was given -> rows that networks can be trained on."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from catspace.exceptions import InputError
from catspace.preparation.encoding import HoldBack, RowEncoding, keep_rows
from catspace.preparation.learning import Learned, Weigher, survey
from catspace.preparation.rows import Rows, RowSource
from catspace.preparation.tables import LabelledBlocks, OneBlock, open_labelled
from catspace.validation import check_real


class Given(NamedTuple):
    """What the user passes to fit: a table, its target and its weights."""

    X: Any
    y: Any
    sample_weight: Any = None


@dataclass(frozen=True)
class Prepared:
    """What there is to learn from."""

    learned: Learned
    rows: RowSource  # to train on; in memory or on disk
    numbers: np.ndarray  # float32 of shape (n_sampled, n_numbers): those of the rows, or of some
    validation: RowSource | None  # to judge each epoch by
    table: OneBlock | LabelledBlocks  # what the rows were made of
    encoding: RowEncoding  # and how


@dataclass(frozen=True)
class Preparation:
    """Turns what the user passes to fit into rows."""

    estimator: str  # its name, for messages
    target_kind: str  # {"continuous", "class", "auto"}
    parameters: Mapping[str, Any]  # of the estimator
    random: np.random.RandomState  # chooses the rows that are held back
    stack: ExitStack  # closes what is cached on disk

    def prepare(self, given: Given, judges: Given) -> Prepared:
        """Return what there is to learn from; a table in files need not fit in memory.

        Parameters
        ----------
        given, judges : Given
            To learn from, and to judge each epoch by; without a table where there is none.
        """
        for name, value in (("y_val", judges.y), ("sample_weight_val", judges.sample_weight)):
            if judges.X is None and value is not None:
                raise InputError(f"{name} was passed without X_val.")
        if judges.X is not None and judges.y is None and given.y is not None:
            raise InputError("X_val was passed without y_val.", hint="rows judge by their target.")
        table = open_labelled(*given, estimator=self.estimator)
        found = survey(table, self.target_kind, self.parameters)
        validation = None
        if judges.X is not None:
            validation = self._validation(found.learned, judges)
        hold_back = None
        if validation is None and self.parameters["early_stopping"]:
            n_held_back = count_held_back(self.parameters, found.n_samples)
            hold_back = HoldBack(n_held_back, found.n_samples, self.random)
        encoding = RowEncoding(found.learned, found.weigher)
        rows, held_back = keep_rows(
            table,
            encoding,
            self.stack,
            n_samples=found.n_samples,
            hold_back=hold_back,
        )
        numbers = rows.numbers.numpy() if isinstance(rows, Rows) else found.numbers
        judging = held_back if validation is None else validation
        return Prepared(found.learned, rows, numbers, judging, table, encoding)

    def _validation(self, learned: Learned, judges: Given) -> RowSource:
        """Return the rows that the user gave to judge each epoch by."""
        table = learned.open(*judges, estimator=self.estimator)
        encoding = RowEncoding(learned, Weigher() if table.is_weighted else None)
        rows, _ = keep_rows(table, encoding, self.stack)
        if not len(rows):
            raise InputError("The table of X_val has no rows.")
        return rows


def count_held_back(parameters: Mapping[str, Any], n_samples: int) -> int:
    """Return how many rows early stopping judges by."""
    fraction = check_real(
        "validation_fraction", parameters["validation_fraction"], above=0, below=1
    )
    n_held_back = round(fraction * n_samples)
    if n_held_back in (0, n_samples):
        raise InputError(
            f"early_stopping would hold back {n_held_back} of {n_samples} rows.",
            hint="change validation_fraction, pass X_val and y_val, or switch it off.",
        )
    return n_held_back
