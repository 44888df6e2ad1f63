"""What a hierarchy on disk answers by reading part after part, and what it leaves to a sample.

The functions for whole clusters are methods of `StoredHierarchy`, which `h` is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.linalg.memberships import frozen
from graphsoft.result.description import torn_between
from graphsoft.result.flow import ended, upper_level, walked

if TYPE_CHECKING:
    from graphsoft.result.stored import StoredHierarchy

__all__ = ["OfASample", "flow", "most_torn", "needs_a_sample"]


def flow(h: StoredHierarchy, level: int) -> sp.csr_array:
    """Find where the points of each cluster are on the level above; see :meth:`graphsoft.Hierarchy.flow`.

    Memberships and edges of all points are read, part after part.

    Parameters
    ----------
    level : int
        Any but the top level. Negative numbers count from the top.

    Returns
    -------
    csr_array of shape (m, m_above)
        Rows sum to one.
    """
    at = upper_level(h, level) - 1
    below = h.summary.levels[at]
    walks = sp.csr_array((len(below.mass), len(h.summary.levels[at + 1].mass)))
    for part in h.plan.parts:
        shares = h.files.memberships(part, at)
        degrees = np.asarray(h.files.edges(part)[0].sum(axis=1, dtype=np.float64)).ravel()
        walks = walks + walked(shares, degrees, h.files.memberships(part, at + 1))
    return ended(walks, below.parents)


def most_torn(h: StoredHierarchy, level: int, one: int, other: int, count: int) -> tuple[Array, Array]:
    """Find the rows that are the most torn between two clusters, and their shares, part after part."""
    rows, shares = np.zeros(0, dtype=np.int64), np.zeros((0, 2))
    for numbers, block in h.levels[level].memberships.blocks():
        if not len(numbers):
            continue
        places, found = torn_between(block, one, other, count)
        rows, shares = np.append(rows, numbers[places]), np.concatenate([shares, found])
        best = np.lexsort((rows, -shares.min(axis=1)))[:count]
        rows, shares = rows[best], shares[best]
    return frozen(rows), frozen(shares)


def needs_a_sample(argument: str, remedy: str = "take a sample: h.sample(10_000)") -> InputError:
    """Say that something needs all points in memory."""
    problem = "needs all points in memory, and those of a hierarchy on disk may not fit"
    return InputError(argument, problem, remedy)


class OfASample:
    """An attribute or a method that a hierarchy in memory has, and one on disk only by way of a sample."""

    def __init__(self, remedy: str = "take a sample: h.sample(10_000).{}") -> None:
        self._remedy, self._name = remedy, ""

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, h: Any, _: type | None = None) -> Any:
        if h is None:  # of the class
            return self
        raise needs_a_sample(self._name, self._remedy.format(self._name))
