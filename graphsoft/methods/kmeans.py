"""k-means, and spherical k-means, which compares directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.linalg.memberships import membership_rows, one_cluster_each
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.restarts import FeaturesFromStarts
from graphsoft.methods.parts.rows import dense, few_distinct, fit_quietly, shifted, sklearn_seed
from graphsoft.neighbors.points import Points

__all__ = ["KMeans", "SphericalKMeans"]


@dataclass(frozen=True)
class KMeans(FeaturesFromStarts):
    """Settings of k-means, by scikit-learn; hard clusters.

    The trace has one entry: the squared distances of the points to the means of their clusters, as a share of
    those to the mean of all points.

    Parameters
    ----------
    starts : int
        How many times it starts, from centers drawn by k-means++; the best result is kept.
    max_sweeps : int
        The most sweeps of each start.

    Examples
    --------
    >>> import graphsoft
    >>> graphsoft.cluster([[0.0], [1.0], [7.0], [8.0]], 2, method=KMeans()).entropy.tolist()
    [0.0, 0.0, 0.0, 0.0]
    """

    starts: int = 10
    max_sweeps: int = 300

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Find the means from several starts."""
        from sklearn.cluster import KMeans as Lloyd

        values = sample.features.values
        few = few_distinct(values, "euclidean", count)
        if few is not None:
            return few
        rows = shifted(values)
        model = Lloyd(
            count, n_init=self.starts, max_iter=self.max_sweeps, tol=0, random_state=sklearn_seed(random)
        )
        fit_quietly(model, rows)
        spread, sweeps = _spread(rows), int(model.n_iter_)
        share = float(model.inertia_) / spread if spread > 0 else 0.0
        status = self._status(sweeps, sweeps < self.max_sweeps)
        return Clustering(one_cluster_each(model.labels_, count), (share,), status, sweeps)


@dataclass(frozen=True)
class SphericalKMeans(FeaturesFromStarts):
    """Settings of spherical k-means: rows and centers have length one; hard clusters.

    Rows of zeros have no direction, and belong to all clusters equally. The trace is the mean over the rows
    of one minus the cosine between a row and its center.

    Parameters
    ----------
    starts : int
        How many times it starts, from centers drawn by k-means++; the best result is kept.
    max_sweeps : int
        The most sweeps of each start.

    Examples
    --------
    >>> import graphsoft
    >>> X = [[1.0, 0.0], [9.0, 1.0], [0.0, 3.0], [0.0, 0.0]]
    >>> graphsoft.cluster(X, 2, method=SphericalKMeans()).entropy.round(3).tolist()
    [0.0, 0.0, 0.0, 0.693]
    """

    starts: int = 10
    max_sweeps: int = 300

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Find the centers from several starts."""
        points = Points.of(sample.features.unmoved, "cosine")
        directed = np.flatnonzero(points.factors)
        rows = _unit_rows(points, directed)
        weights = np.zeros((len(points), count))
        if not len(directed):
            return Clustering(membership_rows(weights), (), "no row has a direction")
        few = few_distinct(rows, "cosine", count)
        if few is not None:
            weights[directed] = few.memberships.toarray()
            return Clustering(membership_rows(weights), (), few.status)
        found = []
        for start in range(self.starts):
            found.append(_from_start(rows, _first_centers(rows, count, random), self.max_sweeps))
            if progress is not None:
                progress("spherical k-means", start + 1, self.starts)
        best = min(found, key=lambda run: run.trace[-1])
        weights[directed, best.labels] = 1.0
        status = self._status(best.sweeps, best.settled)
        return Clustering(membership_rows(weights), best.trace, status, best.sweeps)


@dataclass(frozen=True, eq=False)
class _Run:
    """The result of one start of spherical k-means."""

    labels: Array
    trace: tuple[float, ...]
    settled: bool

    @property
    def sweeps(self) -> int:
        return len(self.trace) - 1


def _from_start(rows: Any, centers: Array, max_sweeps: int) -> _Run:
    """Assign every row to its nearest center, and move every center to the direction of its rows, in turn."""
    labels, cosines = _nearest(rows, centers)
    trace = [_dissimilarity(cosines)]
    for _ in range(max_sweeps):
        centers = _directions(rows, labels, cosines, len(centers))
        assigned, cosines = _nearest(rows, centers)
        trace.append(_dissimilarity(cosines))
        settled = bool((assigned == labels).all())
        labels = assigned
        if settled:
            return _Run(labels, tuple(trace), True)
    return _Run(labels, tuple(trace), False)


def _nearest(rows: Any, centers: Array) -> tuple[Array, Array]:
    cosines = np.asarray(rows @ centers.T)
    labels = np.argmax(cosines, axis=1)
    return labels, cosines[np.arange(len(labels)), labels]


def _dissimilarity(cosines: Array) -> float:
    return float(np.mean(1.0 - cosines))


def _directions(rows: Any, labels: Array, cosines: Array, count: int) -> Array:
    """Find the centers; one without rows takes the row that is least similar to its own center."""
    sums = dense(one_cluster_each(labels, count).T @ rows)
    lengths = np.sqrt(np.square(sums).sum(axis=1))
    empty = np.flatnonzero(lengths == 0)
    if len(empty):
        outliers = np.argsort(cosines, kind="stable")[: len(empty)]
        sums[empty] = dense(rows[outliers])
        lengths[empty] = 1.0
    return np.asarray(sums / lengths[:, None])


def _first_centers(rows: Any, count: int, random: np.random.Generator) -> Array:
    """Draw rows as centers by k-means++: rows dissimilar to the earlier centers are more likely."""
    chosen = [int(random.integers(rows.shape[0]))]
    dissimilarity = np.full(rows.shape[0], np.inf)
    while len(chosen) < count:
        center = dense(rows[[chosen[-1]]])[0]
        dissimilarity = np.minimum(dissimilarity, np.maximum(1.0 - np.asarray(rows @ center), 0.0))
        dissimilarity[chosen] = 0.0
        total = dissimilarity.sum()
        probabilities = dissimilarity / total if total > 0 else None
        chosen.append(int(random.choice(rows.shape[0], p=probabilities)))
    return dense(rows[chosen])


def _unit_rows(points: Points, directed: Array) -> Any:
    if points.sparse:
        return points.multiplied()[directed].astype(np.float64)
    return np.asarray((points.values * points.factors[:, None])[directed], dtype=np.float64)


def _spread(rows: Any) -> float:
    """Sum the squared distances to the mean of all rows."""
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if sp.issparse(rows):
        return float(np.square(rows.data).sum() - rows.shape[0] * mean @ mean)
    return float(np.square(rows - mean).sum())
