"""The central graph is divided into the clusters of all levels, in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.island_means import means_needed
from graphsoft.distributed.plan import PROCESS, Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Where
from graphsoft.engine.grouping import Limits, grouped_levels
from graphsoft.engine.ordering import in_clumps
from graphsoft.errors import InputError
from graphsoft.fitting.islands import divided_levels
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import one_cluster_each

__all__ = ["bytes_to_divide", "divide", "divide_levels", "most_nodes", "nodes_wanted", "room_to_divide"]

# A process may take this part of its memory.
PART = 0.8
# Bytes that it takes for each stored entry and each node of a graph while it divides it.
OF_ENTRY, OF_NODE = 110, 600
# Entries that a node of the central graph has, where the data do not say so yet: more than most graphs of
# nearest neighbors have.
USUAL_ENTRIES = 100
# The central graph is to have so many nodes for each of the finest clusters, and no fewer than these. Fewer
# would decide more than sweeps can mend.
NODES_EACH, LEAST_EACH, FEWEST_NODES = 30, 10, 50_000


def bytes_to_divide(nodes: float, entries: float) -> float:
    """Tell how many bytes the process takes that divides a graph."""
    return PROCESS + OF_NODE * nodes + OF_ENTRY * entries


def room_to_divide(max_memory: float) -> float:
    """Tell how many bytes this process may take."""
    return PART * max_memory


def most_nodes(max_memory: float) -> int:
    """Tell how many nodes a graph may have that can be divided, with as many entries as usual.

    Examples
    --------
    >>> most_nodes(1e9), most_nodes(4e9)
    (50000, 256896)
    """
    of_each = bytes_to_divide(1, USUAL_ENTRIES) - PROCESS
    return max(0, int((room_to_divide(max_memory) - PROCESS) / of_each))


def nodes_wanted(levels: Sequence[int], max_memory: float) -> int:
    """Choose how many nodes the central graph is to have; refuse more clusters than can be divided.

    Examples
    --------
    >>> nodes_wanted([200, 10], 1e9), nodes_wanted([4000, 10], 4e9)
    (50000, 120000)
    """
    fits, least = most_nodes(max_memory), LEAST_EACH * levels[0]
    if fits < least:
        needed = bytes_to_divide(least, least * USUAL_ENTRIES) / PART / 1e9
        problem = f"{max_memory / 1e9:.3g} GB are too little to find {levels[0]} clusters"
        raise InputError("max_memory", problem, f"allow {needed:.2g} GB, or ask for fewer clusters")
    return min(fits, max(NODES_EACH * levels[0], FEWEST_NODES))


def divide(run: Run, plan: Plan, levels: Sequence[int], limits: Limits) -> list[sp.csr_array]:
    """Divide the central graph into the clusters of all levels: ``divided/0``.

    Parameters
    ----------
    run : Run
        With the stages "graph" and "central".
    plan : Plan
    levels : sequence of int
        Clusters of each level, finest first.
    limits : Limits

    Returns
    -------
    list of csr_array of shape (m, m_above)
        For every level but the top the group of each cluster, as memberships with one entry a row.
    """
    sizes = tuple(levels)
    known: dict[str, Any] = {"levels": sizes, "limits": limits}
    known |= {"means": means_needed(run, plan), "metric": plan.metric}
    record = run.stage("divided", divide_levels, [0], **known)[0]
    numbers = [record[f"groups-{level}"] for level in range(len(sizes) - 1)]
    return [one_cluster_each(each, count) for each, count in zip(numbers, sizes[1:], strict=True)]


def divide_levels(
    where: Where, levels: Sequence[int], limits: Limits,
    means: Array | sp.csr_array | None = None, metric: str = "",
) -> Mapping[str, Any]:  # fmt: skip
    """Divide the central graph from the top level down; `means` are those of its components, if needed."""
    with where.open("central", 0) as file:
        adjacency, edges = file.rows("weights"), float(file.array("edges"))
    if levels[0] > adjacency.shape[0]:
        problem = f"asks for {levels[0]} clusters, and the small graph has {adjacency.shape[0]} nodes"
        raise InputError("levels", problem, "ask for fewer clusters")
    given = Graph(adjacency, range(adjacency.shape[0]))
    numbered = given.components
    moved = in_clumps(given)  # as one machine does it
    del adjacency, given
    graph, of_islands = moved.graph, None
    if means is not None:
        first = np.unique(graph.components, return_index=True)[1]
        of_islands = partial(Features, means[numbered[moved.nodes[first]]], metric)
    labels = divided_levels(graph, levels, of_islands, edges).labels
    groups = grouped_levels(graph, labels, levels, limits)
    arrays = {f"groups-{level}": each.indices.astype(np.int32) for level, each in enumerate(groups)}
    where.write({"labels": labels[0][moved.places].astype(np.int32), **arrays})
    return {"nodes": len(graph), "entries": graph.adjacency.nnz, **arrays}
