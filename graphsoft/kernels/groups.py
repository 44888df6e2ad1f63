"""Loops of polishing: memberships of groups of clusters, and of clusters within groups.

Memberships and gains are CSR rows, as in `graphsoft.kernels.factorize`.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["hold_groups", "lift_gains", "lift_to_groups", "merge_clusters"]


@kernel
def merge_clusters(
    ptr: Array,
    clusters: Array,
    shares: Array,
    group: Array,
    groups: int,
    start: int,
    stop: int,
    out_ptr: Array,
    out_groups: Array,
    out_shares: Array,
) -> int:
    """Sum up the shares of the rows `start:stop` by the groups of their clusters; returns how many."""
    place = np.full(groups, -1, dtype=np.int64)
    filled = 0
    for i in range(start, stop):
        first = filled
        for at in range(ptr[i], ptr[i + 1]):
            to = group[clusters[at]]
            if place[to] < first:
                place[to] = filled
                out_groups[filled], out_shares[filled] = to, shares[at]
                filled += 1
            else:
                out_shares[place[to]] += shares[at]
        out_ptr[i - start + 1] = filled
    return filled


@kernel
def hold_groups(
    ptr: Array,
    clusters: Array,
    shares: Array,
    before_ptr: Array,
    before_clusters: Array,
    before_shares: Array,
    group: Array,
    groups: int,
    start: int,
    stop: int,
    out_ptr: Array,
    out_clusters: Array,
    out_shares: Array,
) -> int:
    """Scale the shares of the rows `start:stop` so that each group has what it had before.

    Clusters of groups that a row did not hold are left out; a group that has lost all the clusters it had
    gets these back, for what came in beside them was to have a small share. Returns how many shares there
    are, none of them 0.
    """
    had, has = np.zeros(groups), np.zeros(groups)
    old, lost = np.zeros(len(group), dtype=np.bool_), np.ones(groups, dtype=np.bool_)
    filled = 0
    for i in range(start, stop):
        for at in range(before_ptr[i], before_ptr[i + 1]):
            cluster = before_clusters[at]
            had[group[cluster]] += before_shares[at]
            old[cluster] = True
        for at in range(ptr[i], ptr[i + 1]):
            cluster, share = clusters[at], shares[at]
            of = group[cluster]
            has[of] += share
            if old[cluster] and share > 0.0:
                lost[of] = False
        for at in range(ptr[i], ptr[i + 1]):
            cluster = clusters[at]
            of = group[cluster]
            share = shares[at] * (had[of] / has[of]) if not lost[of] else 0.0
            if share > 0.0:
                out_clusters[filled], out_shares[filled] = cluster, share
                filled += 1
        for at in range(before_ptr[i], before_ptr[i + 1]):
            cluster = before_clusters[at]
            of = group[cluster]
            if lost[of]:
                out_clusters[filled], out_shares[filled] = cluster, before_shares[at]
                filled += 1
            had[of] = 0.0
            old[cluster] = False
        for at in range(ptr[i], ptr[i + 1]):
            of = group[clusters[at]]
            has[of] = 0.0
            lost[of] = True
        out_ptr[i - start + 1] = filled
    return filled


@kernel
def lift_gains(
    ptr: Array,
    clusters: Array,
    upper_ptr: Array,
    upper_clusters: Array,
    upper_gain: Array,
    parent_ptr: Array,
    parents: Array,
    parent_shares: Array,
    upper_count: int,
    start: int,
    stop: int,
    out_gain: Array,
) -> None:
    """Give each cluster of the rows `start:stop` the mean gain of its parents, ``P g_upper``."""
    above = np.zeros(upper_count)
    for i in range(start, stop):
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_clusters[at]] = upper_gain[at]
        for at in range(ptr[i], ptr[i + 1]):
            mean = 0.0
            for up in range(parent_ptr[clusters[at]], parent_ptr[clusters[at] + 1]):
                mean += parent_shares[up] * above[parents[up]]
            out_gain[at] = mean
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_clusters[at]] = 0.0


@kernel
def lift_to_groups(
    held: Array,
    ptr: Array,
    clusters: Array,
    gain: Array,
    group: Array,
    upper_ptr: Array,
    upper_clusters: Array,
    upper_gain: Array,
    upper_count: int,
    out_ptr: Array,
    out_clusters: Array,
    out_gain: Array,
) -> int:
    """Give each cluster of all rows the gain of its group, and leave out those of no use.

    The first ``held[i + 1] - held[i]`` clusters of a row are its own and stay. Of any other group whose gain
    is above one, the cluster of largest gain comes in. Returns how many were written.
    """
    above = np.zeros(upper_count)
    best = np.full(upper_count, -1, dtype=np.int64)
    filled = 0
    for i in range(len(ptr) - 1):
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_clusters[at]] = upper_gain[at]
        begin = ptr[i] + held[i + 1] - held[i]
        for at in range(ptr[i], ptr[i + 1]):
            to = group[clusters[at]]
            now = best[to]
            if at < begin:
                best[to] = at
                out_clusters[filled], out_gain[filled] = clusters[at], above[to]
                filled += 1
            elif above[to] <= 1.0 or 0 <= now < begin:
                continue  # its group is of no use here, or has a cluster here already
            elif now < 0 or gain[at] > gain[now] or (gain[at] == gain[now] and clusters[at] < clusters[now]):
                best[to] = at
        for at in range(begin, ptr[i + 1]):
            to = group[clusters[at]]
            if best[to] == at:
                out_clusters[filled], out_gain[filled] = clusters[at], above[to]
                filled += 1
        for at in range(ptr[i], ptr[i + 1]):
            best[group[clusters[at]]] = -1
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_clusters[at]] = 0.0
        out_ptr[i + 1] = filled
    return filled
