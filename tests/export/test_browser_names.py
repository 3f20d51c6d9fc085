"""The page in a real Chromium: names in its pictures, and whether they can be read."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import ConvexHull

from catspace import EmbeddingRegressor
from catspace.export.report import write_report
from tests.export.chromium import section_of


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Return a page with a column of 300 categories, and one of dates."""
    random = np.random.default_rng(0)
    shop = random.integers(0, 300, size=3_000)
    days = pd.date_range("2024-01-01", periods=365)
    X = pd.DataFrame(
        {
            "shop": [f"shop {i}" for i in shop],
            "when": days[random.integers(0, 365, size=3_000)],
        }
    )
    y = 100 + shop % 17 + random.normal(size=3_000)
    settings = {"date_parts": ["day_of_week"], "embedding_dim": 4, "max_epochs": 3, "smooth": 0}
    model = EmbeddingRegressor(**settings, random_state=0).fit(X, y)
    path = tmp_path_factory.mktemp("many") / "page.html"
    write_report(model, path, X, y)
    return path


def test_among_many_points_those_at_the_edge_have_their_names(open_page, many):
    section = section_of(open_page(many), "shop")
    points, names = section.locator(".map").evaluate(
        "map => [map.data[0], map.data[5]].map(({ x, y, text }) => ({ x, y, text }))"
    )
    places = np.column_stack([points["x"], points["y"]])
    edge = {tuple(place) for place in places[ConvexHull(places).vertices]}
    assert len(names["text"]) >= 4
    assert {*zip(names["x"], names["y"], strict=True)} <= edge


def test_names_beside_a_heat_map_do_not_overlap(open_page, judged):
    section = section_of(open_page(judged.path), "town")
    figure = section.locator("figure", has_text="Who is close to whom")
    figure.scroll_into_view_if_needed()
    figure.locator(".main-svg").first.wait_for()
    for ticks, (start, end) in ((".xtick", ("left", "right")), (".ytick", ("top", "bottom"))):
        boxes = figure.locator(f"{ticks} text").evaluate_all(
            f"all => all.map(e => e.getBoundingClientRect()).map(b => [b.{start}, b.{end}])"
        )
        assert len(boxes) >= 8
        boxes.sort()
        assert all(one[1] <= other[0] + 1 for one, other in pairwise(boxes))


@pytest.mark.parametrize("width", [1280, 390])
def test_the_legend_of_errors_over_time_covers_no_line(open_page, judged, width):
    page = open_page(judged.path, viewport={"width": width, "height": 900})
    figure = page.locator("#quality figure", has_text="Errors over time")
    figure.scroll_into_view_if_needed()
    figure.locator(".legend").wait_for()
    legend, area = (figure.locator(part).bounding_box() for part in (".legend", ".nsewdrag"))
    assert legend["y"] + legend["height"] <= area["y"] + 1


def test_days_of_the_week_say_which_of_them_is_the_first(open_page, many):
    page = open_page(many)
    words = page.locator("main section > p").all_text_contents()
    said = [text for text in words if "1 is Monday, 7 is Sunday." in text]
    assert len(said) == 1
    assert "7 categories" in said[0]
