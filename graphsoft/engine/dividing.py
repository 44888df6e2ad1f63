"""From a graph to groups of its nodes, and to smaller groups within these.

1. The graph is contracted to some nodes for each group, and its nodes move between these through all scales.
2. This small graph is grouped many times with other weights. The median of these groupings is taken.
3. Nodes move between the groups, through the scales of the contraction and through scales made by moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.deadline import NEVER, Deadline
from graphsoft.engine.coarsening import strays
from graphsoft.engine.drawing import median_grouping
from graphsoft.engine.moving import moved_through, next_merge, scales_by_moves
from graphsoft.engine.ordering import weight_type
from graphsoft.engine.scales import Layer, Scales, carried, contraction, nested_steps
from graphsoft.engine.ties import keys_of_groups, ranks
from graphsoft.graph.graph import Graph, subgraph
from graphsoft.lazy import lazy
from graphsoft.linalg.indexing import put, taken
from graphsoft.storage.checkpoint import NOWHERE, Checkpoint
from graphsoft.storage.packing import Packer, Unpacker

__all__ = ["Division"]

# The small graph has so many nodes for each group, but in all no fewer and no more than these bounds. It is
# dense, so the time and memory of each draw grow with the square of its nodes.
NODES_EACH = 12
FEWEST_NODES, MOST_NODES = 200, 640
# If the most nodes are fewer than this for each group, the graph is contracted to the groups themselves, and
# not grouped many times.
LEAST_EACH = 4
# How often nodes move through the scales of the contraction, and then through scales made by moves. These
# cycles run on the finest scale with at most MAX_NODES nodes, or MAX_NODES_EACH for each group, so that they
# take hardly longer on large graphs. From there the nodes move once more through the finer scales.
CYCLES, CYCLES_BY_MOVES = 2, 2
MAX_NODES, MAX_NODES_EACH = 1 << 14, 40


class Division:
    """A graph that is divided again and again, each time into more groups within those before.

    Parameters
    ----------
    graph : Graph
    divisions : int
        How often it will be divided, for what `progress` is told.
    progress : callable, optional
    deadline : Deadline
        When nodes move no longer on the coarser scales.
    edges : float, optional
        How many edges the graph has, or the one that it was contracted from: the fewer, the less of a small
        graph is certain.
    checkpoint : Checkpoint
        Where divisions are kept.
    homes : ndarray of shape (n,), optional
        The group of each node to begin with, numbered from 0; one for all if not given.

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

    def __init__(
        self,
        graph: Graph,
        divisions: int = 1,
        progress: Progress | None = None,
        deadline: Deadline = NEVER,
        edges: float | None = None,
        checkpoint: Checkpoint = NOWHERE,
        homes: Array | None = None,
    ) -> None:
        self._graph = graph
        self._edges = graph.adjacency.nnz / 2 if edges is None else edges
        self._progress, self._done, self._planned = progress, 0, divisions * (CYCLES + CYCLES_BY_MOVES + 1)
        self._deadline, self._checkpoint = deadline, checkpoint
        self._labels: Array = np.zeros(len(graph), dtype=np.int32) if homes is None else homes
        self._contraction: tuple[Array, ...] | None = None  # the steps of the contraction of the whole graph
        self._fewest = 0  # how many nodes it leaves, settled by the first division that needs it

    def into(self, count: int) -> Array:
        """Divide the graph into `count` groups within the present ones: the number of each node's group.

        `count` must be at least the number of the present groups.

        Groups within one group have consecutive numbers, the heaviest first. Strays join the heaviest.
        """
        self._labels, self._fewest = self._checkpoint.step(
            f"division-{count}", lambda: (self._divided(count), self._fewest),
            lambda found, packer: {"labels": packer.array("labels", found[0]), "fewest": found[1]},
            lambda content, unpacker: self._unpacked(content, unpacker, count),
            deadline=self._deadline,
        )  # fmt: skip
        self._count_step(to_end_of=CYCLES + CYCLES_BY_MOVES + 1)
        return self._labels

    @lazy
    def _layer(self) -> Layer:
        return Layer.of(self._graph)

    def _divided(self, count: int) -> Array:
        """Divide the graph, strays included."""
        graph, homes = self._graph, self._labels
        stray = strays(graph, count, homes)
        inside, labels = np.flatnonzero(~stray), np.empty(len(graph), dtype=np.int32)
        masses, keys = graph.degrees[inside], self._layer.keys[inside]
        labels[inside] = _heaviest_first(self._groups(inside, count), homes[inside], masses, keys)
        first = np.full(int(homes.max(initial=0)) + 1, count, dtype=np.int32)
        np.minimum.at(first, homes[inside], labels[inside])
        labels[stray] = taken(first, homes[stray])
        return labels

    def _unpacked(self, content: Any, unpacker: Unpacker, count: int) -> tuple[Array, int]:
        """Read a division, and how far the graph was contracted for the first one."""
        labels, fewest = unpacker.array(content["labels"], "i"), content["fewest"]
        if labels.dtype != np.int32 or len(labels) != len(self._graph) or type(fewest) is not int:
            raise ValueError("a division of another graph")
        if labels.min() < 0 or labels.max() >= count or not np.bincount(labels, minlength=count).all():
            raise ValueError("other groups")
        return labels.copy(), fewest  # to compiled loops what cannot be written to is of another type

    def _count_step(self, to_end_of: int = 1) -> None:
        """Tell progress of a step, or that the steps of a division are done."""
        self._done += to_end_of - self._done % to_end_of
        if self._progress is not None:
            self._progress("dividing", self._done, self._planned)

    def _groups(self, inside: Array, count: int) -> Array:
        """Divide the graph of some nodes, none of them strays, into groups in any order."""
        if len(inside) <= count:
            return np.arange(len(inside), dtype=np.int32)
        if count == int(self._labels.max()) + 1:
            return self._labels[inside]
        small = min(max(FEWEST_NODES, NODES_EACH * count), MOST_NODES)
        if small < LEAST_EACH * count:
            small = count
        homes = self._labels[inside]
        scales = self._scales_of(inside, homes, small)
        sizes, most = [len(layer) for layer in scales.layers], max(MAX_NODES, MAX_NODES_EACH * count)
        begin = next((at for at, size in enumerate(sizes) if size <= most), len(sizes) - 1)
        below, scales = scales.cut(begin)
        home = below.carried(homes)
        labels, above_next = _first_groups(scales, home, self._edges, count)
        for cycle in range(CYCLES + CYCLES_BY_MOVES):
            if self._deadline.over:
                break
            self._count_step()
            if cycle < CYCLES:
                way = scales.within(labels)
            else:
                pull = above_next * next_merge(scales.layers[0], labels, home)
                way = scales_by_moves(scales.layers[0], labels, pull, 2 * count)
            labels = moved_through(way, way.carried(labels), way.carried(home), above_next)
        return moved_through(below, labels, home, above_next) if below.steps else labels

    def _scales_of(self, inside: Array, homes: Array, small: int) -> Scales:
        """Contract the graph of some nodes within their homes, until `small` nodes are left."""
        whole, scales = self._layer, None
        if self._contraction is None:
            scales = self._contracted(small)
            self._contraction = scales.steps
        if scales is None or len(inside) < len(whole) or homes.any():
            finest = Layer(subgraph(whole.graph, inside), whole.keys[inside])
            steps = nested_steps(self._contraction, inside, homes)
            scales = Scales.of(finest).extended(*(step for step in steps if step.max() >= small))
        return scales.joined(contraction(scales.layers[-1], small, scales.carried(homes)))

    def _contracted(self, small: int) -> Scales:
        """Contract the whole graph, to as many nodes as the first division has asked for."""
        whole, alone = self._layer, np.zeros(len(self._graph), dtype=np.int32)
        self._fewest = self._fewest or small + int(self._graph.components.max()) + 1

        def pack(scales: Scales, packer: Packer) -> list[str]:
            return [packer.array(f"step_{number}", step) for number, step in enumerate(scales.steps)]

        def unpack(content: Any, unpacker: Unpacker) -> Scales:
            scales = Scales.of(whole)
            for name in content:
                step, nodes = unpacker.array(name, "i"), len(scales.layers[-1])
                if step.dtype != np.int32 or len(step) != nodes or step.min() < 0 or step.max() >= nodes:
                    raise ValueError("a contraction of another graph")
                scales = scales.extended(step.copy())
            return scales

        return self._checkpoint.step(
            "contraction", lambda: contraction(whole, self._fewest, alone, self._progress), pack, unpack
        )


def _first_groups(scales: Scales, homes: Array, edges: float, count: int) -> tuple[Array, float]:
    """Group the coarsest nodes, after the finest have moved between them.

    Returns the groups of the finest nodes, and how many times that of the next merge the pull is to be.
    """
    small = np.arange(len(scales.layers[-1]), dtype=np.int32)
    if len(small) <= count:
        return scales.spread(small), 1.0
    if scales.steps:
        small = moved_through(scales, small, scales.carried(homes))
    layer = scales.layers[0].above(small)
    groups, above_next = _drawn(layer, carried(homes, small), edges, count)
    return taken(groups, small), above_next


def _drawn(small: Layer, homes: Array, edges: float, count: int) -> tuple[Array, float]:
    """Group a small graph by the median of many draws."""
    order = small.order[np.argsort(taken(homes, small.order), kind="stable")]
    places = np.empty(len(small), dtype=np.intp)
    put(places, order, np.arange(len(small)))
    found = small.graph.adjacency.tocoo()
    weights: Array = np.zeros((len(small), len(small)), dtype=weight_type(found.data))
    weights[taken(places, found.row), taken(places, found.col)] = found.data
    groups, above_next = median_grouping(weights, taken(homes, order), edges, count)
    return groups[places], above_next


def _heaviest_first(labels: Array, homes: Array, masses: Array, keys: Array) -> Array:
    """Renumber groups: by their homes, then from the heaviest to the lightest; keys decide between equals."""
    groups = int(labels.max()) + 1
    heavy, home = ranks(np.bincount(labels, masses)), carried(homes, labels)
    numbers = np.empty(groups, dtype=np.int32)
    order = np.lexsort((keys_of_groups(keys, labels, groups), -heavy, home))
    numbers[order] = np.arange(groups, dtype=np.int32)
    renumbered: Array = taken(numbers, labels)
    return renumbered
