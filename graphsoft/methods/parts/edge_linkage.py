"""Linkage along the edges of a graph, in memory that grows with the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.neighbors.points import Points
from graphsoft.parallel import blocks

__all__ = ["along_graph", "cut"]

# The metrics by which scikit-learn measures given pairs.
PAIRED = ("euclidean", "cosine", "manhattan")
# Components are joined by a tree found among all pairs of them.
MAX_COMPONENTS = 5000
CELLS_PER_BLOCK = 1 << 20


def along_graph(points: Points, graph: Graph, kind: str, count: int) -> Array:
    """Label points after merging clusters that edges join, until `count` are left.

    Components of the graph are joined first, by a tree between their middles.
    """
    if points.metric not in PAIRED:
        problem = f"got {points.metric!r} for {len(points)} points, whose linkage follows the graph"
        raise InputError("metric", problem, "use one of " + ", ".join(map(repr, PAIRED)))
    if kind == "ward" and points.sparse:
        problem = f"has {len(points)} sparse rows, and Ward linkage would fill them"
        raise InputError("X", problem, "use single or complete linkage, or a method for graphs")
    one, other = _edges(points, graph)
    if kind == "single":
        return _spanning(points, one, other, count)
    if kind == "complete":
        return _reciprocal(_Farthest(_lengths(points, one, other)), len(points), one, other, count)
    return _reciprocal(_Means(points), len(points), one, other, count)


def cut(merges: Array, points: int, count: int) -> Array:
    """Label the points after all merges but the last ``count - 1``.

    Parameters
    ----------
    merges : ndarray of shape (n - 1, 2)
        What merges: a point below n, or the result of merge ``number - n``.

    Examples
    --------
    >>> cut(np.array([[0, 2], [1, 3]]), 3, 2).tolist()
    [0, 1, 0]
    """
    done = merges[: points - count]
    parents = np.repeat(np.arange(points, points + len(done)), 2)
    shape = (points + len(done),) * 2
    tree = sp.coo_array((np.ones(len(parents)), (done.ravel(), parents)), shape=shape)
    return _components(tree)[:points]


def _components(graph: Any) -> Array:
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(graph, directed=False)[1])


def _spanning(points: Points, one: Array, other: Array, count: int) -> Array:
    """Cut the longest edges of a minimum spanning tree."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    shape = (len(points),) * 2
    rank = _ranks(_lengths(points, one, other)) + 1.0  # SciPy takes 0 for no edge
    tree = minimum_spanning_tree(sp.csr_array((rank, (one, other)), shape=shape)).tocoo()
    kept = np.argsort(tree.data)[: len(points) - count]
    return _components(sp.coo_array((tree.data[kept], (tree.row[kept], tree.col[kept])), shape=shape))


def _reciprocal(distances: _Farthest | _Means, points: int, one: Array, other: Array, count: int) -> Array:
    """Merge all clusters that are each other's nearest, again and again; then undo the farthest merges.

    Merging the nearest two of all, one pair at a time, comes to the same for complete linkage, and for Ward's
    where all pairs have edges: what is nearest to each other stays so while others merge.
    """
    merges, heights = np.empty((points - 1, 2), dtype=np.int64), np.empty(points - 1)
    name, height, done = np.arange(points), np.zeros(points), 0
    while len(one):
        apart = distances.apart(one, other)
        rank = _ranks(apart)
        nearest = np.full(len(name), len(one))
        np.minimum.at(nearest, one, rank)
        np.minimum.at(nearest, other, rank)
        pairs = np.flatnonzero((rank == nearest[one]) & (rank == nearest[other]))
        first, second = one[pairs], other[pairs]
        stop = done + len(pairs)
        merges[done:stop] = np.column_stack([name[first], name[second]])
        # along a graph a merge can be nearer than what it merges
        heights[done:stop] = np.maximum(apart[pairs], np.maximum(height[first], height[second]))
        name[first], height[first] = np.arange(points + done, points + stop), heights[done:stop]
        kept = np.ones(len(name), dtype=bool)
        kept[second] = False
        into = np.arange(len(name))
        into[second] = first
        into = (np.cumsum(kept) - 1)[into]
        distances.merge(first, second, kept)
        name, height, done = name[kept], height[kept], stop
        one, other = distances.joined(into[one], into[other], len(name))
    return cut(_by_height(merges, heights, points), points, count)


def _by_height(merges: Array, heights: Array, points: int) -> Array:
    """Put the merges into order, each after those that it builds on."""
    order = np.argsort(heights, kind="stable")
    number = np.arange(2 * points - 1)
    number[points + order] = points + np.arange(len(order))
    return np.asarray(number[merges[order]])


class _Farthest:
    """How far clusters are apart: as their farthest points that an edge joins."""

    def __init__(self, lengths: Array) -> None:
        self.lengths = lengths

    def apart(self, one: Array, other: Array) -> Array:
        return self.lengths

    def merge(self, first: Array, second: Array, kept: Array) -> None:
        """Nothing: the edges hold it all."""

    def joined(self, one: Array, other: Array, clusters: int) -> tuple[Array, Array]:
        one, other, starts, order = _distinct(one, other, clusters)
        self.lengths = np.maximum.reduceat(self.lengths[order], starts) if len(one) else self.lengths[:0]
        return one, other


class _Means:
    """How far clusters are apart: as merging them adds to the squared distances from their means."""

    def __init__(self, points: Points) -> None:
        self.means = points.values.astype(np.float64)
        self.sizes = np.ones(len(points))

    def apart(self, one: Array, other: Array) -> Array:
        result = np.empty(len(one))
        for start, stop in blocks(len(one), max(1, CELLS_PER_BLOCK // self.means.shape[1])):
            here, there = one[start:stop], other[start:stop]
            gaps = np.square(self.means[here] - self.means[there]).sum(axis=1)
            weight = self.sizes[here] * self.sizes[there] / (self.sizes[here] + self.sizes[there])
            result[start:stop] = weight * gaps
        return result

    def merge(self, first: Array, second: Array, kept: Array) -> None:
        share = (self.sizes[second] / (self.sizes[first] + self.sizes[second]))[:, None]
        self.means[first] += share * (self.means[second] - self.means[first])
        self.sizes[first] += self.sizes[second]
        self.means, self.sizes = self.means[kept], self.sizes[kept]

    def joined(self, one: Array, other: Array, clusters: int) -> tuple[Array, Array]:
        return _distinct(one, other, clusters)[:2]


def _distinct(one: Array, other: Array, clusters: int) -> tuple[Array, Array, Array, Array]:
    """Bring edges into order and drop repeated ones: both ends, where each begins, and the order."""
    key = np.minimum(one, other) * clusters + np.maximum(one, other)
    order = np.argsort(key, kind="stable")
    order = order[(one != other)[order]]
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    return key[starts] // clusters, key[starts] % clusters, starts, order


def _ranks(values: Array) -> Array:
    ranks = np.empty(len(values), dtype=np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def _edges(points: Points, graph: Graph) -> tuple[Array, Array]:
    """List the edges once each, and a tree between the middles of the components."""
    upper = sp.triu(graph.adjacency, k=1).tocoo()
    one, other = upper.row.astype(np.int64), upper.col.astype(np.int64)
    parts = int(graph.components.max()) + 1
    if parts == 1:
        return one, other
    if parts > MAX_COMPONENTS:
        raise InputError("X", f"falls into {parts} components", "raise n_neighbors")
    from scipy.sparse.csgraph import minimum_spanning_tree

    middles = _middles(points, graph.components, parts)
    pairs = np.triu_indices(parts, k=1)
    rank = _ranks(_lengths(points, middles[pairs[0]], middles[pairs[1]])) + 1.0
    tree = minimum_spanning_tree(sp.csr_array((rank, pairs), shape=(parts, parts))).tocoo()
    return np.concatenate([one, middles[tree.row]]), np.concatenate([other, middles[tree.col]])


def _lengths(points: Points, one: Array, other: Array) -> Array:
    """Measure the given pairs of points."""
    from sklearn.metrics.pairwise import paired_distances

    lengths = np.empty(len(one))
    for start, stop in blocks(len(one), max(1, CELLS_PER_BLOCK // points.values.shape[1])):
        ends = (_dense(points.values[pair[start:stop]]) for pair in (one, other))
        lengths[start:stop] = paired_distances(*ends, metric=points.metric)
    return lengths


def _middles(points: Points, components: Array, parts: int) -> Array:
    """Find in each component the point nearest to its mean."""
    inside = one_cluster_each(components, parts)
    sizes = np.bincount(components)
    means = _dense(inside.T @ points.values) / sizes[:, None]
    far = np.empty(len(points))
    for start, stop in blocks(len(points), max(1, CELLS_PER_BLOCK // points.values.shape[1])):
        away = _dense(points.values[start:stop]) - means[components[start:stop]]
        far[start:stop] = np.square(away).sum(axis=1)
    order = np.lexsort((far, components))
    return np.asarray(order[np.cumsum(sizes) - sizes])


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
