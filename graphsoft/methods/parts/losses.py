"""Relation factorization under beta-divergences; the one for beta = 2 is squared Frobenius distance.

With ``G = H L^1/2`` the model ``H L H^T`` is ``M = G G^T``, where G need only be non-negative. The objective
is the sum over all pairs, also those of a node with itself, of

    d(w | m) = (w^beta + (beta - 1) m^beta - beta w m^(beta-1)) / (beta (beta - 1)).

For beta = 2 this is half the squared distance, and in the limit of 1 it is the Kullback-Leibler divergence.

A pair that is not stored has weight zero and costs ``m^beta / beta``. There are too many to compute each. For
beta = 2 they have a closed form, ``||W - M||^2 = ||W||^2 - 2 <W, M> + ||G^T G||^2``. For any other beta they
are pooled: contraction puts similar nodes into pools, and the zeros between any two pools are counted. The
model of such a zero is the product of the mean rows of its two pools, where the mean is that of order beta,
``x_ap = (mean_i g_ip^beta)^(1/beta)``. The sum over all pairs of two pools is then exact if the rows of each
pool are multiples of each other, or if the pools share one cluster only. The zeros among these pairs
are taken to be like the others. In a graph of at most `POOLS` nodes every node is a pool of its own, and the
objective is exact.

No sweep raises this objective, pooled or not. It consists of powers of sums of products of entries. Jensen's
inequality for each sum, and ``x y <= (x^2 + y^2) / 2`` or ``x >= 1 + log x`` for each product, bound it from
above by functions of one entry each. These equal the objective at the present G, fall up to

    g_ip (pull_ip / push_ip)^e,   e = 1 / (2 max(beta, 2 - beta)),

and rise from there on; push minus pull is half the slope. Steps of twice that exponent mostly fall faster.
They are taken until one of them would raise the objective, and then steps of the proven exponent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.scales import grouped
from graphsoft.graph.graph import Graph
from graphsoft.kernels import rows_of
from graphsoft.kernels.losses import Pulls, stored_pairs, zero_pairs
from graphsoft.linalg.csr import gram, times
from graphsoft.linalg.indexing import taken
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.interface import Clustering
from graphsoft.methods.parts.convergence import stop_status
from graphsoft.methods.parts.shares import blurred, final_memberships
from graphsoft.parallel import LOAD, map_blocks, map_pieces, pieces_by_load, pieces_with_columns

__all__ = ["Evaluation", "first_factor", "loss_of", "refined"]

# The number of pools, or two for each cluster if that is more. Over the benchmark sets the objective was at
# most 1 % worse than with a pool for each node, and up to 5 % with half as many pools.
POOLS = 1000
# This share of its weight is added to the model of an edge. For a beta of at most 1, an edge whose ends share
# no cluster would otherwise cost infinitely much.
FLOOR = 1e-6
# Edges count as at least this, relative to the heaviest, so that their powers do not underflow.
MIN_WEIGHT = 1e-100
# No entry of a factor falls below this share of its start, for an entry of zero would stay zero.
MIN_ENTRY = 1e-8
# It stops when a sweep gains less than this share of what all sweeps have gained.
MIN_GAIN = 1e-4
# Changes below this share of the objective are rounding.
ROUNDING = 1e-12
# An entry grows at most by this factor in a sweep, so that nothing overflows.
MAX_GROWTH = 1e100


@dataclass(frozen=True)
class Evaluation:
    """The objective of a factor, and the two parts of its gradient.

    Attributes
    ----------
    value : float
        The objective.
    pull, push : ndarray of shape (n, m)
        What raises and what lowers each entry: half the slope is push minus pull.
    """

    value: float
    pull: Array
    push: Array


Loss = Callable[[Array], Evaluation]


def loss_of(graph: Graph, count: int, beta: float) -> Loss:
    """Make the objective of factors with `count` columns, for the graph's weights divided by the largest.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> graph = as_graph(nx.barbell_graph(5, 0))
    >>> loss_of(graph, 2, 2.0)(np.repeat(np.eye(2), 5, axis=0)).value
    6.0
    """
    given = graph.adjacency
    weights = np.maximum(given.data / given.data.max(), MIN_WEIGHT)
    scaled = sp.csr_array((weights, given.indices, given.indptr), shape=given.shape)
    if beta == 2:
        return _squared_distance(scaled)
    return _divergence(scaled, grouped(graph, min(max(POOLS, 2 * count), len(graph))), beta)


def _squared_distance(weights: sp.csr_array) -> Loss:
    of_weights = float(np.square(weights.data).sum())

    def evaluate(factor: Array) -> Evaluation:
        pull, inner = times(weights, factor), gram(factor)
        value = of_weights - 2.0 * float(np.sum(factor * pull)) + float(np.square(inner).sum())
        return Evaluation(0.5 * value, pull, factor @ inner)

    return evaluate


def _divergence(weights: sp.csr_array, pool: Array, beta: float) -> Loss:
    size = np.bincount(pool).astype(np.float64)
    zeros = _zeros_between(weights, pool, size)
    members = one_cluster_each(pool, len(size)).T.tocsr()

    def evaluate(factor: Array) -> Evaluation:
        pull, push, value = _stored(weights, factor, beta)
        pooled = (members @ factor**beta / size[:, None]) ** (1.0 / beta)
        pushed, more = _pooled(pooled, zeros, beta)
        # the derivative of the pool's mean by the entries of a row
        part = np.divide(factor, pooled[pool], out=np.zeros_like(factor), where=factor > 0)
        np.power(part, beta - 1.0, out=part, where=factor > 0)
        push += part * (pushed / size[:, None])[pool]
        return Evaluation(value + more, pull, push)

    return evaluate


def _zeros_between(weights: sp.csr_array, pool: Array, size: Array) -> Array:
    """Count the pairs of weight zero between any two pools."""
    pools = len(size)
    zeros = np.outer(size, size)
    for start, stop in pieces_by_load(weights.indptr, LOAD):
        inside = slice(weights.indptr[start], weights.indptr[stop])
        rows = np.repeat(pool[start:stop], np.diff(weights.indptr[start : stop + 1]))
        stored = rows * pools + taken(pool, weights.indices[inside])
        zeros -= np.bincount(stored, minlength=pools * pools).reshape(pools, pools)
    return zeros


def _stored(weights: sp.csr_array, factor: Array, beta: float) -> tuple[Array, Array, float]:
    edges = rows_of(weights)
    result = Pulls(np.empty_like(factor), np.empty_like(factor), np.empty(len(factor)))

    def piece(start: int, stop: int) -> None:
        stored_pairs(edges, factor, beta, FLOOR, start, stop, result)

    for _ in map_pieces(piece, pieces_with_columns(weights.indptr, factor.shape[1])):
        pass
    return result.pull, result.push, float(result.divergence.sum())


def _pooled(pooled: Array, zeros: Array, beta: float) -> tuple[Array, float]:
    pools, count = pooled.shape
    push, divergence = np.empty_like(pooled), np.empty(pools)

    def block(start: int, stop: int) -> None:
        zero_pairs(pooled, zeros, beta, start, stop, push, divergence)

    for _ in map_blocks(block, pools, max(1, LOAD // (pools * count))):
        pass
    return push, float(divergence.sum())


def first_factor(graph: Graph, memberships: Array) -> Array:
    """Make the factor ``B L^-1/2`` of dense memberships, for the graph's weights divided by the largest.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> first_factor(as_graph(nx.path_graph(2)), np.array([[0.5, 0.5], [0.5, 0.5]]))
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    degrees = graph.degrees / graph.adjacency.data.max()
    degrees[graph.degrees > 0] = np.maximum(degrees[graph.degrees > 0], MIN_WEIGHT)
    bipartite = degrees[:, None] * memberships
    mass = bipartite.sum(axis=0)
    return np.asarray(bipartite / np.sqrt(np.where(mass > 0, mass, 1.0)))


def refined(
    graph: Graph, memberships: sp.csr_array, beta: float, max_sweeps: int, progress: Progress | None = None
) -> Clustering:
    """Factorize a graph under a beta-divergence, starting from memberships near the result.

    Parameters
    ----------
    graph : Graph
    memberships : csr_array of shape (n, m)
    beta : float
        Above 0 and at most 2.
    max_sweeps : int
        The most sweeps.
    progress : callable, optional

    Returns
    -------
    Clustering
        Its trace is the objective at the start and after each sweep, of the weights divided by the largest.
    """
    count = memberships.shape[1]
    factor, loss = first_factor(graph, blurred(memberships.toarray())), loss_of(graph, count, beta)
    factor, trace, status = _minimized(factor, loss, 0.5 / max(beta, 2.0 - beta), max_sweeps, progress)
    found = final_memberships(factor * factor.sum(axis=0))
    return Clustering(found, trace, status, len(trace) - 1)


def _minimized(
    factor: Array, loss: Loss, proven: float, max_sweeps: int, progress: Progress | None = None
) -> tuple[Array, tuple[float, ...], str]:
    """Take steps until they gain almost nothing; returns the factor, the trace, and the status."""
    exponent, at, lowest = 2.0 * proven, loss(factor), MIN_ENTRY * factor
    trace, status = [at.value], ""
    while not status and len(trace) <= max_sweeps:
        stepped = np.maximum(factor * _growth(at) ** exponent, lowest)
        after = loss(stepped)
        if after.value > at.value and exponent > proven:
            exponent = proven
            continue
        gain = at.value - after.value
        if gain > 0:  # otherwise it is rounding
            factor, at = stepped, after
            trace.append(at.value)
        # "not >" instead of "<=": true also if the gain is NaN, because the objective overflows float64
        if not gain > max(MIN_GAIN * (trace[0] - at.value), ROUNDING * abs(at.value)):
            status = stop_status(len(trace) - 1, True)
        if progress is not None:
            progress("factorizing", len(trace) - 1, max_sweeps)
    if not status:
        status = stop_status(max_sweeps, False, _still(trace) if max_sweeps else "")
    return factor, tuple(trace), status


def _growth(at: Evaluation) -> Array:
    """Compute the factors by which entries grow with exponent one; without any push they are 1."""
    growth = np.ones_like(at.pull)
    with np.errstate(over="ignore"):
        np.divide(at.pull, at.push, out=growth, where=at.push > 0)
    return np.minimum(growth, MAX_GROWTH, out=growth)


def _still(trace: list[float]) -> str:
    part = (trace[-2] - trace[-1]) / trace[-1]
    return f"still falling by {part:.1g} of its value a sweep"
