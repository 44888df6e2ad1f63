"""Arrays that grow inside a compiled loop.

An array assigned to a slice would say the same, but with it Numba compiles the making of an error message:
a quarter of all that a first call compiles.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["longer"]


@kernel
def longer(array: Array, filled: int, length: int) -> Array:
    """Copy the first `filled` values of an array to one of another length."""
    result = np.empty(length, dtype=array.dtype)
    for at in range(filled):
        result[at] = array[at]
    return result
