"""Arrays that grow inside a compiled loop.

Assigning an array to a slice would do the same. But then Numba also compiles code that writes an error
message, which was a quarter of all that a first call compiled.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["longer"]


@kernel
def longer(array: Array, filled: int, length: int) -> Array:
    """Copy the first `filled` values of an array into a new one of another length."""
    result = np.empty(length, dtype=array.dtype)
    for at in range(filled):
        result[at] = array[at]
    return result
