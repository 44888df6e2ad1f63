"""Kernel k-means: nodes move one by one to the cluster where the objective falls most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel

__all__ = ["Clusters", "cluster_sums", "regroup"]

# A node with all but this share of its cluster's mass stays: what would be left is lost in rounding.
MIN_LEFT = 1e-6
# A move must lower the objective by this.
MIN_GAIN = 1e-9


class Clusters(NamedTuple):
    """The cluster of each node; and of each cluster its mass, the weight inside it, and its node count."""

    labels: Array
    mass: Array
    inside: Array
    members: Array


@kernel
def _density(inside: float, mass: float) -> float:
    """Divide; a cluster of isolated nodes has no mass and cuts nothing, so its density is 1."""
    return inside / mass if mass > 0.0 else 1.0


@kernel
def cluster_sums(edges: Rows, labels: Array, start: int, stop: int, within: Array) -> None:
    """Sum for the rows ``start:stop`` the weights that stay in the node's cluster."""
    for i in range(start, stop):
        within[i] = 0.0
        for at in range(edges.ptr[i], edges.ptr[i + 1]):
            if labels[edges.columns[at]] == labels[i]:
                within[i] += edges.values[at]


@kernel
def regroup(edges: Rows, degrees: Array, clusters: Clusters, start: int, stop: int) -> int:
    """Move the nodes ``start:stop`` where ``sum_q inside_q / mass_q`` rises most; returns how many moved.

    The clusters are kept up to date, and none loses its last node.
    """
    labels, mass, inside, members = clusters.labels, clusters.mass, clusters.inside, clusters.members
    count = mass.shape[0]
    towards = np.zeros(count)
    moves = 0
    for i in range(start, stop):
        home = labels[i]
        left = mass[home] - degrees[i]
        if members[home] == 1 or left < MIN_LEFT * mass[home]:
            continue
        loop = 0.0
        for at in range(edges.ptr[i], edges.ptr[i + 1]):
            if edges.columns[at] == i:
                loop = edges.values[at]
            else:
                towards[labels[edges.columns[at]]] += edges.values[at]
        stays = _density(inside[home], mass[home])
        leaves = _density(inside[home] - 2.0 * towards[home] - loop, left)
        best, highest = home, MIN_GAIN
        for q in range(count):
            joins = _density(inside[q] + 2.0 * towards[q] + loop, mass[q] + degrees[i])
            joins -= _density(inside[q], mass[q])
            if q != home and leaves - stays + joins > highest:
                best, highest = q, leaves - stays + joins
        if best != home:
            inside[home] -= 2.0 * towards[home] + loop
            inside[best] += 2.0 * towards[best] + loop
            mass[home] = left
            mass[best] += degrees[i]
            members[home] -= 1
            members[best] += 1
            labels[i] = best
            moves += 1
        for at in range(edges.ptr[i], edges.ptr[i + 1]):
            towards[labels[edges.columns[at]]] = 0.0
        towards[home] = 0.0
    return moves
