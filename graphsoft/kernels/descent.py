"""Loops of the approximate neighbor search: random trees, pairs in their leaves, neighbors of neighbors.

Every point has a list of the nearest points found so far. `ids` holds their numbers, -1 in free places, and
`gaps` their squared distances in float32, in rising order, infinite in free places.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import inlined, kernel
from graphsoft.kernels.hashing import mixed

__all__ = [
    "Round",
    "Tree",
    "fill_reverse",
    "halve_parts",
    "join_leaves",
    "list_met",
    "meet_neighbors_of_neighbors",
    "sketch",
]

LANES = 32  # points of a leaf that are compared at once
SLOTS = 1024  # in the table of points that a row has met: eight kilobytes fit into the first-level cache
SHIFT = 54  # 64 minus the bits of SLOTS - 1


class Tree(NamedTuple):
    """Leaf i of a tree holds ``order[leaves[i]:leaves[i + 1]]``, and point j is ``order[places[j]]``."""

    order: Array
    places: Array
    leaves: Array


class Round(NamedTuple):
    """The lists of all points before a round.

    `fresh` marks what is new in `ids` since the round before. `reverse` (n, r) lists for each point some of
    those that have it in their lists, -1 in free places, and `reverse_fresh` says whether it is new there.
    """

    ids: Array
    fresh: Array
    reverse: Array
    reverse_fresh: Array


@kernel
def sketch(data: Array, places: Array, signs: Array, start: int, stop: int, out: Array) -> None:
    """Add every feature of the rows ``start:stop``, with its sign, to its place in `out` (n, s)."""
    for row in range(start, stop):
        for k in range(data.shape[1]):
            out[row, places[k]] += signs[k] * data[row, k]


@inlined
def _halve(keys: Array, order: Array, start: int, stop: int, middle: int) -> None:
    """Reorder ``order[start:stop]`` so that no key before `middle` is above one from there on.

    ``keys[0]`` belongs to ``order[start]``; keys move together with what they belong to.
    """
    low, high = start, stop - 1
    while low < high:
        pivot = keys[(low + high) // 2 - start]
        left, right = low, high
        while left <= right:
            while keys[left - start] < pivot:
                left += 1
            while keys[right - start] > pivot:
                right -= 1
            if left <= right:
                keys[left - start], keys[right - start] = keys[right - start], keys[left - start]
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
def halve_parts(data: Array, order: Array, start: int, stop: int, leaf: int, seed: Any) -> None:
    """Halve ``order[start:stop]`` again and again, until no part is larger than `leaf`.

    A part is cut at the median along the line through two of its points. Which two depends only on the seed
    and on where the part lies, so a tree is the same however many calls grow it.
    """
    depth = data.shape[1]
    keys = np.empty(stop - start, dtype=np.float32)
    line = np.empty(depth, dtype=np.float32)
    parts = np.empty((128, 2), dtype=np.int64)
    parts[0, 0], parts[0, 1] = start, stop
    height = 1
    while height > 0:
        height -= 1
        first, end = parts[height, 0], parts[height, 1]
        size = end - first
        if size <= leaf:
            continue
        bits = mixed(mixed(np.uint64(seed) + np.uint64(first)) + np.uint64(end))
        one = order[first + np.int64(bits % np.uint64(size))]
        other = order[first + np.int64(mixed(bits) % np.uint64(size))]
        for k in range(depth):
            line[k] = data[one, k] - data[other, k]
        for place in range(first, end):
            row = data[order[place]]
            total = np.float32(0.0)
            for k in range(depth):
                total += row[k] * line[k]
            keys[place - first] = total
        middle = first + size // 2
        _halve(keys, order, first, end, middle)
        parts[height, 0], parts[height, 1] = first, middle
        parts[height + 1, 0], parts[height + 1, 1] = middle, end
        height += 2


@kernel
def _accept(ids: Array, gaps: Array, other: int, gap: Any) -> int:
    """Put a point nearer than the last one into a list, unless it is in there; return how many were put."""
    held = 0
    for rank in range(ids.shape[0]):
        held += ids[rank] == other
    if held > 0:
        return 0
    place = ids.shape[0] - 1
    while place > 0 and gaps[place - 1] > gap:
        ids[place], gaps[place] = ids[place - 1], gaps[place - 1]
        place -= 1
    ids[place], gaps[place] = other, gap
    return 1


@inlined
def _multiply(rows: Array, i: int, j: int, out: Array) -> None:
    """Multiply four rows from `i` on with four from `j` on, into `out` (4, blocks, LANES).

    Sixteen sums stay in registers, and only eight numbers are read for a step of all of them.
    """
    a0, a1, a2, a3 = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
    b0, b1, b2, b3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
    s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = np.float32(0.0)
    s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = np.float32(0.0)
    for k in range(rows.shape[1]):
        x0, x1, x2, x3 = a0[k], a1[k], a2[k], a3[k]
        y0, y1, y2, y3 = b0[k], b1[k], b2[k], b3[k]
        s00, s01, s02, s03 = s00 + x0 * y0, s01 + x0 * y1, s02 + x0 * y2, s03 + x0 * y3
        s10, s11, s12, s13 = s10 + x1 * y0, s11 + x1 * y1, s12 + x1 * y2, s13 + x1 * y3
        s20, s21, s22, s23 = s20 + x2 * y0, s21 + x2 * y1, s22 + x2 * y2, s23 + x2 * y3
        s30, s31, s32, s33 = s30 + x3 * y0, s31 + x3 * y1, s32 + x3 * y2, s33 + x3 * y3
    block, lane = j // LANES, j % LANES
    o0, o1, o2, o3 = out[0, block], out[1, block], out[2, block], out[3, block]
    o0[lane], o0[lane + 1], o0[lane + 2], o0[lane + 3] = s00, s01, s02, s03
    o1[lane], o1[lane + 1], o1[lane + 2], o1[lane + 3] = s10, s11, s12, s13
    o2[lane], o2[lane + 1], o2[lane + 2], o2[lane + 3] = s20, s21, s22, s23
    o3[lane], o3[lane + 1], o3[lane + 2], o3[lane + 3] = s30, s31, s32, s33


@inlined
def _offer_pairs(
    products: Array, own: int, members: Array, halves: Array, bounds: Array, ids: Array,
    gaps: Array,
) -> int:  # fmt: skip
    """Offer a point of a leaf and those after it to each other; return how many lists took the other point.

    `products` (blocks, LANES) are the inner products of the point with all `members`, `halves` half their
    squared lengths, and `bounds` half the last squared distance in the list of each.
    """
    row, found = members[own], 0
    mine, near, last = ids[row], gaps[row], ids.shape[1] - 1
    half, bound = halves[own // LANES, own % LANES], bounds[own // LANES, own % LANES]
    products[own // LANES, : own % LANES + 1] = -np.inf  # so the point itself and those before are far away
    for block in range(own // LANES, products.shape[0]):
        product, other_half, other_bound = products[block], halves[block], bounds[block]
        hits = np.int32(0)
        for lane in range(product.shape[0]):  # with LANES, a constant, it would not be vectorized
            apart = half + other_half[lane] - product[lane]
            hits += np.int32((apart < bound) | (apart < other_bound[lane]))
        if hits == 0:
            continue
        for lane in range(LANES):
            apart = half + other_half[lane] - product[lane]
            if apart < bound or apart < other_bound[lane]:
                other, gap = members[block * LANES + lane], max(np.float32(0.0), 2 * apart)
                if gap < near[last]:
                    found += _accept(mine, near, other, gap)
                    bound = near[last] / 2
                if gap < gaps[other, last]:
                    found += _accept(ids[other], gaps[other], row, gap)
                    other_bound[lane] = gaps[other, last] / 2
    return found


@kernel
def list_met(members: Array, first: int, places: Array, ids: Array, met: Array, counts: Array) -> None:
    """List for each point of a leaf the later ones there that it has in its list, or that have it in theirs.

    `first` is the place of the first member. What does not fit into `met` is left out.
    """
    counts[:] = 0
    for i in range(len(members)):
        for rank in range(ids.shape[1]):
            other = ids[members[i], rank]
            j = places[other] - first if other >= 0 else -1
            if 0 <= j < len(members):
                low, high = min(i, j), max(i, j)
                if counts[low] < met.shape[1]:
                    met[low, counts[low]] = high
                    counts[low] += 1


@kernel
def join_leaves(data: Array, tree: Tree, start: int, stop: int, ids: Array, gaps: Array) -> int:
    """Let the points of each of the leaves ``start:stop`` find each other; return how many were found.

    Two points of which one has the other in its list have met before and are skipped. From the second tree on
    these are nearly all points that are near each other. Features are taken relative to a point of the leaf,
    so that little is lost to rounding.
    """
    order, places, leaves = tree
    depth, last, found, max_size = data.shape[1], ids.shape[1] - 1, 0, 0
    for leaf in range(start, stop):
        max_size = max(max_size, leaves[leaf + 1] - leaves[leaf])
    blocks = (max_size + LANES - 1) // LANES
    rows = np.zeros((blocks * LANES, depth), dtype=np.float32)
    halves = np.empty((blocks, LANES), dtype=np.float32)
    bounds = np.empty((blocks, LANES), dtype=np.float32)
    products = np.zeros((4, blocks, LANES), dtype=np.float32)
    met = np.empty((max_size, 2 * ids.shape[1]), dtype=np.int32)
    counts = np.empty(max_size, dtype=np.int64)
    for leaf in range(start, stop):
        members = order[leaves[leaf] : leaves[leaf + 1]]
        list_met(members, leaves[leaf], places, ids, met, counts)
        halves[:] = np.inf  # past the last member nothing is near
        bounds[:] = -np.inf
        for i in range(len(members)):
            moved, total = rows[i], np.float32(0.0)
            source, origin = data[members[i]], data[members[0]]
            for k in range(depth):
                moved[k] = source[k] - origin[k]
            for k in range(depth):
                total += moved[k] * moved[k]
            halves[i // LANES, i % LANES] = total / 2
            bounds[i // LANES, i % LANES] = gaps[members[i], last] / 2
        for i in range(0, len(members), 4):
            for j in range(i, len(members), 4):
                _multiply(rows, i, j, products)
            for own in range(i, min(i + 4, len(members))):
                for place in range(counts[own]):
                    other = met[own, place]
                    products[own - i, other // LANES, other % LANES] = -np.inf
                found += _offer_pairs(products[own - i], own, members, halves, bounds, ids, gaps)
    return found


@kernel
def fill_reverse(ids: Array, fresh: Array, start: int, stop: int, out: Array, fresh_out: Array) -> None:
    """List for each of the points ``start:stop`` some of those that have it in their lists, best ranks first.

    `ids` and `fresh` are transposed, (listed, n), because they are read rank by rank. `out` (n, r) is full of
    -1 when passed in.
    """
    filled = np.zeros(stop - start, dtype=np.int32)
    for rank in range(ids.shape[0]):
        ranked, marks = ids[rank], fresh[rank]
        for row in range(ids.shape[1]):
            other = ranked[row]
            if start <= other < stop and filled[other - start] < out.shape[1]:
                out[other, filled[other - start]] = row
                fresh_out[other, filled[other - start]] = marks[row]
                filled[other - start] += 1


@kernel
def _met(table: Array, stamp: int, point: int) -> bool:
    """Tell whether a row has met a point, and remember the point if there is a free slot for it."""
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


@inlined
def _measure_four(data: Array, row: int, others: Array, out: Array) -> None:
    """Compute the squared distances of a row to four others, which are fetched from memory at once."""
    mine = data[row]
    b0, b1, b2, b3 = data[others[0]], data[others[1]], data[others[2]], data[others[3]]
    s0 = s1 = s2 = s3 = np.float32(0.0)
    for k in range(data.shape[1]):
        own = mine[k]
        g0, g1, g2, g3 = own - b0[k], own - b1[k], own - b2[k], own - b3[k]
        s0, s1, s2, s3 = s0 + g0 * g0, s1 + g1 * g1, s2 + g2 * g2, s3 + g3 * g3
    out[0], out[1], out[2], out[3] = s0, s1, s2, s3


@inlined
def _gather(row: int, old: Round, table: Array, out: Array) -> int:
    """Write the neighbors of the neighbors of a row into `out`, each once, and return how many there are.

    A point is skipped where neither of the two steps to it is fresh.
    """
    ids, fresh, reverse, reverse_fresh = old
    count, listed = 0, ids.shape[1]
    _met(table, row, row)
    for rank in range(listed):
        if ids[row, rank] >= 0:
            _met(table, row, ids[row, rank])
    for step in range(listed + reverse.shape[1]):
        middle = ids[row, step] if step < listed else reverse[row, step - listed]
        if middle < 0:
            continue
        new_step = fresh[row, step] if step < listed else reverse_fresh[row, step - listed]
        theirs, new = ids[middle], fresh[middle]
        for rank in range(listed):
            if theirs[rank] >= 0 and (new_step or new[rank]) and not _met(table, row, theirs[rank]):
                out[count] = theirs[rank]
                count += 1
    return count


@inlined
def _mark_fresh(ids: Array, old: Array, fresh: Array) -> None:
    """Mark the points of a list that it did not hold before."""
    for rank in range(ids.shape[0]):
        held = 0
        for other in range(old.shape[0]):
            held += old[other] == ids[rank]
        fresh[rank] = held == 0


@kernel
def meet_neighbors_of_neighbors(
    data: Array, start: int, stop: int, old: Round, ids: Array, gaps: Array, fresh: Array
) -> int:
    """Let the points ``start:stop`` meet the neighbors of their neighbors; return how many were found.

    `ids` holds the same as `old` at first, and only the rows of these points change.
    """
    table = np.full(SLOTS, -1, dtype=np.int64)
    # up to three places after the last candidate are read too, and not used
    candidates = np.zeros((ids.shape[1] + old.reverse.shape[1]) * ids.shape[1] + 3, dtype=np.int32)
    apart = np.empty(4, dtype=np.float32)
    last, found = ids.shape[1] - 1, 0
    for row in range(start, stop):
        mine, near = ids[row], gaps[row]
        count = _gather(row, old, table, candidates)
        for first in range(0, count, 4):
            _measure_four(data, row, candidates[first : first + 4], apart)
            for place in range(min(4, count - first)):
                if apart[place] < near[last]:
                    found += _accept(mine, near, candidates[first + place], apart[place])
        _mark_fresh(mine, old.ids[row], fresh[row])
    return found
