import datetime as dt
from dataclasses import replace

import numpy as np
import pytest

from catspace.data.bins import Bins, cut
from catspace.data.origin import Origin
from catspace.data.reading import read_table
from catspace.data.statistics import learn_encoder
from catspace.exceptions import InputError

DAYS = [dt.date(2024, 1, 31), dt.date(2024, 2, 5), None]


def values(column):
    (_, part) = column.parts[0]
    return part.to_pylist()


def test_a_column_that_stands_in_the_table_is_read_as_it_is(make_table):
    table = read_table(make_table({"town": ["Bonn", "Celle", None]}))
    assert Origin("town").read(table) == table.columns[0]


def test_a_part_of_dates_is_read_out_of_them(make_table):
    table = read_table(make_table({"day": DAYS}))
    column = Origin("day", part="day_of_week").read(table)
    assert column.name == "day_day_of_week"
    assert values(column) == [3, 1, None]


def test_numbers_are_cut_into_the_bins_of_fit(make_table):
    table = read_table(make_table({"price": [1.0, 2.0, None, 7.5]}))
    bins = Bins((2.0, 5.0))
    first, second, third = bins.labels
    assert values(Origin("price", bins=bins).read(table)) == [first, second, None, third]


def test_a_column_with_the_name_of_a_part_does_not_stand_for_the_dates():
    table = read_table({"day_month": [1, 2]})
    with pytest.raises(InputError, match=r"^The table has no column 'day'\.$"):
        Origin("day", part="month").read(table)


def test_a_column_that_is_not_there_suggests_one_that_is():
    with pytest.raises(
        InputError, match=r"^The table has no column 'price'. Did you mean 'prices'\?$"
    ):
        Origin("price", bins=Bins(())).read(read_table({"prices": [1.0]}))


def test_an_encoder_reads_what_its_origins_read(make_table):
    random = np.random.default_rng(0)
    table = read_table(
        make_table(
            {
                "town": ["Bonn", "Celle"] * 10,
                "day": [dt.date(2024, 1, 1) + dt.timedelta(days=9 * i) for i in range(20)],
                "price": random.normal(size=20),
                "weight": random.normal(size=20),
            }
        )
    )
    bins = {"price": Bins((-0.5, 0.5))}
    learned = learn_encoder(cut(table, bins), date_parts=["month", "day_of_week"])
    encoder = replace(learned, bins=bins)
    assert encoder.origins == {
        "town": Origin("town"),
        "day_month": Origin("day", part="month"),
        "day_day_of_week": Origin("day", part="day_of_week"),
        "price": Origin("price", bins=bins["price"]),
        "weight": Origin("weight"),
    }
    expected = encoder.encode(table).codes
    for codes, (name, vocabulary) in zip(expected, encoder.vocabularies.items(), strict=True):
        found = vocabulary.encode(encoder.origins[name].read(table))
        np.testing.assert_array_equal(found, codes)
