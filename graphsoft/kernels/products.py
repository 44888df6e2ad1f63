"""Products of a sparse matrix with a dense one, and of the memberships of clusters with each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel
from graphsoft.kernels.growing import longer

__all__ = ["LeastSquares", "gram", "links", "times_dense"]


class LeastSquares(NamedTuple):
    """How ``scale S S^T`` fits a matrix W in squares: the products ``W S`` and ``S^T S``, and the scale."""

    product: Array
    overlap: Array
    scale: float


@kernel
def gram(dense: Array, start: int, stop: int, result: Array) -> None:
    """Write ``S^T S`` over the rows ``start:stop`` into `result`, (k, k)."""
    count = dense.shape[1]
    for q in range(count):
        for r in range(count):
            result[q, r] = 0.0
    for i in range(start, stop):
        for q in range(count):
            for r in range(q + 1):
                result[q, r] += dense[i, q] * dense[i, r]
    for q in range(count):
        for r in range(q):
            result[r, q] = result[q, r]


@kernel
def times_dense(matrix: Rows, dense: Array, start: int, stop: int, result: Array) -> None:
    """Write the rows ``start:stop`` of ``A @ dense`` into `result`."""
    ptr, columns, values = matrix
    width = dense.shape[1]
    for i in range(start, stop):
        for q in range(width):
            result[i, q] = 0.0
        for at in range(ptr[i], ptr[i + 1]):
            value, j = values[at], columns[at]
            for q in range(width):
                result[i, q] += value * dense[j, q]


@kernel
def links(by_cluster: Rows, by_node: Rows, weights: Array, start: int, stop: int) -> tuple[Array, ...]:
    """Sum ``s_iq w_i s_ip`` over all nodes i, for the clusters q in ``start:stop`` and p from q on.

    The memberships are passed twice, with a row for each cluster and with a row for each node.
    """
    cluster_ptr, members, shares = by_cluster
    ptr, clusters, held = by_node
    count = len(cluster_ptr) - 1
    place, out_ptr = np.full(count, -1, dtype=np.int64), np.zeros(stop - start + 1, dtype=np.int64)
    out, sums = np.empty(count, dtype=np.int32), np.empty(count)
    filled = np.int64(0)  # for a plain 0 Numba would compile `longer` once more
    for q in range(start, stop):
        first = filled
        if filled + count > len(out):
            room = 2 * (filled + count)
            out, sums = longer(out, filled, room), longer(sums, filled, room)
        for at in range(cluster_ptr[q], cluster_ptr[q + 1]):
            i = members[at]
            value = shares[at] * weights[i]
            for entry in range(ptr[i], ptr[i + 1]):
                p = clusters[entry]
                if p < q:
                    continue
                if place[p] < first:
                    place[p] = filled
                    out[filled], sums[filled] = p, 0.0
                    filled += 1
                sums[place[p]] += value * held[entry]
        out_ptr[q - start + 1] = filled
    return out_ptr, longer(out, filled, filled), longer(sums, filled, filled)
