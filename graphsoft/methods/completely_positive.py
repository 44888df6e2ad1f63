"""Completely positive factorization: affinities as ``G G^T`` with ``G >= 0``, whose rows are memberships.

The entries of G are updated one after the other, row by row, by a multiplicative rule, and every single
update lowers the squared error. The diagonal is left out: the similarity of a point to itself says nothing.
If pairs that are not stored count as zeros, a sweep over all entries costs O(nnz k + n k²), because ``G^T G``
is kept up to date. No n times n array is ever made.

Affinities among three and more points are factorized by the same loops, see `graphsoft.methods.tuples`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice, integer, number
from graphsoft.kernels.completely_positive import (
    Sums,
    Tuples,
    agreements,
    sweep,
    sweep_stored,
    symmetric_sums,
)
from graphsoft.linalg.csr import weighted_sums, without_diagonal
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.convergence import stop_status
from graphsoft.methods.parts.shares import STARTS, final_memberships, start_shares
from graphsoft.normalization import PlusRankTwo, additive, doubly_stochastic, rescaled
from graphsoft.parallel import LOAD, blocks, map_pieces, pieces_by_load

__all__ = ["UNSTORED", "CompletelyPositive", "Target", "factorized"]

NORMALIZATIONS = ("auto", "none", "step", "doubly-stochastic", "additive")
UNSTORED = ("zero", "unknown")
# If row sums differ from one by more than this, the status says so.
UNEVEN = 1e-3


@dataclass(frozen=True)
class CompletelyPositive:
    """Settings of completely positive factorization.

    The trace is ``1/2 sum_{i≠j} (F - G G^T)_ij²`` with the normalized affinities F. The sum is over the
    stored pairs only if the others are unknown. It never rises.

    Parameters
    ----------
    normalization : {"auto", "none", "step", "doubly-stochastic", "additive"}
        What is done to the affinities, whose largest is 1. ``step`` divides once by the roots of the row
        sums; ``doubly-stochastic`` repeats that until all row sums are one; ``additive`` adds numbers to rows
        and columns, so that the row sums are equal and no entry is negative. For the last two, the similarity
        of a point to itself is set to that of the most similar other point, so that a solution always exists.
        ``auto`` is ``doubly-stochastic``, and ``none`` if unstored pairs are unknown, for then row sums say
        little. Over the benchmark sets both ways of scaling gave the best clusters.
    unstored : {"zero", "unknown"}
        Whether pairs without an edge are dissimilar, or unknown, as in a sample of all pairs.
    strength : float
        In (0, 1]. Known pairs gain this much, or lose it. If that makes an affinity negative, all but
        ``additive`` keep the negative number, which pushes the two points apart.
    start : {"contraction", "random"}
        See `graphsoft.methods.parts.shares.start_shares`.
    max_sweeps : int
    tolerance : float
        It stops after a sweep that raises the explained part, ``1/2 sum F² - trace``, by less than this share
        of it.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> found = graphsoft.cluster(nx.barbell_graph(5, 0), 2, method=CompletelyPositive())
    >>> found.labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    normalization: str = "auto"
    unstored: str = "zero"
    strength: float = 1.0
    start: str = "contraction"
    max_sweeps: int = 500
    tolerance: float = 1e-5

    takes_pairs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choice("normalization", self.normalization, NORMALIZATIONS)
        choice("unstored", self.unstored, UNSTORED)
        number("strength", self.strength, above=0, maximum=1)
        choice("start", self.start, STARTS)
        integer("max_sweeps", self.max_sweeps, 1)
        number("tolerance", self.tolerance, above=0, maximum=1)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the graph only."""
        return frozenset({"graph"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Factorize the affinities; see the class."""
        graph, scale = sample.graph, 1.0 / sample.graph.adjacency.data.max()
        if sample.pairs is None:
            # first of all, because contraction takes the most memory
            shares = start_shares(graph, count, self.start, random)
            affinities = graph.adjacency * scale
        else:
            affinities = (graph.adjacency * scale + self.strength * sample.pairs).tocsr()
            graph = Graph(_at_least_zero(affinities), range(len(graph)))
            shares = start_shares(graph, count, self.start, random)
        target, note = self._target(affinities)
        stop = self.max_sweeps, self.tolerance
        return factorized(target, shares, self.unstored == "unknown", *stop, progress, note)

    def _target(self, affinities: sp.csr_array) -> tuple[Target, str]:
        """Normalize the affinities; also returns a remark for the status."""
        name = self.normalization
        if name == "auto":
            name = "doubly-stochastic" if self.unstored == "zero" else "none"
        if name == "none":
            return Target.of_pairs(affinities), ""
        if name == "additive":
            found = additive(_with_diagonal(affinities))
            if self.unstored == "zero":
                return Target.of_sum(found), ""
            rows = np.repeat(np.arange(len(found.mu)), np.diff(found.sparse.indptr))
            found.sparse.data += found.mu[rows] + found.mu[found.sparse.indices]
            return Target.of_pairs(found.sparse), ""
        positive = _at_least_zero(affinities)
        if name == "step":
            return Target.of_pairs(rescaled(affinities, doubly_stochastic(positive, max_steps=1).factors)), ""
        scaled = doubly_stochastic(_with_diagonal(positive))
        note = f"; row sums are off by up to {scaled.off:.2g}" if scaled.off > UNEVEN else ""
        return Target.of_pairs(rescaled(affinities, scaled.factors)), note


@dataclass(frozen=True, eq=False)
class Target:
    """Affinities to be factorized, of tuples of distinct points: pairs, triples, ...

    Attributes
    ----------
    tuples : Tuples
        Each is listed at all of its points.
    mu : ndarray of shape (n,) or (0,)
        For pairs: ``mu_i + mu_j`` is added to the affinities of all pairs.
    squared : float
        The sum of the squares of all affinities, over ordered tuples.
    """

    tuples: Tuples
    mu: Array
    squared: float

    @classmethod
    def of_pairs(cls, matrix: sp.csr_array) -> Target:
        """Take the affinities of pairs from a matrix without its diagonal."""
        rest = without_diagonal(matrix)
        squared = float(np.square(rest.data).sum())  # not by BLAS, whose bits depend on its threads
        return cls(_pairs(rest), np.zeros(0), squared)

    @classmethod
    def of_sum(cls, matrix: PlusRankTwo) -> Target:
        """Take the affinities of pairs from a matrix kept in parts, without its diagonal."""
        rest = without_diagonal(matrix.sparse)
        squared = max(matrix.squared_norm() - float(np.sum(matrix.diagonal() ** 2)), 0.0)
        return cls(_pairs(rest), matrix.mu, squared)

    @property
    def order(self) -> int:
        """The number of points in a tuple."""
        return int(self.tuples.others.shape[1]) + 1

    @property
    def pieces(self) -> list[tuple[int, int]]:
        """Blocks of rows; between two of them Ctrl-C works."""
        return pieces_by_load(self.tuples.ptr, LOAD)

    def agreement(self, shares: Array) -> tuple[float, float, float]:
        """Sum affinity times model over ordered tuples, negative ones separately, and the squared model."""
        result = np.empty((len(shares), 3))

        def piece(start: int, stop: int) -> None:
            agreements(self.tuples, shares, start, stop, result)

        for _ in map_pieces(piece, self.pieces):
            pass
        # an entry stands for all orders of the other points
        pull, push, square = factorial(self.order - 1) * result.sum(axis=0)
        if len(self.mu):
            whole = 2.0 * float(weighted_sums(self.mu, shares) @ shares.sum(axis=0))
            pull += whole - 2.0 * float(weighted_sums(self.mu, shares**2).sum())
        return float(pull), float(push), float(square)


def factorized(
    target: Target,
    shares: Array,
    known_only: bool,
    max_sweeps: int,
    tolerance: float,
    progress: Progress | None = None,
    note: str = "",
) -> Clustering:
    """Factorize affinities, starting from dense shares, until a sweep changes little.

    Parameters
    ----------
    target : Target
    shares : ndarray of shape (n, k)
    known_only : bool
        Whether tuples that are not stored are unknown; otherwise they count as zeros.
    max_sweeps, tolerance, progress
        See `CompletelyPositive`.
    note : str
        Added to the status.
    """
    pull, push, square = target.agreement(shares)
    if not known_only:
        square = factorial(target.order) * float(_polynomials(shares, target.order)[-1].sum())
    if not pull > 0:
        return Clustering(final_memberships(shares), (), "no affinities to factorize: as at the start")
    # scaled so that the error at the start is as small as possible
    scale = pull / square
    factor = shares * scale ** (1.0 / target.order)
    trace = [0.5 * (target.squared - 2.0 * scale * (pull - push) + scale**2 * square)]
    falls = np.zeros(len(shares))
    for done in range(1, max_sweeps + 1):
        if known_only:
            for start, stop in target.pieces:
                sweep_stored(target.tuples, factor, start, stop, falls)
        else:
            _sweep(target, factor, falls)
        fall = 0.5 * factorial(target.order) * float(falls.sum())
        trace.append(trace[-1] - fall)
        if progress is not None:
            progress("factorizing", done, max_sweeps)
        part = fall / max(0.5 * target.squared - trace[-1], fall, np.finfo(float).tiny)
        if part <= tolerance:
            break
    status = stop_status(done, part <= tolerance, f"still explaining {part:.1g} more in each")
    return Clustering(final_memberships(factor), tuple(trace), status + note, done)


def _sweep(target: Target, factor: Array, falls: Array) -> None:
    """Update all entries once. The sums are computed before each sweep, so that no errors pile up in them."""
    polynomials = _polynomials(factor, target.order - 1)
    weighted = weighted_sums(target.mu, factor) if len(target.mu) else np.zeros(factor.shape[1])
    totals = np.array([factor.sum(axis=0), weighted])
    sums = Sums(polynomials, polynomials.diagonal(axis1=1, axis2=2).copy(), totals)
    for start, stop in target.pieces:
        sweep(target.tuples, target.mu, factor, sums, start, stop, falls)


def _polynomials(factor: Array, degree: int) -> Array:
    """Compute the elementary symmetric polynomials up to a degree, see `symmetric_sums`."""
    count = factor.shape[1]
    polynomials = np.zeros((degree + 1, count, count))
    polynomials[0] = 1.0
    for start, stop in blocks(len(factor), max(1, LOAD // count)):
        symmetric_sums(factor, start, stop, polynomials)
    return polynomials


def _pairs(matrix: sp.csr_array) -> Tuples:
    return Tuples(matrix.indptr, matrix.indices[:, None], matrix.data)


def _at_least_zero(matrix: sp.csr_array) -> sp.csr_array:
    if not (matrix.data < 0).any():
        return matrix
    positive = matrix.copy()
    np.maximum(positive.data, 0.0, out=positive.data)
    positive.eliminate_zeros()
    return positive


def _with_diagonal(matrix: sp.csr_array) -> sp.csr_array:
    """Set the similarity of every point to itself to the highest in its row."""
    highest = np.maximum(matrix.max(axis=1).toarray().ravel(), 0.0)
    return (matrix + sp.diags_array(highest - matrix.diagonal())).tocsr()
