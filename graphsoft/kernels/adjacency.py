"""Loops over the rows of a graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel
from graphsoft.kernels.hashing import mixed

__all__ = ["find_components", "grow_clumps", "mirror_sum", "reorder", "row_sums"]


@kernel
def row_sums(ptr: Array, weights: Array, start: int, stop: int, sums: Array) -> None:
    """Sum the weights of the rows `start:stop` in float64."""
    for i in range(start, stop):
        total = 0.0
        for edge in range(ptr[i], ptr[i + 1]):
            total += weights[edge]
        sums[i] = total


@kernel
def mirror_sum(edges: Rows, start: int, stop: int) -> Any:
    """Add up a hash of each entry above the diagonal minus that of each entry below it, in `start:stop`.

    The values of `edges` are the 64 bits of each weight. A hash depends on the weight and the pair of nodes,
    but not on which of the two is the row. So over all rows of a symmetric matrix the sum is 0, modulo 2**64.
    """
    ptr, columns, bits = edges
    total = np.uint64(0)
    for i in range(start, stop):
        for edge in range(ptr[i], ptr[i + 1]):
            j = np.int64(columns[edge])
            low, high = (i, j) if i < j else (j, i)
            pair = (np.uint64(low) << np.uint64(32)) ^ np.uint64(high)
            sign = np.uint64(np.int64(j > i) - np.int64(j < i))
            total += sign * mixed(mixed(pair + np.uint64(0x9E3779B97F4A7C15)) ^ bits[edge])
    return total


@kernel
def find_components(ptr: Array, columns: Array, labels: Array) -> int:
    """Label the connected components of a symmetric matrix, numbered by their first nodes.

    Returns how many there are.
    """
    for i in range(len(labels)):
        labels[i] = i
        root = i
        for edge in range(ptr[i], ptr[i + 1]):
            other = columns[edge]
            if other >= i:
                continue
            while labels[other] != other:  # go to the root, and halve the way for the next time
                labels[other] = labels[labels[other]]
                other = labels[other]
            low, high = min(root, other), max(root, other)
            labels[high] = low
            root = low
    count = 0
    for i in range(len(labels)):
        if labels[i] == i:
            labels[i] = -count - 1  # negative: has its final number
            count += 1
        else:
            labels[i] = labels[labels[i]]
    for i in range(len(labels)):
        labels[i] = -labels[i] - 1
    return count


@kernel
def grow_clumps(
    ptr: Array, columns: Array, size: int, more: int, listed: tuple[int, int], taken: Array, order: Array
) -> tuple[int, int]:
    """List at least `more` nodes more in `order`, clump by clump.

    `listed` says how many nodes are listed, and a node below which all are; the same is returned.

    A clump grows by breadth-first search from the lowest node that is in none, until it has `size` nodes or
    somewhat more. `taken` tells for each node whether it is listed.
    """
    filled, lowest = listed
    stop = min(filled + more, len(order))
    while filled < stop:
        while taken[lowest]:
            lowest += 1
        order[filled] = lowest
        taken[lowest] = True
        head, full = filled, filled + size
        filled += 1
        while head < filled < full:
            i = order[head]
            head += 1
            for edge in range(ptr[i], ptr[i + 1]):
                j = columns[edge]
                if not taken[j]:
                    taken[j] = True
                    order[filled] = j
                    filled += 1
    return filled, lowest


@kernel
def reorder(edges: Rows, nodes: Array, places: Array, start: int, stop: int, out: Rows) -> None:
    """Write the rows of ``nodes[start:stop]``, with columns numbered by `places`, where ``out.ptr`` says."""
    ptr, columns, weights = edges
    out_ptr, out_columns, out_weights = out
    for at in range(start, stop):
        filled = out_ptr[at]
        for edge in range(ptr[nodes[at]], ptr[nodes[at] + 1]):
            out_columns[filled] = places[columns[edge]]
            out_weights[filled] = weights[edge]
            filled += 1
