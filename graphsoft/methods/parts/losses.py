"""Relation factorization under beta-divergences; the one for beta = 2 is squared Frobenius distance.

With ``G = H L^1/2`` the model ``H L H^T`` is ``M = G G^T``, where G need only be non-negative, and what is
minimized is the sum over all pairs, those of a node with itself among them, of

    d(w | m) = (w^beta + (beta - 1) m^beta - beta w m^(beta-1)) / (beta (beta - 1)).

For beta = 2 this is half the squared distance, and in the limit of 1 it is the Kullback-Leibler divergence.

A pair that is not stored has weight zero and costs ``m^beta / beta``; there are too many to look at each. For
beta = 2 they have a closed form, ``||W - M||^2 = ||W||^2 - 2 <W, M> + ||G^T G||^2``. For any other beta they
are pooled: contraction puts similar nodes into pools, and the zeros between any two pools are counted. Each
of these is charged what the mean rows of its pools have in common, the mean being that of order beta,
``x_ap = (mean_i g_ip^beta)^(1/beta)``. The sum over all pairs of two pools is then exact where a pool's rows
are multiples of each other, and where the pools share one cluster only; the zeros among these pairs count as
like the others. In a graph of at most `POOLS` nodes every node is a pool of its own, and all is exact.

No sweep raises this objective, pooled or not. It is made of powers of sums of products of entries; Jensen's
inequality for each sum, and ``x y <= (x^2 + y^2) / 2`` or ``x >= 1 + log x`` for each product, bound it by
functions of one entry each, which touch it at the present G, fall up to

    g_ip (pull_ip / push_ip)^e,   e = 1 / (2 max(beta, 2 - beta)),

and rise from there on, where push minus pull is half the slope. Steps of twice that exponent mostly fall
faster; they are taken until one of them would rise, and then those of the proven exponent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.coarsening import grouped
from graphsoft.graph.graph import Graph
from graphsoft.kernels import rows_of
from graphsoft.kernels.losses import Pulls, stored_pairs, zero_pairs
from graphsoft.linalg.csr import gram, times
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.interface import Clustering, ended
from graphsoft.methods.parts.shares import blurred, final_memberships
from graphsoft.parallel import LOAD, map_blocks, map_pieces, pieces_by_load, pieces_with_columns

__all__ = ["Look", "first_factor", "loss_of", "refined"]

# Or two for each cluster. Over four sets of 1200 to 4200 nodes, in 2 to 40 clusters and for betas of 0.5 and
# 1.5, factors found with so many pools were at most 0.7 % worse, all pairs considered, than those found with
# all pairs; with 500 pools up to 5 %.
POOLS = 1000
# The model of an edge is so much of its weight more than the factor gives it: for a beta of at most 1, edges
# whose ends share no cluster would cost infinitely much.
FLOOR = 1e-6
# Lighter edges, by the heaviest one, count as such: powers of them must stay within what float64 holds.
LIGHTEST = 1e-100
# No entry of a factor falls below this part of where it started. One that were zero would stay so for good.
SMALLEST_SHARE = 1e-8
# Done when a sweep gains less than this part of what all have gained.
SMALLEST_GAIN = 1e-4
# Below this part of the objective a change is rounding.
ROUNDING = 1e-12
# An entry grows at most so much in a sweep; more would overflow.
STEEPEST = 1e100


@dataclass(frozen=True)
class Look:
    """What a factor is worth, and where each of its entries is drawn.

    Attributes
    ----------
    value : float
        The objective.
    pull, push : ndarray of shape (n, m)
        An entry grows where its pull is the larger one.
    """

    value: float
    pull: Array
    push: Array


Loss = Callable[[Array], Look]


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
    weights = np.maximum(given.data / given.data.max(), LIGHTEST)
    scaled = sp.csr_array((weights, given.indices, given.indptr), shape=given.shape)
    if beta == 2:
        return _squared_distance(scaled)
    return _divergence(scaled, grouped(graph, min(max(POOLS, 2 * count), len(graph))), beta)


def _squared_distance(weights: sp.csr_array) -> Loss:
    of_weights = float(np.square(weights.data).sum())

    def look(factor: Array) -> Look:
        pull, inner = times(weights, factor), gram(factor)
        value = of_weights - 2.0 * float(np.sum(factor * pull)) + float(np.square(inner).sum())
        return Look(0.5 * value, pull, factor @ inner)

    return look


def _divergence(weights: sp.csr_array, pool: Array, beta: float) -> Loss:
    size = np.bincount(pool).astype(np.float64)
    zeros = _zeros_between(weights, pool, size)
    members = one_cluster_each(pool, len(size)).T.tocsr()

    def look(factor: Array) -> Look:
        pull, push, value = _stored(weights, factor, beta)
        pooled = (members @ factor**beta / size[:, None]) ** (1.0 / beta)
        pushed, more = _pooled(pooled, zeros, beta)
        # what a row of a pool adds to the pool's mean
        part = np.divide(factor, pooled[pool], out=np.zeros_like(factor), where=factor > 0)
        np.power(part, beta - 1.0, out=part, where=factor > 0)
        push += part * (pushed / size[:, None])[pool]
        return Look(value + more, pull, push)

    return look


def _zeros_between(weights: sp.csr_array, pool: Array, size: Array) -> Array:
    """Count the pairs of weight zero between any two pools."""
    pools = len(size)
    zeros = np.outer(size, size)
    for start, stop in pieces_by_load(weights.indptr, LOAD):
        inside = slice(weights.indptr[start], weights.indptr[stop])
        rows = np.repeat(pool[start:stop], np.diff(weights.indptr[start : stop + 1]))
        stored = rows * pools + pool[weights.indices[inside]]
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
    degrees[graph.degrees > 0] = np.maximum(degrees[graph.degrees > 0], LIGHTEST)
    bipartite = degrees[:, None] * memberships
    mass = bipartite.sum(axis=0)
    return np.asarray(bipartite / np.sqrt(np.where(mass > 0, mass, 1.0)))


def refined(
    graph: Graph, memberships: sp.csr_array, beta: float, max_sweeps: int, progress: Progress | None = None
) -> Clustering:
    """Factorize a graph with edges, from memberships near those that are looked for.

    Parameters
    ----------
    graph : Graph
    memberships : csr_array of shape (n, m)
    beta : float
        Above 0 and at most 2.
    max_sweeps : int
        Sweeps to stop at.
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
    """Take steps until they gain next to nothing: the factor, the objective's trace, and what happened."""
    exponent, at, least = 2.0 * proven, loss(factor), SMALLEST_SHARE * factor
    trace, status = [at.value], ""
    while not status and len(trace) <= max_sweeps:
        stepped = np.maximum(factor * _growth(at) ** exponent, least)
        after = loss(stepped)
        if after.value > at.value and exponent > proven:
            exponent = proven
            continue
        gain = at.value - after.value
        if gain > 0:  # else it is rounding
            factor, at = stepped, after
            trace.append(at.value)
        # not the other way round: where the objective is too large for float64 there is nothing to compare
        if not gain > max(SMALLEST_GAIN * (trace[0] - at.value), ROUNDING * abs(at.value)):
            status = ended(len(trace) - 1, True)
        if progress is not None:
            progress("factorizing", len(trace) - 1, max_sweeps)
    if not status:
        status = ended(max_sweeps, False, _still(trace) if max_sweeps else "")
    return factor, tuple(trace), status


def _growth(at: Look) -> Array:
    """Tell by how much entries would grow at exponent one; where nothing pulls or pushes they stay."""
    growth = np.ones_like(at.pull)
    with np.errstate(over="ignore"):
        np.divide(at.pull, at.push, out=growth, where=at.push > 0)
    return np.minimum(growth, STEEPEST, out=growth)


def _still(trace: list[float]) -> str:
    part = (trace[-2] - trace[-1]) / trace[-1]
    return f"still falling by {part:.1g} of its value a sweep"
