"""Distances to neighbors that were found before, such as scikit-learn's ``KNeighborsTransformer`` makes.

They become weights in the same way as graphsoft's own: between fitted points, and from new points to those.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.graph.adjacency import check_square
from graphsoft.graph.graph import Graph, graph_of_weights
from graphsoft.input.sparse_input import sparse_matrix
from graphsoft.neighbors.external import nearest_listed
from graphsoft.neighbors.weights import ScaledLists, edge_weights, symmetric, weights_of_others
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.new_rows import empty_rows, normalized, warn_of_empty
from graphsoft.result.prediction import fallback_memberships, new_memberships

__all__ = ["graph_of_distances", "memberships_by_distances"]


def graph_of_distances(X: Any, n_neighbors: int, weights: str) -> tuple[Graph, ScaledLists]:
    """Join points to their nearest neighbors.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n, n)
        Distances of at least 0. Of a sparse matrix only the stored entries count, also where they are 0.
    n_neighbors : int
        At most so many of the distances in a row are used.
    weights : str
        See :func:`graphsoft.knn_graph`.

    Returns
    -------
    Graph
    ScaledLists
        What the weights of new points depend on.

    Examples
    --------
    >>> distances = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> graph, lists = graph_of_distances(distances, 1, "connectivity")
    >>> graph.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    matrix = _stored(X)
    check_square(matrix)
    indices, distances = nearest_listed(matrix, min(n_neighbors, max(1, matrix.shape[0] - 1)), own=True)
    made = symmetric(indices, edge_weights(indices, distances, weights), "union")
    note = f"at most {indices.shape[1]} nearest neighbors by given distances, {weights} weights, union"
    return graph_of_weights(made, None, [note], of_neighbors=True), ScaledLists.of(indices, distances)


def memberships_by_distances(X: Any, h: Hierarchy, lists: ScaledLists) -> sp.csr_array:
    """Compute memberships of new points on all levels side by side, as `Hierarchy.transform` does.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (q, n)
        Distances to fitted points, as in :func:`graph_of_distances`. A new point at distance 0 from a fitted
        one is taken for that point.
    h : Hierarchy
        Of the graph that this function returned.
    lists : ScaledLists
        The same.

    Returns
    -------
    csr_array of shape (q, number of all clusters)

    Examples
    --------
    >>> from graphsoft import hierarchy
    >>> line = np.arange(4.0)
    >>> graph, lists = graph_of_distances(abs(line[:, None] - line), 1, "connectivity")
    >>> h = hierarchy(graph, [2])
    >>> found = memberships_by_distances([[0.0, 1.0, 2.0, 3.0]], h, lists)
    >>> abs(found - h[0].memberships[[0]]).max() == 0
    np.True_
    """
    matrix = _stored(X)
    indices, distances = nearest_listed(matrix, lists.neighbors.shape[1], own=False)
    weights = weights_of_others(indices, distances, h.settings.weights, lists)
    copies = distances[:, 0] == 0.0
    weights[copies] = 0.0
    weights[copies, 0] = 1.0
    rows, ranks = np.nonzero(weights)
    step = normalized(sp.csr_array((weights[rows, ranks], (rows, indices[rows, ranks])), shape=matrix.shape))
    warn_of_empty(empty_rows(step))
    old = [level.memberships for level in h]
    fallbacks = fallback_memberships(h.graph, old, [each.parents for each in h if each.parents is not None])
    parts = [new_memberships(step, *each) for each in zip(old, fallbacks, strict=True)]
    return sp.hstack(parts, format="csr")


def _stored(X: Any) -> sp.csr_array:
    """Write all distances as stored entries."""
    if sp.issparse(X):
        return sparse_matrix(X, ordered=False, rounded=True)
    rows, columns = np.shape(X)
    indices = np.tile(np.arange(columns), rows)
    values = np.asarray(X, dtype=np.float64).ravel()
    return sp.csr_array((values, indices, np.arange(0, rows * columns + 1, columns)), shape=(rows, columns))
