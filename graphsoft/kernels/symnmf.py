"""Coordinate descent for ``min ||A - H H^T||²``, H >= 0: each entry in turn is set to its best value."""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, kernel

__all__ = ["best", "descend", "row_squares"]


@kernel
def best(a: float, b: float) -> float:
    """Find the x >= 0 of smallest ``x^4 + 2 a x² + 4 b x``: 0, or the largest root of ``x³ + a x + b``."""
    if a >= 0.0 and b >= 0.0:
        return 0.0
    if a < 0.0 and 4.0 * a * a * a + 27.0 * b * b <= 0.0:  # three real roots
        cosine = 1.5 * b / a * np.sqrt(-3.0 / a)
        x = 2.0 * np.sqrt(-a / 3.0) * np.cos(np.arccos(min(max(cosine, -1.0), 1.0)) / 3.0)
        return float(x) if a * x + 3.0 * b < 0.0 else 0.0
    if b >= 0.0:  # the only root is negative
        return 0.0
    u = (-0.5 * b + np.sqrt(0.25 * b * b + a * a * a / 27.0)) ** (1.0 / 3.0)
    v = a / (3.0 * u)
    return float(u - v if v < 0.0 else -b / (u * u + u * v + v * v))  # without cancellation


@kernel
def row_squares(edges: Rows, scale: Array, start: int, stop: int, squares: Array) -> None:
    """Sum for the rows ``start:stop`` the squares of ``A_ij = scale_i w_ij scale_j``."""
    for i in range(start, stop):
        squares[i] = 0.0
        for at in range(edges.ptr[i], edges.ptr[i + 1]):
            entry = scale[i] * edges.values[at] * scale[edges.columns[at]]
            squares[i] += entry * entry


@kernel
def descend(edges: Rows, scale: Array, gram: Array, start: int, stop: int, factor: Array) -> None:
    """Set the entries of the rows ``start:stop`` of `factor` one by one, and update ``gram = H^T H``.

    ``A_ij = scale_i w_ij scale_j``. With all else held, the loss in one entry x is a constant plus
    ``x^4 + 2 a x² + 4 b x``, whose best x >= 0 is 0 or the largest root of ``x³ + a x + b``.
    """
    count = factor.shape[1]
    pull = np.empty(count)
    for i in range(start, stop):
        pull[:] = 0.0
        loop = 0.0
        for at in range(edges.ptr[i], edges.ptr[i + 1]):
            j = edges.columns[at]
            weight = scale[i] * edges.values[at] * scale[j]
            if j == i:
                loop = weight
            else:
                for q in range(count):
                    pull[q] += weight * factor[j, q]
        length = 0.0
        for q in range(count):
            length += factor[i, q] * factor[i, q]
        for q in range(count):
            old = factor[i, q]
            others = length - old * old  # of this row
            a = gram[q, q] - old * old + others - loop
            b = -pull[q]
            for p in range(count):
                if p != q:
                    b += factor[i, p] * (gram[p, q] - factor[i, p] * old)
            new = best(a, b)
            if new != old:
                for p in range(count):
                    if p != q:
                        gram[p, q] += factor[i, p] * (new - old)
                        gram[q, p] = gram[p, q]
                gram[q, q] += new * new - old * old
                length = others + new * new
                factor[i, q] = new
