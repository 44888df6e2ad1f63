"""Equal scores: keys of nodes that do not depend on their order, and choices among equals.

In an unweighted graph most scores are equal. If the first of several equals won, each node of a path would
want the one before it, and the path would lose one node a round. So hashes decide between equals.

A node's key is a hash of the graph around it, up to some steps away: of the weights of its edges, of those of
its neighbors, and so on (the refinement of Weisfeiler and Leman). Where keys differ, the choice does not
depend on the order in which the nodes are given. Nodes that look alike as far as that are told apart by a
hash of their numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, read_only, rows_of
from graphsoft.kernels.contraction import Partners
from graphsoft.kernels.ties import DROPPED_BITS, hash_neighborhoods
from graphsoft.linalg.indexing import taken
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = [
    "Sorting",
    "first_of",
    "in_order",
    "keys_of_groups",
    "ranks",
    "sortings_of_pairs",
    "structure_keys",
    "wrapping_hashes",
]

# The values of some places, of which the smallest come first.
Sorting = Callable[[Array], Array]

# A key depends on nodes up to this many steps away. In most graphs three or four steps tell all nodes apart,
# and then no more are taken. On a long path or a large grid there would be no end to it.
MAX_STEPS = 16


def structure_keys(adjacency: sp.csr_array) -> Array:
    """Hash the graph around each node: 64 bits that are the same in every order of the nodes.

    Returns
    -------
    ndarray of uint64, shape (n,)

    Examples
    --------
    >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> one_end, middle, other_end = structure_keys(path)
    >>> bool(one_end == other_end != middle)
    True
    """
    count, rows = adjacency.shape[0], rows_of(adjacency)
    keys, different = np.zeros(count, dtype=np.uint64), min(count, 1)
    # a multiple of all weights changes no cluster, so it must not change a hash
    scale = 1.0 / float(adjacency.data.max()) if adjacency.nnz else 1.0
    if rows.values.dtype != np.float32:  # the loop is compiled for one type, and rounds to fewer bits anyway
        rows, scale = rows._replace(values=read_only((rows.values * scale).astype(np.float32))), 1.0
    for _ in range(MAX_STEPS):
        keys = _one_step_further(rows, scale, keys)
        before, different = different, np.count_nonzero(np.diff(np.sort(keys))) + 1
        if different in (before, count):
            break
    return keys


def _one_step_further(rows: Rows, scale: float, keys: Array) -> Array:
    further = np.empty_like(keys)

    def piece(start: int, stop: int) -> None:
        with wrapping_hashes():
            hash_neighborhoods(rows, scale, keys, start, stop, further)

    for _ in map_pieces(piece, pieces_by_load(rows.ptr, LOAD)):
        pass
    return further


def keys_of_groups(keys: Array, group: Array, groups: int) -> Array:
    """Add up the keys of each group's nodes: its own key, which does not depend on their order.

    Examples
    --------
    >>> keys_of_groups(np.array([3, 4, 5], dtype=np.uint64), np.array([0, 1, 0]), 2).tolist()
    [8, 4]
    """
    sums = np.zeros(groups, dtype=np.uint64)
    np.add.at(sums, group, keys)
    return sums


def ranks(values: Array) -> Array:
    """Turn numbers that are not negative into integers of the same order, equal where only rounding differs.

    Examples
    --------
    >>> one, other, more = ranks(np.array([0.3, 0.1 + 0.2, 0.31]))
    >>> bool(one == other < more)
    True
    """
    return (values.view(np.int64) + (1 << (DROPPED_BITS - 1))) >> DROPPED_BITS


def wrapping_hashes() -> np.errstate:
    """Let hashes wrap around: NumPy warns of it, where loops run without the compiler."""
    return np.errstate(over="ignore")


def sortings_of_pairs(groups: Array, partners: Partners, degrees: Array, keys: Array) -> tuple[Sorting, ...]:
    """Sort pairs of groups and their best partners: large scores first, then light pairs, then by their keys.

    What is equal in all of this is sorted by a hash of the groups' numbers. In the same order single groups
    choose their partners, see `graphsoft.kernels.ties.wins_tie`.
    """
    others = taken(partners.best, groups)
    return (
        lambda at: -ranks(taken(partners.scores, groups[at])),
        lambda at: ranks(taken(degrees, groups[at]) * taken(degrees, others[at])),
        lambda at: taken(keys, groups[at]) + taken(keys, others[at]),
        lambda at: groups[at].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15),
    )


def in_order(count: int, *sortings: Sorting) -> Array:
    """Order so many places: by the first sorting, by the next where that is equal, and so on."""
    everywhere = np.arange(count)
    return np.lexsort([values_of(everywhere) for values_of in reversed(sortings)])


def first_of(count: int, wanted: int, *sortings: Sorting) -> Array:
    """Find the first `wanted` of so many places in that order, without sorting them all.

    A sorting is asked only for the places that it has to decide between.

    Examples
    --------
    >>> first, second = np.array([2, 1, 2, 2]), np.array([9, 9, 7, 8])
    >>> sorted(first_of(4, 3, lambda at: first[at], lambda at: second[at]).tolist())
    [1, 2, 3]
    """
    chosen, open_places = [np.empty(0, dtype=np.int64)], np.arange(count)
    for values_of in sortings:
        if wanted in (0, len(open_places)):
            break
        values = values_of(open_places)
        bar = np.partition(values, wanted - 1)[wanted - 1]
        chosen.append(open_places[values < bar])
        open_places, wanted = open_places[values == bar], wanted - len(chosen[-1])
    return np.concatenate([*chosen, open_places[:wanted]])
