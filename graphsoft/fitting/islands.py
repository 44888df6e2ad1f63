"""Division of a graph whose components are more than the clusters of upper levels.

No edge says which components belong together, but features do. So these levels merge components by Ward's
method, as points at the means of their features that weigh as much as they do in the graph; and the levels
below divide the graph of the points within them. Very many components are divided as points are, by a graph
of the nearest of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from graphsoft.aliases import Array, Progress
from graphsoft.blas import one_thread
from graphsoft.deadline import NEVER, Deadline
from graphsoft.engine.coarsening import strays
from graphsoft.engine.dividing import Division
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import knn_graph
from graphsoft.input.mapped import take_rows
from graphsoft.linalg.csr import inverse_or_zero
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.neighbors.exact import METRICS
from graphsoft.neighbors.nearest import nearest_among
from graphsoft.neighbors.points import DIRECTIONS, NORMS, Points
from graphsoft.parallel import blocks
from graphsoft.storage.checkpoint import NOWHERE, Checkpoint

__all__ = [
    "Divided",
    "central_rows",
    "divided_levels",
    "heavy_components",
    "means_of_islands",
    "merged_by_ward",
    "merged_islands",
    "sums_of_islands",
]

SHRUNK = 2.0**-43  # rows are multiplied by this before they are added up, so that no sum can overflow
NUMBERS_AT_ONCE = 1 << 22  # of features
MOST_BY_WARD = 1 << 10  # components, since all distances between them are in memory


@dataclass(frozen=True, eq=False)
class Divided:
    """A division into the clusters of all levels.

    Attributes
    ----------
    labels : list of ndarray of shape (n,)
        The cluster of each node on each level, finest first.
    seconds : list of float
        What each level took.
    """

    labels: list[Array]
    seconds: list[float]


def divided_levels(
    graph: Graph,
    sizes: Sequence[int],
    means: Callable[[], Features] | None = None,
    edges: float | None = None,
    progress: Progress | None = None,
    deadline: Deadline = NEVER,
    checkpoint: Checkpoint = NOWHERE,
) -> Divided:
    """Divide a graph from the top level down, each level within the one above.

    Parameters
    ----------
    graph : Graph
    sizes : sequence of int
        Clusters of each level, finest first.
    means : callable, optional
        Called without arguments where there are more components than clusters on some level; returns the
        features of the components.
    edges : float, optional
        See `Division`.
    progress : callable, optional
    deadline : Deadline
    checkpoint : Checkpoint

    Examples
    --------
    Of four islands on a line, the first two and the last two are near each other:

    >>> from functools import partial
    >>> from graphsoft.graph.reading import as_graph
    >>> rows = Features(np.array([[0.0], [1.0], [10.0], [11.0], [50.0], [51.0], [60.0], [61.0]]))
    >>> graph = as_graph(rows.values, n_neighbors=1)
    >>> found = divided_levels(graph, [4, 2], partial(means_of_islands, graph, rows))
    >>> [labels.tolist() for labels in found.labels]
    [[0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1]]
    """
    began = time.perf_counter()
    found, start = Divided([], []), None
    merged = [] if means is None else merged_islands(graph, sizes, means)
    if merged:
        found = Divided(merged, [time.perf_counter() - began, *[0.0] * (len(merged) - 1)])
        start = merged[0]
    lower = sizes[: len(sizes) - len(found.labels)]
    division = Division(graph, len(lower), progress, deadline, edges, checkpoint, start)
    for size in reversed(lower):
        began = time.perf_counter()
        found.labels.insert(0, division.into(size))
        found.seconds.insert(0, time.perf_counter() - began)
    return found


def merged_islands(graph: Graph, sizes: Sequence[int], means: Callable[[], Features]) -> list[Array]:
    """Merge the components of a graph for the levels that have fewer clusters.

    Parameters
    ----------
    graph : Graph
    sizes : sequence of int
        Clusters of each level, finest first.
    means : callable
        See `divided_levels`.

    Returns
    -------
    list of int32 ndarray of shape (n,)
        The cluster of each node on these levels, the finest of them first; none if there are no such levels.
        A component too light for a cluster goes with the nearest that is not.
    """
    for size in sizes:
        heavy = _heavy(graph, size)
        if size < len(heavy):
            break
    else:
        return []
    of, fewer = means(), [each for each in sizes if each <= size]
    masses = np.bincount(graph.components, graph.degrees)
    near = _nearest_heavy(of, heavy, masses)
    some = Features(take_rows(of.values, heavy), of.metric)
    return [labels[near][graph.components] for labels in _merged(some, masses[heavy], fewer)]


def _nearest_heavy(means: Features, heavy: Array, masses: Array) -> Array:
    """Find the place in `heavy` of each component, or of the nearest to it that is heavy."""
    near = np.full(len(means), masses[heavy].argmax())  # of rows without a direction
    light = np.setdiff1d(np.arange(len(means)), heavy)
    points = Points.of(means.values, means.metric)
    found = nearest_among(points.take(heavy), points.take(light), 1)[0][:, 0]
    near[light[found >= 0]] = found[found >= 0]
    near[heavy] = np.arange(len(heavy))
    return near


def _merged(means: Features, masses: Array, sizes: Sequence[int]) -> list[Array]:
    """Merge components: few of them by Ward's method, and many as points of a graph of their own."""
    if len(means) <= MOST_BY_WARD:
        return merged_by_ward(_squares(means), masses, sizes)
    graph = knn_graph(means.values, metric=means.metric)
    return divided_levels(graph, sizes, partial(means_of_islands, graph, means)).labels


def heavy_components(graph: Graph, count: int) -> int:
    """Count the components that are heavy enough for a cluster of their own among so many."""
    return len(_heavy(graph, count))


def _heavy(graph: Graph, count: int) -> Array:
    """List them."""
    return np.unique(graph.components[~strays(graph, count)])


def means_of_islands(graph: Graph, features: Features, rows: Array | None = None) -> Features:
    """Compute features of the components of a graph.

    Parameters
    ----------
    graph : Graph
    features : Features
    rows : ndarray of int, optional
        The row of the features that each node has; by default its own.
    """
    sums, counts = sums_of_islands(features, graph.components, graph.degrees, rows)
    return Features(central_rows(sums, counts), features.metric)


def sums_of_islands(
    features: Features, island: Array, degrees: Array, rows: Array | None = None, count: int | None = None
) -> tuple[Array | sp.csr_array, Array]:
    """Add up the rows of each component, multiplied by `SHRUNK`, and count them.

    Under metrics of directions rows have length one.

    Where a mean means nothing, because numbers are compared relatively or one by one, the row of the heaviest
    node stands for all.

    Parameters
    ----------
    features : Features
    island : ndarray of int
        The component of each node.
    degrees : ndarray
    rows : ndarray of int, optional
        See `means_of_islands`.
    count : int, optional
        How many components there are.
    """
    values, count = features.values, int(island.max()) + 1 if count is None else count
    places = np.arange(len(island)) if rows is None else rows
    if features.metric not in NORMS:
        order = np.lexsort((-degrees, island))
        heaviest = order[np.flatnonzero(np.diff(island[order], prepend=-1))]
        return SHRUNK * np.asarray(values[places[heaviest]]), np.ones(len(heaviest))
    to = SHRUNK * one_cluster_each(island, count)
    shape = (count, values.shape[1])
    total = sp.csr_array(shape) if sp.issparse(values) else np.zeros(shape)
    for start, stop in blocks(len(island), max(1, NUMBERS_AT_ONCE // max(1, values.shape[1]))):
        some = values[places[start:stop]]
        if features.metric in DIRECTIONS:
            some = _unit_rows(Points.of(some, features.metric))
        total = total + to[start:stop].T @ some
    return sp.csr_array(total) if sp.issparse(values) else total, np.bincount(island, minlength=count)


def central_rows(sums: Array | sp.csr_array, counts: Array) -> Array | sp.csr_array:
    """Divide sums of rows, which are shrunk, by how many there are."""
    central = sp.diags_array(inverse_or_zero(counts) / SHRUNK) @ sums
    return sp.csr_array(central) if sp.issparse(sums) else np.asarray(central)


def _squares(means: Features) -> Array:
    """Compute the squared distances between the components, up to a factor."""
    points = Points.of(means.values, means.metric)
    if means.metric in DIRECTIONS:
        rows = _unit_rows(points)
    elif points.sparse:
        rows = points.values
    elif points.squared:
        rows = points.values - points.values.mean(axis=0)
    else:
        return np.asarray(cdist(points.values, points.values, METRICS[means.metric]) ** 2)
    with one_thread():
        products = rows @ rows.T
    products = products.toarray() if points.sparse else products
    lengths = products.diagonal()
    return np.asarray(np.maximum(lengths[:, None] + lengths - 2 * products, 0.0))


def merged_by_ward(squares: Array, masses: Array, sizes: Sequence[int]) -> list[Array]:
    """Merge points two by two, each time those of which the squares of distances then grow least.

    Parameters
    ----------
    squares : ndarray of shape (n, n)
        Squared distances of the points.
    masses : ndarray of shape (n,)
    sizes : sequence of int
        How many groups there are to be on each level; they fall.

    Returns
    -------
    list of int32 ndarray of shape (n,)
        The group of each point, for each level.

    Examples
    --------
    >>> line = np.array([0.0, 1.0, 5.0, 7.0])
    >>> squares = np.square(line[:, None] - line)
    >>> [labels.tolist() for labels in merged_by_ward(squares, np.ones(4), [3, 2])]
    [[0, 0, 1, 2], [0, 0, 1, 1]]
    """
    mass, labels, found = np.maximum(masses, np.finfo(float).tiny), np.arange(len(masses)), []
    growth = squares * (mass[:, None] / (mass[:, None] + mass)) * mass
    np.fill_diagonal(growth, np.inf)
    near = growth.argmin(axis=1)
    least = growth[np.arange(len(mass)), near]
    for left in range(len(mass), sizes[-1] - 1, -1):
        if left in sizes:
            found.append(np.unique(labels, return_inverse=True)[1].astype(np.int32))
        if left == sizes[-1]:
            break
        one = int(least.argmin())
        one, two = sorted((one, int(near[one])))
        both = mass[one] + mass[two]
        row = ((mass[one] + mass) * growth[one] + (mass[two] + mass) * growth[two]) / (both + mass)
        row -= mass / (both + mass) * growth[one, two]
        row[[one, two]] = np.inf
        mass[one], labels[labels == two] = both, one
        growth[one], growth[:, one], growth[two], growth[:, two] = row, row, np.inf, np.inf
        least[two] = np.inf
        stale = np.append(np.flatnonzero(((near == one) | (near == two)) & np.isfinite(least)), one)
        near[stale] = growth[stale].argmin(axis=1)
        least[stale] = growth[stale, near[stale]]
        nearer = row < least
        near[nearer], least[nearer] = one, row[nearer]
    return found


def _unit_rows(points: Points) -> Any:
    """Give rows length one."""
    if points.sparse:
        return sp.csr_array(sp.diags_array(points.factors) @ points.values)
    return points.values * points.factors[:, None]
