import numpy as np
import pandas as pd
import pytest

from catspace.data.reading import read_table
from catspace.data.schema import Schema
from catspace.exceptions import InputError
from catspace.storage.blocks import read_any


def conform(new, **options):
    fitted = Schema.of(read_table(pd.DataFrame({"a": [1], "b": ["x"]})))
    return fitted.conform(read_any(new), "Model", is_file=options.get("is_file", False))


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            ["b", "a"],
            "Feature names must be in the same order as they were in fit.\n\nHint: X[list(",
        ),
        (["a", "b", "c"], "Feature names unseen at fit time:\n- c\n\nHint: X[list("),
        (["a"], "Feature names seen at fit time, yet now missing:\n- b\n"),
        (
            ["a", "B"],
            "Feature names unseen at fit time:\n- B\n"
            "Feature names seen at fit time, yet now missing:\n- b\n",
        ),
    ],
)
def test_names_that_differ_from_fit_say_how(columns, sentence):
    with pytest.raises(InputError) as caught:
        conform(pd.DataFrame([[1] * len(columns)], columns=columns))
    start = "The feature names should match those that were passed during fit.\n"
    assert str(caught.value).startswith(start + sentence)


def test_a_file_is_read_by_name_whatever_else_it_holds(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("b,target,a\nx,9,1\n")
    assert conform(path, is_file=True).names == ["a", "b"]


def test_a_table_without_names_goes_by_position():
    with pytest.warns(UserWarning, match=r"X does not have valid feature names, but Model was"):
        assert conform(np.array([[1, "x"]], dtype=object)).names == ["a", "b"]


def test_empty_tables_say_so():
    with pytest.raises(InputError, match=r"^The table has no rows: 0 sample\(s\)"):
        Schema.of(read_table(pd.DataFrame({"a": []})))
    with pytest.raises(InputError, match=r"^The table has no columns: 0 feature\(s\)"):
        Schema.of(read_table(np.empty((3, 0))))
