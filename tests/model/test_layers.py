"""Dense layers as one step of torch's graph, beside the same layers step by step."""

import pytest
import torch
from torch import nn

from catspace.model.layers import activate, draw_mask, make_layers, run_layers

WIDTHS = (7, 6, 5, 2)
N_DIMS = 4


def make(seed=0):
    generator = torch.Generator().manual_seed(seed)
    layers = make_layers(WIDTHS, torch.device("cpu"))
    for i, layer in enumerate(layers):
        layer.initialize("normal", generator, is_last=i == len(layers) - 1)
        nn.init.normal_(layer.bias, generator=generator)
    vectors = torch.randn(9, N_DIMS, generator=generator, requires_grad=True)
    numbers = torch.randn(9, WIDTHS[0] - N_DIMS, generator=generator)
    return list(layers), vectors, numbers


def step_by_step(vectors, numbers, layers, activation, dropout, generator):
    """The same, as a sentence says it."""
    x = layers[0](torch.cat([vectors, numbers], dim=1))
    for layer in layers[1:]:
        x = layer(activate(x, activation, dropout=dropout, generator=generator))
    return x


def gradients(layers, vectors, output):
    output.square().sum().backward()
    return [vectors.grad, *(part.grad for layer in layers for part in layer.parameters())]


@pytest.mark.parametrize("activation", ["relu", "tanh", "identity"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_outputs_and_gradients_are_those_of_the_layers_step_by_step(activation, dropout):
    found, expected = [], []
    for results, run in ((found, run_layers), (expected, None)):
        layers, vectors, numbers = make()
        generator = torch.Generator().manual_seed(1)
        if run is None:
            output = step_by_step(vectors, numbers, layers, activation, dropout, generator)
        else:
            options = {"activation": activation, "dropout": dropout, "generator": generator}
            output = run(vectors, numbers, layers, **options)
        results += [output, *gradients(layers, vectors, output)]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_layers_that_stay_as_they_are_have_no_gradient_and_vectors_do():
    layers, vectors, numbers = make()
    for layer in layers:
        layer.requires_grad_(False)
    output = run_layers(vectors, numbers, layers, activation="relu", dropout=0.0, generator=None)
    of_vectors, *of_layers = gradients(layers, vectors, output)
    assert of_vectors.abs().sum() > 0
    assert of_layers == [None] * 6


def test_nothing_is_dropped_without_a_generator():
    layers, vectors, numbers = make()
    with_dropout, without = (
        run_layers(vectors, numbers, layers, activation="relu", dropout=dropout, generator=None)
        for dropout in (0.5, 0.0)
    )
    torch.testing.assert_close(with_dropout, without, rtol=0, atol=0)


def test_a_mask_drops_its_share_and_keeps_the_mean():
    mask = draw_mask(torch.empty(1000, 99), 0.25, torch.Generator().manual_seed(0))
    assert mask.unique().tolist() == pytest.approx([0, 4 / 3])
    assert float((mask == 0).float().mean()) == pytest.approx(0.25, abs=0.01)
