"""The graph of the clusters of a level: how often a walk goes from cluster to cluster."""

from __future__ import annotations

import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.graph.graph import Graph
from graphsoft.kernels import Rows, rows_of
from graphsoft.kernels.products import links
from graphsoft.linalg.csr import joined
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["cluster_graph", "edge_graph"]


def cluster_graph(memberships: sp.csr_array, degrees: Array) -> Graph:
    """Make the graph of clusters ``B^T D^-1 B``: walks from cluster to cluster by way of one node.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> cluster_graph(sp.csr_array([[1.0, 0.0], [0.5, 0.5]]), np.array([1.0, 2.0])).adjacency.toarray()
    array([[1.5, 0.5],
           [0.5, 0.5]])
    """
    turned, count = memberships.tocsc(), memberships.shape[1]
    columns, rows = rows_of(turned), rows_of(memberships)

    def piece(start: int, stop: int) -> Rows:
        found: Rows = links(columns, rows, degrees, start, stop)
        return found

    a_row = max(1, memberships.nnz // max(1, memberships.shape[0]))
    upper = joined(list(map_pieces(piece, pieces_by_load(turned.indptr, max(1, LOAD // a_row)))), count)
    return _cleaned((upper + sp.triu(upper, 1).T).tocsr())


def edge_graph(memberships: sp.csr_array, graph: Graph) -> Graph:
    """Make the graph of clusters ``S^T W S``: walks from cluster to node, along an edge, and to a cluster.

    Where memberships are hard, a walk by way of one node never leaves its cluster.

    Examples
    --------
    >>> import networkx as nx
    >>> import scipy.sparse as sp
    >>> from graphsoft.graph.reading import as_graph
    >>> edge_graph(sp.csr_array([[1.0, 0.0], [0.0, 1.0]]), as_graph(nx.path_graph(2))).adjacency.toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    product = (memberships.T @ (graph.adjacency @ memberships)).tocsr()
    return _cleaned(((product + product.T) * 0.5).tocsr())  # the two halves differ by rounding


def _cleaned(symmetric: sp.csr_array) -> Graph:
    symmetric.sort_indices()
    symmetric.eliminate_zeros()
    return Graph(symmetric, range(symmetric.shape[0]))
