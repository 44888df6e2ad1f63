"""What the caller knows of the points: names, texts, images, labels and coordinates, all checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.explorer.images import Images, checked_images
from graphsoft.explorer.packing import clean_text
from graphsoft.input.coordinates import checked_coordinates

__all__ = ["Given", "checked_given"]

UNFIT = (str, bytes, bytearray, Set, Mapping)


@dataclass(frozen=True, eq=False)
class Given:
    """What the caller knows of n points; None is not given.

    Attributes
    ----------
    title : str
    coordinates : ndarray of shape (n, 2), or None
    names, texts : list of str, or None
    labels : pair of list of str and ndarray of int, or None
        The distinct labels, and for each point the number of its own.
    images : Images or None
    """

    title: str
    coordinates: Array | None = None
    names: list[str] | None = None
    texts: list[str] | None = None
    labels: tuple[list[str], Array] | None = None
    images: Images | None = None


def checked_given(
    count: int,
    *,
    names: Any = None,
    texts: Any = None,
    images: Any = None,
    labels: Any = None,
    coordinates: Any = None,
    title: Any = None,
) -> Given:
    """Check what is said of `count` points.

    Examples
    --------
    >>> found = checked_given(2, names=["a", 7], labels=["x", "x"])
    >>> found.title, found.names, found.labels[0]
    ('2 points', ['a', '7'], ['x'])
    """
    if title is not None and not isinstance(title, str):
        raise InputError("title", f"got {shown(title)}", "give a text")
    listed = None if labels is None else _listed("labels", labels, count)
    return Given(
        title=f"{count:,} points" if title is None or not title.strip() else clean_text(title),
        coordinates=None if coordinates is None else checked_coordinates(coordinates, count),
        names=None if names is None else _texts("names", names, count),
        texts=None if texts is None else _texts("texts", texts, count),
        labels=None if listed is None else _numbered([clean_text(label) for label in listed]),
        images=None if images is None else checked_images(images, count),
    )


def _listed(argument: str, values: Any, count: int) -> list[Any]:
    if isinstance(values, UNFIT) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) != 1:
        raise InputError(argument, f"got {shown(values)}", f"give a list of {count}, one for each point")
    listed: list[Any] = values.tolist() if hasattr(values, "tolist") else list(values)
    if len(listed) != count:
        raise InputError(argument, f"got {len(listed)} for {count} points", "give one for each point")
    return listed


def _texts(argument: str, values: Any, count: int) -> list[str]:
    """List texts; what is missing, None, becomes an empty text."""
    return ["" if value is None else clean_text(value) for value in _listed(argument, values, count)]


def _numbered(labels: list[str]) -> tuple[list[str], Array]:
    distinct = sorted(set(labels))
    numbers = {label: number for number, label in enumerate(distinct)}
    return distinct, np.array([numbers[label] for label in labels])
