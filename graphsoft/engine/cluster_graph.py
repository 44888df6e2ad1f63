"""The graph of a level's clusters: its weights say how often a walk goes from cluster to cluster."""

from __future__ import annotations

import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.graph.graph import Graph
from graphsoft.kernels import Rows, read_only, rows_of
from graphsoft.kernels.products import links
from graphsoft.linalg.csr import joined
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["cluster_graph", "cluster_links", "edge_graph", "graph_of_links"]


def cluster_graph(memberships: sp.csr_array, degrees: Array) -> Graph:
    """Make the cluster graph ``B^T D^-1 B``, of walks from a cluster to a node and on to a cluster.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> cluster_graph(sp.csr_array([[1.0, 0.0], [0.5, 0.5]]), np.array([1.0, 2.0])).adjacency.toarray()
    array([[1.5, 0.5],
           [0.5, 0.5]])
    """
    return graph_of_links(cluster_links(memberships, degrees))


def cluster_links(memberships: sp.csr_array, degrees: Array) -> sp.csr_array:
    """Compute the upper half of ``B^T D^-1 B``, which is a sum over nodes, for some of them."""
    columns, count = memberships.tocsc(), memberships.shape[1]
    by_cluster, by_node, degrees = rows_of(columns), rows_of(memberships), read_only(degrees)

    def piece(start: int, stop: int) -> Rows:
        found = Rows(*links(by_cluster, by_node, degrees, start, stop))
        return found

    per_node = max(1, memberships.nnz // max(1, memberships.shape[0]))
    return joined(list(map_pieces(piece, pieces_by_load(columns.indptr, max(1, LOAD // per_node)))), count)


def graph_of_links(upper: sp.csr_array) -> Graph:
    """Make the cluster graph of what `cluster_links` computes for all nodes."""
    return _symmetric_graph((upper + sp.triu(upper, 1).T).tocsr())


def edge_graph(memberships: sp.csr_array, graph: Graph) -> Graph:
    """Make the cluster graph ``S^T W S``, of walks from a cluster to a node, along an edge, and to a cluster.

    With hard memberships only these walks leave a cluster, not those of `cluster_graph`.

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
    return _symmetric_graph(((product + product.T) * 0.5).tocsr())  # the two halves differ by rounding


def _symmetric_graph(matrix: sp.csr_array) -> Graph:
    matrix.sort_indices()
    matrix.eliminate_zeros()
    return Graph(matrix, range(matrix.shape[0]))
