"""Memberships in results: users can change them, so they are checked before they are used."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.input.labels import ROUNDING
from graphsoft.input.sparse_input import check_rows
from graphsoft.lazy import lazy
from graphsoft.linalg.indexing import put
from graphsoft.linalg.memberships import entropies, likeliest

__all__ = ["REMEDY", "SoftClusters", "check_memberships"]

REMEDY = "leave results as they were, or find them again"


class SoftClusters:
    """What follows from memberships alone, for frozen data classes that have them."""

    memberships: sp.csr_array

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle the fields only: the copy computes its labels itself."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    @lazy
    def labels(self) -> Array:
        """The likeliest cluster of every point, int32 of shape (n,); of equal ones the lower number."""
        check_memberships(self.memberships, "memberships")
        return likeliest(self.memberships)

    @lazy
    def entropy(self) -> Array:
        """How torn every point is between clusters, in nats, float64 of shape (n,)."""
        check_memberships(self.memberships, "memberships")
        return entropies(self.memberships)


def check_memberships(
    memberships: Any, argument: str, shape: tuple[int, int] | None = None, remedy: str = REMEDY
) -> None:
    """Refuse a matrix that is no longer, or never was, one of memberships that compiled loops may follow.

    Results of graphsoft hold such matrices, and a user can change them, or make a result by hand.

    Parameters
    ----------
    memberships : csr_array of shape (n, m)
    argument : str
        The name to use in errors.
    shape : pair of int, optional
        The shape that it must have.
    remedy : str
        What the error says to do about it.

    Examples
    --------
    >>> check_memberships(sp.csr_array([[0.5, 0.7]]), "h")
    Traceback (most recent call last):
    graphsoft.errors.InputError: h: has memberships whose row 0 sums to 1.2. Remedy: leave results as they \
were, or find them again.
    """
    check_rows(memberships, argument)
    if shape is not None and memberships.shape != shape:
        problem = f"has memberships of shape {memberships.shape} where {shape} is needed"
        raise InputError(argument, problem, remedy)
    sums = np.asarray(memberships.sum(axis=1)).ravel()
    off = np.flatnonzero(~(np.abs(sums - 1.0) <= ROUNDING))  # NaN too
    if len(off):
        problem = f"has memberships whose row {off[0]} sums to {sums[off[0]]:g}"
        raise InputError(argument, problem, remedy)
    if memberships.data.min() < 0:
        raise InputError(argument, f"has a membership of {memberships.data.min():g}", remedy)
    if _has_repeated(memberships):
        raise InputError(argument, "has memberships that name a cluster twice in one row", remedy)


def _has_repeated(memberships: sp.csr_array) -> bool:
    """Tell whether some row stores a column twice: loops would see two small shares in place of their sum.

    Examples
    --------
    >>> twice = sp.csr_array(([0.5, 0.5], [0, 0], [0, 2]), shape=(1, 2))
    >>> _has_repeated(twice), _has_repeated(sp.csr_array([[0.5, 0.5]]))
    (True, False)
    """
    indices, indptr = memberships.indices, memberships.indptr
    falls = indices[1:] <= indices[:-1]
    put(falls, indptr[1:-1] - 1, False)  # every row stores something, since it sums to one
    if not falls.any():
        return False
    rows = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((indices, rows))
    rows, columns = rows[order], indices[order]
    return bool(((rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])).any())
