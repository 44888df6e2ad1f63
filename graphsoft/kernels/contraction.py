"""Loops of the contraction: whom to merge with, and the graph after merging."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = [
    "affected",
    "best_of_groups",
    "best_partners",
    "contract",
    "match",
    "merge",
    "mutual",
    "siblings",
]


@kernel
def best_partners(
    indptr: Array,
    indices: Array,
    weights: Array,
    degrees: Array,
    start: int,
    stop: int,
    partners: Array,
    scores: Array,
) -> None:
    """Find for the rows `start:stop` the neighbor of largest ``w_ij / (d_i d_j)``, or -1."""
    for i in range(start, stop):
        best, score = -1, 0.0
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            value = weights[edge] / degrees[j]
            if j != i and (value > score or (value == score and j < best)):
                best, score = j, value
        partners[i] = best
        scores[i] = score / degrees[i] if best >= 0 else 0.0


@kernel
def match(partners: Array, order: Array, max_merges: int, leaders: Array) -> int:
    """Pair nodes with their best partners in the given order, each at most once; returns the number of pairs.

    ``leaders[i]`` must come in as i; the higher node of a pair gets the lower one for its leader.
    """
    taken = np.zeros(partners.shape[0], dtype=np.bool_)
    pairs = 0
    for i in order:
        j = partners[i]
        if pairs == max_merges:
            break
        if j < 0 or taken[i] or taken[j]:
            continue
        taken[i] = taken[j] = True
        leaders[max(i, j)] = min(i, j)
        pairs += 1
    return pairs


@kernel
def mutual(alive: Array, partners: Array, scores: Array, out: Array, out_scores: Array) -> int:
    """List the lower of each two groups that are each other's best partners; returns how many there are."""
    pairs = 0
    for group in alive:
        other = partners[group]
        if other > group and partners[other] == group:
            out[pairs], out_scores[pairs] = group, scores[group]
            pairs += 1
    return pairs


@kernel
def siblings(order: Array, partners: Array, low: Array, high: Array) -> int:
    """Pair groups that have the same best partner, in the given order, each once; returns how many pairs."""
    waiting = np.full(partners.shape[0], -1, dtype=np.int64)
    pairs = 0
    for group in order:
        partner = partners[group]
        if partner < 0:
            continue
        other = waiting[partner]
        if other < 0:
            waiting[partner] = group
        else:
            waiting[partner] = -1
            low[pairs], high[pairs] = min(group, other), max(group, other)
            pairs += 1
    return pairs


@kernel
def contract(
    indptr: Array,
    indices: Array,
    weights: Array,
    member_ptr: Array,
    members: Array,
    group: Array,
    longest: int,
    start: int,
    stop: int,
    out_counts: Array,
    out_indices: Array,
    out_weights: Array,
) -> int:
    """Sum the rows of each group's members, and their columns by group, for the groups `start:stop`.

    `longest` is the largest number of entries below a group. Returns how many entries were written. Where the
    sum of a column stands is kept in a table of hashes: an array with a place for every group would have to
    be cleared in every call.
    """
    size = 16
    while size < 2 * longest:
        size *= 2
    last = np.uint64(size - 1)
    columns, places = np.full(size, -1, dtype=np.int64), np.empty(size, dtype=np.int64)
    sums, slots = np.empty(longest), np.empty(longest, dtype=np.uint64)
    at = 0
    for row in range(start, stop):
        first = at
        for member in range(member_ptr[row], member_ptr[row + 1]):
            i = members[member]
            for edge in range(indptr[i], indptr[i + 1]):
                column = np.int64(group[indices[edge]])
                slot = np.uint64(column) * np.uint64(0x9E3779B1) >> np.uint64(7) & last
                while columns[slot] != column and columns[slot] >= 0:
                    slot = (slot + np.uint64(1)) & last
                if columns[slot] < 0:
                    columns[slot], places[slot] = column, at - first
                    slots[at - first], sums[at - first] = slot, 0.0
                    out_indices[at] = column
                    at += 1
                sums[places[slot]] += weights[edge]
        for entry in range(at - first):
            out_weights[first + entry] = sums[entry]
            columns[slots[entry]] = -1
        out_counts[row] = at - first
    return at


@kernel
def merge(
    low: Array,
    high: Array,
    leaders: Array,
    following: Array,
    last: Array,
    degrees: Array,
    entries: Array,
) -> None:
    """Append the lists of the groups `high` to those of the groups `low`, pair by pair."""
    for pair in range(len(low)):
        leader, group = low[pair], high[pair]
        node = group
        while node >= 0:
            leaders[node] = leader
            node = following[node]
        following[last[leader]] = group
        last[leader] = last[group]
        degrees[leader] += degrees[group]
        entries[leader] += entries[group]


@kernel
def affected(
    alive: Array, leaders: Array, partners: Array, changed: Array, out: Array, out_affected: Array
) -> tuple[int, int]:
    """List the groups still there, and those of them whose best partner may have changed; how many of each.

    `changed` marks the groups that merged.
    """
    kept = found = 0
    for group in alive:
        if leaders[group] != group:
            continue
        out[kept] = group
        kept += 1
        other = partners[group]
        if changed[group] or (other >= 0 and changed[other]):
            out_affected[found] = group
            found += 1
    return kept, found


@kernel
def _entries_of(
    indptr: Array, indices: Array, weights: Array, leaders: Array, following: Array, group: int,
    others: Array, sums: Array,
) -> int:  # fmt: skip
    """Write the groups that a group's entries lead to, and their weights; returns how many entries it has."""
    count, node = 0, group
    while node >= 0:
        for edge in range(indptr[node], indptr[node + 1]):
            others[count], sums[count] = leaders[indices[edge]], weights[edge]
            count += 1
        node = following[node]
    return count


@kernel
def best_of_groups(
    indptr: Array,
    indices: Array,
    weights: Array,
    leaders: Array,
    following: Array,
    degrees: Array,
    longest: int,
    groups: Array,
    start: int,
    stop: int,
    partners: Array,
    scores: Array,
) -> None:
    """Find for the groups `start:stop` of the list the other group of largest ``w / (d d)``, or -1.

    `longest` is the largest number of entries below a group. Weights are summed in a table by hashes, without
    a branch that depends on what is in it: all entries write whom they lead to, those that find somebody
    else in their place wait, and the next pass over these hashes otherwise.
    """
    size = 16
    while size < 4 * longest:
        size *= 2
    last = np.uint64(size - 1)
    owners, sums = np.empty(size, dtype=np.int64), np.zeros(size)
    others, given = np.empty(longest, dtype=np.int64), np.empty(longest)
    places, slots = np.empty(longest, dtype=np.uint64), np.empty(longest, dtype=np.uint64)
    for at in range(start, stop):
        group, best, score = groups[at], -1, 0.0
        count = _entries_of(indptr, indices, weights, leaders, following, group, others, given)
        factor = np.uint64(0x9E3779B97F4A7C15)
        while count > 0:
            for entry in range(count):
                slot = (np.uint64(others[entry]) * factor >> np.uint64(32)) & last
                places[entry] = slot
                owners[slot] = others[entry]
            found = waiting = 0
            for entry in range(count):
                slot, other, weight = places[entry], others[entry], given[entry]
                mine = owners[slot] == other
                sums[slot] += weight if mine else 0.0
                slots[found] = slot
                found += mine
                others[waiting], given[waiting] = other, weight
                waiting += not mine
            for entry in range(found):
                other = owners[slots[entry]]
                value = sums[slots[entry]] / degrees[other]
                if other != group and (value > score or (value == score and other < best)):
                    best, score = other, value
            for entry in range(found):
                sums[slots[entry]] = 0.0
            count = waiting
            factor = factor * np.uint64(0xD1342543DE82EF95)
        partners[group] = best
        scores[group] = score / degrees[group] if best >= 0 else 0.0
