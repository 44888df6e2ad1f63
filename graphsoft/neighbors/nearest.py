"""The nearest neighbors of points: of all among themselves, and of new points among old ones.

Points among themselves are searched exactly, by :mod:`graphsoft.neighbors.exact`, up to these borders:

- a k-d tree for at most `TREE_FEATURES` features; where random trees are the alternative, up to `TREE_WORK`,
  because a k-d tree looks at some eight times as many points of noise for each further dimension;
- products of all pairs up to `PRODUCT_WORK`, under euclidean, cosine and correlation;
- all pairs one by one up to `PAIR_WORK`, under other metrics;
- an index of words up to `WORD_WORK`, for sparse rows.

Beyond them the random trees of :mod:`graphsoft.neighbors.descent` propose candidates, or pynndescent where
rows are sparse or the metric is another. The borders lie about where both ways take as long on clustered
points, and where an exact search without a good alternative takes some seconds. Random trees find too little
among points of many dimensions without structure, which a few probes notice. Then products compare all pairs
after all, up to `RETURN_WORK`.

A new point is compared with all old ones where that takes at most about a millisecond, and always under other
metrics. Else it walks along the graph of the old points, from the nearest of some entries on to ever nearer
points. On real sets such walks found at least 97 % of the true neighbors. About one new point in a thousand
found none of them, because it had walked into a wrong cluster.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.input.checks import generator
from graphsoft.kernels import Rows, read_only
from graphsoft.kernels.caching import safe_places
from graphsoft.kernels.distances import DensePoints, SparsePoints
from graphsoft.kernels.lists import empty_lists
from graphsoft.kernels.walking import EitherPoints, walk_to_nearest
from graphsoft.neighbors.descent import descend
from graphsoft.neighbors.exact import (
    METRICS,
    NeighborBlocks,
    as_float32,
    best_candidates,
    by_pairs,
    by_products,
    by_tree,
    by_words,
    center,
    compiled_points,
    scan_all,
    word_work,
)
from graphsoft.neighbors.points import DIRECTIONS, NORMS, Points
from graphsoft.parallel import map_blocks

__all__ = ["METRICS", "SearchGraph", "finish", "nearest_among", "nearest_neighbors", "search_within"]

# The borders of exact searches among the points themselves, in about as many multiplications.
TREE_FEATURES = 8
TREE_WORK = 2.0e11  # n 8**d
PRODUCT_WORK = 3.0e10  # n² (d + 64): picking from the products costs as much as 64 features
RETURN_WORK = 3.0e12  # n² (d + 64) where the approximate search finds less than ENOUGH
PAIR_WORK = 6.0e10  # n² (d + 16)
WORD_WORK = 4.0e11  # pairs of entries in one column, plus n²
EXACT = {"tree": by_tree, "products": by_products, "words": by_words, "pairs": by_pairs}
# The borders of exact searches for one new point.
PRODUCT_REACH = 1.5e8  # n (d + 64)
WORD_REACH = 2.5e7  # pairs of entries in one column, plus n², over n
FEW = 16  # for so few new points no tree is grown and no tile cut
# A walk keeps BEAM times the neighbors asked for, and BEAM_MORE more.
BEAM = 2
BEAM_MORE = 80
ENTRIES = 8  # a walk begins at so many of the entries, the nearest
ENOUGH = 0.95  # share of the neighbors of PROBES points that the approximate search must find
PROBES = 100
# How many neighbors more than asked for an approximate search looks for; pynndescent counts the point itself.
MORE = 6
MORE_BY_PYNNDESCENT = 21
DEFAULT_SEED = 20010831

_PYNNDESCENT = threading.Lock()  # two threads at once in numba's workqueue layer would abort the process


def nearest_neighbors(
    points: Points, n_neighbors: int, *, rng: Any = None, progress: Progress | None = None
) -> tuple[Array, Array]:
    """Find the nearest other points of every point.

    Parameters
    ----------
    points : Points of shape (n, d)
    n_neighbors : int
        At least 1 and below n.
    rng : None, int, or numpy Generator
        Seed of the approximate search; None gives the same answer every time. One number is drawn from a
        generator.
    progress : callable, optional
        Called as ``progress("neighbors", done, n)``.

    Returns
    -------
    indices : ndarray of shape (n, n_neighbors)
        Neighbors by rising distance, ties by index. -1 where there are no more: directions at a right angle
        or beyond are no neighbors, and a row without a direction has none.
    distances : ndarray of shape (n, n_neighbors)
        Infinite where there is no neighbor.

    Examples
    --------
    >>> import numpy as np
    >>> indices, distances = nearest_neighbors(Points.of(np.array([[0.0], [1.0], [3.0]])), 1)
    >>> indices.ravel().tolist(), distances.ravel().tolist()
    ([1, 0, 1], [1.0, 1.0, 2.0])
    """
    random = generator("rng", rng)
    seed = DEFAULT_SEED if random is None else int(random.integers(2**31))
    count = len(points)
    indices = np.full((count, n_neighbors), -1, dtype=np.int32 if count < 2**31 else np.int64)
    distances = np.full((count, n_neighbors), np.inf)
    alive = np.flatnonzero(points.factors > 0)
    if len(alive) < 2:
        return indices, distances
    part = points if len(alive) == count else points.take(alive)
    found = min(n_neighbors, len(part) - 1)
    words = word_work(part) if part.sparse else None
    features = part.values.shape[1]
    name = search_within(len(part), features, part.metric, found, words)
    each = _by_descent(part, found, seed) if name not in EXACT else EXACT[name](part, part, found)
    for rows, near, scores in _with_progress(each, len(part), progress):
        indices[alive[rows], :found] = np.where(near >= 0, alive[near], -1)
        distances[alive[rows], :found] = scores
    return finish(points, indices, distances)


def _with_progress(each: NeighborBlocks, count: int, progress: Progress | None) -> NeighborBlocks:
    """Report to `progress` after each block."""
    done = 0
    for rows, near, scores in each:
        yield rows, near, scores
        done += len(near)
        if progress is not None:
            progress("neighbors", done, count)


def finish(points: Points, indices: Array, distances: Array) -> tuple[Array, Array]:
    """Turn scores into distances in the caller's unit, in place, and drop neighbors at a right angle."""
    if points.metric in DIRECTIONS:
        unrelated = distances > 2.0 - 1e-12
        indices[unrelated] = -1
        distances /= 2.0
        distances[unrelated] = np.inf
    elif points.metric == "euclidean":
        np.sqrt(distances, out=distances)
    if points.metric in NORMS and points.exponent:
        with np.errstate(over="ignore"):  # beyond float64 is as far as infinity
            np.ldexp(distances, points.exponent, out=distances)
    return indices, distances


def search_within(
    count: int, features: int, metric: str, n_neighbors: int, words: float | None = None
) -> str:
    """Choose the quickest search, by the input alone: the same input must always give the same graph.

    Parameters
    ----------
    count, features, n_neighbors : int
    metric : str
    words : float, optional
        Of sparse rows, the work of comparing them through an index of words; see `word_work`.

    Returns
    -------
    str
        A key of `EXACT`, or "random trees", or "pynndescent".

    Examples
    --------
    >>> search_within(1000, 2, "euclidean", 10), search_within(10**6, 768, "euclidean", 10)
    ('tree', 'random trees')
    """
    if words is not None:
        return "words" if words <= WORD_WORK else "pynndescent"
    squared = NORMS.get(metric) == 2.0
    # the alternative to a k-d tree is random trees for squared distances, and much slower under other norms
    tree = features <= TREE_FEATURES and (not squared or count * 8**features <= TREE_WORK)
    if tree and metric in NORMS and n_neighbors < count // 4:
        return "tree"
    if squared:
        return "products" if count**2 * (features + 64) <= PRODUCT_WORK else "random trees"
    return "pairs" if count**2 * (features + 16) <= PAIR_WORK else "pynndescent"


def _by_descent(points: Points, n_neighbors: int, seed: int = DEFAULT_SEED) -> NeighborBlocks:
    """Let an approximate search propose more candidates than asked for, and keep the best.

    Where it finds too few, products compare all pairs after all. A row whose neighbors float32 cannot tell
    apart is compared with all points.
    """
    sparse = points.sparse
    data: Any = points.multiplied().astype(np.float32) if sparse else as_float32(points, center(points))
    metric = ("cosine" if sparse else "euclidean") if points.metric in DIRECTIONS else points.metric
    trees = points.squared and not sparse  # random trees of our own; pynndescent for all else
    more = MORE if trees else MORE_BY_PYNNDESCENT
    candidates = _descend(data, metric, min(len(points), n_neighbors + more), seed)
    if trees and _poor(points, candidates, n_neighbors):
        yield from by_products(points, points, n_neighbors)
        return

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        rows = np.arange(start, stop)
        near, scores = best_candidates(points, points, rows, candidates[start:stop], n_neighbors)
        if trees:
            reach = np.square(data[start:stop], dtype=np.float64).sum(axis=1)
            places = np.flatnonzero((scores[:, -1] <= 2.0**-38 * reach) | (near[:, -1] < 0))
            near[places], scores[places] = scan_all(points, points, rows[places], n_neighbors)
        return slice(start, stop), near, scores

    yield from map_blocks(block, len(points), 256)


def _poor(points: Points, candidates: Array, n_neighbors: int) -> bool:
    """Tell whether candidates lack many neighbors of a few points, and products could still find them."""
    count, features = points.values.shape
    if count**2 * (features + 64) > RETURN_WORK:
        return False
    probes = np.unique(np.linspace(0, count - 1, PROBES).astype(np.int64))
    # searched for like new points, they find themselves first
    exact = [scores for _, _, scores in by_products(points, points.take(probes), n_neighbors + 1)]
    _, found = best_candidates(points, points, probes, candidates[probes], n_neighbors)
    reach = np.concatenate(exact)[:, -1:] * (1 + 1e-12)
    return bool((found <= reach).mean() < ENOUGH)


def _descend(data: Any, metric: str, listed: int, seed: int) -> Array:
    """Search by random trees of our own, or under metrics that they do not serve by pynndescent.

    It runs on one thread, because its result depends on the number of threads. Numba's settings stay as they
    were.
    """
    if metric == "euclidean" and isinstance(data, np.ndarray):
        return descend(data, listed, seed)
    import numba

    with _PYNNDESCENT, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of lists with free places, which do no harm here
        layer, threads = numba.config.THREADING_LAYER, numba.get_num_threads()
        try:
            with safe_places():  # it cannot be imported without one
                from pynndescent import NNDescent

            index = NNDescent(data, metric=metric, n_neighbors=listed, random_state=seed, n_jobs=1)
        finally:
            numba.config.THREADING_LAYER = layer
            numba.set_num_threads(threads)
    return np.asarray(index.neighbor_graph[0], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SearchGraph:
    """A graph of the points, along which walks look for neighbors.

    Attributes
    ----------
    indptr, indices : ndarray
        The edges of each point, as in CSR.
    entries : ndarray
        Points, spread over all of them, at which walks may begin.
    """

    indptr: Array
    indices: Array
    entries: Array


def nearest_among(
    points: Points,
    others: Points,
    n_neighbors: int,
    graph: SearchGraph | None = None,
    progress: Progress | None = None,
) -> tuple[Array, Array]:
    """Find the nearest of `points` for every one of `others`.

    Parameters
    ----------
    points : Points of shape (n, d)
    others : Points of shape (q, d)
        Prepared by `Points.alongside`.
    n_neighbors : int
        From 1 to n.
    graph : SearchGraph, optional
        A graph of `points`. Without it the search is exact, however long that takes.
    progress : callable, optional
        Called as ``progress("neighbors", done, q)``.

    Returns
    -------
    indices : ndarray of shape (q, n_neighbors)
        By rising distance, ties by index; -1 where there are no more, as under
        :func:`nearest_neighbors`.
    distances : ndarray of shape (q, n_neighbors)
        Infinite where there is no neighbor.

    Notes
    -----
    The neighbors of a row do not depend on the other rows.

    Examples
    --------
    >>> points = Points.of(np.array([[0.0], [1.0], [3.0]]))
    >>> indices, distances = nearest_among(points, points.alongside(np.array([[2.5]])), 2)
    >>> indices.tolist(), distances.tolist()
    ([[2, 1]], [[0.5, 1.5]])
    """
    indices = np.full((len(others), n_neighbors), -1, dtype=np.int64)
    distances = np.full((len(others), n_neighbors), np.inf)
    alive = np.flatnonzero(points.factors > 0)
    if len(alive) == 0 or len(others) == 0:
        return indices, distances
    search, found = _search_between(points, others, graph), min(n_neighbors, len(alive))
    if graph is not None and search is _by_walk:
        numbers, each = np.arange(len(points)), _by_walk(points, others, found, graph)
    else:
        numbers = alive
        each = search(points if len(alive) == len(points) else points.take(alive), others, found)
    for rows, near, scores in _with_progress(each, len(others), progress):
        valid = (near >= 0) & (others.factors[rows] > 0)[:, None]
        indices[rows, :found] = np.where(valid, numbers[near], -1)
        distances[rows, :found] = np.where(valid, scores, np.inf)
    return finish(points, indices, distances)


def _search_between(
    points: Points, others: Points, graph: SearchGraph | None
) -> Callable[..., NeighborBlocks]:
    """Choose the search; whether it is exact depends on `points` only, for all new points alike."""
    count, features = points.values.shape
    if points.sparse:
        return _by_walk if graph and word_work(points) / count > WORD_REACH else by_words
    if not points.squared:
        return by_tree if features <= TREE_FEATURES and points.metric in NORMS else by_pairs
    tree = features <= TREE_FEATURES
    if graph and not tree and count * (features + 64) > PRODUCT_REACH:
        return _by_walk
    if len(others) <= FEW:
        return _one_by_one
    return by_tree if tree else by_products


def _one_by_one(points: Points, others: Points, n_neighbors: int) -> NeighborBlocks:
    """Compare with all points, without preparing anything."""
    yield slice(0, len(others)), *scan_all(points, others, np.arange(len(others)), n_neighbors)


def _by_walk(points: Points, others: Points, n_neighbors: int, graph: SearchGraph) -> NeighborBlocks:
    """Walk along the graph of the points, from the nearest entries."""
    entries = graph.entries[points.factors[graph.entries] > 0]
    some = min(ENTRIES, len(entries))
    starts = np.full((len(others), some), -1, dtype=np.int64)
    nearest_entries = by_words if points.sparse else by_products
    for rows, near, _ in nearest_entries(points.take(entries), others, some):
        starts[rows] = np.where(near >= 0, entries[near], -1)
    width = min(len(points), BEAM * n_neighbors + BEAM_MORE)
    queries, targets = _of_either_form(others), _of_either_form(points)

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        lists = empty_lists(stop - start, width)
        edges = graph.indptr, graph.indices
        walk_to_nearest(queries, targets, edges, starts[start:stop], start, lists)
        rows = np.arange(start, stop)
        return slice(start, stop), *best_candidates(points, others, rows, lists.columns, n_neighbors)

    yield from map_blocks(block, len(others), 512)


def _of_either_form(points: Points) -> EitherPoints:
    """Write dense points beside no sparse ones, or the other way round."""
    form = compiled_points(points)
    if points.sparse:
        return EitherPoints(True, DensePoints(read_only(np.zeros((0, 0))), np.zeros(0)), form)
    no_index, no_value = read_only(np.zeros(0, dtype=np.uint32)), read_only(np.zeros(0))
    no_rows = Rows(read_only(np.zeros(1, dtype=np.uint32)), no_index, no_value)
    return EitherPoints(False, form, SparsePoints(no_rows, np.zeros(0)))
