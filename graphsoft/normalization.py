"""Normalizations of an affinity matrix, towards rows with equal sums.

If all points have the same mass and all clusters too, the rows of the affinities have equal sums.
`normalized_step` takes one step towards that by multiplying rows and columns, and `doubly_stochastic` repeats
it to the end. `additive` adds numbers to rows and columns instead, which negative affinities need. None of
them makes a dense matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.checks import integer, number
from graphsoft.input.sparse_input import sparse_matrix
from graphsoft.linalg.csr import weighted_sums
from graphsoft.linalg.indexing import taken

__all__ = ["PlusRankTwo", "Scaled", "additive", "doubly_stochastic", "normalized_step", "rescaled"]

# How far the two directions of a pair may differ, relative to the largest entry.
ASYMMETRY = 1e-8
# Numbers between 4**-MODERATE and 4**MODERATE are not extreme.
MODERATE = 100
# Scaling stops if this many steps bring the row sums less than a tenth nearer to one.
PATIENCE = 50


@dataclass(frozen=True, eq=False, repr=False)
class Scaled:
    """A symmetric matrix whose rows and columns were multiplied by the same factors.

    Attributes
    ----------
    matrix : csr_array of shape (n, n)
        ``X K X`` with ``X`` the diagonal matrix of the factors.
    factors : ndarray of shape (n,)
    off : float
        The largest difference from one of the sums of rows that have entries.
    status : str
        What happened, in words.
    """

    matrix: sp.csr_array
    factors: Array
    off: float
    status: str

    def __repr__(self) -> str:
        return f"Scaled({self.status})"


@dataclass(frozen=True, eq=False, repr=False)
class PlusRankTwo:
    """A symmetric matrix kept in parts, ``sparse + mu 1^T + 1 mu^T``.

    Attributes
    ----------
    sparse : csr_array of shape (n, n)
    mu : ndarray of shape (n,)

    Examples
    --------
    >>> matrix = PlusRankTwo(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 2.0]))
    >>> matrix.toarray()
    array([[2., 4.],
           [4., 4.]])
    >>> matrix.row_sums().tolist(), matrix.squared_norm()
    ([6.0, 8.0], 52.0)
    >>> matrix @ np.array([[1.0], [0.5]])
    array([[4.],
           [6.]])
    """

    sparse: sp.csr_array
    mu: Array

    def __repr__(self) -> str:
        return f"PlusRankTwo({len(self.mu)} rows, {self.sparse.nnz} entries and two vectors)"

    def __matmul__(self, dense: Array) -> Array:
        """Multiply by a dense matrix of k columns, in O(nnz k + n k)."""
        columns = np.multiply.outer(self.mu, dense.sum(axis=0)) + weighted_sums(self.mu, dense)
        return np.asarray(self.sparse @ dense + columns)

    def toarray(self) -> Array:
        """Make the dense matrix of n times n numbers: for few rows only."""
        dense: Array = self.sparse.toarray()
        return dense + np.add.outer(self.mu, self.mu)

    def diagonal(self) -> Array:
        """Compute the diagonal, of shape (n,)."""
        return np.asarray(self.sparse.diagonal() + 2.0 * self.mu)

    def row_sums(self) -> Array:
        """Compute the sums of the rows, of shape (n,)."""
        return np.asarray(_row_sums(self.sparse) + len(self.mu) * self.mu + self.mu.sum())

    def squared_norm(self) -> float:
        """Compute the sum of all squared entries."""
        count, mu, total = len(self.mu), self.mu, self.mu.sum()
        of_sparse, of_both = (self.sparse.data**2).sum(), (_row_sums(self.sparse) * mu).sum()
        return float(of_sparse + 4.0 * of_both + 2.0 * (count * (mu**2).sum() + total**2))


def normalized_step(matrix: Any) -> sp.csr_array:
    """Divide every entry by the square roots of its row sum and its column sum, ``D^-1/2 K D^-1/2``.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
        Symmetric, with entries of at least 0. Rows without entries stay empty.

    Returns
    -------
    csr_array of shape (n, n)

    Examples
    --------
    >>> normalized_step(sp.csr_array([[0.0, 4.0], [4.0, 12.0]])).toarray()
    array([[0.  , 0.5 ],
           [0.5 , 0.75]])
    """
    given, _ = _ordinary(_symmetric(matrix, negative=False))
    return rescaled(given, _inverse_roots(_row_sums(given)))


def doubly_stochastic(matrix: Any, *, tolerance: float = 1e-9, max_steps: int = 1000) -> Scaled:
    """Repeat `normalized_step` until every row and every column sums to one.

    Not every pattern of zeros allows such factors. In a star, the edges to the center cannot sum to one at
    each leaf and at the center too. The steps then stop, and the status says so. A positive diagonal always
    allows them.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
        Symmetric, with entries of at least 0. Rows without entries stay empty.
    tolerance : float
        How far the sums may be from one.
    max_steps : int

    Returns
    -------
    Scaled

    Examples
    --------
    >>> found = doubly_stochastic(sp.csr_array([[3.0, 1.0], [1.0, 3.0]]))
    >>> found.matrix.toarray()
    array([[0.75, 0.25],
           [0.25, 0.75]])
    >>> star = sp.csr_array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    >>> print(doubly_stochastic(star).status)
    stopped after 50 steps, sums off by 0.414: no factors may exist; a positive diagonal would allow some
    """
    integer("max_steps", max_steps, 1)
    tolerance = number("tolerance", tolerance, above=0, below=1)
    given, half = _ordinary(_symmetric(matrix, negative=False))
    filled = np.diff(given.indptr) > 0
    factors, steps = _inverse_roots(_row_sums(given)), 1
    product = given @ factors
    off = previous = _off(factors * product, filled)
    while off > tolerance and steps < max_steps:
        # one more step divides by the roots of the sums of X K X, which are x_i (K x)_i
        with np.errstate(over="ignore"):
            wanted = np.sqrt(np.divide(factors, product, out=np.zeros(len(factors)), where=product > 0))
        if not (np.isfinite(wanted).all() and (wanted[filled] > 0).all()):
            break  # some grow and others shrink without end: no factors exist
        factors, steps = wanted, steps + 1
        product = given @ factors
        off = _off(factors * product, filled)
        if steps % PATIENCE == 0:
            if off > 0.9 * previous:
                break
            previous = off
    return Scaled(rescaled(given, factors), np.ldexp(factors, -half), off, _status(off, tolerance, steps))


def additive(matrix: Any) -> PlusRankTwo:
    """Find the nearest matrix with equal row sums that is not negative anywhere.

    The result is ``F = K + mu 1^T + 1 mu^T``. Of all symmetric matrices with ``F 1 = beta 1`` it is the
    nearest to K in the Frobenius norm. Beta is the smallest for which no entry is negative, up to rounding.
    The matrix is kept in parts.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
        Symmetric; entries may be negative.

    Returns
    -------
    PlusRankTwo
        Of the given matrix; beta is the sum of any row.

    Examples
    --------
    >>> found = additive(sp.csr_array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> found.toarray().round(6)
    array([[3., 0., 1.],
           [0., 3., 1.],
           [1., 1., 2.]])
    """
    whole = _symmetric(matrix, negative=True)
    given, half = _ordinary(whole)
    count, sums = given.shape[0], _row_sums(given)
    # mu is this plus beta / 2n, so beta adds the same to all entries
    base = sums.sum() / (2.0 * count**2) - sums / count
    rows = np.repeat(np.arange(count), np.diff(given.indptr))
    stored = given.data + base[rows] + base[given.indices]
    lowest = min(stored.min(initial=np.inf), _lowest_unstored(given, base))
    return PlusRankTwo(whole, np.ldexp(base - lowest / 2.0, 2 * half))


def rescaled(matrix: sp.csr_array, factors: Array) -> sp.csr_array:
    """Multiply rows and columns by factors, ``X K X``; a symmetric matrix stays exactly symmetric.

    Examples
    --------
    >>> rescaled(sp.csr_array([[0.0, 4.0], [4.0, 1.0]]), np.array([0.5, 1.0])).toarray()
    array([[0., 2.],
           [2., 1.]])
    """
    data = np.repeat(factors, np.diff(matrix.indptr))
    data *= taken(factors, matrix.indices)  # both factors first, so that both directions get the same product
    data *= matrix.data
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _lowest_unstored(matrix: sp.csr_array, values: Array) -> float:
    """Find the lowest ``values[i] + values[j]`` over all pairs that are not stored, ``i = j`` included."""
    count = len(values)
    order = np.argsort(values, kind="stable")
    rank = np.empty(count, dtype=matrix.indices.dtype)
    rank[order] = np.arange(count)
    # with columns in order of their values, the first one missing from a row is its lowest unstored one
    present = np.ones(matrix.nnz, dtype=np.bool_)  # is sorted too, so it must not be the matrix's own data
    ranked = sp.csr_array((present, rank[matrix.indices], matrix.indptr), shape=matrix.shape)
    ranked.sort_indices()
    lengths = np.diff(ranked.indptr)
    place = np.arange(ranked.nnz) - np.repeat(ranked.indptr[:-1], lengths)
    first = lengths.copy()
    late = np.flatnonzero(ranked.indices != place)
    np.minimum.at(first, np.searchsorted(ranked.indptr, late, side="right") - 1, place[late])
    gap = first < count
    return float(np.min(values[gap] + values[order[first[gap]]], initial=np.inf))


def _symmetric(matrix: Any, negative: bool) -> sp.csr_array:
    """Check that a matrix is symmetric, and remove rounding differences between its two directions."""
    if not sp.issparse(matrix):
        raise InputError("matrix", f"got {shown(matrix)}", "pass a SciPy sparse matrix")
    given = sparse_matrix(matrix, "matrix", rounded=True)
    if given.shape[0] != given.shape[1]:
        raise InputError("matrix", f"has shape {given.shape}", "pass a square one")
    if not negative and (given.data < 0).any():
        remedy = "use graphsoft.normalization.additive, or set them to zero"
        raise InputError("matrix", f"{np.count_nonzero(given.data < 0)} entries are negative", remedy)
    gap = abs(given - given.T).max() if given.nnz else 0.0
    if gap == 0:
        return given
    if gap > ASYMMETRY * abs(given.data).max():
        raise InputError("matrix", f"is not symmetric: entries differ by {gap:.3g}", "pass (A + A.T) / 2")
    return ((given + given.T) / 2).tocsr()


def _ordinary(matrix: sp.csr_array) -> tuple[sp.csr_array, int]:
    """If any entries are extreme, divide all by ``4**half``, so that sums and their inverses are finite.

    Examples
    --------
    >>> _ordinary(sp.csr_array([[2.0**1000]]))[1], _ordinary(sp.csr_array([[9.0]]))[1]
    (500, 0)
    """
    exponents = np.frexp(matrix.data)[1]
    low, high = int(exponents.min(initial=0)), int(exponents.max(initial=0))
    if not matrix.nnz or max(-low, high) < 2 * MODERATE:
        return matrix, 0
    half = (int(exponents.min()) + int(exponents.max())) // 4  # the middle between the lowest and the highest
    data = np.ldexp(matrix.data, -2 * half)
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape), half


def _row_sums(matrix: sp.csr_array) -> Array:
    return np.asarray(matrix @ np.ones(matrix.shape[1]))


def _inverse_roots(values: Array) -> Array:
    return np.divide(1.0, np.sqrt(values), out=np.zeros(len(values)), where=values > 0)


def _off(sums: Array, filled: Array) -> float:
    return float(np.max(np.abs(sums[filled] - 1.0), initial=0.0))


def _status(off: float, tolerance: float, steps: int) -> str:
    if off <= tolerance:
        return f"doubly stochastic after {steps} steps"
    remedy = "no factors may exist; a positive diagonal would allow some"
    return f"stopped after {steps} steps, sums off by {off:.3g}: {remedy}"
