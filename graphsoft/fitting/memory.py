"""How much memory a hierarchy needs, counted before anything is computed.

Counted are the arrays that are alive together at the peak of each stage. Their sizes follow from the number
of points, features and neighbors, but for three things that only the data decide: how many neighbors are
mutual, how torn the points are, and how many edges are left in a contracted graph. For these there are
figures that were measured on clustered points and on networks, see ``examples/benchmarks/needs.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from graphsoft.available import available_memory
from graphsoft.engine.dividing import MAX_NODES_EACH
from graphsoft.errors import NotEnoughMemory, warn
from graphsoft.fitting.settings import Settings
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.input.mapped import is_mapped
from graphsoft.methods.relation import by_likelihood
from graphsoft.neighbors.descent import MAX_REVERSE, SKETCH
from graphsoft.neighbors.nearest import MORE, MORE_BY_PYNNDESCENT, search_within
from graphsoft.parallel import ELEMENTS_PER_BLOCK, thread_count

__all__ = ["UNCERTAINTY", "Extent", "MemoryEstimate", "check_memory", "memory_text", "needed"]

# The estimate is within this part of what is taken, where that is more than some 100 MB.
UNCERTAINTY = 0.3

FLAG, SINGLE, NUMBER = 1, 4, 8  # bytes
# Temporary arrays of one thread that goes over a table, and of each piece of work on several threads.
BLOCK, PIECE = NUMBER * ELEMENTS_PER_BLOCK, SINGLE * ELEMENTS_PER_BLOCK

# What the data decide.
# Entries of the graph for each neighbor listed: 1 if all neighbors are mutual, 2 if none is.
UNION_FLAT, UNION = 1.2, 1.45
# Up to so many features points fill their space. With more, they seldom do.
FLAT = 3
# How many clusters a node holds beside its own is this part of its neighbors, times a power of the size of
# its cluster: the smaller a cluster, the more of its nodes are at a border.
TORN_FLAT, TORN = (0.3, -0.4), (0.7, -0.27)
# But a tenth of the edges of a network leads far away, however large clusters are.
FAR = 0.1
# On the levels above nodes hold more clusters beside their own, by this factor.
ABOVE_FLAT, ABOVE = 1.0, 3.0
# But at most this part of all clusters.
MOST_HELD = 0.7
# Clusters that one is linked with, for each cluster that its nodes hold.
LINKED = 7
# All scales of a contraction above the finest have so many entries, as a part of those of the finest.
SCALES = 0.5
# Pairs of entries in one column, as a multiple of what they would be if all words were as frequent.
WORD_SKEW = 10

# Bytes for each node beside edges and memberships: pointers, places there and back, three kinds of degrees,
# keys, components and groups; and while groups merge their leaders, lists, degrees, keys and best partners.
OF_NODE, OF_DIVISION = 60, 80
# Copies of the finest memberships in a sweep: before it, after it, gains of both kinds, and their pieces.
OF_SWEEP = 7
# With dense support: tables of all nodes and all clusters of the finest level, before and after a sweep, and
# one that is made of them at the beginning and at the end.
DENSE_TABLES = 3
# For each neighbor that pynndescent lists: lists with scores and flags, new and old candidates with
# priorities, the result, and a part of the trees.
OF_PYNNDESCENT = 36

# What else to use, by the stage that needs most.
REMEDIES = {
    "neighbors": "fewer features or neighbors, a numpy.memmap of the features",
    "joining": "fewer neighbors",
    "clustering": "fewer clusters on the finest level",
}


@dataclass(frozen=True)
class Extent:
    """The size of what is to be clustered.

    Attributes
    ----------
    count : int
        Points or nodes.
    features : int or None
        None if the points have none.
    metric : str
    neighbors : int
        How many of each point are joined to it.
    words : int or None
        Stored entries of sparse features.
    entries : int or None
        Stored entries of a given graph, two for each edge.
    in_file : bool
        Whether the features are in a file, and so is what is derived from them.
    own_search : bool
        Whether the caller's own search finds the neighbors, of which nothing is known.
    dense : bool
        Whether every node holds a number for each cluster of the finest level while this is refined.
    """

    count: int
    features: int | None
    metric: str = "euclidean"
    neighbors: int = 10
    words: int | None = None
    entries: int | None = None
    in_file: bool = False
    own_search: bool = False
    dense: bool = False

    @property
    def flat(self) -> bool:
        """Whether the points fill a space of few dimensions."""
        return self.features is not None and self.features <= FLAT and self.words is None

    @property
    def edge_entries(self) -> float:
        """Stored entries of the graph."""
        if self.entries is not None:
            return self.entries
        union = UNION_FLAT if self.flat else UNION
        return min(union * self.count * self.neighbors, self.count * (self.count - 1.0))

    def held(self, levels: Sequence[int]) -> list[float]:
        """Guess how many clusters of each level a node holds, finest first."""
        degree, nodes_each = self.edge_entries / self.count, self.count / levels[0]
        part, power = TORN_FLAT if self.flat else TORN
        beside = part * degree * nodes_each**power
        if self.features is None:
            beside = max(beside, FAR * degree)
        above = beside * (ABOVE_FLAT if self.flat else ABOVE)
        finest = min(beside, degree)
        wanted = [finest] + [above] * (len(levels) - 1)
        return [1.0 + min(each, MOST_HELD * (size - 1)) for each, size in zip(wanted, levels, strict=True)]


@dataclass(frozen=True)
class MemoryEstimate:
    """How many bytes a hierarchy needs beyond what the process holds already; made by `graphsoft.estimate`.

    Attributes
    ----------
    stages : dict
        Bytes at the peak of each stage: ``neighbors`` and ``joining`` if points become a graph, and
        ``clustering``.
    result : int
        Bytes that the result holds.
    """

    stages: dict[str, int]
    result: int

    @property
    def peak(self) -> int:
        """Bytes at the peak."""
        return max(self.stages.values())

    @property
    def stage(self) -> str:
        """The stage of the peak."""
        return max(self.stages, key=lambda stage: self.stages[stage])

    def __str__(self) -> str:
        peak, result = memory_text(self.peak), memory_text(self.result)
        return f"{peak} at the peak, which is in {self.stage}; {result} in the result"


def memory_text(size: float) -> str:
    """Write a number of bytes with two digits.

    Examples
    --------
    >>> memory_text(123_456_789), memory_text(9_870_000_000), memory_text(512)
    ('120 MB', '9.9 GB', '0 MB')
    """
    unit, name = (1e9, "GB") if size >= 0.95e9 else (1e6, "MB")
    amount = size / unit
    return f"{amount:.1f} {name}" if 0.1 < amount < 10 else f"{float(f'{amount:.2g}'):,.0f} {name}"


def needed(extent: Extent, levels: Sequence[int], copied: int = 0) -> MemoryEstimate:
    """Count what a hierarchy of polished levels needs.

    Parameters
    ----------
    extent : Extent
    levels : sequence of int
        Clusters of each level; without levels only the graph is made.
    copied : int
        Bytes of a copy of the features in another type.

    Examples
    --------
    >>> print(needed(Extent(100_000_000, 32), [100, 20, 10]))
    89 GB at the peak, which is in neighbors; 26 GB in the result
    """
    own = copied
    if extent.metric == "correlation" and not extent.in_file:
        own += NUMBER * extent.count * (extent.features or 0)
    work = BLOCK + thread_count() * PIECE
    stages, graph = {}, 0.0
    if extent.entries is None:
        stages = {"neighbors": own + _searching(extent), "joining": own + _joining(extent)}
        graph = _of_graph(extent)
    result = copied + graph + 2 * NUMBER * extent.count
    if levels:
        stages["clustering"] = own + graph + _clustering(extent, levels)
        result += _of_levels(extent, levels)
    return MemoryEstimate({stage: int(size + work) for stage, size in stages.items()}, int(result))


def _index(entries: float) -> int:
    """Return the bytes of an index into so many entries."""
    return 4 if entries <= np.iinfo(np.int32).max else 8


def _searching(extent: Extent) -> float:
    """Count the lists of neighbors, and what the search holds at its peak."""
    count, features, index = extent.count, extent.features or 0, _index(extent.count)
    # factors, the distinct rows, the distinct row of each, and those with a direction
    rows = 4 * NUMBER * count
    lists = (index + NUMBER) * count * extent.neighbors
    if extent.own_search:
        return rows + lists
    words = None
    if extent.words is not None:
        words = WORD_SKEW * extent.words**2 / features + count**2
    search = search_within(count, features, extent.metric, extent.neighbors, words)
    return rows + lists + _of_search(extent, search, 0 if extent.in_file else features)


def _of_search(extent: Extent, search: str, in_memory: int) -> float:
    """Count what one of the searches holds beside the lists of neighbors."""
    count, words = extent.count, extent.words or 0
    table = SINGLE * count * in_memory  # of all features in float32
    if search == "tree":
        # float64 features in two orders, the orders, and the nodes of the tree
        return count * (2 * NUMBER * (extent.features or 0) + 3 * NUMBER)
    if search == "products":
        return table + SINGLE * count
    if search == "words":
        # values times factors, and the matrix column by column
        return (2 * NUMBER + 4) * words + NUMBER * count
    if search == "random trees":
        listed = extent.neighbors + MORE
        seen = SINGLE * count * (SKETCH if in_memory > 2 * SKETCH else in_memory)
        # lists, scores and flags; lists and flags by rank, and as they were before the round
        lists = 3 * SINGLE + SINGLE + 3 * FLAG
        reverse = (SINGLE + FLAG) * MAX_REVERSE
        orders = 3 * SINGLE
        return 2 * table + seen + count * (lists * listed + reverse + orders)
    if search == "pynndescent":
        listed = extent.neighbors + MORE_BY_PYNNDESCENT
        return table + (SINGLE + NUMBER) * words + count * OF_PYNNDESCENT * listed
    return 0.0  # pairs are compared block by block


def _joining(extent: Extent) -> float:
    """Count what making a symmetric graph of the lists needs."""
    count, index = extent.count, _index(extent.edge_entries)
    entry = index + NUMBER
    # lists and their weights, and these as a matrix in both directions
    lists = (entry + NUMBER + 2 * entry) * count * extent.neighbors
    return lists + entry * extent.edge_entries + (3 * NUMBER + 3 * index) * count


def _of_graph(extent: Extent) -> float:
    """Count the graph of the points."""
    index = _index(extent.edge_entries)
    return (index + NUMBER) * extent.edge_entries + index * extent.count


def _clustering(extent: Extent, levels: Sequence[int]) -> float:
    """Count the graph as it is worked on, and the most of: its scales, its sweeps, the links of clusters."""
    count, entries, held = extent.count, extent.edge_entries, extent.held(levels)
    membership = SINGLE + NUMBER
    work = (_index(entries) + SINGLE) * entries
    # with so many clusters, nodes move through three kinds of scales at once
    kinds = 1 if MAX_NODES_EACH * levels[0] < count else 3
    dividing = SCALES * kinds * work + (OF_DIVISION + SINGLE * len(levels)) * count
    finest = membership * count * held[0]
    ends = SINGLE * count * len(levels)
    sweeping = finest * (OF_SWEEP + len(levels)) + 4 * ends
    if extent.dense:
        sweeping += DENSE_TABLES * NUMBER * count * levels[0]
    # pieces, all of them, one half, the other, and the sum
    links = 5 * membership * levels[0] * min(levels[0], LINKED * held[0])
    linking = finest * len(levels) + 2 * membership * count * sum(held) + ends + links
    return work + OF_NODE * count + max(dividing, sweeping, linking)


def _of_levels(extent: Extent, levels: Sequence[int]) -> float:
    """Count the memberships of all levels."""
    held = sum(extent.held(levels))
    return extent.count * ((SINGLE + NUMBER) * held + SINGLE * len(levels))


def check_memory(given: Graph | Features, settings: Settings) -> None:
    """Refuse input that needs more memory than there is, and warn if that is not certain.

    Of a given graph the least is counted, and without polished relation factorization only the graph of the
    points.
    """
    levels = settings.levels if settings.polished else ()
    if isinstance(given, Graph):
        extent, kind = Extent(len(given), 1, entries=given.adjacency.nnz), "nodes"
    else:
        extent, kind = _extent_of(given, settings.n_neighbors), "points"
    method = settings.methods[0]
    extent = replace(extent, dense=by_likelihood(method) and method.support == "dense")
    need, available = needed(extent, levels), available_memory()
    if not need.stages or need.peak <= available:
        return
    problem = (
        f"{extent.count:,} {kind} need about {memory_text(need.peak)} more, for {need.stage}, "
        f"and {memory_text(available)} are available"
    )
    adaptive = "adaptive support, " if extent.dense and need.stage == "clustering" else ""
    remedy = f"{adaptive}{REMEDIES[need.stage]}, a part of the {kind}, or a larger machine"
    if need.peak > (1 + UNCERTAINTY) * available:
        raise NotEnoughMemory("X", problem, f"use {remedy}")
    warn(f"X: {problem}; if that is too little, use {remedy}")


def _extent_of(given: Features, n_neighbors: int) -> Extent:
    count, features = given.values.shape
    return Extent(
        count,
        features,
        given.metric,
        max(1, min(n_neighbors, count - 1)),
        int(given.values.nnz) if sp.issparse(given.values) else None,
        in_file=is_mapped(given.values),
        own_search=given.neighbors is not None,
    )
