"""Copies of features, in memory or in a temporary file if the features are in a file themselves.

A ``numpy.memmap`` may be larger than the memory. Anything derived from it that is about as large, such as a
float32 copy, is written to a file without a name in the folder for temporary files (``TMPDIR``). The file
disappears when nothing needs it any more. The numbers are the same either way.
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

__all__ = ["allocate", "is_mapped", "is_plain", "stack_rows", "take_rows"]

SMALL = 1 << 24  # up to so many bytes are always kept in memory


def is_mapped(array: Any) -> bool:
    """Tell whether an array is a ``numpy.memmap`` or a view of one.

    Examples
    --------
    >>> is_mapped(np.zeros(3))
    False
    """
    while isinstance(array, (np.ndarray, memoryview)):
        array = array.base if isinstance(array, np.ndarray) else array.obj
    return isinstance(array, mmap.mmap)


def is_plain(array: Any) -> bool:
    """Tell whether this is an array of NumPy itself, in memory or in a file as ``joblib.load`` may leave it.

    Examples
    --------
    >>> is_plain(np.zeros(3)), is_plain(np.ma.zeros(3))
    (True, False)
    """
    return type(array) in (np.ndarray, np.memmap)


def allocate(like: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """Make an array for numbers derived from those of `like`; its content is undefined.

    Examples
    --------
    >>> allocate(np.zeros((2, 3)), (3, 2), np.float32).shape
    (3, 2)
    """
    size = prod(shape) * np.dtype(dtype).itemsize
    if size <= SMALL or not is_mapped(like):
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile(prefix="graphsoft-") as file:
        file.truncate(size)
        if hasattr(os, "posix_fallocate"):  # a full disk raises an error here, and would crash later
            os.posix_fallocate(file.fileno(), 0, size)
        return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=shape))


def take_rows(values: Any, rows: Array) -> Any:
    """Copy some rows of features, dense or sparse.

    Examples
    --------
    >>> take_rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0])).tolist()
    [[3.0], [1.0]]
    """
    if not isinstance(values, np.ndarray):
        return values[rows]
    result = allocate(values, (len(rows), values.shape[1]), values.dtype)
    for start, stop in row_blocks(result):
        result[start:stop] = values[rows[start:stop]]
    return result


def stack_rows(values: Array, more: Array) -> Array:
    """Copy rows, and put more of them below.

    Examples
    --------
    >>> stack_rows(np.array([[1.0]]), np.array([[2.0]])).tolist()
    [[1.0], [2.0]]
    """
    shape = (len(values) + len(more), values.shape[1])
    result = allocate(values, shape, np.result_type(values, more))
    result[: len(values)], result[len(values) :] = values, more
    return result
