import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from catspace import load_rossmann, make_sales
from catspace.datasets import FEATURES, STATE_CENTRES
from catspace.exceptions import InputError

REAL = Path(os.environ.get("CATSPACE_DATA", Path(__file__).parents[3] / "shared" / "data"))

TRAIN = """Store,DayOfWeek,Date,Sales,Customers,Open,Promo,StateHoliday,SchoolHoliday
1,5,2015-07-31,5263,555,1,1,"0","1"
2,5,2015-07-31,0,0,0,1,"0","1"
1,4,2015-07-30,5020,546,1,1,"a","1"
2,4,2015-07-30,6064,625,1,1,"0","1"
2,3,2015-07-29,0,0,1,1,"0","1"
"""
STATES = 'Store,State\n1,HE\n2,"HB,NI"\n'


def write_kaggle(folder, train=TRAIN, states=STATES):
    (folder / "train.csv").write_text(train)
    (folder / "store_states.csv").write_text(states)
    return folder


def test_rossmann_is_joined_filtered_and_sorted(tmp_path):
    data = load_rossmann(write_kaggle(tmp_path))
    assert tuple(data.X.columns) == FEATURES
    assert data.X.astype(object).to_numpy().tolist() == [
        [2, 4, 1, 2015, 7, 30, "HB,NI"],
        [1, 4, 1, 2015, 7, 30, "HE"],
        [1, 5, 1, 2015, 7, 31, "HE"],
    ]
    assert data.y.tolist() == [6064.0, 5020.0, 5263.0]


@pytest.mark.parametrize("name", ["train.csv.zip", "train.zip", "train.parquet"])
def test_rossmann_reads_zip_and_parquet_alike(tmp_path, name):
    expected = load_rossmann(write_kaggle(tmp_path))
    (tmp_path / "train.csv").unlink()
    if name.endswith("zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("train.csv", TRAIN)
    else:
        frame = pd.read_csv(write_kaggle(tmp_path) / "train.csv", parse_dates=["Date"])
        frame.to_parquet(tmp_path / name)
        (tmp_path / "train.csv").unlink()
    data = load_rossmann(tmp_path)
    pd.testing.assert_frame_equal(data.X.astype(str), expected.X.astype(str))
    np.testing.assert_array_equal(data.y, expected.y)


def test_a_missing_file_says_which_one_where_from_and_where_to(tmp_path):
    (tmp_path / "train.csv").write_text(TRAIN)
    with pytest.raises(
        InputError, match=r"^store_states.csv is missing in .*\nHint: .*put it there"
    ):
        load_rossmann(tmp_path)


def test_another_competitions_file_says_so(tmp_path):
    write_kaggle(tmp_path, train="id,price\n1,2\n")
    with pytest.raises(
        InputError, match=r"has no Store and no DayOfWeek.*columns are .'id', 'price'"
    ):
        load_rossmann(tmp_path)


def test_a_store_without_a_state_says_so(tmp_path):
    write_kaggle(tmp_path, states="Store,State\n1,HE\n")
    with pytest.raises(InputError, match=r"no state for the stores \[2\]"):
        load_rossmann(tmp_path)


@pytest.mark.skipif(not (REAL / "rossmann").is_dir(), reason="the Rossmann data is not here")
def test_the_real_data_is_what_the_paper_describes():
    data = load_rossmann(REAL)
    assert len(data.y) == 844_338
    assert data.y.sum() == 5_873_180_623
    assert data.X.nunique().tolist() == [1115, 7, 2, 3, 12, 31, 12]
    assert (data.X.iloc[0][["year", "month", "day"]] == [2013, 1, 1]).all()


def test_generated_sales_have_the_papers_features_in_the_papers_order():
    sales = make_sales(n_rows=20_000, n_stores=300)
    assert tuple(sales.X.columns) == FEATURES
    assert sales.X.nunique().tolist() == [300, 7, 2, 3, 12, 31, 12]
    dates = pd.to_datetime(sales.X[["year", "month", "day"]].astype(int))
    assert dates.is_monotonic_increasing
    assert (dates.dt.day_of_week + 1 == sales.X["day_of_week"].astype(int)).all()
    assert (sales.y > 0).all()


def test_the_truth_of_generated_sales_is_in_the_data():
    sales = make_sales(n_rows=100_000, n_stores=200)
    mean_log = pd.Series(np.log(sales.y)).groupby(sales.X["store"].to_numpy()).mean()
    assert np.corrcoef(mean_log, sales.truth.store_effect)[0, 1] > 0.97
    assert dict(zip(sales.X["store"], sales.X["state"], strict=True)) == {
        store + 1: state for store, state in enumerate(sales.truth.store_state)
    }
    assert set(sales.truth.state_coordinates) == set(STATE_CENTRES)


def test_generated_sales_depend_on_the_seed_alone():
    first, again, other = (make_sales(500, n_stores=9, random_state=s).y for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_more_rows_than_stores_have_days_says_so():
    with pytest.raises(
        InputError, match=r"^n_rows must be between 1 and \d+ for 2 stores; got 9999"
    ):
        make_sales(9_999, n_stores=2)
