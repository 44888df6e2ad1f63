"""Points become a graph: each is joined to its nearest neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Progress
from graphsoft.errors import shown, warn
from graphsoft.graph.features import Features, checked_features
from graphsoft.graph.graph import Graph, graph_of_weights
from graphsoft.input.checks import callback, choice, generator, integer
from graphsoft.input.mapped import take_rows
from graphsoft.neighbors.external import check_finder, found_within
from graphsoft.neighbors.nearest import METRICS, nearest_neighbors
from graphsoft.neighbors.points import Points, first_copies
from graphsoft.neighbors.weights import SYMMETRIZE, WEIGHTS, edge_weights, spread_over_copies, symmetric
from graphsoft.progress import watches_progress

__all__ = ["check_options", "joined_to_nearest", "knn_graph"]


@watches_progress("neighbors")
def knn_graph(
    X: Any,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    symmetrize: str = "union",
    *,
    neighbors: Any = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> Graph:
    """Join every point to its nearest neighbors.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix of shape (n, d)
        One row for each point.
    n_neighbors : int
        At most n - 1; if it is more, n - 1 are used, with a warning. A point is no neighbor of itself.
    metric : str
        ``euclidean`` or ``cosine``; for dense data also ``correlation``, ``manhattan``, ``chebyshev``,
        ``canberra``, ``braycurtis`` and ``hamming``. For ``cosine`` and ``correlation``, directions at a
        right angle or more are no neighbors. Rows of zeros (empty documents) stay without edges, with a
        warning.
    weights : {"local-scaling", "gaussian", "connectivity", "jaccard", "relative"}
        With d the distance of i and j, and s the distance of a point to the last of its neighbors:
        exp(-d² / (s_i s_j)); exp(-d² / (2 σ²)) with σ the median of all s; 1; the neighbors that i and j
        share over those that either has, each point counted among its own; exp(-d / sqrt(s_i s_j)).
    symmetrize : {"union", "mutual", "average"}
        What becomes of an edge that only one of its ends has in its list: it is kept, dropped, or halved.
    neighbors : object, optional
        Your own search for neighbors, with the interface of scikit-learn's transformers:
        ``fit_transform(X)`` returns a sparse matrix of the distances from each point to its neighbors.
        ``KNeighborsTransformer(mode="distance")`` and ``PyNNDescentTransformer`` do that, and a few lines
        wrap any other library. Its distances are taken as they are, so `metric` must be left out. The
        `n_neighbors` nearest of each point are kept, and fewer are fine. Let it find a few more, because most
        count the point itself. It is fitted to the distinct rows.
    rng : None, int, or numpy Generator
        The seed of the approximate search, or anything else that ``numpy.random.default_rng`` takes. Nothing
        else is random. None gives the same answer every time.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    Graph
        With positive weights of at most 1.

    Notes
    -----
    Neighbors are sought among the distinct rows, so duplicates of a point do not fill its list. Each row is
    joined to its own duplicates by weight 1, and to one duplicate of each neighbor. `Graph.duplicates` says
    which rows are identical.

    Whole numbers beyond 2**53 are never rounded silently. A dense column that float64 would round, such as
    times in nanoseconds, is moved by its smallest number, exactly, where that leaves distances as they are:
    under ``euclidean``, ``manhattan``, ``chebyshev`` and ``hamming``. Where float64 cannot hold the numbers
    even so, and in sparse data, they are refused. Floats are taken as they are: ``X.astype(float)`` rounds.

    The search is exact up to the sizes given in :mod:`graphsoft.neighbors.nearest`, and approximate for
    larger sets. The same input gives the same bits on any number of threads.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [1.0], [5.0]], n_neighbors=1, weights="connectivity")
    >>> graph.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    check_options(n_neighbors, metric, weights, symmetrize)
    progress = callback("progress", progress)
    check_finder(neighbors, metric)
    features = checked_features(X, metric, neighbors)
    return joined_to_nearest(features, n_neighbors, weights, symmetrize, generator("rng", rng), progress)


def check_options(n_neighbors: Any, metric: Any, weights: Any, symmetrize: Any) -> None:
    """Check the options for joining points, before any work."""
    integer("n_neighbors", n_neighbors, 1)
    choice("metric", metric, METRICS)
    choice("weights", weights, WEIGHTS)
    choice("symmetrize", symmetrize, SYMMETRIZE)


def joined_to_nearest(
    features: Features,
    n_neighbors: int,
    weights: str,
    symmetrize: str,
    random: np.random.Generator | None,
    progress: Progress | None,
) -> Graph:
    """Make the graph of :func:`knn_graph` from arguments that have been checked."""
    values, metric, count = features.values, features.metric, len(features)
    if count > 1 and n_neighbors > count - 1:
        others = count - 1
        warn(
            f"n_neighbors: {shown(n_neighbors)} is more than the {others} other points; all of them are used"
        )
    points = Points.of(values, metric)
    empty = int(np.count_nonzero(points.factors == 0))
    if empty:
        warn(f"{empty} rows have no direction (all zero or constant) and stay without edges")
    heads, duplicates = np.unique(first_copies(points), return_inverse=True)
    distinct = points if len(heads) == count else points.take(heads)
    found = max(1, min(n_neighbors, len(heads) - 1))
    if features.neighbors is None:
        indices, distances = nearest_neighbors(distinct, found, rng=random, progress=progress)
        distance = f"{metric} distance"
    else:
        rows = values if len(heads) == count else take_rows(values, heads)
        indices, distances = found_within(features.neighbors, rows, found)
        distance = f"distances by {type(features.neighbors).__name__}"
    matrix = symmetric(indices, edge_weights(indices, distances, weights), symmetrize)
    notes = [*features.notes, f"{found} nearest neighbors, {distance}, {weights} weights, {symmetrize}"]
    if len(heads) == count:
        return graph_of_weights(matrix, features.names, notes, of_neighbors=True)
    notes.append(f"{count} rows are {len(heads)} distinct points")
    numbers = duplicates.astype(matrix.indices.dtype)
    matrix = spread_over_copies(matrix, indices, duplicates)
    return graph_of_weights(matrix, features.names, notes, numbers, of_neighbors=True)
