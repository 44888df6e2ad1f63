"""Approximate nearest neighbors: random trees, then neighbors of neighbors, on plain threads.

The points of a small leaf are compared with each other by products of matrices, which costs far less for each
pair than fetching two points from memory. So trees do most of the work, and the steps along the graph, which
do nearly all of it in :mod:`pynndescent`, only finish it. Points are numbered by the first tree, so that near
points lie near each other in memory. A point is in only one leaf of a tree, and a round changes its list only
by what all lists were before the round. So the bits do not depend on the number of threads.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from graphsoft.aliases import Array
from graphsoft.input.mapped import allocate
from graphsoft.kernels import descent as kernels
from graphsoft.linalg.indexing import put
from graphsoft.parallel import map_blocks

__all__ = ["descend"]

MAX_LEAF = 256  # points in a leaf
MAX_TREES, BATCH = 33, 2  # trees after the first grow in batches
MAX_ROUNDS = 8
MAX_REVERSE = 8  # a point meets at most so many of those that have it in their lists
# Trees, and then rounds, go on while the last one has renewed more than this share of all lists.
TREE_YIELD, ROUND_YIELD = 0.04, 0.10
SKETCH = 64  # of a point with more than twice as many features trees see only so many sums
PART = 1 << 15  # one call grows the whole subtree of so many points
# Work for one call, some milliseconds.
LEAVES_AT_ONCE, ROWS_AT_ONCE = 32, 2048
REVERSED_AT_ONCE = 1 << 17


def descend(data: Array, listed: int, seed: int) -> Array:
    """Find points near every point.

    Parameters
    ----------
    data : float32 ndarray of shape (n, d)
        Compared by Euclidean distance.
    listed : int
        How many points to find near each; a few more than are needed make the nearest ones more certain.
    seed : int

    Returns
    -------
    int32 ndarray of shape (n, listed)
        By rising distance in float32; -1 where fewer were found.

    Examples
    --------
    >>> import numpy as np
    >>> descend(np.array([[0.0], [1.0], [3.0]], dtype=np.float32), 2, seed=0).tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    count = len(data)
    random = np.random.default_rng(seed)
    seeds = random.integers(2**63, size=MAX_TREES).astype(np.uint64)
    seen = _sketch(data, random) if data.shape[1] > 2 * SKETCH else data
    numbers = _grow(seen, seeds[:1])[0]
    seen, data = _take(seen, numbers), _take(data, numbers)
    ids = np.full((count, listed), -1, dtype=np.int32)
    gaps = np.full((count, listed), np.inf, dtype=np.float32)
    leaves, grown = _leaves(count), 0
    while grown < MAX_TREES:
        first = [np.arange(count, dtype=np.int32)]
        orders = _grow(seen, seeds[grown : grown + BATCH]) if grown else first
        grown += len(orders)
        found = [_join(data, order, leaves, ids, gaps) for order in orders]
        if found[-1] <= TREE_YIELD * count * listed:
            break
    fresh = np.ones(ids.shape, dtype=np.bool_)
    for _ in range(MAX_ROUNDS):
        if _one_round(data, ids, gaps, fresh) <= ROUND_YIELD * count * listed:
            break
    result = np.empty((count, listed), dtype=np.int32)
    result[numbers] = np.where(ids >= 0, numbers[ids], -1)
    return result


def _sketch(data: Array, random: np.random.Generator) -> Array:
    """Sum random groups of features with random signs, which keeps distances roughly."""
    places = random.permutation(data.shape[1]) % SKETCH
    signs = random.choice(np.array([-1.0, 1.0], dtype=np.float32), data.shape[1])
    result = np.zeros((len(data), SKETCH), dtype=np.float32)

    def part(start: int, stop: int) -> None:
        kernels.sketch(data, places, signs, start, stop, result)

    for _ in map_blocks(part, len(data), ROWS_AT_ONCE):
        pass
    return result


def _take(data: Array, rows: Array) -> Array:
    """Copy rows of a table, on threads."""
    result = allocate(data, (len(rows), data.shape[1]), data.dtype)

    def part(start: int, stop: int) -> None:
        np.take(data, rows[start:stop], axis=0, out=result[start:stop], mode="clip")

    for _ in map_blocks(part, len(rows), ROWS_AT_ONCE):
        pass
    return result


def _grow(data: Array, seeds: Array) -> list[Array]:
    """Grow a tree from each seed; a tree is the points in order, leaf by leaf.

    As long as parts are large, one call halves one of them; small parts are cut into leaves by one call.
    """
    orders = [np.arange(len(data), dtype=np.int32) for _ in seeds]
    edges = [0, len(data)]
    while True:
        largest = max(stop - start for start, stop in pairwise(edges))
        leaf = MAX_LEAF if largest <= PART else (largest + 1) // 2
        parts = [(tree, *part) for tree in range(len(seeds)) for part in pairwise(edges)]

        def cut(number: int, _: int, parts: list[tuple[int, int, int]] = parts, leaf: int = leaf) -> None:
            tree, start, stop = parts[number]
            with np.errstate(over="ignore"):  # without the compiler NumPy warns when random bits wrap round
                kernels.halve_parts(data, orders[tree], start, stop, leaf, seeds[tree])

        for _ in map_blocks(cut, len(parts), 1):
            pass
        if leaf == MAX_LEAF:
            return orders
        middles = [start + (stop - start) // 2 for start, stop in pairwise(edges) if stop - start > leaf]
        edges = sorted(edges + middles)


def _leaves(count: int) -> Array:
    """Find where the leaves of a tree begin; the last number is the number of points."""
    sizes, parts = [], [count]
    while parts:
        size = parts.pop()
        if size <= MAX_LEAF:
            sizes.append(size)
        else:
            parts += [size - size // 2, size // 2]
    return np.cumsum([0, *sizes])


def _join(data: Array, order: Array, leaves: Array, ids: Array, gaps: Array) -> int:
    """Let the points of every leaf find each other, and return how many were found."""
    places = np.empty_like(order)
    put(places, order, np.arange(len(order), dtype=order.dtype))
    tree = kernels.Tree(order, places, leaves)

    def join(start: int, stop: int) -> int:
        return int(kernels.join_leaves(data, tree, start, stop, ids, gaps))

    return sum(map_blocks(join, len(leaves) - 1, LEAVES_AT_ONCE))


def _one_round(data: Array, ids: Array, gaps: Array, fresh: Array) -> int:
    """Let every point meet the neighbors of its neighbors, and return how many were found."""
    count = len(data)
    reverse = np.full((count, MAX_REVERSE), -1, dtype=np.int32)
    reverse_fresh = np.zeros((count, MAX_REVERSE), dtype=np.bool_)
    by_rank = np.ascontiguousarray(ids.T), np.ascontiguousarray(fresh.T)

    def fill(start: int, stop: int) -> None:
        kernels.fill_reverse(*by_rank, start, stop, reverse, reverse_fresh)

    for _ in map_blocks(fill, count, REVERSED_AT_ONCE):
        pass
    old = kernels.Round(ids.copy(), fresh.copy(), reverse, reverse_fresh)

    def meet(start: int, stop: int) -> int:
        with np.errstate(over="ignore"):
            return int(kernels.meet_neighbors_of_neighbors(data, start, stop, old, ids, gaps, fresh))

    return sum(map_blocks(meet, count, ROWS_AT_ONCE))
