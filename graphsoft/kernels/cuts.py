"""Loops over cuts: what clusters cut off, moves that lower it, and the search for the least."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["cut_off", "least_cut", "move_nodes"]


@kernel
def cut_off(
    indptr: Array,
    indices: Array,
    weights: Array,
    ptr: Array,
    clusters: Array,
    shares: Array,
    count: int,
    start: int,
    stop: int,
    result: Array,
) -> None:
    """Write for each share ``p_ir`` of the nodes `start:stop` what it cuts: ``p_ir sum_j w_ij (1 - p_jr)``.

    Sums of what is cut, not differences of sums, so that a light cut is as exact as a heavy one.
    """
    seen = np.zeros(count)
    for i in range(start, stop):
        for at in range(ptr[i], ptr[i + 1]):
            result[at] = 0.0
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            for at in range(ptr[j], ptr[j + 1]):
                seen[clusters[at]] = shares[at]
            for at in range(ptr[i], ptr[i + 1]):
                result[at] += weights[edge] * max(1.0 - seen[clusters[at]], 0.0)
            for at in range(ptr[j], ptr[j + 1]):
                seen[clusters[at]] = 0.0
        for at in range(ptr[i], ptr[i + 1]):
            result[at] *= shares[at]


@kernel
def move_nodes(
    indptr: Array,
    indices: Array,
    weights: Array,
    degrees: Array,
    start: int,
    stop: int,
    min_fall: float,
    labels: Array,
    mass: Array,
    cut: Array,
    members: Array,
) -> int:
    """Move each node of `start:stop` in turn to where the normalized cut is least; returns how many moved.

    A move must lower it by more than `min_fall`; a cluster's last node stays. Updates `labels`, and of
    every cluster what it weighs, what it cuts off, and how many nodes it has.
    """
    count, moved = mass.shape[0], 0
    links = np.zeros(count)
    near = np.empty(count, dtype=np.int64)
    for i in range(start, stop):
        own, found, outside = labels[i], 0, 0.0
        if members[own] == 1 or degrees[i] <= 0.0:
            continue
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            if j != i:
                r = labels[j]
                if links[r] == 0.0:
                    near[found] = r
                    found += 1
                links[r] += weights[edge]
                outside += weights[edge]
        # what own is without the node
        mass_left = max(mass[own] - degrees[i], 0.0)
        cut_left = max(cut[own] - (outside - links[own]) + links[own], 0.0)
        before = cut[own] / mass[own] if mass[own] > 0.0 else 0.0
        lost = (cut_left / mass_left if mass_left > 0.0 else 0.0) - before
        best, least = own, -min_fall
        for at in range(found):
            r = near[at]
            if r != own:
                cut_with = max(cut[r] + (outside - links[r]) - links[r], 0.0)
                without = cut[r] / mass[r] if mass[r] > 0.0 else 0.0
                change = lost + cut_with / (mass[r] + degrees[i]) - without
                if change < least or (change == least and r < best):
                    best, least = r, change
        if best != own:
            mass[own], cut[own] = mass_left, cut_left
            cut[best] = max(cut[best] + (outside - links[best]) - links[best], 0.0)
            mass[best] += degrees[i]
            members[own] -= 1
            members[best] += 1
            labels[i] = best
            moved += 1
        for at in range(found):
            links[near[at]] = 0.0
    return moved


@kernel
def _place(
    weights: Array, degrees: Array, choice: Array, i: int, mass: Array, cut: Array, heaviest: float
) -> float:
    """Add node `i` to its part: writes what the parts weigh and cut with it; returns a bound for their cut.

    `heaviest` is what the nodes after it weigh, all of which a part may still get.
    """
    part, bound = choice[i], 0.0
    for r in range(mass.shape[1]):
        mass[i + 1, r], cut[i + 1, r] = mass[i, r], cut[i, r]
    mass[i + 1, part] += degrees[i]
    for j in range(i):
        if choice[j] != part:
            cut[i + 1, part] += weights[i, j]
            cut[i + 1, choice[j]] += weights[i, j]
    for r in range(mass.shape[1]):
        if cut[i + 1, r] > 0.0:
            bound += cut[i + 1, r] / (mass[i + 1, r] + heaviest)
    return bound


@kernel
def least_cut(weights: Array, degrees: Array, parts: int, labels: Array) -> float:
    """Find the partition into `parts` of least normalized cut, by looking at all that could be it.

    Nodes are placed one after the other, each in a part that has nodes or in the next empty one, so that
    every partition comes once. What the nodes so far cut, over the most that the parts can still come to
    weigh, is a lower bound by which whole branches are left out. Writes `labels`, and returns the cut.
    """
    count = degrees.shape[0]
    mass, cut = np.zeros((count + 1, parts)), np.zeros((count + 1, parts))
    used = np.zeros(count + 1, dtype=np.int64)  # parts that the nodes before have
    choice = np.full(count, -1, dtype=np.int64)
    rest = np.zeros(count + 1)  # what the nodes from here on weigh
    for i in range(count - 1, -1, -1):
        rest[i] = rest[i + 1] + degrees[i]
    least, i = np.inf, 0
    while i >= 0:
        choice[i] += 1
        if choice[i] > used[i] or choice[i] == parts:
            choice[i] = -1
            i -= 1
            continue
        used[i + 1] = max(used[i], choice[i] + 1)
        if parts - used[i + 1] > count - i - 1:
            continue  # too few nodes are left to fill every part
        value = _place(weights, degrees, choice, i, mass, cut, rest[i + 1])
        if value < least and i + 1 < count:
            i += 1
        elif value < least:
            least = value
            for j in range(count):
                labels[j] = choice[j]
    return least
