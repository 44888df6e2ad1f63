"""The exact ways to the nearest of some points: by a tree, products, lists of words, or pair by pair.

Every way takes the points, and those that ask for the nearest of them. Points may ask for the nearest others
among themselves: then `asking` is `points`, the same object, and no row finds itself.

A way only proposes candidates. Their distances are then computed anew in float64 by one compiled loop and
sorted by (distance, index), so that neither float32 nor the number of threads shows in the result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphsoft.aliases import Array
from graphsoft.input.mapped import room
from graphsoft.kernels import neighbors as kernels
from graphsoft.kernels import rows_of
from graphsoft.neighbors.points import DIRECTIONS, NORMS, Points
from graphsoft.parallel import ELEMENTS_PER_BLOCK, blocks, map_blocks, row_blocks

__all__ = [
    "METRICS",
    "Found",
    "by_pairs",
    "by_products",
    "by_tree",
    "by_words",
    "center",
    "look_at_all",
    "measure",
    "ranked",
    "single",
    "word_work",
]

# rows, their neighbors (-1: none), what they are ranked by
Found = Iterator[tuple[slice | Array, Array, Array]]

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

BLOCK_WORK = 4.0e9  # multiplications in a block of products, some 50 ms; the other ways take a share
KD_LEAF = 32  # points in a leaf of a k-d tree; SciPy's 16 ask for longer ways through the tree
TILE = 128  # points in a tile: with up to a thousand features it stays in the second-level cache


def measure(points: Points, asking: Points, rows: Array, candidates: Array) -> Array:
    """Compute what the candidates of `rows` of `asking` are ranked by; infinite for -1 and for themselves.

    That is squared distances of multiplied rows, or distances.
    """
    own = asking is points
    result = np.full(candidates.shape, np.inf)
    if points.sparse:
        kernels.candidate_distances_sparse(
            rows_of(asking.values), asking.factors, rows_of(points.values), points.factors,
            own, rows, candidates, result,
        )  # fmt: skip
    elif points.squared:
        kernels.candidate_distances(
            asking.values, asking.factors, points.values, points.factors, own, rows, candidates, result
        )
    else:
        from scipy.spatial.distance import cdist

        metric = METRICS[points.metric]
        for place, row in enumerate(rows):
            near = candidates[place]
            result[place] = cdist(asking.values[row : row + 1], points.values[near], metric)[0]
            result[place, (near < 0) | (own & (near == row))] = np.inf
    return result


def ranked(
    points: Points, asking: Points, rows: Array, candidates: Array, n_neighbors: int
) -> tuple[Array, Array]:
    """Pick the best candidates by (distance, index), each once; the row itself and -1 never count."""
    near = np.full((len(rows), n_neighbors), -1, dtype=np.int64)
    best = np.full((len(rows), n_neighbors), np.inf)
    kernels.keep_once(measure(points, asking, rows, candidates), candidates, best, near)
    return near, best


def by_tree(points: Points, asking: Points, n_neighbors: int) -> Found:
    """Ask a k-d tree, for more until the last candidate lies beyond the last neighbor: no tie is missed.

    Points among themselves are numbered by a first tree and ask in its order: what one needs of the second,
    the one before has brought near the processor.
    """
    from scipy.spatial import cKDTree

    own, norm, count = asking is points, NORMS[points.metric], len(points)
    scaled = points.values * points.factors[:, None]
    order = cKDTree(scaled, leafsize=KD_LEAF, balanced_tree=False).indices
    tree = cKDTree(scaled[order], leafsize=KD_LEAF, balanced_tree=False)
    order = np.append(order, -1)  # what the tree calls the one past the last is nobody

    def block(start: int, stop: int) -> tuple[slice | Array, Array, Array]:
        rows = order[start:stop] if own else np.arange(start, stop)
        places = asking.values[rows] * asking.factors[rows, None]
        near = np.empty((stop - start, n_neighbors), dtype=np.int64)
        measures = np.empty((stop - start, n_neighbors))
        asked, open_rows = n_neighbors + 3, np.arange(stop - start)
        while len(open_rows):
            asked = min(asked, count)
            reach, candidates = tree.query(places[open_rows], k=np.arange(1, asked + 1), p=norm)
            found = ranked(points, asking, rows[open_rows], order[candidates], n_neighbors)
            near[open_rows], measures[open_rows] = found
            last = measures[open_rows, -1]
            last = np.sqrt(last) if points.squared else last
            open_rows = open_rows[(reach[:, -1] <= last * (1 + 1e-12)) & (asked < count)]
            asked *= 2
        return rows, near, measures

    yield from map_blocks(block, len(asking), 1024)


def by_products(points: Points, asking: Points, n_neighbors: int) -> Found:
    """Let all float32 inner products propose candidates; where rounding could hide one, look at all points.

    A computed score is off by less than ``(d + 8) 2**-24 R**2`` for points not longer than R, and no point
    nearer than the last neighbor is longer than R = (length of the row) + (distance of the last neighbor).
    """
    middle = center(points)
    own, (count, depth) = asking is points, points.values.shape
    tiles, halves = _tiles(points, middle)
    others = count - own
    listed = min(others, 2 * n_neighbors + 4)
    slack = (depth + 8) * 2.0**-24

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        rows = np.arange(start, stop)
        rounded = _rounded(asking, start, stop, middle)
        padded = np.minimum(np.arange(-(-len(rows) // 4) * 4), len(rows) - 1)
        best = np.full((len(padded), listed), np.inf, dtype=np.float32)
        columns = np.full((len(padded), listed), -1, dtype=np.int64)
        numbers = rows[padded] if own else np.full(len(padded), -1)
        kernels.nearest_by_products(rounded[padded], numbers, tiles, halves, best, columns)
        near, measures = ranked(points, asking, rows, columns[: len(rows)], n_neighbors)
        if listed < others:
            squares = np.square(rounded, dtype=np.float64).sum(axis=1)
            last = measures[:, -1]
            reach = np.square(np.sqrt(squares) + np.sqrt(last))
            doubtful = 2.0 * best[: len(rows), -1] + squares <= last + 2.0 * slack * reach
            places = np.flatnonzero(doubtful | ~np.isfinite(last))
            if len(places):  # else nothing is compiled for it
                near[places], measures[places] = look_at_all(points, asking, rows[places], n_neighbors)
        return slice(start, stop), near, measures

    # few rows are four blocks at least, for the threads
    max_rows = min(256, max(1, ELEMENTS_PER_BLOCK // (4 * depth)), -(-len(asking) // 16))
    yield from map_blocks(block, len(asking), 4 * _block_size(4.0 * count * (depth + 64), max_rows))


def look_at_all(points: Points, asking: Points, rows: Array, n_neighbors: int) -> tuple[Array, Array]:
    """Look at all points; what is found is measured again, for two loops may round differently."""
    own = asking is points
    listed = min(len(points) - own, n_neighbors + 4)
    best = np.full((len(rows), listed), np.inf)
    columns = np.full((len(rows), listed), -1, dtype=np.int64)
    kernels.nearest_of_all(
        asking.values, asking.factors, points.values, points.factors, own, rows, best, columns
    )
    return ranked(points, asking, rows, columns, n_neighbors)


def center(points: Points) -> Array:
    """Find where a usual multiplied row lies, or 0 where rows must not be moved."""
    values = points.values
    if points.metric not in NORMS:
        return np.zeros(values.shape[1])
    some, result = slice(None, None, max(1, len(values) // 1000)), np.empty(values.shape[1])
    for start, stop in blocks(len(result), ELEMENTS_PER_BLOCK // 2000):  # `some` are up to 2000
        result[start:stop] = np.median(values[some, start:stop] * points.factors[some, None], axis=0)
    return result


def single(points: Points, middle: Array) -> Array:
    """Round multiplied rows to float32, moved so that `middle` lies at 0."""
    result = room(points.values, points.values.shape, np.float32)

    def part(start: int, stop: int) -> None:
        result[start:stop] = _rounded(points, start, stop, middle)

    for _ in map_blocks(part, len(result), _rows_at_once(result)):
        pass
    return result


def _rounded(points: Points, start: int, stop: int, middle: Array) -> Array:
    result = np.empty((stop - start, len(middle)), dtype=np.float32)
    with np.errstate(over="ignore"):  # points that ask may lie beyond float32, and find all infinitely far
        kernels.round_rows(points.values, points.factors, middle, start, result)
    return result


def _rows_at_once(values: Array) -> int:
    """Count the rows that a thread rounds in one go, some megabytes of float32."""
    return max(1, ELEMENTS_PER_BLOCK // (2 * int(values.shape[1])))


def _tiles(points: Points, middle: Array) -> tuple[Array, Array]:
    """Cut the points into tiles of columns; also half their squared lengths, infinite past the last point."""
    count, depth = points.values.shape
    number = -(-count // TILE)
    tiles = room(points.values, (number, depth, TILE), np.float32)
    halves = np.full((number, TILE), np.inf, dtype=np.float32)

    def fill(first: int, end: int) -> None:
        for place in range(first, end):
            part = _rounded(points, place * TILE, min(count, (place + 1) * TILE), middle)
            tiles[place, :, : len(part)], tiles[place, :, len(part) :] = part.T, 0.0
            halves[place, : len(part)] = np.einsum("ik,ik->i", part, part, dtype=np.float64) / 2

    for _ in map_blocks(fill, number, max(1, _rows_at_once(points.values) // TILE)):
        pass
    return tiles, halves


def by_words(points: Points, asking: Points, n_neighbors: int) -> Found:
    """Meet all sparse rows through the lists of rows that hold each column."""
    own, scaled = asking is points, points.multiplied()
    words = scaled.tocsc()
    halves = np.asarray(scaled.power(2).sum(axis=1)).ravel() / 2
    asked = scaled if own else asking.multiplied()
    listed = min(len(points) - own, 2 * n_neighbors + 4)

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        best = np.full((stop - start, listed), np.inf)
        columns = np.full((stop - start, listed), -1, dtype=np.int64)
        directions = points.metric in DIRECTIONS
        kernels.nearest_sparse(rows_of(asked), rows_of(words), halves, start, own, directions, best, columns)
        return slice(start, stop), *ranked(points, asking, np.arange(start, stop), columns, n_neighbors)

    yield from map_blocks(block, len(asking), _block_size(100 * word_work(points) / len(points), 256))


def word_work(points: Points) -> float:
    """Count the pairs of entries in one column, and n²."""
    per_word = np.bincount(points.values.indices, minlength=1).astype(np.float64)
    return float(np.square(per_word).sum()) + len(points) ** 2


def by_pairs(points: Points, asking: Points, n_neighbors: int) -> Found:
    """Compute all distances, of a block of rows to a block of points at once."""
    from scipy.spatial.distance import cdist

    def block(start: int, stop: int) -> tuple[slice, Array, Array]:
        best = np.full((stop - start, n_neighbors), np.inf)
        columns = np.full((stop - start, n_neighbors), -1, dtype=np.int64)
        numbers = np.arange(start, stop) if asking is points else np.full(stop - start, -1)
        for first, end in row_blocks(points.values):  # cdist makes a copy of them in float64
            apart = cdist(asking.values[start:stop], points.values[first:end], METRICS[points.metric])
            kernels.keep_lower(apart, first, numbers, best, columns)
        return slice(start, stop), columns, best

    size = _block_size(40.0 * len(points) * (points.values.shape[1] + 16), 256)
    yield from map_blocks(block, len(asking), size)


def _block_size(work: float, max_rows: int) -> int:
    """Count the rows of a block, if one costs as much as `work` multiplications of a product."""
    return int(np.clip(BLOCK_WORK // work, 1, max_rows))
