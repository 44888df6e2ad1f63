"""What a clustering method is given, what it is, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError, shown
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph, subgraph
from graphsoft.input.memberships import REMEDY, SoftClusters, check_memberships
from graphsoft.input.sparse_input import check_rows
from graphsoft.linalg.csr import submatrix
from graphsoft.storage.container import write_container
from graphsoft.storage.packing import Packer, Unpacker, pack_names, unpack_names
from graphsoft.storage.records import (
    are_numbers,
    is_text,
    is_whole,
    is_whole_or_none,
    pack_record,
    unpack_record,
)
from graphsoft.version import installed_version

__all__ = [
    "Clustering",
    "Method",
    "Sample",
    "check_found",
    "pack_clustering",
    "reads_of",
    "takes_pairs",
    "unpack_clustering",
]

READABLE = frozenset({"graph", "features"})
OWN_METHOD = "return a row for each point and a column for each cluster, with rows that sum to one"
# What is written of a clustering beside its memberships and names.
FIELDS = {
    "trace": are_numbers,
    "status": is_text,
    "sweeps": is_whole,
    "pairs_kept": is_whole_or_none,
    "pairs_known": is_whole_or_none,
}


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """The points that a method is to cluster: their graph, their features, or both.

    Attributes
    ----------
    given_graph : Graph or None
    given_features : Features or None
    pairs : csr_array of shape (n, n) or None
        Known pairs: symmetric, 1 for points that belong together, -1 for points that do not; see
        :func:`graphsoft.input.constraints.matrix_of_pairs`.
    ordered : bool
        Whether neighbors are near each other in memory already, see `graphsoft.engine.ordering`.
    given_degrees : ndarray of shape (n,) or None
        Sums of the weights of each point before they were rounded to float32; None if they were not.
    """

    given_graph: Graph | None
    given_features: Features | None = None
    pairs: sp.csr_array | None = None
    ordered: bool = False
    given_degrees: Array | None = None

    def __post_init__(self) -> None:
        self.check_indices("sample")  # methods can be called with a sample of one's own making
        graph, features = self.given_graph, self.given_features
        if graph is not None and features is not None and len(graph) != len(features):
            problem = f"has {len(features)} points with features and {len(graph)} nodes"
            raise InputError("sample", problem, "give one row of features for each node")

    def check_indices(self, argument: str) -> None:
        """Refuse sparse matrices with indices outside them, which compiled loops would follow."""
        if self.given_graph is not None:
            check_rows(self.given_graph.adjacency, argument)
        if self.given_features is not None and sp.issparse(self.given_features.values):
            check_rows(self.given_features.values, argument)

    def __len__(self) -> int:
        return len(self.given_graph) if self.given_graph is not None else len(self.features)

    @property
    def graph(self) -> Graph:
        """The graph of the points."""
        if self.given_graph is None:
            raise InputError("method", "needs a graph", "pass one, or points to make one of")
        return self.given_graph

    @property
    def degrees(self) -> Array:
        """The sums of the weights of each point, of weights that were not rounded."""
        return self.graph.degrees if self.given_degrees is None else self.given_degrees

    @property
    def features(self) -> Features:
        """The features of the points, and how far two of them are apart."""
        if self.given_features is None:
            raise InputError("method", "looks at features, and X is a graph", "pass points with features")
        return self.given_features

    def with_pairs_as_weights(self) -> Sample:
        """Put known pairs into the graph: they gain the largest weight, or lose as much.

        Points of a known pair are no longer tied to those with identical features.
        """
        if self.pairs is None:
            return self
        graph = self.graph
        largest = graph.adjacency.data.max(initial=0.0) or 1.0
        changed = (graph.adjacency + self.pairs * largest).tocsr()
        changed.data = np.maximum(changed.data, 0.0)
        changed.eliminate_zeros()
        changed.sort_indices()
        duplicates = graph.duplicates
        if duplicates is not None:
            paired = np.diff(self.pairs.indptr) > 0
            own = np.where(paired, len(graph) + np.arange(len(graph)), duplicates)
            duplicates = np.unique(own, return_inverse=True)[1].astype(duplicates.dtype)
        weighted = replace(graph, adjacency=changed, duplicates=duplicates)
        return Sample(weighted, self.given_features, None, self.ordered)

    def take(self, rows: Array) -> Sample:
        """Keep only these points, whose rows rise."""
        graph, features, pairs = self.given_graph, self.given_features, self.pairs
        return Sample(
            graph if graph is None else subgraph(graph, rows),
            features if features is None else replace(features, values=features.values[rows]),
            pairs if pairs is None else submatrix(pairs, rows),
            self.ordered,
            self.given_degrees if self.given_degrees is None else self.given_degrees[rows],
        )


@dataclass(frozen=True, eq=False, repr=False)
class Clustering(SoftClusters):
    """Points in soft clusters: the result of every method.

    Attributes
    ----------
    memberships : csr_array of shape (n, m)
        ``p(cluster | point)``; every row sums to one.
    trace : tuple of float
        What the method minimizes, step by step; at most one entry for methods that do not show their steps.
        It does not rise, with two exceptions. Relation factorization with adaptive support may lose a little
        when it drops small shares or when the ends of an edge share no cluster. Mixtures of scikit-learn may
        rise by rounding.
    status : str
        What happened, in words, and what to do if more work would help.
    sweeps : int
        Steps taken, on all scales; 0 for methods without steps.
    nodes : sequence of n
        The names of the points in row order: those of a networkx graph, else ``range(n)``.
    pairs_kept, pairs_known : int or None
        How many of the known pairs came out as they are known, and how many there are.
    """

    memberships: sp.csr_array
    trace: tuple[float, ...]
    status: str
    sweeps: int = 0
    nodes: Sequence[Any] = ()
    pairs_kept: int | None = None
    pairs_known: int | None = None

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a file, whole or not at all; :func:`graphsoft.load` reads it."""
        packer = Packer()
        content = pack_clustering(self, packer)
        write_container(path, "clustering", content, packer.arrays, installed_version())

    def __repr__(self) -> str:
        points, clusters = self.memberships.shape
        return f"Clustering({points} points in {clusters} clusters: {self.status})"


def pack_clustering(clustering: Clustering, packer: Packer) -> dict[str, Any]:
    """Check a clustering, describe it, and add its arrays."""
    memberships, nodes = clustering.memberships, clustering.nodes
    check_memberships(memberships, "clustering")
    if len(nodes) not in (0, memberships.shape[0]):
        problem = f"has {len(nodes)} names for {memberships.shape[0]} points"
        raise InputError("clustering", problem, REMEDY)
    return {
        **pack_record(clustering, FIELDS, "clustering"),
        "memberships": packer.matrix("memberships", memberships),
        "nodes": pack_names(nodes),
    }


def unpack_clustering(packed: dict[str, Any], unpacker: Unpacker) -> Clustering:
    """Make a clustering of its description, and check it."""
    memberships = unpacker.matrix(packed["memberships"])
    check_memberships(memberships, "path")
    nodes = unpack_names(packed["nodes"])
    if len(nodes) not in (0, memberships.shape[0]):
        raise ValueError("not as many names as points")
    return Clustering(memberships, nodes=nodes, **unpack_record(packed, FIELDS))


class Method(Protocol):
    """A clustering method: its settings, frozen and checked when they are made.

    It holds settings only, and `cluster` depends on nothing but its arguments. A method that has a true
    attribute ``takes_pairs`` is given known pairs as `Sample.pairs`; for all others they are put into the
    graph.
    """

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Return what the method looks at: ``graph``, ``features``, or both.

        Parameters
        ----------
        points : int
            How many there are.
        featured : bool
            Whether they have features.
        """

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Cluster the points; there are more than `count` of them, and `count` is at least 2.

        A graph has at least one edge. Isolated nodes have been left out if enough others remain. The
        memberships returned have a row for each point and exactly `count` columns, of which some may be
        empty.
        """


def takes_pairs(method: Method) -> bool:
    """Tell whether a method uses known pairs itself."""
    return bool(getattr(method, "takes_pairs", False))


def reads_of(method: Method, points: int, featured: bool) -> frozenset[str]:
    """Ask a method what it looks at, and refuse an answer that says neither graph nor features."""
    found = method.reads(points, featured)
    try:
        known = not isinstance(found, str) and frozenset(found) <= READABLE and len(found) > 0
    except TypeError:
        known = False
    if not known:
        problem = f"{type(method).__name__}.reads gave {shown(found)}"
        raise InputError("method", problem, "return a set of 'graph', 'features' or both")
    return frozenset(found)


def check_found(found: Any, shape: tuple[int, int]) -> None:
    """Refuse what a method found if it is no clustering of this shape; it may be a method of the caller's.

    Compiled loops follow its indices, and its record is saved with the result.
    """
    if not isinstance(found, Clustering):
        remedy = "return graphsoft.methods.Clustering(memberships, trace, status)"
        raise InputError("method", f"gave {shown(found)} back", remedy)
    if type(found.memberships) is not sp.csr_array:
        problem = f"gave memberships back as {shown(found.memberships)}"
        raise InputError("method", problem, "make it a scipy.sparse.csr_array of floats")
    check_memberships(found.memberships, "method", shape, OWN_METHOD)
    for name, fits in FIELDS.items():
        if not fits(getattr(found, name)):
            problem = f"gave {shown(getattr(found, name))} back as {name}"
            raise InputError("method", problem, "see graphsoft.methods.Clustering for what its fields hold")
