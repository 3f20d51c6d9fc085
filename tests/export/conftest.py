"""A real Chromium for the report's page, and pages to open in it."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingRegressor
from catspace.export.report import write_report
from tests.export.chromium import Page, find_browser, running_browser


@pytest.fixture(scope="module")
def browser():
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = find_browser()
    if path is None:
        pytest.skip("No Chromium was found, so the report's page cannot be driven.")
    with running_browser(path) as running:
        yield running


@pytest.fixture(scope="module")
def report(model, sales, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    scores = {"catspace": {"R²": 0.9}, "mean": {"R²": 0.0}}
    write_report(model, path, sales.X, sales.y, target_name="Sales", scores=scores)
    return path


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Return a model, rows that it was not trained on, and their page."""
    random = np.random.default_rng(0)
    n = 4_500
    town = random.integers(0, 40, size=n)
    X = pd.DataFrame(
        {
            "noise": random.choice(list("abcdef"), size=n),
            "town": pd.Series([f"town {i}" for i in town]).where(random.random(n) > 0.05),
            "price": random.normal(10, 2, size=n),
            "weekday": random.choice(["Mon", "Tue", "Wed", "Thu"], size=n),
            "when": pd.date_range("2024-01-01", periods=n, freq="2h"),
        }
    )
    y = 1_000 + 30.0 * town + 20 * X["price"] + random.normal(size=n) * 20
    y = np.asarray(y + 100 * (X["weekday"] == "Mon"))
    settings = {"date_parts": ["month"], "max_epochs": 12, "smooth": 0, "random_state": 0}
    model = EmbeddingRegressor(**settings).fit(X[:3_000], y[:3_000])
    path = tmp_path_factory.mktemp("judged") / "page.html"
    new = X[3_000:].reset_index(drop=True), y[3_000:]
    write_report(model, path, X[:3_000], y[:3_000], X_val=new[0], y_val=new[1], target_name="Sales")
    return SimpleNamespace(path=path, model=model, y=y[:3_000], X_new=new[0], y_new=new[1])


@pytest.fixture
def open_page(browser):
    """Open a page; afterwards its console must be clean, and nothing may have been asked for."""
    opened = []

    def open_(path, **settings):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        opened.append(Page(context, path.as_uri()))
        return opened[-1].page

    yield open_
    for page in opened:
        page.close()
