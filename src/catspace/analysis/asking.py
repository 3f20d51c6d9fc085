"""What analyses that ask a model share: rows to ask about, with one column at a time changed."""

from collections.abc import Iterator

import numpy as np

from catspace.data.encoding import Encoded, Places, TableEncoder
from catspace.data.table import Table

# Rows that a model predicts at once: values times contexts.
_PREDICT_ROWS = 200_000


def draw_rows(table: Table, n_rows: int, random_state: int) -> np.ndarray:
    """Return the positions of some rows of a table, drawn at random and in order; all if few."""
    random = np.random.default_rng(random_state)
    return np.sort(random.choice(table.n_rows, size=min(n_rows, table.n_rows), replace=False))


def encode_codes(encoder: TableEncoder, codes: np.ndarray) -> Encoded:
    """Return rows that have these codes in every embedded column, to be asked for one of them.

    A column of lists has that one item.
    """
    numbers = np.zeros((len(codes), len(encoder.number_names)), dtype=np.float32)
    return Encoded(encoder.repeat(codes), numbers)


def ask_everywhere(contexts: Encoded, values: Encoded, places: Places) -> Iterator[Encoded]:
    """Yield each context once for each value, some contexts at a time.

    The first context comes with every value, then the next.

    Parameters
    ----------
    contexts : Encoded
        Of n_contexts rows.
    values : Encoded
        Of n_values rows, of which only what stands at the places counts.
    places : Places
        Where a context takes the value.

    """
    n_contexts, n_values = len(contexts.numbers), len(values.numbers)
    n_blocks = -(-n_contexts * n_values // _PREDICT_ROWS)
    for block in np.array_split(np.arange(n_contexts), n_blocks):
        repeated, tiled = np.repeat(block, n_values), np.tile(np.arange(n_values), len(block))
        codes, numbers = contexts.codes[:, repeated], contexts.numbers[repeated]
        for place in places.codes:
            codes[place] = values.codes[place, tiled]
        for place in places.numbers:
            numbers[:, place] = values.numbers[tiled, place]
        yield Encoded(codes, numbers)
