"""Checks of sparse matrices from outside, in any format.

The caller's buffers are only read. NumPy checks the index arrays before any SciPy routine uses them, because
those routines trust the indices and crash on wrong ones.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.dense_input import REAL_KINDS, refuse_no_numbers
from graphsoft.input.large_numbers import first_rounded, rounding_error
from graphsoft.input.mapped import is_plain

__all__ = ["canonical", "check_rows", "matrix_of_parts", "narrow", "sparse_matrix"]

Parts = tuple[Array, Array, Array]  # indptr, indices, values of a CSR matrix


def sparse_matrix(
    matrix: Any, argument: str = "X", *, ordered: bool = True, rounded: bool = False
) -> sp.csr_array:
    """Check a SciPy sparse matrix or array of any format and convert it to float64 CSR.

    Parameters
    ----------
    matrix : sparse array or matrix of shape (n, d)
        Any of SciPy's formats, with any real dtype and any integer index type.
    argument : str
        The name to use in errors.
    ordered : bool
        Sort the columns of each row, sum repeated entries and drop zeros. Without it the entries of a row
        stay in the order in which they are stored.
    rounded : bool
        Round whole numbers beyond 2**53, as is right for weights, of which only the ratios matter. Without it
        they are refused if float64 does not hold them.

    Returns
    -------
    csr_array of shape (n, d)
        Float64 values; int32 indices where they fit. Buffers that need no change are the caller's and must
        not be written to.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> sparse_matrix(sp.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(2, 2))).toarray()
    array([[0., 3.],
           [0., 0.]])
    """
    shape, (indptr, indices, values) = _read(matrix, argument)
    floats = _checked_values(values, indptr, indices, argument)
    place = None if rounded else first_rounded(np.asarray(values)[:, None])
    if place is not None:
        raise rounding_error(values[place[0]], _place(place[0], indptr, indices), argument)
    result = narrow(sp.csr_array((floats, indices, indptr), shape=shape))
    if not ordered:
        return result
    result = canonical(result)
    if not np.isfinite(result.data).all():
        raise InputError(argument, "repeated entries add up to more than float64 holds", "rescale the values")
    return result


def matrix_of_parts(parts: Any, argument: str) -> sp.csr_array:
    """Make a CSR matrix of what a file holds of one, before SciPy sees it.

    SciPy cuts off what is behind the last pointer, and does not look where indices lead.

    Parameters
    ----------
    parts : object
        With ``format``, ``shape`` and the arrays that SciPy's matrix of this format has as attributes.
    argument : str
        The name to use in errors.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> found = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 0, 0]}
    >>> matrix_of_parts(SimpleNamespace(format="csr", shape=(2, 2), **found), "path")
    Traceback (most recent call last):
    graphsoft.errors.InputError: path: is a malformed sparse matrix: indptr ends with 0, but there are 2 \
indices and 2 values. Remedy: build it again from its rows, columns and values.
    """
    shape, (indptr, indices, values) = _read(parts, argument)
    if values.dtype.kind not in REAL_KINDS:
        raise InputError(argument, f"holds values of dtype {values.dtype}", "save real numbers")
    return sp.csr_array((values, indices, indptr), shape=shape)


def check_rows(matrix: sp.csr_array, argument: str) -> None:
    """Refuse a CSR matrix with pointers or columns outside it, which one that was changed by hand may have.

    Compiled loops may use its indices afterwards. Of the values only their number is checked.

    Examples
    --------
    >>> matrix = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    >>> matrix.indices[0] = 7
    >>> check_rows(matrix, "graph")
    Traceback (most recent call last):
    graphsoft.errors.InputError: graph: is a malformed sparse matrix: indices[0] is 7, outside 0..1. Remedy: \
build it again from its rows, columns and values.
    """
    if type(matrix) is not sp.csr_array:
        raise InputError(argument, f"holds {shown(matrix)}", "make it a csr_array")
    parts = values, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    if not all(is_plain(part) and part.dtype.isnative for part in parts):
        raise _malformed(argument, "its parts are not plain arrays")
    kinds_fit = values.dtype in (np.float32, np.float64) and indices.dtype in (np.int32, np.int64)
    if not kinds_fit or indices.dtype != indptr.dtype:
        kinds = ", ".join(str(part.dtype) for part in parts)
        raise _malformed(argument, f"its arrays have dtypes {kinds}")
    rows, columns = _checked_shape(matrix, argument)
    _compressed(matrix, rows, columns, len(_flat_values(values, argument)), argument)


def narrow(matrix: sp.csr_array) -> sp.csr_array:
    """Give a matrix int32 indices where they fit, int64 where not; the values are shared."""
    fits = max(*matrix.shape, matrix.nnz) <= np.iinfo(np.int32).max
    kind = np.int32 if fits else np.int64
    indices, indptr = (part.astype(kind, copy=False) for part in (matrix.indices, matrix.indptr))
    return sp.csr_array((matrix.data, indices, indptr), shape=matrix.shape)


def canonical(matrix: sp.csr_array) -> sp.csr_array:
    """Sort the columns of each row, sum repeated entries and drop zeros in a copy of a checked matrix.

    A matrix that needs none of it is returned itself.
    """
    if matrix.has_canonical_format and matrix.data.all():
        return matrix
    result = matrix.copy()
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


def _read(matrix: Any, argument: str) -> tuple[tuple[int, int], Parts]:
    """Check the indices of a matrix of any format, and put its entries in the order of rows."""
    shape = _checked_shape(matrix, argument)
    reader = READERS.get(matrix.format)
    if reader is None:
        raise InputError(
            argument, f"has the unknown sparse format {matrix.format!r}", "convert it with tocsr()"
        )
    return shape, reader(matrix, shape, argument)


def _malformed(argument: str, problem: str) -> InputError:
    return InputError(
        argument,
        f"is a malformed sparse matrix: {problem}",
        "build it again from its rows, columns and values",
    )


def _checked_shape(matrix: Any, argument: str) -> tuple[int, int]:
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise InputError(argument, f"is a sparse array of shape {shape}", "pass one with two dimensions")
    if not all(isinstance(length, numbers.Integral) and 0 <= int(length) < 2**63 for length in shape):
        raise _malformed(argument, f"its shape is {shape}")
    if shape[0] == 0:
        raise InputError(argument, f"got 0 samples, shape {shape}", "pass at least one row")
    if shape[1] == 0:
        raise InputError(argument, f"got 0 features, shape {shape}", "pass at least one column")
    return int(shape[0]), int(shape[1])


def _checked_values(values: Array, indptr: Array, indices: Array, argument: str) -> Array:
    """Convert the stored values to float64, and refuse anything but finite real numbers."""
    values = np.asarray(values)
    if values.dtype.kind == "O":
        refuse_no_numbers(values, argument)
    elif values.dtype.kind not in REAL_KINDS:
        raise InputError(
            argument, f"holds values of dtype {values.dtype}", "convert it to real numbers first"
        )
    try:
        with np.errstate(over="ignore"):
            result: Array = np.ascontiguousarray(values, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(
            argument, f"cannot be read as float64 ({error})", "rescale or drop such values"
        ) from error
    if not np.isfinite(result).all():
        bad = np.flatnonzero(~np.isfinite(result))
        place = _place(int(bad[0]), indptr, indices)
        raise InputError(
            argument,
            f"{len(bad)} entries are NaN or infinite, the first is {values[bad[0]]!s} at {place}",
            "drop or fill those entries",
        )
    return result


def _place(entry: int, indptr: Array, indices: Array) -> str:
    """Put the row and the column of a stored entry into words."""
    row = int(np.searchsorted(indptr, entry, side="right")) - 1
    return f"({row}, {indices[entry]})"


def _whole(values: Any, name: str, argument: str) -> Array:
    """Read an array of whole numbers that fit int64."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise _malformed(argument, f"{name} has {array.ndim} dimensions")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise _malformed(argument, f"{name} has dtype {array.dtype}")
    if array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max:
        raise _malformed(argument, f"{name} holds {array.max()}")
    return array.astype(np.int64) if array.dtype == np.uint64 else array


def _within(indices: Array, length: int, name: str, argument: str) -> None:
    if len(indices) and (indices.min() < 0 or indices.max() >= length):
        first = int(np.flatnonzero((indices < 0) | (indices >= length))[0])
        raise _malformed(argument, f"{name}[{first}] is {indices[first]}, outside 0..{length - 1}")


def _compressed(matrix: Any, rows: int, columns: int, stored: int, argument: str) -> tuple[Array, Array]:
    """Check ``indptr`` and ``indices`` of a compressed format with that many major and minor places."""
    indptr = _whole(matrix.indptr, "indptr", argument)
    indices = _whole(matrix.indices, "indices", argument)
    if len(indptr) != rows + 1:
        raise _malformed(argument, f"indptr has {len(indptr)} entries, the shape asks for {rows + 1}")
    if indptr[0] != 0:
        raise _malformed(argument, f"indptr starts with {indptr[0]}, not with 0")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if len(falls):
        raise _malformed(argument, f"indptr falls from {indptr[falls[0]]} to {indptr[falls[0] + 1]}")
    if len(indices) != indptr[-1] or stored != indptr[-1]:
        raise _malformed(
            argument,
            f"indptr ends with {indptr[-1]}, but there are {len(indices)} indices and {stored} values",
        )
    _within(indices, columns, "indices", argument)
    return indptr, indices


def _read_csr(matrix: Any, shape: tuple[int, int], argument: str) -> Parts:
    values = _flat_values(matrix.data, argument)
    indptr, indices = _compressed(matrix, shape[0], shape[1], len(values), argument)
    return indptr, indices, values


def _read_csc(matrix: Any, shape: tuple[int, int], argument: str) -> Parts:
    values = _flat_values(matrix.data, argument)
    indptr, indices = _compressed(matrix, shape[1], shape[0], len(values), argument)
    columns = np.repeat(np.arange(shape[1]), np.diff(indptr))
    return _by_row(indices, columns, values, shape[0])


def _read_bsr(matrix: Any, shape: tuple[int, int], argument: str) -> Parts:
    values = np.asarray(matrix.data)
    if values.ndim != 3 or 0 in values.shape[1:]:
        raise _malformed(argument, f"the blocks have shape {values.shape}")
    _, height, width = values.shape
    if shape[0] % height or shape[1] % width:
        raise _malformed(argument, f"blocks of {height} x {width} do not tile the shape {shape}")
    indptr, indices = _compressed(matrix, shape[0] // height, shape[1] // width, len(values), argument)
    block_rows = np.repeat(np.arange(shape[0] // height), np.diff(indptr))
    rows = np.broadcast_to(
        block_rows[:, None, None] * height + np.arange(height)[None, :, None], values.shape
    )
    columns = np.broadcast_to(
        indices.astype(np.int64)[:, None, None] * width + np.arange(width)[None, None, :], values.shape
    )
    return _by_row(rows.ravel(), columns.ravel(), values.ravel(), shape[0])


def _read_coo(matrix: Any, shape: tuple[int, int], argument: str) -> Parts:
    values = _flat_values(matrix.data, argument)
    rows, columns = _whole(matrix.row, "row", argument), _whole(matrix.col, "col", argument)
    if not len(rows) == len(columns) == len(values):
        raise _malformed(argument, f"{len(rows)} rows, {len(columns)} columns and {len(values)} values")
    _within(rows, shape[0], "row", argument)
    _within(columns, shape[1], "col", argument)
    return _by_row(rows, columns, values, shape[0])


def _read_dia(matrix: Any, shape: tuple[int, int], argument: str) -> Parts:
    values = np.asarray(matrix.data)
    offsets = _whole(matrix.offsets, "offsets", argument).astype(np.int64)
    if values.ndim != 2 or len(values) != len(offsets):
        raise _malformed(argument, f"{len(offsets)} offsets, but the diagonals have shape {values.shape}")
    if len(np.unique(offsets)) != len(offsets):
        raise _malformed(argument, "two diagonals have the same offset")
    columns = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    limit = max(shape) + values.shape[1]
    rows = columns - np.clip(offsets, -limit, limit)[:, None]
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    return _by_row(rows[inside], columns[inside], values[inside], shape[0])


def _read_lil(matrix: Any, shape: tuple[int, int], argument: str) -> Parts:
    lists, values = matrix.rows, matrix.data
    try:
        lengths = [len(row) for row in lists]
        agree = len(lists) == shape[0] and lengths == [len(row) for row in values]
    except TypeError:
        agree = False
    if not agree:
        raise _malformed(argument, "the lists of columns and of values differ in length")
    columns = _whole(list(chain.from_iterable(lists)), "rows", argument)
    _within(columns, shape[1], "rows", argument)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return indptr, columns, _flat_values(list(chain.from_iterable(values)), argument)


def _read_dok(matrix: Any, shape: tuple[int, int], argument: str) -> Parts:
    items = list(matrix.items())
    if not all(isinstance(key, tuple) and len(key) == 2 for key, _ in items):
        raise _malformed(argument, "its keys are not pairs")
    rows = _whole([key[0] for key, _ in items], "row", argument)
    columns = _whole([key[1] for key, _ in items], "column", argument)
    _within(rows, shape[0], "row", argument)
    _within(columns, shape[1], "column", argument)
    return _by_row(rows, columns, _flat_values([value for _, value in items], argument), shape[0])


def _flat_values(values: Any, argument: str) -> Array:
    array = np.asarray(values)
    if array.ndim != 1:
        raise _malformed(argument, f"its values have {array.ndim} dimensions")
    return array


def _by_row(rows: Array, columns: Array, values: Array, count: int) -> Parts:
    """Sort checked entries by row; within a row they keep their order."""
    # transposing a matrix with one row is SciPy's counting sort
    line = sp.csr_array((np.arange(len(rows)), rows, [0, len(rows)]), shape=(1, count)).tocsc()
    return line.indptr, columns[line.data], values[line.data]


READERS: dict[str, Callable[[Any, tuple[int, int], str], Parts]] = {
    "csr": _read_csr,
    "csc": _read_csc,
    "bsr": _read_bsr,
    "coo": _read_coo,
    "dia": _read_dia,
    "lil": _read_lil,
    "dok": _read_dok,
}
