"""From the graph in blocks to a small one that fits into one process: the central graph.

1. Nodes merge in their partitions until there is a given number of groups in all; lone nodes join others.
2. Each partition sums what its nodes contribute to the graph of these groups.
3. If this is too large, partitions become fewer, and groups merge in these again.
4. One task puts the central graph together. If its islands have few nodes each, all begins again with more.

If there are no more nodes than wanted, none merge, and the central graph is the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.coarse_rows import (
    Gathered,
    assemble,
    count_islands,
    merge_groups,
    renumbered,
    sum_edges,
    sum_groups,
)
from graphsoft.distributed.dividing import most_entries
from graphsoft.distributed.merging import adopt_nodes, merge_nodes, number_groups, shares_of_goal
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.tasks import Where
from graphsoft.errors import InputError

__all__ = ["contract"]

# So many nodes of the central graph each component has that may get a cluster of its own.
NODES_EACH_ISLAND = 20
# Where the central graph does not fit, it may shrink to so many nodes for each of the finest clusters.
FEWEST_EACH = 10
# Lone nodes that have lone neighbors only wait for these to join a group; not longer than so many rounds.
ADOPTIONS = 8
# Groups of a graph that is too large become fewer by a factor between these in one round.
LEAST_LEFT, MOST_LEFT = 0.25, 0.8


def contract(run: Run, plan: Plan) -> None:
    """Contract the graph to the central one, ``central/0``; ``group/p`` has the node there of every node.

    Parameters
    ----------
    run : Run
        With the stage "graph".
    plan : Plan
    """
    blocks = _Measured.of(run, plan)
    if plan.levels[0] > blocks.nodes.sum():
        problem = f"asks for {plan.levels[0]} clusters of {blocks.nodes.sum()} distinct nodes"
        raise InputError("levels", problem, "ask for fewer clusters")
    bound, goal, used = most_entries(plan), plan.coarse_nodes, []
    while True:
        coarse = _contracted(run, plan, blocks, goal, f"-{len(used) + 1}")
        used.append(coarse)
        wanted = max(goal, 2 * goal if coarse.nodes < plan.levels[0] else 0)
        if coarse.whole or coarse.entries > bound:
            break
        if wanted == goal:
            wanted = max(goal, NODES_EACH_ISLAND * _islands(run, plan, coarse))
        if wanted == goal:
            break
        goal = wanted
    smaller = _shrunk(run, plan, blocks, used[-1], bound)
    maps = [(each.merged, each.offsets) for each in smaller]
    run.stage("group", carry_groups, plan.parts, numbered=used[-1].merged, maps=maps)
    last, dtype = (smaller or used)[-1], "f4" if used[-1].single else "f8"
    known = {"stage": last.rows, "files": len(last.offsets) - 1, "nodes": last.nodes}
    run.stage("central", assemble, [0], **known, dtype=dtype)
    for stage in [name for each in [*used, *smaller] for name in each.stages]:
        run.forget(stage)


@dataclass(frozen=True, eq=False)
class _Measured:
    """How large blocks are."""

    nodes: Array
    masses: Array

    @classmethod
    def of(cls, run: Run, plan: Plan) -> _Measured:
        found = run.stage("measure-blocks", measure_block, plan.parts)
        return cls(*(np.array([each[name] for each in found]) for name in ("nodes", "mass")))


@dataclass(frozen=True)
class _Coarse:
    """A graph of groups.

    Attributes
    ----------
    offsets : tuple of int
        Where the numbers of the groups of each partition begin, and where the last ones end.
    entries : int
        Stored entries, at most.
    of_part : ndarray
        For each partition how many entries above the diagonal are in its rows.
    single : bool
        Whether the weights of the graph are float32.
    merged, rows : str
        The stage that has the group of every node or group before, and the one that has the rows.
    stages : tuple of str
        What is not needed once the central graph is there.
    whole : bool
        Whether each node is a group of its own.
    """

    offsets: tuple[int, ...]
    entries: int
    of_part: Array
    single: bool
    merged: str
    rows: str
    stages: tuple[str, ...]
    whole: bool = False

    @property
    def nodes(self) -> int:
        return self.offsets[-1]


def measure_block(where: Where) -> Mapping[str, Any]:
    """Tell how large a block is."""
    with where.open("graph", where.part) as file:
        degrees = file.array("degrees")
        return {"nodes": len(degrees), "mass": degrees.sum()}


def carry_groups(where: Where, numbered: str, maps: Sequence[tuple[str, Sequence[int]]]) -> None:
    """Tell the node in the central graph of every node, through all rounds in which groups merged."""
    with where.open(numbered, where.part) as file:
        group = file.array("group")
    for merged, offsets in maps:
        group = renumbered(where, merged, offsets)[group]
    where.write({"group": group})


def _offsets(counts: Sequence[int]) -> tuple[int, ...]:
    return tuple(np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).tolist())


def _contracted(run: Run, plan: Plan, blocks: _Measured, goal: int, suffix: str) -> _Coarse:
    """Merge the nodes of all partitions to about `goal` groups, and sum the edges between these."""
    shares, whole = None, bool(goal >= blocks.nodes.sum())
    if not whole:
        shares = tuple(shares_of_goal(goal, blocks.nodes, blocks.masses).tolist())
    merged = f"merge-nodes{suffix}"
    found = run.stage(merged, merge_nodes, plan.parts, shares=shares)
    groups, lone = ([int(each[name]) for each in found] for name in ("groups", "lone"))
    stages = [merged]
    for number in range(ADOPTIONS):
        if not sum(lone):
            break
        name, left = f"adopt-nodes{suffix}-{number + 1}", sum(lone)
        found = run.stage(name, adopt_nodes, plan.parts, merged=merged, before=stages[-1])
        stages.append(name)
        lone = [int(each["lone"]) for each in found]
        if sum(lone) == left:
            break
    offsets = _offsets([one + other for one, other in zip(groups, lone, strict=True)])
    numbered, rows = f"number-groups{suffix}", f"sum-edges{suffix}"
    run.stage(numbered, number_groups, plan.parts, before=stages[-1], groups=groups, offsets=offsets)
    records = run.stage(rows, sum_edges, plan.parts, groups=numbered, offsets=offsets)
    return _coarse(records, offsets, numbered, rows, (*stages, numbered, rows), whole)


def _coarse(
    records: Sequence[Mapping[str, Array]],
    offsets: tuple[int, ...],
    merged: str,
    rows: str,
    stages: tuple[str, ...],
    whole: bool = False,
) -> _Coarse:
    entries = sum(int(each["entries"]) for each in records)
    of_part = np.sum([each["of_part"] for each in records], axis=0)
    single = all(each["single"] for each in records)
    return _Coarse(offsets, 2 * entries, of_part, single, merged, rows, stages, whole)


def _islands(run: Run, plan: Plan, coarse: _Coarse) -> int:
    """Count the components that are heavy enough for a cluster; merging within partitions keeps them apart."""
    name = coarse.rows.replace("sum-edges", "count-islands")
    known = {"stage": coarse.rows, "files": plan.partitions, "nodes": coarse.nodes}
    return int(run.stage(name, count_islands, [0], **known, clusters=plan.levels[0])[0]["islands"])


def _shrunk(run: Run, plan: Plan, blocks: _Measured, coarse: _Coarse, bound: int) -> list[_Coarse]:
    """Let groups merge again, in fewer and fewer partitions, until their graph has no more entries than this."""
    found: list[_Coarse] = []
    masses, fewest = blocks.masses, FEWEST_EACH * plan.levels[0]
    while coarse.entries > bound:
        number = len(found) + 1
        runs, before = _runs(coarse.of_part, bound // 2), coarse.offsets
        if coarse.nodes <= fewest and len(runs) == len(before):
            raise _too_large(plan, coarse, bound)
        left = min(max(bound / coarse.entries, LEAST_LEFT), MOST_LEFT)
        goal = max(fewest, int(left * coarse.nodes))
        gathered = Gathered(coarse.rows, len(before) - 1, before, runs)
        masses = np.add.reduceat(masses, runs[:-1])
        shares = shares_of_goal(goal, np.diff(np.array(before)[list(runs)]), masses)
        parts, merged, rows = range(len(runs) - 1), f"merge-groups-{number}", f"sum-groups-{number}"
        records = run.stage(merged, merge_groups, parts, gathered=gathered, shares=tuple(shares.tolist()))
        offsets = _offsets([int(each["groups"]) for each in records])
        records = run.stage(rows, sum_groups, parts, gathered=gathered, merged=merged, offsets=offsets)
        coarse = _coarse(records, offsets, merged, rows, (merged, rows))
        found.append(coarse)
        if coarse.offsets == before:
            raise _too_large(plan, coarse, bound)
    return found


def _runs(entries: Array, room: int) -> tuple[int, ...]:
    """Cut partitions into runs of consecutive ones, each with so many entries at most, if it has several."""
    begins, total = [0], 0
    for part, some in enumerate(entries.tolist()):
        if part > begins[-1] and total + some > room:
            begins.append(part)
            total = 0
        total += some
    return (*begins, len(entries))


def _too_large(plan: Plan, coarse: _Coarse, bound: int) -> InputError:
    needed = plan.max_memory * coarse.entries / bound / 1e9
    problem = f"{plan.max_memory / 1e9:.3g} GB cannot hold a small graph for {plan.levels[0]} clusters"
    return InputError("max_memory", problem, f"allow {needed:.3g} GB, or ask for fewer clusters")
