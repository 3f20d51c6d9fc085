import numpy as np
import pytest
import torch

from catspace.data.vocabulary import UNSEEN
from catspace.model.architecture import Architecture
from catspace.model.evidence import Evidence
from catspace.model.network import EntityNetwork
from catspace.model.recipe import Recipe
from catspace.model.training import train_networks
from catspace.preparation.rows import Rows

CPU = torch.device("cpu")
SHAPE = Architecture(
    n_codes=(6, 9), dims=(2, 3), n_bins=(0,), n_outputs=1, hidden_layer_sizes=(5, 4)
)


def make_network(**changes):
    network = EntityNetwork(Architecture(**{**SHAPE.__dict__, **changes}))
    network.initialize("normal", torch.Generator().manual_seed(0))
    return network


def make_rows(codes, weight=None):
    n = codes.shape[1]
    return Rows(codes, torch.empty(n, 0), torch.zeros(n, 1), weight)


def naive_penalty(network, codes, n_rows, smooth, weight):
    """Return what the rows of a batch pay, in the words of the documentation."""
    total = 0.0
    for column, table in enumerate(network.input.tables):
        for row, code in enumerate(codes[column].tolist()):
            away = table[code] - table[UNSEEN].detach()
            ratio = smooth[column] / float(n_rows[column][code])
            total = total + float(weight[row]) * ratio**2 * (away**2).sum()
    return total / codes.shape[1]


@pytest.mark.parametrize("encoding", ["embedding", "onehot"])
@pytest.mark.parametrize("activation", ["identity", "tanh"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_gradients_are_those_of_what_each_row_pays(encoding, activation, is_weighted):
    network = make_network(input_encoding=encoding, embedding_activation=activation)
    random = np.random.default_rng(0)
    codes = torch.from_numpy(np.stack([random.integers(3, k, size=12) for k in (6, 9)]))
    numbers = torch.from_numpy(random.normal(size=(12, 1)).astype("f4"))
    weight = torch.from_numpy(random.random(12).astype("f4")) if is_weighted else None
    n_rows = [torch.arange(5.0, 5.0 + k) for k in (6, 9)]
    smooth = (4.0, 30.0)
    widths = [width for _, width in network.architecture.table_shapes]
    evidence = Evidence(n_rows, widths, smooth, CPU)

    # Without forgetting, so that both see the same codes.
    batch = evidence.apply(make_rows(codes, weight), torch.Generator().manual_seed(0))
    network(codes, numbers, None, evidence.pull(batch)).square().mean().backward()
    pulled = [table.grad.clone() for table in network.input.tables]

    network.zero_grad()
    paid = naive_penalty(
        network, codes, n_rows, smooth, torch.ones(12) if weight is None else weight
    )
    (network(codes, numbers).square().mean() + paid).backward()
    for found, table in zip(pulled, network.input.tables, strict=True):
        torch.testing.assert_close(found, table.grad, rtol=1e-4, atol=1e-6)


def test_the_fewer_rows_a_category_has_the_oftener_it_is_forgotten():
    n_rows = [torch.tensor([0.0, 0, 0, 1, 8, 16, 4000])]
    evidence = Evidence(n_rows, [2], [10.0], CPU)
    codes = torch.arange(3, 7, dtype=torch.int32).repeat_interleave(50_000)[None]
    forgotten = evidence.apply(make_rows(codes), torch.Generator().manual_seed(0)).codes
    assert set(forgotten[forgotten != codes].tolist()) == {UNSEEN}
    shares = [(forgotten[codes == code] == UNSEEN).float().mean() for code in range(3, 7)]
    expected = [0.5, 0.5, 1 / 16 + 32 / 16**2, 1 / 4000]
    np.testing.assert_allclose(shares, expected, atol=0.01)


def test_a_column_that_is_not_smoothed_forgets_nothing_and_is_not_pulled():
    n_rows = [torch.tensor([0.0, 0, 0, 1, 1]), torch.tensor([0.0, 0, 0, 1, 1])]
    evidence = Evidence(n_rows, [2, 2], [0.0, 5.0], CPU)
    codes = torch.full((2, 1000), 3)
    rows = evidence.apply(make_rows(codes), torch.Generator().manual_seed(0))
    assert torch.equal(rows.codes[0], codes[0])
    assert (rows.rates[:, 0] == 0).all()
    assert (rows.codes[1] != codes[1]).any()
    assert (rows.rates[:, 1] > 0).all()


@pytest.mark.parametrize("n", [1e-30, 1e-3, 0.5, 1e12])
def test_any_sum_of_weights_gives_a_finite_pull(n):
    evidence = Evidence([torch.tensor([0.0, 0, 0, n])], [2], [1e9], CPU)
    rows = evidence.apply(make_rows(torch.full((1, 4), 3)), torch.Generator().manual_seed(0))
    assert torch.isfinite(rows.rates.square()).all()


def rows_of(effects, counts, *, noise, seed=0):
    """Return rows whose target is the effect of their category and noise."""
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(3, 3 + len(effects)), counts)
    y = np.repeat(effects, counts) + random.normal(scale=noise, size=len(codes))
    return Rows(
        torch.from_numpy(codes[None]),
        torch.empty(len(codes), 0),
        torch.from_numpy(y[:, None].astype("f4")),
    )


def test_the_more_rows_speak_for_a_category_the_further_it_is_from_unseen():
    # Every category has the same effect, up to its sign; only their rows differ.
    counts = np.repeat([1, 4, 16, 64], 20)
    effects = np.where(np.arange(80) % 2, 1.0, -1.0)
    rows = rows_of(effects, counts, noise=0.3)
    shape = Architecture((83,), (4,), (), 1, (32,))
    recipe = Recipe("squared_error", 20, 32, 0.01, 0.1, smooth=(8.0,))
    (trained,) = train_networks(shape, rows, recipe, [0])
    (table,) = trained.network.input.vectors()
    distance = np.linalg.norm(table[3:] - table[UNSEEN], axis=1)
    means = [distance[counts == n].mean() for n in (1, 4, 16, 64)]
    assert means == sorted(means)
    with torch.inference_mode():
        asked = torch.tensor([[UNSEEN, *range(3, 83)]])
        unseen, *said = trained.network(asked, torch.empty(81, 0))[:, 0].tolist()
    moved = np.abs(np.array(said) - unseen)
    assert moved[counts == 1].mean() < 0.35  # one row's worth of evidence: close to none
    assert moved[counts == 64].mean() > 0.8  # the effect is 1


def test_unseen_is_learned_and_what_was_never_met_is_unseen():
    rows = rows_of(np.array([3.0, -1.0]), np.array([30, 10]), noise=0.1)
    shape = Architecture((5,), (2,), (), 1, (8,))
    recipe = Recipe("squared_error", 5, 8, 0.01, 0.1, smooth=(4.0,))
    (trained,) = train_networks(shape, rows, recipe, [0])
    network = trained.network
    (before,) = network.input.vectors()
    before = before.copy()
    network.fill_untrained_rows(rows.count_codes([5]), [True])
    (after,) = network.input.vectors()
    np.testing.assert_array_equal(after[2:], before[2:])
    np.testing.assert_array_equal(after[0], after[UNSEEN])
    np.testing.assert_array_equal(after[1], after[UNSEEN])
    average = 0.75 * before[3] + 0.25 * before[4]
    assert np.abs(after[UNSEEN] - average).max() > 1e-3
