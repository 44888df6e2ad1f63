"""Relation factorization: ``W ~ B L^-1 B^T`` under the Kullback-Leibler divergence or another loss.

At an optimum almost every node belongs to one to three clusters, so memberships are sparse rows. Their
support adapts. The graph is first divided into groups, see `graphsoft.engine.dividing`. Then a wide sweep of
expectation maximization looks at every cluster that a node's neighbors hold, and lets those in that would
raise the likelihood. Narrow sweeps improve the shares of the clusters that it holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.blocks import Blocks, OneBlock, Seen, State, Stepped
from graphsoft.engine.dividing import Division
from graphsoft.engine.keeping import with_every_cluster
from graphsoft.engine.ordering import in_clumps
from graphsoft.engine.polishing import Log, refine
from graphsoft.engine.sweeps import ENTRY_SHARE, dense_step, groups_restored
from graphsoft.errors import InputError, shown
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import choice, integer
from graphsoft.linalg.csr import inverse_or_zero, weighted_sums
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.interface import Clustering, Method, Sample
from graphsoft.methods.parts.losses import refined

__all__ = [
    "Relation",
    "by_likelihood",
]

# With dense support, shares below this are dropped at the end only.
MIN_SHARE_DENSE = 1e-4
# The beta of each named loss.
NAMED_LOSSES = {"kullback-leibler": 1.0, "frobenius": 2.0}
# A divergence is divided by its beta, and the quotient must fit into float64.
MIN_BETA = 1e-6


@dataclass(frozen=True)
class Relation:
    """Settings of relation factorization.

    Minimizing the Kullback-Leibler divergence maximizes the likelihood of the edges. Levels can be polished
    for this loss only. Other losses start from what it finds, blurred a little, and are minimized by
    multiplicative sweeps; see `graphsoft.methods.parts.losses`.

    Parameters
    ----------
    loss : {"kullback-leibler", "frobenius"} or float
        How far the model is from the weights. A number is the beta of a beta-divergence, from 1e-6 to 2: 1
        is Kullback-Leibler, and 2 is Frobenius, half the squared distance. The larger beta is, the more the
        heaviest edges count.
    support : {"adaptive", "dense"}
        ``adaptive`` keeps for every node only the clusters it may belong to, so that time and memory do not
        depend on the number of clusters m. ``dense`` keeps all m: the reference for small m.
    rounds : int
        How often the support is widened. In a polished hierarchy this and `sweeps` are for the finest level.
        Levels above have one round, with three sweeps after the widening.
    sweeps : int
        Sweeps after each widening. With dense support a round has ``2 * (sweeps + 1)`` sweeps in all.
    max_sweeps : int
        Sweeps under another loss, after those under Kullback-Leibler.

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
    rounds: int = 1
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
        """Divide the graph into groups, and make them soft.

        The trace is minus the log-likelihood, each time that the support is widened, or with dense support
        before each sweep. Under another loss it is this loss at the start and after each
        sweep, for weights divided by the largest; it never rises.
        """
        graph, log = sample.graph, Log("factorizing", 0, progress)
        if sample.ordered:
            memberships = self._divided(graph, sample.degrees, count, log)
        else:
            moved = in_clumps(graph)
            memberships = self._divided(moved.graph, moved.degrees, count, log)[moved.places]
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
        """Sweeps of a round. With dense support there are twice as many, since plain steps go half as far."""
        return (self.sweeps + 1) * (2 if self.support == "dense" else 1)

    def _has_loss(self) -> bool:
        if isinstance(self.loss, str):
            return self.loss in NAMED_LOSSES
        number = isinstance(self.loss, int | float | np.integer | np.floating)
        real = number and not isinstance(self.loss, bool)
        return real and MIN_BETA <= self.loss <= NAMED_LOSSES["frobenius"]

    def _divided(self, graph: Graph, degrees: Array, count: int, log: Log) -> sp.csr_array:
        labels = Division(graph, progress=log.progress).into(count)
        blocks = OneBlock(graph, degrees)
        swept = self.swept(blocks, blocks.begin(one_cluster_each(labels, count)), log)
        return with_every_cluster(swept.held, labels)

    def swept(self, blocks: Blocks, state: State, log: Log, groups: sp.csr_array | None = None) -> State:
        """Improve memberships by all rounds of sweeps; every node keeps its shares of `groups`, if any.

        Dense support needs all nodes in one block.
        """
        log.planned += self.rounds * self._in_a_round
        if self.support == "dense":
            sweeps, logs = self.rounds * self._in_a_round, blocks.degree_logs
            return blocks.step(_dense_sweeps, state, groups=groups, sweeps=sweeps, log=log, degree_logs=logs)
        return refine(blocks, state, self.rounds, self.sweeps, log, groups)


def by_likelihood(method: Method) -> TypeGuard[Relation]:
    """Tell whether a method maximizes the likelihood. Such a method takes any graph, and can be polished."""
    return isinstance(method, Relation) and method.beta == 1


def _dense_sweeps(
    seen: Seen, groups: sp.csr_array | None, sweeps: int, log: Log, degree_logs: float
) -> Stepped:
    """Take sweeps with dense support, as a step on a graph that is one block."""
    # a share of exactly zero stays zero, so every cluster starts with a little
    shares = (1.0 - ENTRY_SHARE) * seen.memberships.toarray() + ENTRY_SHARE / seen.memberships.shape[1]
    spare = np.empty_like(shares)
    for _ in range(sweeps):
        late = log.count(_dense_sweep(seen, shares, spare) + 2.0 * degree_logs)
        shares, spare = spare, shares
        if late:
            break
    small = shares < MIN_SHARE_DENSE
    small[small.all(axis=1)] = False  # a node may hold a little of each of very many clusters
    shares[small] = 0.0
    swept = sp.csr_array(shares / shares.sum(axis=1, keepdims=True))
    return Stepped(swept if groups is None else groups_restored(swept, seen.own, groups))


def _dense_sweep(seen: Seen, shares: Array, stepped: Array) -> float:
    """Write one step from dense memberships to `stepped`; returns the log-likelihood before the step.

    It lacks the part that depends on the degrees alone.
    """
    inverse_mass = inverse_or_zero(weighted_sums(seen.block.degrees, shares))
    return dense_step(seen.block, shares, inverse_mass, seen.floor, stepped)
