import io
import re

import pytest
from matplotlib.image import imread
from rich.console import Console

from catspace.paper import figures, subject
from catspace.paper.reproduce import reproduce


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Draw all figures of generated data with a network that is quick to train."""
    out = tmp_path_factory.mktemp("out")
    patch = pytest.MonkeyPatch()
    small = {**subject.PAPER_NETWORK, "hidden_layer_sizes": (32, 16), "max_epochs": 1}
    patch.setattr(subject, "PAPER_NETWORK", small)
    patch.setattr(figures, "_CONTEXTS", 20)
    console = Console(file=io.StringIO(), width=120)
    reproduce("figures", data=None, out=out, console=console)
    patch.undo()
    return out, console.file.getvalue()


def test_every_figure_is_there_as_png_and_svg(drawn):
    out, text = drawn
    for name in figures.FIGURES:
        picture = imread(out / "figures" / f"{name}.png")
        assert min(picture.shape[:2]) > 400
        assert picture[..., :3].std() > 0.02  # not empty
        assert (out / "figures" / f"{name}.svg").stat().st_size > 5_000
    assert "6 figures" in text
    assert re.search(r"as PNG and SVG, in \d+ s", text)


def test_captions_say_data_seed_and_numbers(drawn):
    page = (drawn[0] / "figures" / "figures.md").read_text()
    assert "GENERATED data (make_sales), the first 90 % of the rows" in page
    assert "seed 0" in page
    for number in ("Pearson ", "p = ", "Mardia's skewness", "Correlation: component 1"):
        assert number in page


def test_a_trained_network_is_not_trained_again(drawn, monkeypatch):
    out, _ = drawn

    def fail(*arguments, **keywords):
        raise AssertionError("trained again")

    monkeypatch.setattr(subject, "fit_network", fail)
    monkeypatch.setattr(figures, "FIGURES", {})
    reproduce("figures", data=None, out=out, console=Console(file=io.StringIO()))
