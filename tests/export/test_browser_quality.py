"""The page in a real Chromium: how good the model is, what matters, and how the page is used."""

import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingClassifier, EmbeddingRegressor, analysis
from catspace.export.report import write_report
from tests.export.chromium import section_of


@pytest.mark.parametrize("width", [1280, 390])
def test_the_first_screen_says_how_good_compared_with_what_and_which_columns_matter(
    open_page, judged, width
):
    page = open_page(judged.path, viewport={"width": width, "height": 900})
    error = f"{np.abs(judged.model.predict(judged.X_new) - judged.y_new).mean():.3g}"
    constant = f"{np.abs(judged.y.mean() - judged.y_new).mean():.3g}"
    verdict = page.locator(".verdict").inner_text()
    assert verdict.startswith("On 1,500 rows that it had not seen its predictions are off by")
    assert f"off by {error} (" in verdict
    assert verdict.endswith(f"always guessing the mean would be off by {constant}.")
    expected = analysis.importance(judged.model, judged.X_new, judged.y_new, n_repeats=3)
    names = page.locator("#ranking > .bars th").all_inner_texts()
    assert names[:3] == list(expected["column"][:3])
    for place in (".verdict", "#scores .bars", "#ranking .bars tr:nth-child(3)"):
        box = page.locator(place).first.bounding_box()
        assert box["y"] + box["height"] <= 900, place
    bars = page.locator("#ranking > .bars .fill").evaluate_all("all => all.map(e => e.offsetWidth)")
    assert bars == sorted(bars, reverse=True)
    top = expected["importance"].iloc[0]
    assert bars[1] / bars[0] == pytest.approx(expected["importance"].iloc[1] / top, abs=0.05)


def test_sections_stand_in_the_order_of_importance_and_those_that_hardly_matter_are_folded(
    open_page, judged
):
    page = open_page(judged.path, reduced_motion="reduce")
    expected = list(
        analysis.importance(judged.model, judged.X_new, judged.y_new, n_repeats=3)["column"]
    )
    shown = page.locator("main section h2 bdi").all_text_contents()
    made_of = {"when": "when_month"}
    assert shown == [made_of.get(name, name) for name in expected if name != "price"]
    assert "noise" in expected[-3:]
    fold = page.locator("#folded")
    assert not fold.locator("section").first.is_visible()
    page.locator("#ranking details summary").click()
    page.locator("#ranking").get_by_role("link", name="noise").click()
    section = fold.locator("section", has=page.get_by_role("heading", name="noise"))
    assert section.is_visible()
    assert 0 <= section.bounding_box()["y"] <= 100


def test_predicted_actual_and_errors_over_time_are_drawn(open_page, judged):
    page = open_page(judged.path)
    quality = page.locator("#quality")
    quality.scroll_into_view_if_needed()
    quality.locator("figure .main-svg").first.wait_for()
    figures = quality.locator("figure")
    assert figures.locator("h3").all_inner_texts() == [
        "Predicted and actual Sales",
        "Errors over time (when)",
    ]
    actual = figures.first.locator(".plot").evaluate("plot => plot.data[0].x")
    assert actual == pytest.approx(list(judged.y_new), rel=1e-4)


def test_the_effect_of_a_number_is_drawn_with_its_spread(open_page, judged):
    page = open_page(judged.path)
    page.locator("#ranking").get_by_role("link", name="price").click()
    figure = page.locator("#numbers figure", has=page.get_by_role("heading", name="price"))
    figure.locator(".main-svg").first.wait_for()
    assert figure.bounding_box()["y"] >= 0
    band, line = figure.locator(".plot").evaluate("plot => plot.data.map(t => t.y)")
    expected = analysis.effect(judged.model, judged.X_new, "price", n_contexts=200)
    assert line == pytest.approx(list(expected["prediction"]), rel=1e-3)
    assert len(band) == 2 * len(line)


def test_where_it_fails_lists_the_worst_categories_and_missing_values(open_page, judged):
    page = open_page(judged.path)
    section = section_of(page, "town")
    rows = section.locator(".errors tbody tr").all_inner_texts()
    off = np.abs(judged.model.predict(judged.X_new) - judged.y_new)
    by = pd.Series(off).groupby(judged.X_new["town"].fillna("(missing)").to_numpy()).mean()
    worst = by.drop("(missing)").idxmax()
    assert rows[0].split("\t")[0] == worst
    assert rows[-1].startswith("(missing)")
    assert f"{by['(missing)']:.0f}" in rows[-1].replace(",", "")


def test_the_wheel_scrolls_the_page_and_with_ctrl_zooms_the_map(open_page, judged):
    page = open_page(judged.path)
    section = section_of(page, "town")
    area = section.locator(".map .nsewdrag").bounding_box()
    page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
    ranges = "map => map.layout.xaxis.range"
    before = section.locator(".map").evaluate(ranges)
    top = page.evaluate("scrollY")
    page.mouse.wheel(0, 120)
    page.wait_for_function("top => scrollY !== top", arg=top)
    assert section.locator(".map").evaluate(ranges) == before
    top = page.evaluate("scrollY")
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.wait_for_function(
        "before => { const range = document.querySelectorAll('.map')[0].layout.xaxis.range;"
        " return range[1] - range[0] < before; }",
        arg=before[1] - before[0],
    )
    page.keyboard.up("Control")
    assert page.evaluate("scrollY") == top


def test_every_link_lands_where_its_section_begins(open_page, judged):
    page = open_page(judged.path, reduced_motion="reduce")
    for link in page.locator("nav a").all():
        target = link.get_attribute("href")
        link.evaluate("link => link.click()")
        page.wait_for_timeout(50)
        top = page.locator(target).bounding_box()["y"]
        is_last = page.evaluate("scrollY + innerHeight >= document.body.scrollHeight - 2")
        bar = page.locator("nav").bounding_box()["height"]
        assert bar - 1 <= top <= bar + 40 or is_last, target


def test_vectors_are_downloaded_as_csv(open_page, judged):
    page = open_page(judged.path)
    section = section_of(page, "town")
    with page.expect_download() as waiting:
        section.get_by_role("button", name="Vectors of town as CSV").click()
    assert waiting.value.suggested_filename == "town_vectors.csv"
    found = pd.read_csv(waiting.value.path(), keep_default_na=False)
    embedding = judged.model.embeddings_["town"]
    assert found["category"].tolist() == [str(name) for name in embedding.categories]
    assert found["count"].tolist() == embedding.counts.tolist()
    vectors = found[[f"town_{i}" for i in range(embedding.dim)]].to_numpy()
    np.testing.assert_allclose(vectors, embedding.vectors, rtol=1e-3, atol=1e-6)


def test_statistics_are_told_to_who_points_at_them(open_page, judged):
    page = open_page(judged.path)
    section = section_of(page, "town")
    assert "rustworthiness" not in section.inner_text()
    tip = section.locator(".trust .tip")
    assert "Trustworthiness" in tip.get_attribute("aria-label")
    tip.focus()
    shown = tip.evaluate("e => getComputedStyle(e, '::after').content")
    assert "Trustworthiness" in shown


def test_one_network_says_that_it_cannot_tell_and_two_say_how_far_they_agree(
    open_page, judged, report
):
    section = section_of(open_page(judged.path), "town")
    assert "One network cannot tell how certain these neighbours are" in section.inner_text()
    section = section_of(open_page(report), "state")
    assert "The 2 networks" in section.inner_text()


def test_a_page_without_rows_says_what_is_missing(open_page, model, tmp_path):
    write_report(model, tmp_path / "page.html")
    page = open_page(tmp_path / "page.html")
    assert "This page was made without rows" in page.locator("#overview .note").inner_text()
    assert page.locator("#quality, #scores, #ranking").count() == 0


@pytest.mark.parametrize("n_classes", [2, 20])
def test_classes_have_a_confusion_matrix_and_calibration(open_page, tmp_path, n_classes):
    random = np.random.default_rng(0)
    town = random.integers(0, 20, size=1_500)
    labels = np.array([f"class {i % n_classes:02}" for i in town + (random.random(1_500) < 0.2)])
    X = pd.DataFrame({"town": town.astype(str)})
    model = EmbeddingClassifier(max_epochs=4, random_state=0).fit(X, labels)
    write_report(model, tmp_path / "page.html", X, labels, target_name="kind")
    page = open_page(tmp_path / "page.html")
    right = round(100 * (model.predict(X) == labels).mean())
    assert (
        f"it names the right class in {right}\xa0% of them" in page.locator(".verdict").inner_text()
    )
    figures = page.locator("#quality figure")
    figures.first.scroll_into_view_if_needed()
    figures.first.locator(".main-svg").first.wait_for()
    assert figures.locator("h3").all_inner_texts() == [
        "What is taken for what",
        "Can its probabilities be believed?",
    ]
    shares = figures.first.locator(".plot").evaluate("plot => plot.data[0].z")
    assert len(shares) == min(n_classes, 12)


def test_forty_columns_have_a_table_of_contents_that_fits(open_page, tmp_path):
    random = np.random.default_rng(0)
    X = pd.DataFrame({f"column {i:02}": random.choice(list("abcde"), 800) for i in range(40)})
    y = X["column 07"].map(ord) * 3.0 + X["column 21"].map(ord) + random.normal(size=800)
    model = EmbeddingRegressor(max_epochs=8, random_state=0).fit(X, y)
    write_report(model, tmp_path / "page.html", X, y)
    page = open_page(tmp_path / "page.html", reduced_motion="reduce")
    assert page.locator("nav > ul > li > a").all_inner_texts()[3:5] == ["column 07", "column 21"]
    assert page.locator("nav").bounding_box()["height"] < 80
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    more = page.locator("nav .more")
    more.locator("summary").click()
    link = more.get_by_role("link").last
    name = link.inner_text()
    link.click()
    section = page.locator("section", has=page.get_by_role("heading", name=name, exact=True))
    assert 0 <= section.bounding_box()["y"] <= 110
    assert not more.get_by_role("link").last.is_visible()


def test_in_print_the_tools_are_gone_and_every_plot_is_drawn(open_page, report):
    page = open_page(report, color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert not page.locator(".controls").first.is_visible()
    assert page.pdf().startswith(b"%PDF")
    drawn = page.locator(".plot, .map").evaluate_all("all => all.every(e => e.data)")
    assert drawn


def test_on_paper_nothing_is_wider_than_its_place_and_nothing_overlaps(open_page, judged):
    page = open_page(judged.path)
    section_of(page, "town")  # drawn as wide as the screen before it is printed
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function("[...document.querySelectorAll('.plot, .map')].every(e => e.data)")
    width = page.evaluate("document.body.getBoundingClientRect().right")
    pictures = page.locator(".plot > .plot-container .main-svg, .map .main-svg")
    for right in pictures.evaluate_all("all => all.map(e => e.getBoundingClientRect().right)"):
        assert right <= width + 1
    boxes = page.locator("main .card, main figure, main .map").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).filter(b => b.height)"
        ".map(b => [b.left, b.top, b.right, b.bottom])"
    )
    assert len(boxes) > 5
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
            assert wide <= 1 or high <= 1, (a, b)
    folded = page.locator("#folded section").first
    assert folded.is_visible()  # paper cannot be unfolded
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    assert not folded.is_visible()
