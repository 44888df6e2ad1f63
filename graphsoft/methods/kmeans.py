"""k-means, and k-means of directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.linalg.memberships import membership_rows, one_cluster_each
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.restarts import FeaturesFromStarts
from graphsoft.methods.parts.rows import few_different, fit, moved, seed
from graphsoft.neighbors.points import Points

__all__ = ["KMeans", "SphericalKMeans"]


@dataclass(frozen=True)
class KMeans(FeaturesFromStarts):
    """Settings of k-means, by scikit-learn; hard clusters.

    The trace has one entry: the squared distances of the points to the means of their clusters, as a share of
    those to the mean of all.

    Parameters
    ----------
    starts : int
        Times it starts anew, by k-means++; the best result is kept.
    max_sweeps : int
        Most sweeps of each start.

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
        found = few_different(values, "euclidean", count)
        if found is not None:
            return found
        rows = moved(values)
        model = Lloyd(count, n_init=self.starts, max_iter=self.max_sweeps, tol=0, random_state=seed(random))
        fit(model, rows)
        spread, sweeps = _spread(rows), int(model.n_iter_)
        share = float(model.inertia_) / spread if spread > 0 else 0.0
        status = self._status(sweeps, sweeps < self.max_sweeps)
        return Clustering(one_cluster_each(model.labels_, count), (share,), status, sweeps)


@dataclass(frozen=True)
class SphericalKMeans(FeaturesFromStarts):
    """Settings of spherical k-means: rows and centers of length one, compared by their cosine; hard clusters.

    Rows of zeros have no direction, and belong to all clusters alike. The trace is the mean of one minus the
    cosine between a row and its center.

    Parameters
    ----------
    starts : int
        Times it starts anew, by k-means++; the best result is kept.
    max_sweeps : int
        Most sweeps of each start.

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
        few = few_different(rows, "cosine", count)
        if few is not None:
            weights[directed] = few.memberships.toarray()
            return Clustering(membership_rows(weights), (), few.status)
        found = []
        for start in range(self.starts):
            found.append(_from_start(rows, _seeds(rows, count, random), self.max_sweeps))
            if progress is not None:
                progress("spherical k-means", start + 1, self.starts)
        best = min(found, key=lambda run: run.trace[-1])
        weights[directed, best.labels] = 1.0
        status = self._status(best.sweeps, best.settled)
        return Clustering(membership_rows(weights), best.trace, status, best.sweeps)


@dataclass(frozen=True, eq=False)
class _Ended:
    """What one start of spherical k-means came to."""

    labels: Array
    trace: tuple[float, ...]
    settled: bool

    @property
    def sweeps(self) -> int:
        return len(self.trace) - 1


def _from_start(rows: Any, centers: Array, max_sweeps: int) -> _Ended:
    """Give every row to the nearest center, and every center the direction of its rows' sum, in turn."""
    labels, cosines = _nearest(rows, centers)
    trace = [_unlike(cosines)]
    for _ in range(max_sweeps):
        centers = _directions(rows, labels, cosines, len(centers))
        moved_to, cosines = _nearest(rows, centers)
        trace.append(_unlike(cosines))
        settled = bool((moved_to == labels).all())
        labels = moved_to
        if settled:
            return _Ended(labels, tuple(trace), True)
    return _Ended(labels, tuple(trace), False)


def _nearest(rows: Any, centers: Array) -> tuple[Array, Array]:
    cosines = np.asarray(rows @ centers.T)
    labels = np.argmax(cosines, axis=1)
    return labels, cosines[np.arange(len(labels)), labels]


def _unlike(cosines: Array) -> float:
    return float(np.mean(1.0 - cosines))


def _directions(rows: Any, labels: Array, cosines: Array, count: int) -> Array:
    """Find the centers; one without rows takes the row that is least like its own center."""
    sums = _sums(rows, labels, count)
    lengths = np.sqrt(np.square(sums).sum(axis=1))
    gone = np.flatnonzero(lengths == 0)
    if len(gone):
        odd = np.argsort(cosines, kind="stable")[: len(gone)]
        sums[gone] = _dense(rows[odd])
        lengths[gone] = 1.0
    return np.asarray(sums / lengths[:, None])


def _sums(rows: Any, labels: Array, count: int) -> Array:
    return _dense(one_cluster_each(labels, count).T @ rows)


def _seeds(rows: Any, count: int, random: np.random.Generator) -> Array:
    """Draw rows for centers, each the likelier the less it is like those before (k-means++)."""
    chosen = [int(random.integers(rows.shape[0]))]
    unlike = np.full(rows.shape[0], np.inf)
    while len(chosen) < count:
        center = _dense(rows[[chosen[-1]]])[0]
        unlike = np.minimum(unlike, np.maximum(1.0 - np.asarray(rows @ center), 0.0))
        unlike[chosen] = 0.0
        total = unlike.sum()
        chance = unlike / total if total > 0 else None
        chosen.append(int(random.choice(rows.shape[0], p=chance)))
    return _dense(rows[chosen])


def _unit_rows(points: Points, directed: Array) -> Any:
    if points.sparse:
        return points.multiplied()[directed].astype(np.float64)
    return np.asarray((points.values * points.factors[:, None])[directed], dtype=np.float64)


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows)


def _spread(rows: Any) -> float:
    """Sum the squared distances to the mean of all rows."""
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if sp.issparse(rows):
        return float(np.square(rows.data).sum() - rows.shape[0] * mean @ mean)
    return float(np.square(rows - mean).sum())
