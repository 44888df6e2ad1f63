"""Kernel k-means: nodes move one by one to the cluster where the objective falls most."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["cluster_sums", "regroup"]

# A node with all but this share of its cluster's mass stays: what would be left is lost in rounding.
MIN_LEFT = 1e-6
# A move must lower the objective by this.
MIN_GAIN = 1e-9


@kernel
def cluster_sums(
    indptr: Array, indices: Array, data: Array, labels: Array, start: int, stop: int, within: Array
) -> None:
    """Sum for the rows ``start:stop`` the weights that stay in the node's cluster."""
    for i in range(start, stop):
        within[i] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            if labels[indices[at]] == labels[i]:
                within[i] += data[at]


@kernel
def _density(inside: float, size: float) -> float:
    """Divide; isolated nodes make clusters without mass."""
    return inside / size if size > 0.0 else 0.0


@kernel
def regroup(
    indptr: Array,
    indices: Array,
    data: Array,
    mass: Array,
    start: int,
    stop: int,
    labels: Array,
    size: Array,
    inside: Array,
    members: Array,
) -> int:
    """Move the nodes ``start:stop`` where ``sum_q inside_q / size_q`` rises most; returns how many moved.

    `size` is the mass of each cluster, `inside` the weight within it, `members` how many nodes it has; all
    three are kept up to date, and no cluster loses its last node.
    """
    count = size.shape[0]
    towards = np.zeros(count)
    moves = 0
    for i in range(start, stop):
        home = labels[i]
        left = size[home] - mass[i]
        if members[home] == 1 or left < MIN_LEFT * size[home]:
            continue
        loop = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            if indices[at] == i:
                loop = data[at]
            else:
                towards[labels[indices[at]]] += data[at]
        stays = _density(inside[home], size[home])
        leaves = _density(inside[home] - 2.0 * towards[home] - loop, left)
        best, most = home, MIN_GAIN
        for q in range(count):
            joins = _density(inside[q] + 2.0 * towards[q] + loop, size[q] + mass[i])
            joins -= _density(inside[q], size[q])
            if q != home and leaves - stays + joins > most:
                best, most = q, leaves - stays + joins
        if best != home:
            inside[home] -= 2.0 * towards[home] + loop
            inside[best] += 2.0 * towards[best] + loop
            size[home] = left
            size[best] += mass[i]
            members[home] -= 1
            members[best] += 1
            labels[i] = best
            moves += 1
        for at in range(indptr[i], indptr[i + 1]):
            towards[labels[indices[at]]] = 0.0
        towards[home] = 0.0
    return moves
