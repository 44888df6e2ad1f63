"""The one door: anything that can be seen as a graph or as points with features is read and checked here.

Every public function that takes a graph, or data that may become one, passes it through `as_graph` or
`read_input`. What comes out is finite, symmetric and positive, with all indices within its shape, so that
nothing below has to check again. A `Graph` is checked like anything else, each time that it comes in.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError, shown, warn
from graphsoft.graph.adjacency import (
    asymmetry,
    check_square,
    neighbor_lists,
    refuse_asymmetric,
    warn_of_distances,
    weight_matrix,
)
from graphsoft.graph.features import Features, checked_features
from graphsoft.graph.graph import Graph, checked_graph, graph_of_weights, symmetric_graph
from graphsoft.graph.joining import check_options, joined_to_nearest
from graphsoft.graph.networks import graph_of_network, is_network
from graphsoft.input.checks import callback, choice, generator
from graphsoft.input.dense_input import dense_matrix, holds_integers, warn_of_columns
from graphsoft.input.sparse_input import canonical, sparse_matrix
from graphsoft.neighbors.external import check_finder
from graphsoft.neighbors.nearest import METRICS
from graphsoft.neighbors.weights import edge_weights, symmetric
from graphsoft.parallel import row_blocks
from graphsoft.progress import watches_progress

__all__ = ["AFFINITIES", "as_graph", "edge_weights_in", "read_input", "warn_of_unused"]

AFFINITIES = ("auto", "features", "precomputed")


@watches_progress("neighbors")
def as_graph(
    X: Any,
    *,
    affinity: str = "auto",
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    symmetrize: str = "union",
    neighbors: Any = None,
    weight: str | None = "weight",
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> Graph:
    """Make a checked graph of features, of a graph, or of neighbor lists.

    Parameters
    ----------
    X : array_like, data frame, sparse matrix, networkx or igraph graph, or Graph
        Features with one row for each point; or symmetric weights of at least 0; or a sparse matrix of
        distances to nearest neighbors, such as scikit-learn's ``KNeighborsTransformer`` makes. A CSR matrix
        of float64 weights that needs no change is not copied. You may change it later: the next call checks
        the graph again and works with the new weights. Weights are rounded to float64, whole numbers beyond
        2**53 too, because only their ratios matter; for such numbers as features see :func:`knn_graph`.
    affinity : {"auto", "features", "precomputed"}
        What a matrix holds. ``auto`` takes a sparse square matrix as a graph, and any other as features.
        ``precomputed`` takes sparse and dense matrices as graphs. A sparse square matrix that is not
        symmetric is read as distances to neighbors if it looks like them: every row stores equally many
        entries, which rise, and the diagonal holds only zeros. Any other asymmetric matrix is refused, unless
        a `metric` other than ``euclidean`` says that its rows are points. `Graph.notes` say what was assumed.
        A dense table that looks like a graph, symmetric or of pairs of node numbers, is taken as features
        with a warning; ``features`` says that it holds points.
    n_neighbors, metric, weights, symmetrize, neighbors, rng, progress
        How to join points; see :func:`knn_graph`. A graph needs none of them, and is refused together with
        `neighbors`. Distances to neighbors need `weights` and `symmetrize`.
    weight : str or None
        The attribute in which networkx and igraph hold the weights of edges. Every edge counts 1 with None,
        and also if no edge has a ``weight``. If only some edges have one, the graph is refused.

    Returns
    -------
    Graph
        A `Graph` that is in order is returned as it is.

    Raises
    ------
    InputError
        If X is neither a finite, symmetric, non-negative graph nor a finite table of numbers.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> as_graph(sp.coo_array([[0, 2], [2, 0]])).adjacency.toarray()
    array([[0., 2.],
           [2., 0.]])
    >>> as_graph([[0.0], [1.0], [5.0]], n_neighbors=1)
    Graph(nodes=3, edges=2)
    """
    check_options(n_neighbors, metric, weights, symmetrize)
    progress = callback("progress", progress)
    random = generator("rng", rng)
    if is_network(X):
        X = graph_of_network(X, weight)
    elif weight not in (None, "weight"):
        problem = f"got {shown(weight)}, but X has no attributes of edges"
        raise InputError("weight", problem, "leave it out, or pass a graph of networkx or igraph")
    given = read_input(X, affinity, metric, weights, symmetrize, neighbors)
    warn_of_unused(given, n_neighbors, metric, weights, symmetrize)
    if isinstance(given, Graph):
        return given
    return joined_to_nearest(given, n_neighbors, weights, symmetrize, random, progress)


def read_input(
    X: Any, affinity: str, metric: str, weights: str, symmetrize: str = "union", neighbors: Any = None
) -> Graph | Features:
    """Tell graphs from features, and check them; the arguments are those of :func:`as_graph`."""
    choice("affinity", affinity, AFFINITIES)
    choice("metric", metric, METRICS)
    check_finder(neighbors, metric)
    given = _read(X, affinity, metric, weights, symmetrize, neighbors)
    if neighbors is not None and isinstance(given, Graph):
        remedy = "leave it out, or say affinity='features' if X is a square sparse matrix of features"
        raise InputError("neighbors", "is of no use where X is a graph, or was taken as one", remedy)
    return given


def warn_of_unused(
    given: Any, n_neighbors: int, metric: str, weights: str, symmetrize: str = "union"
) -> None:
    """Warn of options for joining points that a graph does not need, unless they have their defaults.

    Examples
    --------
    >>> warn_of_unused(Graph(sp.csr_array((2, 2)), range(2)), 10, "euclidean", "local-scaling")
    """
    if isinstance(given, Features):
        return
    unused = {"n_neighbors": (n_neighbors, 10), "metric": (metric, "euclidean")}
    if not getattr(given, "from_distances", False):
        unused |= {"weights": (weights, "local-scaling"), "symmetrize": (symmetrize, "union")}
    changed = [f"{name}={value!r}" for name, (value, default) in unused.items() if value != default]
    if changed:
        warn(f"{' and '.join(changed)} changed nothing, because X is a graph, or was taken as one")


def _read(
    X: Any, affinity: str, metric: str, weights: str, symmetrize: str, neighbors: Any
) -> Graph | Features:
    if isinstance(X, Graph):
        return checked_graph(X)
    if is_network(X):
        return graph_of_network(X)
    if not sp.issparse(X):
        return _dense(X, affinity, metric, neighbors)
    matrix = edge_weights_in(X, affinity, metric)
    if matrix is not None:
        notes = ["a square sparse matrix was taken as a graph"] * (affinity == "auto")
        return _given_or_lists(matrix, weights, symmetrize, notes)
    notes = []
    if affinity == "auto" and _is_square(X):
        notes = [f"a square sparse matrix, asymmetric, was taken as features since metric={metric!r}"]
    return replace(checked_features(X, metric, neighbors), notes=tuple(notes))


def edge_weights_in(X: Any, affinity: str, metric: str) -> sp.csr_array | None:
    """Read the weights of edges, or distances to neighbors, in a sparse matrix; None if its rows are points.

    Examples
    --------
    >>> edges = sp.coo_array([[0, 2], [2, 0]])
    >>> edge_weights_in(edges, "auto", "euclidean").toarray().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    >>> edge_weights_in(edges, "features", "euclidean")
    """
    if affinity == "features" or (affinity == "auto" and not _is_square(X)):
        return None
    matrix = sparse_matrix(X, ordered=False, rounded=True)
    meant = affinity == "precomputed" or metric == "euclidean" or _like_graph(matrix)
    return matrix if meant else None


def _is_square(X: Any) -> bool:
    return len(X.shape) == 2 and X.shape[0] == X.shape[1]


def _dense(X: Any, affinity: str, metric: str, neighbors: Any) -> Graph | Features:
    """Read a dense table, and note or warn where it looks like something else than what it is taken for."""
    if affinity == "precomputed":
        graph = symmetric_graph(sp.csr_array(dense_matrix(X, rounded=True).astype(np.float64)), None, [])
        warn_of_distances(graph.adjacency)
        return graph
    features = checked_features(X, metric, neighbors)
    values, columns = features.values, features.columns
    if columns is not None:
        warn_of_columns(columns, values)
    if affinity == "auto" and features.origin is None:  # numbers beyond 2**53 are no weights and no nodes
        _warn_of_graphs(X, values)
    return features


def _warn_of_graphs(X: Any, values: Array) -> None:
    """Warn of a table of points that looks like a matrix of weights, or like a list of edges."""
    if values.shape[0] == values.shape[1] > 2 and _symmetric(values):
        warn(
            "X is symmetric, but its rows are taken as points; pass affinity='precomputed' if it holds "
            "weights of edges, make weights of it if it holds distances, or say affinity='features'"
        )
    elif values.shape[1] == 2 and holds_integers(X) and _like_edges(values):
        warn(
            "X has two columns of integers, and its rows are taken as points in the plane; pass "
            "graphsoft.edge_graph(X) if they are edges, or say affinity='features'"
        )


def _like_edges(values: Array) -> bool:
    """Tell whether integers may number nodes: none is negative, and few rows join a node to itself."""
    loops = 0
    for start, stop in row_blocks(values):
        block = values[start:stop]
        if (block < 0).any():
            return False
        loops += int(np.count_nonzero(block[:, 0] == block[:, 1]))
    return 10 * loops <= len(values)


def _symmetric(values: Array) -> bool:
    return all(bool((values[a:b] == values[:, a:b].T).all()) for a, b in row_blocks(values))


def _like_graph(matrix: sp.csr_array) -> bool:
    """Tell whether a square matrix is symmetric, or stores equally many neighbors in every row."""
    if (matrix.data < 0).any():
        return False
    lengths = np.diff(matrix.indptr)
    return bool((lengths == lengths[0]).all()) or asymmetry(canonical(matrix))[1] is None


def _given_or_lists(matrix: sp.csr_array, weights: str, symmetrize: str, notes: list[str]) -> Graph:
    """Make a graph of symmetric edge weights or, if they are not symmetric, of distances to neighbors."""
    check_square(matrix)
    edges, done = weight_matrix(matrix, "X")
    result, pair = asymmetry(edges)
    if pair is None:
        warn_of_distances(result)
        return graph_of_weights(result, None, notes + done)
    lists = neighbor_lists(matrix)
    if lists is None:
        raise refuse_asymmetric(matrix, pair, "X")
    indices, distances = lists
    note = f"taken as distances to the {indices.shape[1]} nearest neighbors; {weights} weights, {symmetrize}"
    made = symmetric(indices, edge_weights(indices, distances, weights), symmetrize)
    return graph_of_weights(made, None, [note], from_distances=True, of_neighbors=True)
