"""The k nearest neighbours of every point: exact where that is quicker, pynndescent beyond.

Every way of searching only proposes candidates. Their distances are then computed anew in float64 by one
compiled loop and sorted by (distance, index), so that neither float32 nor the number of threads shows in the
result.

Seconds for 10 neighbours on two cores (float32, 50 clusters with 10 inner dimensions):

======= === ===== ======== ===========
 points   d  tree products pynndescent
======= === ===== ======== ===========
  1,000  16 0.005    0.005        0.03
  1,000 784     -     0.03        0.09
 10,000   2  0.02     0.06        0.19
 10,000  16  0.06     0.09        0.30
 10,000  64   1.4     0.12        0.34
 10,000 784    95     0.61        0.80
 30,000  16  0.27     0.43        0.88
 30,000  64     -     0.62        0.98
 30,000 784     -      5.6         2.7
100,000   2  0.20      3.0         2.3
100,000   8   1.4      6.1         3.7
100,000  16   2.7      6.9         3.7
100,000  64     -      5.7         4.3
======= === ===== ======== ===========

pynndescent takes another 19 s to compile itself in every new process, so products win until they take about
that long. Trees suffer where all dimensions count: for 50,000 points of uniform noise a tree takes 1.3 s in 8
dimensions and 2.9 s in 10, products 1.9 s. Of sparse texts with 100 words, 20,000 take 2.9 s exactly and 17 s
by pynndescent, 50,000 take 18 s and 46 s. Other metrics: 10,000 points in 64 dimensions take 1.7 s, pair by
pair.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graphsoft.checks import generator
from graphsoft.kernels import neighbors as kernels
from graphsoft.parallel import map_blocks
from graphsoft.points import DIRECTIONS, NORMS, Points, row_blocks

__all__ = ["METRICS", "Progress", "nearest_neighbors"]

Array = np.ndarray[Any, np.dtype[Any]]
Progress = Callable[[str, int, int], None]
Found = Iterator[tuple[Array, Array, Array]]  # rows, their neighbours, what they are ranked by

# name here -> name in scipy.spatial.distance
METRICS = {
    "euclidean": "euclidean",
    "cosine": "cosine",
    "correlation": "correlation",
    "manhattan": "cityblock",
    "chebyshev": "chebyshev",
    "canberra": "canberra",
    "braycurtis": "braycurtis",
    "hamming": "hamming",
}

# the borders, see the table above
TREE_FEATURES = 8
PRODUCT_WORK = 3.0e12  # n² (d + 64): looking through the products costs as much as 64 features
PAIR_WORK = 6.0e10  # n² (d + 16)
WORD_WORK = 4.0e11  # pairs of entries in one column, and n²

BLOCK_WORK = 4.0e9  # multiplications in a block of products, some 50 ms; the other ways take a share
TILE = 128  # points in a tile: with up to a thousand features it stays in the second-level cache
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
        Neighbours by rising distance, ties by index. -1 where there are no more: directions at a right angle
        or beyond are no neighbours, and a row without a direction has none.
    distances : ndarray of shape (n, n_neighbors)
        Infinite where there is no neighbour.

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
    search = _searcher(part, found)
    more = (seed,) if search is _by_descent else ()  # the other ways are exact
    done = 0
    for rows, near, apart in search(part, found, *more):
        indices[alive[rows], :found] = np.where(near >= 0, alive[near], -1)
        distances[alive[rows], :found] = apart
        done += len(rows)
        if progress is not None:
            progress("neighbors", done, len(part))
    return finish(points, indices, distances)


def finish(points: Points, indices: Array, distances: Array) -> tuple[Array, Array]:
    """Turn what was sorted by into distances in the caller's unit, and drop neighbours at a right angle."""
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


def _searcher(points: Points, n_neighbors: int) -> Callable[..., Found]:
    """Choose the quickest way, by the input alone: the same input must always give the same graph."""
    count, features = points.values.shape
    if points.sparse:
        return _by_words if word_work(points) <= WORD_WORK else _by_descent
    if features <= TREE_FEATURES and points.metric in NORMS and n_neighbors < count // 4:
        return _by_tree
    if points.squared:
        return _by_products if count**2 * (features + 64) <= PRODUCT_WORK else _by_descent
    return _by_pairs if count**2 * (features + 16) <= PAIR_WORK else _by_descent


def word_work(points: Points) -> float:
    per_word = np.bincount(points.values.indices, minlength=1).astype(np.float64)
    return float(np.square(per_word).sum()) + len(points) ** 2


def block_size(work: float, most: int) -> int:
    """Rows in a block, if one costs as much as `work` multiplications of a product."""
    return int(np.clip(BLOCK_WORK // work, 1, most))


def measure(points: Points, rows: Array, candidates: Array) -> Array:
    """Compute what neighbours are ranked by: squared distances of multiplied rows, or distances."""
    values = points.values
    result = np.empty(candidates.shape)
    if points.sparse:
        kernels.candidate_distances_sparse(
            values.indptr, values.indices, values.data, points.factors, rows, candidates, result
        )
    elif points.squared:
        kernels.candidate_distances(values, points.factors, rows, candidates, result)
    else:
        from scipy.spatial.distance import cdist

        for place, row in enumerate(rows):
            result[place] = cdist(values[row : row + 1], values[candidates[place]], METRICS[points.metric])[0]
            result[place, (candidates[place] < 0) | (candidates[place] == row)] = np.inf
    return result


def _ranked(points: Points, rows: Array, candidates: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Pick the best candidates by (distance, index); the row itself and -1 never count."""
    measures = measure(points, rows, candidates)
    order = np.lexsort((candidates, measures), axis=1)[:, :n_neighbors]
    measures = np.take_along_axis(measures, order, axis=1)
    return np.where(np.isfinite(measures), np.take_along_axis(candidates, order, axis=1), -1), measures


def _by_tree(points: Points, n_neighbors: int) -> Found:
    """Ask a k-d tree, for more until the last candidate lies beyond the last neighbour: no tie is missed."""
    from scipy.spatial import cKDTree

    scaled = points.values * points.factors[:, None]
    tree = cKDTree(scaled, balanced_tree=False)
    norm = NORMS[points.metric]

    def block(start: int, stop: int) -> tuple[Array, Array, Array]:
        rows = np.arange(start, stop)
        near = np.empty((len(rows), n_neighbors), dtype=np.int64)
        measures = np.empty((len(rows), n_neighbors))
        asked, open_rows = n_neighbors + 3, np.arange(len(rows))
        while len(open_rows):
            asked = min(asked, len(points))
            reach, candidates = tree.query(scaled[rows[open_rows]], k=asked, p=norm)
            near[open_rows], measures[open_rows] = _ranked(points, rows[open_rows], candidates, n_neighbors)
            last = measures[open_rows, -1]
            last = np.sqrt(last) if points.squared else last
            open_rows = open_rows[(reach[:, -1] <= last * (1 + 1e-12)) & (asked < len(points))]
            asked *= 2
        return rows, near, measures

    yield from map_blocks(block, len(points), 1024)


def centre(points: Points) -> Array:
    """Find where a usual multiplied row lies, or 0 where rows must not be moved."""
    values = points.values
    if points.metric not in NORMS:
        return np.zeros(values.shape[1])
    some = slice(None, None, max(1, len(values) // 1000))
    return np.asarray(np.median(values[some] * points.factors[some, None], axis=0))


def single(points: Points, middle: Array) -> Array:
    """Round multiplied rows to float32, moved so that `middle` lies at 0."""
    values = points.values
    result = np.empty(values.shape, dtype=np.float32)
    for start, stop in row_blocks(values):
        result[start:stop] = values[start:stop] * points.factors[start:stop, None] - middle
    return result


def _by_products(points: Points, n_neighbors: int) -> Found:
    """Let all float32 inner products propose candidates; where rounding could hide one, look at all points.

    A computed score is off by less than ``(d + 8) 2**-24 R**2`` for points not longer than R, and no point
    nearer than the last neighbour is longer than R = (length of the row) + (distance of the last neighbour).
    """
    rounded = single(points, centre(points))
    count, depth = rounded.shape
    tiles, halves = cut_in_tiles(rounded)
    listed = min(count - 1, 2 * n_neighbors + 4)
    slack = (depth + 8) * 2.0**-24

    def block(start: int, stop: int) -> tuple[Array, Array, Array]:
        rows = np.arange(start, stop)
        padded = np.minimum(np.arange(start, start + -(-len(rows) // 4) * 4), stop - 1)
        best = np.full((len(padded), listed), np.inf, dtype=np.float32)
        columns = np.full((len(padded), listed), -1, dtype=np.int64)
        kernels.nearest_by_products(rounded[padded], padded, tiles, halves, best, columns)
        near, measures = _ranked(points, rows, columns[: len(rows)], n_neighbors)
        if listed < count - 1:
            squares = np.square(rounded[start:stop], dtype=np.float64).sum(axis=1)
            last = measures[:, -1]
            reach = np.square(np.sqrt(squares) + np.sqrt(last))
            doubtful = 2.0 * best[: len(rows), -1] + squares <= last + 2.0 * slack * reach
            places = np.flatnonzero(doubtful)
            near[places], measures[places] = _look_at_all(points, rows[places], n_neighbors)
        return rows, near, measures

    size = 4 * block_size(4.0 * count * (depth + 64), 256)
    yield from map_blocks(block, count, size)


def cut_in_tiles(rounded: Array) -> tuple[Array, Array]:
    """Cut the points into tiles of columns; also half their squared lengths, infinite past the last point."""
    count, depth = rounded.shape
    number = -(-count // TILE)
    tiles = np.zeros((number, depth, TILE), dtype=np.float32)
    halves = np.full((number, TILE), np.inf, dtype=np.float32)
    for place in range(number):
        part = rounded[place * TILE : (place + 1) * TILE]
        tiles[place, :, : len(part)] = part.T
        halves[place, : len(part)] = np.square(part, dtype=np.float64).sum(axis=1) / 2
    return tiles, halves


def _look_at_all(points: Points, rows: Array, n_neighbors: int) -> tuple[Array, Array]:
    best = np.full((len(rows), n_neighbors), np.inf)
    columns = np.full((len(rows), n_neighbors), -1, dtype=np.int64)
    kernels.nearest_of_all(points.values, points.factors, rows, best, columns)
    return columns, best


def _by_words(points: Points, n_neighbors: int) -> Found:
    """Meet all other sparse rows through the lists of rows that hold each column."""
    scaled = points.multiplied()
    words = scaled.tocsc()
    halves = np.asarray(scaled.power(2).sum(axis=1)).ravel() / 2
    parts = (scaled.indptr, scaled.indices, scaled.data), (words.indptr, words.indices, words.data)
    listed = min(len(points) - 1, 2 * n_neighbors + 4)

    def block(start: int, stop: int) -> tuple[Array, Array, Array]:
        rows = np.arange(start, stop)
        best = np.full((len(rows), listed), np.inf)
        columns = np.full((len(rows), listed), -1, dtype=np.int64)
        kernels.nearest_sparse(*parts, halves, start, points.metric in DIRECTIONS, best, columns)
        return rows, *_ranked(points, rows, columns, n_neighbors)

    yield from map_blocks(block, len(points), block_size(100 * word_work(points) / len(points), 256))


def _by_pairs(points: Points, n_neighbors: int) -> Found:
    """Compute all distances of a block of rows at once."""
    from scipy.spatial.distance import cdist

    def block(start: int, stop: int) -> tuple[Array, Array, Array]:
        rows = np.arange(start, stop)
        best = np.full((len(rows), n_neighbors), np.inf)
        columns = np.full((len(rows), n_neighbors), -1, dtype=np.int64)
        every = cdist(points.values[start:stop], points.values, METRICS[points.metric])
        kernels.keep_lower(every, rows, best, columns)
        return rows, columns, best

    yield from map_blocks(
        block, len(points), block_size(40.0 * len(points) * (points.values.shape[1] + 16), 256)
    )


def _by_descent(points: Points, n_neighbors: int, seed: int = SEED) -> Found:
    """Let pynndescent propose candidates.

    Twenty more than asked for: of 30,000 points of noise in 20 dimensions it then finds 99.5 of 100
    neighbours, and 93 with six more. Where float32 cannot tell the neighbours of a row apart, the row looks
    at all points.
    """
    data: Any = points.multiplied().astype(np.float32) if points.sparse else single(points, centre(points))
    metric = ("cosine" if points.sparse else "euclidean") if points.metric in DIRECTIONS else points.metric
    candidates = np.sort(_descend(data, metric, min(len(points), n_neighbors + 21), seed), axis=1)
    candidates[:, 1:][candidates[:, 1:] == candidates[:, :-1]] = -1

    def block(start: int, stop: int) -> tuple[Array, Array, Array]:
        rows = np.arange(start, stop)
        near, measures = _ranked(points, rows, candidates[start:stop], n_neighbors)
        if points.squared and not points.sparse:
            reach = np.square(data[start:stop], dtype=np.float64).sum(axis=1)
            places = np.flatnonzero((measures[:, -1] <= 2.0**-38 * reach) | (near[:, -1] < 0))
            near[places], measures[places] = _look_at_all(points, rows[places], n_neighbors)
        return rows, near, measures

    yield from map_blocks(block, len(points), 256)


def _descend(data: Any, metric: str, listed: int, seed: int) -> Array:
    """Run pynndescent on one thread, for its result depends on their number, and leave numba as it was."""
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
