"""A hierarchy takes in new points: its graph grows, and memberships are refined where it grew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.engine.assessing import Fit, assess
from graphsoft.engine.coarsening import without_copies
from graphsoft.engine.polishing import refit_rows, with_rows
from graphsoft.errors import InputError
from graphsoft.fitting.climbing import cluster_graphs
from graphsoft.fitting.settings import Settings
from graphsoft.graph.adjacency import asymmetry
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.input.mapped import stack_rows
from graphsoft.input.names import checked_names
from graphsoft.input.sparse_input import narrow
from graphsoft.linalg.memberships import frozen_rows, likeliest, one_cluster_each, rows_to_one
from graphsoft.methods.relation import by_likelihood
from graphsoft.neighbors.nearest import nearest_neighbors
from graphsoft.neighbors.points import DIRECTIONS, Points, first_copies
from graphsoft.neighbors.weights import weights_of_others
from graphsoft.result.level import Level
from graphsoft.result.prediction import Reference
from graphsoft.result.reference_points import NewPoints, ReferencePoints

__all__ = ["Growth", "Refined", "grown", "refined", "refined_levels"]

# Sweeps over the new points and their neighbors.
SWEEPS = 4


@dataclass(frozen=True, eq=False)
class Growth:
    """A graph with new nodes below the old ones.

    Attributes
    ----------
    graph : Graph
    near : ndarray of int
        The new nodes and their neighbors, rising.
    step : csr_array of shape (q, n)
        ``p(old point | new point)``, made by `Reference.step`.
    features : Features or None
        Those of all points.
    """

    graph: Graph
    near: Array
    step: sp.csr_array
    features: Features | None = None


def grown(
    graph: Graph,
    features: Features | None,
    reference: Reference,
    values: Any,
    names: Sequence[Any] | None = None,
    progress: Progress | None = None,
) -> Growth:
    """Add new points to a graph.

    Parameters
    ----------
    graph : Graph
    features : Features or None
    reference : Reference
        The old points, as new ones are mapped onto them.
    values : ndarray or csr_array
        Checked by `reference`.
    names : sequence, optional
        The names of new nodes, if the others have names.
    progress : callable, optional

    Returns
    -------
    Growth
        Edges between old points stay as they were.

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.reading import as_graph
    >>> from graphsoft.result.prediction import reference_of
    >>> path = as_graph(nx.path_graph(2))
    >>> reference = reference_of(path, None, 1, "connectivity", sp.eye_array(2, format="csr"))
    >>> grown(path, None, reference, reference.rows([[0.0, 3.0]])).graph.adjacency.toarray()
    array([[0., 1., 0.],
           [1., 0., 3.],
           [0., 3., 0.]])
    """
    if not isinstance(reference, ReferencePoints) or features is None:
        return _with_edges(
            graph, _edges_of_rows(graph, values), names, None, reference.step(values, progress)
        )
    if names is not None and isinstance(graph.nodes, range):
        raise InputError("names", "the points have no names", "leave it out, or pass names= to hierarchy")
    old = features.values
    both = sp.vstack([old, values], format="csr") if sp.issparse(old) else stack_rows(old, values)
    found = _with_points(graph, reference, reference.neighbors_of(values, progress), names, progress)
    fitted = features.fitted or len(reference.representatives)
    return replace(found, features=replace(features, values=both, fitted=fitted))


def _with_edges(
    graph: Graph, edges: Any, names: Sequence[Any] | None, distinct: Array | None, step: sp.csr_array
) -> Growth:
    """Add nodes, and edges to them from nodes with lower numbers."""
    old, whole = len(graph), edges.shape[0]
    adjacency = graph.adjacency
    ends = np.full(whole - old, adjacency.indptr[-1], dtype=adjacency.indptr.dtype)
    parts = (adjacency.data, adjacency.indices, np.concatenate([adjacency.indptr, ends]))
    enlarged = sp.csr_array(parts, shape=(whole, whole))
    half = edges.tocsr()
    both = narrow((enlarged + half + sp.triu(half.T, 1)).tocsr())
    both.sort_indices()
    both.has_canonical_format = True
    near = np.union1d(np.arange(old, whole), edges.coords[1])
    notes = (*graph.notes, f"{whole - old} points added")
    whole_graph = replace(
        graph, adjacency=both, nodes=_names(graph, names, whole), notes=notes, duplicates=distinct
    )
    return Growth(whole_graph, near, step)


def _names(graph: Graph, names: Sequence[Any] | None, whole: int) -> Sequence[Any]:
    """Name the new nodes, by their numbers if no names are given."""
    old = len(graph)
    if names is None and isinstance(graph.nodes, range):
        return range(whole)
    added = range(old, whole) if names is None else checked_names(names, whole - old)
    both = (*graph.nodes, *added)
    if len(set(both)) < whole:
        problem = "two points would have the same name"
        raise InputError("names", problem, "pass names=[...] with a new name for each row of X")
    return both


def _edges_of_rows(graph: Graph, rows: sp.csr_array) -> sp.coo_array:
    """Read the edges of new nodes: those to old nodes, and those among each other if there are any."""
    old, count = len(graph), rows.shape[0]
    across = rows[:, :old].tocoo()
    numbers, columns, weights = [across.coords[0] + old], [across.coords[1]], [across.data]
    if rows.shape[1] > old:
        among, pair = asymmetry(rows[:, old:].tocsr())
        if pair is not None:
            problem = (
                f"the weights among new nodes are not symmetric, for example those of {pair[0]} and {pair[1]}"
            )
            raise InputError("X", problem, "give both directions of an edge the same weight")
        lower = sp.tril(among).tocoo()
        numbers, columns = [*numbers, lower.coords[0] + old], [*columns, lower.coords[1] + old]
        weights = [*weights, lower.data]
    ends = (np.concatenate(numbers), np.concatenate(columns))
    shape = (old + count, old + count)
    return sp.coo_array((np.concatenate(weights), ends), shape=shape)


def _with_points(
    graph: Graph,
    reference: ReferencePoints,
    new: NewPoints,
    names: Sequence[Any] | None,
    progress: Progress | None,
) -> Growth:
    """Add points, and join them to the nearest old and new ones.

    A copy of an old point gets the edges of the first copy, and edges of weight 1 to other copies.
    """
    old, known = len(graph), len(reference.representatives)
    distinct = np.arange(old) if graph.duplicates is None else graph.duplicates.astype(np.int64)
    same, first = new.copy_of, first_copies(new.points)
    fresh = np.flatnonzero((same < 0) & (first == np.arange(len(first))))
    number = np.full(len(first), -1)
    number[fresh] = known + np.arange(len(fresh))
    added = np.where(same >= 0, same, number[first])
    ends = _edges_of_distinct(reference, new, fresh, progress)
    every = np.concatenate([distinct, added])
    parts = [
        _repeated_for_copies(*ends, every, old),
        _edges_of_copies(graph, reference, every),
        _edges_among_copies(every, old, reference.n_neighbors),
    ]
    one, two, size = (np.concatenate(each) for each in zip(*parts, strict=True))
    shape = (len(every), len(every))
    all_distinct = len(fresh) + known == len(every)
    edges = sp.coo_array((size, (np.maximum(one, two), np.minimum(one, two))), shape=shape)
    dtype = graph.adjacency.indices.dtype
    numbers = None if all_distinct else every.astype(dtype)
    return _with_edges(graph, edges, names, numbers, reference.step_of(new))


Edges = tuple[Array, Array, Array]  # one end, the other, weights


def _edges_of_distinct(
    reference: ReferencePoints, new: NewPoints, fresh: Array, progress: Progress | None
) -> Edges:
    """Join distinct new points to the nearest distinct points; every edge is listed once."""
    known, count, n_neighbors = len(reference.representatives), len(fresh), reference.n_neighbors
    if count == 0:
        return np.zeros(0, int), np.zeros(0, int), np.zeros(0)
    near, apart = new.indices[fresh], new.distances[fresh]
    # the caller's own finder only knows the points that it was fitted to
    if count > 1 and reference.finder is None:
        mine, between = nearest_neighbors(
            _rescaled(new.points.take(fresh)), min(n_neighbors, count - 1), progress=progress
        )
        near = np.hstack([near, np.where(mine >= 0, mine.astype(np.int64) + known, -1)])
        apart = np.hstack([apart, between])
        order = np.lexsort((near, apart), axis=1)[:, :n_neighbors]
        near, apart = np.take_along_axis(near, order, axis=1), np.take_along_axis(apart, order, axis=1)
    around = reference.lists.with_others(near, apart)
    sizes = weights_of_others(near, apart, reference.weights, around, known + np.arange(count))
    rows, ranks = np.nonzero(near >= 0)
    one, two = rows + known, near[rows, ranks]
    whole = known + count
    listed = sp.csr_array((sizes[rows, ranks], (one, two)), shape=(whole, whole))
    both = sp.tril(listed.maximum(listed.T)).tocoo()
    return both.coords[0].astype(np.int64), both.coords[1].astype(np.int64), both.data


def _rescaled(points: Points) -> Points:
    """Bring points far from all old ones to an ordinary size, so that they can be searched."""
    if points.metric in DIRECTIONS:
        return points
    own = Points.of(points.values, points.metric)
    return replace(own, exponent=own.exponent + points.exponent)


def _repeated_for_copies(one: Array, two: Array, size: Array, distinct: Array, old: int) -> Edges:
    """Repeat edges for all copies of a point; the copies of the other end take turns."""
    counts = np.bincount(distinct)
    members = np.argsort(distinct, kind="stable")
    starts = np.cumsum(counts) - counts
    fresh = members[starts[two]] >= old  # both ends are new, and either may have more copies
    repeats = np.where(fresh, np.maximum(counts[one], counts[two]), counts[one])
    edge = np.repeat(np.arange(len(one)), repeats)
    turn = np.arange(len(edge)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    one, two = one[edge], two[edge]
    return members[starts[one] + turn % counts[one]], members[starts[two] + turn % counts[two]], size[edge]


def _edges_of_copies(graph: Graph, reference: ReferencePoints, distinct: Array) -> Edges:
    """Give new copies of old points the edges that the first copy has to other points."""
    old = len(graph)
    copies = old + np.flatnonzero(distinct[old:] < len(reference.representatives))
    rows = graph.adjacency[reference.representatives[distinct[copies]]].tocoo()
    one, two = copies[rows.coords[0]], rows.coords[1].astype(np.int64)
    apart = distinct[one] != distinct[two]
    return one[apart], two[apart], rows.data[apart]


def _edges_among_copies(distinct: Array, old: int, n_neighbors: int) -> Edges:
    """Join each new copy to earlier copies of its point: the last one, and those 2, 4, 8, ... before."""
    members = np.argsort(distinct, kind="stable")
    counts = np.bincount(distinct)
    rank = np.arange(len(distinct)) - np.repeat(np.cumsum(counts) - counts, counts)
    ones, twos = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for power in range(max(1, -(-n_neighbors // 2))):
        places = np.flatnonzero((members >= old) & (rank >= 1 << power))
        if not len(places):
            break
        ones.append(members[places])
        twos.append(members[places - (1 << power)])
    one, two = np.concatenate(ones), np.concatenate(twos)
    return one, two, np.ones(len(one))


@dataclass(frozen=True, eq=False)
class Refined:
    """The levels of a hierarchy that has grown.

    Attributes
    ----------
    memberships : tuple of csr_array of shape (n + q, m)
    graphs : tuple of Graph
        Of the clusters of each level.
    fits : tuple of Fit
    rows : ndarray of int
        The points that were refined.
    """

    memberships: tuple[sp.csr_array, ...]
    graphs: tuple[Graph, ...]
    fits: tuple[Fit, ...]
    rows: Array


def refined_levels(
    growth: Growth,
    levels: Sequence[Level],
    guesses: Sequence[sp.csr_array],
    settings: Settings,
    progress: Progress | None = None,
) -> Refined:
    """Refine memberships where the graph has grown, on the finest level, and carry them up.

    Parameters
    ----------
    growth : Growth
    levels : sequence of Level
        As they were before, finest first.
    guesses : sequence of csr_array of shape (q, m)
        First guesses for the new points on each level.
    settings : Settings
        Those of the hierarchy. If it has known pairs or labels, only the new points are refined.
    progress : callable, optional

    Returns
    -------
    Refined
        Points that were not refined keep their bits on all levels.
    """
    old = [level.memberships for level in levels]
    parents = [level.parents for level in levels if level.parents is not None]
    likely = [by_likelihood(method) for method in settings.methods]
    whole = [sp.vstack(pair, format="csr") for pair in zip(old, guesses, strict=True)]
    rows = np.arange(old[0].shape[0], len(growth.graph))
    if settings.must_link or settings.cannot_link or settings.known:
        growth = replace(growth, near=rows)
    if likely[0]:
        whole[0], rows = refined(growth, whole[0], parents if settings.polished else [], progress)
        shares = whole[0][rows]
        for level, each in enumerate(parents, start=1):
            shares = rows_to_one((shares @ each).tocsr())
            whole[level] = with_rows(whole[level], (rows, shares))
    graphs = tuple(cluster_graphs(growth.graph, whole, parents, likely, settings.polished))
    frozen = tuple(frozen_rows(each) for each in whole)
    return Refined(frozen, graphs, tuple(assess(growth.graph, each) for each in frozen), rows)


def refined(
    growth: Growth, memberships: sp.csr_array, parents: Sequence[sp.csr_array], progress: Progress | None
) -> tuple[sp.csr_array, Array]:
    """Refine the finest memberships of the new points and their neighbors.

    Parameters
    ----------
    growth : Growth
    memberships : csr_array of shape (n + q, m)
        A first guess for the new points below those of the old ones.
    parents : sequence of csr_array
        Those of a polished hierarchy, whose finest memberships serve the top level; else empty.
    progress : callable, optional

    Returns
    -------
    csr_array of shape (n + q, m)
        Identical points have identical memberships, if they had before.
    rows : ndarray of int
        Those that were refined, rising.
    """
    graph, near = growth.graph, growth.near
    upper: sp.csr_array | None = None
    for each in parents:
        group = one_cluster_each(likeliest(each), each.shape[1])
        upper = group if upper is None else (upper @ group).tocsr()
    distinct = graph.duplicates
    heads = np.zeros(0, int) if distinct is None else np.unique(distinct, return_index=True)[1]
    alike = memberships[heads]
    if distinct is None or (memberships != alike[distinct]).nnz:
        found = refit_rows(graph, memberships, near, upper, SWEEPS, progress)
        return with_rows(memberships, (near, found)), near
    merged = np.unique(distinct[near])
    found = refit_rows(without_copies(graph)[0], alike, merged, upper, SWEEPS, progress)
    rows = np.flatnonzero(np.isin(distinct, merged))
    again = with_rows(alike, (merged, found))[distinct[rows]]
    return with_rows(memberships, (rows, again)), rows
