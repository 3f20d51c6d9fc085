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
    for name in (*catspace.__all__, "distributed", "plots", "to_onnx"):
        assert getattr(catspace, name).__doc__
        assert name in dir(catspace)


def test_all_names_can_be_imported_without_any_extra():
    code = (
        "import sys\n"
        "for name in ('matplotlib', 'onnx', 'pandas', 'plotly', 'polars', 'ray', 'typer'):\n"
        "    sys.modules[name] = None\n"
        "from catspace import *\n"
        "print(EmbeddingRegressor.__name__, load.__name__, analysis.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "EmbeddingRegressor load catspace.analysis"


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"module 'catspace' has no attribute 'nothing'"):
        _ = catspace.nothing
