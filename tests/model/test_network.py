import numpy as np
import pytest
import torch

from catspace.model.architecture import Architecture
from catspace.model.network import EntityNetwork


def build(seed=0, initialization="normal", **changes):
    shape = {
        "n_codes": (5, 4),
        "dims": (3, 2),
        "n_bins": (0, 0),
        "n_outputs": 1,
        "hidden_layer_sizes": (8, 6),
    }
    network = EntityNetwork(Architecture(**{**shape, **changes}))
    network.initialize(initialization, torch.Generator().manual_seed(seed))
    return network


@pytest.fixture
def batch():
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(0, 5, 16), random.integers(0, 4, 16)])
    return torch.from_numpy(codes), torch.from_numpy(random.normal(size=(16, 2)).astype("f4"))


def one_hot(codes):
    """Stack the one-hot matrices of both columns; (batch, 5 + 4)."""
    return torch.cat(
        [torch.nn.functional.one_hot(codes[0], 5), torch.nn.functional.one_hot(codes[1], 4)], dim=1
    ).float()


def test_an_embedding_is_a_linear_layer_on_one_hot_input(batch):
    codes, numbers = batch
    network = build()
    tables = [table.detach().clone() for table in network.input.tables]
    block = torch.block_diag(*tables).requires_grad_()  # (5 + 4, 3 + 2)
    x = torch.cat([one_hot(codes) @ block, numbers], dim=1)
    for layer in network.dense_layers[:-1]:
        x = torch.relu(layer(x))
    expected = network.dense_layers[-1](x)
    torch.testing.assert_close(network(codes, numbers), expected)

    expected.sum().backward()
    by_one_hot = block.grad.clone()
    network.zero_grad()
    network(codes, numbers).sum().backward()
    torch.testing.assert_close(network.input.tables[0].grad, by_one_hot[:5, :3])
    torch.testing.assert_close(network.input.tables[1].grad, by_one_hot[5:, 3:])


def test_the_one_hot_network_is_a_dense_network_on_one_hot_input(batch):
    codes, numbers = batch
    network = build(input_encoding="onehot")
    first = network.input
    weight = torch.cat([*first.tables], dim=0).detach().requires_grad_()  # (5 + 4, 8)
    x = torch.relu(one_hot(codes) @ weight + numbers @ first.numbers.T + first.bias)
    x = torch.relu(network.dense_layers[0](x))
    expected = network.dense_layers[1](x)
    torch.testing.assert_close(network(codes, numbers), expected)

    expected.sum().backward()
    by_one_hot = weight.grad.clone()
    network.zero_grad()
    network(codes, numbers).sum().backward()
    got = torch.cat([table.grad for table in first.tables])
    torch.testing.assert_close(got, by_one_hot)


def test_changing_one_column_leaves_the_vectors_of_the_others_unchanged(batch):
    codes, _ = batch
    network = build()
    changed = codes.clone()
    changed[0] = (changed[0] + 1) % 5
    before, after = network.input(codes), network.input(changed)
    assert (before[:, :3] != after[:, :3]).any()
    torch.testing.assert_close(before[:, 3:], after[:, 3:], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["relu", "tanh", "logistic"])
def test_the_embedding_activation_acts_on_vectors_and_not_on_numbers(batch, name):
    codes, numbers = batch
    plain = build().input(codes)
    network = build(embedding_activation=name)
    function = {"relu": torch.relu, "tanh": torch.tanh, "logistic": torch.sigmoid}[name]
    torch.testing.assert_close(network.input(codes), function(plain))
    x = torch.cat([function(plain), numbers], dim=1)
    for layer in network.dense_layers[:-1]:
        x = torch.relu(layer(x))
    torch.testing.assert_close(network(codes, numbers), network.dense_layers[-1](x))
    expected = function(network.input.tables[0].detach()).numpy()
    np.testing.assert_array_equal(network.input.vectors()[0], expected)


def test_dropout_acts_only_with_a_generator_and_keeps_the_mean(batch):
    codes, numbers = batch
    network = build(dropout=0.5, hidden_layer_sizes=(4000,))
    silent = network(codes, numbers)
    torch.testing.assert_close(network(codes, numbers), silent, rtol=0, atol=0)
    generator = torch.Generator().manual_seed(0)
    noisy = torch.stack([network(codes, numbers, generator) for _ in range(200)])
    assert (noisy[0] != silent).any()
    torch.testing.assert_close(noisy.mean(dim=0), silent, rtol=0.1, atol=0.1)


def test_uniform_initialization_is_that_of_the_papers_keras():
    network = build(initialization="uniform", n_codes=(2000, 4), hidden_layer_sizes=(1000, 500))
    assert 0.049 < network.input.tables[0].abs().max() <= 0.05
    first = network.dense_layers[0].weight  # Glorot: sqrt(6 / (7 + 1000))
    assert 0.99 < first.abs().max() / np.sqrt(6 / 1007) <= 1
    assert (network.dense_layers[0].bias == 0).all()


def test_rows_that_training_never_met_get_the_weighted_mean():
    network = build()
    table = network.input.tables[0].detach().clone()
    counts = [torch.tensor([0, 0, 0, 3, 1]), torch.ones(4, dtype=int)]
    network.fill_untrained_rows(counts, [False, False])
    mean = (3 * table[3] + table[4]) / 4
    for row in range(3):
        torch.testing.assert_close(network.input.tables[0][row], mean)
    torch.testing.assert_close(network.input.tables[0][3:], table[3:], rtol=0, atol=0)


@pytest.mark.parametrize("dropout", [0.025, 0.2, 0.5])
def test_dropout_falls_as_often_as_asked_for_and_anew_each_time(dropout):
    # One weight of 1 at the output, so that what comes out is what was left of each unit.
    network = build(n_codes=(1,), dims=(1,), n_bins=(), hidden_layer_sizes=(64,), dropout=dropout)
    with torch.no_grad():
        network.dense_layers[0].bias.fill_(1.0)
        network.dense_layers[0].weight.zero_()
        network.dense_layers[1].weight.fill_(1.0)
    codes, numbers = torch.zeros(1, 999, dtype=torch.int64), torch.empty(999, 0)
    generator = torch.Generator().manual_seed(0)
    first, second = (network(codes, numbers, generator).detach() for _ in range(2))
    n_kept = first * (1 - dropout)  # of 64
    torch.testing.assert_close(n_kept, n_kept.round())
    n_units = 64 * 999
    expected, spread = n_units * (1 - dropout), (n_units * dropout * (1 - dropout)) ** 0.5
    assert abs(n_kept.sum() - expected) < 4 * spread
    assert np.corrcoef(first[:, 0], second[:, 0])[0, 1] < 0.15


@pytest.mark.parametrize("n_bins", [(), (0, 0)])
def test_gradients_are_those_of_vectors_and_numbers_in_one_dense_layer(batch, n_bins):
    codes, numbers = batch[0], batch[1][:, : len(n_bins)]
    network = build(n_bins=n_bins)
    network(codes, numbers).square().sum().backward()
    found = [weight.grad.clone() for weight in network.parameters()]
    network.zero_grad()
    x = torch.cat([network.input(codes), numbers], dim=1)
    for layer in network.dense_layers[:-1]:
        x = torch.relu(layer(x))
    network.dense_layers[-1](x).square().sum().backward()
    for gradient, weight in zip(found, network.parameters(), strict=True):
        torch.testing.assert_close(gradient, weight.grad)
