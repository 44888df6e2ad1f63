"""Classes and clusters of points, given as labels or as memberships, and the tables that scores need."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.containers import array_of
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.large_numbers import EXACT
from graphsoft.input.sparse_input import sparse_matrix
from graphsoft.linalg.memberships import one_cluster_each, rows_to_one

__all__ = [
    "adjusted_rand_of_pairs",
    "best_match",
    "both_shares",
    "confusion",
    "is_hard",
    "label_array",
    "matched",
    "shares_of",
]

ROUNDING = 1e-4  # the sum of a row may differ from one by so much, since memberships may be float32


def confusion(truth: Any, labels: Any) -> sp.csr_array:
    """Count the points of every class in every cluster.

    Parameters
    ----------
    truth : array-like of shape (n,), or array or sparse matrix of shape (n, c)
        Known classes: numbers, strings, or memberships, whose rows sum to one.
    labels : array-like of shape (n,), or array or sparse matrix of shape (n, m)
        Clusters.

    Returns
    -------
    csr_array of shape (n_classes, n_clusters)
        For labels int64 counts, with classes and clusters in sorted order, and no row or column for empty
        ones. For memberships T and S the expected counts ``T^T S`` with all their columns, in float64, or in
        int64 where all memberships are 0 or 1.

    Examples
    --------
    >>> confusion(["a", "a", "b"], [7, 9, 9]).toarray()
    array([[1, 1],
           [0, 1]])
    >>> confusion(["a", "a", "b"], [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]).toarray()
    array([[1.5, 0.5],
           [0. , 1. ]])
    """
    first, second = both_shares(truth, labels)
    table = sp.csr_array(first.T @ second)
    table.sort_indices()
    # whole numbers are exact in float64 up to 2^53 points
    return table.astype(np.int64) if is_hard(first) and is_hard(second) else table


def best_match(truth: Any, labels: Any) -> tuple[Array, Array, Array]:
    """Match clusters to classes one to one: the table of `confusion`, its rows, and their best columns."""
    from scipy.optimize import linear_sum_assignment

    table = confusion(truth, labels).toarray()
    return table, *linear_sum_assignment(table, maximize=True)


def matched(truth: Any, labels: Any) -> sp.csr_array:
    """Count like `confusion`, with each cluster in the column of the class that it matches best.

    Parameters
    ----------
    truth, labels
        As in :func:`confusion`.

    Returns
    -------
    csr_array of shape (n_classes, n_clusters or more)
        The diagonal holds the best one-to-one match; its sum divided by that of the table is the accuracy.
        Clusters without a class come last, and a class without a cluster has an empty column.

    Examples
    --------
    >>> matched(["a", "a", "b", "c"], [7, 7, 7, 3]).toarray()
    array([[2, 0, 0],
           [1, 0, 0],
           [0, 0, 1]])
    """
    table, rows, columns = best_match(truth, labels)
    rest = np.setdiff1d(np.arange(table.shape[1]), columns)
    ordered = np.zeros((len(table), len(table) + len(rest)), dtype=table.dtype)
    ordered[:, rows] = table[:, columns]
    ordered[:, len(table) :] = table[:, rest]
    return sp.csr_array(ordered)


def both_shares(truth: Any, labels: Any) -> tuple[sp.csr_array, sp.csr_array]:
    """Read classes and clusters of the same points.

    Examples
    --------
    >>> first, second = both_shares([0, 1], [[0.5, 0.5], [0.0, 1.0]])
    >>> first.toarray().tolist(), second.toarray().tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.0, 1.0]])
    """
    first, second = shares_of(truth, "truth"), shares_of(labels, "labels")
    if first.shape[0] != second.shape[0]:
        problem = f"got {second.shape[0]} for {first.shape[0]} known classes"
        raise InputError("labels", problem, "give one for each point")
    return first, second


def shares_of(values: Any, argument: str) -> sp.csr_array:
    """Read labels or memberships as memberships; labels get a column for each distinct one, in sorted order.

    An object with the attribute ``memberships``, such as a level, stands for these.

    Examples
    --------
    >>> shares_of(["b", "a"], "labels").toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    values = getattr(values, "memberships", values)
    if sp.issparse(values):
        return _checked(sparse_matrix(values, argument), argument)
    if np.ma.is_masked(values):  # np.asarray would show what is behind the mask
        raise InputError(argument, "has masked entries", "leave such points out")
    array = label_array(values, argument)
    if array.ndim == 2:
        return _checked(sp.csr_array(dense_matrix(values, argument).astype(np.float64)), argument)
    if array.ndim == 0:
        raise InputError(argument, f"got {shown(values)}", "give labels, or memberships, of all points")
    if array.ndim != 1 or not len(array):
        raise InputError(argument, f"got shape {array.shape}", "give one entry for each point, at least one")
    if array.dtype.kind == "U" and not all(isinstance(label, str) for label in values):
        raise InputError(argument, f"holds {shown(values)}", "use only numbers or only strings")
    try:
        distinct, numbers = np.unique(array, return_inverse=True)
    except TypeError as error:
        raise InputError(
            argument, f"cannot be sorted ({error})", "use only numbers or only strings"
        ) from None
    return one_cluster_each(numbers, len(distinct))


def label_array(values: Any, argument: str = "labels") -> Array:
    """Make an array of labels, in which whole numbers that differ stay different.

    Of a list of numbers below 0 and beyond 2**63, or of whole numbers and fractions, NumPy makes floats.

    Examples
    --------
    >>> label_array([2**63, 2**63 + 1, -1]).tolist(), label_array([1, 0.5]).tolist()
    ([9223372036854775808, 9223372036854775809, -1], [1.0, 0.5])
    """
    array = array_of(values, argument, "give one entry for each point")
    if array.dtype != np.float64 or array.ndim != 1 or hasattr(values, "dtype"):
        return array
    return np.asarray(values, dtype=object) if (np.abs(array) >= EXACT).any() else array


def is_hard(shares: sp.csr_array) -> bool:
    """Tell whether every point is in one cluster.

    Examples
    --------
    >>> is_hard(sp.csr_array([[1.0, 0.0]])), is_hard(sp.csr_array([[0.5, 0.5]]))
    (True, False)
    """
    return bool((shares.data == 1.0).all())


def adjusted_rand_of_pairs(both: Any, first: Any, second: Any, everything: int) -> float:
    """Compute the adjusted Rand index from numbers of pairs of points.

    Parameters
    ----------
    both, first, second : int or float
        Pairs that are together in both clusterings, in the first, and in the second. Whole numbers stay exact
        however large they are: products of them exceed 64 bits from some 10^5 points on.
    everything : int
        All pairs.

    Returns
    -------
    float
        1 if there is nothing to tell apart: all points are together in both clusterings, or all are alone.

    Examples
    --------
    >>> adjusted_rand_of_pairs(2, 2, 2, 6), adjusted_rand_of_pairs(0, 0, 0, 0)
    (1.0, 1.0)
    """
    above = both * everything - first * second
    below = (first + second) * everything - 2 * first * second
    return float(2 * above / below) if below else 1.0


def _checked(shares: sp.csr_array, argument: str) -> sp.csr_array:
    """Refuse rows that are not memberships, and make every row sum to one up to the last bits."""
    remedy = "give memberships, whose rows sum to one, or a flat list of labels"
    if (shares.data < 0).any():
        raise InputError(argument, f"holds {shares.data.min():g}", remedy)
    sums = np.asarray(shares.sum(axis=1)).ravel()
    off = np.flatnonzero(np.abs(sums - 1.0) > ROUNDING)
    if len(off):
        raise InputError(argument, f"has row {off[0]}, which sums to {sums[off[0]]:g}", remedy)
    return rows_to_one(shares)
