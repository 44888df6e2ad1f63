"""What both estimators do: fit a hierarchy to checked data, and ask it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, check_non_negative

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.estimators.distances import graph_of_distances, memberships_by_distances
from graphsoft.estimators.versions import CallbackSupportMixin, FitTasks, validate_data, with_callbacks
from graphsoft.graph.joining import check_options
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import choice, generator, integer
from graphsoft.input.names import frame_index
from graphsoft.levels import hierarchy
from graphsoft.linalg.memberships import likeliest
from graphsoft.neighbors.weights import ScaledLists

__all__ = ["SoftClusterer"]

DISTANCES = "precomputed_nearest_neighbors"
AFFINITIES = ("features", "precomputed", DISTANCES)


class SoftClusterer(
    CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """The part that `SoftHierarchy` and `SoftClustering` have in common; they hold the parameters."""

    n_clusters: Any
    method: Any
    affinity: Any
    n_neighbors: Any
    metric: Any
    weights: Any
    sparse_output: Any
    random_state: Any

    level: Any = -1  # which level answers
    time_limit: Any = None
    checkpoint: Any = None

    def _sizes(self, points: int) -> Sequence[int] | str:
        """Return the levels that are wanted."""
        count = integer("n_clusters", self.n_clusters, 1)
        if count > points:
            problem = f"got {count} clusters for {points} points"
            raise InputError("n_clusters", problem, f"use at most {points}")
        return [count]

    @with_callbacks
    def fit(self, X: Any, y: Any = None, *, known: Any = None) -> Self:
        """Find the clusters of points.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix of shape (n, d)
            Features. With a precomputed affinity: weights, or distances to neighbors, of shape (n, n). They
            are not copied, so do not change them afterwards.
        y : ignored
            Here for the interface of scikit-learn only.
        known : sequence of n, optional
            Labels of some points, with -1, None or NaN where they are unknown; see :func:`graphsoft.cluster`.
            Scikit-learn's searches and pipelines hand it on: ``set_fit_request(known=True)``.

        Returns
        -------
        The fitted estimator itself.
        """
        tasks = FitTasks(self, X, y)
        choice("affinity", self.affinity, AFFINITIES)
        check_options(self.n_neighbors, self.metric, self.weights, "union")
        data = self._checked(X, reset=True)
        levels = self._sizes(data.shape[0])
        if not isinstance(levels, str):
            self._place(len(levels))
        points, self._lists = self._joined(data)
        joining = {"n_neighbors": self.n_neighbors, "metric": self.metric, "weights": self.weights}
        found = hierarchy(
            points,
            levels,
            **({} if self._lists else joining),  # given distances have been joined
            affinity="features",
            method=self.method,
            names=frame_index(X),
            known=known,
            time_limit=self.time_limit,
            checkpoint=self.checkpoint,
            rng=_seed(self.random_state),
            progress=tasks.progress,
        )
        if self._lists:
            found = replace(found, settings=replace(found.settings, **joining))
        names = getattr(self, "feature_names_in_", None)
        if names is not None and found.features is not None:
            found = replace(found, features=replace(found.features, columns=tuple(names)))
        self.hierarchy_ = found
        self.labels_ = found[self._place(len(found))].labels.copy()
        tasks.end()
        return self

    def predict(self, X: Any) -> Array:
        """Find the likeliest cluster of new points, int32 of shape (q,); see :meth:`predict_proba`."""
        return likeliest(self._on_one_level(X)).copy()

    def predict_proba(self, X: Any) -> sp.csr_array | Array:
        """Compute memberships of new points: one step of the walk to fitted points, then to their clusters.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix of shape (q, d)
            The same features as in fitting. With a precomputed affinity: weights of new points, or their
            distances, to the n fitted ones.

        Returns
        -------
        csr_array or ndarray of shape (q, m)
            ``p(cluster | new point)``; rows sum to one. A fitted point has its own memberships; of equal
            ones the first counts.
        """
        return self._output(self._on_one_level(X))

    def transform(self, X: Any) -> sp.csr_array | Array:
        """Write the memberships of points on all levels side by side, the finest level first.

        Parameters
        ----------
        X
            As for :meth:`predict_proba`.

        Returns
        -------
        csr_array or ndarray of shape (q, number of all clusters)
        """
        return self._output(self._on_all_levels(X))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Name the columns of :meth:`transform` by the ids of clusters, as in ``hierarchy_.tree``.

        Parameters
        ----------
        input_features : sequence of str, optional
            The names of the columns of X, which are checked and not used.

        Returns
        -------
        ndarray of str objects
        """
        super().get_feature_names_out(input_features)  # checks them
        prefix, levels = type(self).__name__.lower(), enumerate(self.hierarchy_)
        names = [f"{prefix}_{at}-{number}" for at, level in levels for number in range(len(level.mass))]
        return np.asarray(names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        return sum(len(level.mass) for level in self.hierarchy_)

    def _checked(self, X: Any, reset: bool) -> Any:
        """Check data as every estimator of scikit-learn does; graphsoft checks the rest."""
        data = validate_data(self, X, accept_sparse="csr", reset=reset)
        if self._precomputed:
            check_non_negative(data, type(self).__name__)
        return data

    def _joined(self, data: Any) -> tuple[Any, ScaledLists | None]:
        """Make a graph of precomputed affinities, and leave features as they are."""
        if self.affinity == DISTANCES:
            return graph_of_distances(data, self.n_neighbors, self.weights)
        if self.affinity == "features":
            return data, None
        graph = as_graph(data, affinity="precomputed")
        if graph.from_distances:
            problem = "got 'precomputed', but X holds distances to neighbors"
            raise InputError("affinity", problem, f"use {DISTANCES!r}")
        return graph, None

    def _on_all_levels(self, X: Any) -> sp.csr_array:
        """Compute memberships of new points on all levels side by side."""
        check_is_fitted(self, "hierarchy_")
        data = self._checked(X, reset=False)
        if self._lists is None:
            return self.hierarchy_.transform(data)
        return memberships_by_distances(data, self.hierarchy_, self._lists)

    def _on_one_level(self, X: Any) -> sp.csr_array:
        """Compute memberships of new points on the level that answers."""
        memberships = self._on_all_levels(X)
        ends = np.cumsum([0, *(len(level.mass) for level in self.hierarchy_)])
        at = self._place(len(self.hierarchy_))
        return memberships[:, ends[at] : ends[at + 1]]

    def _place(self, count: int) -> int:
        """Check which of `count` levels answers, and count it from the finest."""
        return integer("level", self.level, -count, count - 1) % count

    def _output(self, memberships: sp.csr_array) -> sp.csr_array | Array:
        # the caller's own: what comes next in a pipeline may work in place
        return memberships.copy() if self.sparse_output else memberships.toarray()

    @property
    def _precomputed(self) -> bool:
        return self.affinity in ("precomputed", DISTANCES)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = tags.input_tags.positive_only = self._precomputed
        return tags

    def _more_tags(self) -> dict[str, bool]:
        """Return the tags for scikit-learn 1.5."""
        return {"pairwise": self._precomputed, "requires_positive_X": self._precomputed}


def _seed(random_state: Any) -> Any:
    """Turn what scikit-learn takes as the source of random numbers into what graphsoft takes."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    generator("random_state", random_state)
    return random_state
