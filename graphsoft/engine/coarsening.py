"""Contraction of a graph: nodes merge pair by pair, until as many are left as clusters are wanted.

The pairs with the largest ``w_ij / (d_i d_j)`` merge first (the linkage of Paris agglomeration), only a
small part of a matching in each round, so that no region gets ahead of the others. Weights inside a merged
node stay on the diagonal: a walk on the contracted graph is the walk on the graph, seen from group to group.

Equal scores are decided by the graph around the nodes, see `graphsoft.engine.ties`. So the order of the nodes
changes nothing but the last digits, unless some nodes look alike up to 16 steps away, as in a ring or a grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.merging import Merging, partners_along
from graphsoft.engine.ordering import weight_type
from graphsoft.engine.ties import in_order, keys_of_groups, ranks, sortings_of_pairs, structure_keys
from graphsoft.graph.graph import Graph
from graphsoft.kernels import Rows, rows_of, unsigned
from graphsoft.kernels.contraction import Members, contract, greedy_matching
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = [
    "SHRINK_FACTOR",
    "Scale",
    "coarsen",
    "contracted",
    "grouped",
    "merge_round",
    "numbered",
    "strays",
    "without_copies",
]

# A round along some of the edges merges this fraction of a greedy matching.
MATCHING_FRACTION = 0.1
# A scale has this many times fewer nodes than the one below. Over the benchmark sets 2 gave no better
# clusters, and more scales take more time and memory.
SHRINK_FACTOR = 4
# A contraction is cut into at most about this many pieces. Pieces that are being worked on need memory in
# addition to the result, so they must be small.
MAX_PIECES = 512
# A component lighter than this part of an average cluster gets no cluster of its own, unless the graph has
# just as many components of at least the second part as there are to be clusters.
STRAY_MASS, COUNTED_MASS = 0.1, 0.001


@dataclass(frozen=True)
class Scale:
    """One scale of a contraction.

    Attributes
    ----------
    graph : Graph
        The contracted graph.
    group : ndarray
        For every node of the scale below, the node of this scale that it became part of.
    """

    graph: Graph
    group: Array


def coarsen(
    graph: Graph, count: int, progress: Progress | None = None, dtype: type = np.float64
) -> list[Scale]:
    """Contract `graph` to `count` nodes, and keep a scale each time that a quarter of the nodes is left.

    Parameters
    ----------
    graph : Graph
    count : int
    progress : callable, optional
    dtype : type
        The type of the scales' weights. With float32 they need less memory; float64 is used all the same if
        float32 cannot hold the smallest ones.

    Returns
    -------
    list of Scale
        Finest first; empty if the graph already has no more than `count` nodes. If no edge is left to
        merge along (there are more components than `count`), the lightest nodes are grouped.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> scales = coarsen(as_graph(nx.barbell_graph(3, 0)), 2)
    >>> scales[-1].graph.adjacency.toarray()
    array([[6., 1.],
           [1., 6.]])
    """
    return list(_scales(graph, count, progress, dtype))


def _scales(graph: Graph, count: int, progress: Progress | None, dtype: type) -> Iterator[Scale]:
    """Contract each time that a quarter of the nodes is left, so that merging goes through shorter lists."""
    current, whole, keys = _with_weights(graph, dtype), len(graph), None
    while len(current) > count:
        goal = max(count, len(current) // SHRINK_FACTOR)
        merging = Merging(current.adjacency, current.degrees, keys)
        while len(merging.alive) > goal and merging.merge_best(len(merging.alive) - count):
            if progress is not None:
                progress("coarsening", whole - len(merging.alive), whole - count)
        (group, groups), keys = merging.numbered(), merging.keys
        del merging  # it takes as much memory as a quarter of the graph
        current = contracted(current, group, groups)
        while groups > goal:  # no edge is left to merge along
            lightest, groups = _group_lightest(current, groups - count, keys)
            current, group = contracted(current, lightest, groups), lightest[group]
            keys = keys_of_groups(keys, lightest, groups)
            if progress is not None:
                progress("coarsening", whole - groups, whole - count)
        yield Scale(current, group)


def _with_weights(graph: Graph, dtype: type) -> Graph:
    """Convert the weights to a type, unless it cannot hold the smallest; the other arrays are shared."""
    given = graph.adjacency
    if given.dtype == dtype or (dtype == np.float32 and weight_type(given.data) != dtype):
        return graph
    weights = given.data.astype(dtype)
    return Graph(sp.csr_array((weights, given.indices, given.indptr), shape=given.shape), range(len(graph)))


def grouped(graph: Graph, count: int, progress: Progress | None = None) -> Array:
    """Group the nodes by contraction alone: the number of its group for every node.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> grouped(as_graph(nx.barbell_graph(3, 0)), 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    group = np.arange(len(graph))
    for scale in _scales(graph, count, progress, np.float32):  # one at a time, to save memory
        group = scale.group[group]
    return group


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
    adjacency = graph.adjacency
    nodes = np.argsort(group, kind="stable").astype(adjacency.indices.dtype)
    ptr = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(group, minlength=groups), out=ptr[1:])
    members = Members(ptr, nodes, unsigned(group.astype(adjacency.indices.dtype)))
    entries = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(np.diff(adjacency.indptr)[nodes], out=entries[1:])
    loads = entries[members.ptr]  # where the entries of each group's nodes begin
    del entries  # a number for every node
    counts = np.empty(groups, dtype=np.int64)

    def piece(start: int, stop: int) -> tuple[Array, Array]:
        max_entries, room = int(np.diff(loads[start : stop + 1]).max()), int(loads[stop] - loads[start])
        indices, weights = np.empty(room, adjacency.indices.dtype), np.empty(room, adjacency.dtype)
        out = Rows(counts, indices, weights)
        filled = contract(rows_of(adjacency), members, max_entries, start, stop, out)
        return indices[:filled], weights[:filled]

    # the system gives out memory only when it is written to, and what stays empty is given back below
    indices, weights, filled = np.empty_like(adjacency.indices), np.empty_like(adjacency.data), 0
    load = min(LOAD, max(LOAD // 16, adjacency.nnz // MAX_PIECES))
    for some, values in map_pieces(piece, pieces_by_load(loads, load)):
        indices[filled : filled + len(some)], weights[filled : filled + len(some)] = some, values
        filled += len(some)
    for buffer in (indices, weights):
        buffer.resize(filled, refcheck=False)
    ptr = np.zeros(groups + 1, dtype=adjacency.indptr.dtype)
    np.cumsum(counts, out=ptr[1:])
    return Graph(sp.csr_array((weights, indices, ptr), shape=(groups, groups)), range(groups))


def merge_round(
    graph: Graph, max_merges: int, edges: sp.csr_array, keys: Array | None = None
) -> tuple[Array, int]:
    """Merge at most `max_merges` pairs along some edges: each node's new number, and how many there are.

    Parameters
    ----------
    graph : Graph
    max_merges : int
    edges : csr_array of shape (n, n)
        The edges of the graph along which nodes may merge; if it has none, nothing merges.
    keys : ndarray of uint64, shape (n,), optional
        They decide between equal scores, see `graphsoft.engine.ties`.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> path = as_graph(nx.path_graph(3))
    >>> merge_round(path, 1, path.adjacency)
    (array([0, 0, 1], dtype=int32), 2)
    """
    keys = structure_keys(graph.adjacency) if keys is None else keys
    partners = partners_along(edges, graph.degrees, keys)
    leaders = np.arange(len(graph), dtype=partners.best.dtype)
    sortings = sortings_of_pairs(leaders, partners, graph.degrees, keys)
    order = in_order(len(graph), *sortings).astype(leaders.dtype)
    low, high = np.empty_like(leaders), np.empty_like(leaders)
    possible = greedy_matching(order, partners.best, low, high)
    wanted = min(max_merges, int(np.ceil(MATCHING_FRACTION * possible)))
    leaders[high[:wanted]] = low[:wanted]
    return numbered(leaders)


def _group_lightest(graph: Graph, max_merges: int, keys: Array) -> tuple[Array, int]:
    """Pair the lightest nodes with the next lightest, which is all that can be done without edges."""
    order = np.lexsort((keys, ranks(graph.degrees)))[: 2 * min(max_merges, len(graph) // 2)]
    leaders = np.arange(len(graph))
    leaders[np.maximum(order[::2], order[1::2])] = np.minimum(order[::2], order[1::2])
    return numbered(leaders)


def numbered(leaders: Array) -> tuple[Array, int]:
    """Give groups numbers: that of each node's group, and how many there are.

    Examples
    --------
    >>> numbered(np.array([0, 1, 0, 1, 4]))
    (array([0, 1, 0, 1, 2]), 3)
    """
    leads = leaders == np.arange(len(leaders))
    return (np.cumsum(leads, dtype=leaders.dtype) - 1)[leaders], int(leads.sum())


def without_copies(graph: Graph) -> tuple[Graph, Array]:
    """Make identical points one node: the smaller graph, and the node of every point.

    Examples
    --------
    >>> from graphsoft.graph.reading import as_graph
    >>> small, node = without_copies(as_graph([[0.0], [0.0], [1.0], [3.0]], n_neighbors=1))
    >>> len(small), node.tolist()
    (3, [0, 0, 1, 2])
    """
    if graph.duplicates is None:
        return graph, np.arange(len(graph))
    return contracted(graph, graph.duplicates, int(graph.duplicates.max()) + 1), graph.duplicates


def strays(graph: Graph, count: int, homes: Array | None = None) -> Array:
    """Find the nodes in components too light for a cluster of their own, if `count` clusters are wanted.

    A component lighter than a tenth of an average cluster gets none, unless the graph has exactly `count`
    components of at least a thousandth of one.

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
    if mass.sum() == 0 or np.count_nonzero(~light[graph.components]) < count:
        light[:] = False
    found = np.asarray(light[graph.components])
    if homes is not None and found.any():
        found &= np.isin(homes, homes[~found])
    return found
