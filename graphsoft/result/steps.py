"""One step of the random walk along the edges, as seen from clusters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.graph.graph import Graph
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.memberships import likeliest
from graphsoft.parallel import map_blocks

__all__ = ["best_in_rows", "central_points", "one_step", "steps_between"]

# Rows of the graph in one piece of work.
ROWS_PER_PIECE = 1 << 15


def one_step(
    graph: Graph, memberships: sp.csr_array, labels: Array
) -> tuple[sp.csr_array, sp.csr_array, Array]:
    """Take one step along the edges: ``S^T W S``, ``S * (W S)``, and the weight inside each hard cluster.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> hard = sp.csr_array(np.repeat([[1.0, 0.0], [0.0, 1.0]], 3, axis=0))
    >>> between, _, inside = one_step(as_graph(nx.barbell_graph(3, 0)), hard, likeliest(hard))
    >>> between.toarray().tolist(), inside.tolist()
    ([[6.0, 1.0], [1.0, 6.0]], [6.0, 6.0])
    """
    count = memberships.shape[1]

    def piece(start: int, stop: int) -> tuple[sp.csr_array, sp.csr_array, Array]:
        edges, shares = graph.adjacency[start:stop], memberships[start:stop]
        reached = edges @ memberships
        own = np.repeat(labels[start:stop], np.diff(edges.indptr))
        same = own == taken(labels, edges.indices)
        kept = np.bincount(own[same], edges.data[same], count)
        return sp.csr_array(shares.T @ reached), sp.csr_array(shares.multiply(reached)), kept

    weights, kept, inside = sp.csr_array((count, count)), np.zeros(count), []
    for part, held, within in map_blocks(piece, len(graph), ROWS_PER_PIECE):
        weights, kept = weights + part, kept + within
        inside.append(held)
    return weights, sp.vstack(inside, format="csr"), kept


def steps_between(graph: Graph, memberships: sp.csr_array) -> sp.csr_array:
    """Compute the weight of steps along the edges from cluster to cluster, ``S^T W S``, of shape (m, m).

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> hard = sp.csr_array(np.repeat([[1.0, 0.0], [0.0, 1.0]], 3, axis=0))
    >>> steps_between(as_graph(nx.barbell_graph(3, 0)), hard).toarray()
    array([[6., 1.],
           [1., 6.]])
    """
    return one_step(graph, memberships, likeliest(memberships))[0]


def central_points(graph: Graph, memberships: sp.csr_array, count: int) -> list[list[int]]:
    """List the most central points of every cluster, at most `count`, as the exemplars of a description.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> hard = sp.csr_array(np.repeat([[1.0, 0.0], [0.0, 1.0]], 3, axis=0))
    >>> central_points(as_graph(nx.barbell_graph(3, 0)), hard, 2)
    [[0, 1], [3, 4]]
    """
    inside = one_step(graph, memberships, likeliest(memberships))[1]
    return [[point for point, _ in row] for row in best_in_rows(inside.T.tocsr(), count)]


def best_in_rows(matrix: sp.csr_array, count: int) -> list[list[tuple[int, float]]]:
    """List for every row the columns and values of its `count` largest positive entries.

    Of equal entries, the one in the lower column comes first.

    Examples
    --------
    >>> best_in_rows(sp.csr_array([[1.0, 3.0, 3.0], [0.0, 0.0, 0.0]]), 2)
    [[(1, 3.0), (2, 3.0)], []]
    """
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    best: list[list[tuple[int, float]]] = []
    for start, stop in zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True):
        some = order[start : min(stop, start + count)]
        pairs = zip(matrix.indices[some].tolist(), matrix.data[some].tolist(), strict=True)
        best.append([(column, value) for column, value in pairs if value > 0])
    return best
