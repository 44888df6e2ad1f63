"""Clusters as circles in a map of the points; `circles` is a method of `Hierarchy`, which `h` is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.input.coordinates import checked_coordinates
from graphsoft.kernels.placing import push_apart
from graphsoft.linalg.csr import times
from graphsoft.linalg.memberships import frozen
from graphsoft.result.intact import check_levels

if TYPE_CHECKING:
    from graphsoft.result.hierarchy import Hierarchy
    from graphsoft.result.level import Level

__all__ = ["Circles", "circles", "weights_of"]

COVERED = 0.3  # the part of the map that the circles of a level cover together
MAX_ROUNDS = 200  # of moves of overlapping circles


@dataclass(frozen=True, eq=False)
class Circles:
    """The clusters of one level as circles that do not overlap.

    Attributes
    ----------
    centers : ndarray of shape (m, 2)
        The mean of the points by their memberships, moved as far as the other circles need.
    radii : ndarray of shape (m,)
        Areas are in proportion to `mass`, or in a graph without edges to the number of points.
    """

    centers: Array
    radii: Array

    def __repr__(self) -> str:
        return f"Circles({len(self.radii)} clusters)"


def circles(h: Hierarchy, coordinates: Any = None) -> tuple[Circles, ...]:
    """Place the clusters of every level in a map of the points, as circles by mass.

    Parameters
    ----------
    coordinates : array_like of shape (n, 2), or mapping from `nodes`, optional
        A map of the points, such as one by UMAP. By default :meth:`layout`.

    Returns
    -------
    tuple of Circles
        One for each level, finest first, in the units of the map. Before circles are moved apart, the center
        of a parent is the mean of its children's centers by what each gives to it, so children lie around
        their parent.

    Examples
    --------
    >>> import graphsoft
    >>> h = graphsoft.hierarchy([[0.0, 1.0], [1.0, 1.0], [50.0, 1.0], [51.0, 1.0]], [2], n_neighbors=1)
    >>> found = h.circles([[0.0, 1.0], [1.0, 1.0], [50.0, 1.0], [51.0, 1.0]])
    >>> found
    (Circles(2 clusters),)
    >>> found[0].centers.tolist()
    [[0.5, 1.0], [50.5, 1.0]]
    """
    check_levels(h.levels, len(h.graph))
    places = checked_coordinates(h.layout() if coordinates is None else coordinates, h.nodes)
    middle = places.mean(axis=0)
    places = places - middle
    unit = float(np.abs(places).max()) or 1.0
    places /= unit
    # a disk of uniform density has twice the square of this radius
    spread = float((places**2).sum(axis=1).mean()) or 1.0
    found = []
    for level in h.levels:
        sums = times(level.memberships.T.tocsr(), np.column_stack([places, np.ones(len(places))]))
        centers = sums[:, :2] / np.maximum(sums[:, 2:], 1e-300)
        weights = weights_of(level)
        share = weights / weights.sum()
        centers, radii = _apart(centers, np.sqrt(COVERED * 2 * spread * share))
        found.append(Circles(frozen(centers * unit + middle), frozen(radii * unit)))
    return tuple(found)


def weights_of(level: Level) -> Array:
    """Return how much of a picture each cluster takes: its mass, or its points in a graph without edges."""
    return np.asarray(level.mass if level.mass.any() else level.memberships.sum(axis=0)).ravel()


def _apart(centers: Array, radii: Array) -> tuple[Array, Array]:
    """Move circles until none overlap, and make all of them smaller if some still do."""
    least = 0.0
    for _ in range(MAX_ROUNDS):
        moves = np.zeros_like(centers)
        least = push_apart(centers, radii, np.argsort(centers[:, 0] - radii, kind="stable"), moves)
        if not moves.any():
            break
        centers = centers + moves
    else:
        order = np.argsort(centers[:, 0] - radii, kind="stable")
        least = push_apart(centers, radii, order, np.zeros_like(centers))
    return centers, radii * least * (1 - 1e-6)  # so that they do not overlap in float32 either
