"""Groups of a graph's nodes within limits: how many nodes a group has, and which nodes are known to be apart.

The nodes are clusters, and the groups are their parents. They merge by contraction, as in
`graphsoft.engine.coarsening`, but only within the limits. If too many groups are left that cannot merge, the
lightest are given up and their nodes placed one by one. If groups are too small, the nodes that lose least by
it are moved there. Limits on the number of nodes always hold. What is known to be apart is given up where
nothing else is left to merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import contracted, merge_round, strays
from graphsoft.engine.merging import numbered
from graphsoft.engine.ties import keys_of_groups, ranks, structure_keys
from graphsoft.graph.graph import Graph, subgraph
from graphsoft.linalg.csr import inverse_or_zero, submatrix, without_diagonal
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.memberships import likeliest, one_cluster_each

__all__ = ["Limits", "grouped_levels", "grouped_within", "keeps_to", "pairs_between_groups"]

NO_GROUP = -1


@dataclass(frozen=True)
class Limits:
    """What the groups must keep to.

    Attributes
    ----------
    min_children, max_children : int
        Nodes of a group. There must be at least `min_children` nodes for each group, and at most
        `max_children`.
    pairs : csr_array of shape (n, n) or None
        The known pairs of nodes: symmetric, negative for those that are apart, without diagonal.
    """

    min_children: int
    max_children: int
    pairs: sp.csr_array | None = None


def pairs_between_groups(pairs: sp.csr_array, group: Array, groups: int) -> sp.csr_array:
    """Add up known pairs of nodes between their groups: negative where most of them are apart.

    Examples
    --------
    >>> pairs = sp.csr_array([[0.0, 1.0, -1.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    >>> pairs_between_groups(pairs, np.array([0, 0, 1]), 2).toarray()
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    to = one_cluster_each(group, groups)
    return without_diagonal((to.T @ pairs @ to).tocsr())


def keeps_to(groups: sp.csr_array, limits: Limits) -> bool:
    """Tell whether groups, as memberships with one entry a row, are within the limits.

    Examples
    --------
    >>> groups = one_cluster_each(np.array([0, 0, 0, 1]), 2)
    >>> keeps_to(groups, Limits(1, 3)), keeps_to(groups, Limits(2, 3))
    (True, False)
    """
    sizes = np.bincount(groups.indices, minlength=groups.shape[1])
    if sizes.min() < limits.min_children or sizes.max() > limits.max_children:
        return False
    if limits.pairs is None:
        return True
    known = limits.pairs.tocoo()
    return not (taken(groups.indices, known.row) == taken(groups.indices, known.col))[known.data < 0].any()


def grouped_levels(
    graph: Graph,
    labels: Sequence[Array],
    sizes: Sequence[int],
    limits: Limits,
    progress: Progress | None = None,
) -> list[sp.csr_array]:
    """Find for every level but the top the group of each cluster, within limits.

    The clusters of a level lie within those of the next one. Where these are not within the limits, the
    clusters are grouped anew, and the levels above follow them as far as their limits allow.

    Parameters
    ----------
    graph : Graph
    labels : sequence of ndarray of shape (n,)
        The cluster of every node on each level, finest first.
    sizes : sequence of int
        Clusters of each level.
    limits : Limits
        `pairs` are known pairs of the graph's nodes.
    progress : callable, optional

    Returns
    -------
    list of csr_array of shape (m, m_above)
        Memberships with one entry a row.
    """
    found, own = [], labels[0]
    for above, size, count in zip(labels[1:], sizes, sizes[1:], strict=False):
        shared = one_cluster_each(own, size).T @ one_cluster_each(above, count)
        groups = one_cluster_each(likeliest(shared.tocsr()), count)
        pairs = limits.pairs if limits.pairs is None else pairs_between_groups(limits.pairs, own, size)
        now = replace(limits, pairs=pairs)
        if len(np.unique(groups.indices)) < count or not keeps_to(groups, now):
            groups = grouped_within(contracted(graph, own, size), count, now, progress)
        found.append(groups)
        own = taken(groups.indices, own)
    return found


def grouped_within(
    graph: Graph, count: int, limits: Limits, progress: Progress | None = None
) -> sp.csr_array:
    """Group nodes by contraction within limits: memberships with one entry a row.

    Parameters
    ----------
    graph : Graph
    count : int
        Groups; at most as many as nodes.
    limits : Limits
    progress : callable, optional

    Examples
    --------
    Of the four leaves of a star three can be with their hub, but then the other one is alone:

    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> star = as_graph(nx.star_graph(4))
    >>> grouped_within(star, 2, Limits(1, 5)).sum(axis=0).tolist()
    [4.0, 1.0]
    >>> grouped_within(star, 2, Limits(2, 3)).sum(axis=0).tolist()
    [3.0, 2.0]
    """
    inside = np.flatnonzero(~strays(graph, count))
    pairs = limits.pairs if limits.pairs is None else submatrix(limits.pairs, inside)
    rest = _contract(_Groups.of(subgraph(graph, inside), pairs), count, limits.max_children, progress)
    group = np.full(len(graph), NO_GROUP, dtype=np.int64)
    group[inside] = _heaviest(rest, count)[rest.group]
    _place(graph, group, count, limits)
    _fill(graph, group, count, limits)
    return one_cluster_each(group, count)


@dataclass(frozen=True)
class _Groups:
    """Groups while they merge: the contracted graph, the group of every node, and what groups keep to."""

    graph: Graph
    group: Array
    sizes: Array
    keys: Array  # of each group; they decide between equals
    pairs: sp.csr_array | None

    @classmethod
    def of(cls, graph: Graph, pairs: sp.csr_array | None) -> _Groups:
        sizes = np.ones(len(graph), dtype=np.int64)
        return cls(graph, np.arange(len(graph)), sizes, structure_keys(graph.adjacency), pairs)

    def merged(self, group: Array, groups: int) -> _Groups:
        return _Groups(
            graph=contracted(self.graph, group, groups),
            group=group[self.group],
            sizes=np.bincount(group, self.sizes, minlength=groups).astype(np.int64),
            keys=keys_of_groups(self.keys, group, groups),
            pairs=self.pairs if self.pairs is None else pairs_between_groups(self.pairs, group, groups),
        )

    def edges_within(self, max_children: int) -> sp.csr_array:
        """Find the edges along which two groups may merge."""
        edges = self.graph.adjacency
        rows = np.repeat(np.arange(len(self.graph)), np.diff(edges.indptr))
        kept = self.sizes[rows] + self.sizes[edges.indices] <= max_children
        if self.pairs is not None:
            ones = sp.csr_array((np.ones(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
            known = ones.multiply(self.pairs).tocoo()
            apart = known.data < 0
            width = len(self.graph)
            codes = known.row[apart].astype(np.int64) * width + known.col[apart]
            kept &= ~np.isin(rows.astype(np.int64) * width + edges.indices, codes)
        data = np.where(kept, edges.data, 0.0)
        result = sp.csr_array((data, edges.indices, edges.indptr), shape=edges.shape, copy=True)
        result.eliminate_zeros()
        return result


def _contract(groups: _Groups, count: int, max_children: int, progress: Progress | None) -> _Groups:
    """Merge groups until `count` are left, or no two may merge."""
    whole = len(groups.graph)
    while len(groups.graph) > count:
        left = len(groups.graph) - count
        edges = groups.edges_within(max_children)
        group, number = merge_round(groups.graph, left, edges, groups.keys)
        if number == len(groups.graph):
            group, number = _pair_lightest(groups, left, max_children)
        if number == len(groups.graph) and groups.pairs is None:
            break
        if number == len(groups.graph):
            groups = replace(groups, pairs=None)  # known pairs are given up
            continue
        groups = groups.merged(group, number)
        if progress is not None:
            progress("coarsening", whole - number, whole - count)
    return groups


def _pair_lightest(groups: _Groups, left: int, max_children: int) -> tuple[Array, int]:
    """Pair the lightest groups that may merge, which is all that can be done without edges."""
    order = np.lexsort((groups.keys, ranks(groups.graph.degrees)))
    leaders, taken = np.arange(len(order)), np.zeros(len(order), dtype=bool)
    # the smallest of the groups that follow: where even that is too large, none needs to be looked at
    smallest = np.minimum.accumulate(groups.sizes[order][::-1])[::-1]
    for place, one in enumerate(order[:-1]):
        if left == 0:
            break
        if taken[one] or groups.sizes[one] + smallest[place + 1] > max_children:
            continue
        two = _first_that_fits(groups, one, order[place + 1 :], taken, max_children)
        if two is not None:
            taken[one] = taken[two] = True
            leaders[max(one, two)] = min(one, two)
            left -= 1
    return numbered(leaders)


def _first_that_fits(groups: _Groups, one: int, others: Array, taken: Array, max_children: int) -> int | None:
    """Find the first of other groups that a group may merge with; mostly it is one of the next few."""
    apart = np.empty(0, dtype=np.int64)
    if groups.pairs is not None:
        known = groups.pairs[[one]]
        apart = known.indices[known.data < 0]
    begin, length = 0, 16
    while begin < len(others):
        some = others[begin : begin + length]
        fit = ~taken[some] & (groups.sizes[some] + groups.sizes[one] <= max_children)
        fit &= ~np.isin(some, apart)
        if fit.any():
            return int(some[np.argmax(fit)])
        begin, length = begin + length, 2 * length
    return None


def _heaviest(groups: _Groups, count: int) -> Array:
    """Give numbers to the `count` heaviest groups, and none to the others."""
    kept = np.sort(np.lexsort((groups.keys, -ranks(groups.graph.degrees)))[:count])
    numbers = np.full(len(groups.graph), NO_GROUP, dtype=np.int64)
    numbers[kept] = np.arange(count)
    return numbers


def _place(graph: Graph, group: Array, count: int, limits: Limits) -> None:
    """Put each node without a group into one that has room and to which it has the strongest ties.

    The heaviest nodes come first. `group` is changed.
    """
    free = np.flatnonzero(group == NO_GROUP)
    mass = np.bincount(group[group >= 0], graph.degrees[group >= 0], minlength=count)
    sizes = np.bincount(group[group >= 0], minlength=count)
    for node in free[np.argsort(-graph.degrees[free], kind="stable")]:
        open_groups = np.flatnonzero(sizes < limits.max_children)
        ties = _by_group(graph.adjacency, node, group, count) * inverse_or_zero(mass)
        known = np.zeros(count) if limits.pairs is None else _by_group(limits.pairs, node, group, count)
        # whether it is known to be apart counts first, then ties, then mass
        best = np.lexsort((-mass[open_groups], -ties[open_groups], known[open_groups] < 0))[0]
        group[node] = open_groups[best]
        sizes[group[node]] += 1
        mass[group[node]] += graph.degrees[node]


def _fill(graph: Graph, group: Array, count: int, limits: Limits) -> None:
    """Move into every group that is too small the nodes that lose least by it; `group` is changed."""
    adjacency = without_diagonal(graph.adjacency)
    sizes = np.bincount(group, minlength=count)
    for small in np.flatnonzero(sizes < limits.min_children):
        while sizes[small] < limits.min_children:
            lift = inverse_or_zero(np.bincount(group, graph.degrees, minlength=count))
            own = _ties_within(adjacency, group) * lift[group]
            there = np.asarray(adjacency @ (group == small).astype(float)) * lift[small]
            won = (there - own) * inverse_or_zero(graph.degrees)
            apart = np.zeros(len(group), dtype=bool)
            if limits.pairs is not None:
                apart = np.asarray(limits.pairs @ (group == small).astype(float)) < 0
            movable = np.flatnonzero((group != small) & (sizes[group] > limits.min_children))
            best = movable[np.lexsort((-won[movable], apart[movable]))[0]]
            sizes[group[best]] -= 1
            sizes[small] += 1
            group[best] = small


def _ties_within(adjacency: sp.csr_array, group: Array) -> Array:
    """Sum for every node the weights of its edges within its own group."""
    rows = np.repeat(np.arange(len(group)), np.diff(adjacency.indptr))
    inside = group[rows] == group[adjacency.indices]
    return np.bincount(rows[inside], adjacency.data[inside], minlength=len(group))


def _by_group(matrix: sp.csr_array, node: int, group: Array, count: int) -> Array:
    """Sum a row of the matrix by the groups of its columns."""
    part = slice(matrix.indptr[node], matrix.indptr[node + 1])
    groups, values = group[matrix.indices[part]], matrix.data[part]
    return np.bincount(groups[groups >= 0], values[groups >= 0], minlength=count)
