"""How stable a hierarchy is: it is found again on graphs whose edges have random weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError, shown
from graphsoft.fitting.climbing import fit
from graphsoft.fitting.settings import by_features, name_of
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.input.checks import DEFAULT_SEED, callback, generator, integer
from graphsoft.input.constraints import matrix_of_pairs
from graphsoft.linalg.memberships import frozen, frozen_rows, rows_to_one
from graphsoft.methods import Sample
from graphsoft.parallel import map_blocks
from graphsoft.progress import watches_progress
from graphsoft.result.comparison import common_points, overlaps
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.intact import check_levels, intact_graph
from graphsoft.result.stability import LOST, Stability
from graphsoft.result.stored import StoredHierarchy
from graphsoft.result.stored_answers import needs_a_sample

__all__ = ["stability"]

# Points that are worked on at once.
ROWS = 1 << 15
# No edge may vanish, since the graph would then have other components.
MIN_FACTOR = 1e-9


@watches_progress("stability")
def stability(
    h: Hierarchy, rounds: int = 10, *, rng: Any = None, progress: Progress | bool | None = None
) -> Stability:
    """Find a hierarchy again on graphs with random weights, and measure what stays.

    In every round each edge's weight is multiplied by a number drawn from the exponential distribution (the
    Bayesian bootstrap). The hierarchy is then found from scratch, with the same settings. A bootstrap that
    draws whole edges would leave out a third of them, and cut graphs of neighbors into pieces.

    Parameters
    ----------
    h : Hierarchy
    rounds : int
        How many graphs. Each round takes as long as finding the hierarchy, `h.report.seconds["levels"]`.
    rng : None, int, or numpy Generator
        Source of the random numbers. With None the same call gives the same answer every time.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress("stability", done, rounds)``.

    Returns
    -------
    Stability

    Raises
    ------
    InputError
        If a method looked at features, which have no weights to vary.

    Notes
    -----
    A stable cluster need not be right, and an unstable one need not be wrong. If a level has more clusters
    than there are groups, then groups are cut in one of many ways: none of them is stable, and all are pure.
    ``examples/how_sure.py`` measures what stability says about known classes.

    Examples
    --------
    >>> import graphsoft
    >>> import networkx as nx
    >>> h = graphsoft.hierarchy(nx.ring_of_cliques(4, 6), levels=[4])
    >>> graphsoft.stability(h, rounds=3).lost[0].tolist()
    [0, 0, 0, 0]
    """
    if isinstance(h, StoredHierarchy):
        raise needs_a_sample("h")
    if not isinstance(h, Hierarchy):
        raise InputError("h", f"got {shown(h)}", "pass what graphsoft.hierarchy returned")
    integer("rounds", rounds, 1)
    progress = callback("progress", progress)
    random = generator("rng", rng) or np.random.default_rng(DEFAULT_SEED)
    _refuse_feature_methods(h)
    graph = intact_graph(h)
    check_levels(h.levels, len(graph))
    reverse = _reverse(graph)
    asked = h.settings
    pairs = matrix_of_pairs(h.nodes, asked.must_link, asked.cannot_link, dict(asked.known) or None)
    shapes = [level.memberships.shape for level in h]
    found = [np.zeros(clusters) for _, clusters in shapes]
    lost = [np.zeros(clusters, dtype=np.int64) for _, clusters in shapes]
    kept = [np.zeros(points) for points, _ in shapes]
    for done in range(rounds):
        again = _found_again(h, _with_random_weights(graph, reverse, random), pairs, random)
        for at, (level, other) in enumerate(zip(h, again, strict=True)):
            overlap = _overlaps(level.memberships, other)
            best = overlap.max(axis=1).toarray().ravel()
            found[at] += best
            lost[at] += best <= LOST
            kept[at] += _company_kept(level.memberships, other, overlap)
        if progress is not None:
            progress("stability", done + 1, rounds)
    points = [each / rounds for each in kept]
    sizes = [np.bincount(level.labels, minlength=len(level.mass)) for level in h]
    company = [_means(level.labels, *each) for level, *each in zip(h, points, sizes, strict=True)]
    clusters = [each / rounds for each in found]
    parts = (tuple(map(frozen, part)) for part in (clusters, lost, points, sizes, company))
    return Stability(rounds, *parts)


def _means(labels: Array, values: Array, sizes: Array) -> Array:
    sums = np.bincount(labels, values, len(sizes))
    means: Array = np.divide(sums, sizes, out=np.full(len(sizes), np.nan), where=sizes > 0)
    return means


def _refuse_feature_methods(h: Hierarchy) -> None:
    features = h.features
    featured = features is not None and not (isinstance(features, Features) and features.beside)
    points = [len(h.graph), *h.settings.levels]
    method = by_features(h.settings.methods, points, featured)
    if method is not None:
        problem = f"was found by {name_of(method)}, which looks at features"
        raise InputError("h", problem, "use a method for graphs, whose edges can be weighted at random")


def _found_again(
    h: Hierarchy, graph: Graph, pairs: sp.csr_array | None, random: np.random.Generator
) -> list[sp.csr_array]:
    """Find the memberships of all levels again, on a graph with other weights."""
    levels = fit(Sample(graph, None, pairs), h.settings, random)
    return [frozen_rows(rows_to_one(level.memberships)) for level in levels]


def _reverse(graph: Graph) -> Array:
    """Find for every stored entry the place of the same edge in the other direction."""
    edges = graph.adjacency
    places = sp.csr_array((np.arange(edges.nnz), edges.indices, edges.indptr), shape=edges.shape)
    return np.asarray(places.tocsc().data)


def _with_random_weights(graph: Graph, reverse: Array, random: np.random.Generator) -> Graph:
    """Multiply the weight of every edge by an exponential number of mean 1."""
    edges = graph.adjacency
    factors = np.maximum(random.exponential(size=edges.nnz), MIN_FACTOR)
    later = reverse < np.arange(edges.nnz)
    factors[later] = factors[reverse[later]]
    weights = sp.csr_array((edges.data * factors, edges.indices, edges.indptr), shape=edges.shape)
    weights.has_canonical_format = True
    return replace(graph, adjacency=weights)


def _overlaps(level: sp.csr_array, other: sp.csr_array) -> sp.csr_array:
    common = common_points(level, other)
    sizes, others = (np.asarray(each.sum(axis=0)).ravel() for each in (level, other))
    return overlaps(common, sizes, others)


def _company_kept(level: sp.csr_array, other: sp.csr_array, overlap: sp.csr_array) -> Array:
    """Compute for every point the expected overlap of the two clusters it is in, ``s_i^T O t_i``."""

    def piece(start: int, stop: int) -> Array:
        here, there = level[start:stop], other[start:stop]
        return np.asarray((here @ overlap).multiply(there).sum(axis=1)).ravel()

    return np.concatenate(list(map_blocks(piece, level.shape[0], ROWS)))
