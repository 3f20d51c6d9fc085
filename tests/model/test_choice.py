import math
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from catspace import EmbeddingClassifier, EmbeddingRegressor
from catspace.exceptions import NothingLearnedWarning
from catspace.model import choice, trials
from catspace.model.architecture import Architecture
from catspace.model.choice import Judged, settle
from catspace.model.losses import LOSSES, constant_loss
from catspace.model.plan import Lengths, TrainingPlan
from catspace.model.recipe import Recipe, defaults_for
from catspace.model.trials import Found
from catspace.model.turns import Epoch
from catspace.preparation.rows import Rows

RECIPE = Recipe("squared_error", 10, 64, 0.01, 0.1, smooth=(0.0,))
LENGTHS = {6: 0.2, 16: 0.07}  # epochs, fewer and more, and their decay


def make_rows(n, n_categories, *, noise, seed=0):
    """Return rows whose target is a draw for each category, and noise."""
    random = np.random.default_rng(seed)
    codes = random.integers(3, 3 + n_categories, size=n)
    effect = random.normal(size=3 + n_categories)
    y = effect[codes] + random.normal(scale=noise, size=n)
    return Rows(
        torch.from_numpy(codes[None]),
        torch.empty(n, 0),
        torch.from_numpy((y / y.std())[:, None].astype("f4")),
    )


def make_plan(rows, n_categories, **changes):
    shape = Architecture((3 + n_categories,), (16,), (), 1, (64,))
    plan = TrainingPlan(shape, RECIPE, [1], ["shop"], (), torch.device("cpu"), unsettled=(0,))
    return replace(plan, **changes)


def test_a_noisy_target_asks_for_more_smoothing_than_a_clean_one():
    found = []
    for noise in (0.05, 3.0):
        rows = make_rows(4_000, 400, noise=noise)
        plan, _ = settle(make_plan(rows, 400), rows, None)
        found += plan.recipe.smooth
    assert found[0] < found[1]


@pytest.mark.parametrize(
    ("noise", "n_rows", "dropout"),
    [(3.0, 4_000, 0.25), (0.05, 4_000, 0.0), (3.0, 1_000, 0.0)],
    ids=["noise", "clean", "too few rows to say it"],
)
def test_dropout_is_that_of_noise_where_most_of_the_target_is(noise, n_rows, dropout):
    rows = make_rows(n_rows, 40, noise=noise)
    plan, _ = settle(make_plan(rows, 40, noisy_dropout=0.25), rows, None)
    assert plan.architecture.dropout == dropout
    assert plan.noisy_dropout is None
    kept, _ = settle(make_plan(rows, 40), rows, None)
    assert kept.architecture.dropout == 0.0


@pytest.mark.parametrize(
    ("n_categories", "n_epochs"), [(40, 6), (400, 16)], ids=["soon learned", "still learning"]
)
def test_the_length_of_the_training_follows_what_time_gives_small_networks(
    monkeypatch, n_categories, n_epochs
):
    rows = make_rows(4_000, n_categories, noise=0.5)
    plan = make_plan(
        rows,
        n_categories,
        recipe=replace(RECIPE, epochs=12),
        lengths=Lengths(
            *(replace(RECIPE, epochs=n, weight_decay=decay) for n, decay in LENGTHS.items())
        ),
    )
    found, _ = settle(plan, rows, None)
    assert (found.recipe.epochs, found.recipe.weight_decay) == (n_epochs, LENGTHS[n_epochs])
    assert found.recipe.smooth[0] > 0
    # Where the user has said how long, half of a trial's time is not tried.
    lengths, run = [], trials.run_side_by_side

    def counted(trainings, *arguments, **options):
        lengths.extend(training.recipe.epochs for training in trainings)
        return run(trainings, *arguments, **options)

    monkeypatch.setattr(trials, "run_side_by_side", counted)
    kept, _ = settle(replace(plan, lengths=None), rows, None)
    assert kept.recipe.epochs == 12
    assert lengths[0] == 6
    assert 3 not in lengths


def test_trials_are_no_longer_than_those_of_the_default_however_long_the_training(monkeypatch):
    rows, lengths, run = make_rows(2_500, 20, noise=0.5), [], trials.run_side_by_side

    def counted(trainings, *arguments, **options):
        lengths.extend(training.recipe.epochs for training in trainings)
        return run(trainings, *arguments, **options)

    monkeypatch.setattr(trials, "run_side_by_side", counted)
    plan = make_plan(rows, 20, recipe=replace(RECIPE, epochs=10**6))
    found, _ = settle(plan, rows, None)
    usual = defaults_for(2_500).max_epochs
    assert lengths[0] == math.ceil(usual / 2)
    assert max(lengths) <= usual
    assert found.recipe.epochs == 10**6


def test_the_choice_does_not_depend_on_how_many_trials_run_at_a_time():
    rows = make_rows(3_000, 300, noise=1.0)
    one, two = (settle(make_plan(rows, 300), rows, None, n_jobs=n) for n in (1, 2))
    assert one == two


def of_two_columns(n_samples, sizes, effects, *, noise):
    """Return a plan that may tell of pairs, and rows whose target follows from two codes."""
    random = np.random.default_rng(0)
    codes = np.stack([random.integers(3, n, size=n_samples) for n in sizes])
    y = effects(random, codes) + random.normal(scale=noise, size=n_samples)
    rows = Rows(
        torch.from_numpy(codes),
        torch.empty(n_samples, 0),
        torch.from_numpy((y / y.std())[:, None].astype("f4")),
    )
    plan = replace(
        make_plan(rows, 12, recipe=replace(RECIPE, smooth=(0.0, 0.0))),
        architecture=Architecture(sizes, (6, 8), (), 1, (64,)),
        columns=["month", "day"],
        unsettled=(0, 1),
        tries_pairs=True,
    )
    return plan, rows


def of_pairs(random, codes):
    return random.normal(size=(15, 23))[codes[0], codes[1]]


def of_both(random, codes):
    return random.normal(size=400)[codes[0]] + random.normal(size=400)[codes[1]]


def test_pairs_are_told_where_they_matter_however_many_trials_run_at_a_time():
    plan, rows = of_two_columns(3_000, (15, 23), of_pairs, noise=0.3)
    one, two = (settle(plan, rows, None, n_jobs=n) for n in (1, 2))
    assert one == two
    assert one[0].pairs[-1] == (0, 1)
    assert one[0].recipe.smooth[0] == one[0].recipe.smooth[1] > 0


def test_where_nothing_is_to_be_smoothed_nothing_more_is_asked(monkeypatch):
    plan, rows = of_two_columns(4_000, (400, 400), of_both, noise=0.1)
    for name in ("learn_sooner", "find_pairs", "tell"):
        monkeypatch.delattr(choice.Trials, name)
    found, _ = settle(plan, rows, None)
    assert found.recipe.smooth == (0.0, 0.0)
    assert found.pairs == ()


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ({1.0: 0.51, 4.0: 0.502, 16.0: 0.503, 64.0: 0.5}, 8.0),
        ({4.0: 0.52, 16.0: 0.5, 32.0: 0.52}, pytest.approx(16 * 4 ** -(7 / 20), rel=0.1)),
        ({4.0: 0.8, 16.0: 0.5, 64.0: 0.8}, 16.0),
        ({16.0: 0.6, 32.0: 0.55, 64.0: 0.5}, pytest.approx(64 / 2**0.14, rel=0.05)),
        ({1.0: 0.5, 2.0: 0.8, 4.0: 0.9}, 1.0),
    ],
    ids=["flat", "flat on one side", "sharp", "strongest", "weakest"],
)
def test_of_smoothings_that_do_as_well_the_usual_one_is_taken(losses, expected):
    assert choice.choose_between(losses, 0.007) == expected


def test_any_difference_counts_where_nothing_is_tolerated():
    losses = {1.0: 0.51, 4.0: 0.50001, 16.0: 0.503, 64.0: 0.5}
    assert choice.choose_between(losses, 0.0) == 64.0


def lengthened(plan, *, gained, constant=1.0, gained_unsmoothed=0.0):
    """Return the epochs after trials that lost a half, and so much more in half of the time."""
    found = Found({4.0: 0.5}, 0.5 + gained, gained_unsmoothed=gained_unsmoothed)
    return choice._with_length(plan, found, Judged(0.5, constant)).recipe.epochs


@pytest.fixture
def of_any_length():
    plan = make_plan(make_rows(10, 2, noise=1), 2, recipe=replace(RECIPE, epochs=12))
    return replace(plan, lengths=Lengths(*(replace(RECIPE, epochs=n) for n in LENGTHS)))


@pytest.mark.parametrize(
    ("gained", "n_epochs"), [(0.0, 6), (0.009, 6), (0.011, 12), (0.06, 16), (-0.01, 6)]
)
def test_little_gain_is_a_shorter_training_and_much_a_longer_one(of_any_length, gained, n_epochs):
    assert lengthened(of_any_length, gained=gained) == n_epochs
    as_the_user_says = replace(of_any_length, lengths=None)
    assert lengthened(as_the_user_says, gained=gained) == 12


def test_what_explains_little_is_not_trained_for_longer(of_any_length):
    assert lengthened(of_any_length, gained=0.2, constant=0.6) == 12


@pytest.mark.parametrize("gained", [0.2, 0.0])
def test_what_nothing_holds_back_is_trained_for_the_usual_time(of_any_length, gained):
    assert lengthened(of_any_length, gained=gained, gained_unsmoothed=0.1) == 12


@pytest.mark.parametrize(
    ("loss", "n_judges", "is_by_chance"),
    [
        (0.99, 450, True),
        (0.96, 450, False),
        (0.99, 20_000, False),
        (1.01, 20_000, True),
        (0.94, 100, True),
    ],
)
def test_few_rows_that_judge_must_gain_more_than_many(loss, n_judges, is_by_chance):
    assert choice._is_by_chance(loss, 1.0, n_judges) == is_by_chance


def test_a_loss_below_zero_is_never_taken_for_chance():
    assert not choice._is_by_chance(-0.5, -0.4, 100)


@pytest.mark.parametrize(
    ("told", "untold", "sooner", "is_worth_it"),
    [
        (0.90, 1.00, 1.02, True),
        (0.98, 1.00, 1.05, False),  # with more time it would find as much by itself
        (0.995, 1.00, 1.00, False),  # hardly anything
        (-1.20, -1.00, -0.95, True),  # a loss that somebody has brought along
        (-1.004, -1.00, -1.00, False),
        (math.inf, 1.00, math.nan, False),  # nobody has tried
    ],
)
def test_pairs_must_give_more_than_more_time_would(told, untold, sooner, is_worth_it):
    paired = {4.0: told} if math.isfinite(told) else {}
    found = Found({4.0: untold}, sooner, ((0, 1),), paired)
    assert found.are_pairs_worth_telling == is_worth_it


@pytest.mark.parametrize(
    ("best", "sooner", "is_found"),
    [(1.0, 1.9, False), (1.0, 2.1, True), (1.0, math.nan, False), (-1.0, 1.0, False)],
)
def test_pairs_are_not_tried_where_time_takes_more_away_than_is_left(best, sooner, is_found):
    found = Found({4.0: best, 16.0: best + 0.2}, sooner)
    assert found.is_found_in_time == is_found
    perfect = found._replace(pairs=((0, 1),), paired={4.0: 0.0})
    assert not (is_found and perfect.are_pairs_worth_telling)


def test_single_columns_must_give_as_much_as_is_asked_of_them_whatever_time_would():
    found = Found({4.0: 1.0}, 1.05, ((0, 0), (1, 1)), {4.0: 0.98})
    assert found.are_pairs_worth_telling
    assert not found._replace(worth_telling=0.03).are_pairs_worth_telling


@pytest.mark.parametrize(
    ("most", "size"), [("_MOST_IN_TABLES", 403 * 8), ("_MOST_IN_BATCH", 64 * 8)]
)
def test_large_networks_are_tried_one_by_one_and_come_to_the_same_choice(monkeypatch, most, size):
    rows = make_rows(4_000, 400, noise=3.0)
    together, judged = settle(make_plan(rows, 400), rows, None)
    n_networks, run = [], trials.run_side_by_side

    def counted(trainings, *arguments, **options):
        found = run(trainings, *arguments, **options)
        n_networks.extend(len(result.losses) for result in found)
        return found

    monkeypatch.setattr(trials, "run_side_by_side", counted)
    monkeypatch.setattr(trials, most, size - 1)
    alone, judged_alone = settle(make_plan(rows, 400), rows, None)
    assert n_networks == [1] * 4
    assert alone.recipe.smooth == together.recipe.smooth
    assert judged_alone.loss == pytest.approx(judged.loss)


def test_the_rows_that_are_to_be_trained_on_are_all_there_afterwards():
    rows = make_rows(3_000, 300, noise=1.0)
    before = rows.target.clone()
    settle(make_plan(rows, 300), rows, None)
    assert len(rows) == 3_000
    assert torch.equal(rows.target, before)


def test_columns_that_have_a_number_keep_it():
    rows = make_rows(3_000, 300, noise=1.0)
    plan, judged = settle(make_plan(rows, 300, unsettled=()), rows, None)
    assert plan.recipe.smooth == (0.0,)
    assert judged is None


def test_few_rows_are_not_tried_but_smoothed_all_the_same():
    rows = make_rows(150, 15, noise=1.0)
    plan, judged = settle(make_plan(rows, 15), rows, None)
    assert plan.recipe.smooth == (8.0,)
    assert judged is None


def test_of_few_rows_each_is_held_back_once():
    rows = make_rows(402, 40, noise=1.0)
    splits = choice._split(rows, None, len(rows), np.random.RandomState(0))
    assert [len(split.judging) for split in splits] == [101, 101, 100, 100]
    judging = torch.cat([split.judging.target for split in splits])
    assert torch.equal(judging.sort(dim=0).values, rows.target.sort(dim=0).values)
    for split in splits:
        both = torch.cat([split.learning.target, split.judging.target])
        assert torch.equal(both.sort(dim=0).values, rows.target.sort(dim=0).values)


def test_few_rows_of_very_many_categories_are_not_tried(monkeypatch):
    rows = make_rows(1_500, 300, noise=1.0)
    monkeypatch.setattr(trials, "_MOST_IN_TABLES", 303 * 8 - 1)
    plan, judged = settle(make_plan(rows, 300), rows, None)
    assert plan.recipe.smooth == (8.0,)
    assert judged is None


def test_few_rows_of_noise_are_smoothed_as_strongly_as_can_be():
    random = np.random.default_rng(0)
    rows = make_rows(600, 200, noise=1.0)
    noise = torch.from_numpy(random.normal(size=(600, 1)).astype("f4"))
    plan, judged = settle(make_plan(rows, 200), replace(rows, target=noise), None)
    assert plan.recipe.smooth == (256.0,)
    assert judged is None  # parts of few rows are no proof that there is nothing to learn


def test_few_rows_with_clear_effects_are_not():
    rows = make_rows(600, 60, noise=0.1)
    plan, judged = settle(make_plan(rows, 60), rows, None)
    assert plan.recipe.smooth[0] < 32
    assert judged is None


@pytest.mark.parametrize(
    ("losses", "most", "is_class", "expected"),
    [
        ({16.0: 0.8, 32.0: 0.5, 64.0: 0.8}, 500, True, 80.0),
        ({16.0: 0.8, 32.0: 0.5, 64.0: 0.8}, 500, False, 42.0),
        ({16.0: 0.99, 32.0: 0.98, 64.0: 0.99}, 500, False, 77.0),
        ({16.0: 0.99, 32.0: 0.98, 64.0: 0.99}, 50, False, 50.0),
        ({2.0: 0.1, 4.0: 0.2, 16.0: 0.3}, 500, False, 2.5),
    ],
    ids=["classes", "some noise", "noise", "noise in few rows each", "hardly any noise"],
)
def test_the_whole_training_has_more_smoothing_the_more_noise_there_is(
    losses, most, is_class, expected
):
    judged = Judged(min(losses.values()), 1.0)
    found = choice._for_whole_training(losses, judged, 0.0025, most, is_class=is_class)
    assert found == expected


def test_of_a_part_of_the_rows_more_smoothings_are_as_good_as_the_best():
    losses, judged = {1.0: 0.1, 4.0: 0.1005, 16.0: 0.1008}, Judged(0.1, 1.0)
    assert choice._for_whole_training(losses, judged, 0.0025, 500, is_class=False) < 4
    assert choice._for_whole_training(losses, judged, 0.01, 500, is_class=False) == 10.0


def test_a_target_that_never_changes_is_no_reason_to_fail():
    rows = make_rows(600, 20, noise=0.0)
    plan, _ = settle(make_plan(rows, 20), replace(rows, target=torch.zeros(600, 1)), None)
    assert plan.recipe.smooth[0] > 0


def test_noise_does_not_ask_for_so_much_smoothing_that_nothing_is_learned():
    rows = make_rows(3_000, 60, noise=4.0)
    plan, judged = settle(make_plan(rows, 60), rows, None)
    assert 16 < plan.recipe.smooth[0] <= 50  # the rows of a category
    assert judged.loss < judged.constant


@pytest.fixture
def tried(monkeypatch):
    """The plans and splits that small networks were tried with."""
    seen = []

    class Trials(choice.Trials):
        def __init__(self, plan, splits, *others):
            seen.append((plan, splits))
            super().__init__(plan, splits, *others)

    monkeypatch.setattr(choice, "Trials", Trials)
    return seen


def test_rows_that_are_held_back_already_are_the_judges(tried):
    rows, judges = make_rows(3_000, 300, noise=1.0), make_rows(200, 300, noise=1.0)
    settle(make_plan(rows, 300), rows, judges)
    [(_, [(learning, judging)])] = tried
    assert (len(learning), len(judging)) == (3_000, 200)


@pytest.mark.parametrize(
    ("n_samples", "n_codes", "n_learning"),
    [
        (100_000, 9, 100_000),
        (100_001, 9, 50_000),
        (10**7, 20_000, 200_000),
        (10**7, 10**6, 500_000),
        (150_000, 20_000, 150_000),
        (150_000, None, 50_000),
    ],
    ids=["few rows", "more", "many categories", "very many", "all of them", "numbers alone"],
)
def test_of_many_rows_as_many_are_looked_at_as_categories_ask_for(n_samples, n_codes, n_learning):
    n_codes, dims = ((), ()) if n_codes is None else ((5, n_codes), (2, 16))
    plan = make_plan(None, 9, architecture=Architecture(n_codes, dims, (), 1, (64,)))
    assert choice._rows_to_learn_from(plan, n_samples) == n_learning


@pytest.mark.parametrize(("are_judges_given", "n_judges"), [(False, 500), (True, 6_000)])
def test_of_many_rows_some_learn_and_others_judge(monkeypatch, tried, are_judges_given, n_judges):
    monkeypatch.setattr(choice, "_LOOKED_AT_WHOLE", 5_000)
    monkeypatch.setattr(choice, "_ENOUGH_TO_LEARN", 2_000)
    monkeypatch.setattr(choice, "_MOST_HELD_BACK", 500)
    rows = make_rows(6_000, 40, noise=1.0)
    rows = replace(rows, target=torch.arange(6_000.0)[:, None])  # so that each can be told
    judges = replace(rows, target=-1 - rows.target) if are_judges_given else None
    plan, judged = settle(make_plan(rows, 40, tries_pairs=True), rows, judges)
    [(plan_tried, [(learning, judging)])] = tried
    assert (len(learning), len(judging)) == (2_000, n_judges)
    assert not set(learning.target.flatten().tolist()) & set(judging.target.flatten().tolist())
    assert (judging.target < 0).all() == are_judges_given
    assert not plan_tried.tries_pairs
    # Only trials have the batches and the epochs of a smaller table.
    assert plan_tried.recipe.batch_size < RECIPE.batch_size == plan.recipe.batch_size
    assert plan.recipe.epochs == RECIPE.epochs
    assert judged is not None


def test_ctrl_c_ends_the_trials(monkeypatch):
    rows = make_rows(3_000, 300, noise=1.0)

    def interrupted(trainings, stop: threading.Event, **options):
        stop.set()
        return []

    monkeypatch.setattr(trials, "run_side_by_side", interrupted)
    with pytest.raises(KeyboardInterrupt):
        settle(make_plan(rows, 300), rows, None)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "huber", "quantile"])
def test_no_constant_does_better_than_the_best_constant(loss):
    random = np.random.default_rng(0)
    y = torch.from_numpy(random.exponential(size=(400, 1)).astype("f4"))
    rows = Rows(torch.empty(0, 400), torch.empty(400, 0), y)
    recipe = replace(RECIPE, loss=loss, quantile=0.8 if loss == "quantile" else 0.5)
    best = min(
        float(LOSSES[loss](torch.full_like(y, value), y, recipe.quantile).mean())
        for value in np.linspace(0, 5, 1001)
    )
    # Huber's best constant lies between the mean and the median, which stand for it.
    assert constant_loss(rows, rows, recipe) == pytest.approx(best, rel=0.03)


def test_the_constant_of_classes_is_their_share_also_of_one_that_was_not_met():
    rows = Rows(torch.empty(0, 8), torch.empty(8, 0), torch.tensor([0, 0, 0, 0, 0, 0, 1, 1]))
    recipe = replace(RECIPE, loss="log_loss")
    expected = -(6 * math.log(6.5 / 9) + 2 * math.log(2.5 / 9)) / 8
    assert constant_loss(rows, rows, recipe) == pytest.approx(expected)
    new = replace(rows, target=torch.tensor([0, 1, 2, 2, 2, 2, 2, 2]))
    assert math.isfinite(constant_loss(rows, new, recipe))


def test_the_last_judges_count_but_not_the_first_epochs():
    history = [
        Epoch(0, i, 0.1, loss, 0.01, 1.0) for i, loss in enumerate([9.0, 8.0, 0.7, 0.6], start=1)
    ]
    judged = Judged(math.nan, constant=0.65)
    assert not judged.is_worse_than_constant
    assert judged.after(history[:2]) is judged
    assert judged.after(history[:3]).is_worse_than_constant
    assert not judged.after(history).is_worse_than_constant


@pytest.mark.parametrize("kind", [EmbeddingRegressor, EmbeddingClassifier])
def test_a_model_that_is_no_better_than_a_constant_says_so(kind):
    random = np.random.default_rng(0)
    X = {"id": random.integers(0, 1000, size=3_000).astype(str)}
    y = random.integers(0, 2, size=3_000)
    new = {"id": X["id"][:1_000]}, random.integers(0, 2, size=1_000)
    learning_by_heart = kind(random_state=0, smooth=0)
    with pytest.warns(NothingLearnedWarning, match=r"^A constant does as well: .*\nHint: "):
        learning_by_heart.fit(X, y, X_val=new[0], y_val=new[1])
    learning_by_heart.fit(X, y)  # nothing was held back, so nothing is known
