"""Which points and texts a page holds where it cannot hold all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from graphsoft.aliases import Array

__all__ = ["Sample", "chosen_points", "chosen_texts"]

MAX_LETTERS = 12_000_000  # of all texts; a page of this much German is about 8 MB
TEXT_SHOWN = 1_000  # letters of one text


@dataclass(frozen=True)
class Sample:
    """The points of a page: their rows in rising order, and what to say about those that are missing."""

    points: Array
    notes: tuple[str, ...] = ()

    def places(self, points: Array) -> Array:
        """Turn rows of points, all of them in the sample, into numbers of points in the page."""
        return np.searchsorted(self.points, points)


def chosen_points(labels: Array, needed: Collection[int], count: int) -> Sample:
    """Choose about `count` points, in proportion to the clusters `labels`, and all that are needed.

    Examples
    --------
    >>> chosen_points(np.array([0, 0, 0, 0, 1, 1]), [5], count=3).points.tolist()
    [1, 3, 4, 5]
    """
    total = len(labels)
    if total <= count:
        return Sample(np.arange(total))
    # a fixed order of chance within each cluster, so that the order of the rows does not matter
    order = np.lexsort((np.random.default_rng(0).permutation(total), labels))
    evenly = order[(np.arange(count) * total) // count]
    points = np.union1d(evenly, np.array(sorted(needed), dtype=np.int64))
    note = (
        f"{len(points):,} of {total:,} points are shown, in proportion to their clusters; numbers are of all"
    )
    return Sample(points, (note,))


def chosen_texts(texts: Sequence[str], letters: int = MAX_LETTERS) -> tuple[list[str], list[str]]:
    """Cut long texts, and leave out every so many where all are too long together.

    Examples
    --------
    >>> chosen_texts(["ab", "cd", "ef"], letters=4)
    (['ab', '', 'ef'], ['2 of 3 texts are in this page'])
    """
    short = [text if len(text) <= TEXT_SHOWN else text[: TEXT_SHOWN - 1] + "\u2026" for text in texts]
    cut = sum(len(text) > TEXT_SHOWN for text in texts)
    notes = [f"{cut:,} texts are cut after {TEXT_SHOWN:,} letters"] if cut else []
    total = sum(map(len, short))
    if total <= letters:
        return short, notes
    part = letters / total
    kept = [
        text if int((at + 1) * part + 0.5) > int(at * part + 0.5) else "" for at, text in enumerate(short)
    ]
    there = sum(bool(text) for text in kept)
    return kept, [*notes, f"{there:,} of {len(texts):,} texts are in this page"]
