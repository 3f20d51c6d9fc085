from itertools import pairwise

import pytest

from catspace.model.recipe import defaults_for


def test_defaults_move_one_way_with_the_number_of_rows():
    sizes = [1, 200, 2_000, 20_000, 200_000, 2_000_000, 20_000_000]
    recipes = [defaults_for(n) for n in sizes]
    for earlier, later in pairwise(recipes):
        assert earlier.batch_size <= later.batch_size
        assert earlier.max_epochs >= later.max_epochs
        assert earlier.dropout >= later.dropout


@pytest.mark.parametrize("n_rows", [1, 50, 200_000, 10**9])
def test_defaults_are_usable_at_any_size(n_rows):
    defaults = defaults_for(n_rows)
    assert defaults.batch_size >= 1
    assert defaults.max_epochs >= 1
    assert 0 <= defaults.dropout < 1
