"""Loops of the neighbor search: exact distances, the best columns of a row, shared neighbors.

A point is a row of `values` times its entry of `factors`, one over its length for directions, so that no
scaled copy of the data is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = [
    "candidate_distances",
    "candidate_distances_sparse",
    "hash_rows",
    "hash_rows_sparse",
    "keep_lower",
    "keep_once",
    "nearest_by_products",
    "nearest_of_all",
    "nearest_sparse",
    "round_rows",
    "score_four",
    "shared_neighbors",
    "walk_to_nearest",
]

LANES = 32  # columns that are compared with one bound at once


@kernel
def _mix(state: Any, word: Any) -> Any:
    """One round of a multiplicative 64-bit hash."""
    state = (state ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return state ^ (state >> np.uint64(29))


@kernel
def hash_rows(words: Array, out: Array) -> None:
    """Hash every row of `words`, uint64 of shape (n, d), into `out`, uint64 of shape (n,)."""
    for row in range(words.shape[0]):
        state = np.uint64(0x243F6A8885A308D3)
        for column in range(words.shape[1]):
            state = _mix(state, words[row, column])
        out[row] = state


@kernel
def hash_rows_sparse(indptr: Array, indices: Array, words: Array, out: Array) -> None:
    """Hash the columns and value bits of every CSR row into `out`, uint64 of shape (n,)."""
    for row in range(out.shape[0]):
        state = np.uint64(0x243F6A8885A308D3)
        for place in range(indptr[row], indptr[row + 1]):
            state = _mix(_mix(state, np.uint64(indices[place])), words[place])
        out[row] = state


@kernel
def round_rows(values: Array, factors: Array, middle: Array, start: int, out: Array) -> None:
    """Write multiplied rows, from `start` on, into `out` (b, d), float32, moved so that `middle` is at 0."""
    for place in range(out.shape[0]):
        factor = factors[start + place]
        for column in range(out.shape[1]):
            out[place, column] = values[start + place, column] * factor - middle[column]


@kernel
def _distance(values: Array, factor: float, row: int, others: Array, far: float, other: int) -> float:
    """Compute the squared distance of a row of one set of points and a row of another."""
    total = 0.0
    for column in range(values.shape[1]):
        gap = values[row, column] * factor - others[other, column] * far
        total += gap * gap
    return total


@kernel
def _distance_sparse(
    points: tuple[Array, Array, Array], factor: float, row: int,
    others: tuple[Array, Array, Array], far: float, other: int,
) -> float:  # fmt: skip
    """Compute the squared distance of two sorted CSR rows, each matrix as (indptr, indices, values)."""
    left, left_end = points[0][row], points[0][row + 1]
    right, right_end = others[0][other], others[0][other + 1]
    total = 0.0
    while left < left_end or right < right_end:
        if right == right_end or (left < left_end and points[1][left] < others[1][right]):
            gap = points[2][left] * factor
            left += 1
        elif left == left_end or others[1][right] < points[1][left]:
            gap = others[2][right] * far
            right += 1
        else:
            gap = points[2][left] * factor - others[2][right] * far
            left += 1
            right += 1
        total += gap * gap
    return total


@kernel
def _insert(scores: Array, columns: Array, score: Any, column: int) -> None:
    """Put a column into a list sorted by (score, order of arrival), dropping the last one."""
    place = scores.shape[0] - 1
    while place > 0 and scores[place - 1] > score:
        scores[place] = scores[place - 1]
        columns[place] = columns[place - 1]
        place -= 1
    scores[place] = score
    columns[place] = column


@kernel
def candidate_distances(
    values: Array, factors: Array, others: Array, far: Array, own: bool, rows: Array, candidates: Array,
    out: Array,
) -> None:  # fmt: skip
    """Compute squared distances of `rows` to their candidates (b, c) among `others`; infinite for -1.

    `far` holds the factors of `others`. Where these are the rows' `own` set, a row is infinitely far from
    itself, and the lower row comes first: symmetric in every bit.
    """
    for place in range(candidates.shape[0]):
        row = rows[place]
        for rank in range(candidates.shape[1]):
            other = candidates[place, rank]
            if other < 0 or (own and other == row):
                out[place, rank] = np.inf
            elif own and other < row:
                out[place, rank] = _distance(others, far[other], other, values, factors[row], row)
            else:
                out[place, rank] = _distance(values, factors[row], row, others, far[other], other)


@kernel
def candidate_distances_sparse(
    points: tuple[Array, Array, Array],
    factors: Array,
    others: tuple[Array, Array, Array],
    far: Array,
    own: bool,
    rows: Array,
    candidates: Array,
    out: Array,
) -> None:
    """Compute what `candidate_distances` does, for CSR data."""
    for place in range(candidates.shape[0]):
        row = rows[place]
        for rank in range(candidates.shape[1]):
            other = candidates[place, rank]
            if other < 0 or (own and other == row):
                out[place, rank] = np.inf
            elif own and other < row:
                out[place, rank] = _distance_sparse(others, far[other], other, points, factors[row], row)
            else:
                out[place, rank] = _distance_sparse(points, factors[row], row, others, far[other], other)


@kernel
def nearest_of_all(
    values: Array, factors: Array, others: Array, far: Array, own: bool, rows: Array, best: Array,
    columns: Array,
) -> None:  # fmt: skip
    """Find the nearest of `others` for each of `rows`; ties go to the lower column, none to its `own`."""
    last = best.shape[1] - 1
    for place in range(rows.shape[0]):
        row = rows[place]
        for other in range(others.shape[0]):
            if not own or other != row:
                distance = _distance(values, factors[row], row, others, far[other], other)
                if distance < best[place, last]:
                    _insert(best[place], columns[place], distance, other)


@kernel
def _keep_lower(scores: Array, first_column: int, own: int, best: Array, columns: Array) -> None:
    """Merge the `scores` of consecutive columns into the sorted list (`best`, `columns`) of row `own`.

    LANES columns are looked at together: nearly all of them hold nothing below the last of the list.
    """
    width, last = scores.shape[0], best.shape[0] - 1
    bound, start = best[last], 0
    while start < width:
        some, lower = scores[start : start + LANES], np.int32(0)
        for lane in range(some.shape[0]):  # not LANES: a loop of known length would not become wide
            lower += np.int32(some[lane] < bound)
        if lower > 0:
            for lane in range(some.shape[0]):
                column = first_column + start + lane
                if some[lane] < bound and column != own:
                    _insert(best, columns, some[lane], column)
                    bound = best[last]
        start += LANES


@kernel
def keep_lower(scores: Array, first: int, rows: Array, best: Array, columns: Array) -> None:
    """Merge the lowest `scores` (b, n) of each of `rows`, but its own, into `best` and `columns` (b, c).

    The columns of `scores` have the numbers from `first` on; rows that are none of the points are -1.
    """
    for place in range(rows.shape[0]):
        _keep_lower(scores[place], first, rows[place], best[place], columns[place])


@kernel
def keep_once(measures: Array, candidates: Array, best: Array, columns: Array) -> None:
    """Keep the lowest `measures` (b, c) of each row by (measure, candidate) in `best` and `columns` (b, k).

    A candidate counts once however often it comes, and not at all where it is infinitely far. `best` is
    passed in full of infinity.
    """
    last = best.shape[1] - 1
    for row in range(measures.shape[0]):
        scores, found = best[row], columns[row]
        for rank in range(measures.shape[1]):
            score, column = measures[row, rank], candidates[row, rank]
            place = last + 1
            while place > 0 and (
                scores[place - 1] > score or (scores[place - 1] == score and found[place - 1] > column)
            ):
                place -= 1
            known = place > 0 and scores[place - 1] == score and found[place - 1] == column
            if place > last or known or score == np.inf:
                continue
            for later in range(last, place, -1):
                scores[later], found[later] = scores[later - 1], found[later - 1]
            scores[place], found[place] = score, column


@kernel
def score_four(left: Array, row: int, tile: Array, halves: Array, scores: Array) -> None:
    """Compute ``halves[j] - <left[i], column j>`` for four rows from `row` on, into `scores` (4, w).

    Four rows meet four features at a time, which keeps sixteen products in registers for every read of a
    column. This matches the speed of a BLAS on one core without its threads, which cannot be held to one
    caller.
    """
    depth, width = tile.shape
    whole = depth - depth % 4
    s0, s1, s2, s3 = scores[0], scores[1], scores[2], scores[3]
    r0, r1, r2, r3 = left[row], left[row + 1], left[row + 2], left[row + 3]
    for j in range(width):
        half = halves[j]
        s0[j], s1[j], s2[j], s3[j] = half, half, half, half
    for k in range(0, whole, 4):
        c0, c1, c2, c3 = tile[k], tile[k + 1], tile[k + 2], tile[k + 3]
        a00, a01, a02, a03 = r0[k], r0[k + 1], r0[k + 2], r0[k + 3]
        a10, a11, a12, a13 = r1[k], r1[k + 1], r1[k + 2], r1[k + 3]
        a20, a21, a22, a23 = r2[k], r2[k + 1], r2[k + 2], r2[k + 3]
        a30, a31, a32, a33 = r3[k], r3[k + 1], r3[k + 2], r3[k + 3]
        for j in range(width):
            x0, x1, x2, x3 = c0[j], c1[j], c2[j], c3[j]
            s0[j] -= a00 * x0 + a01 * x1 + a02 * x2 + a03 * x3
            s1[j] -= a10 * x0 + a11 * x1 + a12 * x2 + a13 * x3
            s2[j] -= a20 * x0 + a21 * x1 + a22 * x2 + a23 * x3
            s3[j] -= a30 * x0 + a31 * x1 + a32 * x2 + a33 * x3
    for k in range(whole, depth):
        column = tile[k]
        for j in range(width):
            s0[j] -= r0[k] * column[j]
            s1[j] -= r1[k] * column[j]
            s2[j] -= r2[k] * column[j]
            s3[j] -= r3[k] * column[j]


@kernel
def nearest_by_products(
    left: Array, rows: Array, tiles: Array, halves: Array, best: Array, columns: Array
) -> None:
    """Find the columns with the lowest ``halves[j] - <left[i], column j>``.

    That is half the squared distance, but for a constant of the row.

    Parameters
    ----------
    left : float32 ndarray of shape (b, d), b a multiple of 4
    rows : ndarray of shape (b,)
        The number of each row of `left`, so that it does not find itself; -1 where it is none of the points.
    tiles : float32 ndarray of shape (t, d, w)
        All points, w to a tile, one point a column.
    halves : float32 ndarray of shape (t, w)
        Half the squared lengths of all points; infinite past the last one.
    best, columns : ndarrays of shape (b, c)
        The result, best first; to be passed in full of infinity.
    """
    width = tiles.shape[2]
    scores = np.empty((4, width), dtype=np.float32)
    for number in range(tiles.shape[0]):
        tile = tiles[number]
        for row in range(0, left.shape[0], 4):
            score_four(left, row, tile, halves[number], scores)
            for lane in range(4):
                own = rows[row + lane]
                _keep_lower(scores[lane], number * width, own, best[row + lane], columns[row + lane])


@kernel
def nearest_sparse(
    points: tuple[Array, Array, Array],
    words: tuple[Array, Array, Array],
    halves: Array,
    start: int,
    own: bool,
    need_overlap: bool,
    best: Array,
    columns: Array,
) -> None:
    """Find the rows with the lowest ``halves[j] - <i, j>`` for the CSR rows ``start, start + 1, ...``.

    `points` are the scaled rows that ask and `words` the scaled rows of all by column, each as (indptr,
    indices, values). Where they are the same rows, `own`, none finds itself. With `need_overlap` only rows
    with a positive inner product count. One row costs one pass over the lists of its words.
    """
    indptr, indices, values = points
    word_indptr, word_indices, word_values = words
    size = halves.shape[0]
    count = best.shape[1]
    products = np.zeros(size)
    for place in range(best.shape[0]):
        row = start + place
        for entry in range(indptr[row], indptr[row + 1]):
            value = values[entry]
            word = indices[entry]
            for posting in range(word_indptr[word], word_indptr[word + 1]):
                products[word_indices[posting]] += value * word_values[posting]
        worst = best[place, count - 1]
        for other in range(size):
            product = products[other]
            products[other] = 0.0
            score = halves[other] - product
            if score < worst and (not own or other != row) and (product > 0.0 or not need_overlap):
                _insert(best[place], columns[place], score, other)
                worst = best[place, count - 1]


@kernel
def shared_neighbors(neighbors: Array, start: int, stop: int, out: Array) -> None:
    """Compute the Jaccard index of the lists of each row and its neighbors, every point counted in its own.

    `neighbors` (n, k) holds the lists, each rising, with -1 (no neighbor) first; `out` (n, k) stays
    untouched there.
    """
    width = neighbors.shape[1]
    for row in range(start, stop):
        for rank in range(width):
            other = neighbors[row, rank]
            if other < 0:
                continue
            common, size_one, size_two = 0, 1, 1
            holds_one, holds_two = False, False
            left, right = 0, 0
            for place in range(width):
                size_one += neighbors[row, place] >= 0
                size_two += neighbors[other, place] >= 0
                holds_one = holds_one or neighbors[row, place] == other
                holds_two = holds_two or neighbors[other, place] == row
            while left < width and right < width:
                one, two = neighbors[row, left], neighbors[other, right]
                if one < two or one < 0:
                    left += 1
                elif two < one or two < 0:
                    right += 1
                else:
                    common += 1
                    left += 1
                    right += 1
            common += int(holds_one) + int(holds_two)
            out[row, rank] = common / (size_one + size_two - common)


@kernel
def _offer(scores: Array, columns: Array, left: Array, score: float, column: int) -> None:
    """Put a column that has not been left into a list sorted by score, dropping the last one."""
    place = scores.shape[0] - 1
    while place > 0 and scores[place - 1] > score:
        scores[place] = scores[place - 1]
        columns[place] = columns[place - 1]
        left[place] = left[place - 1]
        place -= 1
    scores[place] = score
    columns[place] = column
    left[place] = 0


@kernel
def walk_to_nearest(
    is_sparse: bool,
    dense: tuple[Array, Array],
    sparse: tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]],
    factors: Array,
    far: Array,
    edges: tuple[Array, Array],
    entries: Array,
    start: int,
    best: Array,
    columns: Array,
) -> None:
    """Look for the nearest of other points by walks along their graph, from the nearest of some entries.

    Parameters
    ----------
    is_sparse : bool
        Whether the points are in `sparse` or in `dense`; what is not used has no rows.
    dense : two ndarrays of shapes (q, d) and (n, d)
        The points that ask, and the others.
    sparse : two CSR matrices, each as (indptr, indices, values)
    factors, far : ndarrays of shapes (q,) and (n,)
    edges : (indptr, indices)
        The graph of the others.
    entries : ndarray of shape (b, e)
        Where the walks of each row begin; -1 is none.
    start : int
        The row that the first of `entries` belongs to.
    best, columns : ndarrays of shape (b, c)
        The result, best first; to be passed in full of infinity and of -1. The walk goes on from the nearest
        point not yet left until all c points that are known as nearest have been left.
    """
    indptr, indices = edges
    seen = np.full(far.shape[0], -1, dtype=np.int32)
    width = best.shape[1]
    left = np.zeros(width, dtype=np.int64)  # 1 for those that the walk has gone on from, by place
    for place in range(best.shape[0]):
        row = start + place
        factor = factors[row]
        scores, found = best[place], columns[place]
        left[:] = 0
        turn = 0
        while True:
            if turn < entries.shape[1]:
                node, first, stop = -1, turn, turn + 1
                turn += 1
            else:
                current = 0
                while current < width and (left[current] == 1 or found[current] < 0):
                    current += 1
                if current == width:
                    break
                left[current] = 1
                node = found[current]
                first, stop = indptr[node], indptr[node + 1]
            for edge in range(first, stop):
                other = entries[place, edge] if node < 0 else indices[edge]
                if other < 0 or seen[other] == place:
                    continue
                seen[other] = place
                if is_sparse:
                    distance = _distance_sparse(sparse[0], factor, row, sparse[1], far[other], other)
                else:
                    distance = _distance(dense[0], factor, row, dense[1], far[other], other)
                if distance < scores[width - 1]:
                    _offer(scores, found, left, distance, other)
