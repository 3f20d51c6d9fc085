import subprocess
import sys

import pytest

import catspace


def test_importing_catspace_loads_nothing_heavy():
    code = (
        "import sys, catspace; "
        "print([m for m in ('torch', 'matplotlib', 'pandas', 'polars', 'sklearn', 'pyarrow', "
        "'numpy') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_every_public_name_is_there():
    for name in catspace.__all__:
        assert getattr(catspace, name).__doc__
    assert set(catspace.__all__) <= set(dir(catspace))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'catspace' has no attribute 'nothing'"):
        _ = catspace.nothing
