"""Linkage along the edges of a graph, in memory that grows with the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.parts.rows import dense
from graphsoft.neighbors.points import Points
from graphsoft.parallel import blocks

__all__ = ["along_graph", "cut"]

# The metrics for which scikit-learn computes distances of given pairs.
PAIRED = ("euclidean", "cosine", "manhattan")
# Components are connected by a tree, for which all pairs of them are compared.
MAX_COMPONENTS = 5000
CELLS_PER_BLOCK = 1 << 20


def along_graph(points: Points, graph: Graph, kind: str, count: int) -> Array:
    """Merge clusters that edges join until `count` are left; returns the label of each point.

    Components of the graph are first connected by a tree between their central points.
    """
    if points.metric not in PAIRED:
        problem = f"got {points.metric!r} for {len(points)} points, which are merged along their graph"
        raise InputError("metric", problem, "use one of " + ", ".join(map(repr, PAIRED)))
    if kind == "ward" and points.sparse:
        problem = f"has {len(points)} sparse rows, and Ward linkage would make them dense"
        raise InputError("X", problem, "use single or complete linkage, or a method for graphs")
    one, other = _edges(points, graph)
    if kind == "single":
        return _spanning(points, one, other, count)
    if kind == "complete":
        return _reciprocal(_Complete(_lengths(points, one, other)), len(points), one, other, count)
    return _reciprocal(_Ward(points), len(points), one, other, count)


def cut(merges: Array, points: int, count: int) -> Array:
    """Label the points after all merges but the last ``count - 1``.

    Parameters
    ----------
    merges : ndarray of shape (n - 1, 2)
        The two that merge: a number below n is a point, any other is the result of merge ``number - n``.

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


def _reciprocal(distances: _Complete | _Ward, points: int, one: Array, other: Array, count: int) -> Array:
    """Merge all clusters that are each other's nearest, until one is left; then undo the farthest merges.

    The result equals merging the nearest two clusters one pair at a time, for complete linkage, and for
    Ward's if all pairs have edges: two clusters that are each other's nearest stay so while others merge.
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
        # along a graph, a merge can be at a smaller distance than the merges that it builds on
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
    """Sort the merges by height, each after those that it builds on."""
    order = np.argsort(heights, kind="stable")
    number = np.arange(2 * points - 1)
    number[points + order] = points + np.arange(len(order))
    return np.asarray(number[merges[order]])


class _Complete:
    """Complete linkage: the distance is that of the farthest points that an edge joins."""

    def __init__(self, lengths: Array) -> None:
        self.lengths = lengths

    def apart(self, one: Array, other: Array) -> Array:
        return self.lengths

    def merge(self, first: Array, second: Array, kept: Array) -> None:
        """Do nothing: the lengths of the edges are all that is needed."""

    def joined(self, one: Array, other: Array, clusters: int) -> tuple[Array, Array]:
        one, other, starts, order = _distinct(one, other, clusters)
        self.lengths = np.maximum.reduceat(self.lengths[order], starts) if len(one) else self.lengths[:0]
        return one, other


class _Ward:
    """Ward linkage: the distance is what merging adds to the squared distances from the means."""

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
    """Sort edges and drop repeated ones; returns both ends, where each begins in the order, and the order."""
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
    """List each edge once, and those of a tree between the central points of the components."""
    upper = sp.triu(graph.adjacency, k=1).tocoo()
    one, other = upper.row.astype(np.int64), upper.col.astype(np.int64)
    parts = int(graph.components.max()) + 1
    if parts == 1:
        return one, other
    if parts > MAX_COMPONENTS:
        raise InputError("X", f"falls into {parts} components", "raise n_neighbors")
    from scipy.sparse.csgraph import minimum_spanning_tree

    centers = _central_points(points, graph.components, parts)
    pairs = np.triu_indices(parts, k=1)
    rank = _ranks(_lengths(points, centers[pairs[0]], centers[pairs[1]])) + 1.0
    tree = minimum_spanning_tree(sp.csr_array((rank, pairs), shape=(parts, parts))).tocoo()
    return np.concatenate([one, centers[tree.row]]), np.concatenate([other, centers[tree.col]])


def _lengths(points: Points, one: Array, other: Array) -> Array:
    """Compute the distances of the given pairs of points."""
    from sklearn.metrics.pairwise import paired_distances

    lengths = np.empty(len(one))
    for start, stop in blocks(len(one), max(1, CELLS_PER_BLOCK // points.values.shape[1])):
        ends = (dense(points.values[pair[start:stop]]) for pair in (one, other))
        lengths[start:stop] = paired_distances(*ends, metric=points.metric)
    return lengths


def _central_points(points: Points, components: Array, parts: int) -> Array:
    """Find in each component the point nearest to its mean."""
    inside = one_cluster_each(components, parts)
    sizes = np.bincount(components)
    means = dense(inside.T @ points.values) / sizes[:, None]
    far = np.empty(len(points))
    for start, stop in blocks(len(points), max(1, CELLS_PER_BLOCK // points.values.shape[1])):
        away = dense(points.values[start:stop]) - means[components[start:stop]]
        far[start:stop] = np.square(away).sum(axis=1)
    order = np.lexsort((far, components))
    return np.asarray(order[np.cumsum(sizes) - sizes])
