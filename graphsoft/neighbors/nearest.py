"""The nearest neighbors of points: of all among themselves, and of new points among old ones.

The search is exact where that is quick, by the ways of :mod:`graphsoft.neighbors.exact`. Beyond, the
trees of :mod:`graphsoft.neighbors.descent` propose the neighbors of points among themselves, and pynndescent
does so where rows are sparse or the metric is another. A new point walks along the graph of the old ones,
from the nearest of some entries on to ever nearer points.

Seconds for 10 neighbors on two cores that others used too, the processor's seconds in brackets, and the part
of the true ones that was found (float32, 30 clusters with 10 inner dimensions;
``examples/benchmarks/neighbors.py --sizes 10000,100000 --kinds clouds``):

======= === ======== ============= ===== ============= =====
 points   d way      search        found pynndescent   found
======= === ======== ============= ===== ============= =====
 10,000   2 tree     0.029 (0.05)  1.000 0.067 (0.13)  1.000
 10,000  16 products 0.133 (0.26)  1.000 0.088 (0.18)  0.999
 10,000  64 products 0.227 (0.44)  1.000 0.109 (0.22)  0.998
 10,000 784 trees    0.389 (0.68)  0.999 0.291 (0.58)  0.997
100,000   2 tree     0.202 (0.35)  1.000 0.825 (1.62)  1.000
100,000  16 trees    1.114 (2.02)  0.999 1.211 (2.36)  0.995
100,000  64 trees    2.098 (3.76)  0.994 1.420 (2.80)  0.991
100,000 784 trees    4.612 (8.85)  0.996 4.772 (9.26)  0.987
======= === ======== ============= ===== ============= =====

The machine was at half its speed then, and not evenly: in one process and by turns, the best of four at
100,000 in 64 dimensions were 1.41 s and 1.51 s. In runs of their own a million such points in 2 dimensions
took 2.8 s and pynndescent 11.7 s (both find all), in 16 dimensions 15.2 s and 17.3 s (0.995 and 0.986
found), in 64 dimensions 21.6 s and 20.4 s (0.991 and 0.980 found). A million in 784 were not timed.

pynndescent was asked for 11 with its own defaults, and compiled before; that takes 19 s and more in every new
process. One k-d tree suffers where all dimensions count: of 100,000 points of normal noise it takes a third
of the time of random trees in 2 dimensions, as long in 6, twice as long in 7, four times in 8. About where
`TREE_WORK` is, clouds take as long and noise twice as long.

Without structure in many dimensions random trees find too little (0.7 of 30,000 points of noise in 64), which
a few probes notice: products then look at all pairs, up to `RETURN_WORK`. Of sparse texts with 100 words,
20,000 take 2.9 s exactly and 17 s by pynndescent, 50,000 take 18 s and 46 s. Other metrics: 10,000 points in
64 dimensions take 1.7 s, pair by pair.

New points look at all old ones where that takes about a millisecond for each at most, and with other metrics
pair by pair, however many there are. There 10,000 new points among 70,000 of 784 dimensions take 4.3 s on two
cores, one of them 0.01 s. What walks find of the 10 nearest, and the processor's seconds for 1000 new points:

========================================== ====== =======
 points                                     found seconds
========================================== ====== =======
7,439 USPS digits, 256 dimensions           0.999    0.05
8,794 pendigits, 16 dimensions              1.000    0.02
3,349 single cells, 50 dimensions           0.999    0.04
3,176 texts, cosine                         0.973     1.1
300,000 in 50 clouds, 64 dimensions         0.999    0.14
300,000 normal noise, 16 dimensions         0.982    0.11
========================================== ====== =======

Of the clouds' new points 0.15 in a hundred found none of their neighbors, having met a wrong cloud.
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
from graphsoft.kernels import neighbors as kernels
from graphsoft.kernels import rows_of
from graphsoft.neighbors.descent import descend
from graphsoft.neighbors.exact import (
    METRICS,
    Found,
    by_pairs,
    by_products,
    by_tree,
    by_words,
    center,
    look_at_all,
    ranked,
    single,
    word_work,
)
from graphsoft.neighbors.points import DIRECTIONS, NORMS, Points
from graphsoft.parallel import map_blocks

__all__ = ["METRICS", "Paths", "finish", "nearest_among", "nearest_neighbors"]

# the borders, see the tables above
TREE_FEATURES = 8
TREE_WORK = 2.0e11  # n 8**d: of noise a k-d tree must look at about so many times more with every dimension
PRODUCT_WORK = 3.0e10  # n² (d + 64): looking through the products costs as much as 64 features
RETURN_WORK = 3.0e12  # up to here products take over where the approximate search finds less than ENOUGH
PAIR_WORK = 6.0e10  # n² (d + 16)
WORD_WORK = 4.0e11  # pairs of entries in one column, and n²
# What looking at all points may cost one new point, in multiplications of a product: about a millisecond.
PRODUCT_REACH = 1.5e8  # n (d + 64)
WORD_REACH = 2.5e7  # pairs of entries in one column, and n
# For so few new points no tree is grown and no tile cut.
FEW = 16
# A walk keeps this many times the neighbors asked for, and this many more.
BEAM = 2
BEAM_MORE = 80
ENTRIES = 8  # of the paths' entries, the nearest that a walk begins from
ENOUGH = 0.95  # of the neighbors of PROBES points
PROBES = 100
# How many more than asked for an approximate search looks for; pynndescent counts the point itself.
MORE = 6
MORE_BY_PYNNDESCENT = 21
SEED = 20010831

_PYNNDESCENT = threading.Lock()  # two threads in numba's workqueue layer at once would abort the process


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
        Seed of pynndescent; None gives the same answer every time. One number is drawn from a generator.
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
    seed = SEED if random is None else int(random.integers(2**31))
    count = len(points)
    indices = np.full((count, n_neighbors), -1, dtype=np.int32 if count < 2**31 else np.int64)
    distances = np.full((count, n_neighbors), np.inf)
    alive = np.flatnonzero(points.factors > 0)
    if len(alive) < 2:
        return indices, distances
    part = points if len(alive) == count else points.take(alive)
    found = min(n_neighbors, len(part) - 1)
    way = _way_within(part, found)
    pieces = _by_descent(part, found, seed) if way is _by_descent else way(part, part, found)
    for rows, near, apart in _told(pieces, len(part), progress):
        indices[alive[rows], :found] = np.where(near >= 0, alive[near], -1)
        distances[alive[rows], :found] = apart
    return finish(points, indices, distances)


def _told(pieces: Found, count: int, progress: Progress | None) -> Found:
    """Tell how far the search has come."""
    done = 0
    for rows, near, apart in pieces:
        yield rows, near, apart
        done += len(near)
        if progress is not None:
            progress("neighbors", done, count)


def finish(points: Points, indices: Array, distances: Array) -> tuple[Array, Array]:
    """Turn what was sorted by into distances in the caller's unit, and drop neighbors at a right angle."""
    if points.metric in DIRECTIONS:
        apart = distances > 2.0 - 1e-12
        indices[apart] = -1
        distances /= 2.0
        distances[apart] = np.inf
    elif points.metric == "euclidean":
        np.sqrt(distances, out=distances)
    if points.metric in NORMS and points.exponent:
        with np.errstate(over="ignore"):  # beyond float64 is as far as infinity
            np.ldexp(distances, points.exponent, out=distances)
    return indices, distances


def _way_within(points: Points, n_neighbors: int) -> Callable[..., Found]:
    """Choose the quickest way, by the input alone: the same input must always give the same graph."""
    count, features = points.values.shape
    if points.sparse:
        return by_words if word_work(points) <= WORD_WORK else _by_descent
    # for squared distances there are random trees too; for other norms there are much slower ways only
    tree = not points.squared or count * 8**features <= TREE_WORK
    if features <= TREE_FEATURES and points.metric in NORMS and n_neighbors < count // 4 and tree:
        return by_tree
    if points.squared:
        return by_products if count**2 * (features + 64) <= PRODUCT_WORK else _by_descent
    return by_pairs if count**2 * (features + 16) <= PAIR_WORK else _by_descent


def _by_descent(points: Points, n_neighbors: int, seed: int = SEED) -> Found:
    """Let an approximate search propose candidates, more than asked for, and keep the best.

    Where it finds too few, products look at all pairs after all; where float32 cannot tell the neighbors of
    a row apart, that row does.
    """
    data: Any = points.multiplied().astype(np.float32) if points.sparse else single(points, center(points))
    metric = ("cosine" if points.sparse else "euclidean") if points.metric in DIRECTIONS else points.metric
    trees = points.squared and not points.sparse  # our own, and pynndescent for all else
    more = MORE if trees else MORE_BY_PYNNDESCENT
    candidates = _descend(data, metric, min(len(points), n_neighbors + more), seed)
    if trees and _poor(points, candidates, n_neighbors):
        yield from by_products(points, points, n_neighbors)
        return

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        rows = np.arange(start, stop)
        near, measures = ranked(points, points, rows, candidates[start:stop], n_neighbors)
        if trees:
            reach = np.square(data[start:stop], dtype=np.float64).sum(axis=1)
            places = np.flatnonzero((measures[:, -1] <= 2.0**-38 * reach) | (near[:, -1] < 0))
            near[places], measures[places] = look_at_all(points, points, rows[places], n_neighbors)
        return slice(start, stop), near, measures

    yield from map_blocks(block, len(points), 256)


def _poor(points: Points, candidates: Array, n_neighbors: int) -> bool:
    """Tell whether the candidates lack many neighbors of a few points, where products are not too dear."""
    count, features = points.values.shape
    if count**2 * (features + 64) > RETURN_WORK:
        return False
    probes = np.unique(np.linspace(0, count - 1, PROBES).astype(np.int64))
    # as if they were new, they find themselves first
    exact = [apart for _, _, apart in by_products(points, points.take(probes), n_neighbors + 1)]
    _, found = ranked(points, points, probes, candidates[probes], n_neighbors)
    reach = np.concatenate(exact)[:, -1:] * (1 + 1e-12)
    return bool((found <= reach).mean() < ENOUGH)


def _descend(data: Any, metric: str, listed: int, seed: int) -> Array:
    """Search by trees of our own, or where there are none for the metric by pynndescent.

    That runs on one thread, for its result depends on their number, and numba is left as it was.
    """
    if metric == "euclidean" and isinstance(data, np.ndarray):
        return descend(data, listed, seed)
    import numba

    with _PYNNDESCENT, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of lists that are not full, which do no harm here
        layer, threads = numba.config.THREADING_LAYER, numba.get_num_threads()
        try:
            from pynndescent import NNDescent

            index = NNDescent(data, metric=metric, n_neighbors=listed, random_state=seed, n_jobs=1)
        finally:
            numba.config.THREADING_LAYER = layer
            numba.set_num_threads(threads)
    return np.asarray(index.neighbor_graph[0], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Paths:
    """A graph of the points, for walks that look for neighbors.

    Attributes
    ----------
    indptr, indices : ndarray
        The edges of each point, as in CSR.
    entries : ndarray
        Points spread over all of them.
    """

    indptr: Array
    indices: Array
    entries: Array


def nearest_among(
    points: Points,
    others: Points,
    n_neighbors: int,
    paths: Paths | None = None,
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
    paths : Paths, optional
        A graph of `points`; without it the search is exact whatever it takes.
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
    What is found for a row does not depend on the other rows.

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
    way, found = _way_between(points, others, paths), min(n_neighbors, len(alive))
    if paths is not None and way is _by_walk:
        pieces = _by_walk(points, others, found, paths)
    else:
        part = points if len(alive) == len(points) else points.take(alive)
        pieces = way(part, others, found)
    numbers = np.arange(len(points)) if way is _by_walk else alive
    for rows, near, apart in _told(pieces, len(others), progress):
        known = (near >= 0) & (others.factors[rows] > 0)[:, None]
        indices[rows, :found] = np.where(known, numbers[near], -1)
        distances[rows, :found] = np.where(known, apart, np.inf)
    return finish(points, indices, distances)


def _way_between(points: Points, others: Points, paths: Paths | None) -> Callable[..., Found]:
    """Choose the way; between exact and approximate ways by `points` alone, which are the same every time."""
    count, features = points.values.shape
    if points.sparse:
        return _by_walk if paths and word_work(points) / count > WORD_REACH else by_words
    if not points.squared:
        return by_tree if features <= TREE_FEATURES and points.metric in NORMS else by_pairs
    tree = features <= TREE_FEATURES
    if paths and not tree and count * (features + 64) > PRODUCT_REACH:
        return _by_walk
    if len(others) <= FEW:
        return _one_by_one
    return by_tree if tree else by_products


def _one_by_one(points: Points, others: Points, n_neighbors: int) -> Found:
    """Look at all points, without preparing anything."""
    yield slice(0, len(others)), *look_at_all(points, others, np.arange(len(others)), n_neighbors)


def _by_walk(points: Points, others: Points, n_neighbors: int, paths: Paths) -> Found:
    """Walk along the graph of the points, from the nearest entries."""
    heads = paths.entries[points.factors[paths.entries] > 0]
    some = min(ENTRIES, len(heads))
    starts = np.full((len(others), some), -1, dtype=np.int64)
    for rows, near, _ in (by_words if points.sparse else by_products)(points.take(heads), others, some):
        starts[rows] = np.where(near >= 0, heads[near], -1)
    width = min(len(points), BEAM * n_neighbors + BEAM_MORE)
    nothing = np.zeros(1, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
    no_rows = np.zeros((0, 0))
    dense = (no_rows, no_rows) if points.sparse else (others.values, points.values)
    sparse = (rows_of(others.values), rows_of(points.values)) if points.sparse else (nothing, nothing)

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        best = np.full((stop - start, width), np.inf)
        columns = np.full((stop - start, width), -1, dtype=np.int64)
        kernels.walk_to_nearest(
            points.sparse, dense, sparse, others.factors, points.factors, (paths.indptr, paths.indices),
            starts[start:stop], start, best, columns,
        )  # fmt: skip
        return slice(start, stop), *ranked(points, others, np.arange(start, stop), columns, n_neighbors)

    yield from map_blocks(block, len(others), 512)
