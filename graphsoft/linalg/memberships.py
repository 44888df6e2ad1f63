"""Memberships: sparse matrices with a row for each point, whose entries are probabilities of clusters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array

__all__ = [
    "entropies",
    "frozen",
    "frozen_rows",
    "largest_shares",
    "likeliest",
    "membership_rows",
    "one_cluster_each",
    "rows_to_one",
]


def likeliest(memberships: sp.csr_array) -> Array:
    """Find the likeliest cluster of every point, int32; of equal ones the lower number.

    Examples
    --------
    >>> likeliest(sp.csr_array([[0.2, 0.4, 0.4], [1.0, 0.0, 0.0]])).tolist()
    [1, 0]
    """
    # SciPy's own max would sort the entries in the caller's matrix
    rows, top = _rows(memberships), np.zeros(memberships.shape[0])
    np.maximum.at(top, rows, memberships.data)
    best = np.flatnonzero(memberships.data == top[rows])
    labels = np.full(len(top), memberships.shape[1], dtype=np.int32)
    np.minimum.at(labels, rows[best], memberships.indices[best].astype(np.int32))
    return frozen(labels)


def largest_shares(memberships: sp.csr_array) -> Array:
    """Find the largest entry of every row; none may be empty.

    Examples
    --------
    >>> largest_shares(sp.csr_array([[0.2, 0.8], [1.0, 0.0]])).tolist()
    [0.8, 1.0]
    """
    return np.asarray(np.maximum.reduceat(memberships.data, memberships.indptr[:-1]))


def entropies(memberships: sp.csr_array) -> Array:
    """Compute the entropy of every row, in nats: 0 if a point belongs to one cluster only.

    Examples
    --------
    >>> entropies(sp.csr_array([[0.5, 0.5], [1.0, 0.0]])).round(3).tolist()
    [0.693, 0.0]
    """
    share = memberships.data
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)  # a 0 may be stored
    nats = np.bincount(_rows(memberships), -share * logs, minlength=memberships.shape[0])
    return frozen(np.maximum(nats, 0.0))


def rows_to_one(matrix: sp.csr_array) -> sp.csr_array:
    """Divide every row by its sum, which must be above 0.

    Examples
    --------
    >>> rows_to_one(sp.csr_array([[1.0, 3.0]])).toarray()
    array([[0.25, 0.75]])
    """
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    data = matrix.data / np.repeat(sums, np.diff(matrix.indptr))
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def membership_rows(weights: Array, min_share: float = 0.0) -> sp.csr_array:
    """Make memberships of dense non-negative weights; shares up to `min_share` are dropped.

    A row of zeros says nothing about its point, so the point belongs to all clusters equally.

    Parameters
    ----------
    weights : ndarray of shape (n, m)
    min_share : float
        Below ``1 / m``, so that every row keeps a share.

    Examples
    --------
    >>> membership_rows(np.array([[3.0, 1.0], [0.0, 0.0], [0.0, 5.0]])).toarray()
    array([[0.75, 0.25],
           [0.5 , 0.5 ],
           [0.  , 1.  ]])
    """
    largest = weights.max(axis=1, keepdims=True)
    shares = np.where(largest > 0, weights / np.where(largest > 0, largest, 1.0), 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    shares[shares <= min_share] = 0.0
    return rows_to_one(sp.csr_array(shares))


def one_cluster_each(labels: Array, count: int) -> sp.csr_array:
    """Make memberships in which every point belongs to one of `count` clusters.

    Examples
    --------
    >>> one_cluster_each(np.array([1, 0]), 2).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    # with 64-bit pointers SciPy would widen the indices too, and scikit-learn refuses those
    narrow = len(labels) <= np.iinfo(np.int32).max
    ptr = np.arange(len(labels) + 1, dtype=np.int32 if narrow else np.int64)
    return sp.csr_array((np.ones(len(labels)), labels.astype(np.int32), ptr), shape=(len(labels), count))


def frozen(array: Array) -> Array:
    """Make an array read-only."""
    array.flags.writeable = False
    return array


def frozen_rows(memberships: sp.csr_array) -> sp.csr_array:
    """Sort the columns of each row, and make the matrix read-only.

    Examples
    --------
    >>> frozen_rows(sp.csr_array([[0.5, 0.5]])).data.flags.writeable
    False
    """
    memberships.sort_indices()
    for buffer in (memberships.data, memberships.indices, memberships.indptr):
        frozen(buffer)
    return memberships


def _rows(memberships: sp.csr_array) -> Array:
    return np.repeat(np.arange(memberships.shape[0]), np.diff(memberships.indptr))
