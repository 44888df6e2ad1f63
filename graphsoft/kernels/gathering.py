"""Loops that gather the nodes of a graph in blocks: groups that grow, and moves between partitions."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel
from graphsoft.kernels.hashing import mixed

__all__ = ["best_centers", "filled_groups", "move_nodes"]


@kernel
def best_centers(
    rows: Rows, ids: Array, ends: Array, is_center: Array, degrees: Array, best: Array, scores: Array
) -> None:
    """Find for each row the center of largest ``w / d`` among its neighbors; by its place in `ends`.

    It is -1 where there is no center, and -2 where there is no neighbor. A hash decides between equals.
    """
    for i in range(len(ids)):
        chosen, score, tie = np.int64(-2), 0.0, np.uint64(0)
        for edge in range(rows.ptr[i], rows.ptr[i + 1]):
            j = np.int64(rows.columns[edge])
            if ends[j] == ids[i]:
                continue
            chosen = max(chosen, np.int64(-1))
            if not is_center[j]:
                continue
            value = rows.values[edge] / degrees[j]
            if value < score:
                continue
            key = mixed((np.uint64(ids[i]) << np.uint64(32)) ^ np.uint64(ends[j]))
            if value > score or key > tie:
                chosen, score, tie = j, value, key
        best[i], scores[i] = chosen, score


@kernel
def filled_groups(
    units: Array, targets: Array, loads: Array, of_targets: Array, most: int, leaders: Array
) -> None:
    """Fill groups of at most `most`, target by target: the first with the target, others by themselves.

    Units with the same target follow each other. `leaders` gets what each group is called by: the target, or
    the first of its units.
    """
    target, leader, load = np.int64(-1), np.int64(-1), np.int64(0)
    for k in range(len(units)):
        if targets[k] != target:
            target, leader, load = np.int64(targets[k]), np.int64(targets[k]), np.int64(of_targets[k])
        if load + loads[k] > most:
            leader, load = np.int64(units[k]), np.int64(0)
        load += loads[k]
        leaders[k] = leader


@kernel
def move_nodes(rows: Rows, loads: Array, first: int, labels: Array, room: Array) -> int:
    """Move each node to the part that most of its weight leads to, if there is room; returns how many moved.

    The nodes are the places from `first` on of `labels`, which has the parts of all neighbors too. A node
    leaves room behind.
    """
    sums, touched = np.zeros(len(room)), np.empty(len(room), dtype=np.int64)
    moved = 0
    for i in range(len(loads)):
        count = 0
        for edge in range(rows.ptr[i], rows.ptr[i + 1]):
            j = np.int64(rows.columns[edge])
            if j == first + i:
                continue
            part = labels[j]
            if sums[part] == 0.0:
                touched[count] = part
                count += 1
            sums[part] += rows.values[edge]
        own = labels[first + i]
        best, most = np.int64(own), sums[own] * (1.0 + 1e-9)
        for k in range(count):
            part = touched[k]
            if room[part] >= loads[i] and (sums[part] > most or (sums[part] == most and part < best != own)):
                best, most = part, sums[part]
        for k in range(count):
            sums[touched[k]] = 0.0
        if best != own:
            room[best] -= loads[i]
            room[own] += loads[i]
            labels[first + i] = best
            moved += 1
    return moved
