"""The evidence for each number of communities of a network.

A part of the edges is left out, and the rest is grouped: into many groups first, which merge step by step
until two are left. After every step nodes move between the groups, since a group that was built by merging
alone is wrong at its borders. If a network has k communities, then k groups predict best where the edges left
out lie: fewer groups are too wide, and more of them follow the edges that happened to be kept.

In a graph of nearest neighbors the smallest groups predict best, because every neighborhood is dense. There
the number is found by `graphsoft.engine.counting`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import strays
from graphsoft.engine.counting import (
    CLUSTERS_OF_STRAYS,
    Evidence,
    rand_of_table,
    thinned,
    watched_part,
)
from graphsoft.engine.moving import moved_through, next_merge
from graphsoft.engine.scales import Layer, Scales, contraction
from graphsoft.engine.ties import ranks
from graphsoft.graph.graph import Graph, subgraph
from graphsoft.input.checks import DEFAULT_SEED
from graphsoft.linalg.csr import inverse_or_zero

__all__ = ["evidence_for_communities"]

# Edges are left out of a graph that was contracted to so many nodes.
MAX_NODES = 1 << 14
# With more edges than this the graph is contracted to half as many nodes, and again: every edge is looked at
# some thousand times.
MAX_EDGES = 1 << 17
# Merging begins with a group for every third node, and no more than this.
MAX_GROUPS = 1024
# A step merges this part of the groups, rounded down, but at least one pair: fewer than 64 merge one by one.
MERGED = 1 / 32
# There are so many rounds that this many edges are looked at in all, but within these bounds. Small graphs
# need most, since their figures vary most from round to round.
EDGES = 1 << 13
FEWEST_ROUNDS, MOST_ROUNDS = 3, 12


def evidence_for_communities(
    graph: Graph, random: np.random.Generator | None = None, progress: Progress | None = None
) -> Evidence:
    """Leave out edges several times, and see how many groups of the rest predict them best.

    Examples
    --------
    >>> from graphsoft.graph.reading import as_graph
    >>> from graphsoft.patterns import block_graph
    >>> found = evidence_for_communities(as_graph(block_graph(0, blocks=5, size=20)))
    >>> int(found.sizes[found.held_out.argmax()])
    5
    """
    watched = watched_part(graph, MAX_NODES, progress)
    while watched.upper.nnz > MAX_EDGES:
        watched = watched_part(graph, watched.upper.shape[0] // 2, progress)
    sizes = _sizes(min(MAX_GROUPS, watched.upper.shape[0] // 3))
    if len(sizes) < 2:
        return Evidence.none(watched.distinct)
    random = np.random.default_rng(DEFAULT_SEED) if random is None else random
    edge = 1.0 / (2.0 * watched.counts.sum())
    wanted = min(max(FEWEST_ROUNDS, EDGES // int(watched.counts.sum())), MOST_ROUNDS)
    falls, held_out, rounds = [], [], []
    for done in range(wanted):
        kept, left_out = thinned(watched, random)
        groupings, fall = zip(*_groupings(kept, sizes), strict=True)
        falls.append(fall)
        held_out.append([_held_out(kept, left_out, each, edge) for each in groupings])
        rounds.append(groupings)
        if progress is not None:
            progress("counting communities", done + 1, wanted)
    columns = sizes, np.mean(falls, axis=0), _agreements(rounds, watched.points), np.mean(held_out, axis=0)
    # without a part of its edges a graph may fall into so many strays that fewer nodes are left to group
    reached = sizes <= min(int(groupings[0].max()) + 1 for groupings in rounds)
    return Evidence(watched.distinct, *(column[reached][::-1] for column in columns))


def _sizes(most: int) -> Array:
    """List the numbers of groups that are looked at, falling to 2."""
    sizes = [most] if most > 2 else []
    while sizes and sizes[-1] > 2:
        sizes.append(sizes[-1] - max(1, int(sizes[-1] * MERGED)))
    return np.array(sizes, dtype=np.int64)


def _groupings(graph: Graph, sizes: Array) -> Iterator[tuple[Array, float]]:
    """Group a graph into ever fewer groups.

    Yields for each size the group of every node, -1 for strays, and how far the worth of a merge falls from
    the last one to the next, as a logarithm.
    """
    inside = np.flatnonzero(~strays(graph, CLUSTERS_OF_STRAYS))
    rest = subgraph(graph, inside)
    layer = Layer.of(rest)
    alone, homes = Scales.of(layer), np.zeros(len(layer), dtype=np.int32)
    scales = contraction(layer, int(sizes[0]), homes)
    labels = moved_through(scales, np.arange(len(scales.layers[-1]), dtype=np.int32), scales.carried(homes))
    last = 0.0
    for size in sizes:
        while (groups := int(labels.max()) + 1) > size:
            labels, last = _merged(layer.above(labels), labels, groups - int(size))
        following = next_merge(layer, labels, homes)
        fall = max(0.0, float(np.log(last / following))) if last and following else 0.0
        labels = moved_through(alone, labels, homes, np.exp(fall / 2))
        found = np.full(len(graph), -1, dtype=np.int32)
        found[inside] = labels
        yield found, fall


def _merged(groups: Layer, labels: Array, wanted: int) -> tuple[Array, float]:
    """Merge up to `wanted` pairs of groups, no group twice: those of largest ``w / (d d)``.

    Returns the new labels of the nodes, and what the last of these merges is worth. Where no edges are left
    between groups, the two lightest merge, which is worth nothing.
    """
    edges, inverse = groups.graph.adjacency.tocoo(), inverse_or_zero(groups.graph.degrees)
    between = edges.row < edges.col
    one, two = edges.row[between], edges.col[between]
    worth = edges.data[between] * inverse[one] * inverse[two]
    into, worst, merges = np.arange(len(groups)), 0.0, 0
    free = np.ones(len(groups), dtype=bool)
    for pair in np.lexsort((groups.keys[one] + groups.keys[two], -ranks(worth))):
        if merges == wanted:
            break
        if free[one[pair]] and free[two[pair]]:
            free[one[pair]] = free[two[pair]] = False
            into[two[pair]] = one[pair]
            worst, merges = float(worth[pair]), merges + 1
    if not merges:
        lightest = np.lexsort((groups.keys, ranks(groups.graph.degrees)))[:2]
        into[lightest.max()] = lightest.min()
    return np.unique(into[labels], return_inverse=True)[1].astype(np.int32), worst


def _held_out(kept: Graph, left_out: Graph, labels: Array, edge: float) -> float:
    """Compute the log-likelihood of edges left out, over that of their ends' degrees, per unit of weight.

    Strays are one group. Edges within groups are to be as much more frequent than by chance, and those
    between groups as much rarer, as they are among the edges kept. One edge more lies as chance has it.
    """
    labels = np.where(labels < 0, labels.max() + 1, labels)
    masses = np.bincount(labels, kept.degrees)
    chance = np.array([masses @ masses, masses @ (masses.sum() - masses)])
    if not chance.all():  # no edge is left, or only one group has edges
        return 0.0
    chance /= masses.sum() ** 2
    expected, found = _shares(kept, labels) + edge * chance, _shares(left_out, labels)
    return float(found @ np.log(expected / (1.0 + edge) / chance))


def _shares(graph: Graph, labels: Array) -> Array:
    """Compute the share of the weights within groups, and that between groups."""
    rows, weights = np.repeat(labels, np.diff(graph.adjacency.indptr)), graph.adjacency.data
    inside = rows == labels[graph.adjacency.indices]
    sums = np.array([weights[inside].sum(), weights[~inside].sum()])
    return np.asarray(sums / (sums.sum() or 1.0))


def _agreements(rounds: Sequence[Sequence[Array]], points: Array) -> Array:
    """Compute how well the groups of the rounds agree, for each size: the mean adjusted Rand index."""
    found = []
    for groupings in zip(*rounds, strict=True):
        pairs = [(one, two) for at, one in enumerate(groupings) for two in groupings[:at]]
        found.append(np.mean([_agreement(one, two, points) for one, two in pairs]))
    return np.array(found)


def _agreement(one: Array, two: Array, points: Array) -> float:
    """Compute the adjusted Rand index of the points that are in a group in both."""
    both = (one >= 0) & (two >= 0)
    shape = int(one.max()) + 1, int(two.max()) + 1
    cells = np.ravel_multi_index((one[both], two[both]), shape)
    return rand_of_table(np.bincount(cells, points[both], minlength=shape[0] * shape[1]).reshape(shape))
