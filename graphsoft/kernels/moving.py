"""Loops of moving nodes between groups: where each would best be, and the moves themselves.

What a node gains by a group is ``w(i, group) - pull d_i (mass of the group without i)``: the weight of its
edges there, less what chance would give at this pull. `homes` has a number for every group, and nodes move
only between groups of one home.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel

__all__ = ["Parts", "best_groups", "move_nodes"]

# Gains that differ by less than this part of a node's degree are equal: weights may be float32, whose sums
# depend on their order.
CLOSE = 1e-6


class Parts(NamedTuple):
    """The group of each node; and of each group its home, its key, its sum of degrees, and how many nodes."""

    labels: Array
    homes: Array
    keys: Array
    masses: Array
    sizes: Array


@kernel
def best_groups(
    rows: Rows, degrees: Array, parts: Parts, pull: float, nodes: Array, start: int, stop: int, best: Array
) -> None:
    """Find for ``nodes[start:stop]`` the group that each gains most by, among those of its neighbors.

    Of equal ones it is the group of the smallest key. A node that gains nothing stays.
    """
    labels, homes, keys, masses, _ = parts
    ties = np.zeros(len(masses))
    seen = np.empty(len(masses), dtype=np.int32)
    for at in range(start, stop):
        i = nodes[at]
        own, degree = labels[i], degrees[i]
        home, found = homes[own], 0
        for edge in range(rows.ptr[i], rows.ptr[i + 1]):
            j = rows.columns[edge]
            group = labels[j]
            if j == i or homes[group] != home:
                continue
            if ties[group] == 0.0:
                seen[found] = group
                found += 1
            ties[group] += rows.values[edge]
        close = CLOSE * degree
        chosen, bar = own, ties[own] - pull * degree * (masses[own] - degree) + close
        for place in range(found):
            group = seen[place]
            gain = ties[group] - pull * degree * masses[group]
            equal = chosen != own and abs(gain - bar) <= close
            if group != own and (keys[group] < keys[chosen] if equal else gain > bar):
                chosen, bar = group, max(gain, bar)
            ties[group] = 0.0
        best[at] = chosen


@kernel
def move_nodes(
    rows: Rows, degrees: Array, parts: Parts, nodes: Array, best: Array, least: int, restless: Array
) -> int:
    """Move nodes to their best groups, but leave `least` nodes in each.

    Those that wanted to move are marked, and the neighbors of those that did. Returns how many moved.
    """
    labels, _, _, masses, sizes = parts
    moved = 0
    for at in range(len(nodes)):
        i, to = nodes[at], best[at]
        own = labels[i]
        if to == own:
            continue
        restless[i] = True
        if sizes[own] <= least:
            continue
        labels[i] = to
        masses[own] -= degrees[i]
        masses[to] += degrees[i]
        sizes[own] -= 1
        sizes[to] += 1
        for edge in range(rows.ptr[i], rows.ptr[i + 1]):
            restless[rows.columns[edge]] = True
        moved += 1
    return moved
