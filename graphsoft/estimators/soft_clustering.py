"""The estimator `SoftClustering`."""

from __future__ import annotations

from typing import Any

from graphsoft.estimators.clusterer import SoftClusterer

__all__ = ["SoftClustering"]


class SoftClustering(SoftClusterer):
    """One flat clustering by any of the methods, as an estimator of scikit-learn.

    It finds what :func:`graphsoft.cluster` finds.

    Parameters
    ----------
    n_clusters : int
        How many clusters.
    method : str or settings
        A key of ``graphsoft.methods.METHODS``, or settings such as ``graphsoft.methods.SoF(neighbors=10)``.
    affinity : {"features", "precomputed", "precomputed_nearest_neighbors"}
        What X holds, as in `SoftHierarchy`. Some methods need features.
    n_neighbors, metric, weights
        How points become a graph; see :func:`graphsoft.knn_graph`. Methods that look at features alone need
        the graph too, to place new points. Of given distances, at most `n_neighbors` in a row are used.
    sparse_output : bool
        Whether `predict_proba` and `transform` return sparse matrices. pandas and polars output needs dense
        ones.
    random_state : None, int, RandomState or numpy Generator
        Source of random numbers, for methods and searches that use some. With None the same data give the
        same answer every time.

    Attributes
    ----------
    hierarchy_ : Hierarchy
        The clustering as a hierarchy of one level: ``hierarchy_[0]`` has its memberships.
    labels_ : ndarray of shape (n,)
        The likeliest cluster of each point.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        If X is a data frame whose columns have names.

    See Also
    --------
    SoftHierarchy : Clusters on several levels.

    Notes
    -----
    New points are placed in the same way under every method: by one step of the walk to their nearest fitted
    points, and from there to the clusters of those. So fitted points have their own memberships, hard
    clusters may be shared at their borders, and nothing is computed from centers or densities that a method
    may have used.

    Examples
    --------
    >>> from graphsoft import SoftClustering
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> model = SoftClustering(2, method="ward", n_neighbors=2).fit(X)
    >>> model.labels_.tolist(), model.predict([[0.3], [5.3]]).tolist()
    ([0, 0, 0, 1, 1, 1], [0, 1])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: Any = "relation",
        affinity: str = "features",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        weights: str = "local-scaling",
        sparse_output: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.weights = weights
        self.sparse_output = sparse_output
        self.random_state = random_state
