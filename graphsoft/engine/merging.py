"""Merging of nodes round by round, on a graph that stays as it is.

The contracted graph is made only when a quarter of the nodes is left. Until then a group is a list of nodes,
and its best partner is found by going through their rows. That is seldom necessary: if neither a group nor
its best partner has merged, the partner is still the best, because two neighbors merged into one never have
a larger score than the better one of them had alone. Nor do they win a tie, for they are heavier then.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.engine.ties import (
    Sorting,
    first_of,
    in_order,
    sortings_of_pairs,
    wrapping_hashes,
)
from graphsoft.kernels import rows_of
from graphsoft.kernels.contraction import (
    Groups,
    Partners,
    best_of_groups,
    best_partners,
    greedy_matching,
    join_groups,
    mutual_pairs,
    pairs_by_partner,
    remaining_groups,
)
from graphsoft.linalg.indexing import put, taken
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["Merging", "numbered", "partners_along"]

# A round merges this fraction of the pairs of groups that are each other's best partners. A greedy matching
# has about 1.5 times as many pairs, so this is a tenth of a matching. Over the benchmark sets 0.03 to 0.1 of
# a matching gave the same quality, 0.2 and more a lower one.
MERGED_FRACTION = 0.15
# If there are fewer such pairs for each group, other pairs are taken: groups that want the same partner, such
# as the leaves of a star; or a greedy matching, if on a path each node wants the next. Otherwise such graphs
# would lose one node a round. In the graphs of the benchmark sets there were always more than 0.1.
FEW_PAIRS = 0.05


class Merging:
    """Groups of nodes while they merge; each is called by its lowest node.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
    degrees : ndarray of shape (n,)
    keys : ndarray of uint64, shape (n,)
        They decide between equal scores, see `graphsoft.engine.ties`.

    Attributes
    ----------
    alive : ndarray of int
        The groups, in rising order.
    leaders : ndarray of shape (n,)
        The group of every node.

    Examples
    --------
    Both pairs of neighbors have a score of 1/3; the lighter pair merges first:

    >>> from graphsoft.engine.ties import structure_keys
    >>> weights = sp.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> merging = Merging(weights, np.array([2.0, 3.0, 1.0]), structure_keys(weights))
    >>> merging.merge_best(max_merges=1), merging.leaders.tolist()
    (1, [0, 1, 1])
    """

    def __init__(self, adjacency: sp.csr_array, degrees: Array, keys: Array) -> None:
        count, kind = adjacency.shape[0], adjacency.indices.dtype
        self._rows = rows_of(adjacency)
        self.alive = np.arange(count, dtype=kind)
        self.leaders = self.alive.copy()
        self._groups = Groups(
            leaders=self.leaders,
            following=np.full(count, -1, dtype=kind),
            last=self.alive.copy(),
            degrees=degrees.copy(),
            keys=keys.copy(),
            entries=np.diff(adjacency.indptr).astype(np.int64),
        )
        self._partners = partners_along(adjacency, self._groups.degrees, self._groups.keys)
        self._merged = np.zeros(count, dtype=np.bool_)

    def merge_best(self, max_merges: int) -> int:
        """Merge the best pairs, at most `max_merges` of them; returns how many merged."""
        low, high = self._best_pairs(max_merges)
        if len(low):
            with wrapping_hashes():
                join_groups(low, high, self._groups)
            put(self._merged, low, True)
            put(self._merged, high, True)
            alive, outdated = np.empty_like(self.alive), np.empty_like(self.alive)
            kept, found = remaining_groups(
                self.alive, self.leaders, self._partners.best, self._merged, alive, outdated
            )
            self.alive = alive[:kept]
            put(self._merged, low, False)
            put(self._merged, high, False)
            self._find_partners(outdated[:found])
        return len(low)

    def numbered(self) -> tuple[Array, int]:
        """Give the groups numbers: that of every node's group, and how many groups there are."""
        return numbered(self.leaders)

    def _best_pairs(self, max_merges: int) -> tuple[Array, Array]:
        """Choose the pairs of groups of largest score: the lower group of each pair, and the higher."""
        best, low = self._partners.best, np.empty_like(self.alive)
        low = low[: mutual_pairs(self.alive, best, low)]
        few = FEW_PAIRS * np.count_nonzero(taken(best, self.alive) >= 0)
        if len(low) < few:
            low, high = self._other_pairs(few)
            wanted = _merged_at_once(len(low), max_merges)
            return low[:wanted], high[:wanted]
        low = low[first_of(len(low), _merged_at_once(len(low), max_merges), *self._sortings(low))]
        return low, taken(best, low)

    def _other_pairs(self, few: float) -> tuple[Array, Array]:
        """Pair groups that want the same partner, or if these are few, groups with their partners."""
        low, high = np.empty_like(self.alive), np.empty_like(self.alive)
        order = self.alive[in_order(len(low), *self._sortings(self.alive))]
        found = pairs_by_partner(order, self._partners.best, low, high)
        if found < few:
            found = greedy_matching(order, self._partners.best, low, high)
        return low[:found], high[:found]

    def _sortings(self, groups: Array) -> tuple[Sorting, ...]:
        return sortings_of_pairs(groups, self._partners, self._groups.degrees, self._groups.keys)

    def _find_partners(self, groups: Array) -> None:
        """Find the best partners of these groups again."""
        entries = taken(self._groups.entries, groups)
        loads = np.concatenate(([0], np.cumsum(entries)))

        def piece(start: int, stop: int) -> None:
            max_entries = int(entries[start:stop].max())
            with wrapping_hashes():
                best_of_groups(self._rows, self._groups, groups, max_entries, start, stop, self._partners)

        for _ in map_pieces(piece, pieces_by_load(loads, LOAD)):
            pass


def _merged_at_once(possible: int, max_merges: int) -> int:
    return min(max_merges, math.ceil(MERGED_FRACTION * possible))


def partners_along(edges: sp.csr_array, degrees: Array, keys: Array) -> Partners:
    """Find for every node the neighbor of largest ``w / (d d)``, -1 for none; and how large that is.

    Examples
    --------
    >>> from graphsoft.engine.ties import structure_keys
    >>> pair = sp.csr_array([[0.0, 2.0], [2.0, 0.0]])
    >>> partners_along(pair, np.array([2.0, 4.0]), structure_keys(pair))
    Partners(best=array([1, 0], dtype=int32), scores=array([0.25, 0.25]))
    """
    # the loop is compiled for degrees that can be written to, so frozen ones are copied
    degrees = np.require(degrees, requirements="W")
    found = Partners(np.empty(len(degrees), dtype=edges.indices.dtype), np.empty(len(degrees)))

    def piece(start: int, stop: int) -> None:
        with wrapping_hashes():
            best_partners(rows_of(edges), degrees, keys, start, stop, found)

    for _ in map_pieces(piece, pieces_by_load(edges.indptr, LOAD)):
        pass
    return found


def numbered(leaders: Array) -> tuple[Array, int]:
    """Give groups numbers: that of each node's group, and how many there are.

    Examples
    --------
    >>> numbered(np.array([0, 1, 0, 1, 4]))
    (array([0, 1, 0, 1, 2]), 3)
    """
    leads = leaders == np.arange(len(leaders), dtype=leaders.dtype)
    return taken(np.cumsum(leads, dtype=leaders.dtype) - 1, leaders), int(leads.sum())
