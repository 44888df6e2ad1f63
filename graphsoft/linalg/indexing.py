"""Entries of arrays by narrow indices: where memory runs out there is an error.

NumPy converts an index of 32 bits piece by piece, in memory whose lack it does not notice: the process ends,
or goes on with an error that nobody can understand. These functions convert it in pieces that are noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array

__all__ = ["put", "taken"]

AT_ONCE = 1 << 20  # so that the converted index takes no memory in proportion to the whole


def taken(values: Array, index: Array) -> Array:
    """Take ``values[index]``, for an index of whole numbers of any width.

    Examples
    --------
    >>> taken(np.array([5.0, 7.0]), np.array([1, 1, 0], dtype=np.int32)).tolist()
    [7.0, 7.0, 5.0]
    """
    if len(index) <= AT_ONCE:
        return values.take(index, axis=0)
    result = np.empty((len(index), *values.shape[1:]), dtype=values.dtype)
    for start in range(0, len(index), AT_ONCE):
        result[start : start + AT_ONCE] = values.take(index[start : start + AT_ONCE], axis=0)
    return result


def put(values: Array, index: Array, new: Any) -> None:
    """Set ``values[index] = new`` in an array of one dimension, for an index of whole numbers of any width.

    Examples
    --------
    >>> values = np.zeros(3)
    >>> put(values, np.array([2, 0], dtype=np.uint32), [8.0, 9.0])
    >>> values.tolist()
    [9.0, 0.0, 8.0]
    """
    values.put(index, new)
