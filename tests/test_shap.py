"""The recipe of docs/importance.md, with the real library."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from catspace import EmbeddingRegressor

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of numba and others, when they are imported
    shap = pytest.importorskip("shap")

DOCS = Path(__file__).parent.parent / "docs" / "importance.md"


@pytest.mark.filterwarnings("ignore")
def test_the_recipe_explains_a_model_of_text_columns(shops):
    X, y = shops
    settings = {"max_epochs": 10, "smooth": 0, "random_state": 0}
    model = EmbeddingRegressor(**settings).fit(X, y)
    (recipe,) = re.findall(r"```python\n(import shap\n.*?)```", DOCS.read_text(), re.DOTALL)
    names = {"model": model, "X": X.iloc[:40]}
    exec(recipe, names)
    found = names["explanation"]
    assert found.feature_names == ["town", "weekday", "price"]
    # Shapley values add up to what is predicted, less what is predicted on average.
    predicted = model.predict(X.iloc[:40])
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, predicted, atol=1e-4)
    assert np.abs(found.values).mean(axis=0).argmax() == 0  # the town matters most
