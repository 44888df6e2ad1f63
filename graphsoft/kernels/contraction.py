"""Loops of the contraction: whom to merge with, and the graph after merging."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import kernel

__all__ = ["best_of_groups", "best_partners", "contract", "match", "match_siblings", "merge"]

Array = np.ndarray[Any, np.dtype[Any]]


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
    """Find for the rows `start:stop` the neighbour of largest ``w_ij / (d_i d_j)``, or -1."""
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
def match(partners: Array, order: Array, most: int, leaders: Array) -> int:
    """Pair nodes with their best partners in the given order, each at most once; returns the number of pairs.

    ``leaders[i]`` must come in as i; the higher node of a pair gets the lower one for its leader.
    """
    taken = np.zeros(partners.shape[0], dtype=np.bool_)
    pairs = 0
    for i in order:
        j = partners[i]
        if pairs == most:
            break
        if j < 0 or taken[i] or taken[j]:
            continue
        taken[i] = taken[j] = True
        leaders[max(i, j)] = min(i, j)
        pairs += 1
    return pairs


@kernel
def match_siblings(partners: Array, order: Array, most: int, leaders: Array) -> int:
    """Pair nodes that have the same best partner, in the given order; otherwise as `match`."""
    waiting = np.full(partners.shape[0], -1, dtype=np.int64)
    pairs = 0
    for i in order:
        j = partners[i]
        if pairs == most:
            break
        if j < 0:
            continue
        other = waiting[j]
        if other < 0:
            waiting[j] = i
        else:
            waiting[j] = -1
            leaders[max(i, other)] = min(i, other)
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
    at: int,
    out_counts: Array,
    out_indices: Array,
    out_weights: Array,
) -> int:
    """Sum the rows of each group's members, and their columns by group, for the groups `start:stop`.

    `longest` is the largest number of entries below a group. What is found is written from place `at` on;
    returns where it ends.
    """
    place = np.full(out_counts.shape[0], -1, dtype=np.int64)
    sums = np.empty(longest)
    for row in range(start, stop):
        first = at
        for member in range(member_ptr[row], member_ptr[row + 1]):
            i = members[member]
            for edge in range(indptr[i], indptr[i + 1]):
                column = group[indices[edge]]
                if place[column] < first:
                    place[column] = at
                    out_indices[at] = column
                    sums[at - first] = weights[edge]
                    at += 1
                else:
                    sums[place[column] - first] += weights[edge]
        for entry in range(first, at):
            out_weights[entry] = sums[entry - first]
        out_counts[row] = at - first
    return at


@kernel
def merge(
    joining: Array,
    chosen: Array,
    leaders: Array,
    following: Array,
    last: Array,
    degrees: Array,
    entries: Array,
) -> None:
    """Append the lists of the groups `joining` to those of the leaders chosen for them."""
    for group in joining:
        leader = chosen[group]
        node = group
        while node >= 0:
            leaders[node] = leader
            node = following[node]
        following[last[leader]] = group
        last[leader] = last[group]
        degrees[leader] += degrees[group]
        entries[leader] += entries[group]


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

    `longest` is the largest number of entries below a group. Sums are kept in a table of hashes, which stays
    in the cache where an array with a place for every node would not.
    """
    size = 4
    while size < 2 * longest:
        size *= 2
    keys, sums = np.full(size, -1, dtype=np.int64), np.zeros(size)
    used, others = np.empty(size, dtype=np.uint64), np.empty(longest, dtype=np.int64)
    last = np.uint64(size - 1)
    for at in range(start, stop):
        group, found = groups[at], 0
        node = group
        while node >= 0:
            first, entries = indptr[node], indptr[node + 1] - indptr[node]
            for place in range(entries):
                others[place] = leaders[indices[first + place]]
            for place in range(entries):
                other = others[place]
                slot = (np.uint64(other) * np.uint64(0x9E3779B1) >> np.uint64(7)) & last
                while keys[slot] != other and keys[slot] >= 0:
                    slot = (slot + np.uint64(1)) & last
                if keys[slot] < 0:
                    keys[slot] = other
                    used[found] = slot
                    found += 1
                sums[slot] += weights[first + place]
            node = following[node]
        best, score = -1, 0.0
        for place in range(found):
            slot = used[place]
            other = keys[slot]
            if other != group:
                value = sums[slot] / degrees[other]
                if value > score or (value == score and other < best):
                    best, score = other, value
            keys[slot] = -1
            sums[slot] = 0.0
        partners[group] = best
        scores[group] = score / degrees[group] if best >= 0 else 0.0
