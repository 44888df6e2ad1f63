"""Rows of different lengths: the largest entries of sparse matrices, and who is torn between whom."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array

__all__ = ["NEAREST", "SHARES", "TORN", "Rows", "largest_in_rows", "starts_of", "torn_points"]

# Entries in a row: memberships of a point, and nearest clusters.
SHARES, NEAREST = 4, 6
# Points most torn between two clusters. A smaller share than the least one is not torn.
TORN, MIN_TORN = 3, 0.05

Rows = tuple[Array, Array, Array]  # counts, columns, values


def torn_points(shares: Rows, clusters: int) -> Rows:
    """List for every cluster the points most torn between it and each other cluster.

    Parameters
    ----------
    shares : counts, clusters and memberships of points, the largest first
    clusters : int

    Returns
    -------
    ndarray of shape (clusters,), two ndarrays of int
        How many entries each cluster has; the other clusters; the points. At most `NEAREST` other clusters,
        those with the most torn point first, and `TORN` points for each.

    Examples
    --------
    >>> shares = np.array([2, 2, 1]), np.array([0, 1, 1, 0, 1]), np.array([0.6, 0.4, 0.7, 0.3, 1.0])
    >>> [part.tolist() for part in torn_points(shares, 2)]
    [[2, 2], [1, 1, 0, 0], [0, 1, 0, 1]]
    """
    counts, columns, values = shares
    starts = starts_of(counts)
    parts = []
    for first in range(SHARES):
        for second in range(first + 1, SHARES):
            points = np.flatnonzero(counts > second)
            one, other = starts[points] + first, starts[points] + second
            torn = values[other] >= MIN_TORN
            points, one, other = points[torn], one[torn], other[torn]
            parts.append((columns[one], columns[other], points, values[other]))
            parts.append((columns[other], columns[one], points, values[other]))
    own, other, points, share = (np.concatenate([part[at] for part in parts]) for at in range(4))
    order = np.lexsort((points, -share, other, own))
    own, other, points, share = own[order], other[order], points[order], share[order]
    pair = own.astype(np.int64) * clusters + other
    kept = _rank(pair) < TORN
    own, other, points, share, pair = own[kept], other[kept], points[kept], share[kept], pair[kept]
    _, firsts, pairs = np.unique(pair, return_index=True, return_inverse=True)
    ranked = np.lexsort((other[firsts], -share[firsts], own[firsts]))
    place = np.empty(len(firsts), dtype=np.int64)
    place[ranked] = _rank(own[firsts][ranked])
    kept = place[pairs] < NEAREST
    order = np.lexsort((np.arange(len(own))[kept], place[pairs][kept], own[kept]))
    own, other, points = own[kept][order], other[kept][order], points[kept][order]
    return np.bincount(own, minlength=clusters), other, points


def _rank(sorted_groups: Array) -> Array:
    """Count from 0 within each group."""
    begins = np.flatnonzero(np.diff(sorted_groups, prepend=-1))
    lengths = np.diff(np.append(begins, len(sorted_groups)))
    return np.asarray(np.arange(len(sorted_groups)) - np.repeat(begins, lengths))


def largest_in_rows(matrix: sp.csr_array, count: int, least: float = 0.0) -> Rows:
    """Take the entries above `least` of each row, the largest first; of equal ones the lower column."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    large = matrix.data > least
    rows, columns, values = rows[large], matrix.indices[large], matrix.data[large]
    order = np.lexsort((columns, -values, rows))
    order = order[_rank(rows[order]) < count]
    return np.bincount(rows[order], minlength=matrix.shape[0]), columns[order], values[order]


def starts_of(counts: Array) -> Array:
    """Say where each row begins."""
    return np.asarray(np.cumsum(counts, dtype=np.int64) - counts)
