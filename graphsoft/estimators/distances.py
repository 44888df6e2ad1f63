"""Distances to neighbors that were found before, such as scikit-learn's ``KNeighborsTransformer`` makes.

They become weights in the same way as graphsoft's own: between fitted points, and from new points to those.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.graph.adjacency import check_square
from graphsoft.graph.graph import Graph, graph_of_weights
from graphsoft.input.sparse_input import sparse_matrix
from graphsoft.neighbors.external import nearest_listed
from graphsoft.neighbors.weights import ScaledLists, edge_weights, symmetric, weights_of_others

__all__ = ["graph_of_distances", "weights_of_distances"]


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
    >>> graph, lists = graph_of_distances(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]), 1,
    ...     "connectivity")
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


def weights_of_distances(X: Any, graph: Graph, lists: ScaledLists, weights: str) -> sp.csr_array:
    """Compute the weights from new points to the fitted ones.

    A new point at distance 0 from a fitted one is taken for that point, and has its weights.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (q, n)
        Distances to fitted points, as in :func:`graph_of_distances`.
    graph, lists
        As that function returned them.
    weights : str

    Returns
    -------
    csr_array of shape (q, n)

    Examples
    --------
    >>> old = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])
    >>> graph, lists = graph_of_distances(old, 1, "connectivity")
    >>> weights_of_distances([[0.5, 0.4, 9.0], [1.0, 0.0, 2.0]], graph, lists, "connectivity").toarray()
    array([[0., 1., 0.],
           [1., 0., 1.]])
    """
    matrix = _stored(X)
    indices, distances = nearest_listed(matrix, lists.neighbors.shape[1], own=False)
    values = weights_of_others(indices, distances, weights, lists)
    copies = distances[:, 0] == 0.0
    values[copies] = 0.0
    rows, ranks = np.nonzero(values)
    joined = sp.csr_array((values[rows, ranks], (rows, indices[rows, ranks])), shape=matrix.shape)
    return (joined + _rows_of(graph.adjacency, indices[:, 0], copies)).tocsr()


def _rows_of(adjacency: sp.csr_array, nodes: Array, chosen: Array) -> sp.csr_array:
    """Take the rows of `nodes` where they are chosen, and empty rows elsewhere."""
    pick = np.flatnonzero(chosen)
    units = (np.ones(len(pick)), (pick, nodes[pick]))
    return (sp.csr_array(units, shape=(len(nodes), adjacency.shape[0])) @ adjacency).tocsr()


def _stored(X: Any) -> sp.csr_array:
    """Write all distances as stored entries."""
    if sp.issparse(X):
        return sparse_matrix(X, ordered=False, rounded=True)
    rows, columns = np.shape(X)
    indices = np.tile(np.arange(columns), rows)
    values = np.asarray(X, dtype=np.float64).ravel()
    return sp.csr_array((values, indices, np.arange(0, rows * columns + 1, columns)), shape=(rows, columns))
