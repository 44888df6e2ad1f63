"""Numbers beyond 2**53, which float64 would round: finding them, and moving them near 0 exactly.

From 2**53 to 2**54 float64 holds only the even numbers, from there to 2**55 only the multiples of 4, and so
on. Times in nanoseconds that differ by little would become the same number. Distances such as the Euclidean
one do not change when a number is subtracted from a whole column. So a column that would be rounded is moved
by its smallest number, in exact arithmetic.
"""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.input.mapped import allocate
from graphsoft.parallel import row_blocks

__all__ = ["EXACT", "LARGER_UNIT", "Origin", "first_rounded", "moved", "origin_of", "rounding_error"]

EXACT = 2**53  # float64 holds all whole numbers up to this one
LARGER_UNIT = "take a larger unit, or pass X.astype(float) where rounding does no harm"

Origin = tuple[int | Fraction, ...]  # what is subtracted from each column


def first_rounded(table: Array) -> tuple[int, int] | None:
    """Find the row and column of the first number beyond 2**53 that float64 would have to round.

    A ``numpy.longdouble`` may be rounded, unless a different number of its column would become the same.

    Parameters
    ----------
    table : ndarray of shape (n, d)
        Of any real dtype, or of objects that are real numbers within the range of float64.

    Returns
    -------
    tuple of two ints, or None if float64 will do

    Examples
    --------
    >>> first_rounded(np.array([[3, 2**60], [5, 2**60 + 1]]))
    (1, 1)
    >>> first_rounded(np.array([[2.0**60], [2.0**70]])) is None
    True
    """
    if table.dtype.kind in "iuO" and table.dtype.itemsize >= 8:
        for start, stop in row_blocks(table):
            wrong = np.argwhere(_is_rounded(table[start:stop]))
            if len(wrong):
                return start + int(wrong[0, 0]), int(wrong[0, 1])
    if table.dtype.kind == "f" and table.dtype.itemsize > 8:
        for column in range(table.shape[1]):
            row = _first_merged(table[:, column])
            if row is not None:
                return row, column
    return None


def _is_rounded(part: Array) -> Array:
    """Mark the whole numbers, and the objects, beyond `EXACT` that float64 would have to round."""
    if part.dtype.kind == "O":
        floats = part.astype(np.float64)
        result = np.zeros(part.shape, dtype=bool)
        for place in zip(*np.nonzero(np.isfinite(floats) & (np.abs(floats) >= EXACT)), strict=True):
            result[place] = _exactly(part[place]) != int(floats[place])
        return result
    if part.dtype.kind not in "iu" or (int(part.min()) >= -EXACT and int(part.max()) <= EXACT):
        return np.zeros(part.shape, dtype=bool)
    sizes = part.astype(np.uint64)
    if part.dtype.kind == "i":
        sizes = np.where(part < 0, ~sizes + np.uint64(1), sizes)
    # float64 holds what has at most 53 bits from the highest one to the lowest one that is set
    lowest = np.maximum(sizes & (~sizes + np.uint64(1)), np.uint64(1))
    return np.asarray(sizes // lowest > EXACT)


def _first_merged(column: Array) -> int | None:
    """Find the first number beyond `EXACT` that becomes equal to a different one as float64."""
    with np.errstate(over="ignore"):
        floats = column.astype(np.float64)
    order = np.argsort(column, kind="stable")
    one, two = order[:-1], order[1:]
    merged = (column[one] != column[two]) & (floats[one] == floats[two])
    rows = two[merged & np.isfinite(floats[two]) & (np.abs(floats[two]) >= EXACT)]
    return int(rows.min()) if len(rows) else None


def _exactly(value: Any) -> int | Fraction:
    """Read a finite real number of any type without rounding."""
    if isinstance(value, numbers.Integral | np.bool_):
        return int(value)
    ratio = value if hasattr(value, "as_integer_ratio") else float(value)
    return Fraction(*ratio.as_integer_ratio())


def origin_of(table: Array) -> Origin:
    """Choose what to subtract: the smallest number of each column that float64 would round, else 0.

    Examples
    --------
    >>> origin_of(np.array([[3, 2**60 + 7], [5, 2**60 + 1]]))
    (0, 1152921504606846977)
    """
    origin: list[int | Fraction] = []
    for column in table.T:
        if first_rounded(column[:, None]) is None:
            origin.append(0)
        else:
            origin.append(int(column.min()) if column.dtype.kind in "iu" else min(map(_exactly, column)))
    return tuple(origin)


def moved(table: Array, origin: Origin) -> tuple[Array, tuple[int, int] | None]:
    """Subtract the origin from every row, exactly, and bring what remains into float64.

    Parameters
    ----------
    table : ndarray of shape (n, d)
        Of any real dtype, or of objects that are real numbers; finite.
    origin : tuple of d numbers

    Returns
    -------
    float64 ndarray of shape (n, d)
    tuple of two ints, or None
        Row and column of the first number that float64 has to round even then.

    Examples
    --------
    >>> moved(np.array([[3, 2**60 + 7], [5, 2**60 + 1]]), (0, 2**60 + 1))[0].tolist()
    [[3.0, 6.0], [5.0, 0.0]]
    """
    result, place = allocate(table, table.shape, np.float64), None
    for start, stop in row_blocks(table):
        part = table[start:stop]
        for column, number in enumerate(origin):
            rest = _differences(part[:, column], number) if number else part[:, column]
            wrong = np.flatnonzero(_is_rounded(rest))
            if len(wrong):
                place = place or (start + int(wrong[0]), column)
            result[start:stop, column] = rest
    return result, place


def _differences(column: Array, number: int | Fraction) -> Array:
    """Subtract a number without rounding: as uint64 where that holds the results, else as Python objects."""
    if column.dtype.kind in "iu" and isinstance(number, int) and len(column):
        low, high = int(column.min()) - number, int(column.max()) - number
        if low >= 0 and high < 2**64:
            with np.errstate(over="ignore"):  # modulo 2**64, which is where the result lies
                return np.asarray(column.astype(np.uint64) - np.uint64(number % 2**64))
    result = np.empty(len(column), dtype=object)
    result[:] = [_exactly(value) - number for value in column]
    return result


def rounding_error(value: Any, place: str, argument: str) -> InputError:
    """Make the error for a number that float64 would have to round, and the place where it stands."""
    return InputError(
        argument,
        f"holds {value!s} at {place}, which is beyond 2**53 and would be rounded to float64",
        LARGER_UNIT,
    )
