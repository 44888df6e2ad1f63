"""The one door: anything that can be seen as a graph becomes a checked, frozen `Graph`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.adjacency import asymmetry, from_networkx, neighbor_lists, refuse_asymmetric, weight_matrix
from graphsoft.checks import choice, dense_matrix, integer, sparse_matrix
from graphsoft.errors import GraphsoftWarning, InputError
from graphsoft.neighbors import METRICS, Progress, nearest_neighbors
from graphsoft.points import Points, first_copies
from graphsoft.weights import SYMMETRIZE, WEIGHTS, edge_weights, spread_over_copies, symmetric

__all__ = ["Graph", "as_graph", "knn_graph"]

Array = np.ndarray[Any, np.dtype[Any]]

AFFINITIES = ("auto", "features", "precomputed")
SPARSE_METRICS = ("euclidean", "cosine")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A checked, undirected, weighted graph; made by :func:`as_graph` and :func:`knn_graph`.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric to the last bit, positive float64 weights, sorted columns, no repeated and no zero entries;
        int32 indices where they fit. Its buffers are read-only.
    nodes : sequence of n
        The names of the nodes in row order, ``range(n)`` where there are none.
    notes : tuple of str
        What was done on the way in, in words.
    sites : ndarray of shape (n,) or None
        For each node the number of its group of identical feature rows; None where no two rows are identical.

    Examples
    --------
    >>> import networkx as nx
    >>> graph = as_graph(nx.path_graph(["a", "b", "c"]))
    >>> graph
    Graph(nodes=3, edges=2)
    >>> graph.nodes, graph.degrees.tolist()
    (('a', 'b', 'c'), [1.0, 2.0, 1.0])
    """

    adjacency: sp.csr_array
    nodes: Sequence[Any]
    notes: tuple[str, ...] = ()
    sites: Array | None = None

    def __post_init__(self) -> None:
        for buffer in (self.adjacency.data, self.adjacency.indices, self.adjacency.indptr, self.sites):
            if buffer is not None:
                buffer.flags.writeable = False

    def __len__(self) -> int:
        return int(self.adjacency.shape[0])

    def __repr__(self) -> str:
        loops = int(np.count_nonzero(self.adjacency.diagonal()))
        return f"Graph(nodes={len(self)}, edges={(self.adjacency.nnz + loops) // 2})"

    @cached_property
    def degrees(self) -> Array:
        """The summed weights of every node, float64 of shape (n,)."""
        degrees = np.asarray(self.adjacency @ np.ones(len(self)))
        degrees.flags.writeable = False
        return degrees

    @cached_property
    def components(self) -> Array:
        """The connected component of every node, int32 of shape (n,), numbered by their first nodes."""
        from scipy.sparse.csgraph import connected_components

        labels: Array = connected_components(self.adjacency, directed=False)[1].astype(np.int32)
        labels.flags.writeable = False
        return labels


def as_graph(
    data: Any,
    *,
    affinity: str = "auto",
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    symmetrize: str = "union",
    progress: Progress | None = None,
) -> Graph:
    """Make a checked graph of features, of a graph, or of neighbour lists.

    Parameters
    ----------
    data : array_like, data frame, sparse matrix, networkx graph or Graph
        Features with one row for each point; or symmetric weights of at least 0; or a sparse matrix of
        distances to nearest neighbours as scikit-learn's ``KNeighborsTransformer`` makes it.
    affinity : {"auto", "features", "precomputed"}
        What a matrix holds. ``auto`` takes a sparse square matrix as a graph, and any other as features.
        ``precomputed`` takes sparse and dense matrices as graphs. A sparse square matrix that is not
        symmetric is read as distances to neighbours if it looks like that: equally many entries stored in
        every row, rising, none but zeros on the diagonal. `Graph.notes` say what was assumed.
    n_neighbors, metric, weights, symmetrize, progress
        How to join points; see :func:`knn_graph`. A graph that is given needs none of them; distances to
        neighbours need `weights` and `symmetrize`.

    Returns
    -------
    Graph

    Raises
    ------
    InputError
        For anything that is no finite, symmetric, non-negative graph and no finite table of numbers.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> as_graph(sp.coo_array([[0, 2], [2, 0]])).adjacency.toarray()
    array([[0., 2.],
           [2., 0.]])
    >>> as_graph([[0.0], [1.0], [5.0]], n_neighbors=1)
    Graph(nodes=3, edges=2)
    """
    choice("affinity", affinity, AFFINITIES)
    _check_parameters(n_neighbors, metric, weights, symmetrize)
    if isinstance(data, Graph):
        return data
    if _is_networkx(data):
        matrix, nodes, notes = from_networkx(data, "data")
        return _given(matrix, nodes, notes)
    if sp.issparse(data):
        square = len(data.shape) == 2 and data.shape[0] == data.shape[1]
        if affinity == "precomputed" or (affinity == "auto" and square):
            matrix = sparse_matrix(data, ordered=False)
            note = "a square sparse matrix was taken as a graph" if affinity == "auto" else None
            return _given_or_lists(matrix, weights, symmetrize, [note] if note else [])
        graph_like = False
    else:
        data = dense_matrix(data)
        if affinity == "precomputed":
            return _given(sp.csr_array(data.astype(np.float64)), None, [])
        graph_like = (
            affinity == "auto" and data.shape[0] == data.shape[1] > 1 and bool((data == data.T).all())
        )
    graph = knn_graph(data, n_neighbors, metric, weights, symmetrize, progress=progress)
    if not graph_like:
        return graph
    note = "a dense symmetric array was taken as features; affinity='precomputed' takes it as a graph"
    return replace(graph, notes=(note, *graph.notes))


def _is_networkx(data: Any) -> bool:
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(data, networkx.Graph)


def _check_parameters(n_neighbors: Any, metric: Any, weights: Any, symmetrize: Any) -> None:
    integer("n_neighbors", n_neighbors, 1)
    choice("metric", metric, METRICS)
    choice("weights", weights, WEIGHTS)
    choice("symmetrize", symmetrize, SYMMETRIZE)


def _check_square(matrix: sp.csr_array) -> None:
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            "data",
            f"is a graph of shape {matrix.shape}, which is not square",
            "pass one row and one column for each node, or affinity='features'",
        )


def _given(matrix: sp.csr_array, nodes: tuple[Any, ...] | None, notes: list[str]) -> Graph:
    """Make a graph of edge weights that must be symmetric."""
    _check_square(matrix)
    weights, done = weight_matrix(matrix, "data", nodes)
    result, pair = asymmetry(weights)
    if pair is not None:
        raise refuse_asymmetric(matrix, pair, "data", nodes)
    return _graph(result, nodes, notes + done)


def _given_or_lists(matrix: sp.csr_array, weights: str, symmetrize: str, notes: list[str]) -> Graph:
    """Make a graph of symmetric edge weights, or else of distances to neighbours."""
    _check_square(matrix)
    edges, done = weight_matrix(matrix, "data")
    result, pair = asymmetry(edges)
    if pair is None:
        return _graph(result, None, notes + done)
    lists = neighbor_lists(matrix)
    if lists is None:
        raise refuse_asymmetric(matrix, pair, "data")
    indices, distances = lists
    note = f"taken as distances to the {indices.shape[1]} nearest neighbours; {weights} weights, {symmetrize}"
    return _graph(symmetric(indices, edge_weights(indices, distances, weights), symmetrize), None, [note])


def _graph(
    matrix: sp.csr_array, nodes: tuple[Any, ...] | None, notes: list[str], sites: Array | None = None
) -> Graph:
    """Freeze checked weights, with int32 indices where they fit."""
    count = matrix.shape[0]
    fits = max(count, matrix.nnz) <= np.iinfo(np.int32).max
    kind = np.int32 if fits else np.int64
    matrix.sort_indices()
    adjacency = sp.csr_array(
        (
            np.ascontiguousarray(matrix.data, dtype=np.float64),
            matrix.indices.astype(kind, copy=False),
            matrix.indptr.astype(kind, copy=False),
        ),
        shape=matrix.shape,
    )
    adjacency.has_canonical_format = True
    loops = int(np.count_nonzero(adjacency.diagonal()))
    if loops:
        notes = [*notes, f"{loops} self-loops kept"]
    alone = int(np.count_nonzero(np.diff(adjacency.indptr) == 0))
    if alone:
        notes = [*notes, f"{alone} nodes without edges"]
    return Graph(adjacency, range(count) if nodes is None else nodes, tuple(notes), sites)


def knn_graph(
    X: Any,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    symmetrize: str = "union",
    *,
    progress: Progress | None = None,
) -> Graph:
    """Join every point to its nearest neighbours.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix of shape (n, d)
        One row for each point.
    n_neighbors : int
        At most n - 1; more are cut to that with a warning. A point is no neighbour of itself.
    metric : str
        ``euclidean`` or ``cosine``; for dense data also ``correlation``, ``manhattan``, ``chebyshev``,
        ``canberra``, ``braycurtis`` and ``hamming``. For ``cosine`` and ``correlation`` directions at a right
        angle or beyond are no neighbours, and rows of zeros (empty documents) stay without edges, with a
        warning.
    weights : {"local-scaling", "gaussian", "connectivity", "jaccard", "relative"}
        With d the distance of i and j, and s the distance of a point to the last of its neighbours:
        exp(-d² / (s_i s_j)); exp(-d² / (2 σ²)) with σ the median of all s; 1; the neighbours that i and j
        share over those that either has, each point counted among its own; exp(-d / sqrt(s_i s_j)).
    symmetrize : {"union", "mutual", "average"}
        What becomes of an edge that was found from one side only: it is kept, dropped, or halved.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Graph
        With positive weights of at most 1.

    Notes
    -----
    Identical rows are one site. Neighbours are sought among sites, so that copies of a point neither fill its
    list nor are torn apart; each copy is joined to copies of its own site by weight 1 and to one copy of each
    neighbouring site. `Graph.sites` tells which rows are identical.

    The search is exact up to the sizes given in :mod:`graphsoft.neighbors`, and approximate beyond. The same
    input gives the same bits on any number of threads.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [1.0], [5.0]], n_neighbors=1, weights="connectivity")
    >>> graph.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    _check_parameters(n_neighbors, metric, weights, symmetrize)
    values = sparse_matrix(X, "X") if sp.issparse(X) else dense_matrix(X, "X")
    if sp.issparse(values):
        choice("metric for sparse data", metric, SPARSE_METRICS)
    count = values.shape[0]
    if count > 1 and n_neighbors > count - 1:
        _warn(f"n_neighbors: {n_neighbors} is more than the {count - 1} other points; all of them are used")
    points = Points.of(values, metric)
    empty = int(np.count_nonzero(points.factors == 0))
    if empty:
        _warn(f"{empty} rows have no direction (all zero or constant) and stay without edges")
    first = first_copies(points)
    heads, sites = np.unique(first, return_inverse=True)
    distinct = points if len(heads) == count else points.take(heads)
    found = max(1, min(n_neighbors, len(heads) - 1))
    indices, distances = nearest_neighbors(distinct, found, progress=progress)
    matrix = symmetric(indices, edge_weights(indices, distances, weights), symmetrize)
    notes = [f"{found} nearest neighbours, {metric} distance, {weights} weights, {symmetrize}"]
    if len(heads) == count:
        return _graph(matrix, None, notes)
    notes.append(f"{count} rows are {len(heads)} distinct points")
    return _graph(spread_over_copies(matrix, indices, sites), None, notes, sites.astype(matrix.indices.dtype))


def _warn(message: str) -> None:
    warnings.warn(message, GraphsoftWarning, stacklevel=3)
