"""What is known about a table when more rows of it come."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catspace.data.growing import MoreColumns
from catspace.data.hashing import HashedCounts, HashedVocabulary
from catspace.data.reading import read_table
from catspace.data.statistics import learn_encoder
from catspace.data.vocabulary import MISSING, N_SPECIAL, RARE, UNSEEN, ValueCounts, Vocabulary
from catspace.exceptions import InputError
from tests.data.test_vocabulary import objects, values


def count_of(values):
    counts = ValueCounts()
    counts.add(objects(values))
    return counts


@given(st.lists(values, min_size=1), st.lists(values))
def test_a_vocabulary_that_has_grown_is_that_of_all_rows_at_once(first, second):
    known = Vocabulary.fit(objects(first))
    grown = count_of(second).grow(known)
    whole = Vocabulary.fit(objects(first + second))
    assert grown.vocabulary.categories == whole.categories
    assert grown.vocabulary.counts.tolist() == whole.counts.tolist()
    column = objects(first + second)
    codes = grown.vocabulary.codes(column.factors, column.n_rows)
    assert codes.tolist() == whole.codes(column.factors, column.n_rows).tolist()
    # Each row leads back to the one that the category had, and new ones to unseen.
    before = known.codes(column.factors, column.n_rows)
    assert grown.origin[codes].tolist() == np.where(codes < N_SPECIAL, codes, before).tolist()


def test_growing_leaves_the_vocabulary_as_it_was():
    known = Vocabulary.fit(objects(["b", "d", None]))
    counts_before = known.counts.tolist()
    count_of(["a", "c", "c", None]).grow(known)
    assert known.categories == ["b", "d"]
    assert known.counts.tolist() == counts_before


def test_what_grows_keeps_rows_and_gives_new_ones_by_frequency_and_room():
    known = Vocabulary.fit(objects(["b"] * 3 + ["d"] * 3 + ["rare"]), min_frequency=2)
    new = ["a"] * 5 + ["c"] * 2 + ["once"] + ["rare"] * 4 + ["d"]
    free = count_of(new).grow(known, min_frequency=2)
    assert free.vocabulary.categories == ["a", "b", "c", "d", "rare"]
    assert free.vocabulary.counts.tolist() == [0, 1 + 1, 0, 5, 3, 2, 4, 4]
    assert free.origin.tolist() == [MISSING, RARE, UNSEEN, UNSEEN, 3, UNSEEN, 4, RARE]
    tight = count_of(new).grow(known, min_frequency=2, max_categories=4)
    assert tight.vocabulary.categories == ["a", "b", "d"]
    full = count_of(new).grow(known, min_frequency=2, max_categories=1)
    assert full.vocabulary.categories == ["b", "d"]


def test_numbers_of_another_type_join_the_categories_that_are_known():
    known = Vocabulary.fit(objects([1, 2, 3]))
    grown = count_of([2.5, 2.0, 7.0]).grow(known).vocabulary
    assert grown.categories == [1.0, 2.0, 2.5, 3.0, 7.0]
    assert grown.counts.tolist() == [0, 0, 0, 1, 2, 1, 1, 1]


def test_buckets_that_are_new_get_rows_and_values_that_share_one_share_its_row():
    first, more = HashedCounts(5), HashedCounts(5)
    first.add(objects(["a", "b"]))
    more.add(objects([*"abcdefghijkl", None]))
    known = first.vocabulary()
    growth = more.grow(known)
    grown = growth.vocabulary
    assert isinstance(grown, HashedVocabulary)
    assert grown.n_buckets == 5
    assert grown.kinds == ("text",)
    assert grown.n_categories == 5
    assert grown.counts.sum() == 2 + 13
    column = objects([*"abcdefghijkl"])
    codes = grown.codes(column.factors, column.n_rows)
    assert (codes >= N_SPECIAL).all()
    assert growth.origin[codes].tolist() == known.codes(column.factors, column.n_rows).tolist()


def test_blocks_that_are_merged_grow_an_encoder_as_one_block_does():
    encoder = learn_encoder(read_table({"town": ["b", "d"], "size": [1.0, 2.0]}))
    parts = [{"town": ["a", "b"], "size": [5.0, None]}, {"town": ["e", "a"], "size": [7.0, 8.0]}]
    merged = MoreColumns(encoder)
    for part in parts:
        other = MoreColumns(encoder)
        other.add(read_table(part))
        merged.merge(other)
    whole = MoreColumns(encoder)
    whole.add(read_table({name: parts[0][name] + parts[1][name] for name in parts[0]}))
    one, two = (found.grow(1, {}) for found in (merged, whole))
    assert merged.n_samples == whole.n_samples == 4
    assert one.encoder.vocabularies["town"].categories == ["a", "b", "d", "e"]
    assert one.encoder.to_state()[0] == two.encoder.to_state()[0] == encoder.to_state()[0]
    np.testing.assert_array_equal(one.origins[0], two.origins[0])
    counts = [found.encoder.vocabularies["town"].counts.tolist() for found in (one, two)]
    assert counts[0] == counts[1] == [0, 0, 0, 2, 2, 1, 1]


def test_a_column_that_was_empty_may_hold_anything_and_others_what_they_held():
    encoder = learn_encoder(read_table({"town": ["b", "d"], "note": [None, None]}))
    more = MoreColumns(encoder)
    more.add(read_table({"town": ["a", None], "note": ["new", "new"]}))
    grown = more.grow(1, {}).encoder.vocabularies
    assert grown["note"].categories == ["new"]
    assert grown["town"].counts[MISSING] == 1
    with pytest.raises(InputError, match="Column 'town' held text in fit and holds numbers now"):
        more.add(read_table({"town": objects_of([1, 2]), "note": ["x", "y"]}))


def objects_of(items):
    return np.array(items, dtype=object)
