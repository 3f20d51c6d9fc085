import numpy as np
import pytest
import torch

from catspace.model.network import Architecture, EntityNetwork, PiecewiseLinear, bin_edges


def build(seed=0, initialization="normal", **changes):
    shape = {
        "n_codes": (5, 4),
        "dims": (3, 2),
        "n_numbers": 2,
        "n_bins": 0,
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
    codes, numbers = batch
    network = build()
    changed = codes.clone()
    changed[0] = (changed[0] + 1) % 5
    before, after = network.input(codes, numbers), network.input(changed, numbers)
    assert (before[:, :3] != after[:, :3]).any()
    torch.testing.assert_close(before[:, 3:], after[:, 3:], rtol=0, atol=0)


@pytest.mark.parametrize("name", ["relu", "tanh", "logistic"])
def test_the_embedding_activation_acts_on_vectors_and_not_on_numbers(batch, name):
    codes, numbers = batch
    plain = build().input(codes, numbers)
    network = build(embedding_activation=name)
    function = {"relu": torch.relu, "tanh": torch.tanh, "logistic": torch.sigmoid}[name]
    torch.testing.assert_close(
        network.input(codes, numbers), torch.cat([function(plain[:, :5]), plain[:, 5:]], dim=1)
    )
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


def test_a_number_fills_the_bins_below_it():
    layer = PiecewiseLinear(1, 4)
    layer.set_bins(np.arange(9.0).reshape(-1, 1))  # edges 0, 2, 4, 6, 8
    expected = [[5.0, 1.0, 1.0, 0.5, 0.0], [-1.0, 0.0, 0.0, 0.0, 0.0], [9.0, 1.0, 1.0, 1.0, 1.0]]
    np.testing.assert_array_equal(layer(torch.tensor([[5.0], [-1.0], [9.0]])), expected)


def test_a_value_that_many_rows_share_takes_one_edge_and_leaves_the_others_to_the_rest():
    random = np.random.default_rng(0)
    tail = random.lognormal(size=1_000)
    edges = bin_edges(np.concatenate([np.zeros(9_000), tail]), 16)
    np.testing.assert_allclose(edges, [0, *np.quantile(tail, np.linspace(0, 1, 16))])


def test_without_such_a_value_edges_are_quantiles():
    values = np.random.default_rng(0).normal(size=500)
    np.testing.assert_array_equal(bin_edges(values, 16), np.quantile(values, np.linspace(0, 1, 17)))


@pytest.mark.parametrize("n_common", [0, 1, 5, 15, 16])
def test_there_are_never_more_bins_than_asked_for_and_they_span_the_values(n_common):
    random = np.random.default_rng(n_common)
    values = np.concatenate([np.repeat(np.arange(n_common), 100.0), random.normal(size=60)])
    edges = bin_edges(values, 16)
    assert len(edges) <= 17
    assert (np.diff(edges) > 0).all()
    assert edges[0] == values.min()
    assert edges[-1] == values.max()
    assert set(range(n_common)) <= set(edges) or n_common == 16


def test_bins_of_a_number_with_few_values_leave_the_rest_empty():
    layer = PiecewiseLinear(1, 4)
    layer.set_bins(np.array([[0.0], [0.0], [0.0], [1.0]]))
    filled = layer(torch.tensor([[0.5], [1.0]]))[:, 1:]
    assert torch.isfinite(filled).all()
    assert (filled[1] > 0).sum() < 4
