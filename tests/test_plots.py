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
from catspace.plots import drawing
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
).assign(column="place")
STABILITY = pd.DataFrame(
    {"category": ["a", "b", "c"], "count": [10, 200, 3000], "overlap": [0.25, 0.5, 1.0]}
).assign(chance=0.125, column="place")


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
    assert ax.get_title("left") == "state: closest to BY"


def test_the_agreement_of_the_networks_stands_at_each_bar_and_makes_it_darker(states):
    frame = analysis.nearest(states, "state", "BY", k=3).assign(agreement=[1.0, 0.5, 0.0])
    ax = plots.plot_nearest(frame)
    assert texts(ax.texts) == ["100%", "50%", "0%"]
    opacity = [bar.get_alpha() for bar in ax.patches]
    assert opacity == sorted(opacity, reverse=True)
    assert opacity[0] == 1
    assert opacity[2] > 0
    assert "share of the other networks" in ax.get_title("left")


def test_clusters_are_told_apart_by_colour(states):
    frame = analysis.cluster(states, "state", n_clusters=3)
    layout = analysis.project(states, "state")
    ax = plots.plot_clusters(frame, layout.sample(frac=1, random_state=0))
    for number in range(3):
        inside = (frame["cluster"] == number).to_numpy()
        np.testing.assert_allclose(drawn(ax, number), layout[["x", "y"]][inside])
    assert len(set(colours(ax.collections))) == 3
    symbols = {str(points.get_paths()[0].vertices.tolist()) for points in ax.collections}
    assert len(symbols) == 3  # for those who see no colour
    sizes = frame["cluster"].value_counts()
    expected = [f"cluster {number} ({sizes[number]})" for number in range(3)]
    assert texts(ax.get_legend().get_texts()) == expected
    assert ax.get_title("left") == "state: 12 categories, 3 clusters"
    assert texts(ax.texts) == frame["category"].tolist()


def test_what_belongs_to_no_cluster_is_grey(states):
    frame = analysis.cluster(states, "state", n_clusters=2).assign(cluster=[-1] * 2 + [0] * 10)
    ax = plots.plot_clusters(frame, analysis.project(states, "state"))
    assert len(drawn(ax, 0)) == 2
    assert colours(ax.collections)[0] == "#9a9a9a"
    assert texts(ax.get_legend().get_texts()) == ["no cluster (2)", "cluster 0 (10)"]


def test_a_projection_draws_each_category_where_the_frame_has_it(states):
    frame = analysis.project(states, "state")
    ax = plots.plot_projection(frame)
    np.testing.assert_allclose(drawn(ax), frame[["x", "y"]])
    assert texts(ax.texts) == frame["category"].tolist()
    np.testing.assert_allclose([text.xy for text in ax.texts], frame[["x", "y"]])
    what, how_well = ax.get_title("left").split("\n")
    assert what == "state: 12 categories in the plane"
    assert how_well.startswith(f"trustworthiness {frame['trustworthiness'][0]:.2f} ")


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
    expected = f"state: learned places beside the map\nscore {score:.2f}, p = {p_value:.3f}"
    assert ax.get_title("left") == expected
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
    assert ax.get_title("left") == "state: from BY to SH"
    assert ax.get_xlabel() == "position along the line (0: BY, 1: SH)"
    assert ax.get_ylabel() == "distance from the line"


def test_the_target_is_drawn_along_one_direction_at_a_time(states):
    names = np.repeat(list(STATE_CENTRES), 5)
    target = np.random.default_rng(0).normal(size=60)
    frame = analysis.target_along(states, "state", {"state": names}, target)
    ax = plots.plot_target_along(frame, direction="random 2", target_label="mean sales")
    chosen = frame[frame["direction"] == "random 2"]
    np.testing.assert_allclose(drawn(ax), chosen[["position", "target"]], rtol=1e-6)
    pearson, spearman = chosen["pearson"].iloc[0], chosen["spearman"].iloc[0]
    found = f"Pearson {pearson:.2f}, Spearman {spearman:.2f}"
    assert ax.get_title("left") == f"state: mean sales along random 2\n{found}"
    assert texts(ax.texts) == chosen["category"].tolist()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("random 2", "mean sales")
    with pytest.raises(InputError, match=r"^The frame has no direction 'random 9'; it has"):
        plots.plot_target_along(frame, direction="random 9")


def test_the_density_is_drawn_beside_its_gaussian_and_names_the_test():
    source = make_embedding(np.random.default_rng(0).normal(size=(50, 4)))
    frame, table = analysis.components(source, "place"), analysis.normality(source, "place")
    ax = plots.plot_density(frame, component=2, normality=table)
    test = f"K² = {table['k2'][1]:.1f}, p = {table['p_value'][1]:.3f}"
    assert ax.get_title("left") == f"place: how the categories are spread\n{test}"
    names = frame.sort_values("component 2")["category"].tolist()
    at_the_ends = f"← {', '.join(names[:3])}    {', '.join(names[-3:])} →"
    assert ax.get_xlabel() == f"component 2\n{at_the_ends}"
    assert ax.get_ylabel() == "density"
    values = frame["component 2"]
    edges = [*(bar.get_x() for bar in ax.patches), values.max()]
    expected, _ = np.histogram(values, bins=edges, density=True)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], expected)
    bell = line(ax, 0)
    top = bell[bell[:, 1].argmax()]
    assert top[0] == pytest.approx(values.mean(), abs=0.02)
    assert top[1] == pytest.approx(1 / (values.std(ddof=0) * np.sqrt(2 * np.pi)), rel=1e-3)


def test_a_dozen_values_are_strokes_and_no_histogram(states):
    frame = analysis.components(states, "state")
    ax = plots.plot_density(frame)
    assert len(ax.patches) == 0
    strokes = [path.vertices[0, 0] for path in ax.collections[0].get_paths()]
    np.testing.assert_allclose(strokes, frame["component 1"])


def test_correlations_are_a_triangle_of_numbers_in_the_colour_of_their_size():
    ax = plots.plot_subspace_correlation(CORRELATIONS, value="largest")
    grid = np.asarray(ax.images[0].get_array().filled(np.nan))
    # Promo goes with store rather than with state: it stands beside it, at the end of the row.
    names = [*texts(ax.get_xticklabels()), texts(ax.get_yticklabels())[-1]]
    assert names in (["promo", "store", "state"], ["state", "store", "promo"])
    pair = {frozenset(("store", "state")): 0.75, frozenset(("store", "promo")): 0.5}
    pair[frozenset(("state", "promo"))] = 0.25
    expected = np.full((3, 3), np.nan)
    for j, i in ((1, 0), (2, 0), (2, 1)):
        expected[j, i] = pair[frozenset((names[j], names[i]))]
    np.testing.assert_array_equal(grid, expected)
    assert ax.images[0].get_clim() == (0, 1)
    for text in ax.texts:
        i, j = text.get_position()
        assert text.get_text() == f"{expected[j, i]:.2f}"
        assert text.get_color() == ("white" if expected[j, i] > 0.6 else "black")
    assert len(ax.texts) == 3
    assert texts(ax.get_yticklabels()) == names[1:]
    assert ax.figure.axes[1].get_ylabel() == "largest absolute correlation"


def test_learned_distances_are_drawn_over_metric_ones(states, distances):
    frame = analysis.compare_distances(states, "state", distances)
    ax = plots.plot_compare_distances(frame)
    np.testing.assert_allclose(drawn(ax), frame[["metric", "embedding"]])
    by_metric = frame.sort_values("metric", kind="stable")
    for i, column in enumerate(("fitted", "lower", "upper")):
        np.testing.assert_allclose(line(ax, i), by_metric[["metric", column]])
    assert texts(ax.get_legend().get_texts()) == ["linear fit", "first and last percent"]
    found = f"Pearson {frame['pearson'][0]:.2f}, Spearman {frame['spearman'][0]:.2f}"
    assert ax.get_title("left") == f"place: does closeness mean likeness?\n{found}"
    pairs = set(frame["category_a"] + " and " + frame["category_b"])
    assert 0 < len(ax.texts) < len(frame)
    assert set(texts(ax.texts)) <= pairs
    assert ax.get_xlabel() == "distance in the metric space"
    assert ax.get_ylabel() == "distance in the learned space"


def test_distances_are_a_heat_map_with_the_names_of_a_few_categories(distances):
    ax = plots.plot_distances(distances)
    names = texts(ax.get_xticklabels())
    assert texts(ax.get_yticklabels()) == names
    assert sorted(names) == sorted(distances.categories)
    order = [distances.categories.index(name) for name in names]
    np.testing.assert_array_equal(ax.images[0].get_array(), distances.values[np.ix_(order, order)])
    assert ax.figure.axes[1].get_ylabel() == "distance"
    assert ax.get_title("left") == "place: distances in the metric space"


def test_a_heat_map_of_many_categories_names_one_in_several_of_them():
    n = 90
    ax = plots.plot_distances(matrix(np.abs(np.subtract.outer(np.arange(n), np.arange(n)) * 1.0)))
    assert len(ax.get_xticklabels()) == len(ax.get_yticklabels()) == 30
    assert ax.get_xlabel() == ax.get_ylabel() == "90 categories of place, one in 3 named"


def test_a_heat_map_shows_groups_as_blocks_whatever_the_order_of_the_categories():
    group = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], 8))
    values = np.where(np.equal.outer(group, group), 1.0, 9.0)
    np.fill_diagonal(values, 0)
    values[0, 1] = values[1, 0] = np.nan  # two that never met
    grid = np.asarray(plots.plot_distances(matrix(values)).images[0].get_array())
    jumps = (np.diff(np.nan_to_num(grid, nan=9.0)[0][1:]) != 0).sum()
    assert jumps <= 2  # near, far, and the one that is not known


def test_among_a_thousand_points_the_extremes_and_the_lonely_have_names():
    random = np.random.default_rng(0)
    points = random.normal(size=(1_115, 2))
    points[7], points[8] = (30, 0), (-30, 2)  # far out on both sides
    source = make_embedding(points, [f"s{i:04}" for i in range(len(points))])
    ax = plots.plot_projection(analysis.project(source, "place"))
    written = texts(ax.texts)
    assert {"s0007", "s0008"} <= set(written)
    assert 5 <= len(written) <= 24
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_colours_survive_a_printer_without_colour_and_eyes_that_lack_one():
    for name in (drawing.NUMBERS, drawing.DISTANCES, drawing.SHARES):
        grey = mpl.colormaps[name](np.linspace(0, 1, 50))[:, :3] @ [0.2126, 0.7152, 0.0722]
        steps = np.diff(grey)
        assert (steps > 0).all() or (steps < 0).all(), name
    # What is left to a reader without the cones for green (Machado and others, 2009).
    without_green = np.array(
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    )
    for seen in (np.eye(3), without_green):
        found = np.array([mpl.colors.to_rgb(one) for one in drawing.PALETTE]) @ seen.T
        apart = np.linalg.norm(found[:, None] - found[None], axis=2)[np.triu_indices(8, k=1)]
        assert apart.min() > 0.12


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
    assert ax.get_title("left") == (
        f"place: laid out by metric distances\nstress {frame['stress'][0]:.2f} "
        "(0 is perfect, 0.2 is poor)"
    )


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


def test_a_long_name_keeps_the_end_that_tells_it_apart():
    names = [f"https://example.org/shops/of/the/north/{i}" for i in range(5)]
    source = make_embedding(np.random.default_rng(0).normal(size=(5, 2)), names)
    written = texts(plots.plot_projection(analysis.project(source, "place")).texts)
    assert len(set(written)) == 5
    assert all(len(text) == 24 for text in written)
    assert written[3].endswith("north/3")


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
    written += {*texts(pairs.get_xticklabels()), *texts(pairs.get_yticklabels())}
    many = matrix(np.ones((61, 61)))
    written.append(plots.plot_distances(replace(many, column="$a$")).get_xlabel())
    shown = [text for text in written if "$a" in text]
    assert [text.replace(", one in 3 named", "") for text in shown] == [
        r"\$a\$",
        r"\$a\$",
        r"61 categories of \$a\$",
    ]


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
