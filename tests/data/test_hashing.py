import hashlib
import warnings
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catspace.data.hashing import HashedCounts, find_buckets
from catspace.data.kinds import factorize
from catspace.data.reading import read_table
from catspace.data.vocabulary import MISSING, N_SPECIAL, RARE, UNSEEN
from catspace.exceptions import CatspaceWarning, UnknownCategoryError

N = 2**40  # so many buckets that no two of a few values share one
MASK = 2**64 - 1

PINNED_TEXT = [611636, 69888, 674659, 695651, 626633]
PINNED_NUMBERS = [424158, 168606, 764506, 918717]
PINNED_FRACTIONS = [582529, 768151]
PINNED_TIMES = [405455]


def column(values, name="x"):
    return read_table(pl.DataFrame({name: values}, strict=False)).columns[0]


def objects(values):
    array = np.empty((len(values), 1), dtype=object)
    array[:, 0] = values
    return read_table(array).columns[0]


def buckets(values, n_buckets=N):
    """Return the bucket of each value, None for missing."""
    array = values if isinstance(values, pa.Array) else pa.array(values, from_pandas=True)
    kind, dictionary, indices = factorize(array)
    found = find_buckets(kind, dictionary, n_buckets)
    return [None if i < 0 or not dictionary[i].is_valid else int(found[i]) for i in indices]


def fit(column, n_buckets, min_frequency=1, max_categories=None):
    counts = HashedCounts(n_buckets)
    counts.add(column)
    return counts.vocabulary(min_frequency, max_categories)


def names(column):
    """Return the name of the bucket of each value of a column, None for missing."""
    vocabulary = fit(column, N)
    codes = vocabulary.encode(column)
    named = vocabulary.categories
    return [None if code == MISSING else named[code - N_SPECIAL] for code in codes]


def bucket_names(values):
    return [None if bucket is None else f"bucket {bucket}" for bucket in buckets(values)]


def naive_mix(word):
    word = (word + 0x9E3779B97F4A7C15) & MASK
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


def naive_hash(value):
    """Hash one value with Python's integers."""
    if isinstance(value, str):
        data = value.encode()
        found = naive_mix(naive_mix(2) ^ len(data))
        if len(data) > 256:
            data = hashlib.blake2b(data, digest_size=8).digest()
        for place in range(0, len(data), 8):
            found = naive_mix(found ^ int.from_bytes(data[place : place + 8], "little"))
        return found
    if value == int(value) and -(2**63) <= value < 2**64:
        word = int(value) & MASK
    else:
        word = int(np.float64(value).view(np.uint64))
    return naive_mix(naive_mix(1) ^ word)


@given(st.lists(st.text(max_size=40), min_size=1), st.integers(1, 2**62))
def test_text_is_hashed_as_by_a_loop_over_its_bytes(texts, n_buckets):
    assert buckets(texts, n_buckets) == [naive_hash(text) % n_buckets for text in texts]


def test_the_empty_text_has_a_hash_whatever_stands_beside_it():
    expected = naive_hash("") % N
    assert buckets([""]) == [expected]
    assert buckets([None, "", "a"])[:2] == [None, expected]
    assert len(find_buckets("text", pa.array([], pa.large_string()), N)) == 0


def test_long_text_is_hashed_by_its_digest():
    texts = ["é" * n for n in (1, 127, 128, 129, 500, 100_000)] + ["", "a"]
    assert buckets(texts) == [naive_hash(text) % N for text in texts]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_are_hashed_as_by_a_loop(numbers):
    assert buckets(numbers) == [naive_hash(number) % N for number in numbers]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_fractions_are_hashed_as_by_a_loop(numbers):
    assert buckets(numbers) == [naive_hash(number) % N for number in numbers]


def test_buckets_never_change():
    # Models that were saved rely on these.
    assert buckets(["", "a", "user-17", "日本", "x" * 300], 10**6) == PINNED_TEXT
    assert buckets([0, 1, -1, 2**62], 10**6) == PINNED_NUMBERS
    assert buckets([0.5, 1e300], 10**6) == PINNED_FRACTIONS
    assert buckets([datetime(2015, 7, 31, tzinfo=UTC)], 10**6) == PINNED_TIMES


def test_equal_numbers_share_a_bucket_whatever_their_type_and_company():
    (expected,) = buckets([1])
    assert buckets([1.0]) == buckets([True]) == [expected]
    assert buckets([0.5, 1.0])[1] == expected
    for type_ in (pa.int8(), pa.uint8(), pa.uint64(), pa.float32()):
        assert buckets(pa.array([1], type_)) == [expected]
    assert buckets(pa.array([2**63 + 2048], pa.uint64())) == buckets([2.0**63 + 2048])
    assert buckets([-0.0, 0.5])[0] == buckets([0])[0]
    assert buckets(["1"]) != [expected]


def test_times_of_day_durations_and_bytes_have_hashes_too():
    day = datetime(2020, 1, 1)
    assert buckets([day]) == buckets([date(2020, 1, 1)])
    assert buckets(pa.array([day], pa.timestamp("ns"))) == buckets([day])
    found = buckets([time(0, 0, 1)]) + buckets([timedelta(seconds=1)]) + buckets([10**6])
    assert len(set(found)) == 3
    assert buckets([b"abc"]) != buckets(["abc"])


@pytest.mark.parametrize("kind", ["counts", "random", "text"])
def test_buckets_are_filled_evenly(kind):
    n, n_buckets = 200_000, 1000
    values = {
        "counts": np.arange(n) * 1000,  # a weak hash would fill one bucket in a thousand
        "random": np.random.default_rng(0).integers(0, 2**62, size=n),
        "text": [f"user-{i:06d}" for i in range(n)],
    }[kind]
    filled = np.bincount(buckets(values, n_buckets), minlength=n_buckets)
    chi2 = ((filled - n / n_buckets) ** 2 / (n / n_buckets)).sum()
    assert abs(chi2 - 999) < 5 * np.sqrt(2 * 999)


def test_every_library_gives_the_same_buckets(make_table):
    values = {"text": ["a", None, "ü", "a"], "number": [1.0, None, 2.5, 1.0]}
    text, number = read_table(make_table(values)).columns
    assert names(text) == bucket_names(["a", None, "ü", "a"])
    assert names(number) == bucket_names([1, None, 2.5, 1])


def test_slices_and_dictionaries_hash_as_their_values():
    whole = pa.array(["skipped", "a", None, "bb", "skipped"])
    expected = buckets(["a", None, "bb"])
    assert buckets(whole[1:4]) == expected
    assert buckets(whole.dictionary_encode()[1:4]) == expected
    categories = pd.Categorical(["a", None, "bb"], categories=["unused", "bb", "a"])
    of_pandas = read_table(pd.DataFrame({"x": categories})).columns[0]
    assert names(of_pandas) == bucket_names(["a", None, "bb"])


def test_rows_are_those_of_the_buckets_that_fit_met():
    vocabulary = fit(column(["a", "b", "b", None]), N)
    assert vocabulary.n_codes == N_SPECIAL + 2
    assert vocabulary.counts[MISSING] == 1
    row = dict(zip("ab", vocabulary.encode(column(["a", "b"])).tolist(), strict=True))
    assert sorted(row.values()) == [N_SPECIAL, N_SPECIAL + 1]
    assert vocabulary.counts[[row["a"], row["b"]]].tolist() == [1, 2]
    assert vocabulary.encode(column([None, "b", "new", "a"])).tolist() == [
        MISSING,
        row["b"],
        UNSEEN,
        row["a"],
    ]
    assert vocabulary.unseen(column(["a", "new", "newer", None])) == ["new", "newer"]


def test_values_that_share_a_bucket_share_its_row():
    vocabulary = fit(column([f"id {i}" for i in range(1000)]), 10)
    assert vocabulary.n_categories == 10
    assert vocabulary.counts.sum() == 1000
    new = [f"new {i}" for i in range(50)]
    expected = [N_SPECIAL + naive_hash(value) % 10 for value in new]
    assert vocabulary.encode(column(new)).tolist() == expected


def test_rare_buckets_share_the_row_of_the_rare():
    data = column(["a", "b", "b", "c", "c", "c"])
    often = fit(data, N, min_frequency=2)
    most = fit(data, N, max_categories=2)
    assert (often.encode(data) == RARE).tolist() == [True] + [False] * 5
    assert (most.encode(data) == RARE).tolist() == [True] * 3 + [False] * 3


def test_a_value_and_the_name_of_its_bucket_have_the_same_code():
    vocabulary = fit(column([f"id {i}" for i in range(100)]), 1000)
    names = vocabulary.categories
    assert [vocabulary.code(name, "x") for name in names] == list(
        range(N_SPECIAL, vocabulary.n_codes)
    )
    number = naive_hash("id 7") % 1000
    assert vocabulary.code("id 7", "x") == vocabulary.code(f"bucket {number}", "x")
    assert vocabulary.code(None, "x") == MISSING
    empty = next(i for i in range(1000) if f"bucket {i}" not in names)
    with pytest.raises(UnknownCategoryError, match=rf"^Column 'x' has no category 'bucket {empty}"):
        vocabulary.code(f"bucket {empty}", "x")


def test_another_kind_of_value_than_in_fit_draws_a_warning_and_counts_as_unseen():
    vocabulary = fit(column([1, 2], name="store"), 2)
    with pytest.warns(CatspaceWarning, match=r"^Column 'store' held numbers in fit and holds text"):
        assert vocabulary.encode(column(["1", "2"], name="store")).tolist() == [UNSEEN, UNSEEN]


def test_an_all_missing_column_has_no_buckets_and_still_encodes():
    vocabulary = fit(objects([None, None]), 10)
    assert vocabulary.n_categories == 0
    assert vocabulary.encode(column(["a", None])).tolist() == [UNSEEN, MISSING]


def test_numbers_and_text_in_one_column_are_hashed_each_by_its_kind():
    data = objects([1, "a", None, 1.0, "1"])
    vocabulary = fit(data, N)
    assert vocabulary.kinds == ("number", "text")
    codes = vocabulary.encode(data).tolist()
    assert codes[2] == MISSING
    assert codes[0] == codes[3]
    assert len(set(codes)) == 4


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3), st.text(max_size=3)), min_size=1))
def test_buckets_that_are_counted_block_by_block_are_those_of_the_whole_column(data):
    first, second = HashedCounts(7), HashedCounts(7)
    first.add(objects(data[: len(data) // 2]))
    second.add(objects(data[len(data) // 2 :]))
    second.merge(first)
    merged, whole = second.vocabulary(), fit(objects(data), 7)
    assert merged.kinds == whole.kinds
    assert merged.categories == whole.categories
    assert merged.counts.tolist() == whole.counts.tolist()


@given(st.lists(st.one_of(st.none(), st.integers(-3, 3), st.text(max_size=3)), min_size=1))
def test_some_of_the_buckets_can_be_selected(data):
    vocabulary = fit(objects(data), 7)
    kept = np.arange(vocabulary.n_categories)[::2]
    some = vocabulary.select(kept)
    assert some.categories == [vocabulary.categories[i] for i in kept]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CatspaceWarning)
        before, after = vocabulary.encode(objects(data)), some.encode(objects(data))
    place = {N_SPECIAL + int(old): N_SPECIAL + new for new, old in enumerate(kept)}
    expected = [place.get(c, UNSEEN) if c >= N_SPECIAL else c for c in before.tolist()]
    assert after.tolist() == expected
