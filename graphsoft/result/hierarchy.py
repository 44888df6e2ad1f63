"""The result of `graphsoft.hierarchy`: its levels, their tree, and what can be asked of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError
from graphsoft.fitting.report import Report
from graphsoft.fitting.settings import Settings
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.graph.features import Features, FeaturesLeftOut
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import integer
from graphsoft.input.dense_input import frame_columns
from graphsoft.input.memberships import check_memberships
from graphsoft.input.names import frame_index
from graphsoft.linalg.memberships import entropies, frozen, frozen_rows, likeliest
from graphsoft.methods import Clustering
from graphsoft.result.comparison import Comparison, NamedClusters, as_named_clusters, compared
from graphsoft.result.description import (
    Description,
    TornPoints,
    best_in_rows,
    described,
    margins,
    torn_between,
)
from graphsoft.result.distinctive import Distinctive, Scores, column_names, distinctive, table_of
from graphsoft.result.growth import grown, refined_levels
from graphsoft.result.intact import check_features, check_levels, intact_graph
from graphsoft.result.level import Level
from graphsoft.result.naming import checked_cluster_names, name_of_features
from graphsoft.result.point import Place, PointDescription, row_of
from graphsoft.result.prediction import Reference, fallback_memberships, new_memberships, reference_of
from graphsoft.result.saving import pack_hierarchy
from graphsoft.storage.container import write_container
from graphsoft.storage.packing import Packer
from graphsoft.tree import Tree, build_tree
from graphsoft.version import installed_version

__all__ = ["Hierarchy"]


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy(Sequence[Level]):
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
    features : Features or None
        The points' features, perhaps in the caller's own array; None if a graph was given.
    cluster_names : mapping of str to str
        Names of clusters, by their ids; see :meth:`name_clusters`.
    """

    levels: tuple[Level, ...]
    graph: Graph
    report: Report
    settings: Settings
    features: Features | None = None
    cluster_names: Mapping[str, str] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """Copy and pickle the fields only: the copy makes its tree itself."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @overload
    def __getitem__(self, index: int) -> Level: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Level, ...]: ...
    def __getitem__(self, index: int | slice) -> Level | tuple[Level, ...]:
        return self.levels[index]

    def __len__(self) -> int:
        return len(self.levels)

    def __iter__(self) -> Iterator[Level]:
        return iter(self.levels)

    def __repr__(self) -> str:
        sizes = " -> ".join(str(level.memberships.shape[1]) for level in self.levels)
        return f"Hierarchy({len(self.graph)} points: {sizes} clusters)"

    @property
    def nodes(self) -> Sequence[Any]:
        """The names of the points in row order: those of a networkx input, else ``range(n)``."""
        return self.graph.nodes

    def point(self, name: Any) -> PointDescription:
        """Show one point on every level.

        Parameters
        ----------
        name : object
            Its name in `nodes`.

        Returns
        -------
        PointDescription
            For each level the clusters with their probabilities, and how torn the point is.

        Examples
        --------
        >>> import graphsoft
        >>> import networkx as nx
        >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
        >>> print(h.point("Javert"))
        Javert (row 27)
        level  entropy  clusters
            0     1.44  0-4 0.55; 0-10 0.13; 0-1 0.10; 0-6 0.10; 0-0 0.06; 0-5 0.03; 0-8 0.03
            1     0.81  1-0 0.71; 1-2 0.15; 1-1 0.14
        """
        row = row_of(name, self._rows)
        places = []
        for number in range(len(self)):
            memberships = self._memberships(number)[[row]]
            listed = best_in_rows(memberships, memberships.shape[1])[0]
            clusters = tuple((f"{number}-{cluster}", chance) for cluster, chance in listed)
            margin, entropy = (float(values[0]) for values in (margins(memberships), entropies(memberships)))
            places.append(Place(number, clusters, margin, entropy))
        return PointDescription(name, row, tuple(places), self.cluster_names)

    def name_clusters(
        self,
        names: Mapping[str, str] | None = None,
        *,
        count: int = 3,
        feature_names: Any = None,
        X: Any = None,
        statistic: str = "auto",
    ) -> Hierarchy:
        """Name clusters, by what sets them apart or as you say.

        Parameters
        ----------
        names : mapping, optional
            ``{id: name}``, such as ``{"1-0": "fruit"}``. Clusters that are not in it keep the names they
            have. Without it every cluster of every level is named by the features that set it apart.
        count : int
            Of how many features a name is made.
        feature_names, X, statistic
            The names of the features, another table of the same points, and how features are scored; see
            :meth:`distinctive`.

        Returns
        -------
        Hierarchy
            The same one with `cluster_names`. ``print(h.tree)`` shows them.

        Examples
        --------
        >>> import graphsoft
        >>> h = graphsoft.hierarchy([[0, 1], [1, 9], [50, 8], [51, 2]], [2], n_neighbors=1)
        >>> h.name_clusters(feature_names=["width", "height"], count=1).cluster_names
        {'0-0': 'low width', '0-1': 'high width'}
        >>> print(h.name_clusters(feature_names=["width", "height"], count=1).tree)
        root (4)
          0-0 (2) low width
          0-1 (2) high width
        >>> h.name_clusters({"0-1": "wide"}).cluster_names
        {'0-1': 'wide'}
        """
        if names is None:
            integer("count", count, 1)
            asked = {"names": feature_names, "X": X, "statistic": statistic}
            names = {
                id: name_of_features(scores, each.statistic)
                for each in (self.distinctive(level, count, **asked) for level in range(len(self)))
                for id, scores in zip(each.ids, each.scores, strict=True)
                if scores
            }
        ids = {f"{level}-{cluster}" for level, each in enumerate(self) for cluster in range(len(each.mass))}
        return replace(self, cluster_names={**self.cluster_names, **checked_cluster_names(names, ids)})

    @cached_property
    def tree(self) -> Tree:
        """Every cluster of every level under its likeliest parent."""
        check_levels(self.levels, len(self.graph))
        sizes = [np.bincount(level.labels, minlength=len(level.mass)) for level in self.levels]
        parents = [level.parents for level in self.levels if level.parents is not None]
        tree = build_tree(parents, [level.mass for level in self.levels], sizes)
        return replace(tree, names=self.cluster_names)

    def between(self, a: str, b: str, count: int = 10) -> TornPoints:
        """Find the points that are the most torn between two clusters of a level.

        Parameters
        ----------
        a, b : str
            Ids in the tree, such as ``"2-7"``.
        count : int
            At most so many points are listed. All of them have a share in both clusters.

        Returns
        -------
        TornPoints
            ``points, nodes, shares``. Points come first whose smaller share in the two is largest.

        Examples
        --------
        >>> import graphsoft
        >>> import networkx as nx
        >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
        >>> print(h.between("1-0", "1-1", count=2))
        point    1-0   1-1
        Marius  0.68  0.31
        Javert  0.71  0.14
        """
        (level, one), (above, other) = self._place("a", a), self._place("b", b)
        if level != above:
            raise InputError("b", f"{b!r} is not on the level of {a!r}", "name two clusters of one level")
        points, shares = torn_between(self._memberships(level), one, other, count)
        nodes = intact_graph(self).nodes
        return TornPoints((a, b), points, tuple(nodes[point] for point in points), shares)

    def describe(self, level: int = -1, *, names: Any = None, X: Any = None) -> Description:
        """Describe the clusters of a level: size, certainty, neighbors, exemplars, what sets them apart.

        Parameters
        ----------
        level : int
            Negative numbers count from the top.
        names, X
            See :meth:`distinctive`.

        Returns
        -------
        Description
            A sequence of :class:`graphsoft.result.description.ClusterDescription`. ``print`` shows a table,
            and ``to_pandas()`` makes a data frame.

        Examples
        --------
        >>> import graphsoft
        >>> import networkx as nx
        >>> h = graphsoft.hierarchy(nx.les_miserables_graph(), levels=[12, 4])
        >>> table = h.describe()
        >>> table[0].size, round(table[0].conductance, 2), table[0].exemplars[0]
        (39, 0.24, 'Valjean')
        """
        level = self._level(level)
        memberships = self._memberships(level)
        features: Sequence[Scores] = [()] * memberships.shape[1]
        if X is not None or not (self.features is None or isinstance(self.features, FeaturesLeftOut)):
            features = self.distinctive(level, names=names, X=X).scores
        elif names is not None:
            raise InputError("names", "there are no features to name", "leave them out, or pass X")
        return described(intact_graph(self), memberships, level, features, self.cluster_names)

    def distinctive(
        self, level: int = -1, count: int = 10, *, names: Any = None, X: Any = None, statistic: str = "auto"
    ) -> Distinctive:
        """Find the features, or words, that set the clusters of a level apart.

        Parameters
        ----------
        level : int
            Negative numbers count from the top.
        count : int
            At most so many for each cluster.
        names : sequence of d, optional
            The names of the features, such as a vectorizer's ``get_feature_names_out()``. By default the
            columns of a data frame are used.
        X : array_like, data frame or sparse matrix of shape (n, d), optional
            Another table of the same points: for example words, if embeddings were clustered.
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
        >>> h = graphsoft.hierarchy([[0, 1], [1, 9], [50, 8], [51, 2]], [2], n_neighbors=1)
        >>> print(h.distinctive(count=1, names=["width", "height"]))
        cluster  difference of means, in standard deviations
        0-0      width -2.0
        0-1      width +2.0
        """
        level = self._level(level)
        integer("count", count, 1)
        if X is not None:
            values, columns = table_of(X, len(self.graph)), frame_columns(X)
        elif self.features is not None:
            check_features(self.features, self.settings, len(self.graph))
            values, columns = self.features.values, self.features.columns
        else:
            raise InputError("X", "is not there, and a graph has no features", "pass a table of the points")
        known = column_names(columns if names is None else names, values.shape[1])
        scores, used = distinctive(values, self._memberships(level), count, known, statistic)
        ids = tuple(f"{level}-{cluster}" for cluster in range(len(scores)))
        return Distinctive(ids, scores, used)

    def compare(self, other: Any) -> Comparison:
        """Compare this hierarchy with another clustering of the same points.

        Parameters
        ----------
        other : Hierarchy, Level, Clustering, mapping, labels or memberships
            If both have names of points, these are matched. A mapping, or a pandas Series indexed by names,
            has a label for each name. Labels, memberships and levels have a row for each point, in the order
            of `nodes`.

        Returns
        -------
        Comparison
            ``adjusted_rand`` and ``nmi`` for each pair of levels. ``matches`` says which clusters are found
            again, which are split and which are merged. ``print`` shows it.

        Examples
        --------
        >>> import graphsoft
        >>> import networkx as nx
        >>> club = nx.karate_club_graph()
        >>> h = graphsoft.hierarchy(club, levels=[4, 2])
        >>> found = h.compare(nx.get_node_attributes(club, "club"))
        >>> found.adjusted_rand.round(2).tolist()
        [[0.46], [0.88]]
        >>> [(match.id, match.best, round(match.overlap, 2)) for match in found.matches[1]]
        [('1-0', 'Officer', 0.84), ('1-1', 'Mr. Hi', 0.84)]
        """
        mine = NamedClusters.of_levels([self._memberships(at) for at in range(len(self))], self.nodes)
        if isinstance(other, Hierarchy):
            levels = [other._memberships(at) for at in range(len(other))]
            theirs = NamedClusters.of_levels(levels, other.nodes)
        elif isinstance(other, Clustering):
            check_memberships(other.memberships, "other")
            theirs = NamedClusters.of_levels([other.memberships], other.nodes or range(len(other.labels)))
        else:
            theirs = as_named_clusters(other, self.nodes)
        return compared(mine, theirs)

    def predict_proba(self, X: Any, level: int = -1, *, progress: Progress | None = None) -> sp.csr_array:
        """Compute memberships of new points: one step of the walk to old points, then to their clusters.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix of shape (q, d)
            The same features as in fitting. A new point is joined to its nearest neighbors as the settings
            say. If a graph was given: weights to its n nodes, shape (q, n), larger for nearer nodes.
        level : int
            Negative numbers count from the top.
        progress : callable, optional
            Called as ``progress(stage, done, total)``.

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
        step = self._reference.step(self._reference.rows(X), progress)
        return self._memberships_of_new(step, [level])[0]

    def predict(self, X: Any, level: int = -1, *, progress: Progress | None = None) -> Array:
        """Find the likeliest cluster of new points, int32 of shape (q,); see :meth:`predict_proba`."""
        return likeliest(self.predict_proba(X, level, progress=progress))

    def transform(self, X: Any, *, progress: Progress | None = None) -> sp.csr_array:
        """Write the probabilities of new points on all levels side by side; see :meth:`predict_proba`.

        The csr_array has a row for each new point, and a column for each cluster, the finest level first.
        """
        step = self._reference.step(self._reference.rows(X), progress)
        return frozen_rows(sp.hstack(self._memberships_of_new(step, range(len(self))), format="csr"))

    def partial_update(
        self, X: Any, *, nodes: Sequence[Any] | None = None, progress: Progress | None = None
    ) -> Hierarchy:
        """Add new points, and refine memberships only near them.

        The new points are joined to their nearest among old and new ones and start from what
        :meth:`predict_proba` says; a few sweeps refine them and their neighbors.

        Parameters
        ----------
        X : array_like, data frame or sparse matrix of shape (q, d)
            The same features as in fitting. If a graph was given: weights to its n nodes on the scale of
            ``h.graph.adjacency``, shape (q, n), or (q, n + q) with the weights among the new nodes.
        nodes : sequence of q, optional
            Names of new nodes. Without them their row numbers are their names.
        progress : callable, optional
            Called as ``progress(stage, done, total)``.

        Returns
        -------
        Hierarchy
            With n + q points, the old ones first. Clusters keep their numbers and parents. Edges between old
            points keep their weights, and old points that were not refined keep their memberships to the last
            bit.

        Examples
        --------
        >>> import graphsoft
        >>> h = graphsoft.hierarchy([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], levels=[2], n_neighbors=2)
        >>> h.partial_update([[0.15], [5.05]])[0].labels.tolist()
        [0, 0, 0, 1, 1, 1, 0, 1]
        """
        began = time.perf_counter()
        graph = intact_graph(self)
        check_levels(self.levels, len(graph))
        check_features(self.features, self.settings, len(graph))
        reference = self._reference
        values = reference.rows(X, growing=True)
        if values.shape[0] == 0:
            return self
        if nodes is None and not isinstance(graph.nodes, range):
            nodes = frame_index(X)
        growth = grown(graph, self.features, reference, values, nodes, progress)
        ready = time.perf_counter()
        guesses = self._memberships_of_new(growth.step, range(len(self)))
        refined = refined_levels(growth, self.levels, guesses, self.settings, progress)
        seconds = {"graph": ready - began, "levels": time.perf_counter() - ready}
        reports = [level.report.after(fit) for level, fit in zip(self, refined.fits, strict=True)]
        report = self.report.after(growth.graph, reports, len(refined.rows), seconds)
        degrees = growth.graph.degrees
        parts = zip(self, refined.memberships, refined.graphs, reports, strict=True)
        levels = tuple(
            Level(shares, level.parents, frozen(shares.T @ degrees), clusters.adjacency, degrees, how)
            for level, shares, clusters, how in parts
        )
        return replace(self, levels=levels, graph=growth.graph, report=report, features=growth.features)

    def _memberships_of_new(self, step: sp.csr_array, levels: Sequence[int]) -> list[sp.csr_array]:
        """Compute the memberships of new points on these levels, from their step to old points."""
        fallbacks: Sequence[sp.csr_array | None] = [None] * len(self)
        if (np.diff(step.indptr) == 0).any():
            check_levels(self.levels, len(self.graph))
            parents = [each.parents for each in self if each.parents is not None]
            fallbacks = fallback_memberships(intact_graph(self), [each.memberships for each in self], parents)
        return [new_memberships(step, self._memberships(at), fallbacks[at]) for at in levels]

    def _memberships(self, level: int) -> sp.csr_array:
        """Return the memberships of a level, after a check: they may have been changed by hand."""
        memberships = self.levels[level].memberships
        check_memberships(memberships, "h", (len(self.graph), len(self.levels[level].mass)))
        return memberships

    @cached_property
    def _reference(self) -> Reference:
        """The old points, as new ones are mapped onto them."""
        settings, graph = self.settings, intact_graph(self)
        check_features(self.features, settings, len(graph))
        return reference_of(
            graph, self.features, settings.n_neighbors, settings.weights, self._memberships(0)
        )

    @cached_property
    def _rows(self) -> Mapping[Any, int] | range:
        """The row of every point, by its name."""
        nodes = intact_graph(self).nodes
        return nodes if isinstance(nodes, range) else {name: row for row, name in enumerate(nodes)}

    def _level(self, level: Any) -> int:
        return integer("level", level, -len(self), len(self) - 1) % len(self)

    def _place(self, argument: str, id: Any) -> tuple[int, int]:
        """Find the level and the number of a cluster by its id."""
        try:
            node = self.tree.find(id)
        except InputError as error:
            named = isinstance(id, str) and id[:1].isdigit()
            remedy = error.remedy if named else "name a cluster by its level and its number, as '0-3'"
            raise InputError(argument, error.problem, remedy) from None
        if node.level == len(self):
            raise InputError(argument, f"{id!r} is above all levels", "name a cluster, as '0-3'")
        return node.level, node.index

    def save(self, path: str | PathLike[str], *, features: bool = True) -> None:
        """Write the whole hierarchy to a file, which :func:`graphsoft.load` reads.

        Parameters
        ----------
        path : path-like
            Written whole or not at all. The name often ends in ``.graphsoft``.
        features : bool
            Write the features too. Without them the file is smaller, but the loaded hierarchy cannot place
            new points that come as features, and says so.

        Notes
        -----
        The file holds no code and no pickles. A search for neighbors of another library is left out, and
        must be passed to `load`.
        """
        packer = Packer()
        content = pack_hierarchy(self, packer, features)
        write_container(path, "hierarchy", content, packer.arrays, installed_version())

    def to_json(self, path: str | PathLike[str] | None = None) -> str | None:
        """Write the tree in the shape of d3-hierarchy.

        Parameters
        ----------
        path : path-like, optional
            Written whole or not at all; without it the text is returned.

        Returns
        -------
        str or None
            ``name, id, level, mass, size, children``, and ``parents`` with every parent's probability.
        """
        return tree_to_json(self.tree, path)
