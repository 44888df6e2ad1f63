"""Moves of nodes between groups, from coarse scales of a graph to fine ones.

A clump of nodes that lies in the wrong group cannot leave it node by node. As one node of a coarser scale it
can. So groups are improved from the coarsest scale of a contraction to the graph itself.

The nodes of a scale move in batches. All nodes of a batch choose where to go before the first of them moves,
so batches are worked on by any number of threads with the same result. Hashes of the graph around the nodes
decide which of them make a batch, not the order in which they were given.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.engine.scales import Layer, Scales, carried
from graphsoft.engine.ties import keys_of_groups
from graphsoft.kernels import Rows, read_only, rows_of
from graphsoft.kernels.moving import Parts, best_groups, move_nodes
from graphsoft.linalg.indexing import taken
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["moved_through", "next_merge", "scales_by_moves"]

# After so many rounds a scale is left even if nodes still move: some change places for ever.
ROUNDS = 5
# A group lighter than this part of an average one is a fragment, if less than this part of it is inside.
FRAGMENT, INSIDE = 0.1, 0.5
# Scales are found until one has nearly as many nodes as the one below. Nodes that look alike may keep
# changing places, and then merge one by one.
LEAST_MERGED = 0.1


def next_merge(layer: Layer, labels: Array, homes: Array) -> float:
    """Find the largest ``w / (d d)`` between two groups of one home: what the next merge would be worth.

    At this pull no two whole groups gain by merging. It is 0 if no edge leads from group to group.

    Fragments are left out, unless there is nothing else: groups that are light and lead mostly outside. A few
    nodes would be worth more than all other groups, and at such a pull every group falls apart.

    Parameters
    ----------
    layer : Layer
    labels, homes : ndarray of shape (n,)
        The group and the home of every node.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> layer = Layer.of(as_graph(nx.path_graph(4)))
    >>> round(next_merge(layer, np.array([0, 0, 1, 1]), np.zeros(4, dtype=int)), 3)
    0.111
    """
    groups = layer.above(labels).graph
    edges, degrees, home = groups.adjacency.tocoo(), groups.degrees, carried(homes, labels)
    between = (edges.row != edges.col) & (taken(home, edges.row) == taken(home, edges.col))
    row, col = edges.row[between], edges.col[between]
    worth = edges.data[between] / taken(degrees, row) / taken(degrees, col)
    light = degrees < FRAGMENT * degrees.mean()
    whole = ~(light & (groups.adjacency.diagonal() < INSIDE * degrees))
    kept = taken(whole, row) & taken(whole, col)
    return float(worth[kept if kept.any() else slice(None)].max(initial=0.0))


def moved_through(scales: Scales, labels: Array, homes: Array, above_next: float = 1.0) -> Array:
    """Move the nodes of all scales between groups, from the coarsest scale: the new labels of the finest.

    Parameters
    ----------
    scales : Scales
    labels, homes : ndarray
        For the nodes of the coarsest scale their group, none of which gets empty; and its home, which no
        node leaves.
    above_next : float
        How many times as large as what the next merge is worth the pull is.
    """
    pull, of_group = above_next * next_merge(scales.layers[-1], labels, homes), carried(homes, labels)
    for level in reversed(range(len(scales.layers))):
        labels = _moved(scales.layers[level], _parts_of(scales.layers[level], labels, of_group), pull, 1)
        if level:
            labels = taken(labels, scales.steps[level - 1])
    return labels


def scales_by_moves(layer: Layer, labels: Array, pull: float, fewest: int) -> Scales:
    """Find coarser scales inside groups: each node begins alone, then each group of these, and so on.

    It ends when hardly any nodes merge, or fewer than `fewest` would be left.
    """
    scales = Scales.of(layer)
    while len(scales.layers[-1]) > fewest:
        layer = scales.layers[-1]
        parts = _parts_of(layer, np.arange(len(layer)), labels)
        found, step = np.unique(_moved(layer, parts, pull, 0), return_inverse=True)
        if len(found) > (1.0 - LEAST_MERGED) * len(layer) or len(found) < fewest:
            break
        scales = scales.extended(step.astype(np.int32))
        labels = carried(labels, step)
    return scales


def _parts_of(layer: Layer, labels: Array, homes: Array) -> Parts:
    """Sum up groups of nodes; `homes` has a number for each group."""
    masses = np.bincount(labels, layer.graph.degrees, minlength=len(homes))
    sizes = np.bincount(labels, minlength=len(homes))
    keys = read_only(keys_of_groups(layer.keys, labels, len(homes)))
    return Parts(labels.astype(np.int32), read_only(homes.astype(np.int32)), keys, masses, sizes)


def _moved(layer: Layer, parts: Parts, pull: float, least: int) -> Array:
    """Move nodes to the groups that they gain most by, and leave `least` in each group; `parts` changes."""
    rows, degrees = rows_of(layer.graph.adjacency), read_only(layer.graph.degrees)
    restless = np.ones(len(layer), dtype=np.bool_)
    for _ in range(ROUNDS):
        waiting, restless, moves = restless, np.zeros(len(layer), dtype=np.bool_), 0
        for batch in layer.batches:
            nodes = batch[taken(waiting, batch)]
            best = _best_groups(rows, degrees, parts, pull, nodes)
            moving = np.flatnonzero(best != taken(parts.labels, nodes))
            moving = moving[np.argsort(taken(layer.keys, nodes[moving]), kind="stable")]
            moves += move_nodes(rows, degrees, parts, nodes[moving], best[moving], least, restless)
        if not moves:
            break
    return parts.labels


def _best_groups(rows: Rows, degrees: Array, parts: Parts, pull: float, nodes: Array) -> Array:
    """Find for some nodes the group that each gains most by."""
    best = np.empty(len(nodes), dtype=np.int32)
    loads = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(taken(rows.ptr[1:] - rows.ptr[:-1], nodes), out=loads[1:])

    def piece(start: int, stop: int) -> None:
        best_groups(rows, degrees, parts, pull, nodes, start, stop, best)

    for _ in map_pieces(piece, pieces_by_load(loads, LOAD)):
        pass
    return best
