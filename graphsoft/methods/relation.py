"""Relation factorization: ``W ~ B L^-1 B^T`` under the Kullback-Leibler divergence; others are in `losses`.

At an optimum almost every node belongs to one to three clusters, so memberships are sparse rows with a
support that adapts: a few sweeps of expectation maximization on the clusters that a node holds, then one that
looks at every cluster its neighbors hold and takes in those that would raise the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import coarsen, tree_order
from graphsoft.engine.ordering import in_clumps
from graphsoft.engine.polishing import MIN_SHARE, Log
from graphsoft.engine.sweeps import (
    ENTRY_SHARE,
    floor_of,
    swept,
    widened,
    with_shares,
)
from graphsoft.errors import InputError, shown
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice, integer
from graphsoft.kernels import rows_of
from graphsoft.kernels.factorize import dense_sweep
from graphsoft.linalg.csr import inverse_or_zero
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.interface import Clustering, Method, Sample
from graphsoft.methods.parts.losses import refined
from graphsoft.parallel import map_pieces, pieces_with_columns

__all__ = [
    "Relation",
    "by_likelihood",
]

# On the scales, where a node can have neighbors in a hundred clusters, shares below this are dropped. Over
# the benchmark sets a lower value brings no better clusters.
MIN_SHARE_ON_SCALES = 1e-2
# With dense support a share is dropped only in the end.
MIN_SHARE_DENSE = 1e-4
# A scale with fewer nodes for each cluster is passed over.
MIN_NODES = 2
# Losses by their beta.
NAMED_LOSSES = {"kullback-leibler": 1.0, "frobenius": 2.0}
# A divergence is divided by its beta, and must stay within what float64 holds.
MIN_BETA = 1e-6


@dataclass(frozen=True)
class Relation:
    """Settings of relation factorization.

    To minimize the Kullback-Leibler divergence is to maximize the likelihood of the edges; levels can be
    polished for it alone. The others start from what it finds, blurred a little, and are minimized by
    multiplicative sweeps, see `graphsoft.methods.parts.losses`.

    Parameters
    ----------
    loss : {"kullback-leibler", "frobenius"} or float
        How far the model is from the weights. A number is the beta of a beta-divergence, from 1e-6 to 2: 1
        is Kullback-Leibler, and 2 is Frobenius, half the squared distance. The larger it is, the more
        the heaviest edges count.
    support : {"adaptive", "dense"}
        ``adaptive`` keeps for every node the clusters it may belong to, in time and memory that do not depend
        on m; ``dense`` keeps all m, the reference for small m.
    rounds : int
        Times the support is widened on the graph itself; on the coarser scales once. Where levels are
        polished, the last of several times for the finest one comes when all are found, with adaptive
        support; the top one is polished as many times, those in between once.
    sweeps : int
        Sweeps after each widening; with dense support a round has ``2 * (sweeps + 1)`` in all.
    max_sweeps : int
        Sweeps under another loss, which follow those.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> found = graphsoft.cluster(nx.barbell_graph(5, 0), 2, method=Relation(support="dense"))
    >>> found.labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    loss: str | float = "kullback-leibler"
    support: str = "adaptive"
    rounds: int = 3
    sweeps: int = 3
    max_sweeps: int = 200

    def __post_init__(self) -> None:
        if not self._has_loss():
            remedy = "use 'kullback-leibler', 'frobenius', or a number from 1e-6 to 2"
            raise InputError("loss", f"got {shown(self.loss)}", remedy)
        choice("support", self.support, ("adaptive", "dense"))
        for argument in ("rounds", "sweeps", "max_sweeps"):
            integer(argument, getattr(self, argument), 0)

    def reads(self, points: int, featured: bool) -> frozenset[str]:
        """Look at the graph only."""
        return frozenset({"graph"})

    def cluster(
        self, sample: Sample, count: int, random: np.random.Generator, progress: Progress | None = None
    ) -> Clustering:
        """Factorize the graph, from the coarsest scale of a contraction to the finest.

        The trace is minus the log-likelihood, each time that the support is widened on the graph itself; with
        dense support, before each sweep. Under another loss it is that loss, of the weights divided by the
        largest, at the start and after each sweep; it never rises.
        """
        graph, log = sample.graph, Log("factorizing", 0, progress)
        if sample.ordered:
            memberships = self._through_scales(graph, count, log)
        else:
            near = in_clumps(graph)
            memberships = self._through_scales(near.graph, count, log)[near.places]
        if self.beta != 1 and graph.adjacency.nnz:
            found = refined(graph, memberships, self.beta, self.max_sweeps, progress)
            return replace(found, sweeps=log.sweeps + found.sweeps)
        trace = tuple(-value for value in log.trace)
        return Clustering(memberships, trace, f"factorized by {log.sweeps} sweeps", log.sweeps)

    @property
    def beta(self) -> float:
        """The loss as the beta of a beta-divergence."""
        return NAMED_LOSSES[self.loss] if isinstance(self.loss, str) else float(self.loss)

    @property
    def _in_a_round(self) -> int:
        """Sweeps of a round; with dense support they are plain steps, which get half as far."""
        return (self.sweeps + 1) * (2 if self.support == "dense" else 1)

    def _has_loss(self) -> bool:
        if isinstance(self.loss, str):
            return self.loss in NAMED_LOSSES
        number = isinstance(self.loss, int | float | np.integer | np.floating)
        real = number and not isinstance(self.loss, bool)
        return real and MIN_BETA <= self.loss <= NAMED_LOSSES["frobenius"]

    def _through_scales(self, graph: Graph, count: int, log: Log) -> sp.csr_array:
        scales = coarsen(graph, count, log.progress, np.float32)
        # neighboring clusters get neighboring numbers, for what is read together to lie together
        memberships = one_cluster_each(tree_order(scales[-1].graph if scales else graph), count)
        worked = sum(len(scale.graph) >= MIN_NODES * count for scale in scales)
        log.planned += self._in_a_round * (worked + self.rounds)
        while scales:
            memberships = memberships[scales.pop().group]
            if not scales:
                log.trace.clear()  # what is reported is the graph itself
                memberships = self._fit(graph, memberships, log, self.rounds, MIN_SHARE)
            elif len(scales[-1].graph) >= MIN_NODES * count:
                memberships = self._fit(scales[-1].graph, memberships, log, 1, MIN_SHARE_ON_SCALES)
        return memberships

    def _fit(
        self, graph: Graph, memberships: sp.csr_array, log: Log, rounds: int, min_share: float
    ) -> sp.csr_array:
        if self.support == "dense":
            return _dense_sweeps(graph, memberships, rounds * self._in_a_round, log)
        for _ in range(rounds):
            memberships, log_likelihood = widened(graph, memberships, min_share)
            log.count(log_likelihood)
            shares = swept(graph, memberships, self.sweeps, min_share, log.count)
            memberships = with_shares(memberships, shares)
            memberships.eliminate_zeros()
        return memberships


def by_likelihood(method: Method) -> TypeGuard[Relation]:
    """Tell whether a method maximizes the likelihood: it can do with any graph, and be polished."""
    return isinstance(method, Relation) and method.beta == 1


def _dense_sweeps(graph: Graph, memberships: sp.csr_array, sweeps: int, log: Log) -> sp.csr_array:
    # a cluster at exactly zero stays there, so every one starts with a little
    shares = (1.0 - ENTRY_SHARE) * memberships.toarray() + ENTRY_SHARE / memberships.shape[1]
    spare = np.empty_like(shares)
    for _ in range(sweeps):
        log.count(_dense_sweep(graph, shares, spare))
        shares, spare = spare, shares
    small = shares < MIN_SHARE_DENSE
    small[small.all(axis=1)] = False  # of very many clusters a node may hold a little each
    shares[small] = 0.0
    return sp.csr_array(shares / shares.sum(axis=1, keepdims=True))


def _dense_sweep(graph: Graph, shares: Array, stepped: Array) -> float:
    """Take one step from dense memberships, written to `stepped`; returns the log-likelihood before it."""
    adjacency = graph.adjacency
    inverse_degree, inverse_mass = inverse_or_zero(graph.degrees), inverse_or_zero(graph.degrees @ shares)
    likelihood = np.empty(len(graph))

    def piece(start: int, stop: int) -> None:
        dense_sweep(
            *rows_of(adjacency), inverse_degree, shares, inverse_mass,
            floor_of(graph), start, stop, stepped, likelihood[start:stop],
        )  # fmt: skip

    for _ in map_pieces(piece, pieces_with_columns(adjacency.indptr, shares.shape[1])):
        pass
    return float(likelihood.sum()) + 2.0 * graph.degree_logs
