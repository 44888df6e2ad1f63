"""The gradient of soft-cluster factorization, row by row."""

from __future__ import annotations

from typing import NamedTuple

from graphsoft.aliases import Array
from graphsoft.kernels import kernel
from graphsoft.kernels.products import LeastSquares

__all__ = ["Stage", "penalized_rows"]


class Stage(NamedTuple):
    """The penalty of one stage, and the unit that the squares are divided by."""

    penalty: float
    unit: float


@kernel
def penalized_rows(
    shares: Array, fit: LeastSquares, stage: Stage, start: int, stop: int, gradient: Array, penalties: Array
) -> None:
    """Write the gradient of squares and penalties for the rows ``start:stop``, and what they pay.

    The gradient of the squares is ``4 scale (scale W W^T W - P W) / unit``, for `fit` of the memberships W to
    the chances P.
    """
    count, product, overlap, scale = shares.shape[1], fit.product, fit.overlap, fit.scale
    penalty, unit = stage.penalty, stage.unit
    for i in range(start, stop):
        over, below = -1.0, 0.0
        for q in range(count):
            over += shares[i, q]
            below -= min(shares[i, q], 0.0)
        penalties[i] = penalty * (over * over + below)
        for q in range(count):
            model = 0.0
            for r in range(count):
                model += shares[i, r] * overlap[r, q]
            gradient[i, q] = 4.0 * scale * (scale * model - product[i, q]) / unit + 2.0 * penalty * over
            if shares[i, q] < 0.0:
                gradient[i, q] -= penalty
