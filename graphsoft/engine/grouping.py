"""Groups of a graph's nodes under limits: how many nodes a group has, and who is known to be apart.

The nodes are clusters and the groups their parents. They merge by contraction, as in
`graphsoft.engine.coarsening`, but only within the limits. Where this ends with too many groups the lightest
are given up, and where groups are too small, the nodes that lose least by it are moved there. Numbers of
nodes bind; what is known to be apart gives way where there is nothing else left to merge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import contracted, merge_round, strays
from graphsoft.graph.graph import Graph, subgraph
from graphsoft.linalg.csr import inverse_or_zero, submatrix
from graphsoft.linalg.memberships import one_cluster_each

__all__ = ["Limits", "between", "grouped_within", "keeps_to"]

NO_GROUP = -1


@dataclass(frozen=True)
class Limits:
    """What the groups must keep to.

    Attributes
    ----------
    min_children, max_children : int
        Nodes of a group. There must be at least `min_children` and at most `max_children` for each group.
    side : csr_array of shape (n, n) or None
        What is known of pairs of nodes: symmetric, negative for those that are to be apart, without diagonal.
    """

    min_children: int
    max_children: int
    side: sp.csr_array | None = None


def between(side: sp.csr_array, group: Array, groups: int) -> sp.csr_array:
    """Add up what is known of pairs of nodes between their groups: negative where most are to be apart.

    Examples
    --------
    >>> side = sp.csr_array([[0.0, 1.0, -1.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    >>> between(side, np.array([0, 0, 1]), 2).toarray()
    array([[ 0., -1.],
           [-1.,  0.]])
    """
    to = one_cluster_each(group, groups)
    return _without_diagonal((to.T @ side @ to).tocsr())


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
    if limits.side is None:
        return True
    pairs = limits.side.tocoo()
    return not (groups.indices[pairs.row] == groups.indices[pairs.col])[pairs.data < 0].any()


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
    Four leaves would stay with their hub but for one:

    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> star = as_graph(nx.star_graph(4))
    >>> grouped_within(star, 2, Limits(1, 5)).sum(axis=0).tolist()
    [4.0, 1.0]
    >>> grouped_within(star, 2, Limits(2, 3)).sum(axis=0).tolist()
    [3.0, 2.0]
    """
    inside = np.flatnonzero(~strays(graph, count))
    rest = _Groups.of(
        subgraph(graph, inside), limits.side if limits.side is None else submatrix(limits.side, inside)
    )
    rest = _contract(rest, count, limits.max_children, progress)
    group = np.full(len(graph), NO_GROUP, dtype=np.int64)
    group[inside] = _heaviest(rest, count)[rest.group]
    _place(graph, group, count, limits)
    _fill(graph, group, count, limits)
    return one_cluster_each(group, count)


@dataclass(frozen=True)
class _Groups:
    """Groups in the making: the contracted graph, the group of every node, their sizes, who is apart."""

    graph: Graph
    group: Array
    sizes: Array
    side: sp.csr_array | None

    @classmethod
    def of(cls, graph: Graph, side: sp.csr_array | None) -> _Groups:
        return cls(graph, np.arange(len(graph)), np.ones(len(graph), dtype=np.int64), side)

    def merged(self, group: Array, groups: int) -> _Groups:
        side = self.side
        if side is not None:
            side = between(side, group, groups)
        sizes = np.bincount(group, self.sizes, minlength=groups).astype(np.int64)
        return _Groups(contracted(self.graph, group, groups), group[self.group], sizes, side)

    def allowed(self, max_children: int) -> sp.csr_array:
        """Find the edges along which two groups may merge."""
        edges = self.graph.adjacency
        rows = np.repeat(np.arange(len(self.graph)), np.diff(edges.indptr))
        kept = self.sizes[rows] + self.sizes[edges.indices] <= max_children
        if self.side is not None:
            ones = sp.csr_array((np.ones(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
            known = ones.multiply(self.side).tocoo()
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
        group, number = merge_round(groups.graph, left, groups.allowed(max_children))
        if number == len(groups.graph):
            group, number = _pair_lightest(groups, left, max_children)
        if number == len(groups.graph) and groups.side is None:
            break
        if number == len(groups.graph):
            groups = replace(groups, side=None)  # what is known gives way
            continue
        groups = groups.merged(group, number)
        if progress is not None:
            progress("coarsening", whole - number, whole - count)
    return groups


def _pair_lightest(groups: _Groups, left: int, max_children: int) -> tuple[Array, int]:
    """Pair the lightest groups that may merge: all that can be done where no edge is left."""
    order = np.argsort(groups.graph.degrees, kind="stable")
    leaders = np.arange(len(order))
    taken = np.zeros(len(order), dtype=bool)
    for place, one in enumerate(order):
        if left == 0:
            break
        if taken[one]:
            continue
        others = order[place + 1 :]
        fit = ~taken[others] & (groups.sizes[others] + groups.sizes[one] <= max_children)
        if groups.side is not None:
            fit &= _row(groups.side, one)[others] >= 0
        if fit.any():
            two = others[np.argmax(fit)]
            taken[one] = taken[two] = True
            leaders[max(one, two)] = min(one, two)
            left -= 1
    leads = leaders == np.arange(len(leaders))
    return (np.cumsum(leads) - 1)[leaders], int(leads.sum())


def _heaviest(groups: _Groups, count: int) -> Array:
    """Give numbers to the `count` heaviest groups, and none to the others."""
    kept = np.sort(np.argsort(-groups.graph.degrees, kind="stable")[:count])
    numbers = np.full(len(groups.graph), NO_GROUP, dtype=np.int64)
    numbers[kept] = np.arange(count)
    return numbers


def _place(graph: Graph, group: Array, count: int, limits: Limits) -> None:
    """Put nodes without a group into the ones that they are tied to most and that have room, heavy first."""
    free = np.flatnonzero(group == NO_GROUP)
    mass = np.bincount(group[group >= 0], graph.degrees[group >= 0], minlength=count)
    sizes = np.bincount(group[group >= 0], minlength=count)
    for node in free[np.argsort(-graph.degrees[free], kind="stable")]:
        open_to = np.flatnonzero(sizes < limits.max_children)
        ties = _by_group(graph.adjacency, node, group, count) * inverse_or_zero(mass)
        known = np.zeros(count) if limits.side is None else _by_group(limits.side, node, group, count)
        # apart counts first, then ties, then mass
        best = np.lexsort((-mass[open_to], -ties[open_to], known[open_to] < 0))[0]
        group[node] = open_to[best]
        sizes[group[node]] += 1
        mass[group[node]] += graph.degrees[node]


def _fill(graph: Graph, group: Array, count: int, limits: Limits) -> None:
    """Move into every group that is too small the nodes that lose least by it."""
    adjacency = _without_diagonal(graph.adjacency)
    sizes = np.bincount(group, minlength=count)
    for needy in np.flatnonzero(sizes < limits.min_children):
        while sizes[needy] < limits.min_children:
            lift = inverse_or_zero(np.bincount(group, graph.degrees, minlength=count))
            own = _own_ties(adjacency, group) * lift[group]
            there = np.asarray(adjacency @ (group == needy).astype(float)) * lift[needy]
            won = (there - own) * inverse_or_zero(graph.degrees)
            apart = np.zeros(len(group), dtype=bool)
            if limits.side is not None:
                apart = np.asarray(limits.side @ (group == needy).astype(float)) < 0
            movable = np.flatnonzero((group != needy) & (sizes[group] > limits.min_children))
            best = movable[np.lexsort((-won[movable], apart[movable]))[0]]
            sizes[group[best]] -= 1
            sizes[needy] += 1
            group[best] = needy


def _own_ties(adjacency: sp.csr_array, group: Array) -> Array:
    """Sum for every node the weights of its edges into its own group."""
    rows = np.repeat(np.arange(len(group)), np.diff(adjacency.indptr))
    inside = group[rows] == group[adjacency.indices]
    return np.bincount(rows[inside], adjacency.data[inside], minlength=len(group))


def _by_group(matrix: sp.csr_array, node: int, group: Array, count: int) -> Array:
    """Sum a row of the matrix by the groups of its columns."""
    part = slice(matrix.indptr[node], matrix.indptr[node + 1])
    of, values = group[matrix.indices[part]], matrix.data[part]
    return np.bincount(of[of >= 0], values[of >= 0], minlength=count)


def _row(matrix: sp.csr_array, node: int) -> Array:
    row = np.zeros(matrix.shape[1])
    part = slice(matrix.indptr[node], matrix.indptr[node + 1])
    row[matrix.indices[part]] = matrix.data[part]
    return row


def _without_diagonal(matrix: sp.csr_array) -> sp.csr_array:
    entries = matrix.tocoo()
    off = entries.row != entries.col
    parts = (entries.data[off], (entries.row[off], entries.col[off]))
    return sp.coo_array(parts, shape=matrix.shape).tocsr()
