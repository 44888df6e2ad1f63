"""Relation factorization with a penalty on each cluster, so that small clusters vanish.

The objective is the divergence of the model ``H L H^T`` from the weights plus ``penalty * sum_p log
lambda_p``. Weights and masses lambda are shares of the whole. In a step of expectation maximization, the new
lambda of a cluster is proportional to its expected weight minus the penalty. A cluster that explains less
weight than the penalty vanishes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.engine.blocks import Block
from graphsoft.engine.coarsening import without_copies
from graphsoft.engine.polishing import MIN_SHARE
from graphsoft.engine.sweeps import ENTRY_SHARE, dense_step
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import callback, integer, number
from graphsoft.linalg.csr import weighted_sums
from graphsoft.linalg.memberships import frozen_rows, membership_rows, one_cluster_each
from graphsoft.methods.interface import Clustering, Sample
from graphsoft.methods.parts.convergence import stop_status
from graphsoft.methods.parts.shares import blurred
from graphsoft.methods.relation import Relation
from graphsoft.progress import watches_progress

__all__ = ["cluster_surviving"]

# Sweeps before the next cluster is removed, so that the points of the last one find other clusters first.
SWEEPS_BETWEEN = 3
# A model that rounds to zero counts as this.
TINY = 1e-300


@watches_progress("neighbors", "coarsening", "removing clusters", "factorizing")
def cluster_surviving(
    X: Any,
    penalty: float = 0.03,
    *,
    max_clusters: int = 50,
    max_sweeps: int = 1000,
    tolerance: float = 1e-6,
    n_neighbors: int = 10,
    metric: str = "euclidean",
    weights: str = "local-scaling",
    affinity: str = "auto",
    neighbors: Any = None,
    rng: Any = None,
    progress: Progress | bool | None = None,
) -> Clustering:
    """Find soft clusters and their number, by a penalty on each cluster.

    Parameters
    ----------
    X, n_neighbors, metric, weights, affinity, neighbors, rng
        See :func:`graphsoft.cluster`.
    penalty : float
        As a share of the total weight of the graph: a cluster that explains no more than this share is
        removed. So there are fewer than ``1 / penalty`` clusters. In the paper's regularized objective it is
        ``1 - beta`` times a unit of weight; a beta of 0.7 is 0.03 if the unit is a tenth of the total.
    max_clusters : int
        The number of clusters at the start, found by relation factorization; at most the number of points.
    max_sweeps : int
        The most sweeps after the last removal.
    tolerance : float
        It stops after a sweep that gains less than this, in nats for each unit of weight.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    Clustering
        With a column for each cluster that survived. The trace is the regularized objective, in nats for each
        unit of weight, before each sweep since the last removal; it never rises.

    Notes
    -----
    The paper's alpha is 1, as published, so its term vanishes.

    No penalty is right for all graphs. On sparse neighbor graphs, where a step of a walk does not go far,
    many small clusters survive. Fewer do on graphs of all pairs, and on the graph of the clusters of a level.
    To find out how many clusters there are, use :func:`graphsoft.suggest_levels`.

    The time of a sweep grows with the edges times the clusters that are left.

    Examples
    --------
    >>> import graphsoft
    >>> graph = graphsoft.patterns.block_graph(0, blocks=3, size=20, inside=0.8, between=0.02)
    >>> graphsoft.methods.cluster_surviving(graph, 0.1, max_clusters=12).memberships.shape
    (60, 3)
    """
    penalty = number("penalty", penalty, minimum=0, below=1)
    max_clusters = integer("max_clusters", max_clusters, 1)
    max_sweeps = integer("max_sweeps", max_sweeps, 1)
    tolerance = number("tolerance", tolerance, minimum=0, below=1)
    progress = callback("progress", progress)
    graph = as_graph(
        X, affinity=affinity, n_neighbors=n_neighbors, metric=metric, weights=weights, neighbors=neighbors,
        rng=rng, progress=progress,
    )  # fmt: skip
    if not graph.adjacency.nnz:
        alone = frozen_rows(one_cluster_each(np.zeros(len(graph), dtype=np.int64), 1))
        return Clustering(alone, (), "no edges: all in one cluster", 0, graph.nodes)
    work, node = without_copies(graph)
    at_start = min(max_clusters, len(work))
    start = Relation().cluster(Sample(work), at_start, np.random.default_rng(0), progress).memberships
    whole = Graph(work.adjacency / work.degrees.sum(), range(len(work)))
    state = _State(whole, blurred(start.toarray(), ENTRY_SHARE), penalty)
    trace, sweeps, converged = _survived(state, max_sweeps, tolerance, progress)
    memberships = frozen_rows(membership_rows(state.shares, min(MIN_SHARE, 0.5 / at_start))[node])
    survived = f"{memberships.shape[1]} of {at_start} clusters survived"
    status = f"{survived}; {stop_status(len(trace) - 1, converged, 'still falling')}"
    return Clustering(memberships, tuple(trace), status, sweeps, graph.nodes)


@dataclass
class _State:
    """The graph, its dense memberships so far, and the penalty."""

    graph: Graph
    shares: Array
    penalty: float

    @property
    def mass(self) -> Array:
        return weighted_sums(self.graph.degrees, self.shares)

    def remove_lightest(self) -> None:
        """Remove the lightest cluster; the others get its shares as walks of one step from it reach them.

        A small part is spread over all of them equally.
        """
        lightest = int(np.argmin(self.mass))
        kept, share = np.delete(self.shares, lightest, axis=1), self.shares[:, lightest]
        walks = weighted_sums(self.graph.degrees * share, kept)
        parts = np.full(len(walks), 1.0 / len(walks))
        if walks.sum() > 0:
            parts = ENTRY_SHARE * parts + (1.0 - ENTRY_SHARE) * walks / walks.sum()
        self.shares = kept + share[:, None] * parts

    def sweep(self, penalty: float) -> float:
        """Take a step; returns the objective before it. All clusters must have more mass than `penalty`."""
        graph, mass = self.graph, self.mass
        paid = mass - penalty
        paid /= paid.sum()
        stepped = np.empty_like(self.shares)
        block = Block(graph.adjacency, graph.degrees)
        likelihood = dense_step(block, self.shares, paid / mass**2, TINY, stepped)
        self.shares = stepped
        return _constant(graph) - likelihood + penalty * float(np.log(paid).sum())


def _constant(graph: Graph) -> float:
    """Compute ``sum_ij w_ij log (w_ij / (d_i d_j))``, the part of the divergence without memberships."""
    weights = graph.adjacency.data
    return float((weights * np.log(weights)).sum()) - 2.0 * graph.degree_logs


def _survived(
    state: _State, max_sweeps: int, tolerance: float, progress: Progress | None
) -> tuple[list[float], int, bool]:
    """Sweep until no more clusters are removed and nothing changes.

    Returns the trace since the last removal, the number of sweeps, and whether they converged.
    """
    at_start, sweeps, trace = state.shares.shape[1], 0, list[float]()
    while True:
        mass = state.mass
        if mass.min() <= state.penalty and len(mass) > 1:
            state.remove_lightest()
            trace.clear()
            lightest = state.mass.min()
            if lightest <= state.penalty:  # it is removed next, but first the points find new clusters
                for _ in range(SWEEPS_BETWEEN):
                    state.sweep(min(state.penalty, state.mass.min() / 2.0))
                sweeps += SWEEPS_BETWEEN
            if progress is not None:
                progress("removing clusters", at_start - len(mass) + 1, at_start)
            continue
        before = state.shares
        trace.append(state.sweep(state.penalty))
        sweeps += 1
        if progress is not None:
            progress("factorizing", len(trace), max_sweeps + 1)
        if len(trace) > 1 and trace[-2] - trace[-1] < tolerance:
            state.shares = before  # those that the last entry of the trace belongs to
            return trace, sweeps - 1, True
        if len(trace) > max_sweeps:
            state.shares = before
            return trace, sweeps - 1, False
