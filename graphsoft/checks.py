"""Checks of everything that comes from outside: parameters, dense arrays, sparse matrices.

Each check returns something of one known kind or raises an :class:`~graphsoft.errors.InputError`. The buffers
of the caller are only read. Sparse index arrays are looked at with NumPy before any SciPy routine walks along
them, because those routines trust the indices and crash on wrong ones.
"""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable, Collection
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError, shown
from graphsoft.parallel import blocks

__all__ = [
    "callback",
    "canonical",
    "choice",
    "dense_matrix",
    "generator",
    "integer",
    "number",
    "sparse_matrix",
]

Array = np.ndarray[Any, np.dtype[Any]]

ELEMENTS_PER_BLOCK = 1 << 20  # a pass over an array makes temporaries of about this many numbers
REAL_KINDS = "biuf"


def choice(argument: str, value: Any, allowed: Collection[str]) -> str:
    """Return `value` if it is one of the `allowed` words.

    Examples
    --------
    >>> choice("symmetrize", "union", ["union", "mutual"])
    'union'
    """
    if isinstance(value, str) and value in allowed:
        return str(value)
    raise InputError(argument, f"got {shown(value)}", "use one of " + ", ".join(map(repr, allowed)))


def integer(argument: str, value: Any, minimum: int, maximum: int | None = None) -> int:
    """Return `value` as an int if it is a whole number (not a bool) from `minimum` to `maximum`.

    Examples
    --------
    >>> integer("n_neighbors", 10, 1)
    10
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))
    if whole and int(value) >= minimum and (maximum is None or int(value) <= maximum):
        return int(value)
    span = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
    raise InputError(argument, f"got {shown(value)}", f"use a whole number {span}")


def number(
    argument: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
) -> float:
    """Return `value` as a float if it is a finite real number (not a bool) within the bounds.

    Examples
    --------
    >>> number("tolerance", 0, least=0, below=1)
    0.0
    >>> number("strength", 2, above=0, most=1)
    Traceback (most recent call last):
    graphsoft.errors.InputError: strength: got 2. Remedy: use a number above 0 and at most 1.
    """
    bounds = (("of at least", least), ("above", above), ("at most", most), ("below", below))
    found = np.nan
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)):
        with contextlib.suppress(OverflowError):  # a whole number beyond all floats
            found = float(value)
    if (
        np.isfinite(found)
        and (least is None or found >= least)
        and (above is None or found > above)
        and (most is None or found <= most)
        and (below is None or found < below)
    ):
        return found
    said = " and ".join(f"{words} {bound:g}" for words, bound in bounds if bound is not None)
    raise InputError(argument, f"got {shown(value)}", f"use a number {said}".rstrip())


def callback(argument: str, value: Any) -> None:
    """Let None pass and what can be called.

    Examples
    --------
    >>> callback("progress", print)
    """
    if value is not None and not callable(value):
        raise InputError(argument, f"got {shown(value)}", "use None or a function (stage, done, total)")


def generator(argument: str, value: Any) -> np.random.Generator | None:
    """Return the random generator that `value` stands for; None stands for none.

    Examples
    --------
    >>> generator("rng", 7).integers(100)
    np.int64(94)
    """
    if value is None:
        return None
    with contextlib.suppress(Exception):  # whatever NumPy, or an object of the caller's, finds wrong
        if not isinstance(value, (bool, np.bool_)):
            return np.random.default_rng(value)
    remedy = "use None, a whole number of at least 0, or a numpy.random.Generator"
    raise InputError(argument, f"got {shown(value)}", remedy)


def dense_matrix(data: Any, argument: str = "X") -> Array:
    """Check a matrix of real numbers given as an array, a data frame, nested lists, ...

    Parameters
    ----------
    data : array_like of shape (n, d)
        Any real dtype, memory order and container.
    argument : str
        The name to use in errors.

    Returns
    -------
    ndarray of shape (n, d)
        C-contiguous and finite: float32 where that holds every value of the given dtype, else float64. It is
        `data` itself where nothing had to change, so it must not be written to.

    Examples
    --------
    >>> dense_matrix([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    array = _as_array(data, argument)
    if array.ndim != 2:
        raise InputError(
            argument,
            f"has {array.ndim} dimension{'s' * (array.ndim != 1)}, shape {array.shape}",
            "pass a table with one row for each point, as X.reshape(len(X), -1), or X.reshape(1, -1) of one",
        )
    if array.shape[0] == 0:
        raise InputError(argument, f"got 0 samples, shape {array.shape}", "pass at least one row")
    if array.shape[1] == 0:
        raise InputError(argument, f"got 0 features, shape {array.shape}", "pass at least one column")
    if array.dtype.kind == "O":
        _check_objects(array, argument, _column_names(data))
    single = np.can_cast(array.dtype, np.float32)
    kind = np.dtype(np.float32 if single else np.float64)
    try:
        with np.errstate(over="ignore"):
            result = np.require(array, dtype=kind, requirements=["C", "A"])
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(
            argument, f"cannot be read as float64 ({error})", "rescale or drop such values"
        ) from error
    _check_finite(array, result, argument, _column_names(data))
    return result


def _as_array(data: Any, argument: str) -> Array:
    """Turn `data` into an array of a dtype that can hold real numbers."""
    if isinstance(data, np.ma.MaskedArray):
        hidden = np.argwhere(np.ma.getmaskarray(data))
        if len(hidden):
            raise InputError(
                argument,
                f"{len(hidden)} cells are masked, the first at {_place(hidden[0])}",
                "fill or drop the masked cells",
            )
        data = data.data
    try:
        array = np.asarray(data.to_numpy() if hasattr(data, "to_numpy") else data)
    except (ValueError, TypeError) as error:
        raise InputError(
            argument,
            f"cannot be read as an array ({error})",
            "pass a table of numbers, all rows equally long",
        ) from error
    if array.dtype.kind not in REAL_KINDS + "O":
        names = {
            "c": "complex numbers",
            "M": "dates",
            "m": "time spans",
            "U": "text",
            "S": "bytes",
            "V": "records",
        }
        raise InputError(
            argument,
            f"holds {names.get(array.dtype.kind, 'no numbers')} (dtype {array.dtype})",
            "convert it to real numbers first",
        )
    if array.dtype.kind == "O" and array.ndim == 0:
        raise InputError(
            argument,
            f"got an object of type {type(data).__name__}",
            "pass an array, a data frame, a SciPy sparse matrix, a networkx graph or a graphsoft.Graph",
        )
    return array


def _check_objects(array: Array, argument: str, columns: list[str] | None) -> None:
    """Let an object array pass only if every element is a real number."""
    for place, value in np.ndenumerate(array):
        if not isinstance(value, (numbers.Real, np.bool_)) and not hasattr(value, "as_integer_ratio"):
            raise InputError(
                argument,
                f"holds {shown(value)}, which is no real number, at {_place(place, columns)}",
                "convert or drop it first",
            )


def _check_finite(given: Array, result: Array, argument: str, columns: list[str] | None) -> None:
    """Refuse NaN and infinite numbers, and numbers that only become infinite as float64."""
    if given.dtype.kind not in "fO":
        return
    count, first = 0, None
    for start, stop in blocks(len(result), max(1, ELEMENTS_PER_BLOCK // result.shape[1])):
        finite = np.isfinite(result[start:stop])
        if not finite.all():
            bad = np.argwhere(~finite)
            count += len(bad)
            first = first or (start + int(bad[0, 0]), int(bad[0, 1]))
    if first is not None:
        raise InputError(
            argument,
            f"{count} entries are NaN or infinite, the first is {given[first]!s} at {_place(first, columns)}",
            "drop or fill those rows",
        )


def _column_names(data: Any) -> list[str] | None:
    """List the column names of a data frame."""
    columns = getattr(data, "columns", None)
    if columns is None or not all(isinstance(name, (str, int)) for name in columns):
        return None
    return [str(name) for name in columns]


def _place(place: Any, columns: list[str] | None = None) -> str:
    """Put a row and a column into words."""
    if len(place) != 2:
        return f"index {tuple(int(index) for index in place)}"
    row, column = int(place[0]), int(place[1])
    name = f" ({columns[column]!r})" if columns is not None and column < len(columns) else ""
    return f"row {row}, column {column}{name}"


def sparse_matrix(matrix: Any, argument: str = "X", *, ordered: bool = True) -> sp.csr_array:
    """Check a SciPy sparse matrix or array of any format and copy it into float64 CSR.

    Parameters
    ----------
    matrix : sparse array or matrix of shape (n, d)
        Any of SciPy's formats, with any real dtype and any integer index type.
    argument : str
        The name to use in errors.
    ordered : bool
        Sort the columns of each row, sum repeated entries and drop zeros. Without it the entries of a row
        stay as they are stored.

    Returns
    -------
    csr_array of shape (n, d)
        New float64 buffers; int32 indices where they fit.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> sparse_matrix(sp.coo_array(([1, 2], ([0, 0], [1, 1])), shape=(2, 2))).toarray()
    array([[0., 3.],
           [0., 0.]])
    """
    shape = _checked_shape(matrix, argument)
    reader = READERS.get(matrix.format)
    if reader is None:
        raise InputError(
            argument, f"has the unknown sparse format {matrix.format!r}", "convert it with tocsr()"
        )
    indptr, indices, values = reader(matrix, shape, argument)
    wide = max(shape[0], shape[1], len(indices)) > np.iinfo(np.int32).max
    kind = np.int64 if wide else np.int32
    result = sp.csr_array(
        (_checked_values(values, indptr, indices, argument), indices.astype(kind), indptr.astype(kind)),
        shape=shape,
    )
    if not ordered:
        return result
    result = canonical(result)
    if not np.isfinite(result.data).all():
        raise InputError(argument, "repeated entries add up to more than float64 holds", "rescale the values")
    return result


def canonical(matrix: sp.csr_array) -> sp.csr_array:
    """Sort the columns of each row, sum repeated entries and drop zeros, in place, for checked indices."""
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _malformed(argument: str, problem: str) -> InputError:
    return InputError(
        argument,
        f"is a malformed sparse matrix: {problem}",
        "build it anew from its rows, columns and values",
    )


def _checked_shape(matrix: Any, argument: str) -> tuple[int, int]:
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise InputError(argument, f"is a sparse array of shape {shape}", "pass one with two dimensions")
    if not all(isinstance(length, numbers.Integral) and int(length) >= 0 for length in shape):
        raise _malformed(argument, f"its shape is {shape}")
    if shape[0] == 0:
        raise InputError(argument, f"got 0 samples, shape {shape}", "pass at least one row")
    if shape[1] == 0:
        raise InputError(argument, f"got 0 features, shape {shape}", "pass at least one column")
    return int(shape[0]), int(shape[1])


def _checked_values(values: Array, indptr: Array, indices: Array, argument: str) -> Array:
    """Copy the stored values into float64, refusing all but finite real numbers."""
    values = np.asarray(values)
    if values.dtype.kind == "O":
        _check_objects(values, argument, None)
    elif values.dtype.kind not in REAL_KINDS:
        raise InputError(
            argument, f"holds values of dtype {values.dtype}", "convert it to real numbers first"
        )
    try:
        with np.errstate(over="ignore"):
            result: Array = np.array(values, dtype=np.float64, order="C")
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(
            argument, f"cannot be read as float64 ({error})", "rescale or drop such values"
        ) from error
    finite = np.isfinite(result)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        row = int(np.searchsorted(indptr, bad[0], side="right")) - 1
        place = f"({row}, {indices[bad[0]]})"
        raise InputError(
            argument,
            f"{len(bad)} entries are NaN or infinite, the first is {values[bad[0]]!s} at {place}",
            "drop or fill those entries",
        )
    return result


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


Parts = tuple[Array, Array, Array]  # indptr, indices, values of a CSR matrix


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
    """Order checked entries by row; within a row they keep their order."""
    # a matrix with one row, transposed: SciPy's counting sort
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
