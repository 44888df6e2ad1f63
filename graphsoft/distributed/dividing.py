"""The central graph divided into the clusters of all levels, in one process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Where
from graphsoft.engine.dividing import Division
from graphsoft.engine.grouping import Limits, grouped_levels
from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.linalg.memberships import one_cluster_each

__all__ = ["divide", "most_entries"]

# Bytes that a process takes for each entry of the central graph and for each node, and without any.
OF_ENTRY, OF_NODE, OF_PROCESS = 30, 400, 200e6


def most_entries(plan: Plan) -> int:
    return int(min(2**31 - 1, max(1, (0.8 * plan.max_memory - OF_PROCESS) / OF_ENTRY)))


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
    run.stage("divided", divide_levels, [0], levels=sizes, limits=limits)
    with run.where("divided", 0).open("divided", 0) as file:
        numbers = [file.array(f"groups-{level}") for level in range(len(sizes) - 1)]
    return [one_cluster_each(each, count) for each, count in zip(numbers, sizes[1:], strict=True)]


def divide_levels(where: Where, levels: Sequence[int], limits: Limits) -> Mapping[str, Any]:
    """Divide the central graph from the top level down."""
    with where.open("central", 0) as file:
        adjacency = file.rows("weights")
    if levels[0] > adjacency.shape[0]:
        problem = f"asks for {levels[0]} clusters, and the small graph has {adjacency.shape[0]} nodes"
        raise InputError("levels", problem, "ask for fewer clusters")
    graph = Graph(adjacency, range(adjacency.shape[0]))
    del adjacency
    division, labels = Division(graph, len(levels)), list[Array]()
    for size in reversed(levels):
        labels.insert(0, division.into(size))
    del division  # it holds several numbers for each node
    groups = grouped_levels(graph, labels, levels, limits)
    arrays = {f"groups-{level}": each.indices.astype(np.int32) for level, each in enumerate(groups)}
    where.write({"labels": labels[0].astype(np.int32), **arrays})
    return {"nodes": len(graph), "entries": graph.adjacency.nnz}
