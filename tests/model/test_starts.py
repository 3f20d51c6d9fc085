"""Vectors that are given: where they start, what draws them, and what stays."""

import numpy as np
import pytest
import torch

from catspace.data.vocabulary import UNSEEN
from catspace.model.architecture import Architecture
from catspace.model.evidence import Evidence
from catspace.model.memory import estimate_memory
from catspace.model.network import EntityNetwork
from catspace.model.optimizer import SPARSE_FROM
from catspace.model.recipe import Recipe
from catspace.model.starts import Start
from catspace.model.training import train_networks
from catspace.preparation.rows import Rows

CPU = torch.device("cpu")
SHAPE = Architecture((6, 9), (2, 3), (), 1, (5, 4))
RECIPE = Recipe("squared_error", 3, 8, 0.05, 0.1)


def make_start(n_codes=6, dim=2, given=(3, 4), *, is_frozen=False, n_before=0.0, seed=0):
    """Return a start of which some codes were given."""
    vectors = np.random.default_rng(seed).normal(size=(n_codes, dim)).astype(np.float32)
    is_given = np.isin(np.arange(n_codes), given)
    vectors[~is_given] = vectors[UNSEEN]
    return Start(vectors, is_given, np.where(is_given, n_before, 0.0), is_frozen)


def make_rows(n=60, shape=SHAPE, seed=0):
    random = np.random.default_rng(seed)
    codes = np.stack([random.integers(3, k, size=n) for k in shape.n_codes]).astype(np.int32)
    target = random.normal(size=(n, 1)).astype(np.float32)
    return Rows(torch.from_numpy(codes), torch.empty(n, 0), torch.from_numpy(target))


def test_gradients_draw_given_vectors_to_their_start_and_the_others_to_unseen():
    network = EntityNetwork(SHAPE)
    network.initialize("normal", torch.Generator().manual_seed(0))
    rows, start, smooth = make_rows(12), make_start(), (4.0, 30.0)
    n_rows = [torch.arange(5.0, 5.0 + k) for k in SHAPE.n_codes]
    evidence = Evidence(n_rows, SHAPE.dims, smooth, CPU, {0: start})
    batch = evidence.apply(rows, torch.Generator().manual_seed(0))
    batch = Rows(rows.codes, rows.numbers, rows.target, rates=batch.rates)  # nothing forgotten
    network(rows.codes, rows.numbers, None, evidence.pull(batch)).square().mean().backward()
    pulled = [table.grad.clone() for table in network.input.tables]

    network.zero_grad()
    paid = 0.0
    for column, table in enumerate(network.input.tables):
        for code in rows.codes[column].tolist():
            centre = table[UNSEEN].detach()
            if column == 0 and start.is_given[code]:
                centre = torch.from_numpy(start.vectors[code])
            ratio = smooth[column] / float(n_rows[column][code])
            paid = paid + ratio**2 * ((table[code] - centre) ** 2).sum() / 12
    (network(rows.codes, rows.numbers).square().mean() + paid).backward()
    for found, table in zip(pulled, network.input.tables, strict=True):
        torch.testing.assert_close(found, table.grad, rtol=1e-4, atol=1e-6)


def test_the_rows_that_a_vector_was_learned_from_keep_it_from_being_forgotten():
    start = make_start(5, given=(4,), n_before=398.0)
    evidence = Evidence([torch.tensor([0.0, 0, 0, 2, 2])], [2], [8.0], CPU, {0: start})
    codes = torch.tensor([3, 4], dtype=torch.int32).repeat_interleave(100_000)[None]
    rows = Rows(codes, torch.empty(200_000, 0), torch.zeros(200_000, 1))
    applied = evidence.apply(rows, torch.Generator().manual_seed(0))
    shares = [(applied.codes[codes == code] == UNSEEN).float().mean() for code in (3, 4)]
    np.testing.assert_allclose(shares, [0.5, 1 / 400 + 32 / 400**2], atol=0.003)
    # What its rows here say of it is another question.
    assert applied.rates[0] == applied.rates[-1] == 2 * (8 / 2) ** 2


@pytest.mark.parametrize("smooth", [(), (8.0, 8.0)])
def test_a_frozen_table_ends_where_it_started_and_the_others_move(smooth):
    start = make_start(is_frozen=True)
    recipe = Recipe(**{**RECIPE.__dict__, "smooth": smooth})
    (trained,) = train_networks(
        SHAPE, make_rows(), recipe, [0], starts={0: start}, validation=make_rows(seed=1)
    )
    network = trained.network
    network.fill_untrained_rows([torch.zeros(6), torch.ones(9)], [True, True], {0: start})
    np.testing.assert_array_equal(network.input.vectors()[0], start.vectors)
    drawn = EntityNetwork(SHAPE)
    drawn.initialize("normal", torch.Generator().manual_seed(0))
    assert (network.input.vectors()[1] != drawn.input.vectors()[1]).any()


def test_all_tables_may_be_frozen():
    starts = {0: make_start(is_frozen=True), 1: make_start(9, 3, is_frozen=True)}
    recipe = Recipe(**{**RECIPE.__dict__, "smooth": (8.0, 8.0)})
    (trained,) = train_networks(SHAPE, make_rows(), recipe, [0], starts=starts)
    for found, start in zip(trained.network.input.vectors(), starts.values(), strict=True):
        np.testing.assert_array_equal(found, start.vectors)


def test_so_may_one_that_is_so_large_that_others_like_it_are_updated_row_by_row():
    shape = Architecture((SPARSE_FROM // 2, 9), (2, 3), (), 1, (5,))
    start = make_start(SPARSE_FROM // 2, is_frozen=True)
    (trained,) = train_networks(shape, make_rows(shape=shape), RECIPE, [0], starts={0: start})
    np.testing.assert_array_equal(trained.network.input.vectors()[0], start.vectors)
    assert trained.network.input.sparse == []


def test_rows_that_training_never_met_keep_what_was_given_and_are_unseen_otherwise():
    network = EntityNetwork(SHAPE)
    start = make_start(given=(3, 4))
    with torch.no_grad():
        network.input.tables[0].copy_(torch.from_numpy(start.vectors))
        network.input.tables[0][UNSEEN] = 7.0
    counts = [torch.tensor([0, 0, 0, 0, 2, 0]), torch.ones(9)]
    network.fill_untrained_rows(counts, [True, True], {0: start})
    table = network.input.vectors()[0]
    np.testing.assert_array_equal(table[3:5], start.vectors[3:5])
    np.testing.assert_array_equal(table[[0, 1, 2, 5]], np.full((4, 2), 7.0))


def test_a_frozen_table_needs_neither_gradients_nor_moments():
    settings = {"sparse": [], "n_networks": 1, "has_validation": False, "row_bytes": 0}
    moving = estimate_memory(SHAPE, device=CPU, **settings)
    frozen = estimate_memory(SHAPE, device=CPU, **settings, frozen=[0])
    assert moving.tables[0] == 4 * frozen.tables[0] == 4 * 6 * 2 * 4
    assert moving.tables[1] == frozen.tables[1]
