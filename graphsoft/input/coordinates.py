"""Places of points in a plane, as users pass them in."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.input.dense_input import dense_matrix

__all__ = ["checked_coordinates"]


def checked_coordinates(coordinates: Any, count: int) -> Array:
    """Check two coordinates for each of `count` points, and return them as float64.

    Examples
    --------
    >>> checked_coordinates([[0, 1], [2, 3]], 2).shape
    (2, 2)
    """
    table = dense_matrix(coordinates, "coordinates").astype(np.float64)
    if table.shape != (count, 2):
        problem, remedy = f"got shape {table.shape}", f"give two for each point, shape ({count}, 2)"
        raise InputError("coordinates", problem, remedy)
    with np.errstate(over="ignore"):
        spans = table.max(axis=0) - table.min(axis=0)
    if not np.isfinite(spans).all():
        raise InputError("coordinates", "are too far apart for float64", "rescale them")
    return table
