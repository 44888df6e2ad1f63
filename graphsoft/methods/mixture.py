"""A mixture of Gaussians, by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.convergence import stop_status
from graphsoft.methods.parts.restarts import FeaturesFromStarts
from graphsoft.methods.parts.rows import dense_rows, few_distinct, fit_quietly, sklearn_seed
from graphsoft.methods.parts.shares import MIN_PART, final_memberships

__all__ = ["GaussianMixture"]

# Each cluster has a covariance for every two features, which takes 8 MB for this many.
MAX_FEATURES = 1000
# Added to each variance within a cluster, for features of variance 1, so that no covariance is singular.
RIDGE = 1e-6
# It ends when a sweep raises the mean log-likelihood by less.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class GaussianMixture(FeaturesFromStarts):
    """Settings of a mixture of Gaussians with full covariances, by scikit-learn; soft clusters.

    Features are first scaled to variance 1, and 1e-6 is added to every variance so that no covariance is
    singular. Otherwise the scaling changes the start only. The trace is minus the mean log-likelihood of a
    point before each sweep. It falls, except that the addition may raise it by about 1e-5.

    Parameters
    ----------
    starts : int
        How many times it starts, from k-means; the result with the highest likelihood is kept.
    max_sweeps : int
        The most sweeps of each start.

    Examples
    --------
    >>> import graphsoft
    >>> X = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]]
    >>> graphsoft.cluster(X, 2, method=GaussianMixture()).memberships.shape
    (6, 2)
    """

    starts: int = 3
    max_sweeps: int = 300

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Fit the mixture from several starts."""
        from sklearn.mixture import GaussianMixture as Mixture

        values = sample.features.values
        if values.shape[1] > MAX_FEATURES:
            problem = f"has {values.shape[1]} features, and each cluster needs a covariance for every two"
            raise InputError("X", problem, f"reduce them to at most {MAX_FEATURES}, for example by PCA")
        few = few_distinct(values, "euclidean", count)
        if few is not None:
            return few
        rows = dense_rows(values, "a mixture")
        rows /= _or_one(rows.max(axis=0))  # so that no feature's squares underflow
        rows -= rows.mean(axis=0)
        rows /= _or_one(rows.std(axis=0))
        model = Mixture(
            count, n_init=self.starts, max_iter=self.max_sweeps, tol=TOLERANCE, reg_covar=RIDGE,
            random_state=sklearn_seed(random),
        )  # fmt: skip
        fit_quietly(model, rows)
        shares = final_memberships(model.predict_proba(rows), MIN_PART / count)
        bounds = getattr(model, "lower_bounds_", (model.lower_bound_,))  # older releases keep the last only
        sweeps = int(model.n_iter_)
        status = stop_status(sweeps, bool(model.converged_))
        return Clustering(shares, tuple(-float(bound) for bound in bounds), status, sweeps)


def _or_one(values: Array) -> Array:
    """Replace zeros by ones, for a division."""
    return np.where(values > 0, values, 1.0)
