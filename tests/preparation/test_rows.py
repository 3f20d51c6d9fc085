import math
from itertools import count

import numpy as np
import pytest
import torch

from catspace.preparation.rows import CachedRows, Rows, read_ahead
from catspace.storage.cache import RowCache, record_type

N_CODES = [8, 300]


@pytest.fixture
def make_rows():
    """Return the same rows in memory and on disk; the target is the number of the row."""
    caches = []

    def make(n, *, part_rows=50):
        random = np.random.default_rng(0)
        record = record_type(N_CODES, 1, np.dtype(("f4", (1,))), is_weighted=True)
        records = np.zeros(n, dtype=record)
        codes = np.stack([random.integers(3, k, size=n) for k in N_CODES]).astype(np.int32)
        records["code0"], records["code1"] = codes
        records["numbers"] = random.normal(size=(n, 1))
        records["target"][:, 0] = np.arange(n)
        records["weight"] = random.random(n)
        cache = RowCache(record, n, part_rows * record.itemsize)
        cache.append(records)
        caches.append(cache)
        counts = [np.bincount(c, minlength=k) for c, k in zip(codes, N_CODES, strict=True)]
        on_disk = CachedRows(cache, counts)
        in_memory = Rows(
            torch.from_numpy(codes),
            torch.from_numpy(np.array(records["numbers"])),
            torch.from_numpy(np.array(records["target"])),
            torch.from_numpy(np.array(records["weight"])),
        )
        return in_memory, on_disk

    yield make
    for cache in caches:
        cache.close()


def epoch(rows, batch_size, seed=0):
    n_batches = math.ceil(len(rows) / batch_size)
    return list(rows.shuffled(n_batches, torch.Generator().manual_seed(seed)))


def order(rows, batch_size, seed=0):
    return torch.cat([batch.target[:, 0] for batch in epoch(rows, batch_size, seed)]).tolist()


def assert_equal(first, second):
    for name in ("codes", "numbers", "target", "weight"):
        assert torch.equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.parametrize("n", [1, 49, 50, 51, 333, 1000])
@pytest.mark.parametrize("batch_size", [1, 7, 32, 5000])
def test_an_epoch_meets_each_row_once_in_batches_of_even_size(make_rows, n, batch_size):
    for rows in make_rows(n):
        batches = epoch(rows, batch_size)
        assert len(batches) == math.ceil(n / batch_size)
        assert all(n // len(batches) <= len(batch) <= batch_size for batch in batches)
        assert sorted(torch.cat([b.target[:, 0] for b in batches]).tolist()) == list(range(n))


def test_rows_keep_together_what_belongs_to_them(make_rows):
    in_memory, on_disk = make_rows(333)
    for batch in epoch(on_disk, 32):
        assert_equal(batch, in_memory.take(batch.target[:, 0].long()))


def test_rows_that_fit_in_one_part_come_as_from_memory_to_the_last_bit(make_rows):
    in_memory, on_disk = make_rows(333, part_rows=333)
    for first, second in zip(epoch(in_memory, 32), epoch(on_disk, 32), strict=True):
        assert_equal(first, second)


def test_the_order_is_the_seeds_and_changes_from_epoch_to_epoch(make_rows):
    _, rows = make_rows(333)
    assert order(rows, 32, seed=1) == order(rows, 32, seed=1) != order(rows, 32, seed=2)
    generator = torch.Generator().manual_seed(1)
    first, second = (
        torch.cat([b.target[:, 0] for b in rows.shuffled(11, generator)]).tolist() for _ in range(2)
    )
    assert first != second


def test_batches_are_drawn_from_all_over_the_file(make_rows):
    _, rows = make_rows(10_000, part_rows=1_000)
    for batch in epoch(rows, 500):
        # The mean of 500 rows drawn from 0 to 9999 has a standard error of 129.
        assert abs(batch.target.mean() - 5_000) < 5 * 129


def test_in_order_means_in_order(make_rows):
    in_memory, on_disk = make_rows(333, part_rows=333)
    for first, second in zip(in_memory.in_order(100), on_disk.in_order(100), strict=True):
        assert_equal(first, second)
    assert [len(block) for block in on_disk.in_order(100)] == [100, 100, 100, 33]


def test_codes_are_counted_alike(make_rows):
    in_memory, on_disk = make_rows(333)
    for first, second in zip(
        in_memory.count_codes(N_CODES), on_disk.count_codes(N_CODES), strict=True
    ):
        assert torch.equal(first, second)


def test_reading_ahead_keeps_the_order_and_passes_errors_on():
    def numbers():
        yield from range(3)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(read_ahead(numbers()))
    ahead = read_ahead(count())
    assert [next(ahead) for _ in range(5)] == list(range(5))
    ahead.close()  # which would wait for ever if the thread read on and on
