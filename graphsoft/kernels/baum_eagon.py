"""The growth transformation of Baum and Eagon for least squares on memberships."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel
from graphsoft.kernels.products import LeastSquares

__all__ = ["grow"]


@kernel
def grow(
    shares: Array, fit: LeastSquares, constant: float, margin: float, start: int, stop: int, result: Array
) -> None:
    """Multiply the shares of the rows ``start:stop`` by ``constant + pull``, and divide by their sum.

    The pull is ``W S - scale S S^T S``. In each row, the least factor must be at least `margin` times the
    spread of the pulls; a constant too small for that is raised.
    """
    count, product, overlap = shares.shape[1], fit.product, fit.overlap
    pull = np.empty(count)
    for i in range(start, stop):
        lowest, highest = np.inf, -np.inf
        for q in range(count):
            model = 0.0
            for r in range(count):
                model += shares[i, r] * overlap[r, q]
            pull[q] = product[i, q] - fit.scale * model
            lowest, highest = min(lowest, pull[q]), max(highest, pull[q])
        raised = max(constant, margin * (highest - lowest) - min(lowest, 0.0))
        for q in range(count):
            result[i, q] = shares[i, q] * (raised + pull[q])
        total = 0.0
        for q in range(count):
            total += result[i, q]
        for q in range(count):
            result[i, q] = result[i, q] / total if total > 0.0 else shares[i, q]
