"""Relation factorization: ``W ~ B L^-1 B^T`` under the Kullback-Leibler divergence; others are in `losses`.

At an optimum almost every node belongs to one to three clusters, so memberships are sparse rows with a
support that adapts: a few sweeps of expectation maximization on the clusters that a node holds, then one that
looks at every cluster its neighbours hold and takes in those that would raise the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from graphsoft.checks import choice, integer
from graphsoft.coarsening import coarsen, grouped, inverse_or_zero, strays, tree_order
from graphsoft.errors import InputError, shown
from graphsoft.graph import Graph, subgraph
from graphsoft.kernels import parts_of
from graphsoft.kernels.factorize import dense_sweep
from graphsoft.memberships import likeliest, one_cluster_each
from graphsoft.methods.interface import Clustering, Method, Progress, Sample
from graphsoft.methods.losses import refined
from graphsoft.methods.sweeps import (
    SEED,
    Model,
    floor_of,
    gains_at_borders,
    gains_of,
    held_in_groups,
    lifted,
    merged_clusters,
    regrouped,
    reweighted,
    swept,
    torn,
    widened,
    with_shares,
)
from graphsoft.ordering import in_clumps
from graphsoft.parallel import map_pieces, pieces_with_columns

__all__ = [
    "Relation",
    "by_likelihood",
    "grouped_beside_strays",
    "polish_level",
    "refine_in_groups",
    "refit_rows",
]

Array = np.ndarray[Any, np.dtype[Any]]

# A share below this is dropped.
LEAST = 1e-3
# On the scales, where a node can have neighbours in a hundred clusters, and while polishing, where siblings
# have the same gain and would fill the rows, this keeps what tells: over the benchmark sets, less is worth no
# more.
LEAST_ON_SCALES = 1e-2
LEAST_POLISHED = 3e-3
# With dense support a share is dropped only in the end.
LEAST_DENSE = 1e-4
# A scale with fewer nodes for each cluster is passed over.
LEAST_NODES = 2
# Losses by their beta.
NAMED_LOSSES = {"kullback-leibler": 1.0, "frobenius": 2.0}
# A divergence is divided by its beta, and must stay within what float64 holds.
LEAST_BETA = 1e-6


@dataclass(frozen=True)
class Relation:
    """Settings of relation factorization.

    To minimize the Kullback-Leibler divergence is to maximize the likelihood of the edges; levels can be
    polished for it alone. The others start from what it finds, blurred a little, and are minimized by
    multiplicative sweeps, see `graphsoft.methods.losses`.

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
        graph, log = sample.graph, _Log("factorizing", 0, progress)
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
        return real and LEAST_BETA <= self.loss <= NAMED_LOSSES["frobenius"]

    def _through_scales(self, graph: Graph, count: int, log: _Log) -> sp.csr_array:
        scales = coarsen(graph, count, log.progress, np.float32)
        # neighbouring clusters get neighbouring numbers, for what is read together to lie together
        memberships = one_cluster_each(tree_order(scales[-1].graph if scales else graph), count)
        worked = sum(len(scale.graph) >= LEAST_NODES * count for scale in scales)
        log.planned += self._in_a_round * (worked + self.rounds)
        while scales:
            memberships = memberships[scales.pop().group]
            if not scales:
                log.trace.clear()  # what is reported is the graph itself
                memberships = self._fit(graph, memberships, log, self.rounds, LEAST)
            elif len(scales[-1].graph) >= LEAST_NODES * count:
                memberships = self._fit(scales[-1].graph, memberships, log, 1, LEAST_ON_SCALES)
        return memberships

    def _fit(
        self, graph: Graph, memberships: sp.csr_array, log: _Log, rounds: int, least: float
    ) -> sp.csr_array:
        if self.support == "dense":
            return _dense_sweeps(graph, memberships, rounds * self._in_a_round, log)
        for _ in range(rounds):
            memberships, log_likelihood = widened(graph, memberships, least)
            log.count(log_likelihood)
            shares = swept(graph, memberships, self.sweeps, least, log.count)
            memberships = with_shares(memberships, shares)
            memberships.eliminate_zeros()
        return memberships


@dataclass
class _Log:
    """What happened so far; the one mutable thing in a factorization."""

    stage: str
    planned: int
    progress: Progress | None
    trace: list[float] = field(default_factory=list)
    sweeps: int = 0

    def count(self, log_likelihood: float | None = None) -> None:
        """Take note of a sweep, and of the likelihood before it where it is known."""
        if log_likelihood is not None:
            self.trace.append(log_likelihood)
        self.sweeps += 1
        if self.progress is not None:
            self.progress(self.stage, self.sweeps, self.planned)


def by_likelihood(method: Method) -> TypeGuard[Relation]:
    """Tell whether a method maximizes the likelihood: it can do with any graph, and be polished."""
    return isinstance(method, Relation) and method.beta == 1


def polish_level(
    graph: Graph,
    memberships: sp.csr_array,
    groups: sp.csr_array,
    rounds: int = 3,
    sweeps: int = 3,
    progress: Progress | None = None,
) -> tuple[sp.csr_array, tuple[float, ...]]:
    """Refine the finest memberships so that an upper level explains the graph of the points better.

    These are steps of expectation maximization for the upper level's memberships, ``memberships @ groups``,
    with `groups` held: a finest cluster's gain is that of its group. So the chain rule holds by construction,
    and the upper level's likelihood rises, but for what widening the support costs, and what edges cost whose
    ends share no cluster. A node that would gain by no other group stays as it is.

    Parameters
    ----------
    graph : Graph
        The points.
    memberships : csr_array of shape (n, m_0)
    groups : csr_array of shape (m_0, m)
        The group of each finest cluster: one entry of 1 a row.
    rounds, sweeps : int
        Times the support is widened to the clusters of the neighbours, and sweeps after each.
    progress : callable, optional

    Returns
    -------
    csr_array of shape (n, m_0)
    tuple of float
        The upper level's log-likelihood before each widening.
    """
    log = _Log("polishing", rounds * (sweeps + 1), progress)
    group = likeliest(groups)
    for _ in range(rounds):
        upper = merged_clusters(memberships, groups)
        border, above, log_likelihood = gains_at_borders(graph, upper, LEAST_POLISHED)
        log.count(log_likelihood)
        wider = np.diff(above.indptr) > np.diff(upper.indptr)[border]
        found = regrouped(graph, memberships, border[wider], above[wider], group, LEAST_POLISHED)
        others = _lifted(memberships, border[~wider], above[~wider], groups)
        memberships = _replaced(memberships, (border[wider], found), (border[~wider], others))
        upper = merged_clusters(memberships, groups)
        shares = swept(graph, upper, sweeps, LEAST_POLISHED, log.count)
        moved = torn(upper)
        found = _lifted(memberships, moved, with_shares(upper, shares / upper.data)[moved], groups)
        memberships = _replaced(memberships, (moved, found))
    return memberships, tuple(log.trace)


def refine_in_groups(
    graph: Graph,
    memberships: sp.csr_array,
    groups: sp.csr_array,
    sweeps: int = 3,
    progress: Progress | None = None,
) -> tuple[sp.csr_array, float]:
    """Refine the finest memberships for their own likelihood, while every node's share of each group is held.

    To polish the levels above costs the finest one: the clusters that a node holds move as one group, and
    its neighbours may be left in other clusters of that group. A wide sweep and narrow ones make good for it.

    Parameters
    ----------
    graph : Graph
        The points.
    memberships : csr_array of shape (n, m_0)
    groups : csr_array of shape (m_0, m)
        The group of each finest cluster: one entry of 1 a row.
    sweeps : int
        Narrow sweeps after the wide one.
    progress : callable, optional

    Returns
    -------
    csr_array of shape (n, m_0)
    float
        The finest level's log-likelihood before.
    """
    log = _Log("refining", sweeps + 1, progress)
    wider, log_likelihood = widened(graph, memberships, LEAST)
    memberships = held_in_groups(wider, memberships, groups)
    log.count()
    for _ in range(sweeps):
        shares = swept(graph, memberships, 1, LEAST, log.count)
        memberships = held_in_groups(with_shares(memberships, shares), memberships, groups)
    return memberships, log_likelihood


def _lifted(
    memberships: sp.csr_array, rows: Array, upper: sp.csr_array, groups: sp.csr_array
) -> sp.csr_array:
    """Multiply the shares of some nodes by the gains of groups, which `upper` has for these nodes."""
    held = memberships[rows]
    return reweighted(held, lifted(held, upper, groups), LEAST_POLISHED)


def _replaced(memberships: sp.csr_array, *changes: tuple[Array, sp.csr_array]) -> sp.csr_array:
    """Put new rows in the place of some."""
    source, parts = np.arange(memberships.shape[0], dtype=memberships.indices.dtype), [memberships]
    for rows, found in changes:
        below = sum(part.shape[0] for part in parts)
        source[rows] = np.arange(below, below + len(rows))
        parts.append(found)
    return sp.vstack(parts, format="csr")[source]


def refit_rows(
    graph: Graph,
    memberships: sp.csr_array,
    rows: Array,
    parents: sp.csr_array | None = None,
    sweeps: int = 4,
    progress: Progress | None = None,
) -> sp.csr_array:
    """Refine the memberships of some nodes, while all others and the masses of the clusters are held.

    The first sweep takes in clusters of the neighbours; the likelihood of the edges at `rows` does not fall
    in the others, for with masses held each node has the best answer to its neighbours in closed form.

    Parameters
    ----------
    graph : Graph
    memberships : csr_array of shape (n, m)
    rows : ndarray of int
        Nodes, each once.
    parents : csr_array of shape (m, m_upper), optional
        Refine for the likelihood of an upper level instead, as :func:`polish_level` does.
    sweeps : int
    progress : callable, optional

    Returns
    -------
    csr_array of shape (len(rows), m)
    """
    adjacency = graph.adjacency[rows].tocsr()
    halo = np.setdiff1d(adjacency.indices, rows)
    local = np.empty(len(graph), dtype=adjacency.indices.dtype)
    local[rows], local[halo] = np.arange(len(rows)), np.arange(len(halo)) + len(rows)
    shape = (len(rows), len(rows) + len(halo))
    adjacency = sp.csr_array((adjacency.data, local[adjacency.indices], adjacency.indptr), shape=shape)
    everyone, degrees = np.arange(len(rows)), graph.degrees[rows]
    mass, floor = np.asarray(memberships.T @ graph.degrees), floor_of(graph)
    held, found = memberships[halo], memberships[rows]
    least = LEAST if parents is None else LEAST_POLISHED

    def gain(at: sp.csr_array, mass: Array) -> sp.csr_array:
        model = Model(adjacency, degrees, at, inverse_or_zero(mass), floor)
        return gains_of(model, everyone)

    for done in range(sweeps if len(rows) else 0):
        everybody = sp.vstack([found, held], format="csr")
        if parents is None:
            step = gain(everybody, mass)
        else:
            upper = gain((everybody @ parents).tocsr(), parents.T @ mass)
            step = lifted(gain(everybody, mass) if done == 0 else found, upper, parents)
        found = reweighted(found, step, least, SEED if done == 0 else 0.0)
        if progress is not None:
            progress("re-fitting", done + 1, sweeps)
    return found


def grouped_beside_strays(graph: Graph, count: int, progress: Progress | None = None) -> sp.csr_array:
    """Group nodes by contraction alone, strays with the heaviest group: memberships with one entry a row."""
    stray = strays(graph, count)
    inside = np.flatnonzero(~stray)
    rest = subgraph(graph, inside)
    group = np.zeros(len(graph), dtype=np.int64)
    group[inside] = grouped(rest, count, progress)
    mass = np.bincount(group[inside], rest.degrees, minlength=count)
    group[stray] = np.argmax(mass)
    return one_cluster_each(group, count)


def _dense_sweeps(graph: Graph, memberships: sp.csr_array, sweeps: int, log: _Log) -> sp.csr_array:
    # a cluster at exactly zero stays there, so every one starts with a little
    shares = (1.0 - SEED) * memberships.toarray() + SEED / memberships.shape[1]
    spare = np.empty_like(shares)
    for _ in range(sweeps):
        log.count(_dense_sweep(graph, shares, spare))
        shares, spare = spare, shares
    small = shares < LEAST_DENSE
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
            *parts_of(adjacency), inverse_degree, shares, inverse_mass,
            floor_of(graph), start, stop, stepped, likelihood[start:stop],
        )  # fmt: skip

    for _ in map_pieces(piece, pieces_with_columns(adjacency.indptr, shares.shape[1])):
        pass
    return float(likelihood.sum()) + 2.0 * graph.degree_logs
