"""Pictures: that what is drawn is what the frame says, not how pretty it is."""

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt

from catspace import analysis, plots
from catspace.datasets import STATE_CENTRES
from catspace.exceptions import InputError
from tests.analysis.helpers import make_embedding


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def states():
    vectors = np.random.default_rng(0).normal(size=(12, 4))
    return make_embedding(vectors, list(STATE_CENTRES), column="state")


def drawn(ax):
    """Return the points of the first scatter of an Axes."""
    return np.asarray(ax.collections[0].get_offsets())


def test_a_projection_draws_each_category_where_the_frame_has_it(states):
    frame = analysis.project(states, "state")
    ax = plots.plot_projection(frame)
    np.testing.assert_allclose(drawn(ax), frame[["x", "y"]])
    assert {text.get_text() for text in ax.texts} == set(STATE_CENTRES)
    assert f"{frame['trustworthiness'][0]:.2f}" in ax.get_title("right")


def test_a_plot_goes_where_it_is_told(states):
    _, ax = plt.subplots()
    assert plots.plot_projection(analysis.project(states, "state"), ax=ax) is ax


def test_a_plot_in_a_part_of_a_figure_has_its_labels(states):
    left, right = plt.figure(layout="constrained").subfigures(1, 2)
    frame = analysis.project(states, "state")
    for part in (left, right):
        ax = plots.plot_projection(frame, ax=part.subplots())
        assert [text.get_text() for text in ax.texts] == frame["category"].tolist()
    assert ax.figure is right


def test_a_polars_frame_is_drawn_like_a_pandas_frame(states):
    frame = analysis.project(states, "state")
    ax = plots.plot_projection(pl.from_pandas(frame))
    np.testing.assert_allclose(drawn(ax), frame[["x", "y"]])


def test_the_map_carries_its_score_and_p_value(states):
    frame = analysis.compare_with_map(states, "state", STATE_CENTRES, n_permutations=99)
    ax = plots.plot_map(frame)
    np.testing.assert_allclose(drawn(ax), frame[["map_x", "map_y"]])
    assert f"score {frame['score'][0]:.2f}" in ax.get_title()


def test_labels_of_a_map_do_not_cover_each_other(states):
    ax = plots.plot_map(analysis.compare_with_map(states, "state", STATE_CENTRES, n_permutations=9))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    n_covered = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    assert n_covered == 0


def test_the_density_names_the_test(states):
    values = np.random.default_rng(0).normal(size=(50, 4))
    source = make_embedding(values)
    frame, table = analysis.components(source, "place"), analysis.normality(source, "place")
    ax = plots.plot_density(frame, component=2, normality=table)
    assert f"K² = {table['k2'][1]:.1f}" in ax.get_title()
    assert ax.get_xlabel() == "component 2"
    area = sum(patch.get_width() * patch.get_height() for patch in ax.patches)
    assert area == pytest.approx(1)


def test_the_target_is_drawn_along_one_direction_at_a_time(model, sales):
    frame = analysis.target_along(model, "store", sales.X, sales.y)
    ax = plots.plot_target_along(frame, direction="random 2")
    chosen = frame[frame["direction"] == "random 2"]
    np.testing.assert_allclose(drawn(ax), chosen[["position", "target"]], rtol=1e-6)
    with pytest.raises(InputError, match=r"^The frame has no direction 'random 9'; it has"):
        plots.plot_target_along(frame, direction="random 9")


def test_every_other_analysis_has_a_picture(model, sales, states):
    distances = analysis.model_distance(model, sales.X, "state", n_contexts=10)
    axes = [
        plots.plot_nearest(analysis.nearest(states, "state", "BY")),
        plots.plot_clusters(analysis.cluster(states, "state"), analysis.project(states, "state")),
        plots.plot_direction(analysis.direction(states, "state", "BY", "SH")),
        plots.plot_subspace_correlation(analysis.subspace_correlation(model, sales.X)),
        plots.plot_compare_distances(analysis.compare_distances(model, "state", distances)),
        plots.plot_distances(distances),
        plots.plot_schoenberg(analysis.schoenberg(distances)),
        plots.plot_mds(analysis.mds(distances)),
        plots.plot_distortion(analysis.distortion(model, "state", distances)),
        plots.plot_stability(analysis.stability(model, "store")),
    ]
    for ax in axes:
        ax.figure.canvas.draw()  # warnings are errors here: no missing glyph, no bad layout
        assert ax.has_data()


def test_a_dollar_sign_is_not_a_formula():
    source = make_embedding(
        np.random.default_rng(0).normal(size=(5, 2)), ["$a$", "b", "c", "d", "$"]
    )
    ax = plots.plot_projection(analysis.project(source, "place"))
    ax.figure.canvas.draw()
    assert r"\$a\$" in {text.get_text() for text in ax.texts}


def test_another_frame_is_refused_with_a_sentence(states):
    with pytest.raises(InputError, match=r"^The frame has no x and no y and no trustworthiness"):
        plots.plot_projection(analysis.nearest(states, "state", "BY"))
    with pytest.raises(InputError, match=r"^A frame that a function of catspace.analysis returned"):
        plots.plot_projection("picture")
