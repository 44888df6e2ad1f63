"""From a graph to groups of its nodes, and to smaller groups within these.

1. The graph is contracted to some nodes for each group, and its nodes move between these through all scales.
2. This small graph is grouped many times with other weights. The median of these groupings is taken.
3. Nodes move between the groups, through the scales of the contraction and through scales made by moves.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import strays
from graphsoft.engine.drawing import median_grouping
from graphsoft.engine.moving import clumps_within, moved_through
from graphsoft.engine.scales import Floor, Scales, carried, contraction
from graphsoft.engine.ties import ranks, structure_keys
from graphsoft.graph.graph import Graph

__all__ = ["Division"]

# The small graph has so many nodes for each group, but in all no fewer and no more than these bounds.
NODES_EACH = 12
FEWEST_NODES, MOST_NODES = 200, 640
# A graph with fewer nodes for each group is not grouped many times.
LEAST_EACH = 4
# How often nodes move through the scales of the contraction, and then through scales made by moves. This is
# done on the finest scale that has at most so many nodes, or so many for each group. From there they move
# once more, down to the graph itself.
CYCLES, CYCLES_BY_MOVES = 2, 2
MAX_NODES, MAX_NODES_EACH = 1 << 14, 40


class Division:
    """A graph that is divided again and again, each time into more groups within those before.

    Parameters
    ----------
    graph : Graph
    progress : callable, optional

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> division = Division(as_graph(nx.barbell_graph(4, 0)))
    >>> division.into(2).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    >>> sorted(division.into(8).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7]
    """

    def __init__(self, graph: Graph, progress: Progress | None = None) -> None:
        self._floor = Floor(graph, structure_keys(graph.adjacency))
        self._progress = progress
        self._labels = np.zeros(len(graph), dtype=np.int32)
        self._scales: Scales | None = None  # of the whole graph, when it has been divided

    def into(self, count: int) -> Array:
        """Divide the graph into `count` groups within the present ones: the number of each node's group.

        Groups within one group have consecutive numbers, the heaviest first. Strays join the heaviest.
        """
        graph, homes = self._floor.graph, self._labels
        stray = strays(graph, count, homes)
        inside = np.flatnonzero(~stray)
        labels = np.empty(len(graph), dtype=np.int32)
        labels[inside] = _heaviest_first(self._groups(inside, count), homes[inside], graph.degrees[inside])
        first = np.full(int(homes.max(initial=0)) + 1, count, dtype=np.int32)
        np.minimum.at(first, homes[inside], labels[inside])
        labels[stray] = first[homes[stray]]
        self._labels = labels
        return labels

    def _groups(self, inside: Array, count: int) -> Array:
        """Divide the graph of some nodes, none of them strays, into groups in any order."""
        if len(inside) <= count:
            return np.arange(len(inside), dtype=np.int32)
        small = min(max(FEWEST_NODES, NODES_EACH * count), MOST_NODES)
        if small < LEAST_EACH * count:
            small = count
        homes = self._labels[inside]
        scales = self._scales_of(inside, homes, small)
        sizes, most = [len(floor) for floor in scales.floors], max(MAX_NODES, MAX_NODES_EACH * count)
        below, scales = scales.cut(
            next((at for at, size in enumerate(sizes) if size <= most), len(sizes) - 1)
        )
        home = below.carried(homes)
        labels = _first_groups(scales, home, count)
        for _ in range(CYCLES):
            cut = scales.within(labels)
            labels = moved_through(cut, cut.carried(labels), cut.carried(home))
        for _ in range(CYCLES_BY_MOVES):
            clumps = clumps_within(scales.floors[0], labels, home, 2 * count)
            labels = moved_through(clumps, clumps.carried(labels), clumps.carried(home))
        return moved_through(below, labels, home) if below.steps else labels

    def _scales_of(self, inside: Array, homes: Array, small: int) -> Scales:
        """Contract the graph of some nodes within their homes, until `small` nodes are left."""
        if self._scales is None:
            components = self._floor.graph.components
            fewest, whole = small + int(components.max()) + 1, np.zeros(len(components), dtype=np.int32)
            self._scales = contraction(self._floor, fewest, whole, self._progress)
        scales = self._scales.only(inside)
        enough = max(at for at, floor in enumerate(scales.floors) if at == 0 or len(floor) >= small)
        scales = scales.cut(enough)[0].within(homes)
        return scales.joined(contraction(scales.floors[-1], small, scales.carried(homes), self._progress))


def _first_groups(scales: Scales, homes: Array, count: int) -> Array:
    """Group the coarsest nodes, after the finest have moved between them: the groups of the finest."""
    small = np.arange(len(scales.floors[-1]), dtype=np.int32)
    if len(small) <= count:
        return scales.spread(small)
    if scales.steps:
        small = moved_through(scales, small, scales.carried(homes))
    floor = scales.floors[0].above(small)
    edges = scales.floors[0].graph.adjacency.nnz / 2
    return _drawn(floor, carried(homes, small), edges, count)[small]


def _drawn(small: Floor, homes: Array, edges: float, count: int) -> Array:
    """Group a small graph by the median of many draws."""
    order = small.order
    weights = small.graph.adjacency.toarray().astype(np.float64)[np.ix_(order, order)]
    groups = np.empty(len(small), dtype=np.int32)
    groups[order] = median_grouping(weights, homes[order], edges, count)
    return groups


def _heaviest_first(labels: Array, homes: Array, degrees: Array) -> Array:
    """Renumber groups: by their homes, then from the heaviest to the lightest."""
    order = np.lexsort((-ranks(np.bincount(labels, degrees)), carried(homes, labels)))
    numbers = np.empty(len(order), dtype=np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    renumbered: Array = numbers[labels]
    return renumbered
