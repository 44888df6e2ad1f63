"""Walks along a graph of points, from each to ever nearer ones, in search of the nearest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel
from graphsoft.kernels.distances import DensePoints, SparsePoints, squared_distance, squared_distance_sparse
from graphsoft.kernels.lists import Lists

__all__ = ["EitherPoints", "walk_to_nearest"]


class EitherPoints(NamedTuple):
    """Points with dense or with sparse features, so that one compiled loop takes both.

    The form that is not used has no rows.
    """

    is_sparse: bool
    dense: DensePoints
    sparse: SparsePoints


@kernel
def _offer(scores: Array, columns: Array, left: Array, score: float, column: int) -> None:
    """Put a column that has not been left into a list sorted by score, and drop the last one."""
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
    queries: EitherPoints, points: EitherPoints, edges: tuple[Array, Array], entries: Array, start: int,
    lists: Lists,
) -> None:  # fmt: skip
    """Look for the points nearest to some queries by walks along a graph of the points.

    Parameters
    ----------
    queries, points : EitherPoints
    edges : (ptr, columns)
        The graph of the points, as in CSR.
    entries : ndarray of shape (b, e)
        The points at which the walk of each query begins; -1 is none.
    start : int
        The query that the first row of `entries` belongs to.
    lists : Lists of shape (b, c)
        The result; empty when passed in. The walk goes on from the nearest point that it has not left yet,
        until it has left all c points of the list.
    """
    ptr, neighbors = edges
    is_sparse, dense, sparse = points
    _, dense_queries, sparse_queries = queries
    count = sparse.factors.shape[0] if is_sparse else dense.factors.shape[0]
    seen = np.full(count, -1, dtype=np.int32)
    width = lists.scores.shape[1]
    left = np.zeros(width, dtype=np.int64)  # 1 at the places of the list that the walk has left
    for place in range(lists.scores.shape[0]):
        row = start + place
        scores, columns = lists.scores[place], lists.columns[place]
        left[:] = 0
        turn = 0
        while True:
            if turn < entries.shape[1]:
                node, first, stop = -1, turn, turn + 1
                turn += 1
            else:
                current = 0
                while current < width and (left[current] == 1 or columns[current] < 0):
                    current += 1
                if current == width:
                    break
                left[current] = 1
                node = columns[current]
                first, stop = ptr[node], ptr[node + 1]
            for edge in range(first, stop):
                other = entries[place, edge] if node < 0 else neighbors[edge]
                if other < 0 or seen[other] == place:
                    continue
                seen[other] = place
                if is_sparse:
                    distance = squared_distance_sparse(sparse_queries, row, sparse, other)
                else:
                    distance = squared_distance(dense_queries, row, dense, other)
                if distance < scores[width - 1]:
                    _offer(scores, columns, left, distance, other)
