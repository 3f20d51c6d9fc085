import numpy as np
import pytest
import torch

from catspace.model.pieces import PiecewiseLinear, bin_edges, cut_numbers


def cut(numbers, n_bins):
    """Return the pieces of these numbers."""
    edges = cut_numbers(numbers, n_bins)
    layer = PiecewiseLinear([max(0, len(cuts) - 1) for cuts in edges])
    layer.set_edges(edges)
    return layer


def test_a_number_fills_the_bins_below_it():
    layer = cut(np.arange(9.0).reshape(-1, 1), 4)  # edges 0, 2, 4, 6, 8
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


def test_there_are_only_bins_that_tell_numbers_apart():
    random = np.random.default_rng(0)
    few = np.array([0.0, 2.0, 3.0])
    flag, constant = np.array([0.0, 1.0]), np.array([7.0])
    numbers = np.stack(
        [random.choice(v, 100) for v in (few, flag, constant, random.normal(size=99))], 1
    )
    layer = cut(numbers, 4)
    assert layer.number_of.tolist() == [0, 0, 3, 3, 3, 3]
    assert layer.width == 4 + 6
    x = torch.tensor([[2.5, 1.0, 7.0, numbers[:, 3].max()]])
    np.testing.assert_allclose(layer(x)[0, 4:], [1.0, 0.5, 1.0, 1.0, 1.0, 1.0], rtol=1e-6)


def test_numbers_without_a_bin_are_given_as_they_are():
    numbers = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
    layer = cut(numbers.numpy(), 16)
    assert layer.width == 2
    np.testing.assert_array_equal(layer(numbers), numbers)
