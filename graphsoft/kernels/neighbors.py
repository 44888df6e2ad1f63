"""Loops of the neighbour search: exact distances, the best columns of a row, shared neighbours.

A point is a row of `values` times its entry of `factors`, one over its length for directions, so that no
scaled copy of the data is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import kernel

__all__ = [
    "candidate_distances",
    "candidate_distances_sparse",
    "hash_rows",
    "hash_rows_sparse",
    "keep_lower",
    "nearest_by_products",
    "nearest_of_all",
    "nearest_sparse",
    "shared_neighbors",
]

Array = np.ndarray[Any, np.dtype[Any]]


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
def _squared_distance(values: Array, factors: Array, one: int, other: int) -> float:
    """Compute the squared distance of two points; the lower row comes first: symmetric in every bit."""
    first, second = min(one, other), max(one, other)
    first_factor, second_factor = factors[first], factors[second]
    total = 0.0
    for column in range(values.shape[1]):
        gap = values[first, column] * first_factor - values[second, column] * second_factor
        total += gap * gap
    return total


@kernel
def candidate_distances(values: Array, factors: Array, rows: Array, candidates: Array, out: Array) -> None:
    """Compute squared distances of `rows` to their `candidates` (b, c); infinite for -1 and themselves."""
    for place in range(rows.shape[0]):
        row = rows[place]
        for rank in range(candidates.shape[1]):
            other = candidates[place, rank]
            if other < 0 or other == row:
                out[place, rank] = np.inf
            else:
                out[place, rank] = _squared_distance(values, factors, row, other)


@kernel
def _squared_distance_sparse(
    indptr: Array, indices: Array, values: Array, factors: Array, one: int, other: int
) -> float:
    """Compute the squared distance of two sorted CSR rows, symmetric in every bit."""
    first, second = min(one, other), max(one, other)
    left, left_end = indptr[first], indptr[first + 1]
    right, right_end = indptr[second], indptr[second + 1]
    total = 0.0
    while left < left_end or right < right_end:
        gap = 0.0
        if right == right_end or (left < left_end and indices[left] < indices[right]):
            gap = values[left] * factors[first]
            left += 1
        elif left == left_end or indices[right] < indices[left]:
            gap = values[right] * factors[second]
            right += 1
        else:
            gap = values[left] * factors[first] - values[right] * factors[second]
            left += 1
            right += 1
        total += gap * gap
    return total


@kernel
def candidate_distances_sparse(
    indptr: Array, indices: Array, values: Array, factors: Array, rows: Array, candidates: Array, out: Array
) -> None:
    """Compute what `candidate_distances` does, for CSR data."""
    for place in range(rows.shape[0]):
        row = rows[place]
        for rank in range(candidates.shape[1]):
            other = candidates[place, rank]
            if other < 0 or other == row:
                out[place, rank] = np.inf
            else:
                out[place, rank] = _squared_distance_sparse(indptr, indices, values, factors, row, other)


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
def _keep_lower(scores: Array, first_column: int, own: int, best: Array, columns: Array) -> None:
    """Merge the `scores` of consecutive columns into the sorted list (`best`, `columns`) of row `own`.

    Lanes of 32 columns are looked at together: nearly all of them hold nothing below the last of the list.
    """
    width = scores.shape[0]
    last = best.shape[0] - 1
    start = 0
    while start < width:
        stop = min(start + 32, width)
        lower = 0
        for column in range(start, stop):
            lower += scores[column] < best[last]
        if lower > 0:
            for column in range(start, stop):
                if scores[column] < best[last] and first_column + column != own:
                    _insert(best, columns, scores[column], first_column + column)
        start = stop


@kernel
def keep_lower(scores: Array, rows: Array, best: Array, columns: Array) -> None:
    """Find the lowest `scores` (b, n) of each of `rows` but its own: into `best` and `columns` (b, c)."""
    for place in range(rows.shape[0]):
        _keep_lower(scores[place], 0, rows[place], best[place], columns[place])


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
        The number of each row of `left`, so that it does not find itself.
    tiles : float32 ndarray of shape (t, d, w)
        All points, w to a tile, one point a column.
    halves : float32 ndarray of shape (t, w)
        Half the squared lengths of all points; infinite past the last one.
    best, columns : ndarrays of shape (b, c)
        The result, best first; to be passed in full of infinity.

    Notes
    -----
    Four rows meet four features at a time, which keeps sixteen products in registers for every read of a
    column. This matches the speed of a BLAS on one core without its threads, which cannot be held to one
    caller.
    """
    depth, width = tiles.shape[1], tiles.shape[2]
    whole = depth - depth % 4
    scores = np.empty((4, width), dtype=np.float32)
    s0, s1, s2, s3 = scores[0], scores[1], scores[2], scores[3]
    for number in range(tiles.shape[0]):
        tile = tiles[number]
        for row in range(0, left.shape[0], 4):
            r0, r1, r2, r3 = left[row], left[row + 1], left[row + 2], left[row + 3]
            for j in range(width):
                half = halves[number, j]
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
            for lane in range(4):
                own = rows[row + lane]
                _keep_lower(scores[lane], number * width, own, best[row + lane], columns[row + lane])


@kernel
def nearest_of_all(values: Array, factors: Array, rows: Array, best: Array, columns: Array) -> None:
    """Find the nearest other points of each of `rows` among all; ties go to the lower column."""
    count = best.shape[1]
    for place in range(rows.shape[0]):
        row = rows[place]
        for other in range(values.shape[0]):
            if other != row:
                distance = _squared_distance(values, factors, row, other)
                if distance < best[place, count - 1]:
                    _insert(best[place], columns[place], distance, other)


@kernel
def nearest_sparse(
    points: tuple[Array, Array, Array],
    words: tuple[Array, Array, Array],
    halves: Array,
    start: int,
    need_overlap: bool,
    best: Array,
    columns: Array,
) -> None:
    """Find the rows with the lowest ``halves[j] - <i, j>`` for the CSR rows ``start, start + 1, ...``.

    `points` are the scaled rows and `words` the same numbers by column, each as (indptr, indices, values).
    With `need_overlap` only rows with a positive inner product count. One row costs one pass over the lists
    of its words.
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
            if score < worst and other != row and (product > 0.0 or not need_overlap):
                _insert(best[place], columns[place], score, other)
                worst = best[place, count - 1]


@kernel
def shared_neighbors(neighbors: Array, start: int, stop: int, out: Array) -> None:
    """Compute the Jaccard index of the lists of each row and its neighbours, every point counted in its own.

    `neighbors` (n, k) holds the lists, each rising, with -1 (no neighbour) first; `out` (n, k) stays
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
