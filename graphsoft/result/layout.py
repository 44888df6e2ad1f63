"""A map of the points from the hierarchy alone; `layout` is a method of `Hierarchy`, which `h` is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.linalg.csr import times, without_diagonal
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.memberships import frozen, likeliest, one_cluster_each
from graphsoft.placing.forces import Plane
from graphsoft.placing.settling import settled
from graphsoft.placing.starting import scattered
from graphsoft.result.intact import check_cluster_graph, check_levels, intact_graph

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy

__all__ = ["layout"]

LEAST_MASS = 1e-3  # of a node, by their mean: a cluster that holds next to nothing still takes some room


def layout(h: Hierarchy) -> Array:
    """Lay the points out in a plane, by the clusters and the graph.

    The top clusters are laid out first, by `graph` of their level. Then, level by level, clusters start
    around the mean of their parents by p(parent | cluster). Edges of their own graph pull them together, and
    all push each other away. Points come last. Time grows with the edges, and the same hierarchy gives the
    same bits on any number of threads.

    Returns
    -------
    ndarray of shape (n, 2)
        float32, with the mean at 0, the longest extent along the first axis, and a root mean square distance
        of 1 from the mean. Distances between near points mean more than those between far ones.

    See Also
    --------
    circles : where clusters are in a map of the points.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
    >>> places = h.layout()
    >>> places.shape, places.dtype
    ((77, 2), dtype('float32'))
    """
    check_levels(h.levels, len(h.graph))
    for level in h.levels:
        check_cluster_graph(level)
    points = intact_graph(h).adjacency
    places = np.zeros((1, 2))  # of all points as one cluster
    above: list[sp.csr_array] = []
    for upward, graph, sizes in _from_the_top(h, points):
        above = [upward, *(upward @ memberships for memberships in above)]
        places = _placed(above, graph, sizes, places)
    return frozen(_standardized(places).astype(np.float32))


def _from_the_top(h: Hierarchy, points: sp.csr_array) -> Iterator[tuple[sp.csr_array, sp.csr_array, Array]]:
    """List the nodes of each level, the points last: memberships in those above, their graph, their sizes."""
    for level in reversed(h.levels):
        shares, count = level.memberships, level.memberships.shape[1]
        all_in_one = one_cluster_each(np.zeros(count, dtype=np.int32), 1)
        upward = all_in_one if level.parents is None else level.parents
        yield upward, level.graph, np.bincount(shares.indices, shares.data, count)
    yield h.levels[0].memberships, points, np.ones(len(h.graph))


def _placed(above: list[sp.csr_array], graph: sp.csr_array, sizes: Array, places: Array) -> Array:
    """Place the nodes of one level; `places` are those of the clusters of the level above."""
    masses = np.maximum(sizes / sizes.mean(), LEAST_MASS)
    masses /= masses.mean()
    walk = without_diagonal(sp.csr_array(graph))
    rows = np.repeat(np.arange(len(masses)), np.diff(walk.indptr))
    sums = np.maximum(np.bincount(rows, walk.data, len(masses)), 1e-300)
    chances = walk.data / sums[rows]
    # the graph is symmetric, so that this is the mean of a step forward and of one backward
    both = (
        masses[rows] * chances + taken(masses, walk.indices) * (walk.data / taken(sums, walk.indices))
    ) / 2
    steps, pairs = (
        sp.csr_array((data, walk.indices, walk.indptr), shape=walk.shape) for data in (chances, both)
    )
    centers = places * np.sqrt(len(masses) / len(places))  # a node takes as much room on every level
    start = scattered(steps, masses, likeliest(above[0]), centers, times(above[0], centers))
    return settled(Plane(pairs, masses, above), start)


def _standardized(places: Array) -> Array:
    """Center and scale the places, and turn their longest extent along the first axis."""
    places = places - places.mean(axis=0)
    x, y = places.T
    angle = 0.5 * np.arctan2(2 * (x * y).mean(), (x * x).mean() - (y * y).mean())
    turned = np.column_stack([x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)])
    return turned / max(float(np.sqrt((turned**2).sum(axis=1).mean())), 1e-300)
