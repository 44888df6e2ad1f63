"""Whether the first line of a table is a header, which may hold numbers: years, ids, wavelengths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.datasets.text import GAPS, is_number

__all__ = ["ROWS_COMPARED", "Verdict", "judge_first_line"]

# Rows below the first that it is compared with.
ROWS_COMPARED = 100
# A column of fewer rows says little about what its numbers look like, or about their range.
MIN_ROWS = 3
MIN_ROWS_OF_RANGE = 5
# With fewer columns of numbers a single sign is too weak to speak of doubt.
MIN_COLUMNS = 3


class Verdict(NamedTuple):
    """Whether a line is a header, and whether that is beyond doubt."""

    is_header: bool
    sure: bool


def judge_first_line(first: Sequence[str], below: Sequence[Sequence[str]]) -> Verdict:
    """Compare the first line of a table with the rows below it.

    Text above a number makes the line a header, and so does a line without any number. For a line of
    different numbers there are four signs: the numbers are evenly spaced, they are whole above fractions,
    they lie far outside the range of every column, or an empty field stands above names. Two signs make a
    header, and one makes a doubt. Lines in doubt are points, unless they count the columns from 0, as pandas
    does if columns have no names.

    Parameters
    ----------
    first : sequence of str
    below : sequence of sequences of str
        The next rows, as many as `ROWS_COMPARED`.

    Examples
    --------
    >>> judge_first_line(["x", "y"], [["1", "2"]])
    Verdict(is_header=True, sure=True)
    >>> measured = [["0.5", "0.1", "1.5"], ["0.2", "0.9", "1.1"]] * 9
    >>> judge_first_line(["2020", "2021", "2022"], measured)
    Verdict(is_header=True, sure=True)
    >>> judge_first_line(["2020", "2021", "2022"], [["2010", "1999", "2030"], ["3000", "2001", "1000"]] * 9)
    Verdict(is_header=False, sure=False)
    >>> judge_first_line(["0.3", "0.7", "1.2"], measured)
    Verdict(is_header=False, sure=True)
    """
    rows = [row for row in below if len(row) == len(first)]
    if _text_above_number(first, below[0] if below else []) or not any(map(is_number, first)):
        return Verdict(True, True)
    signs = _signs(first, rows)
    numbered = first[1:] if first[0] == "" else first
    # 0,1 or 0,1,2 alone could well be a point
    if (first[0] == "" or len(first) > 3) and list(numbered) == [str(k) for k in range(len(numbered))]:
        return Verdict(True, first[0] == "" or signs > 1)
    return Verdict(signs > 1, signs != 1)


def _text_above_number(first: Sequence[str], second: Sequence[str]) -> bool:
    return any(
        not is_number(above) and above.casefold() not in GAPS and is_number(below)
        for above, below in zip(first, second, strict=False)
    )


def _signs(first: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Count what speaks for a header in a line that has numbers."""
    columns = [k for k in range(len(first)) if all(_is_finite(row[k]) for row in (first, *rows))]
    if not rows or not columns or _comes_again(first, rows):
        return 0
    numbers = np.array([float(first[k]) for k in columns])
    table = np.array([[float(row[k]) for k in columns] for row in rows])
    if len(np.unique(numbers)) < len(numbers):  # titles are all different
        return 0
    whole = all(first[k].isdecimal() for k in columns) and _has_fractions(table)
    far = _is_far(numbers, table)
    if len(columns) < MIN_COLUMNS:
        return 2 * int(whole and far)
    even = bool(_is_even(numbers[None])[0]) and not _is_even(table).any()
    blank = first[0] == "" and not any(row[0].casefold() in GAPS for row in rows)
    return int(whole) + int(far) + int(even) + int(blank)


def _is_finite(field: str) -> bool:
    return is_number(field) and bool(np.isfinite(float(field)))


def _comes_again(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a text of the first line stands below it too, as a class does and a title does not."""
    texts = [k for k, field in enumerate(first) if field.casefold() not in GAPS and not is_number(field)]
    return any(row[k] == first[k] for k in texts for row in rows)


def _has_fractions(table: Array) -> bool:
    """Tell whether every column holds a number that is not whole."""
    return len(table) >= MIN_ROWS and bool((table != np.floor(table)).any(axis=0).all())


def _is_far(numbers: Array, table: Array) -> bool:
    """Tell whether each number is further from the range of its column than that range is wide."""
    if len(table) < MIN_ROWS_OF_RANGE:
        return False
    low, high = table.min(axis=0), table.max(axis=0)
    with np.errstate(over="ignore"):  # beyond float64 is as good as infinity
        return bool((np.maximum(numbers - high, low - numbers) > high - low).all())


def _is_even(rows: Array) -> Array:
    """Tell which rows rise in equal steps."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(rows, axis=1)
        equal = np.abs(steps - steps[:, :1]) <= 1e-6 * np.abs(steps[:, :1])
    return np.asarray((equal & (steps > 0)).all(axis=1))
