"""The page in a real Chromium: what people see, click and type."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingRegressor, analysis
from catspace.export.report import write_report
from tests.export.chromium import pixel_of, section_of

HOSTILE = [
    "<script>window.broken = 1</script>",
    '<img src=x onerror="window.broken = 2">',
    "</script><script>window.broken = 3</script>",
    '<a href="javascript:window.broken = 4">link</a>',
    "<b>bold</b> &amp; \"quotes\" 'and' `ticks`",
    "${window.broken = 5} {{7*7}} %{x}",
    "\u202eright to left\u202c",
    "שלום עולם",
    "👩‍👩‍👧‍👦 emoji",
    "x" * 10_000,
    "",
    " ",
    "__proto__",
    "line\nbreak\tand tab",
]


def points_of(section):
    found = section.locator(".map").evaluate("map => ({x: map.data[0].x, y: map.data[0].y})")
    return SimpleNamespace(**found)


def neighbour_names(section):
    return section.locator(".panel tbody tr td:first-child").all_inner_texts()


def test_the_overview_shows_rows_scores_and_learning_curves(open_page, report):
    page = open_page(report)
    assert page.locator("h1").inner_text() == "What the model learned about Sales"
    scores = page.locator("#scores")
    assert scores.locator("tr.best .n").first.inner_text() == "0.900"
    training = page.locator("#training")
    assert "6,000" in training.locator(".tiles").inner_text()
    training.scroll_into_view_if_needed()
    training.locator("figure .main-svg").first.wait_for()
    assert training.locator("figure .plot").evaluate("plot => plot.data.length") == 2


def test_search_finds_highlights_and_pins_a_category(open_page, report, model):
    page = open_page(report)
    section = section_of(page, "state")
    box = section.get_by_role("combobox", name="Find a category of state")
    box.fill("b")
    options = section.locator(".options li").all_inner_texts()
    assert sorted(options) == sorted(
        name for name in model.embeddings_["state"].categories if "b" in name.lower()
    )
    ringed = section.locator(".map").evaluate("map => map.data[2].customdata.length")
    assert ringed == len(options)
    box.fill("by")
    box.press("Enter")
    assert section.locator(".panel h3").first.inner_text() == "BY"
    expected = analysis.nearest(model, "state", "BY", k=4)
    assert neighbour_names(section) == list(expected["category"])


def test_the_list_of_matches_is_walked_by_keyboard(open_page, report):
    page = open_page(report)
    section = section_of(page, "state")
    box = section.get_by_role("combobox", name="Find a category of state")
    box.focus()
    page.keyboard.type("h")
    second = section.locator(".options li").nth(1).inner_text()
    page.keyboard.press("ArrowDown")
    assert section.locator("[aria-selected=true]").inner_text() == second
    page.keyboard.press("Enter")
    assert section.locator(".panel h3").first.inner_text() == second
    assert box.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Tab")  # on to the tools of the map
    assert page.evaluate("document.activeElement.innerText") == "Move"


def test_a_name_that_is_not_there_is_said_to_be_not_there(open_page, report):
    section = section_of(open_page(report), "state")
    section.get_by_role("combobox", name="Find").fill("Atlantis")
    assert section.locator(".options li").inner_text() == "No category is called so."
    assert section.get_by_role("status").first.inner_text() == "0 categories found"


def test_the_layout_switches_to_tsne(open_page, report, model):
    section = section_of(open_page(report), "month")
    before = points_of(section)
    section.get_by_role("radio", name="Neighbours").check()
    after = points_of(section)
    expected = analysis.project(model, "month", method="tsne")
    assert after.x == pytest.approx(list(expected["x"]), rel=1e-3, abs=1e-3)
    assert after.x != before.x


def test_colours_switch_to_another_column_with_a_legend(open_page, report, sales):
    section = section_of(open_page(report), "store")
    section.get_by_label("Colour").select_option(label="state")
    legend = section.locator(".legend li").all_inner_texts()
    assert sorted(legend) == sorted(sales.X["state"].unique())
    colours = section.locator(".map").evaluate("map => new Set(map.data[0].marker.color).size")
    assert colours == len(legend)


def test_hovering_tells_category_rows_target_and_neighbours(open_page, report, model, sales):
    page = open_page(report)
    section = section_of(page, "state")
    i = model.embeddings_["state"].categories.index("BY")
    page.mouse.move(*pixel_of(section, i))
    hover = section.locator(".hoverlayer .hovertext")
    hover.wait_for()
    text = hover.text_content()
    is_there = (sales.X["state"] == "BY").to_numpy()
    assert "BY" in text
    evidence = model.embeddings_["state"].evidence[i]
    assert f"{is_there.sum():,} rows in training, evidence {round(100 * evidence)}\xa0%" in text
    assert f"mean Sales\u2069: {round(sales.y[is_there].mean()):,}" in text
    first = analysis.nearest(model, "state", "BY", k=1)["category"].iloc[0]
    assert f"close to \u2068{first}" in text


def test_a_click_pins_and_a_click_on_a_neighbour_goes_there(open_page, report, model):
    page = open_page(report)
    section = section_of(page, "state")
    i = model.embeddings_["state"].categories.index("SN")
    page.mouse.click(*pixel_of(section, i))
    section.locator(".panel h3", has_text="SN").wait_for()
    neighbour = neighbour_names(section)[0]
    section.locator(".panel tbody button").first.click()
    assert section.locator(".panel h3").first.inner_text() == neighbour
    section.get_by_role("button", name="Unpin").click()
    assert section.locator(".panel h3").first.inner_text() == "Pick a category"


def test_the_pinned_neighbours_tell_how_many_networks_found_them(open_page, report, model):
    section = section_of(open_page(report), "state")
    box = section.get_by_role("combobox", name="Find")
    box.fill("by")
    box.press("Enter")
    found = section.locator(".panel tbody tr td:last-child").all_inner_texts()
    agreement = analysis.nearest(model, "state", "BY", k=4, with_agreement=True)["agreement"]
    assert found == [f"{1 + round(share)} of 2" for share in agreement]


def test_the_lasso_lists_a_group_and_copies_it(open_page, report, model):
    page = open_page(report, permissions=["clipboard-read", "clipboard-write"])
    section = section_of(page, "month")
    section.get_by_role("button", name="Lasso a group").click()
    section.locator(".map").scroll_into_view_if_needed()
    area = section.locator(".map .nsewdrag").bounding_box()
    left, top = area["x"] + 3, area["y"] + 3
    right, bottom = left + area["width"] - 6, top + area["height"] - 6
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((right, top), (right, bottom), (left, bottom), (left, top + 1)):
        page.mouse.move(*corner, steps=5)
    page.mouse.up()
    group = section.locator(".panel textarea")
    group.wait_for()
    names = [str(category) for category in model.embeddings_["month"].categories]
    assert group.input_value().split("\n") == names
    section.get_by_role("button", name="Copy").click()
    section.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "\n".join(names)


def test_a_cluster_is_listed_without_a_mouse(open_page, report):
    page = open_page(report)
    section = section_of(page, "day")
    box = section.get_by_role("combobox", name="Find")
    box.focus()
    page.keyboard.type("31")
    page.keyboard.press("Enter")
    button = section.get_by_role("button", name="List its cluster")
    button.focus()
    page.keyboard.press("Enter")
    assert "31" in section.locator("textarea").input_value().split("\n")


def test_zoom_moves_the_ranges_and_the_whole_map_comes_back(open_page, report):
    section = section_of(open_page(report), "month")
    ranges = "map => map.layout.xaxis.range"
    before = section.locator(".map").evaluate(ranges)
    section.get_by_role("button", name="Zoom in").click()
    inside = section.locator(".map").evaluate(ranges)
    assert inside[1] - inside[0] == pytest.approx(0.6 * (before[1] - before[0]))
    section.get_by_role("button", name="Whole map").click()
    assert section.locator(".map").evaluate(ranges) == pytest.approx(before)


def test_names_from_strangers_show_as_text_and_do_nothing(open_page, tmp_path):
    random = np.random.default_rng(0)
    names = random.choice(np.array(HOSTILE, dtype=object), size=600)
    column = "<i>shop</i>"
    X = pd.DataFrame({column: names, "other": random.choice(list("abcdef"), size=600)})
    y = np.array([len(name) % 17 for name in names]) + random.normal(size=600)
    model = EmbeddingRegressor(n_networks=2, max_epochs=3, random_state=0).fit(X, y)
    target = "<script>window.broken = 6</script>"
    write_report(model, tmp_path / "page.html", X, y, target_name=target, title="<u>t</u>")
    page = open_page(tmp_path / "page.html")
    assert page.locator("h1").inner_text() == "<u>t</u>"
    section = section_of(page, column)
    seen = []
    shown = page.evaluate(f"catspaceReport.get({column!r}).column.categories")
    for i in range(len(HOSTILE)):
        page.evaluate(f"catspaceReport.get({column!r}).pin({i})")
        seen.append(section.locator(".panel h3").first.inner_text())
        page.mouse.move(*pixel_of(section, i))
        section.locator(".hoverlayer .hovertext").first.wait_for()
    assert page.evaluate("window.broken") is None
    assert (
        page.locator("main a[href^=javascript], main img, main script, main i, main b").count() == 0
    )
    by_name = dict(zip(shown, seen, strict=True))
    for name in HOSTILE[:6]:
        assert by_name[name] == name
    assert by_name["\u202eright to left\u202c"] == "\ufffdright to left\ufffd"
    assert by_name[""] == "(empty)"
    assert by_name["x" * 2_000] == "x" * 150 + "…" + "x" * 149
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_screen_and_follows_the_scheme(open_page, report, scheme, width):
    page = open_page(report, color_scheme=scheme, viewport={"width": width, "height": 800})
    section_of(page, "state")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert (brightness > 128) == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(open_page, report, scheme):
    page = open_page(report, color_scheme=scheme)
    variable = "getComputedStyle(document.documentElement).getPropertyValue('--{}').trim()"
    colours = {
        name: page.evaluate(variable.format(name))
        for name in ("ink", "soft", "accent", "accent-ink", "paper", "card", "ring")
    }
    pairs = [("ink", "paper"), ("soft", "paper"), ("soft", "card"), ("accent", "paper")]
    for text, behind in [*pairs, ("accent", "card"), ("accent-ink", "accent")]:
        assert contrast(colours[text], colours[behind]) >= 4.5, (text, behind)
    assert contrast(colours["ring"], colours["paper"]) >= 3


def test_everything_that_can_be_used_has_a_name_and_can_be_reached(open_page, report):
    page = open_page(report)
    for role in ("button", "combobox", "radio", "link", "textbox"):
        for control in page.get_by_role(role).all():
            name = control.evaluate(
                "e => e.getAttribute('aria-label') || e.innerText ||"
                " (e.labels && e.labels.length && e.labels[0].innerText)"
            )
            assert name, control
            assert control.evaluate("e => e.tabIndex") >= 0
    plots = page.locator("[role=img]").evaluate_all("all => all.map(e => e.ariaLabel.length)")
    assert min(plots) > 20


def test_ten_thousand_categories_are_drawn_by_the_graphics_card(open_page, tmp_path):
    ids = np.arange(10_000)
    X = pd.DataFrame({"id": ids.astype(str)})
    settings = {"embedding_dim": 2, "max_epochs": 1, "random_state": 0}
    model = EmbeddingRegressor(**settings).fit(X, np.sin(ids))
    write_report(model, tmp_path / "page.html")
    section = section_of(open_page(tmp_path / "page.html"), "id")
    assert section.locator(".map").evaluate("map => map.data[0].type") == "scattergl"
    box = section.get_by_role("combobox", name="Find")
    box.fill("4321")
    box.press("Enter")
    assert section.locator(".panel h3").first.inner_text() == "4321"


def contrast(one, other):
    """Return the contrast of two colours, by the formula of the W3C's guidelines."""

    def luminance(colour):
        values = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in values
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_little_evidence_is_drawn_faintly_and_named(open_page, tmp_path):
    X = pd.DataFrame({"town": np.repeat(list("abcdef"), [200, 100, 50, 20, 4, 2])})
    y = np.arange(len(X)) % 7 + X["town"].map(ord)
    few = EmbeddingRegressor(smooth=10, max_epochs=2, random_state=0).fit(X, y)
    write_report(few, tmp_path / "few.html", X, y)
    page = open_page(tmp_path / "few.html")
    section = section_of(page, "town")
    opacity = section.locator(".js-plotly-plot").first.evaluate(
        "plot => plot.data[0].marker.opacity"
    )
    expected = 0.2 + 0.7 * few.embeddings_["town"].evidence
    assert opacity == pytest.approx(expected.tolist(), abs=1e-3)
    for town, says_little in (("a", False), ("f", True)):
        search = section.get_by_role("combobox", name="Find")
        search.fill(town)
        search.press("Enter")
        panel = section.locator(".panel").first.text_content()
        assert (
            f"evidence{round(100 * few.embeddings_['town'].evidence['abcdef'.index(town)])}\xa0%"
            in panel
        )
        assert ("its place is hardly learned" in panel) == says_little
