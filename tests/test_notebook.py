"""What notebooks show: forms of embeddings and estimators, bars, and the page under a cell."""

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from catspace import EmbeddingRegressor
from catspace.notebook import Space, describe_space, draw_map, text
from tests.analysis.helpers import make_embedding


class Reader(HTMLParser):
    """The tags and the text of a piece of HTML."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def town():
    X = pd.DataFrame({"town": ["Ulm"] * 30 + ["Bonn"] * 20 + ["Kiel"] * 8 + ["Trier"] * 2 + [None]})
    y = np.arange(len(X)) % 7.0
    return EmbeddingRegressor(smooth=4, max_epochs=1, random_state=0).fit(X, y)


def test_an_embedding_shows_a_map_its_dimension_and_its_counts(town):
    embedding = town.embeddings_["town"]
    html = embedding._repr_html_()
    found = Reader(html)
    assert found.tags.count("circle") == 4
    assert f"4 categories · {embedding.dim} dimensions" in html
    assert "61 rows in training · 1 missing" in html
    cells = [words for words in found.texts if words in {"Ulm", "30", "Bonn", "20", "Trier", "2"}]
    assert cells[-6:-2] == ["Ulm", "30", "Bonn", "20"]
    assert f"{embedding.evidence[embedding.categories.index('Trier')]:.0%}" in found.texts


def test_little_evidence_is_drawn_faintly():
    space = Space("c", list("abc"), np.array([9, 5, 1]), np.array([1.0, 0.5, 0.0]), np.eye(3))
    assert re.findall(r'opacity="([\d.]+)"', draw_map(space, 300, 200)) == ["0.90", "0.55", "0.20"]


def test_the_map_keeps_distances_and_stays_in_its_frame():
    vectors = np.array([[0.0, 0], [3, 0], [0, 1], [3, 1]])
    space = Space("c", list("abcd"), np.ones(4, dtype=int), np.ones(4), vectors)
    found = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', draw_map(space, 300, 200))
    places = np.array(found, dtype=float)
    assert (places >= 0).all()
    assert (places <= [300, 200]).all()
    across, up = np.ptp(places, axis=0)
    assert across / up == pytest.approx(3, rel=0.02)


def test_of_very_many_categories_the_most_frequent_are_drawn():
    random = np.random.default_rng(0)
    embedding = make_embedding(random.normal(size=(3_000, 4)), counts=np.arange(1, 3_001))["place"]
    html = embedding._repr_html_()
    assert html.count("<circle") == 500
    assert "3,000 categories" in html
    assert len(html) < 100_000


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_categories_for_a_map_are_listed(n):
    space = Space("c", list("ab")[:n], np.ones(n, dtype=int), np.ones(n), np.eye(n))
    html = describe_space(space)
    assert "<svg" not in html
    assert "most frequent" in html


def test_names_from_strangers_are_text_in_a_notebook():
    hostile = [
        "<script>alert(1)</script>",
        '"><img src=x onerror=alert(2)>',
        "\x1b[2J",
        "x" * 5_000,
    ]
    column = "</svg><script>alert(3)</script>"
    embeddings = make_embedding(np.eye(4), hostile, column=column)
    for html in (embeddings[column]._repr_html_(), embeddings._repr_html_()):
        tags = set(Reader(html).tags)
        assert not tags & {"script", "img"}
        assert "\x1b" not in html
        assert len(html) < 20_000
    assert text("<b>") == "&lt;b&gt;"


def test_a_fitted_estimator_shows_its_columns_below_the_diagram(town):
    before = EmbeddingRegressor()._repr_html_()
    html = town._repr_html_()
    assert "1 network after 1 epochs" in html
    assert "<svg" in html.split("1 network after")[1]
    assert "1 network after" not in before
    assert "sk-estimator" in html
    assert town._repr_mimebundle_()["text/html"].count("<circle") == 4


def test_the_report_of_a_model_is_shown_in_a_frame_of_its_own_and_saved(town, tmp_path):
    page = town.report(path=tmp_path / "page.html", title='Towns "and" <b>')
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page.html
    frame = page._repr_html_()
    assert frame.startswith('<iframe srcdoc="')
    inside = re.match(r'<iframe srcdoc="([^"]*)"', frame).group(1)
    assert unescape(inside) == page.html
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert repr(page) == f"Report('Towns \"and\" <b>', {len(page.html) / 1e6:.0f} MB)"


def test_a_real_kernel_shows_bars_forms_and_the_page_without_a_warning():
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    import nbformat

    cells = [
        "from catspace import EmbeddingRegressor, make_sales\n"
        "s = make_sales(n_rows=600, n_stores=6, random_state=0, backend='pandas')",
        "m = EmbeddingRegressor(verbose=1, max_epochs=3, n_networks=2, smooth=0, random_state=0)\n"
        "m.fit(s.X, s.y)",
        "m.embeddings_['state']",
        "m.report(title='In the notebook')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [cell["outputs"] for cell in notebook.cells]
    assert [one for found in outputs for one in found if one["output_type"] == "stream"] == []
    bars, diagram = (one["data"]["text/html"] for one in outputs[1])
    assert bars.count("3/3, loss") == 2
    assert "2 networks after 3 epochs" in diagram
    assert "<svg" in outputs[2][0]["data"]["text/html"]
    assert outputs[3][0]["data"]["text/html"].startswith("<iframe")
