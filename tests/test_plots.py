"""Pictures: that what is drawn is what the frame says, not how pretty it is."""

from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_hex

mpl.use("Agg")
from matplotlib import pyplot as plt

from catspace import analysis, plots
from catspace.datasets import STATE_CENTRES
from catspace.exceptions import InputError
from tests.analysis.helpers import make_embedding, matrix


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def states():
    vectors = np.random.default_rng(0).normal(size=(12, 4))
    return make_embedding(vectors, list(STATE_CENTRES), column="state")


@pytest.fixture(scope="module")
def distances(states):
    vectors = states["state"].vectors
    values = np.abs(vectors[:, None] - vectors[None]).sum(axis=2)
    return matrix(values, states["state"].categories)


CORRELATIONS = pd.DataFrame(
    {
        "column_a": ["store", "store", "state"],
        "column_b": ["state", "promo", "promo"],
        "mean": [0.25, 0.0625, 0.125],
        "largest": [0.75, 0.5, 0.25],
        "canonical": [1.0, 0.625, 0.375],
    }
)
DISTORTIONS = pd.DataFrame(
    {"dim": [8, 2, 4], "distortion": [3.0, 12.0, 6.0], "average": [1.25, 2.0, 1.5]}
)
STABILITY = pd.DataFrame(
    {"category": ["a", "b", "c"], "count": [10, 200, 3000], "overlap": [0.25, 0.5, 1.0]}
).assign(chance=0.125)


def drawn(ax, i=0):
    """Return the points of a scatter of an Axes."""
    return np.asarray(ax.collections[i].get_offsets())


def line(ax, i):
    """Return the points of a line of an Axes, of shape (n, 2)."""
    return ax.get_lines()[i].get_xydata()


def texts(labels):
    return [label.get_text() for label in labels]


def colours(artists):
    return [to_hex(artist.get_facecolor().ravel()) for artist in artists]


def test_neighbours_are_bars_as_long_as_their_distance(states):
    frame = analysis.nearest(states, "state", "BY", k=4)
    ax = plots.plot_nearest(frame)
    bars = sorted(ax.patches, key=lambda bar: -bar.get_y())  # from the top
    np.testing.assert_allclose([bar.get_width() for bar in bars], frame["distance"])
    name_at = dict(zip(ax.get_yticks(), texts(ax.get_yticklabels()), strict=True))
    middle = [round(bar.get_y() + bar.get_height() / 2) for bar in bars]
    assert [name_at[y] for y in middle] == frame["category"].tolist()
    assert ax.get_xlabel() == "distance in the learned space"


def test_clusters_are_told_apart_by_colour(states):
    frame = analysis.cluster(states, "state", n_clusters=3)
    layout = analysis.project(states, "state")
    ax = plots.plot_clusters(frame, layout.sample(frac=1, random_state=0))
    for number in range(3):
        inside = (frame["cluster"] == number).to_numpy()
        np.testing.assert_allclose(drawn(ax, number), layout[["x", "y"]][inside])
    assert len(set(colours(ax.collections))) == 3
    assert texts(ax.get_legend().get_texts()) == ["cluster 0", "cluster 1", "cluster 2"]
    assert texts(ax.texts) == frame["category"].tolist()


def test_what_belongs_to_no_cluster_is_grey(states):
    frame = analysis.cluster(states, "state", n_clusters=2).assign(cluster=[-1] * 2 + [0] * 10)
    ax = plots.plot_clusters(frame, analysis.project(states, "state"))
    assert len(drawn(ax, 0)) == 2
    assert colours(ax.collections)[0] == "#9a9a9a"
    assert texts(ax.get_legend().get_texts()) == ["no cluster", "cluster 0"]


def test_a_projection_draws_each_category_where_the_frame_has_it(states):
    frame = analysis.project(states, "state")
    ax = plots.plot_projection(frame)
    np.testing.assert_allclose(drawn(ax), frame[["x", "y"]])
    assert texts(ax.texts) == frame["category"].tolist()
    np.testing.assert_allclose([text.xy for text in ax.texts], frame[["x", "y"]])
    assert ax.get_title("right") == f"trustworthiness {frame['trustworthiness'][0]:.2f}"


def test_a_projection_is_coloured_by_numbers(states):
    ax = plots.plot_projection(
        analysis.project(states, "state"), color=np.arange(12.0), color_label="mean sales"
    )
    np.testing.assert_array_equal(ax.collections[0].get_array(), np.arange(12))
    _, bar = ax.figure.axes
    assert bar.get_ylabel() == "mean sales"
    assert bar.get_ylim() == (0, 11)


def test_a_plot_goes_where_it_is_told(states):
    _, ax = plt.subplots()
    assert plots.plot_projection(analysis.project(states, "state"), ax=ax) is ax


def test_a_plot_in_a_part_of_a_figure_has_its_labels(states):
    left, right = plt.figure(layout="constrained").subfigures(1, 2)
    frame = analysis.project(states, "state")
    for part in (left, right):
        ax = plots.plot_projection(frame, ax=part.subplots())
        assert texts(ax.texts) == frame["category"].tolist()
    assert ax.figure is right


def test_a_polars_frame_is_drawn_like_a_pandas_frame(states):
    frame = analysis.project(states, "state")
    ax = plots.plot_projection(pl.from_pandas(frame))
    np.testing.assert_allclose(drawn(ax), frame[["x", "y"]])


def test_the_map_carries_its_score_and_p_value(states):
    frame = analysis.compare_with_map(states, "state", STATE_CENTRES, n_permutations=99)
    ax = plots.plot_map(frame)
    np.testing.assert_allclose(drawn(ax, 0), frame[["map_x", "map_y"]])
    np.testing.assert_allclose(drawn(ax, 1), frame[["x", "y"]])
    assert texts(ax.texts) == frame["category"].tolist()
    np.testing.assert_allclose([text.xy for text in ax.texts], frame[["x", "y"]])
    score, p_value = frame["score"][0], frame["p_value"][0]
    assert ax.get_title() == f"score {score:.2f}, p = {p_value:.3f}"
    assert texts(ax.get_legend().get_texts())[0] == "place on the map"
    for i, row in enumerate(frame.itertuples()):  # from each place to its learned one
        np.testing.assert_allclose(line(ax, i), [[row.map_x, row.map_y], [row.x, row.y]])


def test_labels_of_a_map_do_not_cover_each_other(states):
    ax = plots.plot_map(analysis.compare_with_map(states, "state", STATE_CENTRES, n_permutations=9))
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    n_covered = sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    assert n_covered == 0


def test_a_direction_is_drawn_beside_the_distance_from_it(states):
    frame = analysis.direction(states, "state", "BY", "SH")
    ax = plots.plot_direction(frame)
    np.testing.assert_allclose(drawn(ax), frame[["position", "distance"]])
    assert texts(ax.texts) == frame["category"].tolist()
    assert ax.get_xlabel() == "position along the direction (0: from, 1: to)"
    assert ax.get_ylabel() == "distance from the line"


def test_the_target_is_drawn_along_one_direction_at_a_time(states):
    names = np.repeat(list(STATE_CENTRES), 5)
    target = np.random.default_rng(0).normal(size=60)
    frame = analysis.target_along(states, "state", {"state": names}, target)
    ax = plots.plot_target_along(frame, direction="random 2", target_label="mean sales")
    chosen = frame[frame["direction"] == "random 2"]
    np.testing.assert_allclose(drawn(ax), chosen[["position", "target"]], rtol=1e-6)
    pearson, spearman = chosen["pearson"].iloc[0], chosen["spearman"].iloc[0]
    assert ax.get_title() == f"Pearson {pearson:.2f}, Spearman {spearman:.2f}"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("random 2", "mean sales")
    with pytest.raises(InputError, match=r"^The frame has no direction 'random 9'; it has"):
        plots.plot_target_along(frame, direction="random 9")


def test_the_density_is_drawn_beside_its_gaussian_and_names_the_test():
    source = make_embedding(np.random.default_rng(0).normal(size=(50, 4)))
    frame, table = analysis.components(source, "place"), analysis.normality(source, "place")
    ax = plots.plot_density(frame, component=2, normality=table)
    assert ax.get_title() == f"K² = {table['k2'][1]:.1f}, p = {table['p_value'][1]:.3f}"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 2", "density")
    values = frame["component 2"]
    edges = [*(bar.get_x() for bar in ax.patches), values.max()]
    expected, _ = np.histogram(values, bins=edges, density=True)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], expected)
    bell = line(ax, 0)
    top = bell[bell[:, 1].argmax()]
    assert top[0] == pytest.approx(values.mean(), abs=0.02)
    assert top[1] == pytest.approx(1 / (values.std(ddof=0) * np.sqrt(2 * np.pi)), rel=1e-3)


def test_correlations_are_a_triangle_of_numbers_in_the_colour_of_their_size():
    ax = plots.plot_subspace_correlation(CORRELATIONS, value="largest")
    grid = np.asarray(ax.images[0].get_array().filled(np.nan))
    expected = np.full((3, 3), np.nan)
    expected[1, 0], expected[2, 0], expected[2, 1] = 0.75, 0.5, 0.25
    np.testing.assert_array_equal(grid, expected)
    assert ax.images[0].get_clim() == (0, 1)
    written = {text.get_position(): (text.get_text(), text.get_color()) for text in ax.texts}
    assert written == {
        (0, 1): ("0.75", "white"),
        (0, 2): ("0.50", "black"),
        (1, 2): ("0.25", "black"),
    }
    assert texts(ax.get_xticklabels()) == ["store", "state"]
    assert texts(ax.get_yticklabels()) == ["state", "promo"]
    assert ax.figure.axes[1].get_ylabel() == "largest absolute correlation"


def test_learned_distances_are_drawn_over_metric_ones(states, distances):
    frame = analysis.compare_distances(states, "state", distances)
    ax = plots.plot_compare_distances(frame)
    np.testing.assert_allclose(drawn(ax), frame[["metric", "embedding"]])
    by_metric = frame.sort_values("metric", kind="stable")
    for i, column in enumerate(("fitted", "lower", "upper")):
        np.testing.assert_allclose(line(ax, i), by_metric[["metric", column]])
    assert texts(ax.get_legend().get_texts()) == ["linear fit", "first and last percent"]
    pearson, spearman = frame["pearson"][0], frame["spearman"][0]
    assert ax.get_title() == f"Pearson {pearson:.2f}, Spearman {spearman:.2f}"
    assert ax.get_xlabel() == "distance in the metric space"
    assert ax.get_ylabel() == "distance in the learned space"


def test_distances_are_a_heat_map_with_the_names_of_a_few_categories(distances):
    ax = plots.plot_distances(distances)
    np.testing.assert_array_equal(ax.images[0].get_array(), distances.values)
    assert texts(ax.get_xticklabels()) == texts(ax.get_yticklabels()) == distances.categories
    assert ax.figure.axes[1].get_ylabel() == "distance"
    many = plots.plot_distances(matrix(np.ones((61, 61))))
    assert texts(many.get_xticklabels()) == []
    assert many.get_xlabel() == many.get_ylabel() == "61 categories of place"


def test_eigenvalues_are_drawn_over_lambda_a_line_for_each_kernel(distances):
    frame = analysis.schoenberg(distances)
    ax = plots.plot_schoenberg(frame)
    assert texts(ax.get_legend().get_texts()) == ["exp(-λ d)", "exp(-λ d²)"]
    for i, (_, rows) in enumerate(frame.groupby("kernel", sort=False)):
        np.testing.assert_allclose(line(ax, i), rows[["lambda", "smallest"]])
    assert line(ax, 2)[:, 1].tolist() == [0, 0]
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "smallest eigenvalue"


def test_the_layout_by_distances_carries_its_stress(distances):
    frame = analysis.mds(distances)
    ax = plots.plot_mds(frame)
    np.testing.assert_allclose(drawn(ax), frame[["x0", "x1"]])
    assert texts(ax.texts) == frame["category"].tolist()
    assert ax.get_title("right") == f"stress {frame['stress'][0]:.2f}"


def test_distortion_is_drawn_in_the_order_of_the_dimensions():
    ax = plots.plot_distortion(DISTORTIONS)
    assert line(ax, 0).tolist() == [[2, 12], [4, 6], [8, 3]]
    assert line(ax, 1).tolist() == [[2, 2], [4, 1.5], [8, 1.25]]
    assert texts(ax.get_xticklabels()) == ["2", "4", "8"]
    assert texts(ax.get_legend().get_texts())[1] == "average"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dimension of the embedding", "distortion")


def test_stability_is_drawn_over_the_number_of_rows_beside_chance():
    ax = plots.plot_stability(STABILITY)
    assert drawn(ax).tolist() == [[10, 0.25], [200, 0.5], [3000, 1]]
    assert line(ax, 0)[:, 1].tolist() == [0.125, 0.125]
    assert texts(ax.get_legend().get_texts()) == ["chance"]
    assert ax.get_xscale() == "log"
    assert ax.get_ylim() == (0, 1)
    assert ax.get_xlabel() == "rows of the category in training"
    assert ax.get_ylabel() == "neighbours that networks have in common"


def test_an_axis_of_counts_has_numbers_however_narrow_it_is():
    for counts in ([210, 230, 290], [1, 20, 30_000], [7, 7, 7]):
        ax = plots.plot_stability(STABILITY.assign(count=counts))
        ax.figure.canvas.draw()
        low, high = ax.get_xlim()
        ticks = zip(ax.get_xticks(), texts(ax.get_xticklabels()), strict=True)
        assert [text for tick, text in ticks if text and low <= tick <= high]


def test_every_picture_is_drawn_without_a_warning(states, distances):
    layout = analysis.project(states, "state")
    beside = analysis.compare_with_map(states, "state", STATE_CENTRES, n_permutations=9)
    along = analysis.target_along(states, "state", {"state": list(STATE_CENTRES)}, np.arange(12))
    pictures = {
        "plot_nearest": [analysis.nearest(states, "state", "BY")],
        "plot_clusters": [analysis.cluster(states, "state"), layout],
        "plot_projection": [layout],
        "plot_map": [beside],
        "plot_direction": [analysis.direction(states, "state", "BY", "SH")],
        "plot_target_along": [along],
        "plot_density": [analysis.components(states, "state")],
        "plot_subspace_correlation": [CORRELATIONS],
        "plot_compare_distances": [analysis.compare_distances(states, "state", distances)],
        "plot_distances": [distances],
        "plot_schoenberg": [analysis.schoenberg(distances)],
        "plot_mds": [analysis.mds(distances)],
        "plot_distortion": [DISTORTIONS],
        "plot_stability": [STABILITY],
    }
    assert set(pictures) == {name for name in vars(plots) if name.startswith("plot_")}
    for name, frames in pictures.items():
        ax = getattr(plots, name)(*frames)
        ax.figure.canvas.draw()  # warnings are errors here: no missing glyph, no bad layout
        assert ax.has_data()


def test_a_dollar_sign_is_not_a_formula():
    names = ["$a$", "b", "c", "d", "$"]
    source = make_embedding(np.random.default_rng(0).normal(size=(5, 2)), names)
    written = texts(plots.plot_projection(analysis.project(source, "place")).texts)
    pairs = plots.plot_subspace_correlation(CORRELATIONS.replace("promo", "$a$"))
    written += texts(pairs.get_yticklabels())
    many = matrix(np.ones((61, 61)))
    written.append(plots.plot_distances(replace(many, column="$a$")).get_xlabel())
    shown = [text for text in written if "$a" in text]
    assert shown == [r"\$a\$", r"\$a\$", r"61 categories of \$a\$"]


def test_a_control_character_is_drawn_as_an_escape(tmp_path):
    names = ["\x1b[2J", "b\x01", "c", "d", "</svg>"]
    source = make_embedding(np.random.default_rng(0).normal(size=(5, 2)), names)
    ax = plots.plot_projection(analysis.project(source, "place"))
    assert texts(ax.texts) == ["\\x1b[2J", "</svg>", "b\\x01", "c", "d"]
    ax.figure.savefig(tmp_path / "p.svg")
    ElementTree.parse(tmp_path / "p.svg")


def test_another_frame_is_refused_with_a_sentence(states):
    with pytest.raises(InputError, match=r"^The frame has no x and no y and no trustworthiness"):
        plots.plot_projection(analysis.nearest(states, "state", "BY"))
    with pytest.raises(InputError, match=r"^A frame that a function of catspace.analysis returned"):
        plots.plot_projection("picture")
    with pytest.raises(InputError, match=r"^The frame has no rows to draw"):
        plots.plot_stability(STABILITY.head(0))
