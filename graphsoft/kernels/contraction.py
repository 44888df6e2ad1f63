"""Loops of the contraction: which nodes merge, and what the graph is after they have merged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, inlined, kernel
from graphsoft.kernels.ties import ABOVE, BELOW, wins_tie

__all__ = [
    "Groups",
    "Members",
    "Partners",
    "best_of_groups",
    "best_partners",
    "contract",
    "greedy_matching",
    "join_groups",
    "mutual_pairs",
    "pairs_by_partner",
    "remaining_groups",
]


class Groups(NamedTuple):
    """Groups of nodes; each is called by its lowest node, its leader, and is a linked list of its nodes."""

    leaders: Array  # of every node
    following: Array  # the next node of the same group, -1 after the last one
    last: Array  # the last node of each group, stored at its leader, as are the next three
    degrees: Array
    keys: Array  # which of several equal scores is the best, see `graphsoft.engine.ties`
    entries: Array  # stored entries in the rows of its nodes


class Partners(NamedTuple):
    """The neighbor that each node or group would best merge with, -1 for none, and the score of that pair."""

    best: Array
    scores: Array


class Members(NamedTuple):
    """The nodes of each group, group after group, and the group of each node."""

    ptr: Array
    nodes: Array
    group: Array


@kernel
def best_partners(rows: Rows, degrees: Array, keys: Array, start: int, stop: int, partners: Partners) -> None:
    """Find for the rows `start:stop` the neighbor of largest ``w_ij / (d_i d_j)``, or -1."""
    for i in range(start, stop):
        best, score = np.int64(-1), 0.0
        for edge in range(rows.ptr[i], rows.ptr[i + 1]):
            j = np.int64(rows.columns[edge])
            value = rows.values[edge] / degrees[j]
            if j == i or value <= score * BELOW:
                continue
            if value > score * ABOVE or wins_tie(value, score, i, j, best, degrees, keys):
                best, score = j, value
        partners.best[i] = best
        partners.scores[i] = score / degrees[i] if best >= 0 else 0.0


@kernel
def greedy_matching(order: Array, best: Array, low: Array, high: Array) -> int:
    """Pair groups with their best partners, in the given order, each at most once; returns how many pairs."""
    taken = np.zeros(best.shape[0], dtype=np.bool_)
    pairs = 0
    for group in order:
        partner = best[group]
        if partner < 0 or taken[group] or taken[partner]:
            continue
        taken[group] = taken[partner] = True
        low[pairs], high[pairs] = min(group, partner), max(group, partner)
        pairs += 1
    return pairs


@kernel
def mutual_pairs(alive: Array, best: Array, low: Array) -> int:
    """List the lower one of each two groups that are each other's best partners; returns how many pairs."""
    pairs = 0
    for group in alive:
        other = best[group]
        if other > group and best[other] == group:
            low[pairs] = group
            pairs += 1
    return pairs


@kernel
def pairs_by_partner(order: Array, best: Array, low: Array, high: Array) -> int:
    """Pair groups that have the same best partner, in the given order, each once; returns how many pairs."""
    waiting = np.full(best.shape[0], -1, dtype=np.int64)
    pairs = 0
    for group in order:
        partner = best[group]
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
def contract(rows: Rows, members: Members, max_entries: int, start: int, stop: int, out: Rows) -> int:
    """Sum the rows of each group's members, and their columns by group, for the groups `start:stop`.

    `max_entries` is the largest number of entries in the rows of one group. The number of entries of each
    group goes to ``out.ptr``; returns the number of all of them. A table of hashes holds the place where each
    column is summed: an array with a place for every group would have to be cleared in every call.
    """
    size = 16
    while size < 2 * max_entries:
        size *= 2
    last = np.uint64(size - 1)
    columns, places = np.full(size, -1, dtype=np.int64), np.empty(size, dtype=np.int64)
    sums, slots = np.empty(max_entries), np.empty(max_entries, dtype=np.uint64)
    at = 0
    for row in range(start, stop):
        first = at
        for member in range(members.ptr[row], members.ptr[row + 1]):
            i = members.nodes[member]
            for edge in range(rows.ptr[i], rows.ptr[i + 1]):
                column = np.int64(members.group[rows.columns[edge]])
                slot = np.uint64(column) * np.uint64(0x9E3779B1) >> np.uint64(7) & last
                while columns[slot] != column and columns[slot] >= 0:
                    slot = (slot + np.uint64(1)) & last
                if columns[slot] < 0:
                    columns[slot], places[slot] = column, at - first
                    slots[at - first], sums[at - first] = slot, 0.0
                    out.columns[at] = column
                    at += 1
                sums[places[slot]] += rows.values[edge]
        for entry in range(at - first):
            out.values[first + entry] = sums[entry]
            columns[slots[entry]] = -1
        out.ptr[row] = at - first
    return at


@kernel
def join_groups(low: Array, high: Array, groups: Groups) -> None:
    """Append the lists of the groups `high` to those of the groups `low`, pair by pair."""
    for pair in range(len(low)):
        leader, group = low[pair], high[pair]
        node = group
        while node >= 0:
            groups.leaders[node] = leader
            node = groups.following[node]
        groups.following[groups.last[leader]] = group
        groups.last[leader] = groups.last[group]
        groups.degrees[leader] += groups.degrees[group]
        groups.keys[leader] += groups.keys[group]
        groups.entries[leader] += groups.entries[group]


@kernel
def remaining_groups(
    alive: Array, leaders: Array, best: Array, merged: Array, remaining: Array, outdated: Array
) -> tuple[int, int]:
    """List the groups that remain, and those of them whose best partner may be another now; how many of each.

    `merged` marks the groups that took part in a merge.
    """
    kept = found = 0
    for group in alive:
        if leaders[group] != group:
            continue
        remaining[kept] = group
        kept += 1
        other = best[group]
        if merged[group] or (other >= 0 and merged[other]):
            outdated[found] = group
            found += 1
    return kept, found


@inlined
def _entries_of(rows: Rows, groups: Groups, group: int, others: Array, weights: Array) -> int:
    """Write the groups that a group's entries lead to, and their weights; returns how many entries it has."""
    count, node = 0, group
    while node >= 0:
        for edge in range(rows.ptr[node], rows.ptr[node + 1]):
            others[count], weights[count] = groups.leaders[rows.columns[edge]], rows.values[edge]
            count += 1
        node = groups.following[node]
    return count


@kernel
def best_of_groups(
    rows: Rows, groups: Groups, wanted: Array, max_entries: int, start: int, stop: int, partners: Partners
) -> None:
    """Find for the groups ``wanted[start:stop]`` the other group of largest ``w / (d d)``, or -1.

    `max_entries` is the largest number of entries of one of these groups. Weights are summed in a table of
    hashes, without a branch that depends on what is in it. All entries write into their slots which group
    they lead to; those that then find another group there wait for the next pass, which uses other hashes.
    """
    size = 16
    while size < 4 * max_entries:
        size *= 2
    last = np.uint64(size - 1)
    owners, sums = np.empty(size, dtype=np.int64), np.zeros(size)
    others, weights = np.empty(max_entries, dtype=np.int64), np.empty(max_entries)
    places, slots = np.empty(max_entries, dtype=np.uint64), np.empty(max_entries, dtype=np.uint64)
    for at in range(start, stop):
        group, best, score = np.int64(wanted[at]), np.int64(-1), 0.0
        count = _entries_of(rows, groups, group, others, weights)
        factor = np.uint64(0x9E3779B97F4A7C15)
        while count > 0:
            for entry in range(count):
                slot = (np.uint64(others[entry]) * factor >> np.uint64(32)) & last
                places[entry] = slot
                owners[slot] = others[entry]
            found = waiting = 0
            for entry in range(count):
                slot, other, weight = places[entry], others[entry], weights[entry]
                mine = owners[slot] == other
                sums[slot] += weight if mine else 0.0
                slots[found] = slot
                found += mine
                others[waiting], weights[waiting] = other, weight
                waiting += not mine
            for entry in range(found):
                other = owners[slots[entry]]
                value = sums[slots[entry]] / groups.degrees[other]
                if other == group or value <= score * BELOW:
                    continue
                degrees, keys = groups.degrees, groups.keys
                if value > score * ABOVE or wins_tie(value, score, group, other, best, degrees, keys):
                    best, score = other, value
            for entry in range(found):
                sums[slots[entry]] = 0.0
            count = waiting
            factor = factor * np.uint64(0xD1342543DE82EF95)
        partners.best[group] = best
        partners.scores[group] = score / groups.degrees[group] if best >= 0 else 0.0
