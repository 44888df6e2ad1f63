"""From the graph in blocks to a small one that fits into one process: the central graph.

1. Nodes merge in their partitions until there is a given number of groups in all; lone nodes join others.
2. Each partition sums what its nodes contribute to the graph of these groups.
3. If this is too large, partitions become fewer, and groups merge in these again.
4. One task puts the central graph together. If its islands have few nodes each, all begins again with more.

If there are no more nodes than wanted, none merge, and the central graph is the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.coarse_rows import (
    assemble,
    count_islands,
    merge_groups,
    number_merged,
    renumbered,
    sum_edges,
    sum_groups,
)
from graphsoft.distributed.dividing import LEAST_EACH, PART, bytes_to_divide, most_nodes, room_to_divide
from graphsoft.distributed.merging import adopt_nodes, merge_nodes, number_groups, shares_of_goal
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.summing import summed
from graphsoft.distributed.tasks import Record, Where
from graphsoft.errors import InputError

__all__ = ["bytes_needed", "contract"]

# So many nodes of the central graph each component has that may get a cluster of its own.
NODES_EACH_ISLAND = 20
# Lone nodes that have lone neighbors only wait for these to join a group; not longer than so many rounds.
ADOPTIONS = 8
# Groups merge again where they are so many times as many as were wanted, or do not fit.
EXCESS = 2
# In a round they become fewer by a factor between these.
LEAST_LEFT, MOST_LEFT = 0.25, 0.8
# Where more than this part of them is left, there are too few edges to merge along.
MOST_KEPT = 0.95


def contract(run: Run, plan: Plan, records: Sequence[Record]) -> int:
    """Contract the graph to the central one, ``central/0``; ``group/p`` has the node there of every node.

    Returns the number of components of the graph, which merging keeps apart.

    Parameters
    ----------
    run : Run
    plan : Plan
    records : sequence of dict
        Of the stage "graph".
    """
    blocks = _Blocks(*(np.array([each[name] for each in records]) for name in ("nodes", "weight")))
    goal, found = plan.coarse_nodes, list[_Coarse]()
    while True:
        coarse = _contracted(run, plan, blocks, goal, f"-{len(found) + 1}")
        found.append(coarse)
        wanted = goal if coarse.whole or _too_large(plan, coarse) else _wanted(run, plan, coarse, goal)
        if wanted == goal:
            break
        goal = wanted
    smaller = _shrunk(run, plan, blocks, coarse, goal)
    rounds = [(after.numbered, before.nodes) for before, after in pairwise([coarse, *smaller])]
    run.stage("group", carry_groups, plan.parts, of=coarse.numbered, rounds=rounds)
    last = smaller[-1] if smaller else coarse
    known: dict[str, Any] = {"stage": last.rows, "files": len(last.offsets) - 1, "nodes": last.nodes}
    dtype = "f4" if coarse.single else "f8"
    known |= {"dtype": dtype, "edges": coarse.given / 2, "spared": coarse.spared}
    record = run.stage("central", assemble, [0], **known)[0]
    for stage in [name for each in [*found, *smaller] for name in each.stages]:
        run.forget(stage)
    return int(record["components"])


def bytes_needed(plan: Plan, edges: float) -> dict[str, float]:
    """Count what the tasks of a partition need, beside what the process takes anyway.

    What one process needs for the central graph is no matter of partitions, see
    `graphsoft.distributed.dividing.nodes_wanted`.

    Parameters
    ----------
    plan : Plan
    edges : float
        Entries of a node.
    """
    nodes = plan.rows / plan.partitions
    return {"merge-nodes": nodes * (28 * edges + 150), "sum-edges": nodes * (22 * edges + 100)}


@dataclass(frozen=True, eq=False)
class _Blocks:
    """How large blocks are."""

    nodes: Array
    masses: Array


@dataclass(frozen=True, eq=False)
class _Coarse:
    """A graph of groups.

    Attributes
    ----------
    offsets : ndarray
        Where the numbers of the groups of each partition begin, and where the last ones end.
    entries : int
        Stored entries, at most.
    numbered, rows : str
        The stage that has the group of every node or group before, and the one that has the rows.
    stages : tuple of str
        What is not needed once the central graph is there.
    whole : bool
        Whether each node is a group of its own.
    single : bool
        Whether the weights of the graph are float32.
    given : int
        Entries of the graph.
    spared : int
        Components missing here because nodes without edges were put into common groups.
    """

    offsets: Array
    entries: int
    numbered: str
    rows: str
    stages: tuple[str, ...]
    whole: bool = False
    single: bool = False
    given: int = 0
    spared: int = 0

    @property
    def nodes(self) -> int:
        return int(self.offsets[-1])


def carry_groups(where: Where, of: str, rounds: Sequence[tuple[str, int]]) -> None:
    """Tell the node in the central graph of every node, through all rounds in which groups merged.

    `rounds` has the stage that numbered the groups after each, and how many there were before it.
    """
    with where.open(of, where.part) as file:
        group = file.array("group")
    for numbered, count in rounds:
        (group,) = renumbered(where, numbered, count, group)
    where.write({"group": group})


def _offsets(counts: Sequence[int]) -> Array:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))


def _contracted(run: Run, plan: Plan, blocks: _Blocks, goal: int, suffix: str) -> _Coarse:
    """Merge the nodes of all partitions to about `goal` groups, and sum the edges between these."""
    shares: list[int | None] = [None] * plan.partitions
    whole = bool(goal >= blocks.nodes.sum())
    if not whole:
        shares = shares_of_goal(goal, blocks.nodes, blocks.masses).tolist()
    merged = f"merge-nodes{suffix}"
    found = run.stage(merged, merge_nodes, plan.parts, own={"share": shares})
    groups, lone, spared = ([int(each[name]) for each in found] for name in ("groups", "lone", "spared"))
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
    own = {"groups": groups}
    run.stage(numbered, number_groups, plan.parts, own=own, before=stages[-1], offsets=offsets)
    records = run.stage(rows, sum_edges, plan.parts, groups=numbered, offsets=offsets)
    coarse = _coarse(records, offsets, numbered, rows, (*stages, numbered, rows))
    single, given = all(each["single"] for each in records), sum(int(each["given"]) for each in records)
    return replace(coarse, whole=whole, single=single, given=given, spared=sum(spared))


def _coarse(
    records: Sequence[Mapping[str, Array]],
    offsets: Array,
    numbered: str,
    rows: str,
    stages: tuple[str, ...],
) -> _Coarse:
    return _Coarse(offsets, 2 * sum(int(each["entries"]) for each in records), numbered, rows, stages)


def _wanted(run: Run, plan: Plan, coarse: _Coarse, goal: int) -> int:
    """Find how many groups there have to be, with what these ones tell.

    There are some for each component that is heavy enough for a cluster. Merging within partitions keeps
    components apart, so they can be counted here.
    """
    if coarse.nodes < plan.levels[0]:
        return 2 * goal
    name = coarse.rows.replace("sum-edges", "count-islands")
    known: dict[str, Any] = {"stage": coarse.rows, "files": plan.partitions, "nodes": coarse.nodes}
    found = run.stage(name, count_islands, [0], **known, clusters=plan.levels[0])
    islands = int(found[0]["islands"])
    return max(goal, min(NODES_EACH_ISLAND * islands, most_nodes(plan.max_memory)))


def _too_large(plan: Plan, coarse: _Coarse) -> bool:
    """Tell whether a graph of groups does not fit into the process that is to divide it."""
    return bytes_to_divide(coarse.nodes, coarse.entries) > room_to_divide(plan.max_memory)


def _shrunk(run: Run, plan: Plan, blocks: _Blocks, coarse: _Coarse, goal: int) -> list[_Coarse]:
    """Let groups merge again, in fewer and fewer partitions, until there are few and their graph fits."""
    found, masses, across, whole = list[_Coarse](), blocks.masses, False, coarse.whole
    room = max(1.0, room_to_divide(plan.max_memory) - bytes_to_divide(0, 0))
    while (too_large := _too_large(plan, coarse)) or (coarse.nodes > EXCESS * goal and not whole):
        taken = bytes_to_divide(coarse.nodes, coarse.entries) - bytes_to_divide(0, 0)
        left = min(room / taken, 1.0 if whole else goal / coarse.nodes)
        wanted = int(min(max(left, LEAST_LEFT), MOST_LEFT) * coarse.nodes)
        of_part = summed(run, coarse.rows, len(coarse.offsets) - 1, ["of_part"])["of_part"]
        runs = _runs(of_part, room / (bytes_to_divide(0, 2) - bytes_to_divide(0, 0)))
        masses = np.add.reduceat(masses, runs[:-1])
        gathered, before = {"stage": coarse.rows, "offsets": coarse.offsets, "runs": runs}, coarse
        nodes = np.diff(coarse.offsets[runs])
        shares = shares_of_goal(max(wanted, LEAST_EACH * plan.levels[0]), nodes, masses)
        coarse = _merged_again(run, gathered, shares, across, len(found) + 1)
        found.append(coarse)
        if coarse.nodes > MOST_KEPT * before.nodes and len(runs) == len(before.offsets):
            if across and too_large:
                raise _no_room(plan, coarse)
            if across:
                break
            across = True
    return found


def _merged_again(run: Run, gathered: Mapping[str, Any], shares: Array, across: bool, number: int) -> _Coarse:
    """Merge groups of partitions that become one, and sum the edges between what they became."""
    parts = range(len(shares))
    merged, numbered, rows = (f"{verb}-again-{number}" for verb in ("merge", "number", "sum"))
    own = {"share": shares.tolist()}
    records = run.stage(merged, merge_groups, parts, own=own, gathered=gathered, across=across)
    offsets = _offsets([int(each["groups"]) for each in records])
    run.stage(numbered, number_merged, [0], merged=merged, offsets=offsets)
    records = run.stage(rows, sum_groups, parts, gathered=gathered, numbered=numbered, offsets=offsets)
    return _coarse(records, offsets, numbered, rows, (merged, numbered, rows))


def _runs(entries: Array, room: float) -> Array:
    """Cut partitions into runs of consecutive ones, each with so many entries at most, if it has several.

    Examples
    --------
    >>> _runs(np.array([4, 4, 9, 1, 1]), 8)
    array([0, 2, 3, 5])
    """
    begins, total = [0], 0
    for part, some in enumerate(entries.tolist()):
        if part > begins[-1] and total + some > room:
            begins.append(part)
            total = 0
        total += some
    return np.array([*begins, len(entries)])


def _no_room(plan: Plan, coarse: _Coarse) -> InputError:
    needed = bytes_to_divide(coarse.nodes, coarse.entries) / PART / 1e9
    problem = f"{plan.max_memory / 1e9:.3g} GB are too little to find {plan.levels[0]} clusters in this graph"
    return InputError("max_memory", problem, f"allow {needed:.3g} GB, or ask for fewer clusters")
