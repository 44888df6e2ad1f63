"""Sorted lists of the lowest scores found so far, one list for each row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["Lists", "empty_lists", "insert", "keep_lower", "keep_lower_of_row", "keep_once"]

LANES = 32  # columns that are compared with one bound at once


class Lists(NamedTuple):
    """Lists of the same length: `scores` in rising order and the `columns` that have them, both (b, c)."""

    scores: Array
    columns: Array


def empty_lists(count: int, length: int, dtype: Any = np.float64) -> Lists:
    """Make lists that hold nothing yet: scores are infinite, columns are -1."""
    return Lists(np.full((count, length), np.inf, dtype=dtype), np.full((count, length), -1, dtype=np.int64))


@kernel
def insert(scores: Array, columns: Array, score: Any, column: int) -> None:
    """Put a column into one list, after those with the same score, and drop the last one."""
    place = scores.shape[0] - 1
    while place > 0 and scores[place - 1] > score:
        scores[place] = scores[place - 1]
        columns[place] = columns[place - 1]
        place -= 1
    scores[place] = score
    columns[place] = column


@kernel
def keep_lower_of_row(offered: Array, first_column: int, own: int, scores: Array, columns: Array) -> None:
    """Merge the scores `offered` by consecutive columns, except column `own`, into one list.

    LANES columns are compared at once: nearly all of them hold nothing below the last score of the list.
    """
    width, last = offered.shape[0], scores.shape[0] - 1
    bound, start = scores[last], 0
    while start < width:
        some, lower = offered[start : start + LANES], np.int32(0)
        for lane in range(some.shape[0]):  # with LANES, a constant, it would not be vectorized
            lower += np.int32(some[lane] < bound)
        if lower > 0:
            for lane in range(some.shape[0]):
                column = first_column + start + lane
                if some[lane] < bound and column != own:
                    insert(scores, columns, some[lane], column)
                    bound = scores[last]
        start += LANES


@kernel
def keep_lower(offered: Array, first_column: int, rows: Array, lists: Lists) -> None:
    """Merge scores `offered` (b, n) into the lists of b rows; column `rows[i]` is left out of list i.

    The columns of `offered` are numbered from `first_column` on. A row that is none of them is -1.
    """
    for place in range(rows.shape[0]):
        keep_lower_of_row(
            offered[place], first_column, rows[place], lists.scores[place], lists.columns[place]
        )


@kernel
def keep_once(offered: Array, candidates: Array, lists: Lists) -> None:
    """Fill empty lists with the lowest scores `offered` (b, c) by the `candidates` (b, c) of each row.

    They are sorted by (score, candidate). A candidate counts once however often it comes, and does not count
    where its score is infinite.
    """
    last = lists.scores.shape[1] - 1
    for row in range(offered.shape[0]):
        scores, columns = lists.scores[row], lists.columns[row]
        for rank in range(offered.shape[1]):
            score, column = offered[row, rank], candidates[row, rank]
            place = last + 1
            while place > 0 and (
                scores[place - 1] > score or (scores[place - 1] == score and columns[place - 1] > column)
            ):
                place -= 1
            repeated = place > 0 and scores[place - 1] == score and columns[place - 1] == column
            if place > last or repeated or score == np.inf:
                continue
            for later in range(last, place, -1):
                scores[later], columns[later] = scores[later - 1], columns[later - 1]
            scores[place], columns[place] = score, column
