"""Arrays that grow inside a compiled loop.

An array assigned to a slice would say the same, but with it Numba compiles the making of an error message:
a quarter of all that a first call compiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import kernel

__all__ = ["longer"]

Array = np.ndarray[Any, np.dtype[Any]]


@kernel
def longer(array: Array, filled: int, length: int) -> Array:
    """Copy the first `filled` values of an array to one of another length."""
    result = np.empty(length, dtype=array.dtype)
    for at in range(filled):
        result[at] = array[at]
    return result
