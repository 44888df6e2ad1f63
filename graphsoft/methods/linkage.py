"""Agglomeration by single, complete or Ward linkage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.graph.pairwise import SCIPY_NAMES
from graphsoft.input.checks import choice
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.edge_linkage import along_graph, cut
from graphsoft.methods.parts.rows import few_distinct, shifted
from graphsoft.neighbors.points import Points, first_copies

__all__ = ["Linkage"]

LINKAGES = ("single", "complete", "ward")
# The distances of all pairs take 0.6 GB for this many points, and SciPy copies them. More points are merged
# along their graph.
MAX_POINTS = 12_000


@dataclass(frozen=True)
class Linkage:
    """Settings of agglomeration: the two nearest clusters merge until few enough are left; hard clusters.

    With up to 12,000 points, any two clusters can merge. With more, only clusters that an edge of the graph
    joins can merge, and single and complete linkage compare the lengths of edges. The trace is empty.

    Parameters
    ----------
    kind : {"single", "complete", "ward"}
        The distance of two clusters: that of their nearest points, that of their farthest points, or how much
        merging them adds to the squared distances from the means. The first two use the given metric, Ward's
        the Euclidean one.

    Examples
    --------
    >>> import graphsoft
    >>> graphsoft.cluster([[0.0], [1.0], [3.0], [5.5]], 2, method=Linkage("single")).labels.tolist()
    [0, 0, 0, 1]
    >>> graphsoft.cluster([[0.0], [1.0], [3.0], [5.5]], 2, method=Linkage("complete")).labels.tolist()
    [0, 0, 1, 1]
    """

    kind: str = "ward"

    def __post_init__(self) -> None:
        choice("kind", self.kind, LINKAGES)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the features, and also at the graph if there are many points."""
        return frozenset({"features"} if points <= MAX_POINTS else {"features", "graph"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Merge until `count` clusters are left."""
        metric = "euclidean" if self.kind == "ward" else sample.features.metric
        few = few_distinct(sample.features.values, metric, count)
        if few is not None:
            return few
        points = Points.of(sample.features.values, metric)
        if len(points) <= MAX_POINTS:
            labels, how = _all_pairs(points, self.kind, count), "all pairs"
        else:
            labels, how = along_graph(points, sample.graph, self.kind, count), "the edges of the graph"
        return Clustering(one_cluster_each(labels, count), (), f"{self.kind} linkage of {how}")


def _all_pairs(points: Points, kind: str, count: int) -> Array:
    from scipy.cluster.hierarchy import linkage

    merges = linkage(_distances(points), kind)
    return cut(merges[:, :2].astype(np.int64), len(points), count)


def _distances(points: Points) -> Array:
    """Compute the distances of all pairs, as SciPy's condensed vector."""
    from scipy.spatial.distance import pdist, squareform

    if not points.sparse:
        values = shifted(points.values) if points.metric == "euclidean" else points.values.astype(np.float64)
        distances = pdist(values, SCIPY_NAMES.get(points.metric, points.metric))
        np.copyto(distances, 1.0, where=np.isnan(distances))  # rows without a direction
        return np.asarray(distances)
    from sklearn.metrics import pairwise_distances

    square = pairwise_distances(points.values.astype(np.float64), metric=points.metric)
    first = first_copies(points)
    square[first[:, None] == first] = 0.0  # rounding gives identical rows a small distance
    return np.asarray(squareform(square, checks=False))
