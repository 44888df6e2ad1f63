"""Squared distances between points in float64, and points rounded to float32.

A point is a row of features times a factor: one over the length of the row where only its direction counts,
else 1. Multiplying inside the loops saves a scaled copy of the features.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel

__all__ = [
    "DensePoints",
    "SparsePoints",
    "candidate_distances",
    "candidate_distances_sparse",
    "round_rows",
    "squared_distance",
    "squared_distance_sparse",
]


class DensePoints(NamedTuple):
    """Points with dense features: `values` of shape (n, d), and a factor for each row."""

    values: Array
    factors: Array


class SparsePoints(NamedTuple):
    """Points with sparse features, sorted by column within each row, and a factor for each row."""

    rows: Rows
    factors: Array


@kernel
def round_rows(values: Array, factors: Array, middle: Array, start: int, out: Array) -> None:
    """Write points, from row `start` on, into `out` (b, d), float32, moved so that `middle` is at 0."""
    for place in range(out.shape[0]):
        factor = factors[start + place]
        for column in range(out.shape[1]):
            out[place, column] = values[start + place, column] * factor - middle[column]


@kernel
def squared_distance(one: DensePoints, row: int, two: DensePoints, other: int) -> float:
    """Compute the squared distance from a point of one set to a point of another."""
    factor, other_factor = one.factors[row], two.factors[other]
    total = 0.0
    for column in range(one.values.shape[1]):
        gap = one.values[row, column] * factor - two.values[other, column] * other_factor
        total += gap * gap
    return total


@kernel
def squared_distance_sparse(one: SparsePoints, row: int, two: SparsePoints, other: int) -> float:
    """Compute what `squared_distance` does, for sparse features."""
    factor, other_factor = one.factors[row], two.factors[other]
    ptr, columns, values = one.rows
    other_ptr, other_columns, other_values = two.rows
    left, left_end = ptr[row], ptr[row + 1]
    right, right_end = other_ptr[other], other_ptr[other + 1]
    total = 0.0
    while left < left_end or right < right_end:
        if right == right_end or (left < left_end and columns[left] < other_columns[right]):
            gap = values[left] * factor
            left += 1
        elif left == left_end or other_columns[right] < columns[left]:
            gap = other_values[right] * other_factor
            right += 1
        else:
            gap = values[left] * factor - other_values[right] * other_factor
            left += 1
            right += 1
        total += gap * gap
    return total


@kernel
def candidate_distances(
    queries: DensePoints, points: DensePoints, same_set: bool, rows: Array, candidates: Array, out: Array
) -> None:
    """Compute the squared distances from some queries to their candidates among the points.

    `candidates` (b, c) belong to the queries `rows` (b,); the distance to -1 is infinite. Where the queries
    are the points themselves, `same_set`, the distance of a point to itself is infinite, and the lower of two
    rows always comes first, so that both directions have the same bits.
    """
    for place in range(candidates.shape[0]):
        row = rows[place]
        for rank in range(candidates.shape[1]):
            other = candidates[place, rank]
            if other < 0 or (same_set and other == row):
                out[place, rank] = np.inf
            elif same_set and other < row:
                out[place, rank] = squared_distance(points, other, queries, row)
            else:
                out[place, rank] = squared_distance(queries, row, points, other)


@kernel
def candidate_distances_sparse(
    queries: SparsePoints, points: SparsePoints, same_set: bool, rows: Array, candidates: Array, out: Array
) -> None:
    """Compute what `candidate_distances` does, for sparse features."""
    for place in range(candidates.shape[0]):
        row = rows[place]
        for rank in range(candidates.shape[1]):
            other = candidates[place, rank]
            if other < 0 or (same_set and other == row):
                out[place, rank] = np.inf
            elif same_set and other < row:
                out[place, rank] = squared_distance_sparse(points, other, queries, row)
            else:
                out[place, rank] = squared_distance_sparse(queries, row, points, other)
