"""What the embedding says: numbers about categories and their space, as labelled frames.

Functions about categories take a fitted model, its embeddings or a model file, and the name of a
column; `importance` and `effect` ask a fitted model about a table.
"""

from catspace.analysis.distances import DistanceMatrix, model_distance, observed_distance
from catspace.analysis.distribution import components, mardia, normality, subspace_correlation
from catspace.analysis.effects import effect
from catspace.analysis.importance import importance
from catspace.analysis.layouts import compare_distances, distortion, mds
from catspace.analysis.metric_space import check_metric, merge_redundant, schoenberg
from catspace.analysis.neighbours import analogy, cluster, direction, explain_direction, nearest
from catspace.analysis.projection import compare_with_map, project, target_along
from catspace.analysis.stability import stability

__all__ = [
    "DistanceMatrix",
    "analogy",
    "check_metric",
    "cluster",
    "compare_distances",
    "compare_with_map",
    "components",
    "direction",
    "distortion",
    "effect",
    "explain_direction",
    "importance",
    "mardia",
    "mds",
    "merge_redundant",
    "model_distance",
    "nearest",
    "normality",
    "observed_distance",
    "project",
    "schoenberg",
    "stability",
    "subspace_correlation",
    "target_along",
]
