"""Loops of polishing: memberships of groups of clusters, and of clusters within groups.

Memberships and gains are CSR rows, as in `graphsoft.kernels.factorize`. ``group[q]`` is the group of cluster
q, and `count` is the number of groups. Kernels that fill `out`, with pointers from 0, return the number of
entries.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel

__all__ = ["gains_of_parents", "lift_to_groups", "merge_clusters", "restore_groups"]


@kernel
def merge_clusters(memberships: Rows, group: Array, count: int, out: Rows) -> int:
    """Sum up the shares of all rows by the groups of their clusters."""
    ptr, clusters, shares = memberships
    out_ptr, out_groups, out_shares = out
    place = np.full(count, -1, dtype=np.int64)
    filled = 0
    for i in range(len(ptr) - 1):
        first = filled
        for at in range(ptr[i], ptr[i + 1]):
            to = group[clusters[at]]
            if place[to] < first:
                place[to] = filled
                out_groups[filled], out_shares[filled] = to, shares[at]
                filled += 1
            else:
                out_shares[place[to]] += shares[at]
        out_ptr[i + 1] = filled
    return filled


@kernel
def restore_groups(memberships: Rows, before: Rows, group: Array, count: int, out: Rows) -> int:
    """Scale the shares of all rows so that each group has what it had before.

    Clusters of groups that a row did not hold are left out. A group that has lost all the clusters it had
    gets these back: what entered beside them was meant to have a small share. No share in the result is 0.
    """
    ptr, clusters, shares = memberships
    old_ptr, old_clusters, old_shares = before
    out_ptr, out_clusters, out_shares = out
    had, has, lost = np.zeros(count), np.zeros(count), np.ones(count, dtype=np.bool_)
    is_old = np.zeros(len(group), dtype=np.bool_)
    filled = 0
    for i in range(len(ptr) - 1):
        for at in range(old_ptr[i], old_ptr[i + 1]):
            cluster = old_clusters[at]
            had[group[cluster]] += old_shares[at]
            is_old[cluster] = True
        for at in range(ptr[i], ptr[i + 1]):
            cluster, share = clusters[at], shares[at]
            of = group[cluster]
            has[of] += share
            if is_old[cluster] and share > 0.0:
                lost[of] = False
        for at in range(ptr[i], ptr[i + 1]):
            cluster = clusters[at]
            of = group[cluster]
            share = shares[at] * (had[of] / has[of]) if not lost[of] else 0.0
            if share > 0.0:
                out_clusters[filled], out_shares[filled] = cluster, share
                filled += 1
        for at in range(old_ptr[i], old_ptr[i + 1]):
            cluster = old_clusters[at]
            of = group[cluster]
            if lost[of]:
                out_clusters[filled], out_shares[filled] = cluster, old_shares[at]
                filled += 1
            had[of] = 0.0
            is_old[cluster] = False
        for at in range(ptr[i], ptr[i + 1]):
            of = group[clusters[at]]
            has[of] = 0.0
            lost[of] = True
        out_ptr[i + 1] = filled
    return filled


@kernel
def gains_of_parents(candidates: Rows, upper: Rows, parents: Rows, count: int, gain: Array) -> None:
    """Give each candidate of all rows the mean gain of its parents, ``P g_upper``, written to `gain`.

    `upper` has the gains of the `count` upper clusters, `parents` the rows of P.
    """
    ptr, clusters, _ = candidates
    upper_ptr, upper_clusters, upper_gain = upper
    parent_ptr, parent, share = parents
    above = np.zeros(count)
    for i in range(len(ptr) - 1):
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_clusters[at]] = upper_gain[at]
        for at in range(ptr[i], ptr[i + 1]):
            mean = 0.0
            for up in range(parent_ptr[clusters[at]], parent_ptr[clusters[at] + 1]):
                mean += share[up] * above[parent[up]]
            gain[at] = mean
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_clusters[at]] = 0.0


@kernel
def lift_to_groups(held_ptr: Array, found: Rows, upper: Rows, group: Array, count: int, out: Rows) -> int:
    """Give clusters of all rows the gain of their group, which `upper` has, and leave out those of no use.

    The first ``held_ptr[i + 1] - held_ptr[i]`` clusters in row i of `found` are its own, and stay. Of any
    other group whose gain is above one, the cluster of largest gain enters.
    """
    ptr, clusters, gain = found
    upper_ptr, upper_groups, upper_gain = upper
    out_ptr, out_clusters, out_gain = out
    above = np.zeros(count)
    best = np.full(count, -1, dtype=np.int64)
    filled = 0
    for i in range(len(ptr) - 1):
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_groups[at]] = upper_gain[at]
        first_other = ptr[i] + held_ptr[i + 1] - held_ptr[i]
        for at in range(ptr[i], ptr[i + 1]):
            to = group[clusters[at]]
            now = best[to]
            if at < first_other:
                best[to] = at
                out_clusters[filled], out_gain[filled] = clusters[at], above[to]
                filled += 1
            elif above[to] <= 1.0 or 0 <= now < first_other:
                continue  # the group is of no use here, or has a cluster here already
            elif now < 0 or gain[at] > gain[now] or (gain[at] == gain[now] and clusters[at] < clusters[now]):
                best[to] = at
        for at in range(first_other, ptr[i + 1]):
            to = group[clusters[at]]
            if best[to] == at:
                out_clusters[filled], out_gain[filled] = clusters[at], above[to]
                filled += 1
        for at in range(ptr[i], ptr[i + 1]):
            best[group[clusters[at]]] = -1
        for at in range(upper_ptr[i], upper_ptr[i + 1]):
            above[upper_groups[at]] = 0.0
        out_ptr[i + 1] = filled
    return filled
