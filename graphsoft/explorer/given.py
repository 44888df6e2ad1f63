"""What the caller knows of the points: names, texts, images and labels, all checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.explorer.images import Images, checked_images
from graphsoft.explorer.packing import clean_text
from graphsoft.input.constraints import is_missing, objects_of
from graphsoft.input.coordinates import checked_coordinates
from graphsoft.input.names import in_row_order

__all__ = ["Given", "checked_given", "texts_of"]

UNFIT = (str, bytes, bytearray, Set)
MISSING = "missing"  # what points without a label are shown as


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
    nodes: Sequence[Any],
    *,
    names: Any = None,
    texts: Any = None,
    images: Any = None,
    labels: Any = None,
    coordinates: Any = None,
    title: Any = None,
) -> Given:
    """Check what is said of the points `nodes`.

    Examples
    --------
    >>> found = checked_given(range(2), names=["a", 7], labels={1: "x", 0: "y"})
    >>> found.title, found.names, found.labels
    ('2 points', ['a', '7'], (['x', 'y'], array([1, 0])))
    """
    if title is not None and not isinstance(title, str):
        raise InputError("title", f"got {shown(title)}", "give a text")
    listed = None if labels is None else _listed("labels", labels, nodes)
    if images is not None and getattr(images, "ndim", 1) == 1:  # else pixels of all points
        images = _listed("images", images, nodes)
    return Given(
        title=f"{len(nodes):,} points" if title is None or not title.strip() else clean_text(title),
        coordinates=None if coordinates is None else checked_coordinates(coordinates, nodes),
        names=None if names is None else texts_of("names", _listed("names", names, nodes)),
        texts=None if texts is None else texts_of("texts", _listed("texts", texts, nodes)),
        labels=None if listed is None else _numbered(texts_of("labels", listed, MISSING)),
        images=None if images is None else checked_images(images, len(nodes)),
    )


def _listed(argument: str, values: Any, nodes: Sequence[Any]) -> list[Any]:
    """List what is said of each point, by its name where the caller says it of names."""
    values = in_row_order(argument, values, nodes)
    flat = getattr(values, "ndim", 1) == 1 and not hasattr(values, "columns")
    if isinstance(values, UNFIT) or not isinstance(values, Iterable) or not flat:
        problem = f"got {shown(values)}"
        raise InputError(argument, problem, f"give a list of {len(nodes)}, one for each point")
    listed = list(objects_of(values))
    if len(listed) != len(nodes):
        raise InputError(argument, f"got {len(listed)} for {len(nodes)} points", "give one for each point")
    return listed


def texts_of(argument: str, values: Iterable[Any], missing: str = "") -> list[str]:
    """Write values as texts, with one in the place of those that are missing.

    Examples
    --------
    >>> texts_of("names", ["a", 7, None])
    ['a', '7', '']
    """
    texts = []
    for place, value in enumerate(values):
        try:
            texts.append(missing if is_missing(value) else clean_text(value))
        except Exception as error:  # the caller's own __str__, or a number with too many digits
            problem = f"holds {shown(value)} at {place}, which cannot be written ({error})"
            raise InputError(argument, problem, "give texts") from error
    return texts


def _numbered(labels: list[str]) -> tuple[list[str], Array]:
    distinct = sorted(set(labels))
    numbers = {label: number for number, label in enumerate(distinct)}
    return distinct, np.array([numbers[label] for label in labels])
