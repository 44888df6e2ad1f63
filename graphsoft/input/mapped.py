"""Room for copies of features: in memory, or in a temporary file where the features are in a file themselves.

A ``numpy.memmap`` may be larger than the memory. Whatever is as large as its rows, as their float32 copies
cut in tiles, is then written to a file without a name in the folder for temporary files (``TMPDIR``), which
is gone once nothing needs it. The numbers are the same.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from math import prod
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.parallel import row_blocks

__all__ = ["in_file", "room", "stacked", "taken"]

SMALL = 1 << 24  # bytes that are always put into memory


def in_file(array: Any) -> bool:
    """Tell whether an array's numbers are those of a file, as a ``numpy.memmap``'s and its views' are.

    Examples
    --------
    >>> in_file(np.zeros(3))
    False
    """
    while isinstance(array, (np.ndarray, memoryview)):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return isinstance(array, mmap.mmap)


def room(like: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Make an array for numbers that are derived from those of `like`; what stands in it is left open.

    Examples
    --------
    >>> room(np.zeros((2, 3)), (3, 2), np.float32).shape
    (3, 2)
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size <= SMALL or not in_file(like):
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile(prefix="graphsoft-") as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):  # a full disk is an error here, and would be a crash later
            os.posix_fallocate(file.fileno(), 0, size)
        return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=shape))


def taken(values: Any, rows: Array) -> Any:
    """Copy some rows of features, dense or sparse.

    Examples
    --------
    >>> taken(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0])).tolist()
    [[3.0], [1.0]]
    """
    if not isinstance(values, np.ndarray):
        return values[rows]
    result = room(values, (len(rows), values.shape[1]), values.dtype)
    for start, stop in row_blocks(result):
        result[start:stop] = values[rows[start:stop]]
    return result


def stacked(values: Array, more: Array) -> Array:
    """Copy rows, and others below them.

    Examples
    --------
    >>> stacked(np.array([[1.0]]), np.array([[2.0]])).tolist()
    [[1.0], [2.0]]
    """
    shape = (len(values) + len(more), values.shape[1])
    result = room(values, shape, np.result_type(values, more))
    result[: len(values)], result[len(values) :] = values, more
    return result
