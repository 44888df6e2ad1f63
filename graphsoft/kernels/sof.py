"""The gradient of soft-cluster factorization, row by row."""

from __future__ import annotations

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["penalized_rows"]


@kernel
def penalized_rows(
    shares: Array,
    product: Array,
    overlap: Array,
    scale: float,
    unit: float,
    penalty: float,
    start: int,
    stop: int,
    gradient: Array,
    lost: Array,
) -> None:
    """Write the gradient of squares and penalties for the rows ``start:stop``, and the penalties into `lost`.

    The gradient of the squares is ``4 scale (scale W W^T W - P W) / unit``, with `product` P W and `overlap`
    W^T W.
    """
    count = shares.shape[1]
    for i in range(start, stop):
        over, below = -1.0, 0.0
        for q in range(count):
            over += shares[i, q]
            below -= min(shares[i, q], 0.0)
        lost[i] = penalty * (over * over + below)
        for q in range(count):
            model = 0.0
            for r in range(count):
                model += shares[i, r] * overlap[r, q]
            gradient[i, q] = 4.0 * scale * (scale * model - product[i, q]) / unit + 2.0 * penalty * over
            if shares[i, q] < 0.0:
                gradient[i, q] -= penalty
