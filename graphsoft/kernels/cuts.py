"""Loops over cuts: what clusters cut off, moves that lower it, and the search for the lowest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel

__all__ = ["Clusters", "cut_off", "least_cut", "move_nodes"]


class Clusters(NamedTuple):
    """The cluster of each node; and of each cluster its mass, what it cuts off, and its node count."""

    labels: Array
    mass: Array
    cut: Array
    members: Array


@kernel
def _ratio(cut: float, mass: float) -> float:
    """Divide; a cluster of isolated nodes has no mass and cuts nothing."""
    return cut / mass if mass > 0.0 else 0.0


@kernel
def cut_off(edges: Rows, memberships: Rows, count: int, start: int, stop: int, result: Array) -> None:
    """Write for each share ``p_ir`` of the nodes `start:stop` what it cuts: ``p_ir sum_j w_ij (1 - p_jr)``.

    Sums of what is cut, not differences of sums, so that a light cut is as exact as a heavy one.
    """
    ptr, clusters, shares = memberships.ptr, memberships.columns, memberships.values
    seen = np.zeros(count)
    for i in range(start, stop):
        for at in range(ptr[i], ptr[i + 1]):
            result[at] = 0.0
        for edge in range(edges.ptr[i], edges.ptr[i + 1]):
            j = edges.columns[edge]
            for at in range(ptr[j], ptr[j + 1]):
                seen[clusters[at]] = shares[at]
            for at in range(ptr[i], ptr[i + 1]):
                result[at] += edges.values[edge] * max(1.0 - seen[clusters[at]], 0.0)
            for at in range(ptr[j], ptr[j + 1]):
                seen[clusters[at]] = 0.0
        for at in range(ptr[i], ptr[i + 1]):
            result[at] *= shares[at]


@kernel
def _link(edges: Rows, labels: Array, i: int, links: Array, near: Array) -> tuple[int, float]:
    """Add up the weights of node `i` to each cluster, in `links`, without its loop.

    Lists those clusters in `near`; returns how many they are, and the sum of the weights.
    """
    found, outside = 0, 0.0
    for edge in range(edges.ptr[i], edges.ptr[i + 1]):
        j = edges.columns[edge]
        if j != i:
            r = labels[j]
            if links[r] == 0.0:
                near[found] = r
                found += 1
            links[r] += edges.values[edge]
            outside += edges.values[edge]
    return found, outside


@kernel
def move_nodes(
    edges: Rows, degrees: Array, clusters: Clusters, start: int, stop: int, min_fall: float
) -> int:
    """Move each node of `start:stop` in turn to the cluster where the normalized cut is lowest.

    Only clusters that the node has an edge to are tried. A move must lower the cut by more than `min_fall`,
    and a cluster's last node stays. The clusters are kept up to date. Returns how many nodes moved.
    """
    labels, mass, cut, members = clusters.labels, clusters.mass, clusters.cut, clusters.members
    count, moved = mass.shape[0], 0
    links = np.zeros(count)
    near = np.empty(count, dtype=np.int64)
    for i in range(start, stop):
        own = labels[i]
        if members[own] == 1 or degrees[i] <= 0.0:
            continue
        found, outside = _link(edges, labels, i, links, near)
        # its own cluster without the node
        mass_left = max(mass[own] - degrees[i], 0.0)
        cut_left = max(cut[own] - (outside - links[own]) + links[own], 0.0)
        lost = _ratio(cut_left, mass_left) - _ratio(cut[own], mass[own])
        best, lowest = own, -min_fall
        for at in range(found):
            r = near[at]
            if r != own:
                cut_with = max(cut[r] + (outside - links[r]) - links[r], 0.0)
                change = lost + cut_with / (mass[r] + degrees[i]) - _ratio(cut[r], mass[r])
                if change < lowest or (change == lowest and r < best):
                    best, lowest = r, change
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
    weights: Array, degrees: Array, choice: Array, i: int, mass: Array, cut: Array, rest: float
) -> float:
    """Add node `i` to its part: writes the mass and the cut of the parts; returns a lower bound for the cut.

    `rest` is the mass of the nodes after it, all of which a part may still get.
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
            bound += cut[i + 1, r] / (mass[i + 1, r] + rest)
    return bound


@kernel
def least_cut(weights: Array, degrees: Array, parts: int, labels: Array) -> float:
    """Find the partition into `parts` with the lowest normalized cut, by branch and bound.

    Nodes are placed one after the other, each in a part that has nodes or in the next empty one, so that
    every partition comes once. The cut of the nodes placed so far, over the largest mass that the parts can
    still reach, is a lower bound: branches above the best cut so far are left out. Writes `labels`, and
    returns the cut.
    """
    count = degrees.shape[0]
    mass, cut = np.zeros((count + 1, parts)), np.zeros((count + 1, parts))
    used = np.zeros(count + 1, dtype=np.int64)  # parts that the nodes before it are in
    choice = np.full(count, -1, dtype=np.int64)
    rest = np.zeros(count + 1)  # the mass of this node and of all after it
    for i in range(count - 1, -1, -1):
        rest[i] = rest[i + 1] + degrees[i]
    lowest, i = np.inf, 0
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
        if value < lowest and i + 1 < count:
            i += 1
        elif value < lowest:
            lowest = value
            for j in range(count):
                labels[j] = choice[j]
    return lowest
