"""What a hierarchy is: its levels, their tree, and the report of how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from graphsoft.export import tree_to_json
from graphsoft.graph import Features, Graph
from graphsoft.memberships import entropies, frozen, frozen_rows, likeliest, rows_to_one
from graphsoft.methods import Method
from graphsoft.tree import Tree, build_tree
from graphsoft.walks import EquivalentAdjacency

__all__ = ["Hierarchy", "Level", "LevelReport", "Report", "Settings"]

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """One level of a hierarchy: n points in m clusters.

    Attributes
    ----------
    memberships : csr_array of shape (n, m)
        ``p(cluster | point)``; every row sums to one. On every level but the finest it is the product of the
        memberships below and their `parents` (the chain rule).
    parents : csr_array of shape (m, m_above) or None
        ``p(parent | cluster)``; every row sums to one. None on the top level.
    mass : ndarray of shape (m,)
        Weight of the graph in each cluster; every level's masses sum to the graph's total weight.
    graph : csr_array of shape (m, m)
        ``W = B^T D^-1 B``, transition frequencies between clusters; its rows sum to `mass`. B is the
        bipartite graph that the level was fitted with: from points to clusters, ``B = D memberships``, for a
        polished level and for the finest, and from the clusters below to these with ``polish=False``. By
        any method but relation factorization it is ``S^T W S``, with W the graph that was clustered and S
        its memberships: a walk of one step more, for hard clusters would never be left otherwise.
    degrees : ndarray of shape (n,)
        Weight of the graph at each point.
    """

    memberships: sp.csr_array
    parents: sp.csr_array | None
    mass: Array
    graph: sp.csr_array
    degrees: Array

    @classmethod
    def of(
        cls, points: Graph, memberships: sp.csr_array, parents: sp.csr_array | None, clusters: Graph
    ) -> Level:
        """Put a level together, and make it read-only."""
        memberships = frozen_rows(rows_to_one(memberships))
        if parents is not None:
            frozen_rows(parents)
        mass = frozen(np.asarray(memberships.T @ points.degrees))
        return cls(memberships, parents, mass, clusters.adjacency, points.degrees)

    def __repr__(self) -> str:
        points, clusters = self.memberships.shape
        return f"Level({points} points in {clusters} clusters)"

    @cached_property
    def labels(self) -> Array:
        """The likeliest cluster of every point, int32 of shape (n,); the lower index where two are equal."""
        return likeliest(self.memberships)

    @cached_property
    def entropy(self) -> Array:
        """How torn every point is between clusters, in nats, float64 of shape (n,)."""
        return entropies(self.memberships)

    @cached_property
    def equivalent_adjacency(self) -> EquivalentAdjacency:
        """How often a walk by way of this level's clusters goes from point to point, as an operator."""
        return EquivalentAdjacency(self.memberships, self.degrees)


@dataclass(frozen=True)
class LevelReport:
    """How one level was found.

    Attributes
    ----------
    clusters : int
    sweeps : int
        Passes over a graph, on all scales.
    trace : tuple of float
        Log-likelihood before each of the last sweeps on the graph that the level was fitted to; for a
        polished level that is the points' graph, with every cluster still whole in one group. For methods
        other than relation factorization what they minimize, see `Clustering.trace`.
    log_likelihood : float
        Of the points' graph under this level's memberships: ``sum_ij w_ij log (B L^-1 B^T)_ij``.
    kkt_gap : float or None
        The largest gain above one among the clusters that a point does not hold; 0 at an optimum of this
        level alone. It is that of the worst point: large where an edge's ends share no cluster, and not small
        on a level that was refined for others. None for methods other than relation factorization.
    status : str
        What happened, in words.
    seconds : float
    """

    clusters: int
    sweeps: int
    trace: tuple[float, ...]
    log_likelihood: float
    kkt_gap: float | None
    status: str
    seconds: float


@dataclass(frozen=True)
class Report:
    """What `hierarchy` did; ``print(h.report)`` shows it as text.

    Attributes
    ----------
    nodes, edges, components : int
        Of the graph that was clustered.
    notes : tuple of str
        What was done to the input, and what to know about the graph.
    levels : tuple of LevelReport
        Finest first.
    seconds : dict
        Wall-clock seconds of each stage.
    """

    nodes: int
    edges: int
    components: int
    notes: tuple[str, ...]
    levels: tuple[LevelReport, ...]
    seconds: dict[str, float]

    def __str__(self) -> str:
        lines = [f"{self.nodes} nodes, {self.edges} edges, {self.components} components"]
        lines += [f"note: {note}" for note in self.notes]
        lines += [
            f"{level.clusters} clusters: {level.status} in {level.seconds:.2f} s; log-likelihood "
            f"{level.log_likelihood:.6g}"
            + ("" if level.kkt_gap is None else f", KKT gap {level.kkt_gap:.2g}")
            for level in self.levels
        ]
        lines.append(", ".join(f"{stage} {seconds:.2f} s" for stage, seconds in self.seconds.items()))
        return "\n".join(lines)


@dataclass(frozen=True)
class Settings:
    """How a hierarchy was asked for.

    Attributes
    ----------
    levels : tuple of int
        Clusters of each level.
    methods : tuple of Method
        One for each level.
    polish : bool
    n_neighbors : int
    metric, weights : str
        How points became a graph; of no meaning where a graph was given.
    """

    levels: tuple[int, ...]
    methods: tuple[Method, ...]
    polish: bool
    n_neighbors: int
    metric: str
    weights: str


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
        The points' features, perhaps in the caller's own array; None where a graph was given.
    """

    levels: tuple[Level, ...]
    graph: Graph
    report: Report
    settings: Settings
    features: Features | None = None

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

    @cached_property
    def tree(self) -> Tree:
        """Every cluster of every level under its likeliest parent."""
        sizes = [np.bincount(level.labels, minlength=len(level.mass)) for level in self.levels]
        parents = [level.parents for level in self.levels if level.parents is not None]
        return build_tree(parents, [level.mass for level in self.levels], sizes)

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
