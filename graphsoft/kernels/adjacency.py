"""Loops over the rows of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel
from graphsoft.kernels.hashing import mixed

__all__ = ["find_components", "grow_clumps", "mirror_sum", "reorder", "row_sums"]


@kernel
def row_sums(indptr: Array, weights: Array, start: int, stop: int, sums: Array) -> None:
    """Sum the weights of the rows `start:stop` in float64."""
    for i in range(start, stop):
        total = 0.0
        for edge in range(indptr[i], indptr[i + 1]):
            total += weights[edge]
        sums[i] = total


@kernel
def mirror_sum(indptr: Array, indices: Array, weights: Array, start: int, stop: int) -> Any:
    """Add up a hash of each entry above the diagonal less that of each below, for the rows `start:stop`.

    `weights` are passed as the 64 bits of each. A hash knows the pair of nodes and the weight, not which of
    them is the row: over all rows of a symmetric matrix the sum is 0, modulo 2**64.
    """
    total = np.uint64(0)
    for i in range(start, stop):
        for edge in range(indptr[i], indptr[i + 1]):
            j = np.int64(indices[edge])
            low, high = (i, j) if i < j else (j, i)
            pair = (np.uint64(low) << np.uint64(32)) ^ np.uint64(high)
            sign = np.uint64(np.int64(j > i) - np.int64(j < i))
            total += sign * mixed(mixed(pair + np.uint64(0x9E3779B97F4A7C15)) ^ weights[edge])
    return total


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


@kernel
def grow_clumps(
    indptr: Array, indices: Array, size: int, enough: int, filled: int, seed: int, taken: Array, order: Array
) -> tuple[int, int]:
    """List nodes clump by clump, from place `filled` of `order` on, until `enough` more are listed.

    A clump grows by breadth-first search from the lowest node that is in none, until it has `size` nodes or
    somewhat more. Returns how many are listed now and where to look for the next first node.
    """
    stop = min(filled + enough, len(order))
    while filled < stop:
        while taken[seed]:
            seed += 1
        order[filled] = seed
        taken[seed] = True
        head, full = filled, filled + size
        filled += 1
        while head < filled < full:
            i = order[head]
            head += 1
            for edge in range(indptr[i], indptr[i + 1]):
                j = indices[edge]
                if not taken[j]:
                    taken[j] = True
                    order[filled] = j
                    filled += 1
    return filled, seed


@kernel
def reorder(
    indptr: Array,
    indices: Array,
    weights: Array,
    nodes: Array,
    places: Array,
    start: int,
    stop: int,
    out_ptr: Array,
    out_indices: Array,
    out_weights: Array,
) -> None:
    """Write the rows of ``nodes[start:stop]``, with columns numbered by `places`."""
    for at in range(start, stop):
        filled = out_ptr[at]
        for edge in range(indptr[nodes[at]], indptr[nodes[at] + 1]):
            out_indices[filled] = places[indices[edge]]
            out_weights[filled] = weights[edge]
            filled += 1
