"""Features prepared for a neighbor search: scaled without rounding, and a lookup of equal rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.input.mapped import allocate, take_rows
from graphsoft.kernels import Rows, read_only
from graphsoft.kernels.hashing import hash_rows, hash_rows_sparse
from graphsoft.parallel import row_blocks

__all__ = ["DIRECTIONS", "NORMS", "Points", "RowLookup", "as_compared", "first_copies"]

DIRECTIONS = ("cosine", "correlation")  # metrics that depend only on the direction of a row
NORMS = {"euclidean": 2.0, "cosine": 2.0, "correlation": 2.0, "manhattan": 1.0, "chebyshev": np.inf}
MODEST = 100  # squares and sums of numbers within 2**±MODEST stay well within float64
FAR = 2.0**500  # where new points beyond it are put: still far from ordinary ones, and with a finite square


@dataclass(frozen=True, eq=False)
class Points:
    """Rows prepared for a search; made by `Points.of`.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n, d)
        The features, multiplied by a power of two if they are extreme.
    metric : str
        A key of :data:`graphsoft.neighbors.exact.METRICS`.
    factors : ndarray of shape (n,)
        What each row has to be multiplied with: one over its length under metrics of directions, or 0 if it
        has no direction, and 1 under the other metrics.
    exponent : int
        Distances between rows of `values`, times ``2**exponent``, are distances between the features.

    Examples
    --------
    >>> import numpy as np
    >>> Points.of(np.array([[3.0, 4.0], [0.0, 0.0]]), "cosine").factors.tolist()
    [0.2, 0.0]
    """

    values: Any
    metric: str
    factors: Array
    exponent: int = 0

    @classmethod
    def of(cls, values: Any, metric: str = "euclidean") -> Points:
        """Prepare features that :mod:`graphsoft.input` has checked."""
        if metric in DIRECTIONS:
            values, lengths = _lengths(_centered(values) if metric == "correlation" else values)
            with np.errstate(divide="ignore"):
                return cls(values, metric, np.where(lengths > 0, 1.0 / lengths, 0.0))
        exponent = 0 if metric == "hamming" else _exponent(values, by_spread=metric in NORMS)
        if abs(exponent) < MODEST:
            exponent = 0
        return cls(_times_power(values, -exponent), metric, np.ones(values.shape[0]), exponent)

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether the features are stored as CSR."""
        return bool(sp.issparse(self.values))

    @property
    def squared(self) -> bool:
        """Whether neighbors are sorted by squared Euclidean distances of the multiplied rows."""
        return NORMS.get(self.metric) == 2.0

    def alongside(self, values: Any) -> Points:
        """Prepare features of other points on the same scale, so that distances to these points are right.

        Examples
        --------
        >>> import numpy as np
        >>> tiny = Points.of(np.array([[1e-200], [3e-200]]))
        >>> bool((tiny.alongside(np.array([[3e-200]])).values == tiny.values[1]).all())
        True
        """
        if self.metric in DIRECTIONS:
            return Points.of(values, self.metric)
        with np.errstate(over="ignore"):
            values = _times_power(values, -self.exponent)
        largest = _largest(values)
        if self.metric in NORMS and largest.max(initial=0.0) > FAR and _largest(self.values).max() < FAR:
            values = values.copy()
            data = values.data if sp.issparse(values) else values
            np.clip(data, -FAR, FAR, out=data)
        return Points(values, self.metric, np.ones(values.shape[0]), self.exponent)

    def take(self, rows: Array) -> Points:
        """Keep only these rows."""
        return replace(self, values=take_rows(self.values, rows), factors=self.factors[rows])

    def multiplied(self) -> sp.csr_array:
        """Multiply sparse rows by their factors."""
        data = self.values.data * np.repeat(self.factors, np.diff(self.values.indptr))
        return sp.csr_array((data, self.values.indices, self.values.indptr), shape=self.values.shape)


def _times_power(values: Any, exponent: Any) -> Any:
    """Multiply by a power of two, which is exact; `exponent` is one number or one for each row."""
    if not np.any(exponent):
        return values
    if sp.issparse(values):
        if np.ndim(exponent):
            exponent = np.repeat(exponent, np.diff(values.indptr))
        data = np.ldexp(values.data, exponent)
        return sp.csr_array((data, values.indices, values.indptr), shape=values.shape)
    result, exponents = allocate(values, values.shape, np.float64), np.broadcast_to(exponent, len(values))
    for start, stop in row_blocks(values):
        np.ldexp(values[start:stop].astype(np.float64), exponents[start:stop, None], out=result[start:stop])
    return result


def _exponent(values: Any, by_spread: bool) -> int:
    """Find the power of two above the widest range of a feature, or above the largest number.

    The range counts under metrics that do not change when all points move, because features can be huge and
    hardly differ.
    """
    if sp.issparse(values):
        return int(np.frexp(np.abs(values.data).max(initial=0.0))[1])
    high, low = values.max(axis=0).astype(np.float64), values.min(axis=0).astype(np.float64)
    largest = int(np.frexp(max(np.abs(high).max(), np.abs(low).max()))[1])
    spread = (high / 2 - low / 2).max()
    if not by_spread or spread == 0:
        return largest
    return max(int(np.frexp(spread)[1]) + 1, largest - 1000)  # constant features must not overflow


def _centered(values: Array) -> Array:
    """Subtract its mean from each row; constant rows become exactly 0, and extreme ones an ordinary size."""
    exponents = np.frexp(_largest(values))[1]
    if np.any(np.abs(exponents) >= MODEST):
        values = _times_power(values, -exponents)
    centered = allocate(values, values.shape, np.float64)
    for start, stop in row_blocks(values):
        part = values[start:stop]
        centered[start:stop] = part - part.mean(axis=1, dtype=np.float64)[:, None]
    centered[values.max(axis=1) == values.min(axis=1)] = 0.0
    return centered


def _largest(values: Any) -> Array:
    """Find the largest absolute value of each row."""
    if sp.issparse(values):
        return np.asarray(abs(values).max(axis=1).toarray(), dtype=np.float64).ravel()
    return np.asarray(np.maximum(values.max(axis=1), -values.min(axis=1)), dtype=np.float64)


def _lengths(values: Any) -> tuple[Any, Array]:
    """Bring extreme rows to an ordinary size, and compute the length of each row."""
    exponents = np.frexp(_largest(values))[1]
    if np.any(np.abs(exponents) >= MODEST):
        values = _times_power(values, -exponents)
    if sp.issparse(values):
        return values, np.sqrt(np.asarray(values.power(2).sum(axis=1), dtype=np.float64).ravel())
    lengths = np.empty(len(values))
    for start, stop in row_blocks(values):
        lengths[start:stop] = np.sqrt(np.square(values[start:stop], dtype=np.float64).sum(axis=1))
    return values, lengths


def first_copies(points: Points) -> Array:
    """Find for every row the first row that equals it, under metrics of directions up to a positive factor.

    A row without a direction equals no other row.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> first_copies(Points.of(np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]]))).tolist()
    [0, 1, 0]
    """
    divisors = _divisors(points)
    hashes = _hashes(points.values, divisors)
    order = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.diff(hashes[order], prepend=~hashes[order[:1]]))
    heads = np.repeat(order[starts], np.diff(starts, append=len(points)))
    guess = (heads != order) & (points.factors[order] > 0)
    first = np.arange(len(points))
    rows, heads = order[guess], heads[guess]
    for start, stop in row_blocks(points.values):  # rows with equal hashes may differ
        mine, theirs = rows[start:stop], heads[start:stop]
        same = _same_rows(_unit(points.values, divisors, mine), _unit(points.values, divisors, theirs))
        first[mine[same]] = theirs[same]
    return first


def as_compared(points: Points) -> Any:
    """Make float64 rows that are equal to the last bit where `first_copies` finds rows equal.

    Examples
    --------
    >>> as_compared(Points.of(np.array([[1.0, 3.0], [2.0, 6.0]]), "cosine")).tolist()
    [[0.3333333333333333, 1.0], [0.3333333333333333, 1.0]]
    """
    return _unit(points.values, _divisors(points), slice(None))


@dataclass(frozen=True, eq=False)
class RowLookup:
    """Points among which equal rows are looked up; made by `RowLookup.of`.

    Attributes
    ----------
    points : Points of shape (n, d)
    divisors : ndarray of shape (n,)
        What the rows are divided by before they are compared.
    hashes, order : ndarray of shape (n,)
        The hashes of the rows in rising order, and the rows that they belong to.

    Examples
    --------
    >>> import numpy as np
    >>> points = Points.of(np.array([[1.0, 2.0], [0.0, 1.0]]), "cosine")
    >>> RowLookup.of(points).find(points.alongside(np.array([[0.0, 3.0], [1.0, 1.0]]))).tolist()
    [1, -1]
    """

    points: Points
    divisors: Array
    hashes: Array
    order: Array

    @classmethod
    def of(cls, points: Points) -> RowLookup:
        """Hash all rows."""
        divisors = _divisors(points)
        hashes = _hashes(points.values, divisors)
        order = np.argsort(hashes, kind="stable")
        return cls(points, divisors, hashes[order], order)

    def find(self, others: Points) -> Array:
        """Find the first row that equals each of the others, in the sense of `first_copies`, or -1."""
        divisors, values = _divisors(others), self.points.values
        hashes = _hashes(others.values, divisors)
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.order) - 1)
        guess = self.order[places]
        alike = (self.hashes[places] == hashes) & (others.factors > 0) & (self.points.factors[guess] > 0)
        rows, found = np.flatnonzero(alike), np.full(len(others), -1, dtype=np.int64)
        for start, stop in row_blocks(others.values):
            mine = rows[start:stop]
            theirs = guess[mine]
            same = _same_rows(_unit(others.values, divisors, mine), _unit(values, self.divisors, theirs))
            found[mine[same]] = theirs[same]
        return found


def _divisors(points: Points) -> Array:
    # x / max|x| has the same bits for a row and its whole multiples, such as counts of words
    divisors = _largest(points.values) if points.metric in DIRECTIONS else np.ones(len(points))
    divisors[divisors == 0] = 1.0
    return divisors


def _hashes(values: Any, divisors: Array) -> Array:
    hashes = np.empty(values.shape[0], dtype=np.uint64)
    with np.errstate(over="ignore"):  # without the compiler NumPy warns when hashes wrap round
        if sp.issparse(values):
            words = _words(values.data / np.repeat(divisors, np.diff(values.indptr)))
            hash_rows_sparse(Rows(read_only(values.indptr), read_only(values.indices), words), hashes)
            return hashes
        for start, stop in row_blocks(values):
            hash_rows(_words(values[start:stop] / divisors[start:stop, None]), hashes[start:stop])
    return hashes


def _words(values: Array) -> Array:
    """View float64 numbers of a temporary array as words of 64 bits, with -0 changed to 0."""
    values[values == 0] = 0.0
    return values.view(np.uint64)


def _unit(values: Any, divisors: Array, rows: Array | slice) -> Any:
    part = values[rows]
    if not sp.issparse(values):
        return part / divisors[rows, None]
    part.data = part.data / np.repeat(divisors[rows], np.diff(part.indptr))
    return part


def _same_rows(ones: Any, others: Any) -> Array:
    if sp.issparse(ones):
        return np.asarray(abs(ones - others).sum(axis=1) == 0)
    return np.asarray((ones == others).all(axis=1))
