"""Points with features as seen by new points, which look for their nearest neighbors among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.graph.features import Features
from graphsoft.graph.graph import Graph
from graphsoft.input.large_numbers import Origin
from graphsoft.input.mapped import take_rows
from graphsoft.input.sparse_input import check_rows
from graphsoft.linalg.indexing import taken
from graphsoft.neighbors.exact import candidate_scores
from graphsoft.neighbors.external import found_among
from graphsoft.neighbors.nearest import SearchGraph, finish, nearest_among
from graphsoft.neighbors.points import Points, RowLookup
from graphsoft.neighbors.weights import ScaledLists, weights_of_others
from graphsoft.parallel import map_blocks
from graphsoft.result.new_rows import (
    checked_rows,
    empty_rows,
    normalized,
    refuse_other_columns,
    warn_of_empty,
)

__all__ = ["NewPoints", "ReferencePoints", "search_entries"]

# Candidates that are measured together; lists of edges are padded to a multiple of it.
BATCH = 16
# Points whose lists are made in one piece of work.
POINTS_PER_PIECE = 8192


@dataclass(frozen=True, eq=False)
class NewPoints:
    """New points and their neighbors among the old ones.

    Attributes
    ----------
    points : Points of shape (q, d)
    copy_of : ndarray of shape (q,)
        The distinct old point that equals each, or -1.
    indices, distances : ndarray of shape (q, k)
        The nearest distinct old points. Points that equal an old one have none.
    """

    points: Points
    copy_of: Array
    indices: Array
    distances: Array


@dataclass(frozen=True, eq=False)
class ReferencePoints:
    """The n points of a hierarchy, among which new ones look for neighbors.

    Attributes
    ----------
    count : int
        The number of all points, n.
    points : Points of shape (m, d)
        The distinct ones.
    representatives : ndarray of shape (m,)
        For each distinct point, the first of all points that equal it.
    known : RowLookup
        Finds new rows that equal old ones.
    lists : ScaledLists
        The neighbors of the distinct points, on which weights depend.
    paths : SearchGraph
        The graph of the distinct points.
    n_neighbors : int
    weights : str
    columns : tuple of str or None
        The names of the features.
    finder : object or None
        The caller's object that finds neighbors, if there is one.
    fitted : int
        The number of distinct points that `finder` was fitted to. They are the first ones.
    origin : tuple of d numbers, or None
        What was subtracted from the columns of the features.
    """

    count: int
    points: Points
    representatives: Array
    known: RowLookup
    lists: ScaledLists
    paths: SearchGraph
    n_neighbors: int
    weights: str
    columns: tuple[str, ...] | None = None
    finder: Any = None
    fitted: int = 0
    origin: Origin | None = None

    @classmethod
    def of(
        cls, graph: Graph, features: Features, n_neighbors: int, weights: str, memberships: sp.csr_array
    ) -> ReferencePoints:
        """Read the neighbor lists of all points back from their graph.

        Every edge comes from the list of one of its ends. So the nearest of the points that share an edge
        with a point are exactly its own list, provided that the search for neighbors was exact. An object of
        the caller's is asked again for the neighbors of the points it was fitted to.
        """
        points, sites = Points.of(features.values, features.metric), graph.duplicates
        indptr, indices = graph.adjacency.indptr, graph.adjacency.indices
        representatives = np.arange(len(points))
        if sites is not None:
            representatives = np.unique(sites, return_index=True)[1]
            points = points.take(representatives)
            indptr, indices = _edges_between_sites(graph.adjacency, sites, len(representatives))
        distinct = len(representatives)
        length = max(1, min(n_neighbors, distinct - 1))
        finder, fitted = features.neighbors, features.fitted or distinct
        if finder is None:
            indices_and_distances = _lists_of_edges(points, indptr, indices, length)
        else:
            rows = features.values if sites is None else take_rows(features.values, representatives)
            indices_and_distances = found_among(finder, rows, fitted, length, own=True)
        if sites is None:  # the graph's own buffers can be changed later, and searches trust them
            indptr, indices = indptr.copy(), indices.copy()
        paths = SearchGraph(indptr, indices, search_entries(memberships[representatives]))
        lists = ScaledLists.of(*indices_and_distances)
        return cls(
            len(graph), points, representatives, RowLookup.of(points), lists, paths, n_neighbors, weights,
            features.columns, finder, fitted, features.origin,
        )  # fmt: skip

    def rows(self, X: Any, growing: bool = False) -> Any:
        """Check the features of new points."""
        refuse_other_columns(X, self.columns)
        return checked_rows(X, [self.points.values.shape[1]], self.points.sparse, "features", self.origin)

    def step(self, values: Any, progress: Progress | None = None) -> sp.csr_array:
        """Go to the nearest points, with the weights that edges to them would have."""
        return self.step_of(self.neighbors_of(values, progress))

    def neighbors_of(self, values: Any, progress: Progress | None = None) -> NewPoints:
        """Find the neighbors of new points."""
        if self.points.sparse:  # perhaps the caller's own matrix, which can have changed
            check_rows(self.points.values, "h")
        others = self.points.alongside(values)
        copy_of = self.known.find(others)
        asking = np.flatnonzero(copy_of < 0)
        part = others if len(asking) == len(others) else others.take(asking)
        found = min(self.n_neighbors, len(self.points))
        indices = np.full((len(copy_of), found), -1, dtype=np.int64)
        distances = np.full((len(copy_of), found), np.inf)
        if self.finder is None:
            near = nearest_among(self.points, part, found, self.paths, progress)
        else:
            near = found_among(self.finder, values[asking], self.fitted, found)
        indices[asking], distances[asking] = near
        return NewPoints(others, copy_of, indices, distances)

    def step_of(self, new: NewPoints) -> sp.csr_array:
        """Take the step of points whose neighbors have been found."""
        weights = weights_of_others(new.indices, new.distances, self.weights, self.lists)
        ends = new.indices.copy()
        copies = new.copy_of >= 0
        ends[copies, 0], weights[copies, 0] = new.copy_of[copies], 1.0
        step = normalized(_step_matrix(ends, weights, self.representatives, self.count))
        warn_of_empty(empty_rows(step))
        return step


def _edges_between_sites(adjacency: sp.csr_array, sites: Array, count: int) -> tuple[Array, Array]:
    """List for every site the others that it has an edge to; a site is all points that are identical."""
    rows = np.repeat(sites, np.diff(adjacency.indptr))
    columns = taken(sites, adjacency.indices)
    apart = rows != columns
    shape = (count, count)
    pattern = sp.csr_array((np.ones(int(apart.sum())), (rows[apart], columns[apart])), shape=shape)
    pattern.sort_indices()
    return pattern.indptr, pattern.indices


def _lists_of_edges(points: Points, indptr: Array, indices: Array, length: int) -> tuple[Array, Array]:
    """Find for every point the nearest of those that it has edges to, `length` of them."""

    def piece(start: int, stop: int) -> tuple[Array, Array]:
        ptr = indptr[start : stop + 1].astype(np.int64)
        asking, candidates = _batches(ptr, indices)
        there = candidates >= 0
        # in the order of the edges
        measures = candidate_scores(points, points, start + asking, candidates)[there]
        rows, columns = np.repeat(np.arange(stop - start), np.diff(ptr)), candidates[there]
        order = np.lexsort((columns, measures, rows))
        ranks = np.arange(len(order)) - np.repeat(ptr[:-1] - ptr[0], np.diff(ptr))
        kept = ranks < length
        near = np.full((stop - start, length), -1, dtype=np.int64)
        apart = np.full((stop - start, length), np.inf)
        near[rows[kept], ranks[kept]] = columns[order][kept]
        apart[rows[kept], ranks[kept]] = measures[order][kept]
        return near, apart

    near, apart = zip(*map_blocks(piece, len(points), POINTS_PER_PIECE), strict=True)
    return finish(points, np.concatenate(near), np.concatenate(apart))


def _batches(ptr: Array, indices: Array) -> tuple[Array, Array]:
    """Cut rows of CSR indices into batches: the row of each batch, and its indices, padded with -1.

    Examples
    --------
    >>> rows, batches = _batches(np.array([0, 17, 18]), np.arange(18))
    >>> rows.tolist(), (batches >= 0).sum(axis=1).tolist()
    ([0, 0, 1], [16, 1, 1])
    """
    counts = -(-np.diff(ptr) // BATCH)
    rows = np.repeat(np.arange(len(counts)), counts)
    first = np.repeat(ptr[:-1] - BATCH * (np.cumsum(counts) - counts), counts) + BATCH * np.arange(len(rows))
    places = first[:, None] + np.arange(BATCH)
    there = places < ptr[rows + 1][:, None]
    return rows, np.where(there, indices[np.where(there, places, 0)], -1).astype(np.int64)


def search_entries(memberships: sp.csr_array) -> Array:
    """Choose where searches may begin: for each cluster one of its surest points, and some spread evenly."""
    count = memberships.shape[0]
    rows = np.repeat(np.arange(count), np.diff(memberships.indptr))
    order = np.lexsort((rows, -memberships.data, memberships.indices))
    surest = np.flatnonzero(np.diff(memberships.indices[order], prepend=-1))
    spread = np.arange(0, count, max(1, int(np.sqrt(count) / 2)))
    return np.union1d(rows[order[surest]], spread)


def _step_matrix(ends: Array, weights: Array, representatives: Array, count: int) -> sp.csr_array:
    """Make a matrix of the weights to distinct points, with a column for each of all `count` points."""
    there = ends >= 0
    ptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    columns = representatives[ends[there]]
    kind = np.int32 if max(ptr[-1], count) <= np.iinfo(np.int32).max else np.int64
    parts = (weights[there], columns.astype(kind), ptr.astype(kind))
    return sp.csr_array(parts, shape=(len(ends), count))
