"""One level of a hierarchy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.fitting.fitted import FittedLevel
from graphsoft.fitting.report import LevelReport
from graphsoft.graph.graph import Graph
from graphsoft.input.memberships import SoftClusters, check_memberships
from graphsoft.lazy import lazy
from graphsoft.linalg.memberships import frozen, frozen_rows, rows_to_one
from graphsoft.result.description import margins
from graphsoft.result.intact import check_level
from graphsoft.result.walks import EquivalentAdjacency

__all__ = ["Level"]


@dataclass(frozen=True, eq=False, repr=False)
class Level(SoftClusters):
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
        bipartite graph that the level was fitted with. For a polished level and for the finest it goes from
        points to clusters, ``B = D memberships``; with ``polish=False`` from the clusters below to these. For
        methods other than relation factorization it is ``S^T W S``, where W is the graph that was clustered
        and S its memberships. This walk takes one step more, or else it could not leave a hard cluster.
    degrees : ndarray of shape (n,)
        Weight of the graph at each point.
    report : LevelReport
        How it was found.
    """

    memberships: sp.csr_array
    parents: sp.csr_array | None
    mass: Array
    graph: sp.csr_array
    degrees: Array
    report: LevelReport

    @classmethod
    def of(cls, points: Graph, fitted: FittedLevel, report: LevelReport) -> Level:
        """Put a level together, and make it read-only."""
        memberships = frozen_rows(rows_to_one(fitted.memberships))
        if fitted.parents is not None:
            frozen_rows(fitted.parents)
        mass = frozen(np.asarray(memberships.T @ points.degrees))
        return cls(memberships, fitted.parents, mass, fitted.graph.adjacency, points.degrees, report)

    def __repr__(self) -> str:
        points, clusters = self.memberships.shape
        return f"Level({points} points in {clusters} clusters)"

    @lazy
    def margin(self) -> Array:
        """How far the likeliest cluster of every point is ahead of the next, float64 of shape (n,)."""
        check_memberships(self.memberships, "memberships")
        return margins(self.memberships)

    @lazy
    def equivalent_adjacency(self) -> EquivalentAdjacency:
        """How often a walk by way of this level's clusters goes from point to point, as an operator."""
        check_level(self)
        return EquivalentAdjacency(self.memberships, self.degrees)
