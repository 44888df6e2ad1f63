"""New points and the clusters of old ones: one step of the walk to their neighbors, then the chain.

A new point is joined to its nearest points as they are joined to each other, with the same weights; the walk
goes from it to one of them, and from there to the clusters: ``sum_j w_j / sum(w) p(cluster | j)``. A new
point that equals an old one has that point's probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError, shown, warn
from graphsoft.graph.graph import Features, Graph
from graphsoft.input.checks import callback
from graphsoft.input.dense_input import dense_matrix, frame_columns
from graphsoft.input.mapped import taken
from graphsoft.input.sparse_input import sparse_matrix
from graphsoft.linalg.memberships import frozen_rows
from graphsoft.neighbors.exact import measure
from graphsoft.neighbors.external import found_among
from graphsoft.neighbors.nearest import Paths, finish, nearest_among
from graphsoft.neighbors.points import Known, Points
from graphsoft.neighbors.weights import Surroundings, weights_of_others
from graphsoft.parallel import map_blocks

__all__ = [
    "Arrivals",
    "Neighborhood",
    "Nodes",
    "Place",
    "carried",
    "place_in",
    "rows_of_strays",
]

# Candidates that are measured together; shorter lists of edges are filled up.
LANE = 16
# No graph that came through the door has a weight near this.
MAX_WEIGHT = 2.0**200
MIN_WEIGHT = float(np.finfo(np.float64).tiny)


def place_in(
    graph: Graph, features: Features | None, n_neighbors: int, weights: str, memberships: sp.csr_array
) -> Place:
    """Make ready where new points are to find their place.

    Parameters
    ----------
    graph : Graph
    features : Features or None
        None where a graph was given.
    n_neighbors, weights
        How the graph was made of the features.
    memberships : csr_array of shape (n, m)
        By which the search chooses where to begin, if there are too many points to look at all.
    """
    if features is None:
        return Nodes(Known.of(Points.of(graph.adjacency, "cosine")), graph.from_distances)
    return Neighborhood.of(graph, features, n_neighbors, weights, memberships)


class Place(Protocol):
    """What finds the old points that new ones are joined to."""

    def rows(self, X: Any, growing: bool = False) -> Any:
        """Check rows of new points."""
        ...

    def step(self, values: Any, progress: Progress | None = None) -> sp.csr_array:
        """Take the step from checked rows to old points.

        The result is a csr_array of shape (q, n), ``p(old point | new point)``. Rows sum to one, but for
        those without neighbors, which are empty. A row that equals old ones goes to the first of these.
        """
        ...


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a graph, to which new ones come with their weights.

    Attributes
    ----------
    known : Known
        The rows of the adjacency, as directions.
    from_distances : bool
        Whether they were made of distances, which is not done to new rows.

    Examples
    --------
    >>> import networkx as nx
    >>> path = Points.of(nx.to_scipy_sparse_array(nx.path_graph(3), dtype=float), "cosine")
    >>> Nodes(Known.of(path)).step(sp.csr_array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0]])).toarray()
    array([[0.75, 0.  , 0.25],
           [1.  , 0.  , 0.  ]])
    """

    known: Known
    from_distances: bool = False

    def rows(self, X: Any, growing: bool = False) -> sp.csr_array:
        """Check weights to the nodes; when `growing`, perhaps also to the new nodes themselves."""
        count = len(self.known.points)
        more = _row_count(X) if growing else 0
        values = _new_rows(X, sorted({count, count + more}), True, "nodes")
        _refuse_negative(values)
        if self.from_distances and len(values.data) and np.ptp(values.data) > 0.0:
            warn(
                "X: taken as weights, the larger the nearer, although the graph was made of distances; with "
                "neighbors= instead of that graph the neighbors of new points are found, and weighed as here"
            )
        if growing and values.data.max(initial=0.0) > MAX_WEIGHT:
            problem = f"holds a weight of {values.data.max():g}, whose sums may overflow"
            raise InputError("X", problem, "pass weights on the scale of h.graph.adjacency")
        least = values.data[values.data > 0].min(initial=1.0)
        if growing and least < MIN_WEIGHT:
            problem = f"holds a weight of {least:g}, whose inverse is beyond float64"
            raise InputError("X", problem, "pass weights on the scale of h.graph.adjacency")
        return values

    def step(self, values: sp.csr_array, progress: Progress | None = None) -> sp.csr_array:
        """Go along the edges; nodes with the same edges, up to a factor, are the same to a walk."""
        callback("progress", progress)
        rows = values[:, : len(self.known.points)].tocsr()
        if rows.shape[0] == 0:
            return rows
        same = self.known.find(Points.of(rows, "cosine"))
        copies = same >= 0
        step = _to_one(rows)
        step.data[np.repeat(copies, np.diff(step.indptr))] = 0.0
        units = (copies * 1.0, np.where(copies, same, 0), np.arange(len(same) + 1))
        step = (step + sp.csr_array(units, shape=rows.shape)).tocsr()
        step.eliminate_zeros()
        return _told(step)


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Points among which new ones look for neighbors.

    Attributes
    ----------
    count : int
        How many there are, n.
    points : Points of shape (m, d)
        The distinct ones.
    heads : ndarray of shape (m,)
        The first point that equals each.
    known : Known
        By which new rows that equal old ones are found.
    around : Surroundings
        What the weights of edges to them depend on.
    paths : Paths
        Their graph.
    n_neighbors : int
    weights : str
    columns : tuple of str or None
        The names of the features.
    finder : object or None
        What finds neighbors in place of graphsoft.
    fitted : int
        How many of the distinct points it knows: the first.
    """

    count: int
    points: Points
    heads: Array
    known: Known
    around: Surroundings
    paths: Paths
    n_neighbors: int
    weights: str
    columns: tuple[str, ...] | None = None
    finder: Any = None
    fitted: int = 0

    @classmethod
    def of(
        cls, graph: Graph, features: Features, n_neighbors: int, weights: str, memberships: sp.csr_array
    ) -> Neighborhood:
        """Read the neighbors of all points back from their graph.

        Every edge was in the list of one of its ends. So the nearest at the other ends of a point's edges are
        the points in its own list, wherever the search for neighbors had been exact. Where an object of the
        caller's finds neighbors, it is asked again for those of its own points.
        """
        points, sites = Points.of(features.values, features.metric), graph.duplicates
        indptr, indices, heads = graph.adjacency.indptr, graph.adjacency.indices, np.arange(len(points))
        if sites is not None:
            heads = np.unique(sites, return_index=True)[1]
            points = points.take(heads)
            indptr, indices = _between_sites(graph.adjacency, sites, len(heads))
        listed = max(1, min(n_neighbors, len(heads) - 1))
        finder, fitted = features.neighbors, features.fitted or len(heads)
        if finder is None:
            lists = _own_lists(points, indptr, indices, listed)
        else:
            rows = features.values if sites is None else taken(features.values, heads)
            lists = found_among(finder, rows, fitted, listed, own=True)
        paths = Paths(indptr, indices, _entries(memberships[heads]))
        return cls(
            len(graph), points, heads, Known.of(points), Surroundings.of(*lists), paths, n_neighbors, weights,
            features.columns, finder, fitted,
        )  # fmt: skip

    def rows(self, X: Any, growing: bool = False) -> Any:
        """Check features of new points."""
        _refuse_other_columns(X, self.columns)
        return _new_rows(X, [self.points.values.shape[1]], self.points.sparse, "features")

    def step(self, values: Any, progress: Progress | None = None) -> sp.csr_array:
        """Go to the nearest points, with the weights that edges to them would have."""
        return self.step_from(self.arrivals(values, progress))

    def arrivals(self, values: Any, progress: Progress | None = None) -> Arrivals:
        """Find the neighbors of new points."""
        callback("progress", progress)
        others = self.points.alongside(values)
        same = self.known.find(others)
        asking = np.flatnonzero(same < 0)
        part = others if len(asking) == len(others) else others.take(asking)
        found = min(self.n_neighbors, len(self.points))
        lists = np.full((len(same), found), -1, dtype=np.int64), np.full((len(same), found), np.inf)
        if self.finder is None:
            near = nearest_among(self.points, part, found, self.paths, progress)
        else:
            near = found_among(self.finder, values[asking], self.fitted, found)
        lists[0][asking], lists[1][asking] = near
        return Arrivals(others, same, *lists)

    def step_from(self, new: Arrivals) -> sp.csr_array:
        """Take the step of points whose neighbors are found."""
        shares = weights_of_others(new.indices, new.distances, self.weights, self.around)
        ends = new.indices.copy()
        known = new.same >= 0
        ends[known, 0], shares[known, 0] = new.same[known], 1.0
        return _told(_to_one(_listed(ends, shares, self.heads, self.count)))


@dataclass(frozen=True, eq=False)
class Arrivals:
    """New points and their neighbors.

    Attributes
    ----------
    points : Points of shape (q, d)
    same : ndarray of shape (q,)
        The distinct old point that equals each, or -1.
    indices, distances : ndarray of shape (q, k)
        The nearest distinct old points; none for points that equal one.
    """

    points: Points
    same: Array
    indices: Array
    distances: Array


def _between_sites(adjacency: sp.csr_array, sites: Array, count: int) -> tuple[Array, Array]:
    """List which sites have an edge between them."""
    rows = np.repeat(sites, np.diff(adjacency.indptr))
    columns = sites[adjacency.indices]
    apart = rows != columns
    shape = (count, count)
    pattern = sp.csr_array((np.ones(int(apart.sum())), (rows[apart], columns[apart])), shape=shape)
    pattern.sort_indices()
    return pattern.indptr, pattern.indices


def _own_lists(points: Points, indptr: Array, indices: Array, listed: int) -> tuple[Array, Array]:
    """Find the nearest at the other ends of every point's edges: `listed` of them."""

    def block(start: int, stop: int) -> tuple[Array, Array]:
        ptr = indptr[start : stop + 1].astype(np.int64)
        lanes = -(-np.diff(ptr) // LANE)
        own = np.repeat(np.arange(start, stop), lanes)
        begin = np.repeat(ptr[:-1] - LANE * (np.cumsum(lanes) - lanes), lanes) + LANE * np.arange(len(own))
        places = begin[:, None] + np.arange(LANE)
        there = places < indptr[own + 1][:, None]
        candidates = np.where(there, indices[np.where(there, places, 0)], -1).astype(np.int64)
        measures = measure(points, points, own, candidates)[there]  # in the order of the edges
        rows, columns = np.repeat(np.arange(stop - start), np.diff(ptr)), candidates[there]
        order = np.lexsort((columns, measures, rows))
        ranks = np.arange(len(order)) - np.repeat(ptr[:-1] - ptr[0], np.diff(ptr))
        kept = ranks < listed
        near = np.full((stop - start, listed), -1, dtype=np.int64)
        apart = np.full((stop - start, listed), np.inf)
        near[rows[kept], ranks[kept]] = columns[order][kept]
        apart[rows[kept], ranks[kept]] = measures[order][kept]
        return near, apart

    parts = list(map_blocks(block, len(points), 8192))
    near, apart = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    return finish(points, near, apart)


def _entries(memberships: sp.csr_array) -> Array:
    """Choose where walks may begin: for each cluster one of its surest points, and some spread evenly."""
    count = memberships.shape[0]
    rows = np.repeat(np.arange(count), np.diff(memberships.indptr))
    order = np.lexsort((rows, -memberships.data, memberships.indices))
    first = np.flatnonzero(np.diff(memberships.indices[order], prepend=-1))
    spread = np.arange(0, count, max(1, int(np.sqrt(count) / 2)))
    return np.union1d(rows[order[first]], spread)


def _new_rows(X: Any, columns: Sequence[int], sparse: bool, meaning: str) -> Any:
    """Check rows as the door does, but for having some, and that they fit the old ones.

    Dense rows become sparse where the old ones are, and sparse ones dense.
    """
    if hasattr(X, "adjacency") or hasattr(X, "nodes"):
        rows = "weights to the nodes" if meaning == "nodes" else meaning
        raise InputError("X", "is a graph, not a table", f"pass one row of {rows} for each new point")
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0:
        values: Any = sp.csr_array(shape) if sparse else np.zeros(shape)
    elif sp.issparse(X):
        values = sparse_matrix(X) if sparse else sparse_matrix(X).toarray()
    else:
        values = dense_matrix(X)
        values = sp.csr_array(values.astype(np.float64)) if sparse else values
    if values.shape[1] not in columns:
        wanted = " or ".join(map(str, columns))
        problem = f"has {values.shape[1]} columns, where the hierarchy has {wanted} {meaning}"
        remedy = f"pass rows of the same {wanted} {meaning}, in the same order"
        if meaning == "nodes":
            remedy = f"pass rows of weights to the {wanted} nodes, or make the hierarchy of features instead"
        raise InputError("X", problem, remedy)
    return values


def _refuse_other_columns(X: Any, known: tuple[str, ...] | None) -> None:
    """Refuse a data frame whose columns are others, or in another order: a table without names is trusted."""
    given = frame_columns(X)
    if given is None or known is None or given == known:
        return
    if sorted(given) == sorted(known):
        problem = "has the columns of the hierarchy in another order"
    else:
        other = next(name for name in (*given, *known) if (name in given) != (name in known))
        problem = f"has other columns than the hierarchy, as {shown(other)}"
    raise InputError("X", problem, "pass frame[list(h.features.columns)]")


def _listed(ends: Array, shares: Array, heads: Array, count: int) -> sp.csr_array:
    there = ends >= 0
    ptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    columns = heads[ends[there]]
    kind = np.int32 if max(ptr[-1], count) <= np.iinfo(np.int32).max else np.int64
    parts = (shares[there], columns.astype(kind), ptr.astype(kind))
    return sp.csr_array(parts, shape=(len(ends), count))


def _told(step: sp.csr_array) -> sp.csr_array:
    lost = int(np.count_nonzero(np.diff(step.indptr) == 0))
    if lost:
        warn(f"{lost} rows of X have no neighbors and join what has none, or else the heaviest cluster")
    return step


def _row_count(X: Any) -> int:
    shape = getattr(X, "shape", None)
    if shape is None and hasattr(X, "__len__"):
        return len(X)
    return int(shape[0]) if shape else 0


def _refuse_negative(rows: sp.csr_array) -> None:
    """Refuse weights below 0."""
    negative = np.flatnonzero(rows.data < 0)
    if len(negative):
        place = int(np.searchsorted(rows.indptr, negative[0], side="right")) - 1
        where = f"row {place}, column {rows.indices[negative[0]]}"
        problem = f"{len(negative)} weights are negative, the first is {rows.data[negative[0]]:g} at {where}"
        raise InputError("X", problem, "pass weights of at least 0")


def _to_one(rows: sp.csr_array) -> sp.csr_array:
    """Divide every row by its sum, however large or small that is; empty rows stay."""
    counts = np.diff(rows.indptr)
    filled = np.flatnonzero(counts)
    if len(filled):
        starts = rows.indptr[filled]
        rows.data = rows.data / np.repeat(np.maximum.reduceat(rows.data, starts), counts[filled])
        rows.data = rows.data / np.repeat(np.add.reduceat(rows.data, starts), counts[filled])
    return rows


def rows_of_strays(
    graph: Graph, memberships: Sequence[sp.csr_array], parents: Sequence[sp.csr_array]
) -> list[sp.csr_array]:
    """Say where points without neighbors belong: where nodes without edges do, or in the heaviest cluster.

    Parameters
    ----------
    graph : Graph
    memberships : sequence of csr_array of shape (n, m)
        Of the old points on each level, finest first.
    parents : sequence of csr_array of shape (m, m above)
        Of the clusters of each level but the top one.

    Returns
    -------
    list of csr_array of shape (1, m)

    Examples
    --------
    >>> import networkx as nx
    >>> from graphsoft.graph.graph import as_graph
    >>> fine = sp.csr_array([[0.0, 1.0], [0.5, 0.5]])
    >>> rows_of_strays(as_graph(nx.path_graph(2)), [fine], [])[0].toarray()
    array([[0., 1.]])
    """
    alone = np.flatnonzero(np.diff(graph.adjacency.indptr) == 0)[:1]
    if len(alone):
        return [shares[alone] for shares in memberships]
    heaviest = int(np.argmax(memberships[0].T @ graph.degrees))
    rows = [sp.csr_array(([1.0], [heaviest], [0, 1]), shape=(1, memberships[0].shape[1]))]
    for upper in parents:
        rows.append((rows[-1] @ upper).tocsr())
    return rows


def carried(step: sp.csr_array, memberships: sp.csr_array, stray: sp.csr_array | None = None) -> sp.csr_array:
    """Go on from old points to their clusters.

    Parameters
    ----------
    step : csr_array of shape (q, n)
    memberships : csr_array of shape (n, m)
    stray : csr_array of shape (1, m), optional
        What takes the place of empty rows, where there are any.

    Returns
    -------
    csr_array of shape (q, m)
        Frozen; rows sum to one.

    Examples
    --------
    >>> step = sp.csr_array([[0.25, 0.75], [0.0, 0.0]])
    >>> carried(step, sp.csr_array([[1.0, 0.0], [0.0, 1.0]]), sp.csr_array([[1.0, 0.0]])).toarray()
    array([[0.25, 0.75],
           [1.  , 0.  ]])
    """
    result = (step @ memberships).tocsr()
    if stray is not None:
        chosen = sp.csr_array((np.diff(step.indptr) == 0)[:, None].astype(np.float64))
        result = (result + chosen @ stray).tocsr()
    return frozen_rows(result)
