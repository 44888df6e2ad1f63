"""The end of a run: final numbers of clusters, memberships and labels as they stay, sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import matmul
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.files import rows_in_sections
from graphsoft.distributed.pieces import pieces_of
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.summary import LevelSummary
from graphsoft.distributed.summing import summed
from graphsoft.distributed.sweeping import BlocksInFiles, own_rows
from graphsoft.distributed.tasks import Where
from graphsoft.engine.blocks import Seen, added
from graphsoft.fitting.descending import Descended
from graphsoft.fitting.numbering import by_mass, with_columns
from graphsoft.linalg.memberships import entropies, largest_shares, likeliest, rows_to_one

__all__ = ["LASTING", "check_result", "columns_of", "finish", "lasting_files"]

# Stages whose files belong to the result; "points" and "cells" are of points only.
LASTING = ("rows", "points", "graph", "cells", "memberships", "homes")
# Nodes whose steps along edges are in memory at the same time.
AT_ONCE = 1 << 14


def finish(
    run: Run, plan: Plan, blocks: BlocksInFiles, descended: Descended
) -> tuple[list[LevelSummary], sp.csr_array]:
    """Write memberships and labels as they stay.

    Parameters
    ----------
    run : Run
    plan : Plan
    blocks : BlocksInFiles
    descended : Descended
        In the files of the run.

    Returns
    -------
    list of LevelSummary
        Finest first.
    csr_array of shape (m, m)
        The weights of edges from finest cluster to finest cluster.
    """
    links = _numbered(descended)
    steps = _steps(blocks, descended, links[0].number)
    run.stage("number-clusters", write_numbers, [0], here=True, links=links)
    run.stage("memberships", write_memberships, plan.parts, of=descended.finest.held)
    levels, told = len(plan.levels), dict[str, Any](rows=plan.rows, chunk_rows=plan.chunk_rows)
    run.stage("send-home", send_home, plan.parts, levels=levels, **told)
    run.stage("homes", write_homes, plan.chunks, levels=levels, partitions=plan.partitions, **told)
    sizes = summed(run, "send-home", plan.partitions, [f"sizes-{level}" for level in range(levels)])
    run.forget("send-home")
    check_result(run, plan)
    summaries = [
        LevelSummary(link.parents, link.mass, sizes[f"sizes-{level}"], link.graph)
        for level, link in enumerate(links)
    ]
    return summaries, steps


def lasting_files(plan: Plan) -> dict[str, range]:
    """List the files that belong to a result beside its summary: the parts of each stage.

    Examples
    --------
    >>> graph = Plan("graph", 30, 0, False, 2, 10, 0, 10, "euclidean", "connectivity", (2,), 10**9, 100)
    >>> lasting_files(graph)
    {'rows': range(0, 2), 'graph': range(0, 2), 'memberships': range(0, 2), 'homes': range(0, 3)}
    """
    if plan.kind == "predictions":
        return {"memberships": plan.parts}
    found = dict.fromkeys(LASTING, plan.parts) | {"homes": plan.chunks}
    of_points = {"points": plan.parts, "cells": range(1)}
    if plan.kind == "points":
        return found | of_points
    return {stage: parts for stage, parts in found.items() if stage not in of_points}


def check_result(run: Run, plan: Plan) -> None:
    """Read all files of the result; those that are damaged are made again, if the run knows how.

    Raises
    ------
    Unreadable
        For a damaged file of stages that have not begun in this run.
    """
    name = "check-files"
    run.undo(name)  # what was seen before does not count
    run.stage(name, check_files, plan.parts, files=lasting_files(plan), partitions=plan.partitions)


def columns_of(memberships: sp.csr_array, level: int) -> dict[str, Array]:
    """Compute what is kept of every point by itself: its likeliest cluster, and how sure that is.

    Examples
    --------
    >>> for name, values in columns_of(sp.csr_array([[0.25, 0.75], [1.0, 0.0]]), 1).items():
    ...     print(name, values.dtype, values.round(2).tolist())
    labels-1 int32 [1, 0]
    probability-1 float32 [0.75, 1.0]
    entropy-1 float32 [0.5600000023841858, 0.0]
    """
    return {
        f"labels-{level}": likeliest(memberships),
        f"probability-{level}": largest_shares(memberships).astype(np.float32),
        f"entropy-{level}": entropies(memberships).astype(np.float32),
    }


@dataclass(frozen=True, eq=False)
class _Level:
    """A level with its clusters in their final order.

    Attributes
    ----------
    number : ndarray of shape (m,)
        The final number of each cluster.
    mass : ndarray of shape (m,)
    graph : csr_array of shape (m, m)
    parents : csr_array of shape (m, m_above) or None
    """

    number: Array
    mass: Array
    graph: sp.csr_array
    parents: sp.csr_array | None


def _numbered(descended: Descended) -> list[_Level]:
    """Give numbers to the clusters as `graphsoft.fitting.numbering` does, from the top level down."""
    masses = [np.asarray(descended.finest.mass)]
    for parents in descended.parents:
        masses.append(np.asarray(parents.T @ masses[-1]))
    found: list[_Level] = []
    for mass, graph, own in zip(
        reversed(masses), reversed(descended.graphs), [None, *reversed(descended.parents)], strict=True
    ):
        parents = None if own is None else with_columns(own, found[0].number)
        order = by_mass(mass, parents)
        number = np.argsort(order)
        adjacency = with_columns(graph.adjacency[order], number)
        found.insert(0, _Level(number, mass[order], adjacency, None if parents is None else parents[order]))
    return found


def _steps(blocks: BlocksInFiles, descended: Descended, number: Array) -> sp.csr_array:
    """Add up the weights of edges between finest clusters, in the order of the blocks."""
    total = blocks.look(edges_between, added, descended.finest)["weights"]
    order = np.argsort(number)
    return with_columns(((total + total.T) * 0.5).tocsr()[order], number)  # the two halves differ by rounding


def edges_between(seen: Seen) -> dict[str, sp.csr_array]:
    """Compute ``S^T W S`` of the edges of a block, some nodes at a time."""
    count = seen.memberships.shape[1]
    found = sp.csr_array((count, count))
    for start in range(0, len(seen.block), AT_ONCE):
        rows = slice(start, min(start + AT_ONCE, len(seen.block)))
        steps = seen.block.edges[rows] @ seen.memberships
        found = found + seen.memberships[rows].T @ steps
    return {"weights": found.tocsr()}


# Tasks


def write_numbers(where: Where, *, links: Sequence[_Level]) -> None:
    """Write the final numbers of the finest clusters, and the parents of all levels."""
    arrays = {"number": links[0].number}
    for level, link in enumerate(links):
        if link.parents is not None:
            arrays.update(rows_in_sections(f"parents-{level}", link.parents)[0])
    where.write(arrays)


def write_memberships(where: Where, *, of: str) -> None:
    """Write the memberships of the nodes of a partition, with final numbers of clusters."""
    with where.open("number-clusters", 0) as file:
        number = file.array("number")
    memberships = with_columns(rows_to_one(own_rows(where, of)), number)
    where.write(*rows_in_sections("memberships", memberships, pieces_of(memberships.shape[0])))


def send_home(where: Where, *, levels: int, rows: int, chunk_rows: int) -> None:
    """Write for every chunk which of its rows this partition has, where they are, and `columns_of` them.

    Also writes how many rows each cluster has in this partition.
    """
    with where.open("memberships", where.part) as file:
        memberships = file.rows("memberships")
    with where.open("number-clusters", 0) as file:
        parents = [file.rows(f"parents-{level}") for level in range(levels - 1)]
    with where.open("rows", where.part) as file:
        own, node = file.array("rows"), file.array("node")
    home = np.empty((len(own), 2 + levels), dtype=np.int32)
    home[:, 0], home[:, 1] = own % chunk_rows, node
    sure = np.empty((len(own), 2 * levels), dtype=np.float32)
    arrays: dict[str, Array] = {"home": home, "sure": sure}
    for level in range(levels):
        upper = reduce(matmul, parents[:level], memberships)
        columns = columns_of(rows_to_one(upper.tocsr()) if level else upper, level)
        home[:, 2 + level] = columns[f"labels-{level}"][node]
        sure[:, 2 * level] = columns[f"probability-{level}"][node]
        sure[:, 2 * level + 1] = columns[f"entropy-{level}"][node]
        arrays[f"sizes-{level}"] = np.bincount(home[:, 2 + level], minlength=upper.shape[1])
    starts = np.arange(0, rows, chunk_rows)
    where.write(arrays, dict.fromkeys(("home", "sure"), np.append(np.searchsorted(own, starts), len(own))))


def write_homes(where: Where, *, levels: int, rows: int, chunk_rows: int, partitions: int) -> None:
    """Put together what the partitions say of the rows of a chunk."""
    start = where.part * chunk_rows
    found = np.full((1 + 1 + levels, min(chunk_rows, rows - start)), -1, dtype=np.int32)
    sure = np.empty((2 * levels, found.shape[1]), dtype=np.float32)
    sent = 0
    for part in range(partitions):
        with where.open("send-home", part) as file:
            home, sent_sure = (file.section(name, where.part) for name in ("home", "sure"))
        found[0, home[:, 0]] = part
        sure[:, home[:, 0]] = sent_sure.T
        found[1:, home[:, 0]] = home[:, 1:].T
        sent += len(home)
    if sent != found.shape[1] or found.min(initial=0) < 0:
        missing = np.flatnonzero(found[0] < 0)
        row = f"row {start + missing[0]} is in none" if len(missing) else "a row is in several"
        raise RuntimeError(f"{row} of the {partitions} partitions")
    arrays = {"part": found[0], "place": found[1]}
    for level in range(levels):
        arrays[f"labels-{level}"] = found[2 + level]
        arrays[f"probability-{level}"], arrays[f"entropy-{level}"] = sure[2 * level : 2 * level + 2]
    where.write(arrays)


def check_files(where: Where, *, files: Mapping[str, range], partitions: int) -> None:
    """Read what stays of a partition, and its share of the other files."""
    for stage, parts in files.items():
        for part in parts[where.part :: partitions]:
            with where.open(stage, part) as file:
                file.check()
