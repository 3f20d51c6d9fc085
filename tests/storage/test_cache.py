import errno
import math
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest

from catspace.exceptions import CatspaceError
from catspace.storage.cache import RowCache, record_type, smallest_integer

RECORD = record_type([5, 1115], 2, np.dtype("f4"), is_weighted=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def make_records(n):
    random = np.random.default_rng(0)
    records = np.zeros(n, dtype=RECORD)
    records["code0"], records["code1"] = random.integers(5, size=n), random.integers(1115, size=n)
    records["numbers"] = random.normal(size=(n, 2))
    records["target"], records["weight"] = random.normal(size=(2, n))
    return records


@pytest.mark.parametrize(
    ("n_values", "kind"), [(1, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "i4")]
)
def test_codes_take_the_smallest_type_that_holds_them(n_values, kind):
    assert smallest_integer(n_values) == np.dtype(kind)
    assert np.iinfo(kind).max >= n_values - 1


@pytest.mark.parametrize(("begin", "end"), [(0, 1), (0, 5000), (999, 1001), (4999, 5000), (7, 7)])
def test_rows_are_read_as_they_were_written(begin, end):
    records = make_records(5000)
    with RowCache(RECORD, 5000, 10**9) as cache:
        for block in np.array_split(records, 7):
            cache.append(block)
        assert len(cache) == 5000
        np.testing.assert_array_equal(cache.read(begin, end), records[begin:end])


def deal(n, block_rows, n_parts):
    """Return the parts of a cache, which hold the numbers of the rows."""
    record = np.dtype([("row", "i4")])
    with RowCache(record, n, 4 * math.ceil(n / n_parts)) as cache:
        for begin in range(0, n, block_rows):
            block = np.arange(begin, min(begin + block_rows, n), dtype="i4")
            cache.append(block.view(record))
        return [cache.read(begin, end)["row"] for begin, end in cache.parts]


@pytest.mark.parametrize("block_rows", [1, 3, 10, 999])
@pytest.mark.parametrize("n_parts", [1, 2, 7, 100])
def test_each_row_is_dealt_to_one_part_and_parts_are_of_even_size(block_rows, n_parts):
    parts = deal(500, block_rows, n_parts)
    assert len(parts) == n_parts
    assert {len(part) for part in parts} <= {500 // n_parts, math.ceil(500 / n_parts)}
    assert sorted(np.concatenate(parts)) == list(range(500))


def test_one_part_keeps_the_order_of_the_rows():
    assert deal(500, 30, 1)[0].tolist() == list(range(500))


def test_each_part_has_its_share_of_each_block():
    for part in deal(10_000, 1_000, 4):
        assert np.bincount(part // 1_000).tolist() == [250] * 10


def test_a_pattern_in_the_rows_is_not_that_of_a_part():
    for part in deal(10_000, 1_000, 4):  # each fourth row would be dealt to the same part
        shares = np.bincount(part % 4) / len(part)
        assert abs(shares - 0.25).max() < 5 * np.sqrt(0.25 * 0.75 / len(part))


def test_without_the_number_of_rows_there_is_one_part():
    records = make_records(100)
    with RowCache(RECORD, None, 1) as cache:
        for block in np.array_split(records, 3):
            cache.append(block)
        assert cache.parts == [(0, 100)]
        np.testing.assert_array_equal(cache.read(0, 100), records)


def test_the_file_has_no_name_and_is_gone_however_the_process_ends(folder):
    with RowCache(RECORD, 10, 10**9) as cache:
        cache.append(make_records(10))
        assert list(folder.iterdir()) == []


def test_no_room_is_noticed_before_the_first_row_is_written(folder, monkeypatch):
    monkeypatch.setattr(
        "catspace.storage.cache.shutil.disk_usage", lambda path: SimpleNamespace(free=1_500_000)
    )
    with pytest.raises(CatspaceError) as caught:
        RowCache(RECORD, 100_000_000, 10**9)
    assert str(caught.value) == (
        f"The cache of encoded rows needs 1.90 GB and there are 1.50 MB free in {str(folder)!r}.\n"
        "Hint: set TMPDIR to a folder with more room."
    )


def test_a_disk_that_is_full_when_the_rows_are_given_up_is_no_second_error(folder, monkeypatch):
    def is_full():
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = RowCache(RECORD, 10, 10**9)
    with cache._file, monkeypatch.context() as patch:
        patch.setattr(cache, "_file", SimpleNamespace(close=is_full))
        cache.close()


def test_a_disk_that_fills_up_on_the_way_says_so(folder, monkeypatch):
    def is_full(content):
        raise OSError(errno.ENOSPC, "No space left on device")

    with RowCache(RECORD, 10, 10**9) as cache:
        monkeypatch.setattr(cache, "_file", SimpleNamespace(write=is_full, seek=print))
        message = r"^The cache of encoded rows cannot be written \(No space left on device\) in '"
        with pytest.raises(CatspaceError, match=message):
            cache.append(make_records(10))
        monkeypatch.undo()
