"""Nodes whose numbers say nothing of who is near whom are gathered into partitions with few edges between.

1. Groups grow in rounds, over all blocks: some of the units, drawn by a hash, are centers, and every other
   one joins the center of largest ``w / (d d)`` among its neighbors, as long as there is room. The groups are
   the units of the next round, until these are few enough for one process.
2. There the units are put in the order of a tree of contractions, which is cut into partitions of equal
   load, and move between these while that saves crossing edges.
3. Nodes move between the partitions, block by block, for as long as that helps much.

A group is called by the node that it grew from, so it belongs to the block of that node. The load of a unit
is the number of its nodes and of their entries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.growing import choose_centers, fill_groups, merge_units, sum_units, tell_leaders
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.settling import (
    count_nodes,
    cut_units,
    label_nodes,
    move_nodes_of,
    number_nodes,
    place_nodes,
)
from graphsoft.distributed.summing import BRANCH, summed
from graphsoft.distributed.tasks import Record, senders

__all__ = ["BYTES_EACH", "gathered", "most_entries"]

# As soon as there are so many units, or so many for each partition, one process takes over; if it can hold
# their entries at so many bytes each.
UNITS, UNITS_EACH, BYTES_EACH = 1 << 16, 64, 100
# A group has at most this part of the load of a partition.
GROUP_SHARE = 1 / 16
# No more rounds if more than this part of the units is left by one, and never more than so many.
STUCK, MAX_ROUNDS = 0.99, 40
# A round of moves is worth it if it saves this part of the crossing edges.
MAX_MOVES, WORTH = 6, 0.03


def gathered(run: Run, plan: Plan, starts: Array, blocks: list[Record]) -> Array:
    """Give all nodes new numbers, partition by partition, in the files of "number-nodes".

    Parameters
    ----------
    run : Run
    plan : Plan
    starts : ndarray of shape (P + 1,)
        The first node of each block of the files "sort-edges".
    blocks : list of Record
        Of "sort-edges".

    Returns
    -------
    ndarray of shape (P + 1,)
        The first new number of each partition.
    """
    entries, nodes, bare = (sum(int(each[k]) for each in blocks) for k in ("entries", "nodes", "bare"))
    load = entries + nodes - bare
    rounds = _grown(
        run, plan, starts, entries, nodes - bare, max(1, int(GROUP_SHARE * load / plan.partitions))
    )
    run.stage("cut-groups", cut_units, [0], rounds=rounds, starts=starts, partitions=plan.partitions)
    own = {"before": np.cumsum([0, *(int(each["bare"]) for each in blocks)]).tolist()}
    known: dict[str, Any] = {"starts": starts, "partitions": plan.partitions}
    run.stage("label-nodes", label_nodes, plan.parts, own=own, rounds=rounds, bare=bare, **known)
    for number in range(rounds):
        run.forget(f"tell-groups-{number}")
    if rounds:
        run.forget(f"sum-groups-{rounds}")
    run.forget("cut-groups")
    labels = _settled(run, plan, known)
    branches = range(-(-plan.partitions // BRANCH))
    run.stage("count-nodes", count_nodes, branches, labels=labels, blocks=plan.partitions)
    begins = run.stage("place-nodes", place_nodes, [0], here=True, branches=len(branches))[0]["begins"]
    run.stage("number-nodes", number_nodes, plan.parts, labels=labels)
    for stage in ("count-nodes", "place-nodes", labels):
        run.forget(stage)
    return begins


def most_entries(plan: Plan) -> int:
    """Tell how many entries of units one process can hold, in a third of its memory."""
    return plan.max_memory // (3 * BYTES_EACH)


def _grown(run: Run, plan: Plan, starts: Array, entries: int, units: int, most: int) -> int:
    """Grow groups until they are few; returns the number of rounds."""
    few = max(UNITS, UNITS_EACH * plan.partitions)
    rounds, left = 0, np.inf
    while (units > few or entries > most_entries(plan)) and units < STUCK * left and rounds < MAX_ROUNDS:
        left = units
        known: dict[str, Any] = {"number": rounds, "starts": starts}
        asked = run.stage(f"choose-groups-{rounds}", choose_centers, plan.parts, **known)
        own = {"askers": senders(asked)}
        told = run.stage(f"fill-groups-{rounds}", fill_groups, plan.parts, own=own, most=most, **known)
        run.forget(f"choose-groups-{rounds}")
        own = {"asked": senders(told)}
        run.stage(f"tell-groups-{rounds}", tell_leaders, plan.parts, own=own, **known)
        run.forget(f"fill-groups-{rounds}")
        merged = run.stage(f"merge-groups-{rounds}", merge_units, plan.parts, **known)
        rounds += 1
        own = {"members": senders(merged)}
        made = run.stage(f"sum-groups-{rounds}", sum_units, plan.parts, own=own, number=rounds)
        run.forget(f"merge-groups-{rounds - 1}")
        if rounds > 1:
            run.forget(f"sum-groups-{rounds - 1}")
        units, entries = (sum(int(each[name]) for each in made) for name in ("units", "entries"))
    return rounds


def _settled(run: Run, plan: Plan, known: dict[str, Any]) -> str:
    """Let nodes move between partitions; returns the stage with the best labels."""
    before: str | None = None
    now, least = "label-nodes", np.inf
    for number in range(MAX_MOVES):
        loads = summed(run, now, plan.partitions, ["loads"])["loads"]
        name = f"move-nodes-{number}"
        further = run.stage(name, move_nodes_of, plan.parts, labels=now, loads=loads, **known)
        crossing = float(sum(each["crossing"] for each in further))  # before these moves
        enough = crossing == 0 or crossing >= (1 - WORTH) * least
        if enough and before is not None and crossing > least:
            before, now = now, before
        if before is not None:
            run.forget(before)
        if enough:
            run.forget(name)
            return now
        before, now, least = now, name, crossing
    if before is not None:
        run.forget(before)
    return now
