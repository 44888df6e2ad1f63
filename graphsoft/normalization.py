"""Normalizations of an affinity matrix: towards row sums that are all the same.

Points that weigh the same, in clusters that weigh the same, have affinities whose rows all add up to one
number. `normalized_step` goes a step towards that by factors, `doubly_stochastic` all the way, and `additive`
by summands, which negative affinities need. None of them makes a dense matrix.
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

__all__ = ["PlusRankTwo", "Scaled", "additive", "doubly_stochastic", "normalized_step", "rescaled"]

# How far the two directions of a pair may differ, relative to the largest entry.
ASYMMETRY = 1e-8
# Numbers within 4**±MODEST are not extreme.
MODEST = 100
# Scaling ends where this many steps no longer bring the row sums nearer to one by a tenth.
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
        How far the sum of a row that holds anything is from one, at most.
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
        """Multiply with a dense matrix of k columns, in O(nnz k + n k)."""
        columns = np.multiply.outer(self.mu, dense.sum(axis=0)) + self.mu @ dense
        return np.asarray(self.sparse @ dense + columns)

    def toarray(self) -> Array:
        """Write it out, n times n numbers: for few rows only."""
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
        of_sparse = float(self.sparse.data @ self.sparse.data)
        return of_sparse + 4.0 * float(_row_sums(self.sparse) @ mu) + 2.0 * float(count * mu @ mu + total**2)


def normalized_step(matrix: Any) -> sp.csr_array:
    """Divide every entry by the roots of its row's and its column's sum, ``D^-1/2 K D^-1/2``.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
        Symmetric, with entries of at least 0. Rows without entries stay so.

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

    Not every pattern of zeros allows such factors: in a star, what leads to the center cannot sum to one for
    each leaf and for the center too. Then the steps end with a status that says so. A positive diagonal
    always allows them.

    Parameters
    ----------
    matrix : sparse matrix of shape (n, n)
        Symmetric, with entries of at least 0. Rows without entries stay so.
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
    number("tolerance", tolerance, above=0, below=1)
    given, half = _ordinary(_symmetric(matrix, negative=False))
    filled = np.diff(given.indptr) > 0
    factors, steps = _inverse_roots(_row_sums(given)), 1
    product = given @ factors
    off = past = _off(factors * product, filled)
    while off > tolerance and steps < max_steps:
        # one more step divides by the roots of the sums of X K X, which are x_i (K x)_i
        with np.errstate(over="ignore"):
            wanted = np.sqrt(np.divide(factors, product, out=np.zeros(len(factors)), where=product > 0))
        if not (np.isfinite(wanted).all() and (wanted[filled] > 0).all()):
            break  # they run away from each other: no factors exist
        factors, steps = wanted, steps + 1
        product = given @ factors
        off = _off(factors * product, filled)
        if steps % PATIENCE == 0:
            if off > 0.9 * past:
                break
            past = off
    return Scaled(rescaled(given, factors), np.ldexp(factors, -half), off, _told(off, tolerance, steps))


def additive(matrix: Any) -> PlusRankTwo:
    """Find the nearest matrix with equal row sums that is not negative anywhere.

    The result is ``F = K' + mu 1^T + 1 mu^T``: of all symmetric matrices with ``F 1 = beta 1`` the nearest to
    ``K'`` in the Frobenius norm, with the smallest beta for which no entry is negative, but for rounding. It
    is kept in parts.

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
    # mu is beta / 2n and this, so that beta adds the same to all entries
    base = sums.sum() / (2.0 * count**2) - sums / count
    rows = np.repeat(np.arange(count), np.diff(given.indptr))
    stored = given.data + base[rows] + base[given.indices]
    least = min(stored.min(initial=np.inf), _least_unstored(given, base))
    return PlusRankTwo(whole, np.ldexp(base - least / 2.0, 2 * half))


def rescaled(matrix: sp.csr_array, factors: Array) -> sp.csr_array:
    """Multiply rows and columns by factors, ``X K X``; a symmetric matrix stays so to the last bit.

    Examples
    --------
    >>> rescaled(sp.csr_array([[0.0, 4.0], [4.0, 1.0]]), np.array([0.5, 1.0])).toarray()
    array([[0., 2.],
           [2., 1.]])
    """
    data = np.repeat(factors, np.diff(matrix.indptr))
    data *= factors[matrix.indices]  # both factors first: the same product from either side
    data *= matrix.data
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _least_unstored(matrix: sp.csr_array, values: Array) -> float:
    """Find the smallest ``values[i] + values[j]`` of all pairs that are not stored, `i = j` among them."""
    count = len(values)
    order = np.argsort(values, kind="stable")
    rank = np.empty(count, dtype=matrix.indices.dtype)
    rank[order] = np.arange(count)
    # columns by rising value; the first that is missing from a row is the smallest unstored one
    present = np.ones(matrix.nnz, dtype=np.bool_)  # sorted along, so not the matrix's own values
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
    """Check a symmetric matrix, and copy it with its two directions made equal."""
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
    """Divide entries by ``4**half``, if any are extreme, so that sums and their inverses are finite.

    Examples
    --------
    >>> _ordinary(sp.csr_array([[2.0**1000]]))[1], _ordinary(sp.csr_array([[9.0]]))[1]
    (500, 0)
    """
    exponents = np.frexp(matrix.data)[1]
    low, high = int(exponents.min(initial=0)), int(exponents.max(initial=0))
    if not matrix.nnz or max(-low, high) < 2 * MODEST:
        return matrix, 0
    half = (int(exponents.min()) + int(exponents.max())) // 4  # as far above the least as below the largest
    data = np.ldexp(matrix.data, -2 * half)
    return sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape), half


def _row_sums(matrix: sp.csr_array) -> Array:
    return np.asarray(matrix @ np.ones(matrix.shape[1]))


def _inverse_roots(values: Array) -> Array:
    return np.divide(1.0, np.sqrt(values), out=np.zeros(len(values)), where=values > 0)


def _off(sums: Array, filled: Array) -> float:
    return float(np.max(np.abs(sums[filled] - 1.0), initial=0.0))


def _told(off: float, tolerance: float, steps: int) -> str:
    if off <= tolerance:
        return f"doubly stochastic after {steps} steps"
    remedy = "no factors may exist; a positive diagonal would allow some"
    return f"stopped after {steps} steps, sums off by {off:.3g}: {remedy}"
