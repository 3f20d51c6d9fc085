"""What the target did where two categories met: who tells it, and of which pairs."""

from itertools import combinations

import numpy as np
import pytest
import torch

from catspace.model import pair_search
from catspace.model.pair_search import choose_columns, choose_pairs
from catspace.model.pairs import (
    PairSums,
    ToldRows,
    goals_of,
    learn_more_pairs,
    learn_pairs,
    pair_keys,
)
from catspace.preparation.rows import Rows

N_CODES = (7, 5, 6)


def make_rows(n=400, *, target=None, weight=None, seed=0):
    random = np.random.default_rng(seed)
    codes = np.stack([random.integers(0, size, n) for size in N_CODES])
    if target is None:
        target = random.normal(size=(n, 1)).astype("f4")
    weight = None if weight is None else torch.from_numpy(weight)
    return Rows(
        torch.from_numpy(codes.astype("i4")), torch.zeros(n, 0), torch.from_numpy(target), weight
    )


def told_naively(rows, pair, goal, chosen, others, *, is_share=False):
    """Return for some rows what others tell about a pair, one row after the other."""
    first, second = rows.codes[pair[0]].tolist(), rows.codes[pair[1]].tolist()
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight.numpy()
    prior = np.average(goal, weights=weight)
    told = []
    for i in chosen:
        same = [j for j in others(i) if first[j] == first[i] and second[j] == second[i]]
        total = sum(weight[j] * goal[j] for j in same) + 2 * prior
        mean = total / (sum(weight[j] for j in same) + 2)
        told.append(
            np.log(mean / (1 - mean)) - np.log(prior / (1 - prior)) if is_share else mean - prior
        )
    return np.array(told)


@pytest.mark.parametrize("kind", ["numbers", "weighted numbers", "two classes"])
def test_rows_are_told_by_the_other_folds_and_new_rows_by_all(kind):
    random = np.random.default_rng(1)
    target = random.integers(0, 2, 400) if kind == "two classes" else None
    weight = random.uniform(0.1, 2, 400) if kind == "weighted numbers" else None
    rows = make_rows(target=target, weight=weight)
    goals, is_share = goals_of(rows, 2 if kind == "two classes" else 1), kind == "two classes"
    pairs = [(0, 1), (1, 2)]
    means, told = learn_pairs(rows, pairs, N_CODES, goals, seed=5)
    fold = np.random.RandomState(5).randint(5, size=400)
    for place, pair in enumerate(pairs):
        by_others = told_naively(
            rows,
            pair,
            goals[:, 0],
            range(400),
            lambda i: np.flatnonzero(fold != fold[i]),
            is_share=is_share,
        )
        np.testing.assert_allclose(told[:, place], by_others, atol=1e-5)
        by_all = told_naively(
            rows, pair, goals[:, 0], range(400), lambda _: range(400), is_share=is_share
        )
        np.testing.assert_allclose(means(rows.codes)[:, place], by_all, atol=1e-5)


def numbers_in_an_epoch(told_rows, seed):
    """Return the numbers of all rows in one epoch, in the order of their targets."""
    batches = list(told_rows.shuffled(4, torch.Generator().manual_seed(seed)))
    place = torch.cat([batch.target[:, 0] for batch in batches]).long()
    return torch.cat([batch.numbers for batch in batches])[torch.argsort(place)]


def test_folds_are_drawn_anew_for_each_epoch_and_a_row_is_never_told_of_itself():
    rows = make_rows(target=np.arange(400, dtype="f4")[:, None])  # a row is known by its target
    goals = np.random.default_rng(3).normal(size=(400, 1))
    told_rows = ToldRows(rows, PairSums(rows, [(0, 1)], N_CODES, goals))
    first, again, later = (numbers_in_an_epoch(told_rows, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != later).float().mean() > 0.5
    # Changing the goal of one row changes what others are told, in every epoch, and not it
    changed = goals.copy()
    changed[17] += 100
    others = ToldRows(rows, PairSums(rows, [(0, 1)], N_CODES, changed, prior=goals.mean(0)))
    for seed in range(5):
        before, after = (numbers_in_an_epoch(one, seed) for one in (told_rows, others))
        assert before[17] == after[17]
        assert (before - after).abs().max() > 1


def test_rows_that_tell_each_other_are_as_they_are_in_order():
    rows = make_rows(weight=np.linspace(0.5, 2, 400))
    told_rows = ToldRows(rows, PairSums(rows, [(0, 1)], N_CODES, goals_of(rows, 1)))
    assert len(told_rows) == 400
    assert told_rows.n_bytes == rows.n_bytes
    blocks = list(told_rows.in_order(150))
    assert [len(block) for block in blocks] == [150, 150, 100]
    np.testing.assert_array_equal(torch.cat([block.codes for block in blocks], 1), rows.codes)
    for found, wanted in zip(
        told_rows.count_codes(N_CODES), rows.count_codes(N_CODES), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_a_row_is_not_told_of_its_own_target():
    target = np.random.default_rng(2).normal(size=(400, 1)).astype("f4")
    before = make_rows(target=target)
    changed = target.copy()
    changed[17] += 100
    after = make_rows(target=changed)
    # Less the prior, which all rows have a part in
    told = [
        learn_pairs(rows, [(0, 1)], N_CODES, goals_of(rows, 1) - goals_of(rows, 1).mean(), 0).told
        for rows in (before, after)
    ]
    centred = [rows.target.mean() for rows in (before, after)]
    n_others = int(((before.codes[:2] == before.codes[:2, 17:18]).all(0)).sum())
    assert abs(float(told[1][17] - told[0][17])) <= abs(float(centred[1] - centred[0])) + 1e-5
    assert n_others > 5
    assert float((told[1] - told[0]).abs().max()) > 1  # but others are


def test_pairs_that_were_not_met_are_told_zero():
    rows = make_rows(30)
    means, _ = learn_pairs(rows, [(0, 1), (0, 2)], N_CODES, goals_of(rows, 1), 0)
    everything = torch.cartesian_prod(*(torch.arange(n) for n in N_CODES)).T.int()
    told = means(everything)
    for place, (first, second) in enumerate([(0, 1), (0, 2)]):
        met = set(zip(rows.codes[first].tolist(), rows.codes[second].tolist(), strict=True))
        wanted = zip(everything[first].tolist(), everything[second].tolist(), strict=True)
        is_met = np.array([pair in met for pair in wanted])
        assert (told[~is_met, place] == 0).all()
        assert (told[is_met, place] != 0).all()


def test_no_two_pairs_of_codes_have_one_key():
    everything = torch.cartesian_prod(*(torch.arange(n) for n in N_CODES)).T.int()
    pairs = list(combinations(range(3), 2))
    keys = pair_keys(everything, pairs, N_CODES)
    met = {
        (place, *everything[list(pair), i].tolist()): int(keys[place, i])
        for place, pair in enumerate(pairs)
        for i in range(everything.shape[1])
    }
    assert len(set(met.values())) == len(met) == 7 * 5 + 7 * 6 + 5 * 6


def test_several_classes_have_a_number_each():
    target = np.random.default_rng(3).integers(0, 4, 400)
    rows = make_rows(target=target)
    goals = goals_of(rows, 4)
    np.testing.assert_array_equal(goals, np.eye(4)[target])
    means, told = learn_pairs(rows, [(0, 1), (1, 2)], N_CODES, goals, 0)
    assert told.shape == (400, 8)
    assert means.width == 8
    assert means(rows.codes[:, :3]).shape == (3, 8)


def interacting(n=6_000, seed=0):
    """Return rows whose target depends on the first two columns together, and on the third."""
    random = np.random.default_rng(seed)
    rows = make_rows(n, seed=seed)
    effect = random.normal(size=(7, 5))
    effect -= effect.mean(0) + effect.mean(1)[:, None] - effect.mean()
    y = effect[rows.codes[0], rows.codes[1]] + np.linspace(0, 2, 6)[rows.codes[2]]
    y = y + random.normal(scale=0.5, size=n)
    return rows, y


def test_the_pair_that_acts_together_is_found_after_the_column_that_acts_alone():
    rows, y = interacting()
    rows = make_rows(6_000, target=y[:, None].astype("f4"))
    assert choose_pairs(rows, N_CODES, 1, seed=0) == ((2, 2), (0, 1))
    classes = make_rows(6_000, target=(y > y.mean()).astype("i8"))
    # Whether a sum is above a bound depends on all of its parts together.
    assert choose_pairs(classes, N_CODES, 2, seed=0)[:2] == ((2, 2), (0, 1))


def test_no_pair_is_found_where_columns_act_alone_or_not_at_all():
    random = np.random.default_rng(4)
    rows = make_rows(5_000)
    y = np.linspace(0, 2, 7)[rows.codes[0]] + np.linspace(-1, 1, 5)[rows.codes[1]]
    y = y + random.normal(scale=0.3, size=5_000)
    assert choose_pairs(make_rows(5_000, target=y[:, None].astype("f4")), N_CODES, 1, 0) == ()
    noise = random.normal(size=(5_000, 1)).astype("f4")
    assert choose_pairs(make_rows(5_000, target=noise), N_CODES, 1, 0) == ()
    constant = np.zeros((5_000, 1), dtype="f4")
    assert choose_pairs(make_rows(5_000, target=constant), N_CODES, 1, 0) == ()


def test_a_column_that_says_what_another_says_makes_no_second_pair():
    rows, y = interacting()
    twice = Rows(
        torch.cat([rows.codes, rows.codes[:1]]),
        rows.numbers,
        torch.from_numpy(y[:, None].astype("f4")),
    )
    found = choose_pairs(twice, (*N_CODES, 7), 1, seed=0)
    assert sum(first != second for first, second in found) == 1


def test_many_outputs_have_fewer_pairs(monkeypatch):
    for name in ("_WORTH_TELLING", "_WORTH_LOOKING", "_TIMES_CHANCE"):
        monkeypatch.setattr(pair_search, name, 0.0)
    rows = make_rows(500, target=np.random.default_rng(0).normal(size=(500, 8)).astype("f4"))
    found = choose_pairs(rows, N_CODES, 8, seed=0)
    assert [first == second for first, second in found] == [True, True, False, False]
    many = make_rows(500, target=np.random.default_rng(0).normal(size=(500, 17)).astype("f4"))
    assert choose_pairs(many, N_CODES, 17, seed=0) == choose_columns(many, N_CODES, 17, 0) == ()


def test_the_search_holds_no_more_for_many_outputs(monkeypatch):
    held = []

    def nothing(left, told):
        held.append(told.size)
        return np.zeros(told.shape[1])

    monkeypatch.setattr(pair_search, "_explained", nothing)
    monkeypatch.setattr(pair_search, "_SEARCHED_ROWS", 300)
    for n_outputs in (1, 16):
        target = np.random.default_rng(0).normal(size=(500, n_outputs)).astype("f4")
        choose_pairs(make_rows(500, target=target), N_CODES, n_outputs, seed=0)
    assert len(held) == 6
    assert max(held[3:]) <= 1.1 * max(held[:3])


def test_numbers_of_pairs_follow_their_codes_when_these_are_numbered_anew():
    rows = make_rows()
    pairs = [(0, 1), (2, 0), (1, 1)]
    means = learn_pairs(rows, pairs, N_CODES, goals_of(rows, 1), 0).means
    # Codes from 3 on are categories: two of the first column and one of the third are new.
    origins = [np.array([0, 1, 2, 2, 3, 4, 2, 5, 6]), np.arange(5), np.array([0, 1, 2, 5, 2, 3, 4])]
    moved = means.renumbered(origins)
    now = [
        np.argmax(origin == np.arange(n)[:, None], axis=1)
        for origin, n in zip(origins, N_CODES, strict=True)
    ]
    codes = torch.stack(
        [torch.from_numpy(now[i][column.numpy()]) for i, column in enumerate(rows.codes)]
    )
    np.testing.assert_array_equal(moved(codes), means(rows.codes))
    assert moved.met(codes).all()
    new = codes.clone()
    new[0] = 3
    assert not moved.met(new)[:2].any()
    assert (moved(new)[:, :2] == 0).all()


def test_more_rows_tell_of_pairs_that_were_not_met_and_leave_the_others():
    rows, more = make_rows(), make_rows(60, seed=1)
    rows = rows.take(torch.from_numpy(np.flatnonzero(rows.codes[0].numpy() < 5)))
    goals = goals_of(more, 1)
    known = learn_pairs(rows, [(0, 1)], N_CODES, goals_of(rows, 1), 0).means
    means, told = learn_more_pairs(known, more, goals, 3)
    is_old = more.codes[0].numpy() < 5
    np.testing.assert_array_equal(told.numpy()[is_old], known(more.codes).numpy()[is_old])
    np.testing.assert_array_equal(means(rows.codes), known(rows.codes))
    alone = learn_pairs(more, [(0, 1)], N_CODES, goals, 3, prior=known.prior)
    np.testing.assert_array_equal(told.numpy()[~is_old], alone.told.numpy()[~is_old])
    np.testing.assert_array_equal(
        means(more.codes).numpy()[~is_old], alone.means(more.codes).numpy()[~is_old]
    )
