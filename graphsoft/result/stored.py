"""A hierarchy of points that do not fit into memory: what grows with their number stays on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, NoReturn

import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.summary import Summary
from graphsoft.errors import InputError
from graphsoft.fitting.report import LevelReport, Report
from graphsoft.fitting.settings import Settings
from graphsoft.formats.tree_json import tree_to_json
from graphsoft.input.checks import integer
from graphsoft.lazy import lazy
from graphsoft.result import exporting, stored_tables
from graphsoft.result.between import between
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.point import point
from graphsoft.result.stored_answers import OfASample, flow, most_torn
from graphsoft.result.stored_exploring import explore
from graphsoft.result.stored_files import StoredFiles
from graphsoft.result.stored_labels import StoredEntropy, StoredLabels, StoredProbability
from graphsoft.result.stored_memberships import StoredMemberships
from graphsoft.result.stored_predicting import predict, predict_proba, transform
from graphsoft.result.stored_result import StoredResult
from graphsoft.result.stored_sampling import sampled
from graphsoft.tree import Tree
from graphsoft.tree_building import build_tree

__all__ = ["StoredHierarchy", "StoredLevel"]


OF_LEVELS = "take a sample: h.sample(10_000)[level].{}"


@dataclass(frozen=True, eq=False, repr=False)
class StoredLevel:
    """One level of a hierarchy on disk: n points in m clusters.

    Attributes
    ----------
    memberships : StoredMemberships of shape (n, m)
        ``p(cluster | point)``, on disk.
    labels : StoredLabels of shape (n,)
        The likeliest cluster of every point, on disk.
    probability : StoredProbability of shape (n,)
        The membership of every point in it, on disk.
    entropy : StoredEntropy of shape (n,)
        How torn every point is between clusters, in nats, on disk.
    parents : csr_array of shape (m, m_above) or None
        ``p(parent | cluster)``; None on the top level.
    mass : ndarray of shape (m,)
        Weight of the graph in each cluster.
    sizes : ndarray of shape (m,)
        The number of points whose likeliest cluster each is.
    graph : csr_array of shape (m, m)
        The graph of the clusters, as :class:`graphsoft.Level` has it.
    report : LevelReport
        How it was found.
    """

    memberships: StoredMemberships
    labels: StoredLabels
    probability: StoredProbability
    entropy: StoredEntropy
    parents: sp.csr_array | None
    mass: Array
    sizes: Array
    graph: sp.csr_array
    report: LevelReport

    # What needs all points in memory.
    degrees = OfASample(OF_LEVELS)
    equivalent_adjacency = OfASample(OF_LEVELS)
    margin = OfASample(OF_LEVELS)

    def __repr__(self) -> str:
        points, clusters = self.memberships.shape
        return f"StoredLevel({points} points in {clusters} clusters)"


@dataclass(frozen=True, eq=False, repr=False)
class StoredHierarchy(StoredResult[StoredLevel]):
    """Levels of soft clusters in a directory, finest first; ``graphsoft.load(directory)`` opens it.

    Tree, parents, masses, cluster graphs and the report are in memory. Memberships and labels, which grow
    with the number of points, are read from the directory when they are asked for, a part at a time. So the
    directory must stay where it is.

    Attributes
    ----------
    files : StoredFiles
        What it is read from.
    cluster_names : mapping of str to str
        Names of clusters, by their ids; see :meth:`name_clusters`.
    """

    files: StoredFiles

    kind = StoredFiles

    @property
    def summary(self) -> Summary:
        """What is small of it, as its file has it."""
        return self.files.summary

    @property
    def report(self) -> Report:
        """What was done."""
        return self.summary.report

    @property
    def settings(self) -> Settings:
        """How it was asked for."""
        return self.summary.settings

    @lazy
    def levels(self) -> tuple[StoredLevel, ...]:
        """The levels, finest first."""
        return tuple(
            StoredLevel(
                StoredMemberships(self.files, at), StoredLabels(self.files, at),
                StoredProbability(self.files, at), StoredEntropy(self.files, at),
                each.parents, each.mass, each.sizes, each.graph, self.report.levels[at],
            )
            for at, each in enumerate(self.summary.levels)
        )  # fmt: skip

    def _repr_html_(self) -> str:
        return self.tree.as_html(repr(self))

    @lazy
    def tree(self) -> Tree:
        """Every cluster of every level under its likeliest parent."""
        parents = [level.parents for level in self.levels if level.parents is not None]
        masses, sizes = [level.mass for level in self.levels], [level.sizes for level in self.levels]
        return build_tree(parents, masses, sizes, self.cluster_names)

    # Longer methods are functions of modules of their own.
    point = point
    between = between
    flow = flow
    predict_proba = predict_proba
    predict = predict
    transform = transform

    def sample(self, count: int, rng: Any = None) -> Hierarchy:
        """Make an ordinary hierarchy of some of the points, for plots, descriptions and all else.

        Its memberships, parents and cluster names are the ones here. Points with features are joined to
        their nearest neighbors within the sample, since few of the others are in it; of a graph the edges
        among them are kept. Masses and cluster graphs are those of this smaller graph.

        Parameters
        ----------
        count : int
            So many points, all with the same chance; all of them if there are not more.
        rng : None, int, or numpy Generator
            None takes the same points every time.

        Returns
        -------
        Hierarchy
            Its `nodes` are the numbers of the rows.
        """
        return sampled(self, integer("count", count, 1), rng)

    explore = explore

    # What needs all points in memory.
    circles = OfASample()
    compare = OfASample()
    describe = OfASample()
    distinctive = OfASample()
    features = OfASample()
    graph = OfASample()
    layout = OfASample()
    partial_update = OfASample("run again with all points, or put the new ones in place: h.transform(X)")
    to_graphrag = OfASample("write the cluster of each point: h.to_parquet(path)")

    def to_json(
        self, path: str | PathLike[str] | None = None, *, names: Mapping[str, str] | None = None
    ) -> str | None:
        """Write the tree in the shape of d3-hierarchy; see :meth:`graphsoft.Hierarchy.to_json`."""
        return tree_to_json(self.tree, path, names, {})

    # What other programs read of the tree.
    to_gexf = exporting.to_gexf
    to_graphml = exporting.to_graphml
    to_linkage = exporting.to_linkage
    to_networkx = exporting.to_networkx
    to_newick = exporting.to_newick

    to_frame = stored_tables.to_frame

    def _steps(self) -> sp.csr_array:
        """Take the steps between finest clusters: along edges or, if unknown, by way of points."""
        return self.levels[0].graph if self.summary.steps is None else self.summary.steps

    def _memberships(self, level: int) -> NoReturn:
        remedy = "use 'tree', or take a sample: h.sample(10_000)"
        raise InputError("of", "points stay on disk, and may not fit into memory", remedy)

    def _torn_between(self, level: int, one: int, other: int, count: int) -> tuple[Array, Array]:
        return most_torn(self, level, one, other, count)

    def _of_row(self, level: int, row: int) -> sp.csr_array:
        return self.levels[level].memberships[[row]]

    @property
    def _rows(self) -> range:
        return self.nodes
