"""Products of a sparse matrix with a dense one."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import kernel

__all__ = ["times_dense"]

Array = np.ndarray[Any, np.dtype[Any]]


@kernel
def times_dense(
    indptr: Array, indices: Array, data: Array, dense: Array, start: int, stop: int, result: Array
) -> None:
    """Write the rows ``start:stop`` of ``A @ dense`` into `result`."""
    columns = dense.shape[1]
    for i in range(start, stop):
        for q in range(columns):
            result[i, q] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            weight, j = data[at], indices[at]
            for q in range(columns):
                result[i, q] += weight * dense[j, q]
