"""Groups of nodes in each partition: nodes merge along the edges inside it, and lone ones join others.

A node is lone if all its neighbors are in other partitions. It cannot merge in its own, so it joins the group
of its nearest neighbor. Groups left lone would make the small graph a graph of borders.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.block_files import read_edges
from graphsoft.distributed.files import ArrayFile
from graphsoft.distributed.tasks import Where
from graphsoft.engine.scales import Layer, merged_along_edges
from graphsoft.engine.ties import ranks, structure_keys
from graphsoft.graph.graph import Graph

__all__ = [
    "adopt_nodes",
    "from_halo",
    "light_components",
    "merge_nodes",
    "number_groups",
    "shares_of_goal",
]

NO_GROUP = -1
# What the number of its nodes counts for the share of a partition, beside their mass.
NODES_WORTH = 1e-3


def shares_of_goal(goal: int, nodes: Array, masses: Array) -> Array:
    """Share out among partitions how many groups are wanted: by mass, but to none more than it has nodes.

    Examples
    --------
    >>> shares_of_goal(10, np.array([3, 50, 50]), np.array([20.0, 10.0, 10.0])).tolist()
    [3, 4, 4]
    """
    shares = np.zeros(len(nodes), dtype=np.int64)
    # nodes without edges have no mass, but if they were worth nothing there might be too few groups
    worth = masses / (masses.sum() or 1.0) + NODES_WORTH * nodes / max(1, nodes.sum())
    while True:
        free = shares < nodes
        left = goal - int(shares.sum())
        if left <= 0 or not free.any():
            return shares
        part = np.ceil(left * worth[free] / worth[free].sum()).astype(np.int64)
        shares[free] = np.minimum(shares[free] + part, nodes[free])


def merge_nodes(where: Where, share: int | None) -> Mapping[str, Any]:
    """Merge the nodes of a partition along its inner edges, with their degrees in the whole graph.

    `share` is the number of groups, where lone nodes and those without edges count in addition; without it
    every node stays a group of its own.
    """
    with where.open("graph", where.part) as file:
        sent, cut, count = file.array("sent"), file.cut("sent"), file.shape("degrees")[0]
        group, groups, spared = np.arange(count, dtype=np.int32), count, 0
        if share is not None and count:
            group, groups, spared = _merged(file, share)
        degrees = file.array("degrees")[sent]
    part_of = np.full(count, where.part, dtype=np.int32)
    arrays = {"part": part_of, "group": group}
    arrays |= {"sent_part": part_of[sent], "sent_group": group[sent], "sent_degrees": degrees}
    where.write(arrays, {"sent_part": cut, "sent_group": cut, "sent_degrees": cut})
    return {"groups": groups, "lone": np.count_nonzero(group == NO_GROUP), "spared": spared}


def _merged(file: ArrayFile, share: int) -> tuple[Array, int, int]:
    """Group the nodes of a block: the group of each, none for lone ones; and how many groups there are.

    Also returns how many groups were spared by putting nodes without edges together.
    """
    inner, has_own, has_foreign = _inner(read_edges(file))
    degrees, count = file.array("degrees"), len(has_own)
    graph = Graph(inner, range(count))
    fewest = share + light_components(graph, degrees, share)
    group = merged_along_edges(Layer(graph, structure_keys(inner), degrees), fewest)
    lone, bare = ~has_own & has_foreign, np.flatnonzero(degrees == 0)
    together = max(1, -(-len(bare) // max(1, share)))  # they are alike, and there may be many
    group[bare] = group[bare[::together]][np.arange(len(bare)) // together]
    found = np.zeros(count + 1, dtype=bool)
    found[group[~lone]] = True
    numbers = np.cumsum(found, dtype=np.int32) - 1
    group = np.where(lone, NO_GROUP, numbers[group]).astype(np.int32)
    return group, int(numbers[-1]) + 1, len(bare) - len(bare[::together])


def light_components(graph: Graph, degrees: Array, share: int) -> int:
    """Count the components inside a partition that are lighter than its groups will be, if so many are made.

    They cannot merge with others there. If they counted as groups, they would take the place of others.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> graph = as_graph(nx.disjoint_union(nx.complete_graph(9), nx.path_graph(2)))
    >>> light_components(graph, graph.degrees, 2)
    1
    """
    masses = np.bincount(graph.components, degrees)
    return int(np.count_nonzero(masses * max(1, share) < masses.sum()))


def _inner(edges: sp.csr_array) -> tuple[sp.csr_array, Array, Array]:
    """Keep the edges inside a block; and tell which nodes have an edge to another inside, and to the halo."""
    count = edges.shape[0]
    rows = np.repeat(np.arange(count, dtype=np.int32), np.diff(edges.indptr))
    own = edges.indices < count
    has_own, has_foreign = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    has_own[rows[own & (edges.indices != rows)]] = True
    has_foreign[rows[~own]] = True
    ptr = np.zeros_like(edges.indptr)
    np.cumsum(np.bincount(rows[own], minlength=count), out=ptr[1:])
    del rows
    inner = sp.csr_array((edges.data[own], edges.indices[own], ptr), shape=(count, count))
    return inner, has_own, has_foreign


def from_halo(where: Where, stage: str, name: str, parts: Array) -> Array:
    """Collect what the owners of the halo sent, in the order of the halo.

    `parts` has the partitions that the halo is of.
    """
    found: list[Array] = []
    for part in parts.tolist():
        with where.open(stage, part) as file:
            found.append(file.section(name, where.part))
    return np.concatenate(found) if found else np.empty(0, dtype=np.int32)


def adopt_nodes(where: Where, merged: str, before: str) -> Mapping[str, Any]:
    """Let each lone node join the group of its nearest neighbor that has one, by the largest ``w / (d d)``.

    Parameters
    ----------
    where : Where
    merged : str
        The stage in which nodes merged.
    before : str
        The one before this, in which some lone nodes found a group already.
    """
    with where.open(before, where.part) as file:
        part_of, group = file.array("part"), file.array("group")
    with where.open("graph", where.part) as file:
        sent, cut = file.array("sent"), file.cut("sent")
        lone = np.flatnonzero(group == NO_GROUP)
        if len(lone):
            parts = np.unique(file.array("halo_part"))
            edges = read_edges(file)[lone]
    if len(lone):
        there = {name: from_halo(where, before, f"sent_{name}", parts) for name in ("part", "group")}
        best = _nearest(edges, there["group"], from_halo(where, merged, "sent_degrees", parts))
        joins = best >= 0
        part_of[lone[joins]] = there["part"][best[joins]]
        group[lone[joins]] = there["group"][best[joins]]
    where.write(
        {"part": part_of, "group": group, "sent_part": part_of[sent], "sent_group": group[sent]},
        {"sent_part": cut, "sent_group": cut},
    )
    return {"lone": np.count_nonzero(group == NO_GROUP)}


def _nearest(edges: sp.csr_array, group: Array, degrees: Array) -> Array:
    """Find for each row the node of the halo with a group to which ``w / d`` is largest, -1 for none.

    Of equal ones the first in the halo, whose order is fixed.
    """
    rows = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
    place = edges.indices - (edges.shape[1] - len(group))
    kept = np.flatnonzero(place >= 0)
    kept = kept[group[place[kept]] != NO_GROUP]
    rows, place = rows[kept], place[kept]
    score = ranks(edges.data[kept].astype(np.float64) / degrees[place])
    order = np.lexsort((place, -score, rows))
    found, first = np.unique(rows[order], return_index=True)
    best = np.full(edges.shape[0], -1, dtype=np.int64)
    best[found] = place[order[first]]
    return best


def number_groups(where: Where, before: str, groups: int, offsets: Array) -> None:
    """Give the groups of a partition their numbers; a node that is still lone is a group of its own.

    `groups` is how many groups it found, and `offsets` has where the numbers of each partition begin.
    """
    with where.open(before, where.part) as file:
        part_of, group = file.array("part"), file.array("group")
    with where.open("graph", where.part) as file:
        sent, cut = file.array("sent"), file.cut("sent")
    lone = np.flatnonzero(group == NO_GROUP)
    group[lone] = groups + np.arange(len(lone))
    number = offsets[part_of] + group
    where.write({"group": number, "sent": number[sent]}, {"sent": cut})
