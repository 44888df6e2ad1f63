"""The order in which clusters are numbered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.fitting.fitted import FittedLevel
from graphsoft.graph.graph import Graph
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.memberships import likeliest

__all__ = ["by_mass", "from_the_heaviest", "heaviest_first", "with_columns"]

# Masses that agree in so many digits of their sum count as equal: rounding must not decide.
DIGITS = 9


def from_the_heaviest(levels: Sequence[FittedLevel], degrees: Array) -> list[FittedLevel]:
    """Renumber the clusters, from the heaviest to the lightest within their likeliest parents.

    Clusters of one parent have numbers in a row, in the order of the parents. Of equal ones the first stays
    first.

    Parameters
    ----------
    levels : sequence of FittedLevel
        Finest first.
    degrees : ndarray of shape (n,)
        Weight of each point.
    """
    found: list[FittedLevel] = []
    number: Array | None = None  # of the clusters of the level above
    for level in reversed(levels):
        parents = level.parents
        if number is not None and parents is not None:
            parents = with_columns(parents, number)
        order = by_mass(np.asarray(level.memberships.T @ degrees), parents)
        number = np.argsort(order)
        found.insert(0, _renumbered(replace(level, parents=parents), order, number))
    return found


def heaviest_first(memberships: sp.csr_array, degrees: Array) -> sp.csr_array:
    """Put clusters without parents in order, the heaviest first.

    Examples
    --------
    >>> heaviest_first(sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]), np.ones(3)).toarray()
    array([[0., 1.],
           [1., 0.],
           [1., 0.]])
    """
    return with_columns(memberships, np.argsort(by_mass(np.asarray(memberships.T @ degrees), None)))


def by_mass(mass: Array, parents: sp.csr_array | None) -> Array:
    """Sort clusters by their likeliest parents, then from the heaviest to the lightest.

    Examples
    --------
    >>> by_mass(np.array([1.0, 3.0, 2.0]), sp.csr_array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])).tolist()
    [2, 1, 0]
    """
    keys = [-np.round(mass / (mass.sum() or 1.0), DIGITS)]
    if parents is not None:
        keys.append(likeliest(parents))
    order: Array = np.lexsort(keys)
    return order


def _renumbered(level: FittedLevel, order: Array, number: Array) -> FittedLevel:
    """Put the clusters of a level into this order, in which each has this number."""
    if (number == np.arange(len(number))).all():
        return level
    return replace(
        level,
        memberships=with_columns(level.memberships, number),
        graph=Graph(with_columns(level.graph.adjacency[order], number), range(len(number))),
        parents=None if level.parents is None else level.parents[order],
    )


def with_columns(matrix: sp.csr_array, number: Array) -> sp.csr_array:
    """Give the columns of a matrix other numbers.

    Examples
    --------
    >>> with_columns(sp.csr_array([[1.0, 2.0, 0.0]]), np.array([2, 0, 1])).toarray()
    array([[2., 0., 1.]])
    """
    columns = taken(number.astype(matrix.indices.dtype), matrix.indices)
    moved = sp.csr_array((matrix.data.copy(), columns, matrix.indptr), shape=matrix.shape)
    moved.sort_indices()
    return moved
