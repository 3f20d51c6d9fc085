import math
from itertools import pairwise

import pytest

from catspace import EmbeddingRegressor
from catspace.model.recipe import defaults_for, make_recipe


def test_defaults_move_one_way_with_the_number_of_rows():
    sizes = [1, 200, 2_000, 20_000, 200_000, 2_000_000, 20_000_000]
    recipes = [defaults_for(n) for n in sizes]
    for earlier, later in pairwise(recipes):
        assert earlier.batch_size <= later.batch_size
        assert earlier.max_epochs >= later.max_epochs
        assert earlier.dropout >= later.dropout


@pytest.mark.parametrize("n_samples", [1, 50, 200_000, 10**9])
def test_defaults_are_usable_at_any_size(n_samples):
    defaults = defaults_for(n_samples)
    assert defaults.batch_size >= 1
    assert defaults.max_epochs >= 1
    assert 0 <= defaults.dropout < 1


def recipe(n_samples, **parameters):
    settings = EmbeddingRegressor(**parameters).get_params()
    return make_recipe(settings, n_samples=n_samples, is_classification=False)


def n_steps(made, n_samples):
    return made.epochs * math.ceil(n_samples / made.batch_size)


@pytest.mark.parametrize("n_samples", [200, 5_000, 200_000, 10**7])
@pytest.mark.parametrize("changes", [{}, {"max_epochs": 20}, {"learning_rate": 1e-3}])
def test_weight_decay_shrinks_alike_however_many_steps_there_are(n_samples, changes):
    made = recipe(n_samples, **changes)
    shrinkage = n_steps(made, n_samples) * made.weight_decay * made.learning_rate / 2
    assert shrinkage == pytest.approx(defaults_for(n_samples).shrinkage)


@pytest.mark.parametrize("changes", [{}, {"max_epochs": 4}, {"batch_size": 4096}])
def test_a_trial_on_some_of_the_rows_shrinks_weights_alike(changes):
    made = recipe(200_000, **changes)
    fewer = made.for_fewer_rows(200_000, 50_000)
    assert fewer.batch_size == made.batch_size // 2
    assert fewer.epochs > made.epochs
    shrinkage = n_steps(made, 200_000) * made.weight_decay
    assert n_steps(fewer, 50_000) * fewer.weight_decay == pytest.approx(shrinkage)


def test_a_trial_on_all_rows_is_as_long_as_the_training_and_no_longer_than_the_default():
    made = recipe(20_000, batch_size=999)
    assert made.for_fewer_rows(20_000, 20_000) == made
    short = recipe(20_000, max_epochs=3)
    assert short.for_fewer_rows(20_000, 20_000) == short
    long = recipe(20_000, max_epochs=1_000).for_fewer_rows(20_000, 20_000)
    assert long.epochs == defaults_for(20_000).max_epochs


def test_weight_decay_spares_the_weights_where_there_are_few_steps():
    made = recipe(20, max_epochs=1)
    assert made.weight_decay * made.learning_rate == pytest.approx(0.05)


def test_what_the_user_sets_is_kept():
    made = recipe(1000, max_epochs=7, batch_size=9, learning_rate=0.5, weight_decay=0)
    assert (made.epochs, made.batch_size) == (7, 9)
    assert (made.learning_rate, made.weight_decay) == (0.5, 0)
    assert made.patience is None
    assert recipe(1000, early_stopping=True, n_iter_no_change=4).patience == 4


def test_the_loss_follows_the_target_unless_it_is_set():
    assert recipe(1000).loss == "squared_error"
    assert recipe(1000, target_transform="log").loss == "huber"
    assert recipe(1000, target_transform="log", loss="quantile").loss == "quantile"
