"""The estimator `SoftHierarchy`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphsoft.estimators.clusterer import SoftClusterer
from graphsoft.fitting.settings import falling_sizes

__all__ = ["SoftHierarchy"]


class SoftHierarchy(SoftClusterer):
    """A hierarchy of soft clusters, as an estimator of scikit-learn.

    It does what :func:`graphsoft.hierarchy` does.

    Parameters
    ----------
    levels : int, sequence of int, or "auto", optional
        How many clusters each level has: falling numbers. Without it there is one level of `n_clusters`.
    n_clusters : int
        How many clusters the only level has; of no meaning where `levels` are given.
    level : int
        Which level `labels_`, `predict` and `predict_proba` are about. Negative numbers count from the top.
        `transform` is about all levels.
    affinity : {"features", "precomputed", "precomputed_nearest_neighbors"}
        What X holds: features; symmetric weights, which are large where points are near; or distances, of
        which the nearest of each row count. ``KNeighborsTransformer(mode="distance")`` makes such distances.
        Each stays what it is for new points.
    n_neighbors, metric, weights
        How points become a graph; see :func:`graphsoft.knn_graph`. Of given distances, at most `n_neighbors`
        in a row are used. Given weights need none of these.
    method : str, settings, or a sequence of them with one for each level
        How clusters are found; see :func:`graphsoft.hierarchy`.
    time_limit : float, optional
        Seconds after which no further refinement begins; see :func:`graphsoft.hierarchy`.
    checkpoint : path-like, optional
        A directory for what is found on the way, so that the same fit goes on there; see
        :func:`graphsoft.hierarchy`.
    sparse_output : bool
        Whether `predict_proba` and `transform` return sparse matrices. pandas and polars output needs dense
        ones.
    random_state : None, int, RandomState or numpy Generator
        Source of random numbers, for methods and searches that use some. With None the same data give the
        same answer every time.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        All that :func:`graphsoft.hierarchy` returns. It can be saved: ``hierarchy_.save(path)``.
    labels_ : ndarray of shape (n,)
        The likeliest cluster of each point.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X is a data frame whose columns have names.

    See Also
    --------
    SoftClustering : One flat clustering.

    Examples
    --------
    >>> from graphsoft import SoftHierarchy
    >>> X = [[0.0], [0.1], [1.0], [1.1], [5.0], [5.1], [6.0], [6.1]]
    >>> model = SoftHierarchy(levels=[4, 2], n_neighbors=3).fit(X)
    >>> model.labels_.tolist(), model.predict([[0.5]]).tolist()
    ([0, 0, 0, 0, 1, 1, 1, 1], [0])
    >>> model.get_feature_names_out().tolist()[-3:]
    ['softhierarchy_0-3', 'softhierarchy_1-0', 'softhierarchy_1-1']
    """

    def __init__(
        self,
        levels: Any = None,
        *,
        n_clusters: int = 8,
        level: int = -1,
        affinity: str = "features",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        weights: str = "local-scaling",
        method: Any = "relation",
        time_limit: float | None = None,
        checkpoint: Any = None,
        sparse_output: bool = True,
        random_state: Any = None,
    ) -> None:
        self.levels = levels
        self.n_clusters = n_clusters
        self.level = level
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.weights = weights
        self.method = method
        self.time_limit = time_limit
        self.checkpoint = checkpoint
        self.sparse_output = sparse_output
        self.random_state = random_state

    def _sizes(self, points: int) -> Sequence[int] | str:
        if self.levels is None:
            return super()._sizes(points)
        if isinstance(self.levels, str) and self.levels == "auto":
            return "auto"
        return falling_sizes(self.levels, points)
