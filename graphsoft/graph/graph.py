"""The one door: anything that can be seen as a graph becomes a checked, frozen `Graph`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError, shown, warn
from graphsoft.graph.adjacency import (
    asymmetry,
    check_square,
    from_networkx,
    is_networkx,
    neighbor_lists,
    refuse_asymmetric,
    warn_of_distances,
    weight_matrix,
)
from graphsoft.input.checks import callback, choice, generator, integer
from graphsoft.input.dense_input import dense_matrix, frame_columns, warn_of_columns
from graphsoft.input.mapped import taken
from graphsoft.input.sparse_input import canonical, narrow, sparse_matrix
from graphsoft.kernels import rows_of
from graphsoft.kernels.adjacency import find_components, row_sums
from graphsoft.linalg.csr import submatrix
from graphsoft.neighbors.external import check_finder, found_within
from graphsoft.neighbors.nearest import METRICS, nearest_neighbors
from graphsoft.neighbors.points import Points, first_copies
from graphsoft.neighbors.weights import SYMMETRIZE, WEIGHTS, edge_weights, spread_over_copies, symmetric
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load, row_blocks

__all__ = [
    "Features",
    "Graph",
    "as_graph",
    "check_options",
    "joined_to_nearest",
    "knn_graph",
    "marked",
    "read_input",
    "subgraph",
]

AFFINITIES = ("auto", "features", "precomputed")
DISTANCES = "taken as distances"  # how the note on a graph that was made of them begins
SPARSE_METRICS = ("euclidean", "cosine")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A checked, undirected, weighted graph; made by :func:`as_graph` and :func:`knn_graph`.

    Attributes
    ----------
    adjacency : csr_array of shape (n, n)
        Symmetric to the last bit, positive float64 weights, sorted columns, no repeated and no zero entries;
        int32 indices where they fit. (Contracted and reordered graphs, which the engine makes for itself, may
        have float32 weights in no order, symmetric but for rounding.) Its buffers are read-only. A CSR matrix
        that is so already is not copied: do not change it as long as the graph is in use.
    nodes : sequence of n
        The names of the nodes in row order, ``range(n)`` where there are none.
    notes : tuple of str
        What was done on the way in, in words.
    duplicates : ndarray of shape (n,) or None
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
    duplicates: Array | None = None
    _checked: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        given = self.adjacency
        # views, so that arrays of the caller stay as writable as they were
        data, indices, indptr = given.data.view(), given.indices.view(), given.indptr.view()
        frozen = sp.csr_array((data, indices, indptr), shape=given.shape)
        frozen.has_canonical_format = given.has_canonical_format
        for buffer in (frozen.data, frozen.indices, frozen.indptr, self.duplicates):
            if buffer is not None:
                buffer.flags.writeable = False
        object.__setattr__(self, "adjacency", frozen)

    def __len__(self) -> int:
        return int(self.adjacency.shape[0])

    def __repr__(self) -> str:
        loops = int(np.count_nonzero(self.adjacency.diagonal()))
        return f"Graph(nodes={len(self)}, edges={(self.adjacency.nnz + loops) // 2})"

    @property
    def from_distances(self) -> bool:
        """Whether distances to neighbors were given, which became weights."""
        return any(note.startswith(DISTANCES) for note in self.notes)

    @cached_property
    def degrees(self) -> Array:
        """The summed weights of every node, float64 of shape (n,)."""
        given, degrees = self.adjacency, np.empty(len(self))

        def piece(start: int, stop: int) -> None:
            row_sums(given.indptr, given.data, start, stop, degrees)

        for _ in map_pieces(piece, pieces_by_load(given.indptr, LOAD)):
            pass
        degrees.flags.writeable = False
        return degrees

    @cached_property
    def degree_logs(self) -> float:
        """``sum_i d_i log d_i``: twice it is the part of a log-likelihood that no membership changes."""
        degrees = self.degrees[self.degrees > 0]
        return float((degrees * np.log(degrees)).sum())

    @cached_property
    def components(self) -> Array:
        """The connected component of every node, int32 of shape (n,), numbered by their first nodes."""
        labels = np.empty(len(self), dtype=np.int32)
        find_components(*rows_of(self.adjacency)[:2], labels)
        labels.flags.writeable = False
        return labels


def as_graph(
    X: Any,
    *,
    affinity: str = "auto",
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    symmetrize: str = "union",
    neighbors: Any = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Graph:
    """Make a checked graph of features, of a graph, or of neighbor lists.

    Parameters
    ----------
    X : array_like, data frame, sparse matrix, networkx graph or Graph
        Features with one row for each point; or symmetric weights of at least 0; or a sparse matrix of
        distances to nearest neighbors as scikit-learn's ``KNeighborsTransformer`` makes it.
    affinity : {"auto", "features", "precomputed"}
        What a matrix holds. ``auto`` takes a sparse square matrix as a graph, and any other as features.
        ``precomputed`` takes sparse and dense matrices as graphs. A sparse square matrix that is not
        symmetric is read as distances to neighbors if it looks like that: equally many entries stored in
        every row, rising, none but zeros on the diagonal. If it does not, it is refused, unless a `metric`
        other than ``euclidean`` tells that its rows are points. `Graph.notes` say what was assumed.
    n_neighbors, metric, weights, symmetrize, neighbors, rng, progress
        How to join points; see :func:`knn_graph`. A graph that is given needs none of them, and is refused
        beside `neighbors`; distances to neighbors need `weights` and `symmetrize`.

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
    check_options(n_neighbors, metric, weights, symmetrize, progress)
    random = generator("rng", rng)
    given = read_input(X, affinity, metric, weights, symmetrize, neighbors)
    if isinstance(given, Graph):
        return given
    return joined_to_nearest(given, n_neighbors, weights, symmetrize, random, progress)


@dataclass(frozen=True, eq=False)
class Features:
    """Checked features of points.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n, d)
        Finite, float32 or float64; perhaps the caller's own, so not to be written to.
    metric : str
        How far two rows are apart.
    notes : tuple of str
        What was assumed of the input.
    columns : tuple of str or None
        The names of the features, where a data frame told them.
    neighbors : object or None
        What finds neighbors in place of graphsoft: the caller's own, fitted to the distinct points.
    fitted : int or None
        The number of those, where others came in later that it does not know.
    """

    values: Any
    metric: str = "euclidean"
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    neighbors: Any = None
    fitted: int | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])


def read_input(
    X: Any, affinity: str, metric: str, weights: str, symmetrize: str = "union", neighbors: Any = None
) -> Graph | Features:
    """Tell graphs from features, and check them; the arguments are those of :func:`as_graph`."""
    choice("affinity", affinity, AFFINITIES)
    choice("metric", metric, METRICS)
    check_finder(neighbors, metric)
    given = _read(X, affinity, metric, weights, symmetrize)
    if neighbors is None:
        return given
    if isinstance(given, Graph):
        remedy = "leave it out, or say affinity='features' where X is a square sparse matrix of features"
        raise InputError("neighbors", "is of no use where X is a graph, or was taken as one", remedy)
    return replace(given, neighbors=neighbors)


def _read(X: Any, affinity: str, metric: str, weights: str, symmetrize: str) -> Graph | Features:
    if isinstance(X, Graph):
        return X if X._checked else _by_hand(X)
    if is_networkx(X):
        matrix, nodes, notes = from_networkx(X, "X")
        return _given(matrix, nodes, notes)
    notes, columns = [], None
    if not sp.issparse(X):
        columns, X = frame_columns(X), dense_matrix(X)
        if affinity == "precomputed":
            graph = _given(sp.csr_array(X.astype(np.float64)), None, [])
            warn_of_distances(graph.adjacency)
            return graph
        if affinity == "auto" and X.shape[0] == X.shape[1] > 1 and _symmetric(X):
            notes = ["a dense symmetric array taken as features; affinity='precomputed' takes it as a graph"]
        if columns is not None:
            warn_of_columns(columns, X)
    elif affinity == "precomputed":
        return _given_or_lists(sparse_matrix(X, ordered=False), weights, symmetrize, [])
    elif affinity == "auto" and len(X.shape) == 2 and X.shape[0] == X.shape[1]:
        matrix = sparse_matrix(X, ordered=False)
        if metric == "euclidean" or _like_graph(matrix):
            notes = ["a square sparse matrix was taken as a graph"]
            return _given_or_lists(matrix, weights, symmetrize, notes)
        notes = [f"a square sparse matrix, asymmetric, was taken as features since metric={metric!r}"]
    return Features(_features(X, metric), metric, tuple(notes), columns)


def _symmetric(values: Array) -> bool:
    return all(bool((values[a:b] == values[:, a:b].T).all()) for a, b in row_blocks(values))


def _by_hand(graph: Graph) -> Graph:
    """Check a graph that was not made here, as one with other names: the compiled loops would trust it."""
    made = _given(sparse_matrix(graph.adjacency), None, [])
    count, sites = len(made), graph.duplicates
    if len(graph.nodes) != count:
        problem = f"has {len(graph.nodes)} names for {count} nodes"
        raise InputError("X", problem, "give one name for each row of its adjacency")
    if sites is not None and not (sites.shape == (count,) and np.isin(sites, np.arange(count)).all()):
        raise InputError("X", "has duplicates that do not number its nodes", "leave them as they were")
    return marked(replace(made, nodes=graph.nodes, notes=graph.notes, duplicates=sites))


def marked(graph: Graph) -> Graph:
    """Remember that the graph has been checked."""
    object.__setattr__(graph, "_checked", True)
    return graph


def _like_graph(matrix: sp.csr_array) -> bool:
    """Tell whether a square matrix is symmetric, or has neighbors in it: equally many in every row."""
    if (matrix.data < 0).any():
        return False
    lengths = np.diff(matrix.indptr)
    return bool((lengths == lengths[0]).all()) or asymmetry(canonical(matrix))[1] is None


def check_options(n_neighbors: Any, metric: Any, weights: Any, symmetrize: Any, progress: Any) -> None:
    """Check how points are to be joined, before any work."""
    integer("n_neighbors", n_neighbors, 1)
    choice("metric", metric, METRICS)
    choice("weights", weights, WEIGHTS)
    choice("symmetrize", symmetrize, SYMMETRIZE)
    callback("progress", progress)


def _given(matrix: sp.csr_array, nodes: tuple[Any, ...] | None, notes: list[str]) -> Graph:
    """Make a graph of edge weights that must be symmetric."""
    check_square(matrix)
    weights, done = weight_matrix(matrix, "X", nodes)
    result, pair = asymmetry(weights)
    if pair is not None:
        raise refuse_asymmetric(matrix, pair, "X", nodes)
    return _graph(result, nodes, notes + done)


def _given_or_lists(matrix: sp.csr_array, weights: str, symmetrize: str, notes: list[str]) -> Graph:
    """Make a graph of symmetric edge weights, or else of distances to neighbors."""
    check_square(matrix)
    edges, done = weight_matrix(matrix, "X")
    result, pair = asymmetry(edges)
    if pair is None:
        warn_of_distances(result)
        return _graph(result, None, notes + done)
    lists = neighbor_lists(matrix)
    if lists is None:
        raise refuse_asymmetric(matrix, pair, "X")
    indices, distances = lists
    note = f"{DISTANCES} to the {indices.shape[1]} nearest neighbors; {weights} weights, {symmetrize}"
    return _graph(symmetric(indices, edge_weights(indices, distances, weights), symmetrize), None, [note])


def _graph(
    matrix: sp.csr_array, nodes: tuple[Any, ...] | None, notes: list[str], sites: Array | None = None
) -> Graph:
    """Freeze checked weights, with int32 indices where they fit."""
    matrix.sort_indices()
    adjacency = narrow(matrix)
    adjacency.data = np.ascontiguousarray(matrix.data, dtype=np.float64)
    adjacency.has_canonical_format = True
    loops = int(np.count_nonzero(adjacency.diagonal()))
    if loops:
        notes = [*notes, f"{loops} self-loops kept"]
    alone = int(np.count_nonzero(np.diff(adjacency.indptr) == 0))
    if alone:
        notes = [*notes, f"{alone} nodes without edges"]
    return marked(Graph(adjacency, range(matrix.shape[0]) if nodes is None else nodes, tuple(notes), sites))


def knn_graph(
    X: Any,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    symmetrize: str = "union",
    *,
    neighbors: Any = None,
    rng: Any = None,
    progress: Progress | None = None,
) -> Graph:
    """Join every point to its nearest neighbors.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix of shape (n, d)
        One row for each point.
    n_neighbors : int
        At most n - 1; more are cut to that with a warning. A point is no neighbor of itself.
    metric : str
        ``euclidean`` or ``cosine``; for dense data also ``correlation``, ``manhattan``, ``chebyshev``,
        ``canberra``, ``braycurtis`` and ``hamming``. For ``cosine`` and ``correlation`` directions at a right
        angle or beyond are no neighbors, and rows of zeros (empty documents) stay without edges, with a
        warning.
    weights : {"local-scaling", "gaussian", "connectivity", "jaccard", "relative"}
        With d the distance of i and j, and s the distance of a point to the last of its neighbors:
        exp(-d² / (s_i s_j)); exp(-d² / (2 σ²)) with σ the median of all s; 1; the neighbors that i and j
        share over those that either has, each point counted among its own; exp(-d / sqrt(s_i s_j)).
    symmetrize : {"union", "mutual", "average"}
        What becomes of an edge that was found from one side only: it is kept, dropped, or halved.
    neighbors : object, optional
        What finds neighbors in place of graphsoft, with the interface of scikit-learn's transformers:
        ``fit_transform(X)`` gives a sparse matrix of the distances from each point to its neighbors, as
        ``KNeighborsTransformer(mode="distance")`` and ``PyNNDescentTransformer`` do, and a few lines around
        any other library. Its distances are taken as they are, so `metric` must be left out; of each point's
        neighbors the `n_neighbors` nearest are kept, and fewer are fine. Let it find a few more than that,
        for most count the point itself. It is fitted to the distinct rows.
    rng : None, int, or numpy Generator
        Seed of the approximate search, or anything else that ``numpy.random.default_rng`` takes; nothing else
        is random. None gives the same answer every time.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Graph
        With positive weights of at most 1.

    Notes
    -----
    Identical rows are one site. Neighbors are sought among sites, so that copies of a point neither fill its
    list nor are torn apart; each copy is joined to copies of its own site by weight 1 and to one copy of each
    neighboring site. `Graph.duplicates` tells which rows are identical.

    The search is exact up to the sizes given in :mod:`graphsoft.neighbors.nearest`, and approximate
    beyond. The same input gives the same bits on any number of threads.

    Examples
    --------
    >>> graph = knn_graph([[0.0], [1.0], [5.0]], n_neighbors=1, weights="connectivity")
    >>> graph.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """
    check_options(n_neighbors, metric, weights, symmetrize, progress)
    check_finder(neighbors, metric)
    features = Features(_features(X, metric), metric, neighbors=neighbors)
    return joined_to_nearest(features, n_neighbors, weights, symmetrize, generator("rng", rng), progress)


def subgraph(graph: Graph, nodes: Array) -> Graph:
    """Keep only these nodes, which rise, without names and sites; the graph itself if they are all.

    Examples
    --------
    >>> graph = as_graph([[0, 1, 2], [1, 0, 3], [2, 3, 0]], affinity="precomputed")
    >>> subgraph(graph, np.array([0, 2])).degrees
    array([2., 2.])
    """
    if len(nodes) == len(graph):
        return graph
    return Graph(submatrix(graph.adjacency, nodes), range(len(nodes)))


def joined_to_nearest(
    features: Features,
    n_neighbors: int,
    weights: str,
    symmetrize: str,
    random: np.random.Generator | None,
    progress: Progress | None,
) -> Graph:
    """Make the graph of :func:`knn_graph` of arguments that have been checked."""
    values, metric, count = features.values, features.metric, len(features)
    if count > 1 and n_neighbors > count - 1:
        most = count - 1
        warn(f"n_neighbors: {shown(n_neighbors)} is more than the {most} other points; all of them are used")
    points = Points.of(values, metric)
    empty = int(np.count_nonzero(points.factors == 0))
    if empty:
        warn(f"{empty} rows have no direction (all zero or constant) and stay without edges")
    first = first_copies(points)
    heads, sites = np.unique(first, return_inverse=True)
    distinct = points if len(heads) == count else points.take(heads)
    found = max(1, min(n_neighbors, len(heads) - 1))
    if features.neighbors is None:
        indices, distances = nearest_neighbors(distinct, found, rng=random, progress=progress)
        distance = f"{metric} distance"
    else:
        rows = values if len(heads) == count else taken(values, heads)
        indices, distances = found_within(features.neighbors, rows, found)
        distance = f"distances by {type(features.neighbors).__name__}"
    matrix = symmetric(indices, edge_weights(indices, distances, weights), symmetrize)
    notes = [*features.notes, f"{found} nearest neighbors, {distance}, {weights} weights, {symmetrize}"]
    if len(heads) == count:
        return _graph(matrix, None, notes)
    notes.append(f"{count} rows are {len(heads)} distinct points")
    return _graph(spread_over_copies(matrix, indices, sites), None, notes, sites.astype(matrix.indices.dtype))


def _features(X: Any, metric: str) -> Any:
    """Check points given as a table or as a sparse matrix."""
    if isinstance(X, Graph) or is_networkx(X):
        raise InputError("X", "is a graph, not a table of points", "pass it to graphsoft.as_graph")
    if not sp.issparse(X):
        return dense_matrix(X)
    if metric not in SPARSE_METRICS:
        raise InputError(
            "metric",
            f"got {metric!r}, but X is sparse",
            f"use one of {', '.join(map(repr, SPARSE_METRICS))}, or pass X.toarray()",
        )
    return sparse_matrix(X)
