"""Rows of several tables side by side, beside torch's own look-ups."""

import pytest
import torch
from torch.nn import functional

from catspace.data.vocabulary import UNSEEN
from catspace.model.evidence import Pull
from catspace.model.inputs import look_up

SHAPES = [(6, 3), (5, 2), (4, 1)]


def make():
    generator = torch.Generator().manual_seed(0)
    tables = [torch.randn(shape, generator=generator).requires_grad_() for shape in SHAPES]
    codes = torch.stack([torch.randint(0, n, (11,), generator=generator) for n, _ in SHAPES])
    return tables, codes.int()


def apart(codes, tables, table_of):
    found = [functional.embedding(code, tables[i]) for code, i in zip(codes, table_of, strict=True)]
    return torch.cat(found, dim=1)


@pytest.mark.parametrize("sparse", [[], [1], [0, 1, 2]])
@pytest.mark.parametrize("table_of", [[0, 1, 2], [0, 2, 2]], ids=["own", "shared"])
def test_vectors_and_gradients_are_those_of_look_ups_apart(table_of, sparse):
    tables, codes = make()
    codes = codes.remainder(4)  # which every table has
    vectors = look_up(codes, tables, table_of, sparse)
    expected = apart(codes, tables, table_of)
    torch.testing.assert_close(vectors, expected, rtol=0, atol=0)
    met = sorted({*table_of})
    factors = torch.linspace(-1, 1, expected.numel()).view_as(expected)
    theirs = torch.autograd.grad((expected * factors).sum(), [tables[i] for i in met])
    (vectors * factors).sum().backward()
    for i, gradient in zip(met, theirs, strict=True):
        assert tables[i].grad.is_sparse == (i in sparse)
        torch.testing.assert_close(tables[i].grad.to_dense(), gradient)


def test_a_pull_is_the_gradient_of_what_rows_pay_for_their_distance():
    tables, codes = make()
    rates = torch.linspace(0, 1, codes.numel()).view(-1, len(codes))
    column_of = torch.tensor([0, 0, 0, 1, 1, 2])
    look_up(codes, tables, [0, 1, 2], [], Pull(rates, column_of)).sum().backward()
    found = [table.grad.clone() for table in tables]
    for table in tables:
        table.grad = None
    vectors = apart(codes, tables, [0, 1, 2])
    unseen = torch.cat([table[UNSEEN] for table in tables]).detach()
    paid = (rates[:, column_of] / 2 * (vectors - unseen).square()).sum(1).mean()
    (vectors.sum() + paid).backward()
    for gradient, table in zip(found, tables, strict=True):
        torch.testing.assert_close(gradient, table.grad)


def test_a_table_that_stays_as_it_is_has_no_gradient():
    tables, codes = make()
    tables[1].requires_grad_(False)
    look_up(codes, tables, [0, 1, 2], []).sum().backward()
    assert tables[1].grad is None
    assert tables[0].grad is not None
