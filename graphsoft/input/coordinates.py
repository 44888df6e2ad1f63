"""Places of points in a plane, as the caller gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.names import in_row_order

__all__ = ["checked_coordinates"]

LARGEST = 1e300  # sums of so large numbers stay finite


def checked_coordinates(coordinates: Any, nodes: Sequence[Any]) -> Array:
    """Check two coordinates for each point; a mapping and a data frame may have the names in `nodes`.

    Returns
    -------
    ndarray of float64, shape (n, 2)

    Examples
    --------
    >>> checked_coordinates([[0, 1], [2, 3]], range(2)).shape
    (2, 2)
    """
    rows = in_row_order("coordinates", coordinates, nodes)
    table = dense_matrix(rows, "coordinates").astype(np.float64)
    if table.shape != (len(nodes), 2):
        problem = f"got shape {table.shape} for {len(nodes)} points"
        raise InputError("coordinates", problem, f"give two for each point, shape ({len(nodes)}, 2)")
    if np.abs(table).max() > LARGEST:
        raise InputError("coordinates", f"got {np.abs(table).max():g}", "rescale them")
    return table
