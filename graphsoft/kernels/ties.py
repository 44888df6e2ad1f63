"""Loops that decide between equal scores, if possible independently of the order of the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel
from graphsoft.kernels.hashing import mixed

__all__ = ["ABOVE", "BELOW", "hash_neighborhoods", "rank_of", "wins_tie"]

# The last bits of a score depend on the order in which weights were added up. Scores that agree in the other
# 39 bits after the leading one are equal.
DROPPED_BITS = 13
# A value beyond these multiples of another has another rank for sure; only in between the ranks are compared.
ABOVE, BELOW = 1.0 + 2.0**-36, 1.0 - 2.0**-36
# Weights in hashes keep 20 bits after the leading one.
DROPPED_IN_HASHES = 32


@kernel
def rank_of(value: Any) -> Any:
    """Turn a number that is not negative into an integer of the same order, equal if only rounding differs.

    Floats that are not negative have the same order if their bits are read as integers. They are rounded to
    the nearest, so that numbers of few bits, such as 1/4, are in the middle of those of the same rank.
    """
    return (np.float64(value).view(np.int64) + (1 << (DROPPED_BITS - 1))) >> DROPPED_BITS


@kernel
def wins_tie(value: float, score: float, i: int, j: int, best: int, degrees: Array, keys: Array) -> Any:
    """Tell whether `j` is a better partner for `i` than `best`; their scores times d_i are close.

    If the scores have the same rank, the lighter node wins, then the pair whose keys have the smaller sum,
    and last a hash of the numbers. All nodes see the pairs in the same order, so partners form no circles.
    """
    first, second = rank_of(value / degrees[i]), rank_of(score / degrees[i])
    if first != second:
        return first > second
    first, second = rank_of(degrees[j]), rank_of(degrees[best])
    if first != second:
        return first < second
    if keys[j] != keys[best]:
        return keys[i] + keys[j] < keys[i] + keys[best]
    own = mixed(np.uint64(i))
    return own + mixed(np.uint64(j)) < own + mixed(np.uint64(best))


@kernel
def hash_neighborhoods(rows: Rows, scale: float, keys: Array, start: int, stop: int, out: Array) -> None:
    """Hash for the nodes `start:stop` their own key, and the keys and weights of their neighbors.

    The order of the neighbors does not matter. Weights are multiplied by `scale` first, and rounded.
    """
    half = np.int64(1) << np.int64(DROPPED_IN_HASHES - 1)
    for i in range(start, stop):
        total = np.uint64(0)
        for edge in range(rows.ptr[i], rows.ptr[i + 1]):
            j = rows.columns[edge]
            bits = np.float64(rows.values[edge] * scale).view(np.int64) + half
            weight = np.uint64(bits >> np.int64(DROPPED_IN_HASHES))
            loop = np.uint64(1 if j == i else 0) << np.uint64(63)
            total += mixed(keys[j] + mixed(weight | loop))
        out[i] = mixed(keys[i] * np.uint64(3) + total)
