"""Approximate nearest neighbours: random trees, then neighbours of neighbours, on plain threads.

The points of a small leaf are compared with each other by products of matrices, which costs far less for a
pair than to fetch two points from memory. So a dozen trees and more do most of the work, and the steps along
the graph that :mod:`pynndescent` lives by only finish it. Every row changes its own list alone, by what all
lists were before: the same bits on any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.kernels import descent as kernels
from graphsoft.parallel import blocks, map_blocks

__all__ = ["descend"]

Array = np.ndarray[Any, np.dtype[Any]]
Lists = tuple[Array, Array, Array]  # numbers, squared distances, which are fresh

LEAF = 256  # points in a leaf at most
TREES, BATCH = 32, 4  # at most, and how many between two looks at what they yield
ROUNDS = 8
ROOM = 8  # how many of those that a point is a neighbour of are looked at
# Trees go on while a batch finds more than this part of all lists anew, and rounds while one does.
TREE_YIELD, ROUND_YIELD = 0.25, 0.01
SKETCH = 64  # numbers that trees see of a point with more than twice as many features
LEAVES_AT_ONCE, ROWS_AT_ONCE = 16, 2048


def descend(data: Array, listed: int, seed: int) -> Array:
    """Find points near every point.

    Parameters
    ----------
    data : float32 ndarray of shape (n, d)
        Compared by Euclidean distance.
    listed : int
        How many are to be found of each point; some more than are wanted make the nearest more certain.
    seed : int

    Returns
    -------
    int32 ndarray of shape (n, listed)
        By rising distance, as float32 tells it; -1 where fewer were met.

    Examples
    --------
    >>> import numpy as np
    >>> descend(np.array([[0.0], [1.0], [3.0]], dtype=np.float32), 2, seed=0).tolist()
    [[1, 2], [0, 2], [1, 0]]
    """
    count = len(data)
    lists = (
        np.full((count, listed), -1, dtype=np.int32),
        np.full((count, listed), np.inf, dtype=np.float32),
        np.zeros((count, listed), dtype=np.bool_),
    )
    random = np.random.default_rng(seed)
    seeds = random.integers(2**63, size=TREES).astype(np.uint64)
    seen = _sketch(data, random) if data.shape[1] > 2 * SKETCH else data
    leaves = _leaves(count)
    for start, stop in blocks(TREES, BATCH):
        orders = _grow(seen, seeds[start:stop])
        found = sum(_join(data, order, leaves, lists) for order in orders)
        if found <= TREE_YIELD * count * listed:
            break
    for _ in range(ROUNDS):  # in the order of a tree: near points one after the other have much in common
        if _look_around(data, orders[0], lists) <= ROUND_YIELD * count * listed:
            break
    return lists[0]


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


def _grow(data: Array, seeds: Array) -> list[Array]:
    """Grow a tree of each seed: the points, leaf by leaf."""

    def tree(number: int, _: int) -> Array:
        order = np.arange(len(data), dtype=np.int32)
        with np.errstate(over="ignore"):  # NumPy minds that random bits wrap round, where nothing is compiled
            kernels.grow_tree(data, LEAF, seeds[number], order)
        return order

    return list(map_blocks(tree, len(seeds), 1))


def _leaves(count: int) -> Array:
    """Find where the leaves of a tree begin; the last number is that of the points."""
    sizes, parts = [], [count]
    while parts:
        size = parts.pop()
        if size <= LEAF:
            sizes.append(size)
        else:
            parts += [size - size // 2, size // 2]
    return np.cumsum([0, *sizes])


def _join(data: Array, order: Array, leaves: Array, lists: Lists) -> int:
    """Let the points of every leaf find each other; a point is in one leaf only."""

    def join(start: int, stop: int) -> int:
        return int(kernels.join_leaves(data, order, leaves, start, stop, *lists))

    return sum(map_blocks(join, len(leaves) - 1, LEAVES_AT_ONCE))


def _look_around(data: Array, order: Array, lists: Lists) -> int:
    """Let every point meet the neighbours of its neighbours, as they are before the round."""
    ids, _, fresh = lists
    reverse = np.full((len(data), ROOM), -1, dtype=np.int32)
    reverse_fresh = np.zeros((len(data), ROOM), dtype=np.bool_)
    kernels.fill_reverse(order, ids, fresh, reverse, reverse_fresh)
    old = (ids.copy(), fresh.copy(), reverse, reverse_fresh)

    def look(start: int, stop: int) -> int:
        with np.errstate(over="ignore"):
            return int(kernels.look_around(data, order, start, stop, old, *lists))

    return sum(map_blocks(look, len(data), ROWS_AT_ONCE))
