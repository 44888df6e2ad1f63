"""Nodes that become one: sums of their weights, rounds of merges, copies of a point, and strays.

Weights inside a merged node stay on the diagonal: a walk on the contracted graph is the walk on the graph,
seen from group to group.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from graphsoft.aliases import Array
from graphsoft.engine.merging import numbered, partners_along
from graphsoft.engine.ties import in_order, sortings_of_pairs
from graphsoft.graph.graph import Graph
from graphsoft.kernels import Rows, rows_of, unsigned
from graphsoft.kernels.contraction import Members, contract, greedy_matching
from graphsoft.linalg.indexing import taken
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = [
    "COUNTED_MASS",
    "STRAY_MASS",
    "contracted",
    "merge_round",
    "strays",
    "summed_rows",
    "without_copies",
]

# A round along some of the edges merges this fraction of a greedy matching, as in `graphsoft.engine.merging`.
MATCHING_FRACTION = 0.1
# A contraction is cut into at most about this many pieces. Pieces that are being worked on need memory in
# addition to the result, so they must be small.
MAX_PIECES = 512
# A component lighter than this part of an average cluster gets no cluster of its own, unless the graph has
# just as many components of at least the second part as there are to be clusters.
STRAY_MASS, COUNTED_MASS = 0.1, 0.001
# Strays together are at most this part of the graph. Where most of it is small islands, these are what there
# is to cluster, and must not all join the largest of them.
ALL_STRAYS = 0.5


def contracted(graph: Graph, group: Array, groups: int) -> Graph:
    """Sum the weights between groups of nodes, ``S^T W S`` with the diagonal kept.

    The columns of the result are in no particular order, and it is symmetric up to rounding. Sums are
    computed in float64 and stored in the type of the weights of `graph`.

    Parameters
    ----------
    graph : Graph
    group : ndarray of shape (n,)
        The group of every node, 0 to ``groups - 1``.
    groups : int

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> contracted(as_graph(nx.path_graph(3)), np.array([0, 0, 1]), 2).adjacency.toarray()
    array([[2., 1.],
           [1., 0.]])
    """
    summed = summed_rows(graph.adjacency, group, groups, group, groups)
    return Graph(summed, range(groups))


def summed_rows(
    edges: sp.csr_array,
    group: Array,
    groups: int,
    column_group: Array,
    width: int,
    dtype: DTypeLike | None = None,
) -> sp.csr_array:
    """Sum the rows of some nodes by their groups, and the columns by theirs.

    The columns of the result are in no particular order. Sums are computed in float64.

    Parameters
    ----------
    edges : csr_array of shape (n, N)
    group : ndarray of shape (n,)
        The group of every row, 0 to ``groups - 1``.
    groups : int
    column_group : ndarray of shape (N,)
        The group of every column, 0 to ``width - 1``.
    width : int
    dtype : dtype, optional
        Of the sums; that of `edges` if not given.

    Examples
    --------
    >>> edges = sp.csr_array([[0.0, 1.0, 2.0], [1.0, 0.0, 4.0]])
    >>> summed_rows(edges, np.array([0, 0]), 1, np.array([0, 0, 1]), 2).toarray()
    array([[2., 6.]])
    """
    dtype = edges.dtype if dtype is None else np.dtype(dtype)
    nodes = np.argsort(group, kind="stable").astype(edges.indices.dtype)
    ptr = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=groups), out=ptr[1:])
    members = Members(ptr, nodes, unsigned(column_group.astype(edges.indices.dtype)))
    entries = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(taken(np.diff(edges.indptr), nodes), out=entries[1:])
    loads = entries[members.ptr]  # where the entries of each group's nodes begin
    del entries  # a number for every node
    counts = np.empty(groups, dtype=np.int64)

    def piece(start: int, stop: int) -> tuple[Array, Array]:
        max_entries, room = int(np.diff(loads[start : stop + 1]).max()), int(loads[stop] - loads[start])
        indices, weights = np.empty(room, edges.indices.dtype), np.empty(room, dtype)
        out = Rows(counts, indices, weights)
        filled = contract(rows_of(edges), members, max_entries, start, stop, out)
        return indices[:filled], weights[:filled]

    # the system gives out memory only when it is written to, and what stays empty is given back below
    indices, weights, filled = np.empty_like(edges.indices), np.empty_like(edges.data, dtype=dtype), 0
    load = min(LOAD, max(LOAD // 16, edges.nnz // MAX_PIECES))
    for some, values in map_pieces(piece, pieces_by_load(loads, load)):
        indices[filled : filled + len(some)], weights[filled : filled + len(some)] = some, values
        filled += len(some)
    for buffer in (indices, weights):
        buffer.resize(filled, refcheck=False)
    ptr = np.zeros(groups + 1, dtype=edges.indptr.dtype)
    np.cumsum(counts, out=ptr[1:])
    return sp.csr_array((weights, indices, ptr), shape=(groups, width))


def merge_round(graph: Graph, max_merges: int, edges: sp.csr_array, keys: Array) -> tuple[Array, int]:
    """Merge at most `max_merges` pairs along some edges: each node's new number, and how many there are.

    Parameters
    ----------
    graph : Graph
    max_merges : int
    edges : csr_array of shape (n, n)
        The edges of the graph along which nodes may merge; if it has none, nothing merges.
    keys : ndarray of uint64, shape (n,)
        They decide between equal scores, see `graphsoft.engine.ties`.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> from graphsoft.engine.ties import structure_keys
    >>> path = as_graph(nx.path_graph(3))
    >>> merge_round(path, 1, path.adjacency, structure_keys(path.adjacency))
    (array([0, 0, 1], dtype=int32), 2)
    """
    partners = partners_along(edges, graph.degrees, keys)
    leaders = np.arange(len(graph), dtype=partners.best.dtype)
    sortings = sortings_of_pairs(leaders, partners, graph.degrees, keys)
    order = in_order(len(graph), *sortings).astype(leaders.dtype)
    low, high = np.empty_like(leaders), np.empty_like(leaders)
    possible = greedy_matching(order, partners.best, low, high)
    wanted = min(max_merges, int(np.ceil(MATCHING_FRACTION * possible)))
    leaders[high[:wanted]] = low[:wanted]
    return numbered(leaders)


def without_copies(graph: Graph) -> tuple[Graph, Array]:
    """Make identical points one node: the smaller graph, with sorted columns, and the node of every point.

    Examples
    --------
    >>> from graphsoft.graph.reading import as_graph
    >>> small, node = without_copies(as_graph([[0.0], [0.0], [1.0], [3.0]], n_neighbors=1))
    >>> len(small), node.tolist()
    (3, [0, 0, 1, 2])
    """
    if graph.duplicates is None:
        return graph, np.arange(len(graph))
    groups = int(graph.duplicates.max()) + 1
    summed = summed_rows(graph.adjacency, graph.duplicates, groups, graph.duplicates, groups)
    summed.sort_indices()  # where nodes look alike, the order of their neighbors decides
    return Graph(summed, range(groups)), graph.duplicates


def strays(graph: Graph, count: int, homes: Array | None = None) -> Array:
    """Find the nodes in components too light for a cluster of their own, if `count` clusters are wanted.

    A component lighter than a tenth of an average cluster gets none, unless the graph has exactly `count`
    components of at least a thousandth of one, or such light ones make up more than half of its mass.

    Parameters
    ----------
    graph : Graph
    count : int
    homes : ndarray of shape (n,), optional
        Groups of the nodes, each of which must keep one that is no stray.

    Returns
    -------
    ndarray of bool, shape (n,)
        All False if too few other nodes would be left.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> graph = as_graph(nx.disjoint_union(nx.complete_graph(20), nx.path_graph(2)))
    >>> strays(graph, 3).nonzero()[0].tolist()
    [20, 21]
    """
    mass = np.bincount(graph.components, graph.degrees)
    average = mass.sum() / count
    counted = mass >= COUNTED_MASS * average
    light = ~counted if np.count_nonzero(counted) == count else mass < STRAY_MASS * average
    most = mass[light].sum() > ALL_STRAYS * mass.sum()
    if most or mass.sum() == 0 or np.count_nonzero(~taken(light, graph.components)) < count:
        light[:] = False
    found = taken(light, graph.components)
    if homes is not None and found.any():
        found &= np.isin(homes, homes[~found])
    return found
