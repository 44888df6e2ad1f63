"""The growth transformation of Baum and Eagon for least squares on memberships, and the sums it needs."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["gram", "grow"]


@kernel
def gram(shares: Array, start: int, stop: int, result: Array) -> None:
    """Write ``S^T S`` over the rows ``start:stop`` into `result`, (k, k)."""
    count = shares.shape[1]
    for q in range(count):
        for r in range(count):
            result[q, r] = 0.0
    for i in range(start, stop):
        for q in range(count):
            for r in range(q + 1):
                result[q, r] += shares[i, q] * shares[i, r]
    for q in range(count):
        for r in range(q):
            result[r, q] = result[q, r]


@kernel
def grow(
    shares: Array,
    product: Array,
    overlap: Array,
    scale: float,
    constant: float,
    margin: float,
    start: int,
    stop: int,
    result: Array,
) -> None:
    """Multiply the shares of the rows ``start:stop`` by ``constant + pull``, and divide by the sums.

    The pull is ``W S - scale S S^T S``, with `product` W S and `overlap` S^T S. A constant that leaves less
    than `margin` of the spread of a row's pulls to its worst cluster is raised to that.
    """
    count = shares.shape[1]
    pull = np.empty(count)
    for i in range(start, stop):
        lowest, highest = np.inf, -np.inf
        for q in range(count):
            model = 0.0
            for r in range(count):
                model += shares[i, r] * overlap[r, q]
            pull[q] = product[i, q] - scale * model
            lowest, highest = min(lowest, pull[q]), max(highest, pull[q])
        raised = max(constant, margin * (highest - lowest) - min(lowest, 0.0))
        total = 0.0
        for q in range(count):
            result[i, q] = shares[i, q] * (raised + pull[q])
            total += result[i, q]
        for q in range(count):
            result[i, q] = result[i, q] / total if total > 0.0 else shares[i, q]
