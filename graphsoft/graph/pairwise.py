"""The graph of all pairs of points, for few points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import check_options
from graphsoft.graph.reading import read_input
from graphsoft.input.checks import choice, integer, number
from graphsoft.neighbors.points import Points
from graphsoft.neighbors.weights import SMALLEST
from graphsoft.parallel import row_blocks

__all__ = ["MAX_POINTS", "PAIR_WEIGHTS", "all_pairs", "pairwise_graph"]

# The weights of all pairs of so many points take 4.8 GB.
MAX_POINTS = 20_000
PAIR_WEIGHTS = ("relative", "local-scaling", "gaussian")
# Metrics that have another name in SciPy.
SCIPY_NAMES = {"manhattan": "cityblock"}


def pairwise_graph(
    X: Any,
    metric: str = "euclidean",
    weights: str = "relative",
    *,
    n_neighbors: int = 10,
    sigma: float | None = None,
) -> Graph:
    """Join every point to all others. There are n (n - 1) weights, so this is for few points only.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix of shape (n, d)
        At most 20,000 points.
    metric : str
        As in :func:`graphsoft.knn_graph`.
    weights : {"relative", "local-scaling", "gaussian"}
        With d the distance of i and j, and s the distance of a point to its n-th neighbor:
        ``relative`` exp(-d / sqrt(s_i s_j)), ``local-scaling`` exp(-d² / (s_i s_j)), ``gaussian``
        exp(-d² / (2 σ²)).
    n_neighbors : int
        The n in s.
    sigma : float, optional
        The σ of ``gaussian``; by default the median of s.

    Returns
    -------
    Graph

    Examples
    --------
    >>> graph = pairwise_graph([[0.0], [1.0], [3.0]], weights="gaussian", sigma=1.0)
    >>> graph.adjacency.toarray().round(3).tolist()
    [[0.0, 0.607, 0.011], [0.607, 0.0, 0.135], [0.011, 0.135, 0.0]]
    """
    integer("n_neighbors", n_neighbors, 1)
    check_options(1, metric, "relative", "union")
    choice("weights", weights, PAIR_WEIGHTS)
    if sigma is not None:
        sigma = number("sigma", sigma, above=0)
    features = read_input(X, "features", metric, "relative")
    if isinstance(features, Graph):
        raise InputError("X", "is a graph, not a table of points", "pass it as it is")
    if len(features) > MAX_POINTS:
        problem = f"has {len(features)} points, and all pairs of them would be stored"
        raise InputError("X", problem, f"pass at most {MAX_POINTS}, or use graphsoft.knn_graph")
    return all_pairs(features, weights, n_neighbors, sigma)


def all_pairs(features: Features, weights: str, n_neighbors: int, sigma: float | None = None) -> Graph:
    """Make the graph of :func:`pairwise_graph` from arguments that have been checked."""
    points = Points.of(features.values, features.metric)  # brings extreme numbers to an ordinary size
    table = _distances(points)
    count = len(table)
    nth = min(n_neighbors, count - 1)
    scales = np.partition(table, nth, axis=1)[:, nth]
    # a point with many duplicates has its n-th neighbor at 0, and Bray-Curtis puts opposites infinitely far
    positive = scales[(scales > 0) & np.isfinite(scales)]
    scales[scales == 0] = positive.min() if len(positive) else 1.0
    scales[~np.isfinite(scales)] = positive.max() if len(positive) else 1.0
    roots = np.sqrt(scales)  # whose products do not underflow, as those of the scales could
    with np.errstate(over="ignore"):  # numbers beyond float64 become infinity, which is far enough
        width = float(np.median(scales)) if sigma is None else float(np.ldexp(sigma, -points.exponent))
        width = max(width, np.finfo(np.float64).tiny)
        for start, stop in row_blocks(table):
            block = table[start:stop]
            if weights == "gaussian":
                block /= width * np.sqrt(2.0)
            else:
                block /= roots[start:stop, None] * roots
            if weights != "relative":
                np.square(block, out=block)
            np.exp(-block, out=block)
            np.maximum(block, SMALLEST, out=block)
    about = f"all pairs of {count} points, {features.metric} distance, {weights} weights"
    names = range(count) if features.names is None else features.names
    return Graph(_without_diagonal(table), names, (*features.notes, about))


def _distances(points: Points) -> Array:
    values, metric = points.values, points.metric
    if sp.issparse(values):
        from sklearn.metrics import pairwise_distances

        distances = pairwise_distances(values.astype(np.float64), metric=metric)
        return np.asarray(np.maximum(distances, distances.T))
    from scipy.spatial.distance import cdist

    values = values.astype(np.float64)
    distances = cdist(values, values, SCIPY_NAMES.get(metric, metric))
    return np.asarray(np.where(np.isnan(distances), 1.0, distances))  # rows without a direction


def _without_diagonal(weights: Array) -> sp.csr_array:
    count = len(weights)
    kind = np.int32 if count * count <= np.iinfo(np.int32).max else np.int64
    off = ~np.eye(count, dtype=bool)
    indices = np.broadcast_to(np.arange(count, dtype=kind), (count, count))[off]
    indptr = np.arange(count + 1, dtype=kind) * (count - 1)
    matrix = sp.csr_array((weights[off], indices, indptr), shape=(count, count))
    matrix.has_canonical_format = True
    return matrix
