"""Exact searches for nearest neighbors: by a k-d tree, by products, by words, or pair by pair.

Every search takes the points and the queries, whose nearest points it finds. Where points look for neighbors
among themselves, the queries are the same object as the points, and no row finds itself.

A search only proposes candidates. One compiled loop computes their distances again, in float64, and they are
sorted by (distance, index). So neither float32 nor the number of threads shows in the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.input.mapped import allocate
from graphsoft.kernels import neighbors as kernels
from graphsoft.kernels import read_only, rows_of
from graphsoft.kernels.distances import (
    DensePoints,
    SparsePoints,
    candidate_distances,
    candidate_distances_sparse,
    round_rows,
)
from graphsoft.kernels.lists import empty_lists, keep_lower, keep_once
from graphsoft.neighbors.points import DIRECTIONS, NORMS, Points
from graphsoft.parallel import ELEMENTS_PER_BLOCK, blocks, map_blocks, row_blocks

__all__ = [
    "METRICS",
    "NeighborBlocks",
    "as_float32",
    "best_candidates",
    "by_pairs",
    "by_products",
    "by_tree",
    "by_words",
    "candidate_scores",
    "center",
    "compiled_points",
    "scan_all",
    "word_work",
]

# Some rows, their neighbors (-1: none), and the scores that these are sorted by.
NeighborBlocks = Iterator[tuple[slice | Array, Array, Array]]

# the name here: the name in scipy.spatial.distance
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

BLOCK_WORK = 4.0e9  # multiplications in a block of products: some 50 ms; other searches take a part of it
KD_LEAF = 32  # points in a leaf of a k-d tree: with SciPy's 16 the ways through the tree are longer
TILE = 128  # points in a tile: with up to a thousand features it fits into the second-level cache


def compiled_points(points: Points) -> Any:
    """Take points apart for the compiled loops, as `DensePoints` or `SparsePoints`."""
    if points.sparse:
        return SparsePoints(rows_of(points.values), points.factors)
    return DensePoints(read_only(points.values), points.factors)


def candidate_scores(points: Points, queries: Points, rows: Array, candidates: Array) -> Array:
    """Compute the scores by which the candidates of the queries `rows` are sorted.

    These are squared distances of multiplied rows where `Points.squared`, else distances. The score of -1 is
    infinite, and so is that of a point among its own candidates.
    """
    same_set = queries is points
    result = np.full(candidates.shape, np.inf)
    if points.sparse or points.squared:
        loop = candidate_distances_sparse if points.sparse else candidate_distances
        loop(compiled_points(queries), compiled_points(points), same_set, rows, candidates, result)
        return result
    from scipy.spatial.distance import cdist

    metric = METRICS[points.metric]
    for place, row in enumerate(rows):
        near = candidates[place]
        result[place] = cdist(queries.values[row : row + 1], points.values[near], metric)[0]
        result[place, (near < 0) | (same_set & (near == row))] = np.inf
    return result


def best_candidates(
    points: Points, queries: Points, rows: Array, candidates: Array, n_neighbors: int
) -> tuple[Array, Array]:
    """Keep the best candidates by (score, index), each once, without the row itself and -1."""
    lists = empty_lists(len(rows), n_neighbors)
    keep_once(candidate_scores(points, queries, rows, candidates), candidates, lists)
    return lists.columns, lists.scores


def by_tree(points: Points, queries: Points, n_neighbors: int) -> NeighborBlocks:
    """Search a k-d tree, for ever more candidates until the last is farther away than the last neighbor.

    So no tie is missed. Points among themselves are numbered by a first tree and searched for in its order:
    successive queries then need the same parts of the second tree, which are still in the cache.
    """
    from scipy.spatial import cKDTree

    same_set, norm, count = queries is points, NORMS[points.metric], len(points)
    scaled = points.values * points.factors[:, None]
    order = cKDTree(scaled, leafsize=KD_LEAF, balanced_tree=False).indices
    tree = cKDTree(scaled[order], leafsize=KD_LEAF, balanced_tree=False)
    order = np.append(order, -1)  # where the tree finds too few, it gives the number of points

    def block(start: int, stop: int) -> tuple[slice | Array, Array, Array]:
        rows = order[start:stop] if same_set else np.arange(start, stop)
        places = queries.values[rows] * queries.factors[rows, None]
        near = np.empty((stop - start, n_neighbors), dtype=np.int64)
        scores = np.empty((stop - start, n_neighbors))
        wanted, open_rows = n_neighbors + 3, np.arange(stop - start)
        while len(open_rows):
            wanted = min(wanted, count)
            reach, candidates = tree.query(places[open_rows], k=np.arange(1, wanted + 1), p=norm)
            found = best_candidates(points, queries, rows[open_rows], order[candidates], n_neighbors)
            near[open_rows], scores[open_rows] = found
            last = scores[open_rows, -1]
            last = np.sqrt(last) if points.squared else last
            open_rows = open_rows[(reach[:, -1] <= last * (1 + 1e-12)) & (wanted < count)]
            wanted *= 2
        return rows, near, scores

    yield from map_blocks(block, len(queries), 1024)


def by_products(points: Points, queries: Points, n_neighbors: int) -> NeighborBlocks:
    """Propose candidates by all inner products in float32; where rounding could hide one, scan all points.

    The error of a computed score is below ``(d + 8) 2**-24 R**2`` for points of length R or less. A point
    nearer than the last neighbor is no longer than R = (length of the row) + (distance of the last neighbor).
    """
    middle = center(points)
    same_set, (count, depth) = queries is points, points.values.shape
    tiles, halves = _tiles(points, middle)
    others = count - same_set
    listed = min(others, 2 * n_neighbors + 4)
    slack = (depth + 8) * 2.0**-24

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        rows = np.arange(start, stop)
        rounded = _rounded(queries, start, stop, middle)
        padded = np.minimum(np.arange(-(-len(rows) // 4) * 4), len(rows) - 1)
        lists = empty_lists(len(padded), listed, np.float32)
        numbers = rows[padded] if same_set else np.full(len(padded), -1)
        kernels.nearest_by_products(rounded[padded], numbers, tiles, halves, lists)
        near, scores = best_candidates(points, queries, rows, lists.columns[: len(rows)], n_neighbors)
        if listed < others:
            squares = np.square(rounded, dtype=np.float64).sum(axis=1)
            last = scores[:, -1]
            reach = np.square(np.sqrt(squares) + np.sqrt(last))
            doubtful = 2.0 * lists.scores[: len(rows), -1] + squares <= last + 2.0 * slack * reach
            places = np.flatnonzero(doubtful | ~np.isfinite(last))
            if len(places):  # with none, the loop would be compiled for nothing
                near[places], scores[places] = scan_all(points, queries, rows[places], n_neighbors)
        return slice(start, stop), near, scores

    # even few rows make at least four blocks, for the threads
    max_rows = min(256, max(1, ELEMENTS_PER_BLOCK // (4 * depth)), -(-len(queries) // 16))
    yield from map_blocks(block, len(queries), 4 * _block_size(4.0 * count * (depth + 64), max_rows))


def scan_all(points: Points, queries: Points, rows: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Compare the queries `rows` with all points.

    The scores of the best are computed again, because two compiled loops may round differently.
    """
    same_set = queries is points
    lists = empty_lists(len(rows), min(len(points) - same_set, n_neighbors + 4))
    kernels.nearest_of_all(compiled_points(queries), compiled_points(points), same_set, rows, lists)
    return best_candidates(points, queries, rows, lists.columns, n_neighbors)


def center(points: Points) -> Array:
    """Find the median of multiplied rows, about; 0 under metrics where rows must not be moved."""
    values = points.values
    if points.metric not in NORMS:
        return np.zeros(values.shape[1])
    some, result = slice(None, None, max(1, len(values) // 1000)), np.empty(values.shape[1])
    for start, stop in blocks(len(result), ELEMENTS_PER_BLOCK // 2000):  # `some` are up to 2000
        result[start:stop] = np.median(values[some, start:stop] * points.factors[some, None], axis=0)
    return result


def as_float32(points: Points, middle: Array) -> Array:
    """Round multiplied rows to float32, moved so that `middle` is at 0."""
    result = allocate(points.values, points.values.shape, np.float32)

    def part(start: int, stop: int) -> None:
        result[start:stop] = _rounded(points, start, stop, middle)

    for _ in map_blocks(part, len(result), _rows_at_once(result)):
        pass
    return result


def _rounded(points: Points, start: int, stop: int, middle: Array) -> Array:
    result = np.empty((stop - start, len(middle)), dtype=np.float32)
    with np.errstate(over="ignore"):  # queries may be beyond float32; all points are infinitely far from them
        round_rows(read_only(points.values), points.factors, middle, start, result)
    return result


def _rows_at_once(values: Array) -> int:
    """Count the rows that a thread rounds at once: some megabytes of float32."""
    return max(1, ELEMENTS_PER_BLOCK // (2 * int(values.shape[1])))


def _tiles(points: Points, middle: Array) -> tuple[Array, Array]:
    """Cut the points into tiles, one point a column, and compute half their squared lengths.

    Past the last point these are infinite.
    """
    count, depth = points.values.shape
    number = -(-count // TILE)
    tiles = allocate(points.values, (number, depth, TILE), np.float32)
    halves = np.full((number, TILE), np.inf, dtype=np.float32)

    def fill(first: int, end: int) -> None:
        for place in range(first, end):
            part = _rounded(points, place * TILE, min(count, (place + 1) * TILE), middle)
            tiles[place, :, : len(part)], tiles[place, :, len(part) :] = part.T, 0.0
            halves[place, : len(part)] = np.einsum("ik,ik->i", part, part, dtype=np.float64) / 2

    for _ in map_blocks(fill, number, max(1, _rows_at_once(points.values) // TILE)):
        pass
    return tiles, halves


def by_words(points: Points, queries: Points, n_neighbors: int) -> NeighborBlocks:
    """Compare sparse rows through an index of words: for each column the points that have an entry there."""
    same_set, scaled = queries is points, points.multiplied()
    words = scaled.tocsc()
    halves = np.asarray(scaled.power(2).sum(axis=1)).ravel() / 2
    rows = rows_of(scaled if same_set else queries.multiplied())
    listed = min(len(points) - same_set, 2 * n_neighbors + 4)
    need_overlap = points.metric in DIRECTIONS

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        lists = empty_lists(stop - start, listed)
        kernels.nearest_sparse(rows, rows_of(words), halves, start, same_set, need_overlap, lists)
        numbers = np.arange(start, stop)
        return slice(start, stop), *best_candidates(points, queries, numbers, lists.columns, n_neighbors)

    yield from map_blocks(block, len(queries), _block_size(100 * word_work(points) / len(points), 256))


def word_work(points: Points) -> float:
    """Count the pairs of entries in one column, plus n²."""
    per_word = np.bincount(points.values.indices, minlength=1).astype(np.float64)
    return float(np.square(per_word).sum()) + len(points) ** 2


def by_pairs(points: Points, queries: Points, n_neighbors: int) -> NeighborBlocks:
    """Compute all distances, from a block of queries to a block of points at a time."""
    from scipy.spatial.distance import cdist

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        lists = empty_lists(stop - start, n_neighbors)
        numbers = np.arange(start, stop) if queries is points else np.full(stop - start, -1)
        for first, end in row_blocks(points.values):  # cdist makes a copy of them in float64
            distances = cdist(queries.values[start:stop], points.values[first:end], METRICS[points.metric])
            keep_lower(distances, first, numbers, lists)
        return slice(start, stop), lists.columns, lists.scores

    size = _block_size(40.0 * len(points) * (points.values.shape[1] + 16), 256)
    yield from map_blocks(block, len(queries), size)


def _block_size(work: float, max_rows: int) -> int:
    """Count the rows of a block, where one costs as much as `work` multiplications of a product."""
    return int(np.clip(BLOCK_WORK // work, 1, max_rows))
