"""Means of the features of each component of the graph, where these have to be grouped by their features."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.summing import packed, summed
from graphsoft.distributed.tasks import Where
from graphsoft.fitting.islands import central_rows, heavy_components, sums_of_islands
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph

__all__ = ["means_needed"]

# The means of all components may take this part of the memory of a process: while they are added up it may
# have to hold several such arrays.
ROOM = 1 / 16


def means_needed(run: Run, plan: Plan) -> Array | sp.csr_array | None:
    """Compute the means of all components, if there are more of them than clusters on some level.

    None where they are not needed, for graphs, and where the means would take too much memory.
    """
    if plan.kind != "points":
        return None
    record = run.stage("islands", label_islands, [0], levels=plan.levels)[0]
    count = int(record["islands"])
    if not record["needed"] or 8 * count * plan.features > ROOM * plan.max_memory:
        return None
    run.stage("add-islands", sum_features, plan.parts, metric=plan.metric, islands=count)
    found = summed(run, "add-islands", plan.partitions)
    run.forget("add-islands")
    return central_rows(found["sums"], found["counts"])


def label_islands(where: Where, levels: tuple[int, ...]) -> dict[str, Any]:
    """Write down the component of each node of the central graph; tell whether there are too many."""
    with where.open("central", 0) as file:
        adjacency = file.rows("weights")
    graph = Graph(adjacency, range(adjacency.shape[0]))
    where.write({"island": graph.components})
    needed = any(size < heavy_components(graph, size) for size in levels)
    return {"islands": int(graph.components.max(initial=-1)) + 1, "needed": needed}


def sum_features(where: Where, metric: str, islands: int) -> None:
    """Add up the features of the nodes of a partition, for each component."""
    with where.open("islands", 0) as file:
        island = file.array("island")
    with where.open("group", where.part) as file:
        island = island[file.array("group")]
    with where.open("graph", where.part) as file:
        degrees = file.array("degrees")
    with where.open("points", where.part) as file:
        features = Features(file.value("features"), metric)
    sums, counts = sums_of_islands(features, island, degrees, count=islands)
    where.write(packed({"sums": sums, "counts": counts}))
