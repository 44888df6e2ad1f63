"""Loops over a small dense graph: grouping by merging, and by moving single nodes.

Weights are dense (m, m), symmetric, and 0 from home to home. The nodes of a home follow each other: home h
has the nodes ``begins[h]:begins[h + 1]``.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import inlined, kernel

__all__ = ["merge_dense", "move_dense"]

# A move must gain more than this part of a node's degree: what is left to rounding moves nobody.
CLOSE = 1e-6


@inlined
def _best_of(weights: Array, masses: Array, others: Array, i: int, best: Array, scores: Array) -> None:
    """Find the partner of largest ``w_ij / (d_i d_j)`` for node i."""
    chosen, score = -1, 0.0
    for j in others:
        if j != i and weights[i, j] > 0.0 and weights[i, j] / masses[j] > score:
            chosen, score = j, weights[i, j] / masses[j]
    best[i], scores[i] = chosen, score / masses[i] if chosen >= 0 else 0.0


@inlined
def _lightest(masses: Array, begins: Array, ends: Array, alive: Array) -> tuple[int, int, int]:
    """Find the lightest group that is not alone in its home, the lightest other one there, and the home."""
    low, high, home = -1, -1, -1
    for h in range(len(ends)):
        for i in alive[begins[h] : ends[h]]:
            if ends[h] - begins[h] > 1 and (low < 0 or masses[i] < masses[low]):
                low, home = i, h
    for i in alive[begins[home] : ends[home]]:
        if i != low and (high < 0 or masses[i] < masses[high]):
            high = i
    return low, high, home


@inlined
def _write_labels(into: Array, labels: Array) -> None:
    """Give groups numbers, and write that of each node's group; `into` is the node that each merged into."""
    number, found = np.empty_like(labels), 0
    for i in range(len(into)):
        if into[i] == i:
            number[i] = found
            found += 1
    for i in range(len(into)):
        at = i
        while into[at] != at:
            at = into[at]
        labels[i] = number[at]


@kernel
def merge_dense(  # noqa: PLR0912 - with helpers for more of its parts it would be longer
    weights: Array, masses: Array, begins: Array, count: int, labels: Array
) -> tuple[float, float]:
    """Merge the pair of largest ``w / (d d)``, again and again, until `count` groups are left.

    Where no weight is left to merge along, a light group merges with the lightest other one of its home.
    `weights` and `masses` are changed. `labels` gets the groups. Returns the score of the last merge along a
    weight, and of the one that would be next; 0 where there is none.
    """
    left, last, following, nodes = len(masses), 0.0, 0.0, len(masses)
    alive, ends, into = np.arange(nodes), begins[1:].copy(), np.arange(nodes)
    best, scores, stale = np.full(nodes, -1), np.zeros(nodes), np.ones(nodes, dtype=np.bool_)
    while True:
        low, home, following = -1, -1, 0.0
        for h in range(len(ends)):
            for i in alive[begins[h] : ends[h]]:
                if stale[i]:
                    _best_of(weights, masses, alive[begins[h] : ends[h]], i, best, scores)
                    stale[i] = False
                if scores[i] > following:
                    low, home, following = i, h, scores[i]
        if left <= count:
            break
        if low >= 0:
            high, last = best[low], following
        else:
            low, high, home = _lightest(masses, begins, ends, alive)
        masses[low] += masses[high]
        into[high], stale[low] = low, True
        kept = begins[home]
        for j in alive[begins[home] : ends[home]]:
            if j == high:
                continue
            alive[kept] = j
            kept += 1
            if j == low:
                continue
            weights[low, j] += weights[high, j]
            weights[j, low] = weights[low, j]
            weight = weights[j, low]
            if best[j] in (low, high):
                stale[j] = True
            elif weight > 0.0 and weight / masses[j] / masses[low] > scores[j]:
                best[j], scores[j] = low, weight / masses[j] / masses[low]
        ends[home] = kept
        left -= 1
    _write_labels(into, labels)
    return last, following


@kernel
def move_dense(
    weights: Array, degrees: Array, begins: Array, pull: float, count: int, rounds: int, labels: Array
) -> None:
    """Move single nodes to the groups that they gain most by, in at most so many rounds; none gets empty."""
    masses, sizes, ties = np.zeros(count), np.zeros(count, dtype=np.int64), np.zeros(count)
    for i in range(len(degrees)):
        masses[labels[i]] += degrees[i]
        sizes[labels[i]] += 1
    for _ in range(rounds):
        moved = False
        for home in range(len(begins) - 1):
            for i in range(begins[home], begins[home + 1]):
                own = labels[i]
                if sizes[own] == 1:
                    continue
                for j in range(begins[home], begins[home + 1]):
                    ties[labels[j]] = 0.0
                for j in range(begins[home], begins[home + 1]):
                    if j != i:
                        ties[labels[j]] += weights[i, j]
                chosen, cost = own, pull * degrees[i]
                bar = ties[own] - cost * (masses[own] - degrees[i]) + CLOSE * degrees[i]
                for j in range(begins[home], begins[home + 1]):
                    group = labels[j]
                    if group != own and ties[group] > 0.0 and ties[group] - cost * masses[group] > bar:
                        chosen, bar = group, ties[group] - cost * masses[group]
                if chosen != own:
                    labels[i] = chosen
                    masses[own] -= degrees[i]
                    masses[chosen] += degrees[i]
                    sizes[own] -= 1
                    sizes[chosen] += 1
                    moved = True
        if not moved:
            break
