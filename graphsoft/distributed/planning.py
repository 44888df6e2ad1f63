"""How a run is cut: into how many partitions, and how many rows are read together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.available import available_memory
from graphsoft.distributed.cells import check_metric
from graphsoft.distributed.contracting import bytes_needed as contracting_bytes
from graphsoft.distributed.dealing import bytes_needed as graph_bytes
from graphsoft.distributed.dividing import nodes_wanted
from graphsoft.distributed.edge_files import PartitionedGraph
from graphsoft.distributed.joining import MOST_NUMBERED, MOST_PARTITIONS
from graphsoft.distributed.plan import PROCESS, UNEVEN, Plan, earlier
from graphsoft.distributed.point_memory import bytes_needed as points_bytes
from graphsoft.distributed.point_memory import list_length
from graphsoft.distributed.sources import Source, chosen_rows
from graphsoft.errors import InputError
from graphsoft.fitting.memory import memory_text
from graphsoft.fitting.settings import Settings
from graphsoft.input.checks import byte_count
from graphsoft.methods.saving import pack_method
from graphsoft.neighbors.points import NORMS

__all__ = [
    "LENDS",
    "chunk_rows_of",
    "memory_as_before",
    "memory_of",
    "partitions_of",
    "partitions_of_points",
    "plan_of",
    "row_bytes_of",
    "sweeps_bytes",
]

# The part of the memory that tasks are planned to use: the rest is for what allocators keep, and for what a
# process reads and writes beside its tasks.
USED = 0.75
# Partitions are not larger than this, so that there is work for several processes; but there are no more of
# them than enough for many, because each has to do with others, and the client with all.
MOST_ROWS, ENOUGH = 250_000, 1000
# Sparse rows whose length is looked at: so many together in so many places, for neighbors may be alike.
LOOKED_AT, PLACES = 1 << 6, 1 << 6
# Rows that are read together: at most so many, and at least so many however long they are.
MOST_AT_ONCE, LEAST_AT_ONCE = 1 << 18, 1 << 8
# The part of the memory that rows may take that are read together; they are copied several times.
READ = 1 / 12
# Edges of a node for each of its neighbors: it may be in the list of a node that is not in its own.
UNION = 1.7
# So many further cells see each point, as long as it is not known how many.
LENDS = 2
# Stands for the number of lends until it is known.
UNKNOWN = -1
MB = 10**6
# Of the memory that there is, a process that is not told otherwise takes this part.
OF_AVAILABLE = 0.8


def memory_of(given: Any, client: Any) -> int:
    """Tell how many bytes a process may take.

    Parameters
    ----------
    given : int, str or None
        A number of bytes, or a text such as ``"2GB"``. By default it is the limit of the smallest worker, or
        80 % of what is available here if there are none.
    client : object or None

    Examples
    --------
    >>> memory_of("2GB", None), memory_of("512 MiB", None), memory_of(10**9, None)
    (2000000000, 536870912, 1000000000)
    >>> memory_of("much", None)
    Traceback (most recent call last):
    graphsoft.errors.InputError: max_memory: got 'much'. Remedy: use bytes, or a text such as '2GB'.
    """
    workers = []
    if hasattr(client, "scheduler_info"):
        workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
    limits = [int(worker["memory_limit"]) for worker in workers if worker["memory_limit"]]
    if given is not None:
        size = _checked(byte_count("max_memory", given))
        if limits and size > min(limits):
            problem = f"got {memory_text(size)}, and a worker may take {memory_text(min(limits))}"
            raise InputError("max_memory", problem, "leave it out, or start workers that may take more")
        return size
    if limits:
        return _checked(min(limits))
    if hasattr(client, "scheduler_info") and not workers:
        problem = "no worker is there yet that could tell what it may take"
        raise InputError("max_memory", problem, "call client.wait_for_workers(1) first, or say how much")
    return _checked(int(min(OF_AVAILABLE * available_memory(), 2**62)) // max(1, len(workers)))


def memory_as_before(before: Mapping[str, Any], max_memory: Any, client: Any) -> int:
    """Tell how many bytes a process may take, or took in an earlier call: more than before is no harm."""
    memory = int(before.get("max_memory", 0))
    if max_memory is None and memory:
        return memory
    asked = memory_of(max_memory, client)
    return memory if 0 < memory < asked else asked


def _checked(size: int) -> int:
    least = ceil(1.1 * PROCESS / USED)
    if size < least:
        allowed = memory_text(size) if size >= MB else f"{size} bytes"
        problem = f"a process may take {allowed}, and Python itself takes {memory_text(PROCESS)}"
        raise InputError("max_memory", problem, f"allow at least {-(-least // MB)} MB")
    return size


def chunk_rows_of(row_bytes: int, max_memory: int) -> int:
    """Tell how many rows are read together; this depends on their length and on the memory alone.

    Examples
    --------
    >>> chunk_rows_of(8 * 16, 2_000_000_000), chunk_rows_of(8 * 10_000, 1_000_000_000)
    (262144, 552)
    """
    fits = int(READ * (USED * max_memory - PROCESS)) // max(1, row_bytes)
    return max(LEAST_AT_ONCE, min(MOST_AT_ONCE, fits))


def partitions_of(
    rows: int, given: int | None, max_memory: int, needed: Callable[[int], Mapping[str, float]]
) -> int:
    """Choose the number of partitions, or refuse a number with which one would be too large.

    Parameters
    ----------
    rows : int
    given : int or None
        The number that the caller wants.
    max_memory : int
    needed : callable
        The bytes that the largest process of each stage needs with so many partitions.

    Examples
    --------
    >>> partitions_of(1_000_000, None, 2_000_000_000, lambda count: {"sort-edges": 1e9 / count})
    4
    >>> partitions_of(1_000_000, None, 1_000_000_000, lambda count: {"sort-edges": 5e9 / count})
    7
    >>> partitions_of(10**9, None, 16_000_000_000, lambda count: {"sort-edges": 5e12 / count})
    1000
    >>> partitions_of(1_000_000, 2, 1_000_000_000, lambda count: {"sort-edges": 5e9 / count})
    Traceback (most recent call last):
    graphsoft.errors.InputError: partitions: got 2, and the largest may need 2.5 GB in the stage \
'sort-edges', where a process may take 750 MB. Remedy: use at least 7, or allow more with max_memory.
    """
    most = min(rows, MOST_PARTITIONS)
    if given is not None and given > most:
        raise InputError("partitions", f"got {given} for {rows} rows", f"use at most {most}")
    room = USED * max_memory

    def peak(count: int) -> tuple[float, str]:
        return max((size, stage) for stage, size in needed(count).items())

    # what a stage needs may grow again with more
    tried = [1 << power for power in range(most.bit_length())]
    enough = next((count for count in tried if peak(count)[0] <= room), None)
    if enough is None:
        size, stage = min(peak(count) for count in tried)
        problem = f"{_needs(size, stage)} whatever the partitions are, where {_has(room)}"
        raise InputError("max_memory", problem, "allow more")
    low, least = enough // 2, enough
    while least - low > 1:
        middle = (low + least) // 2
        low, least = (low, middle) if peak(middle)[0] <= room else (middle, least)
    if given is None:
        return max(least, min(ENOUGH, ceil(rows / MOST_ROWS)))
    size, stage = peak(given)
    if size > room:
        problem = f"got {given}, and the largest {_needs(size, stage)}, where {_has(room)}"
        raise InputError("partitions", problem, f"use at least {least}, or allow more with max_memory")
    return given


def _needs(size: float, stage: str) -> str:
    return f"may need {memory_text(size)} in the stage {stage!r}"


def _has(room: float) -> str:
    return f"a process may take {memory_text(room)}"


def sweeps_bytes(nodes: int, neighbors: float, halo: float = 1.5, held: float = 14.0) -> int:
    """Count what a sweep over a partition needs.

    Parameters
    ----------
    nodes : int
    neighbors : float
        Edges of a node.
    halo : float
        Nodes of the halo for each own node.
    held : float
        Clusters that a node holds, most after the first wide sweep.

    Examples
    --------
    >>> sweeps_bytes(100_000, 16)
    183400000
    """
    edges = neighbors * (4 + 4) + 4 + 8
    entry = 4 + 8
    # rows of the halo are read and joined; a step makes new rows, which are cut by partitions before writing
    memberships = 2 * (1 + halo) * held * entry + (3 + halo) * held * entry
    return int(nodes * (1.5 * edges + memberships + 8 * (2 + halo)))


def plan_of(
    data: Source | PartitionedGraph,
    settings: Settings,
    directory: Path,
    client: Any = None,
    max_memory: int | str | None = None,
    partitions: int | None = None,
    lends: int = LENDS,
) -> Plan:
    """Make the plan of a run; what was left open is as it was in an earlier call for the same directory.

    How many partitions see each point is not known yet, `lends` is a guess.
    """
    if data.n > MOST_NUMBERED:
        raise InputError("X", f"has {data.n} rows", f"use a sample of at most {MOST_NUMBERED}")
    before = earlier(directory) or {}
    memory = memory_as_before(before, max_memory, client)
    if partitions is None:
        partitions = before.get("partitions")
    plan = Plan(
        kind="graph", rows=data.n, features=0, sparse=False, partitions=1, chunk_rows=MOST_AT_ONCE, lends=0,
        n_neighbors=settings.n_neighbors, metric=settings.metric, weights=settings.weights,
        levels=settings.levels, max_memory=memory, coarse_nodes=0, identity=data.identity(),
        asked={
            "method": pack_method(settings.methods[0]),
            "min_children": settings.min_children, "max_children": settings.max_children,
        },
    )  # fmt: skip
    if isinstance(data, PartitionedGraph):
        return _with_enough(partial(_of_graph, plan, data, partitions), memory)
    plan = replace(plan, kind="points", features=data.d, sparse=data.sparse, lends=UNKNOWN)
    check_metric(plan.metric, plan.sparse, partitions or 1)
    least = lends if partitions is None else 1  # a number that is wanted is not refused for a guess
    return _with_enough(partial(_of_points, plan, row_bytes_of(data), least, partitions), memory)


def partitions_of_points(plan: Plan, data: Source, lends: int, given: int | None) -> int:
    """Choose the number of partitions for points that are seen by the partitions of so many further cells."""
    planned = partial(_of_points, plan, row_bytes_of(data), lends, given)
    return _with_enough(planned, plan.max_memory).partitions


def _with_enough(planned: Callable[[int], Plan], memory: int) -> Plan:
    """Make a plan for so much memory, or say how much is enough where that is too little.

    What is needed rises with what is allowed, because more rows are read together then.
    """

    def fits(size: int) -> bool:
        try:
            planned(size * MB)
        except InputError:
            return False
        return True

    try:
        return planned(memory)
    except InputError as error:
        if error.argument != "max_memory":
            raise
        low = memory // MB
        enough = next((low << power for power in range(1, 40) if fits(low << power)), None)
        if enough is None:
            raise
        while enough - low > 1:
            middle = (low + enough) // 2
            low, enough = (low, middle) if fits(middle) else (middle, enough)
        raise InputError("max_memory", error.problem, f"allow at least {enough} MB") from None


def _of_graph(plan: Plan, graph: PartitionedGraph, given: int | None, memory: int) -> Plan:
    """Choose what depends on memory, for a graph."""
    plan = replace(plan, max_memory=memory, coarse_nodes=nodes_wanted(plan.levels, memory))
    listed = 2 * sum(file.edges for file in graph.files) / graph.n

    def needed(count: int) -> dict[str, float]:
        cut = replace(plan, partitions=count)
        return _of_largest({**graph_bytes(cut, graph), **_of_levels(cut, listed)}, count)

    return replace(plan, partitions=partitions_of(plan.rows, given, memory, needed))


def _of_points(plan: Plan, row_bytes: int, lends: int, given: int | None, memory: int) -> Plan:
    """Choose what depends on memory, for points."""
    plan = replace(
        plan, max_memory=memory, coarse_nodes=nodes_wanted(plan.levels, memory),
        chunk_rows=chunk_rows_of(row_bytes, memory),
    )  # fmt: skip
    if given is None and plan.metric not in NORMS:  # cells say nothing of neighbors then
        given = 1

    def needed(count: int) -> dict[str, float]:
        cut = replace(plan, partitions=count, lends=lends if count > 1 else 0)
        of_levels = _of_levels(cut, UNION * list_length(cut))
        return points_bytes(cut, row_bytes) | _of_largest(of_levels, count)

    return replace(plan, partitions=partitions_of(plan.rows, given, memory, needed))


def _of_levels(plan: Plan, neighbors: float) -> dict[str, float]:
    """Count what partitions of equal size need from the graph on."""
    nodes = ceil(plan.rows / plan.partitions)
    return contracting_bytes(plan, neighbors) | {"sweep": sweeps_bytes(nodes, neighbors)}


def _of_largest(needed: Mapping[str, float], partitions: int) -> dict[str, float]:
    """Count what the process of the largest partition needs, from what an average one does."""
    uneven = UNEVEN if partitions > 1 else 1.0
    return {stage: PROCESS + uneven * size for stage, size in needed.items()}


def row_bytes_of(source: Source) -> int:
    """Tell how long a row is; of sparse rows some are looked at, all over the data."""
    if not source.sparse:
        return source.dtype.itemsize * source.d
    starts = np.linspace(0, max(0, source.n - LOOKED_AT), PLACES).astype(np.int64)
    rows = np.unique(starts[:, None] + np.arange(LOOKED_AT))
    some = chosen_rows(source, rows[rows < source.n])
    return 12 * ceil(int(some.nnz) / max(1, int(some.shape[0]))) + 4
