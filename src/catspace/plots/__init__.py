"""Pictures of what `catspace.analysis` found; only these files import matplotlib.

Every function takes a frame that an analysis function returned, draws on ``ax`` or on a new
figure, and returns the Axes. What is drawn stands in the frame; what is found here is only how to
show it: the order of a heat map, and which points have room for a name.
"""

from catspace.exceptions import CatspaceError

try:
    import matplotlib as _  # noqa: F401
except ImportError:
    raise CatspaceError(
        'plots need matplotlib. Install it with: pip install "catspace[plots]"'
    ) from None

from catspace.plots.categories import (
    plot_clusters,
    plot_direction,
    plot_map,
    plot_nearest,
    plot_projection,
    plot_stability,
    plot_target_along,
)
from catspace.plots.spaces import (
    plot_compare_distances,
    plot_density,
    plot_distances,
    plot_distortion,
    plot_mds,
    plot_schoenberg,
    plot_subspace_correlation,
)

__all__ = [
    "plot_clusters",
    "plot_compare_distances",
    "plot_density",
    "plot_direction",
    "plot_distances",
    "plot_distortion",
    "plot_map",
    "plot_mds",
    "plot_nearest",
    "plot_projection",
    "plot_schoenberg",
    "plot_stability",
    "plot_subspace_correlation",
    "plot_target_along",
]
