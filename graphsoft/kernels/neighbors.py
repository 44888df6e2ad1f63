"""Exact searches for nearest neighbors, and the neighbors that two lists share."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel
from graphsoft.kernels.distances import DensePoints, squared_distance
from graphsoft.kernels.lists import Lists, insert, keep_lower_of_row

__all__ = ["nearest_by_products", "nearest_of_all", "nearest_sparse", "score_four", "shared_neighbors"]


@kernel
def nearest_of_all(
    queries: DensePoints, points: DensePoints, same_set: bool, rows: Array, lists: Lists
) -> None:
    """Find the nearest of all points for the queries `rows`, which fill empty lists; ties by column.

    Where the queries are the points themselves, `same_set`, no point finds itself.
    """
    last = lists.scores.shape[1] - 1
    for place in range(rows.shape[0]):
        row = rows[place]
        scores, columns = lists.scores[place], lists.columns[place]
        for other in range(points.values.shape[0]):
            if not same_set or other != row:
                distance = squared_distance(queries, row, points, other)
                if distance < scores[last]:
                    insert(scores, columns, distance, other)


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
def nearest_by_products(left: Array, rows: Array, tiles: Array, halves: Array, lists: Lists) -> None:
    """Find the columns with the lowest ``halves[j] - <left[i], column j>``.

    That is half the squared distance, up to a constant of the row.

    Parameters
    ----------
    left : float32 ndarray of shape (b, d), b a multiple of 4
    rows : ndarray of shape (b,)
        The number of each row of `left`, so that it does not find itself; -1 where it is none of the points.
    tiles : float32 ndarray of shape (t, d, w)
        All points, w to a tile, one point a column.
    halves : float32 ndarray of shape (t, w)
        Half the squared lengths of all points; infinite past the last one.
    lists : Lists of shape (b, c)
        The result; empty when passed in.
    """
    width = tiles.shape[2]
    scores = np.empty((4, width), dtype=np.float32)
    for number in range(tiles.shape[0]):
        tile = tiles[number]
        for row in range(0, left.shape[0], 4):
            score_four(left, row, tile, halves[number], scores)
            for lane in range(4):
                place = row + lane
                keep_lower_of_row(
                    scores[lane], number * width, rows[place], lists.scores[place], lists.columns[place]
                )


@kernel
def nearest_sparse(
    queries: Rows, words: Rows, halves: Array, start: int, same_set: bool, need_overlap: bool, lists: Lists
) -> None:
    """Find the points with the lowest ``halves[j] - <i, j>`` for the queries ``start, start + 1, ...``.

    `queries` are multiplied by their factors, and so are the points, whose entries are stored by column in
    `words`. Where the queries are the points themselves, `same_set`, none finds itself. With `need_overlap`
    only points with a positive inner product count. A query costs one pass over the columns of its words.
    """
    ptr, columns, values = queries
    word_ptr, word_rows, word_values = words
    count, last = halves.shape[0], lists.scores.shape[1] - 1
    products = np.zeros(count)
    for place in range(lists.scores.shape[0]):
        row = start + place
        for entry in range(ptr[row], ptr[row + 1]):
            value = values[entry]
            word = columns[entry]
            for posting in range(word_ptr[word], word_ptr[word + 1]):
                products[word_rows[posting]] += value * word_values[posting]
        worst = lists.scores[place, last]
        for other in range(count):
            product = products[other]
            products[other] = 0.0
            score = halves[other] - product
            if score < worst and (not same_set or other != row) and (product > 0.0 or not need_overlap):
                insert(lists.scores[place], lists.columns[place], score, other)
                worst = lists.scores[place, last]


@kernel
def shared_neighbors(neighbors: Array, start: int, stop: int, out: Array) -> None:
    """Compute the Jaccard index of the list of each row and the list of each of its neighbors.

    Every point counts as a member of its own list. `neighbors` (n, k) holds the lists, each in rising order,
    with -1 (no neighbor) first; there `out` (n, k) is not written to.
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
