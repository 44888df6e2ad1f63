"""Non-negative matrix factorization of features: plain, with penalties, and smooth along a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.blas import one_thread
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice, integer, number
from graphsoft.linalg.csr import gram, times
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.convergence import repeat_until_flat
from graphsoft.methods.parts.restarts import FeaturesFromStarts
from graphsoft.methods.parts.rows import few_distinct, fit_quietly, non_negative
from graphsoft.methods.parts.shares import MIN_PART, STARTS, final_memberships, start_shares

__all__ = ["GNMF", "NMF"]

# scikit-learn stops when the coordinates change by less than this share of their change in the first sweep.
TOLERANCE = 1e-5
# Smooth factorization stops when a sweep gains less than this share of the squares of X.
MIN_GAIN = 1e-6


@dataclass(frozen=True)
class NMF(FeaturesFromStarts):
    """Settings of ``X ~ V U^T`` with V, U >= 0, in least squares, by scikit-learn's coordinate descent.

    Columns of X with negative values are shifted to start at 0. For the memberships, the columns of V are
    divided by their sums, and then the rows by theirs. (Without the first division, the entries of V depend
    more on the lengths of the columns of U than on the clusters.)

    The trace has one entry: ``||X - V U^T||² / ||X||²``, plus the penalties if there are any.

    Parameters
    ----------
    penalty : float
        Regularized NMF adds ``penalty (||V||² / n + ||U||² / d)``, for X of mean square 1; 0 for plain NMF.
    starts : int
        How many times it starts, from a random U; the best result is kept.
    max_sweeps : int
        The most sweeps of each start.

    Examples
    --------
    >>> import graphsoft
    >>> graphsoft.cluster([[5.0, 0.0], [4.0, 1.0], [0.0, 3.0]], 2, method=NMF()).labels[:2].std()
    np.float64(0.0)
    """

    penalty: float = 0.0
    starts: int = 5
    max_sweeps: int = 1000

    def __post_init__(self) -> None:
        number("penalty", self.penalty, minimum=0)
        super().__post_init__()

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Factorize the features from several starts."""
        few = few_distinct(sample.features.values, "euclidean", count)
        if few is not None:
            return few
        rows = _mean_square_one(non_negative(sample.features.unmoved))
        found = []
        for start in range(self.starts):
            found.append(self._factors(rows, count, random))
            if progress is not None:
                progress("non-negative factorization", start + 1, self.starts)
        best = min(found, key=lambda factors: factors.loss)
        status = self._status(best.sweeps, best.sweeps < self.max_sweeps)
        return Clustering(_memberships(best.coordinates), (best.loss,), status, best.sweeps)

    def _factors(self, rows: Any, count: int, random: np.random.Generator) -> _Factors:
        from sklearn.decomposition import NMF as Factorization

        cells, features = rows.shape[0] * rows.shape[1], rows.shape[1]
        model = Factorization(
            count, init="custom", tol=TOLERANCE, max_iter=self.max_sweeps, alpha_W=float(self.penalty)
        )
        # all rows of V are equal at the start, so that identical points get identical memberships
        level = np.sqrt(rows.mean() / count)
        basis = level * np.abs(random.normal(size=(count, features)))
        coordinates = fit_quietly(model, rows, W=np.full((rows.shape[0], count), level), H=basis)
        basis = model.components_.T
        loss = model.reconstruction_err_**2 / cells
        loss += float(self.penalty) * (
            np.square(coordinates).sum() / len(coordinates) + np.square(basis).sum() / features
        )
        return _Factors(coordinates, basis, float(loss), int(model.n_iter_))


@dataclass(frozen=True)
class GNMF:
    """Settings of NMF that is smooth along the graph (Cai, He, Han and Huang): neighbors become similar.

    ``X ~ V U^T`` as in `NMF`, by multiplicative updates. The trace is

        ``||X - V U^T||² / ||X||² + smoothness sum_ij w_ij ||V_i - V_j||² / (2 sum_ij w_ij)``

    after the start and after each sweep, with columns of U of length one and V in units of X's mean row; it
    never rises. The paper does not fix the lengths of U during the updates, so the second term could vanish
    as U grows and V shrinks.

    Parameters
    ----------
    smoothness : float
        The weight of the graph against the features; 0 is plain NMF.
    start : {"contraction", "random"}
        See :func:`graphsoft.methods.parts.shares.start_shares`.
    max_sweeps : int
        It stops earlier when a sweep gains less than 1e-6 of ``||X||²``.

    Examples
    --------
    >>> import graphsoft
    >>> X = [[9.0, 0.0], [9.0, 1.0], [8.0, 1.0], [1.0, 9.0], [0.0, 9.0], [1.0, 8.0]]
    >>> graphsoft.cluster(X, 2, n_neighbors=2, method=GNMF()).labels.tolist()
    [0, 0, 0, 1, 1, 1]
    """

    smoothness: float = 100.0
    start: str = "contraction"
    max_sweeps: int = 500

    def __post_init__(self) -> None:
        number("smoothness", self.smoothness, minimum=0)
        choice("start", self.start, STARTS)
        integer("max_sweeps", self.max_sweeps, 1)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the features and the graph."""
        return frozenset({"features", "graph"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Update both factors in turn."""
        rows, graph = non_negative(sample.features.unmoved), sample.graph
        few = few_distinct(rows, "euclidean", count)
        if few is not None:
            return few
        shares = start_shares(graph, count, self.start, random)
        with one_thread():
            return self._updated(_Smooth(rows, graph, float(self.smoothness), shares), progress)

    def _updated(self, state: _Smooth, progress: Progress | None) -> Clustering:
        def sweep() -> float:
            state.update_coordinates()
            state.update_basis()
            return state.loss()

        trace, status = repeat_until_flat(
            sweep, state.loss(), self.max_sweeps, MIN_GAIN, "smooth factorization", progress
        )
        return Clustering(_memberships(state.V), trace, status, len(trace) - 1)


class _Smooth:
    """The two factors, and the products that the updates and the loss share."""

    def __init__(self, rows: Any, graph: Graph, smoothness: float, shares: Array) -> None:
        self.X = _mean_row_one(rows)
        self.X_T = self.X.T.tocsr() if sp.issparse(rows) else self.X.T
        largest = graph.adjacency.data.max()
        degrees = graph.degrees / largest
        self.adjacency, self.degrees = graph.adjacency, degrees / degrees.mean()
        self.weight = 1.0 / largest / degrees.mean()
        self.smoothness = smoothness
        self.V, self.U = shares, _product(self.X_T, shares)
        self._rescale()
        fitted = float(np.sum(self.XU * self.V))
        model = float(np.sum(gram(self.V) * gram(self.U)))
        self.V *= fitted / model
        self._rescale()

    def _rescale(self) -> None:
        """Scale columns of U to length one, and compute the products again."""
        lengths = np.sqrt(np.square(self.U).sum(axis=0))
        lengths[lengths == 0] = 1.0
        self.U = self.U / lengths
        self.V = self.V * lengths
        self.XU = _product(self.X, self.U)
        self._multiply_by_graph()

    def _multiply_by_graph(self) -> None:
        """Compute W V and D V, and how rough each column of V is on the graph."""
        self.WV = times(self.adjacency, self.V) * self.weight
        self.DV = self.degrees[:, None] * self.V
        self.rough = np.maximum(np.sum(self.V * (self.DV - self.WV), axis=0), 0.0)

    def update_coordinates(self) -> None:
        """Update V; the loss does not rise."""
        grown = self.XU + self.smoothness * self.WV
        self.V = _multiplied(self.V, grown, self.V @ gram(self.U) + self.smoothness * self.DV)
        self._multiply_by_graph()

    def update_basis(self) -> None:
        """Update U, whose longer columns count more in the second term; the loss does not rise."""
        inner = gram(self.V) + self.smoothness * np.diag(self.rough)
        self.U = _multiplied(self.U, _product(self.X_T, self.V), self.U @ inner)
        self._rescale()

    def loss(self) -> float:
        """Compute ``||X - V U^T||² / n`` plus the second term."""
        points = len(self.V)
        error = points - 2.0 * np.sum(self.XU * self.V) + np.sum(gram(self.V) * gram(self.U))
        return float(max(error, 0.0) + self.smoothness * self.rough.sum()) / points


@dataclass(frozen=True, eq=False)
class _Factors:
    """The result of one start of NMF."""

    coordinates: Array
    basis: Array
    loss: float
    sweeps: int


def _memberships(coordinates: Array) -> sp.csr_array:
    """Divide the columns by their sums, which gives p(point | cluster), and then the rows."""
    sums = coordinates.sum(axis=0)
    shares = coordinates / np.where(sums > 0, sums, 1.0)
    return final_memberships(shares, MIN_PART / coordinates.shape[1])


def _multiplied(factor: Array, up: Array, down: Array) -> Array:
    """Multiply by up / down; where down is 0, up is 0 too, and the entry stays as it is."""
    return factor * np.divide(up, down, out=np.ones_like(down), where=down > 0)


def _product(rows: Any, dense: Array) -> Array:
    return times(rows, dense) if sp.issparse(rows) else np.asarray(rows @ dense)


def _mean_square_one(rows: Any) -> Any:
    squares = np.square(rows.data if sp.issparse(rows) else rows).sum()
    return rows / np.sqrt(squares / rows.shape[0] / rows.shape[1])


def _mean_row_one(rows: Any) -> Any:
    """Scale the rows to a mean squared length of 1."""
    return rows / np.sqrt(np.square(rows.data if sp.issparse(rows) else rows).sum() / rows.shape[0])
