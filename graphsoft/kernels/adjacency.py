"""Loops over the rows of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import kernel

__all__ = ["find_components", "is_mirrored", "row_sums"]

Array = np.ndarray[Any, np.dtype[Any]]


@kernel
def row_sums(indptr: Array, weights: Array, start: int, stop: int, sums: Array) -> None:
    """Sum the weights of the rows `start:stop` in float64."""
    for i in range(start, stop):
        total = 0.0
        for edge in range(indptr[i], indptr[i + 1]):
            total += weights[edge]
        sums[i] = total


@kernel
def is_mirrored(indptr: Array, indices: Array, weights: Array) -> bool:
    """Tell whether a matrix with sorted columns equals its transpose, without making that.

    Row after row, the entries of a column come in the order in which the row of that number stores its own.
    """
    cursor = indptr[:-1].copy()
    for i in range(len(cursor)):
        for edge in range(indptr[i], indptr[i + 1]):
            j = indices[edge]
            at = cursor[j]
            if at == indptr[j + 1] or indices[at] != i or weights[at] != weights[edge]:
                return False
            cursor[j] += 1
    return True


@kernel
def find_components(indptr: Array, indices: Array, labels: Array) -> int:
    """Find connected components, numbered by their first nodes, of a symmetric matrix; returns how many."""
    for i in range(len(labels)):
        labels[i] = i
        root = i
        for edge in range(indptr[i], indptr[i + 1]):
            other = indices[edge]
            if other >= i:
                continue
            while labels[other] != other:  # to the root, and half as far the next time
                labels[other] = labels[labels[other]]
                other = labels[other]
            low, high = min(root, other), max(root, other)
            labels[high] = low
            root = low
    count = 0
    for i in range(len(labels)):
        if labels[i] == i:
            labels[i] = -count - 1  # negative: done
            count += 1
        else:
            labels[i] = labels[labels[i]]
    for i in range(len(labels)):
        labels[i] = -labels[i] - 1
    return count
