"""Loops over a small dense graph: grouping by merging, and by moving single nodes.

Weights are dense (m, m), symmetric; nodes merge and move only where a weight between them is above 0, or
within one home.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import inlined, kernel

__all__ = ["merge_dense", "move_dense"]

# A move must gain more than this part of a node's degree: what is left to rounding moves nobody.
CLOSE = 1e-6


@inlined
def _best_of(weights: Array, masses: Array, alive: Array, i: int, best: Array, scores: Array) -> None:
    """Find the partner of largest ``w_ij / (d_i d_j)`` for node i."""
    chosen, score = -1, 0.0
    for j in alive:
        value = weights[i, j] / masses[j]
        if value > score and j != i:
            chosen, score = j, value
    best[i], scores[i] = chosen, score / masses[i] if chosen >= 0 else 0.0


@inlined
def _lightest(masses: Array, homes: Array, alive: Array) -> tuple[int, int]:
    """Find the lightest group that is not alone in its home, and the lightest other one there."""
    groups = np.zeros(homes.max() + 1, dtype=np.int64)
    for i in alive:
        groups[homes[i]] += 1
    low, high = -1, -1
    for i in alive:
        if groups[homes[i]] > 1 and (low < 0 or masses[i] < masses[low]):
            low = i
    for i in alive:
        if i != low and homes[i] == homes[low] and (high < 0 or masses[i] < masses[high]):
            high = i
    return low, high


@kernel
def merge_dense(  # noqa: PLR0912 - helpers for its parts would be compiled one by one
    weights: Array, masses: Array, homes: Array, count: int, labels: Array
) -> tuple[float, float]:
    """Merge the pair of largest ``w / (d d)``, again and again, until `count` groups are left.

    Where no weight is left to merge along, a light group merges with the lightest other one of its home.
    `weights` and `masses` are changed. `labels` must be 0, 1, 2, ..., and gets the groups. Returns the score
    of the last merge along a weight, and of the one that would be next; 0 where there is none.
    """
    left, last, following = len(masses), 0.0, 0.0
    alive = np.arange(left)
    best, scores, stale = np.full(left, -1), np.zeros(left), np.ones(left, dtype=np.bool_)
    while True:
        low, following = -1, 0.0
        for i in alive[:left]:
            if stale[i]:
                _best_of(weights, masses, alive[:left], i, best, scores)
                stale[i] = False
            if scores[i] > following:
                low, following = i, scores[i]
        if left <= count:
            break
        if low >= 0:
            high, last = best[low], following
        else:
            low, high = _lightest(masses, homes, alive[:left])
        masses[low] += masses[high]
        stale[low] = True
        kept = 0
        for j in alive[:left]:
            if j == high:
                continue
            alive[kept] = j
            kept += 1
            if j == low:
                continue
            weights[low, j] += weights[high, j]
            weights[j, low] = weights[low, j]
            score = weights[j, low] / masses[j] / masses[low]
            if best[j] in (low, high):
                stale[j] = True
            elif score > scores[j]:
                best[j], scores[j] = low, score
        left = kept
        for j in range(len(labels)):
            if labels[j] == high:
                labels[j] = low
    number = np.empty(len(labels), dtype=labels.dtype)
    for group in range(left):
        number[alive[group]] = group
    for j in range(len(labels)):
        labels[j] = number[labels[j]]
    return last, following


@kernel
def move_dense(
    weights: Array, degrees: Array, homes: Array, pull: float, count: int, rounds: int, labels: Array
) -> None:
    """Move single nodes to the groups that they gain most by, in at most so many rounds; none gets empty."""
    nodes = len(degrees)
    masses, sizes, ties = np.zeros(count), np.zeros(count, dtype=np.int64), np.zeros(count)
    of = np.zeros(count, dtype=homes.dtype)
    for i in range(nodes):
        masses[labels[i]] += degrees[i]
        sizes[labels[i]] += 1
        of[labels[i]] = homes[i]
    for _ in range(rounds):
        moved = False
        for i in range(nodes):
            own = labels[i]
            if sizes[own] == 1:
                continue
            for group in range(count):
                ties[group] = 0.0
            for j in range(nodes):
                if j != i:
                    ties[labels[j]] += weights[i, j]
            chosen = own
            bar = ties[own] - pull * degrees[i] * (masses[own] - degrees[i]) + CLOSE * degrees[i]
            for group in range(count):
                gain = ties[group] - pull * degrees[i] * masses[group]
                if group != own and ties[group] > 0.0 and of[group] == homes[i] and gain > bar:
                    chosen, bar = group, gain
            if chosen != own:
                labels[i] = chosen
                masses[own] -= degrees[i]
                masses[chosen] += degrees[i]
                sizes[own] -= 1
                sizes[chosen] += 1
                moved = True
        if not moved:
            break
