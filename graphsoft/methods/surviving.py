"""Relation factorization in which clusters pay for being there, and those that are not worth it die.

To the divergence of the model ``H L H^T`` from the weights is added ``penalty * sum_p log lambda_p``, with
weights and masses lambda as shares of the whole. In a step of expectation maximization this makes lambda
proportional to what a cluster answers for less the penalty: who answers for no more than that is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import without_copies
from graphsoft.engine.polishing import MIN_SHARE
from graphsoft.engine.sweeps import ENTRY_SHARE
from graphsoft.graph.graph import Graph
from graphsoft.graph.reading import as_graph
from graphsoft.input.checks import integer, number
from graphsoft.kernels import rows_of
from graphsoft.kernels.factorize import dense_sweep
from graphsoft.linalg.csr import inverse_or_zero
from graphsoft.linalg.memberships import frozen_rows, membership_rows, one_cluster_each
from graphsoft.methods.interface import Clustering, Sample, ended
from graphsoft.methods.relation import Relation
from graphsoft.parallel import map_pieces, pieces_with_columns

__all__ = ["cluster_surviving"]

# Sweeps before the next cluster dies, so that the others take over its points first.
SWEEPS_BETWEEN = 3
# Stands for a model that rounds to zero.
TINY = 1e-300


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
    progress: Progress | None = None,
) -> Clustering:
    """Find soft clusters, as many as survive a price on each.

    Parameters
    ----------
    X, n_neighbors, metric, weights, affinity, neighbors, rng
        As for :func:`graphsoft.cluster`.
    penalty : float
        ``1 - beta`` of the paper's regularized objective times the unit that this is counted in, as a share
        of the graph's whole weight: a cluster that answers for no more than this share of it dies. So there
        are fewer than ``1 / penalty``. The paper's beta of 0.7 is 0.03 where the unit is a tenth of all.
    max_clusters : int
        Clusters to begin with, by relation factorization; at most as many as points.
    max_sweeps : int
        Sweeps after the last cluster died.
    tolerance : float
        A sweep that gains less than this, in nats for each unit of weight, is the last.
    progress : callable, optional
        Called as ``progress(stage, done, total)``.

    Returns
    -------
    Clustering
        With as many columns as clusters survived. The trace is the regularized objective, in nats for each
        unit of weight, before each sweep since the last cluster died; it never rises.

    Notes
    -----
    The paper's alpha is 1, as it was published, and its term falls away.

    No penalty is right for all graphs. Along the edges of sparse neighbor graphs a walk goes so few steps
    that many small clusters pay; on graphs of all pairs, and on the graph of the clusters of a level, fewer
    do. To be told how many clusters there are, ask :func:`graphsoft.suggest_levels`.

    Time for a sweep goes with the edges times the clusters that are left.

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
    graph = as_graph(
        X, affinity=affinity, n_neighbors=n_neighbors, metric=metric, weights=weights, neighbors=neighbors,
        rng=rng, progress=progress,
    )  # fmt: skip
    if not graph.adjacency.nnz:
        alone = frozen_rows(one_cluster_each(np.zeros(len(graph), dtype=np.int64), 1))
        return Clustering(alone, (), "no edges: all in one cluster", 0, graph.nodes)
    work, node = without_copies(graph)
    begun = min(max_clusters, len(work))
    start = Relation().cluster(Sample(work), begun, np.random.default_rng(0), progress).memberships
    whole = Graph(work.adjacency / work.degrees.sum(), range(len(work)))
    state = _State(whole, (1.0 - ENTRY_SHARE) * start.toarray() + ENTRY_SHARE / begun, penalty)
    trace, sweeps, converged = _survived(state, max_sweeps, tolerance, progress)
    memberships = frozen_rows(membership_rows(state.shares, min(MIN_SHARE, 0.5 / begun))[node])
    survived = f"{memberships.shape[1]} of {begun} clusters survived"
    status = f"{survived}; {ended(len(trace) - 1, converged, 'still falling')}"
    return Clustering(memberships, tuple(trace), status, sweeps, graph.nodes)


@dataclass
class _State:
    """Dense memberships on their way, and what they are to explain."""

    graph: Graph
    shares: Array
    penalty: float

    @property
    def mass(self) -> Array:
        return np.asarray(self.graph.degrees @ self.shares)

    def bury_lightest(self) -> None:
        """Drop the lightest cluster; its shares go where walks of one step from it go, a few to all alike."""
        dead = int(np.argmin(self.mass))
        kept, share = np.delete(self.shares, dead, axis=1), self.shares[:, dead]
        walks = (self.graph.degrees * share) @ kept
        heirs = np.full(len(walks), 1.0 / len(walks))
        if walks.sum() > 0:
            heirs = ENTRY_SHARE * heirs + (1.0 - ENTRY_SHARE) * walks / walks.sum()
        self.shares = kept + share[:, None] * heirs

    def sweep(self, penalty: float) -> float:
        """Take a step, for which all clusters must weigh more than `penalty`; the objective before it."""
        graph, mass = self.graph, self.mass
        paid = mass - penalty
        paid /= paid.sum()
        adjacency, stepped = graph.adjacency, np.empty_like(self.shares)
        likelihood, inverse = np.empty(len(graph)), inverse_or_zero(graph.degrees)

        def piece(start: int, stop: int) -> None:
            dense_sweep(
                *rows_of(adjacency), inverse, self.shares, paid / mass**2,
                TINY, start, stop, stepped, likelihood[start:stop],
            )  # fmt: skip

        for _ in map_pieces(piece, pieces_with_columns(adjacency.indptr, len(mass))):
            pass
        self.shares = stepped
        return _entropy(graph) - float(likelihood.sum()) + penalty * float(np.log(paid).sum())


def _entropy(graph: Graph) -> float:
    """``sum_ij w_ij log (w_ij / (d_i d_j))``, the part of the divergence that no membership changes."""
    weights, degrees = graph.adjacency.data, graph.degrees[graph.degrees > 0]
    return float(weights @ np.log(weights)) - 2.0 * float(degrees @ np.log(degrees))


def _survived(
    state: _State, max_sweeps: int, tolerance: float, progress: Progress | None
) -> tuple[list[float], int, bool]:
    """Sweep until nobody dies and nothing changes.

    Returns the trace since the last death, how many sweeps there were, and whether they converged.
    """
    begun, sweeps, trace = state.shares.shape[1], 0, list[float]()
    while True:
        mass = state.mass
        if mass.min() <= state.penalty and len(mass) > 1:
            state.bury_lightest()
            trace.clear()
            lightest = state.mass.min()
            if lightest <= state.penalty:  # its turn comes, but first the points find new clusters
                for _ in range(SWEEPS_BETWEEN):
                    state.sweep(min(state.penalty, state.mass.min() / 2.0))
                sweeps += SWEEPS_BETWEEN
            if progress is not None:
                progress("clusters dying", begun - len(mass) + 1, begun)
            continue
        before = state.shares
        trace.append(state.sweep(state.penalty))
        sweeps += 1
        if progress is not None:
            progress("factorizing", len(trace), max_sweeps + 1)
        if len(trace) > 1 and trace[-2] - trace[-1] < tolerance:
            state.shares = before  # what the last entry of the trace belongs to
            return trace, sweeps - 1, True
        if len(trace) > max_sweeps:
            state.shares = before
            return trace, sweeps - 1, False
