"""Loops of the approximate neighbour search: random trees, pairs in their leaves, neighbours of neighbours.

Every point has a list of the nearest points found so far: their numbers, squared distances in float32,
rising, and which of them are fresh, that is new since the round before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import kernel
from graphsoft.kernels.neighbors import score_four

__all__ = ["fill_reverse", "grow_tree", "join_leaves", "look_around", "sketch"]

Array = np.ndarray[Any, np.dtype[Any]]

SLOTS = 1024  # of the table of points that a row has met: eight kilobytes stay in the first-level cache
LANES = 32  # a tile's width is a multiple, or the loops over it would end in single steps
SHIFT = 54  # 64 less the bits of SLOTS - 1


@kernel
def _draw(state: Any) -> Any:
    """Mix a counter into 64 random bits."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@kernel
def sketch(data: Array, places: Array, signs: Array, start: int, stop: int, out: Array) -> None:
    """Add up the features of the rows ``start:stop``, each with its sign, in their places of `out` (n, s)."""
    for row in range(start, stop):
        for k in range(data.shape[1]):
            out[row, places[k]] += signs[k] * data[row, k]


@kernel
def _halve(keys: Array, order: Array, start: int, stop: int, middle: int) -> None:
    """Reorder ``order[start:stop]`` so that no key before `middle` is above one from there on."""
    low, high = start, stop - 1
    while low < high:
        pivot = keys[(low + high) // 2]
        left, right = low, high
        while left <= right:
            while keys[left] < pivot:
                left += 1
            while keys[right] > pivot:
                right -= 1
            if left <= right:
                keys[left], keys[right] = keys[right], keys[left]
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
        if middle <= right:
            high = right
        elif middle >= left:
            low = left
        else:
            return


@kernel
def grow_tree(data: Array, leaf: int, seed: Any, order: Array) -> None:
    """Halve the points again and again, until no part is larger than `leaf`, and leave them in that order.

    A part is cut at the median along the line through two of its points. `order` (n,) holds all points.
    """
    count, depth = data.shape
    keys = np.empty(count, dtype=np.float32)
    line = np.empty(depth, dtype=np.float32)
    parts = np.empty((128, 2), dtype=np.int64)
    parts[0, 0], parts[0, 1] = 0, count
    height, counter = 1, np.uint64(seed)
    while height > 0:
        height -= 1
        start, stop = parts[height, 0], parts[height, 1]
        size = stop - start
        if size <= leaf:
            continue
        counter += np.uint64(0x9E3779B97F4A7C15)
        one = order[start + np.int64(_draw(counter) % np.uint64(size))]
        counter += np.uint64(0x9E3779B97F4A7C15)
        other = order[start + np.int64(_draw(counter) % np.uint64(size))]
        for k in range(depth):
            line[k] = data[one, k] - data[other, k]
        for place in range(start, stop):
            row = data[order[place]]
            total = np.float32(0.0)
            for k in range(depth):
                total += row[k] * line[k]
            keys[place] = total
        middle = start + size // 2
        _halve(keys, order, start, stop, middle)
        parts[height, 0], parts[height, 1] = start, middle
        parts[height + 1, 0], parts[height + 1, 1] = middle, stop
        height += 2


@kernel
def _accept(ids: Array, gaps: Array, fresh: Array, other: int, gap: Any) -> int:
    """Put a point nearer than the last one into a list, unless it is there; tell whether it was put."""
    last = ids.shape[0] - 1
    there = 0
    for rank in range(last + 1):
        there += ids[rank] == other
    if there > 0:
        return 0
    place = last
    while place > 0 and gaps[place - 1] > gap:
        ids[place], gaps[place], fresh[place] = ids[place - 1], gaps[place - 1], fresh[place - 1]
        place -= 1
    ids[place], gaps[place], fresh[place] = other, gap, True
    return 1


@kernel
def _keep_near(
    scores: Array, half: Any, own: int, order: Array, first: int, lists: tuple[Array, Array, Array]
) -> int:
    """Take the points of a leaf that are nearer than the last one into the lists of a row."""
    ids, gaps, fresh = lists
    last = gaps.shape[0] - 1
    bound = gaps[last] / 2 - half
    found = 0
    for start in range(0, scores.shape[0], LANES):
        lower = 0
        for j in range(start, start + LANES):
            lower += scores[j] < bound
        if lower == 0:
            continue
        for j in range(start, start + LANES):
            if scores[j] < bound and j != own:
                gap = max(np.float32(0.0), 2 * (scores[j] + half))
                if gap < gaps[last]:
                    found += _accept(ids, gaps, fresh, order[first + j], gap)
                    bound = gaps[last] / 2 - half
    return found


@kernel
def join_leaves(
    data: Array, order: Array, leaves: Array, start: int, stop: int, ids: Array, gaps: Array, fresh: Array
) -> int:
    """Let the points of each of the leaves ``start:stop`` find each other.

    Leaf i holds ``order[leaves[i]:leaves[i + 1]]``. Numbers are taken relative to a point of the leaf, so
    that little is lost to rounding. Returns how many neighbours were found.
    """
    depth, found = data.shape[1], 0
    for leaf in range(start, stop):
        first, size = leaves[leaf], leaves[leaf + 1] - leaves[leaf]
        width = (size + LANES - 1) // LANES * LANES
        left = np.zeros((width, depth), dtype=np.float32)
        tile = np.zeros((depth, width), dtype=np.float32)
        halves = np.full(width, np.inf, dtype=np.float32)
        scores = np.empty((4, width), dtype=np.float32)
        for i in range(size):
            row, total = order[first + i], np.float32(0.0)
            for k in range(depth):
                value = data[row, k] - data[order[first], k]
                left[i, k] = value
                total += value * value
            halves[i] = total / 2
        for lane in range(0, width, LANES):  # row by row each number would meet a cold line
            for k in range(depth):
                for i in range(lane, lane + LANES):
                    tile[k, i] = left[i, k]
        for i in range(0, size, 4):
            score_four(left, i, tile, halves, scores)
            for lane in range(min(4, size - i)):
                row = order[first + i + lane]
                lists = ids[row], gaps[row], fresh[row]
                found += _keep_near(scores[lane], halves[i + lane], i + lane, order, first, lists)
    return found


@kernel
def fill_reverse(order: Array, ids: Array, fresh: Array, reverse: Array, reverse_fresh: Array) -> None:
    """List for each point some of those that it is a neighbour of, where it ranks high first.

    `reverse` (n, r) is passed in full of -1.
    """
    room = reverse.shape[1]
    filled = np.zeros(reverse.shape[0], dtype=np.int32)
    for rank in range(ids.shape[1]):
        for place in range(order.shape[0]):
            row = order[place]
            other = ids[row, rank]
            if other >= 0 and filled[other] < room:
                reverse[other, filled[other]] = row
                reverse_fresh[other, filled[other]] = fresh[row, rank]
                filled[other] += 1


@kernel
def _met(table: Array, stamp: int, point: int) -> bool:
    """Tell whether a row has met a point, and remember it; where the table is crowded it forgets."""
    mark = (np.int64(stamp) << 32) | np.int64(point)
    slot = np.int64((np.uint64(point) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(SHIFT))
    for _ in range(4):
        held = table[slot]
        if held == mark:
            return True
        if held >> 32 != stamp:
            table[slot] = mark
            return False
        slot = (slot + 1) & (SLOTS - 1)
    return False


@kernel
def _squared(data: Array, one: int, other: int) -> Any:
    left, right = data[one], data[other]
    total = np.float32(0.0)
    for k in range(data.shape[1]):
        gap = left[k] - right[k]
        total += gap * gap
    return total


@kernel
def look_around(
    data: Array,
    order: Array,
    start: int,
    stop: int,
    old: tuple[Array, Array, Array, Array],
    ids: Array,
    gaps: Array,
    fresh: Array,
) -> int:
    """Let the points ``order[start:stop]`` meet the neighbours of their neighbours.

    `old` are the lists before the round, as (ids, fresh, reverse, reverse_fresh); `ids`, `gaps` and `fresh`
    hold the same at first and only the rows of these points change. A pair is passed over where
    neither of the two steps to it is fresh. Returns how many neighbours were found.
    """
    old_ids, old_fresh, reverse, reverse_fresh = old
    listed, room = old_ids.shape[1], reverse.shape[1]
    table = np.full(SLOTS, -1, dtype=np.int64)
    found = 0
    for place in range(start, stop):
        row = order[place]
        mine, near, flags = ids[row], gaps[row], fresh[row]
        _met(table, place, row)
        for rank in range(listed):
            flags[rank] = False
            if mine[rank] >= 0:
                _met(table, place, mine[rank])
        for step in range(listed + room):
            middle = old_ids[row, step] if step < listed else reverse[row, step - listed]
            if middle < 0:
                continue
            new_step = old_fresh[row, step] if step < listed else reverse_fresh[row, step - listed]
            for rank in range(listed):
                other, new_other = old_ids[middle, rank], old_fresh[middle, rank]
                if other < 0 or not (new_step or new_other) or _met(table, place, other):
                    continue
                gap = _squared(data, row, other)
                if gap < near[listed - 1]:
                    found += _accept(mine, near, flags, other, gap)
    return found
