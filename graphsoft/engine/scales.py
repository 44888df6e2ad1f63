"""A graph on several scales: each has a node for every group of nodes of the scale below.

The scales of a contraction come from merging nodes pair by pair. The pairs with the largest
``w_ij / (d_i d_j)`` merge first (the linkage of Paris agglomeration), only a small part of a matching in each
round, so that no region gets ahead of the others.

Equal scores are decided by the graph around the nodes, see `graphsoft.engine.ties`. So the order of the nodes
changes nothing but the last digits, unless some nodes look alike up to 16 steps away, as in a ring or a grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import contracted
from graphsoft.engine.merging import Merging, numbered
from graphsoft.engine.ordering import weight_type
from graphsoft.engine.ties import keys_of_groups, ranks, structure_keys
from graphsoft.graph.graph import Graph
from graphsoft.lazy import lazy
from graphsoft.linalg.indexing import put, taken

__all__ = [
    "Layer",
    "Scales",
    "carried",
    "coarsened",
    "contraction",
    "grouped",
    "merged_along_edges",
    "nested_steps",
]

# A scale of a contraction has this many times fewer nodes than the one below. Over the benchmark sets 2 gave
# no better clusters, and more scales take more time and memory.
SHRINK_FACTOR = 4

# Nodes are moved in so many batches. The nodes of one choose without knowing where the others of it go: with
# more batches these are fewer, with fewer batches there is more work for threads at a time.
BATCHES = 8


@dataclass(frozen=True, eq=False)
class Layer:
    """One scale of a graph.

    Attributes
    ----------
    graph : Graph
    keys : ndarray of uint64, shape (n,)
        They decide between equal nodes, see `graphsoft.engine.ties`.
    given_degrees : ndarray of shape (n,) or None
        Of nodes that have more edges than those in the graph, which is a part of a larger one.
    """

    graph: Graph
    keys: Array
    given_degrees: Array | None = None

    @classmethod
    def of(cls, graph: Graph) -> Layer:
        """Take a graph as the finest scale."""
        return cls(graph, structure_keys(graph.adjacency))

    def __len__(self) -> int:
        return len(self.graph)

    @property
    def degrees(self) -> Array:
        """The summed weights of every node, float64 of shape (n,)."""
        return self.graph.degrees if self.given_degrees is None else self.given_degrees

    @lazy
    def order(self) -> Array:
        """The nodes in an order that does not depend on their numbers, unless they look alike."""
        return np.argsort(self.keys, kind="stable").astype(np.int32)

    @lazy
    def batches(self) -> list[Array]:
        """The nodes in batches that do not depend on their numbers; the nodes of a batch rise."""
        return [np.sort(some) for some in np.array_split(self.order, min(BATCHES, len(self)))]

    def above(self, step: Array) -> Layer:
        """Contract it: `step` has the node above for every node."""
        count, degrees = int(step.max()) + 1, self.given_degrees
        if degrees is not None:
            degrees = np.bincount(step, degrees, minlength=count)
        return Layer(contracted(self.graph, step, count), keys_of_groups(self.keys, step, count), degrees)


@dataclass(frozen=True, eq=False)
class Scales:
    """All scales of a graph.

    Attributes
    ----------
    layers : tuple of Layer
        The finest first.
    steps : tuple of ndarray
        For every node of a layer the node of the next one.
    """

    layers: tuple[Layer, ...]
    steps: tuple[Array, ...]

    @classmethod
    def of(cls, layer: Layer) -> Scales:
        """Begin with the finest scale."""
        return cls((layer,), ())

    def extended(self, *steps: Array) -> Scales:
        """Contract the coarsest scale, step by step."""
        layers = list(self.layers)
        for step in steps:
            layers.append(layers[-1].above(step))
        return Scales(tuple(layers), self.steps + steps)

    def joined(self, above: Scales) -> Scales:
        """Continue with scales of the coarsest one."""
        return Scales(self.layers + above.layers[1:], self.steps + above.steps)

    def cut(self, layer: int) -> tuple[Scales, Scales]:
        """Cut at a layer, which belongs to both parts: the finer scales, the coarser ones."""
        below = Scales(self.layers[: layer + 1], self.steps[:layer])
        return below, Scales(self.layers[layer:], self.steps[layer:])

    def within(self, labels: Array) -> Scales:
        """Split the nodes of all scales by the groups of the finest nodes, so that each lies in one group."""
        nodes = np.arange(len(labels))
        return Scales.of(self.layers[0]).extended(*nested_steps(self.steps, nodes, labels))

    def carried(self, values: Array) -> Array:
        """Give every coarsest node the value that all its finest nodes have."""
        for step in self.steps:
            values = carried(values, step)
        return values

    def spread(self, values: Array) -> Array:
        """Give every finest node the value of its coarsest node."""
        for step in reversed(self.steps):
            values = taken(values, step)
        return values


def nested_steps(steps: Sequence[Array], nodes: Array, labels: Array) -> list[Array]:
    """Split the nodes of coarser scales by groups of some of the finest nodes; all others are left out.

    Parameters
    ----------
    steps : sequence of ndarray
        For every node of a scale the node of the next one.
    nodes, labels : ndarray of shape (n,)
        Nodes of the finest scale, and the group of each.

    Examples
    --------
    >>> steps = [np.array([0, 0, 0, 1, 1]), np.array([0, 0])]
    >>> nested_steps(steps, np.array([1, 2, 3, 4]), np.array([0, 0, 0, 1]))
    [array([0, 0, 1, 2], dtype=int32), array([0, 0, 1], dtype=int32)]
    """
    below, count, groups, nested = np.arange(len(nodes)), len(nodes), np.int64(labels.max()) + 1, []
    for step in steps:
        nodes = taken(step, nodes)
        found, number = np.unique(nodes * groups + labels, return_inverse=True)
        nested.append(np.empty(count, dtype=np.int32))
        nested[-1][below] = number
        below, count = number, len(found)
    return nested


def carried(values: Array, step: Array) -> Array:
    """Give every node of the next scale the value that all its nodes have.

    Examples
    --------
    >>> carried(np.array([7, 7, 8]), np.array([1, 1, 0])).tolist()
    [8, 7]
    """
    above = np.empty(int(step.max()) + 1, dtype=values.dtype)
    put(above, step, values)
    return above


def contraction(layer: Layer, fewest: int, homes: Array, progress: Progress | None = None) -> Scales:
    """Merge nodes within their homes until `fewest` are left; a scale has about a quarter of the nodes below.

    The pairs of largest ``w_ij / (d_i d_j)`` merge first. Where no edge is left to merge along, light nodes
    of a home merge with each other.
    """
    scales, whole = Scales.of(layer), len(layer)
    while len(layer) > fewest:
        step, left = _merged(layer, fewest, homes, whole, progress)
        if left == len(layer):
            step, left = _light_pairs(layer, homes, left - fewest)
        if left == len(layer):
            break  # every home is one node
        scales, homes = scales.extended(step.astype(np.int32)), carried(homes, step)
        layer = scales.layers[-1]
    return scales


def merged_along_edges(layer: Layer, fewest: int) -> Array:
    """Merge nodes until `fewest` are left, or no edge to merge along: the number of its group for every node.

    Groups are numbered by their lowest nodes.

    Examples
    --------
    Here the last node has edges that are not in the graph; the pair of light nodes merges first:

    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> path = Layer.of(as_graph(nx.path_graph(3)))
    >>> merged_along_edges(Layer(path.graph, path.keys, np.array([1.0, 2.0, 9.0])), 2).tolist()
    [0, 0, 1]
    """
    group, whole = np.arange(len(layer), dtype=np.int32), len(layer)
    while len(layer) > fewest:
        step, left = _merged(layer, fewest, np.zeros(len(layer), dtype=np.int32), whole)
        if left == len(layer):
            break
        group, layer = step[group].astype(np.int32), layer.above(step)
    return group


def _merged(
    layer: Layer, fewest: int, homes: Array, whole: int, progress: Progress | None = None
) -> tuple[Array, int]:
    """Merge nodes within their homes until a quarter, or `fewest`, are left: each one's number, how many."""
    goal = max(fewest, len(layer) // SHRINK_FACTOR)
    merging = Merging(_edges_within(layer.graph.adjacency, homes), layer.degrees, layer.keys)
    while len(merging.alive) > goal and merging.merge_best(len(merging.alive) - fewest):
        if progress is not None:
            progress("coarsening", whole - len(merging.alive), whole - fewest)
    return merging.numbered()


def coarsened(graph: Graph, count: int, progress: Progress | None = None) -> Scales:
    """Contract a graph to `count` nodes.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> scales = coarsened(as_graph(nx.barbell_graph(3, 0)), 2)
    >>> scales.layers[-1].graph.adjacency.toarray()
    array([[6., 1.],
           [1., 6.]])
    """
    return contraction(Layer.of(graph), count, np.zeros(len(graph), dtype=np.int32), progress)


def grouped(graph: Graph, count: int, progress: Progress | None = None) -> Array:
    """Group the nodes by contraction alone: the number of its group for every node.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> grouped(as_graph(nx.barbell_graph(3, 0)), 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    given = graph.adjacency
    weights = given.data.astype(weight_type(given.data))  # float32 mostly, which takes less memory
    light = Graph(sp.csr_array((weights, given.indices, given.indptr), shape=given.shape), range(len(graph)))
    scales = coarsened(light, count, progress)
    return scales.spread(np.arange(len(scales.layers[-1])))


def _edges_within(adjacency: sp.csr_array, homes: Array) -> sp.csr_array:
    """Leave out the edges from home to home."""
    if not homes.any():
        return adjacency
    rows = np.repeat(np.arange(len(homes)), np.diff(adjacency.indptr))
    kept = taken(homes, rows) == taken(homes, adjacency.indices)
    ptr = np.zeros_like(adjacency.indptr)
    np.cumsum(np.bincount(rows[kept], minlength=len(homes)), out=ptr[1:])
    return sp.csr_array((adjacency.data[kept], adjacency.indices[kept], ptr), shape=adjacency.shape)


def _light_pairs(layer: Layer, homes: Array, max_merges: int) -> tuple[Array, int]:
    """Pair light nodes with the next lightest of their home; the lightest pairs merge."""
    order = np.lexsort((layer.keys, ranks(layer.degrees), homes))
    begins = np.flatnonzero(np.diff(homes[order], prepend=-1))
    place = np.arange(len(order)) - np.repeat(begins, np.diff(np.append(begins, len(order))))
    second = np.flatnonzero(place % 2 == 1)
    low, high = order[second - 1], order[second]
    mass = ranks(layer.degrees[low] + layer.degrees[high])
    chosen = np.lexsort((layer.keys[low] + layer.keys[high], mass))[:max_merges]
    leaders = np.arange(len(order))
    leaders[np.maximum(low, high)[chosen]] = np.minimum(low, high)[chosen]
    return numbered(leaders)
