"""The result of `graphsoft.hierarchy`: its levels, their tree, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError
from graphsoft.fitting.report import Report
from graphsoft.fitting.settings import Settings
from graphsoft.graph.features import Features, FeaturesLeftOut
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import callback, integer
from graphsoft.input.dense_input import frame_columns
from graphsoft.input.memberships import check_memberships
from graphsoft.lazy import lazy
from graphsoft.linalg.memberships import frozen_rows, likeliest
from graphsoft.progress import watches_progress
from graphsoft.result import exporting
from graphsoft.result.between import between
from graphsoft.result.circles import circles
from graphsoft.result.comparing import compare
from graphsoft.result.description import Description, described, torn_between
from graphsoft.result.distinctive import Distinctive, Scores, distinctive, feature_names_of, table_of
from graphsoft.result.exploring import explore
from graphsoft.result.flow import flow
from graphsoft.result.intact import check_levels, intact_features, intact_graph
from graphsoft.result.layout import layout
from graphsoft.result.level import Level
from graphsoft.result.levels_in_order import LevelsInOrder
from graphsoft.result.naming import name_clusters
from graphsoft.result.new_rows import scaled
from graphsoft.result.point import point
from graphsoft.result.prediction import Reference, fallback_memberships, new_memberships, reference_of
from graphsoft.result.saving import write_hierarchy
from graphsoft.result.steps import steps_between
from graphsoft.result.updating import partial_update
from graphsoft.tree import Tree
from graphsoft.tree_building import build_tree

__all__ = ["Hierarchy"]


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(LevelsInOrder[Level]):
    """Levels of soft clusters, finest first: ``h[0]`` is the finest, ``h[-1]`` the coarsest.

    Attributes
    ----------
    levels : tuple of Level
    graph : Graph
        The graph of the points.
    report : Report
        What was done.
    settings : Settings
        How it was asked for.
    features : Features, FeaturesLeftOut or None
        The points' features, perhaps in the caller's own array; None if only a graph was given.
    cluster_names : mapping of str to str
        Names of clusters, by their ids; see :meth:`name_clusters`.
    """

    levels: tuple[Level, ...]
    graph: Graph
    report: Report
    settings: Settings
    features: Features | FeaturesLeftOut | None = None
    cluster_names: Mapping[str, str] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle the fields only: the copy makes its tree itself."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def __repr__(self) -> str:
        sizes = " -> ".join(str(level.memberships.shape[1]) for level in self.levels)
        return f"Hierarchy({len(self.graph)} points: {sizes} clusters)"

    def _repr_html_(self) -> str:
        return self.tree.as_html(repr(self))

    @property
    def nodes(self) -> Sequence[Any]:
        """The names of the points in row order; ``range(n)`` if neither the caller nor the input has any."""
        return self.graph.nodes

    # Longer methods are functions of modules of their own.
    between = between
    compare = compare
    explore = explore
    point = point
    name_clusters = name_clusters
    partial_update = partial_update
    flow = flow
    layout = layout
    circles = circles

    @lazy
    def tree(self) -> Tree:
        """Every cluster of every level under its likeliest parent."""
        check_levels(self.levels, len(self.graph))
        sizes = [np.bincount(level.labels, minlength=len(level.mass)) for level in self.levels]
        parents = [level.parents for level in self.levels if level.parents is not None]
        return build_tree(parents, [level.mass for level in self.levels], sizes, self.cluster_names)

    def describe(self, level: int = -1, *, feature_names: Any = None, X: Any = None) -> Description:
        """Describe the clusters of a level: size, certainty, neighbors, exemplars, what sets them apart.

        Parameters
        ----------
        level : int
            Negative numbers count from the top.
        feature_names, X
            See :meth:`distinctive`.

        Returns
        -------
        Description
            A sequence of :class:`graphsoft.result.description.ClusterDescription`. ``print`` shows a table,
            and ``to_frame()`` makes a data frame.

        Examples
        --------
        >>> import graphsoft
        >>> import networkx as nx
        >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
        >>> table = h.describe()
        >>> table[0].size, round(table[0].conductance, 2), table[0].exemplars[0]
        (39, 0.22, 'Valjean')
        """
        level = self._level(level)
        memberships = self._memberships(level)
        features: Sequence[Scores] = [()] * memberships.shape[1]
        if X is not None or not (self.features is None or isinstance(self.features, FeaturesLeftOut)):
            features = self.distinctive(level, feature_names=feature_names, X=X).scores
        elif feature_names is not None:
            raise InputError("feature_names", "there are no features to name", "leave them out, or pass X")
        return described(intact_graph(self), memberships, level, features, self.cluster_names)

    def distinctive(
        self,
        level: int = -1,
        count: int = 10,
        *,
        feature_names: Any = None,
        X: Any = None,
        statistic: str = "auto",
    ) -> Distinctive:
        """Find the features, or words, that set the clusters of a level apart.

        Parameters
        ----------
        level : int
            Negative numbers count from the top.
        count : int
            At most so many for each cluster.
        feature_names : sequence of d, optional
            The names of the features, such as a vectorizer's ``get_feature_names_out()``. By default the
            columns of a data frame are used.
        X : array_like, data frame or sparse matrix of shape (n, d), optional
            Another table of the same points: for example words, if embeddings were clustered. Rows of a data
            frame whose index holds the names of the points are matched by these.
        statistic : {"auto", "rates", "c-tf-idf", "difference"}
            ``"rates"`` is for counts and tf-idf of words: how much more often a word comes than in the rest,
            in standard errors. ``"c-tf-idf"`` is for them too, as in BERTopic. ``"difference"`` is for
            measurements: the difference of the means, in standard deviations. ``"auto"`` takes rates if more
            than half of all entries are 0 and none is negative, and else the difference.

        Returns
        -------
        Distinctive
            For each cluster pairs of ``(name, score)``, the most distinctive first. Formulas are in
            :mod:`graphsoft.result.feature_scores`. It does not matter whether the table is sparse or dense.

        Examples
        --------
        >>> import graphsoft
        >>> h = graphsoft.hierarchy([[0.5, 1], [1, 9], [50, 8], [51, 2]], [2], n_neighbors=1)
        >>> print(h.distinctive(count=1, feature_names=["width", "height"]))
        cluster  difference of means, in standard deviations
        0-0      width -2.0
        0-1      width +2.0
        """
        level = self._level(level)
        integer("count", count, 1)
        if X is not None:
            values, columns = table_of(X, self.nodes), frame_columns(X)
        elif (features := intact_features(self)) is not None:
            values, columns = features.values, features.columns
        else:
            raise InputError("X", "is not there, and a graph has no features", "pass a table of the points")
        known = feature_names_of(columns if feature_names is None else feature_names, values.shape[1])
        scores, used = distinctive(values, self._memberships(level), count, known, statistic)
        ids = tuple(f"{level}-{cluster}" for cluster in range(len(scores)))
        return Distinctive(ids, scores, used)

    @watches_progress("neighbors")
    def predict_proba(
        self, X: Any, level: int = -1, *, progress: Progress | bool | None = None
    ) -> sp.csr_array:
        """Compute memberships of new points: one step of the walk to old points, then to their clusters.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix of shape (q, d)
            The same features as in fitting. A new point is joined to its nearest neighbors as the settings
            say. If a graph was given without features: weights to its n nodes, shape (q, n), larger for
            nearer nodes.
        level : int
            Negative numbers count from the top.
        progress : True or callable, optional
            True draws a bar. A function is called as ``progress(stage, done, total)``.

        Returns
        -------
        csr_array of shape (q, m)
            ``p(cluster | new point)``; rows sum to one. A row that equals an old point's, or a node's row of
            weights, has that point's memberships to the last bit; of several equal points the first counts.
            Rows without neighbors go where old points without neighbors are, or else to the heaviest
            cluster, with a warning.

        Examples
        --------
        >>> import graphsoft
        >>> h = graphsoft.hierarchy([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], levels=[2], n_neighbors=2)
        >>> h.predict_proba([[0.3], [5.3]]).toarray()
        array([[1., 0.],
               [0., 1.]])
        """
        level = self._level(level)
        step = self._reference.step(self._new_rows(X), callback("progress", progress))
        return self._memberships_of_new(step, [level])[0]

    @watches_progress("neighbors")
    def predict(self, X: Any, level: int = -1, *, progress: Progress | bool | None = None) -> Array:
        """Find the likeliest cluster of new points, int32 of shape (q,); see :meth:`predict_proba`."""
        return likeliest(self.predict_proba(X, level, progress=progress))

    @watches_progress("neighbors")
    def transform(self, X: Any, *, progress: Progress | bool | None = None) -> sp.csr_array:
        """Write the probabilities of new points on all levels side by side; see :meth:`predict_proba`.

        The csr_array has a row for each new point, and a column for each cluster, the finest level first.
        """
        step = self._reference.step(self._new_rows(X), callback("progress", progress))
        return frozen_rows(sp.hstack(self._memberships_of_new(step, range(len(self))), format="csr"))

    def _new_rows(self, X: Any, growing: bool = False) -> Any:
        """Check the rows of new points, and scale them as the old ones were."""
        return scaled(self._reference.rows(X, growing), self.report.scaling)

    def _memberships_of_new(self, step: sp.csr_array, levels: Sequence[int]) -> list[sp.csr_array]:
        """Compute the memberships of new points on these levels, from their step to old points."""
        fallbacks: Sequence[sp.csr_array | None] = [None] * len(self)
        if (np.diff(step.indptr) == 0).any():
            check_levels(self.levels, len(self.graph))
            parents = [each.parents for each in self if each.parents is not None]
            fallbacks = fallback_memberships(intact_graph(self), [each.memberships for each in self], parents)
        return [new_memberships(step, self._memberships(at), fallbacks[at]) for at in levels]

    def _steps(self) -> sp.csr_array:
        """Compute how much weight goes along edges from finest cluster to finest cluster."""
        return steps_between(intact_graph(self), self._memberships(0))

    def _memberships(self, level: int) -> sp.csr_array:
        """Return the memberships of a level, after a check: they may have been changed by hand."""
        memberships = self.levels[level].memberships
        check_memberships(memberships, "h", (len(self.graph), len(self.levels[level].mass)))
        return memberships

    @lazy
    def _reference(self) -> Reference:
        """The old points, as new ones are mapped onto them."""
        settings, graph, features = self.settings, intact_graph(self), intact_features(self)
        return reference_of(graph, features, settings.n_neighbors, settings.weights, self._memberships(0))

    @lazy
    def _rows(self) -> Mapping[Any, int] | range:
        """The row of every point, by its name."""
        nodes = intact_graph(self).nodes
        return nodes if isinstance(nodes, range) else {name: row for row, name in enumerate(nodes)}

    def _torn_between(self, level: int, one: int, other: int, count: int) -> tuple[Array, Array]:
        intact_graph(self)  # whose names of points are looked up
        return torn_between(self._memberships(level), one, other, count)

    def _of_row(self, level: int, row: int) -> sp.csr_array:
        return self._memberships(level)[[row]]

    def save(self, path: str | PathLike[str], *, features: bool = True) -> None:
        """Write it to a file, whole or not at all; :func:`graphsoft.load` reads it.

        It holds no code and no pickles. An object passed as `neighbors` is left out, and `load` asks for it.
        Methods of your own are left out too; they would only be needed to cluster again.

        Parameters
        ----------
        path : path-like
        features : bool
            Write the features too. Without them the file is smaller, but new points are refused later.
        """
        write_hierarchy(path, self, features)

    # What other programs read: each is a function of a module of its own.
    to_csv = exporting.to_csv
    to_frame = exporting.to_frame
    to_gexf = exporting.to_gexf
    to_graphml = exporting.to_graphml
    to_graphrag = exporting.to_graphrag
    to_json = exporting.to_json
    to_linkage = exporting.to_linkage
    to_networkx = exporting.to_networkx
    to_newick = exporting.to_newick
    to_parquet = exporting.to_parquet
