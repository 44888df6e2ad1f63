"""Neighbors found by an object of the caller's, with the interface of scikit-learn's transformers.

``fit_transform(X)`` returns a sparse matrix of distances from each point to some others, and
``transform(new)`` from each new point to some of the fitted ones. Only stored entries are neighbors. A row
may contain the point itself; its entries may be in any order, and rows may differ in length.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.sparse_input import sparse_matrix

__all__ = ["check_finder", "found_among", "found_within", "nearest_listed"]

Lists = tuple[Array, Array]  # neighbors and distances, as `graphsoft.neighbors.nearest` gives them


def check_finder(neighbors: Any, metric: str) -> None:
    """Refuse an object that cannot find neighbors, and a metric in addition to one that can.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> check_finder(KNeighborsTransformer(mode="distance"), "euclidean")
    >>> check_finder("kd_tree", "euclidean")
    Traceback (most recent call last):
    graphsoft.errors.InputError: neighbors: got 'kd_tree', without fit_transform and transform. Remedy: use \
None or an object such as sklearn.neighbors.KNeighborsTransformer(mode='distance').
    """
    if neighbors is None:
        return
    remedy = "use None or an object such as sklearn.neighbors.KNeighborsTransformer(mode='distance')"
    if isinstance(neighbors, type):
        raise InputError("neighbors", f"got the class {neighbors.__name__}", remedy)
    if not all(callable(getattr(neighbors, name, None)) for name in ("fit_transform", "transform")):
        raise InputError("neighbors", f"got {shown(neighbors)}, without fit_transform and transform", remedy)
    if metric != "euclidean":
        problem = f"got {metric!r}, but the distances are those that neighbors finds"
        raise InputError("metric", problem, "leave it out here, and set it in neighbors")


def found_within(neighbors: Any, values: Any, n_neighbors: int) -> Lists:
    """Fit to points, and take the nearest others of each.

    Parameters
    ----------
    neighbors : object with ``fit_transform``
    values : ndarray or csr_array of shape (n, d)
    n_neighbors : int
        At most so many of the neighbors found are used.

    Returns
    -------
    indices, distances : ndarrays of shape (n, n_neighbors)
        Neighbors by rising distance, ties by index; -1 and infinity where there are no more.
    """
    count = values.shape[0]
    if count < 2:
        return np.full((count, n_neighbors), -1), np.full((count, n_neighbors), np.inf)
    matrix = _checked(neighbors.fit_transform(values), "fit_transform", count, count)
    itself = matrix.diagonal()
    if (itself == 1).all() and (matrix.data == 1).all():
        problem = "fit_transform stores nothing but ones, even as each point's distance to itself"
        raise InputError("neighbors", problem, "let it return distances, for example by mode='distance'")
    return nearest_listed(matrix, n_neighbors, own=True)


def found_among(neighbors: Any, values: Any, count: int, n_neighbors: int, own: bool = False) -> Lists:
    """Take the nearest of the `count` points that `neighbors` was fitted to, for other points.

    With `own`, the first of those are these points themselves, and they do not find themselves.
    """
    queries = values.shape[0]
    if queries == 0:
        return np.zeros((0, n_neighbors), dtype=np.int64), np.zeros((0, n_neighbors))
    if count < 2:  # there is only one point to find, and the object was not fitted
        matrix = sp.csr_array((np.zeros(queries), (np.arange(queries), np.zeros(queries, dtype=int))))
    else:
        matrix = _checked(neighbors.transform(values), "transform", queries, count)
    return nearest_listed(matrix, n_neighbors, own)


def _checked(matrix: Any, method: str, rows: int, columns: int) -> sp.csr_array:
    """Check the matrix that the caller's object returned, and convert it to float64."""
    if not sp.issparse(matrix):
        kind = type(matrix).__name__
        raise InputError("neighbors", f"{method} returns {kind}", "let it return a SciPy sparse matrix")
    if matrix.shape != (rows, columns):
        problem = f"{method} returns shape {matrix.shape} instead of {(rows, columns)}"
        remedy = "let it return a row for each point passed to it, and a column for each one it was fitted to"
        if method == "transform":
            remedy += "; an object that has been fitted again cannot serve this hierarchy"
        raise InputError("neighbors", problem, remedy)
    if matrix.dtype.kind not in "biuf":
        raise InputError("neighbors", f"{method} returns dtype {matrix.dtype}", "let it return distances")
    # compiled loops will trust its indices
    result = sparse_matrix(matrix, "neighbors", ordered=False, rounded=True)
    wrong = np.flatnonzero(result.data < 0)
    if len(wrong):
        problem = f"{method} returns {len(wrong)} negative distances, such as {result.data[wrong[0]]}"
        raise InputError("neighbors", problem, "let it leave out neighbors that it has not found")
    return result


def nearest_listed(matrix: sp.csr_array, n_neighbors: int, own: bool) -> Lists:
    """Sort the entries of each row, and keep the first; with `own`, without those on the diagonal.

    Examples
    --------
    >>> matrix = sp.csr_array(([0.0, 2.0, 1.0], [0, 1, 2], [0, 3]), shape=(1, 3))
    >>> indices, distances = nearest_listed(matrix, 3, own=True)
    >>> indices.tolist(), distances.tolist()
    ([[2, 1, -1]], [[1.0, 2.0, inf]])
    """
    count = matrix.shape[0]
    rows = np.repeat(np.arange(count), np.diff(matrix.indptr))
    columns, data = matrix.indices.astype(np.int64), matrix.data.astype(np.float64)
    if own:
        others = rows != columns
        rows, columns, data = rows[others], columns[others], data[others]
    order = np.lexsort((data, columns, rows))
    repeated = (np.diff(rows[order], prepend=-1) == 0) & (np.diff(columns[order], prepend=-1) == 0)
    order = order[~repeated]  # of an entry that is stored twice, the smaller one stays
    order = order[np.lexsort((columns[order], data[order], rows[order]))]
    rows = rows[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
    order, rows, ranks = (each[ranks < n_neighbors] for each in (order, rows, ranks))
    indices = np.full((count, n_neighbors), -1, dtype=np.int64)
    distances = np.full((count, n_neighbors), np.inf)
    indices[rows, ranks], distances[rows, ranks] = columns[order], data[order]
    return indices, distances
