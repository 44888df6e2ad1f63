"""Division of a graph whose components are more than the clusters of upper levels.

No edge says which components belong together, but features do. So the components become points themselves,
the means of their features, which are joined to their nearest neighbors; the upper levels divide this graph,
and the levels below divide the graph of the points within them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.engine.coarsening import strays
from graphsoft.engine.dividing import Division
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.graph.joining import joined_to_nearest
from graphsoft.linalg.csr import inverse_or_zero
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.neighbors.points import DIRECTIONS, NORMS
from graphsoft.parallel import blocks
from graphsoft.storage.checkpoint import NOWHERE, Checkpoint

__all__ = [
    "Divided",
    "Islands",
    "central_rows",
    "divided_levels",
    "heavy_components",
    "means_of_islands",
    "sums_of_islands",
]

NUMBERS_AT_ONCE = 1 << 22  # of features


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


@dataclass(frozen=True)
class Islands:
    """What is known of the components of a graph beside their edges.

    Attributes
    ----------
    means : callable
        Called without arguments where they are needed; returns the features of each component.
    n_neighbors : int
        To how many of the nearest a component is joined.
    """

    means: Callable[[], Features]
    n_neighbors: int


def divided_levels(
    graph: Graph,
    sizes: Sequence[int],
    islands: Islands | None = None,
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
    islands : Islands, optional
        None if nothing is known of components but their edges.
    edges : float, optional
        See `Division`.
    progress : callable, optional
    deadline : Deadline
    checkpoint : Checkpoint

    Examples
    --------
    Of four islands on a line, the first two and the last two are near each other:

    >>> from graphsoft.graph.reading import as_graph
    >>> rows = Features(np.array([[0.0], [1.0], [10.0], [11.0], [50.0], [51.0], [60.0], [61.0]]))
    >>> graph = as_graph(rows.values, n_neighbors=1)
    >>> found = divided_levels(graph, [4, 2], Islands(partial(means_of_islands, graph, rows), n_neighbors=1))
    >>> [labels.tolist() for labels in found.labels]
    [[0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1]]
    """
    began = time.perf_counter()
    found, start = Divided([], []), None
    fewer = [islands is not None and size < heavy_components(graph, size) for size in sizes]
    if islands is not None and True in fewer:
        means = islands.means()
        above = _joined(means, np.bincount(graph.components, graph.degrees), islands.n_neighbors)
        if int(above.components.max()) + 1 < len(above):
            upper = sizes[fewer.index(True) :]
            further = Islands(partial(means_of_islands, above, means), islands.n_neighbors)
            of_islands = divided_levels(above, upper, further)
            found = Divided([labels[graph.components] for labels in of_islands.labels], of_islands.seconds)
            found.seconds[-1] += time.perf_counter() - began - sum(found.seconds)
            start = found.labels[0]
    lower = sizes[: len(sizes) - len(found.labels)]
    division = Division(graph, len(lower), progress, deadline, edges, checkpoint, start)
    for size in reversed(lower):
        began = time.perf_counter()
        found.labels.insert(0, division.into(size))
        found.seconds.insert(0, time.perf_counter() - began)
    return found


def heavy_components(graph: Graph, count: int) -> int:
    """Count the components that are heavy enough for a cluster of their own among so many."""
    return len(np.unique(graph.components[~strays(graph, count)]))


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
    """Add up the rows of each component, under metrics of directions rows of length one, and count them.

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
        return np.asarray(values[places[heaviest]]), np.ones(len(heaviest))
    to = one_cluster_each(island, count)
    shape = (count, values.shape[1])
    total = sp.csr_array(shape) if sp.issparse(values) else np.zeros(shape)
    for start, stop in blocks(len(island), max(1, NUMBERS_AT_ONCE // max(1, values.shape[1]))):
        total = total + to[start:stop].T @ _directions(values[places[start:stop]], features.metric)
    return sp.csr_array(total) if sp.issparse(values) else total, np.bincount(island, minlength=count)


def central_rows(sums: Array | sp.csr_array, counts: Array) -> Array | sp.csr_array:
    """Divide sums of rows by how many there are."""
    central = sp.diags_array(inverse_or_zero(counts)) @ sums
    return sp.csr_array(central) if sp.issparse(sums) else np.asarray(central)


def _joined(means: Features, masses: Array, n_neighbors: int) -> Graph:
    """Join components to their nearest: the weights of points, times the root of the masses of both."""
    count = len(means)
    joined = joined_to_nearest(means, min(n_neighbors, count - 1), "local-scaling", "union", None, None)
    scale = sp.diags_array(np.sqrt(masses / masses.mean()))
    return Graph(sp.csr_array(scale @ joined.adjacency @ scale), range(count))


def _directions(rows: Array | sp.csr_array, metric: str) -> Array | sp.csr_array:
    """Give rows length one, if it is only their direction that counts."""
    if sp.issparse(rows):
        rows = sp.csr_array(rows, dtype=np.float64)
        lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
        return sp.csr_array(sp.diags_array(inverse_or_zero(lengths)) @ rows) if metric in DIRECTIONS else rows
    rows = np.asarray(rows, dtype=np.float64)
    if metric == "correlation":
        rows = rows - rows.mean(axis=1, keepdims=True)
    if metric in DIRECTIONS:
        rows = rows * inverse_or_zero(np.sqrt(np.square(rows).sum(axis=1)))[:, None]
    return rows
