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
from graphsoft.coarsening import coarsen, grouped, inverse_or_zero, joined, strays
from graphsoft.errors import InputError, shown
from graphsoft.graph import Graph
from graphsoft.kernels.factorize import dense_sweep, gains, lift_gains, reach, reweight
from graphsoft.memberships import likeliest, one_cluster_each
from graphsoft.methods.interface import Clustering, Method, Progress, Sample
from graphsoft.methods.losses import refined
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = [
    "Fit",
    "Relation",
    "assess",
    "by_cluster",
    "by_likelihood",
    "grouped_beside_strays",
    "polish_level",
    "refit_rows",
]

Array = np.ndarray[Any, np.dtype[Any]]

# A cluster enters a node's support with at most this share; sweeps raise or drop it.
SEED = 0.05
# A share below this is dropped.
LEAST = 1e-4
# While polishing, siblings all have their parent's gain and would fill the rows; this keeps what tells. Over
# the benchmark sets the mean adjusted Rand index is 0.706 at 1e-4 and 0.703 from 3e-3 to 1e-2, with half the
# entries stored.
LEAST_POLISHED = 3e-3
# An edge whose ends share no cluster counts as if the model gave it this part of what chance would give.
UNEXPLAINED = 1e-3
# Losses by their beta.
NAMED_LOSSES = {"kullback-leibler": 1.0, "frobenius": 2.0}
# A divergence is divided by its beta, and must stay within what float64 holds.
LEAST_BETA = 1e-6


@dataclass(frozen=True)
class Fit:
    """How well memberships explain a graph.

    Attributes
    ----------
    log_likelihood : float
        ``sum_ij w_ij log (B L^-1 B^T)_ij``.
    gap : float
        The largest gain above one of a cluster that a node does not hold: 0 at an optimum.
    """

    log_likelihood: float
    gap: float


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
        Times the support is widened, on the graph itself and in polishing; on the coarser scales once.
    sweeps : int
        Sweeps after each widening.
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

        The trace is minus the log-likelihood before each sweep on the graph itself. Under another loss it is
        that loss, of the weights divided by the largest, at the start and after each sweep; it never rises.
        """
        graph, log = sample.graph, _Log(progress=progress)
        memberships = self._through_scales(graph, count, log)
        if self.beta != 1 and graph.adjacency.nnz:
            found = refined(graph, memberships, self.beta, self.max_sweeps, progress)
            return replace(found, sweeps=log.sweeps + found.sweeps)
        trace = tuple(-value for value in log.trace)
        return Clustering(memberships, trace, f"factorized by {log.sweeps} sweeps", log.sweeps)

    @property
    def beta(self) -> float:
        """The loss as the beta of a beta-divergence."""
        return NAMED_LOSSES[self.loss] if isinstance(self.loss, str) else float(self.loss)

    def _has_loss(self) -> bool:
        if isinstance(self.loss, str):
            return self.loss in NAMED_LOSSES
        number = isinstance(self.loss, int | float | np.integer | np.floating)
        real = number and not isinstance(self.loss, bool)
        return real and LEAST_BETA <= self.loss <= NAMED_LOSSES["frobenius"]

    def _through_scales(self, graph: Graph, count: int, log: _Log) -> sp.csr_array:
        scales = coarsen(graph, count, log.progress)
        graphs = [graph, *(scale.graph for scale in scales)]
        memberships = sp.eye_array(len(graphs[-1]), count, format="csr")
        log.planned += (self.sweeps + 1) * (max(len(scales) - 1, 0) + self.rounds)
        for level in range(len(scales) - 1, -1, -1):
            memberships = memberships[scales[level].group]
            if level == 0:
                log.trace.clear()  # what is reported is the graph itself
            memberships = self._fit(graphs[level], memberships, log, self.rounds if level == 0 else 1)
        return memberships

    def _fit(self, graph: Graph, memberships: sp.csr_array, log: _Log, rounds: int) -> sp.csr_array:
        if self.support == "dense":
            return _dense_sweeps(graph, memberships, rounds * (self.sweeps + 1), log)
        near = by_cluster(graph, memberships)
        memberships = memberships[near.nodes]
        for _ in range(rounds):
            for sweep in range(self.sweeps + 1):
                found = _gains(near.graph, memberships, spread=sweep == 0)
                memberships = _reweighted(memberships, found.matrix, LEAST)
                log.count(found.log_likelihood)
        return memberships[near.places]


@dataclass
class _Log:
    """What happened so far; the one mutable thing in a factorization."""

    trace: list[float] = field(default_factory=list)
    sweeps: int = 0
    planned: int = 0
    progress: Progress | None = None

    def count(self, log_likelihood: float) -> None:
        self.trace.append(log_likelihood)
        self.sweeps += 1
        if self.progress is not None:
            self.progress("factorizing", self.sweeps, self.planned)


@dataclass(frozen=True)
class _Gains:
    """Gains of the clusters that nodes hold (first in each row) or could take in."""

    matrix: sp.csr_array
    log_likelihood: float


def by_likelihood(method: Method) -> TypeGuard[Relation]:
    """Tell whether a method maximizes the likelihood: it can do with any graph, and be polished."""
    return isinstance(method, Relation) and method.beta == 1


@dataclass(frozen=True, eq=False)
class Near:
    """A graph with its nodes in another order.

    Attributes
    ----------
    graph : Graph
    nodes : ndarray of shape (n,)
        The node that stands at each place.
    places : ndarray of shape (n,)
        The place of each node.
    """

    graph: Graph
    nodes: Array
    places: Array


def by_cluster(graph: Graph, memberships: sp.csr_array) -> Near:
    """Put nodes of one cluster next to each other, for what a sweep reads together to lie together in memory.

    Of a million nodes in random order a sweep takes twice as long.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph import as_graph
    >>> near = by_cluster(as_graph(nx.path_graph(3)), one_cluster_each(np.array([1, 0, 1]), 2))
    >>> near.nodes.tolist(), near.graph.adjacency.toarray()[0].tolist()
    ([1, 0, 2], [0.0, 1.0, 1.0])
    """
    nodes = np.argsort(likeliest(memberships), kind="stable")
    rows = graph.adjacency[nodes]
    places = np.empty(len(nodes), dtype=rows.indices.dtype)
    places[nodes] = np.arange(len(nodes), dtype=places.dtype)
    moved = sp.csr_array((rows.data, places[rows.indices], rows.indptr), shape=rows.shape)
    return Near(Graph(moved, range(len(nodes))), nodes, places)


def polish_level(
    graph: Graph,
    memberships: sp.csr_array,
    parents: sp.csr_array,
    rounds: int = 3,
    sweeps: int = 3,
    progress: Progress | None = None,
) -> tuple[sp.csr_array, tuple[float, ...]]:
    """Refine the finest memberships so that an upper level explains the graph of the points better.

    These are steps of expectation maximization for the upper level's memberships, ``memberships @ parents``,
    with `parents` held: a finest cluster's gain is the mean gain of its parents. So the chain rule holds by
    construction, and the upper level's likelihood rises from sweep to sweep, but for what widening the
    support costs, and what edges cost whose ends share no cluster.

    Parameters
    ----------
    graph : Graph
        The points.
    memberships : csr_array of shape (n, m_0)
    parents : csr_array of shape (m_0, m)
        ``p(upper cluster | finest cluster)``.
    rounds, sweeps : int
        Times the support is widened to the clusters of the neighbours, and sweeps after each.
    progress : callable, optional

    Returns
    -------
    csr_array of shape (n, m_0)
    tuple of float
        The upper level's log-likelihood before each sweep.
    """
    trace = []
    for done in range(rounds * (sweeps + 1)):
        spread = done % (sweeps + 1) == 0
        upper = _gains(graph, memberships @ parents, spread)
        candidates = _gains(graph, memberships, spread).matrix if spread else memberships
        lifted = _lifted(candidates, upper.matrix, parents)
        memberships = _reweighted(memberships, lifted, LEAST_POLISHED)
        trace.append(upper.log_likelihood)
        if progress is not None:
            progress("polishing", done + 1, rounds * (sweeps + 1))
    return memberships, tuple(trace)


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
    inverse_degree = inverse_or_zero(graph.degrees[rows])
    mass, floor = np.asarray(memberships.T @ graph.degrees), _floor(graph)
    held, found = memberships[halo], memberships[rows]
    least = LEAST if parents is None else LEAST_POLISHED

    def gain(at: sp.csr_array, mass: Array, spread: bool) -> sp.csr_array:
        return _gains_of_rows(adjacency, inverse_degree, at, inverse_or_zero(mass), floor, spread)[0]

    for sweep in range(sweeps if len(rows) else 0):
        spread = sweep == 0
        everybody = sp.vstack([found, held], format="csr")
        if parents is None:
            step = gain(everybody, mass, spread)
        else:
            upper = gain((everybody @ parents).tocsr(), parents.T @ mass, spread)
            candidates = gain(everybody, mass, spread) if spread else found
            step = _lifted(candidates, upper, parents)
        found = _reweighted(found, step, least)
        if progress is not None:
            progress("re-fitting", sweep + 1, sweeps)
    return found


def grouped_beside_strays(graph: Graph, count: int, progress: Progress | None = None) -> sp.csr_array:
    """Group nodes by contraction alone, strays with the heaviest group: memberships with one entry a row."""
    stray = strays(graph, count)
    inside = np.flatnonzero(~stray)
    rest = (
        graph if len(inside) == len(graph) else Graph(graph.adjacency[inside][:, inside], range(len(inside)))
    )
    group = np.zeros(len(graph), dtype=np.int64)
    group[inside] = grouped(rest, count, progress)
    mass = np.bincount(group[inside], rest.degrees, minlength=count)
    group[stray] = np.argmax(mass)
    return one_cluster_each(group, count)


def assess(graph: Graph, memberships: sp.csr_array) -> Fit:
    """Compute log-likelihood and optimality gap of any memberships."""
    found = _gains(graph, memberships, spread=True)
    gain = found.matrix
    held = np.diff(memberships.indptr)
    position = np.arange(gain.nnz) - np.repeat(gain.indptr[:-1], np.diff(gain.indptr))
    outside = position >= np.repeat(held, np.diff(gain.indptr))
    gap = float(np.max(gain.data[outside] - 1.0, initial=0.0))
    return Fit(found.log_likelihood, gap)


def _inverse_mass(graph: Graph, memberships: sp.csr_array) -> Array:
    return inverse_or_zero(np.asarray(memberships.T @ graph.degrees))


def _floor(graph: Graph) -> float:
    total = float(graph.degrees.sum())
    return UNEXPLAINED / total if total > 0 else 1.0


def _gains(graph: Graph, memberships: sp.csr_array, spread: bool) -> _Gains:
    found, likelihood = _gains_of_rows(
        graph.adjacency, inverse_or_zero(graph.degrees), memberships, _inverse_mass(graph, memberships),
        _floor(graph), spread,
    )  # fmt: skip
    return _Gains(found, float(likelihood.sum()) + 2.0 * graph.degree_logs)


def _gains_of_rows(
    adjacency: sp.csr_array,
    inverse_degree: Array,
    memberships: sp.csr_array,
    inverse_mass: Array,
    floor: float,
    spread: bool,
) -> tuple[sp.csr_array, Array]:
    """Compute gains of the nodes that have a row in `adjacency`, the first ones of all in `memberships`."""
    ptr, clusters, shares = memberships.indptr, memberships.indices, memberships.data
    count = memberships.shape[1]
    likelihood = np.empty(adjacency.shape[0])

    def piece(start: int, stop: int) -> tuple[Array, Array, Array]:
        if spread:
            room = reach(adjacency.indptr, adjacency.indices, ptr, start, stop, count)
        else:
            room = int(ptr[stop] - ptr[start])
        out_ptr = np.zeros(stop - start + 1, dtype=np.int64)
        out_clusters, out_gains = np.empty(room, dtype=np.int32), np.empty(room)
        filled = gains(
            adjacency.indptr, adjacency.indices, adjacency.data, inverse_degree, ptr, clusters, shares,
            inverse_mass, floor, spread, start, stop, out_ptr, out_clusters, out_gains,
            likelihood[start:stop],
        )  # fmt: skip
        return out_ptr, out_clusters[:filled].copy(), out_gains[:filled].copy()

    parts = list(map_pieces(piece, pieces_by_load(adjacency.indptr, LOAD)))
    return joined(parts, count), likelihood


def _lifted(candidates: sp.csr_array, upper: sp.csr_array, parents: sp.csr_array) -> sp.csr_array:
    """Gains of the candidate clusters by way of their parents."""
    lifted = np.empty(candidates.nnz)

    def piece(start: int, stop: int) -> None:
        lift_gains(
            candidates.indptr, candidates.indices, upper.indptr, upper.indices, upper.data,
            parents.indptr, parents.indices, parents.data, parents.shape[1], start, stop, lifted,
        )  # fmt: skip

    for _ in map_pieces(piece, pieces_by_load(candidates.indptr, LOAD)):
        pass
    return sp.csr_array((lifted, candidates.indices, candidates.indptr), shape=candidates.shape)


def _reweighted(memberships: sp.csr_array, gain: sp.csr_array, least: float) -> sp.csr_array:
    def piece(start: int, stop: int) -> tuple[Array, Array, Array]:
        room = int(gain.indptr[stop] - gain.indptr[start])
        ptr = np.zeros(stop - start + 1, dtype=np.int64)
        clusters, shares = np.empty(room, dtype=np.int32), np.empty(room)
        filled = reweight(
            memberships.indptr, memberships.data, gain.indptr, gain.indices, gain.data, SEED, least,
            start, stop, ptr, clusters, shares,
        )  # fmt: skip
        return ptr, clusters[:filled].copy(), shares[:filled].copy()

    return joined(list(map_pieces(piece, pieces_by_load(gain.indptr, LOAD))), memberships.shape[1])


def _dense_sweeps(graph: Graph, memberships: sp.csr_array, sweeps: int, log: _Log) -> sp.csr_array:
    # a cluster at exactly zero stays there, so every one starts with a little
    shares = (1.0 - SEED) * memberships.toarray() + SEED / memberships.shape[1]
    for _ in range(sweeps):
        shares, log_likelihood = _dense_sweep(graph, shares)
        log.count(log_likelihood)
    shares[shares < LEAST] = 0.0
    return sp.csr_array(shares / shares.sum(axis=1, keepdims=True))


def _dense_sweep(graph: Graph, shares: Array) -> tuple[Array, float]:
    """Take one step from dense memberships; also returns the log-likelihood before it."""
    adjacency = graph.adjacency
    inverse_degree, inverse_mass = inverse_or_zero(graph.degrees), inverse_or_zero(graph.degrees @ shares)
    stepped, likelihood = np.empty_like(shares), np.empty(len(graph))

    def piece(start: int, stop: int) -> None:
        dense_sweep(
            adjacency.indptr, adjacency.indices, adjacency.data, inverse_degree, shares, inverse_mass,
            _floor(graph), start, stop, stepped, likelihood[start:stop],
        )  # fmt: skip

    for _ in map_pieces(piece, pieces_by_load(adjacency.indptr, max(1, LOAD // shares.shape[1]))):
        pass
    return stepped, float(likelihood.sum()) + 2.0 * graph.degree_logs
