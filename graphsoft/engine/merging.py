"""Merging of nodes round by round, on a graph that stays as it is.

The contracted graph is made only when a quarter of the nodes is left. Until then a group is a list of nodes,
and its best partner is found by going through their rows. That is seldom necessary: if neither a group nor
its best partner has merged, the partner is still the best, because two neighbors merged into one never have
a larger score than the better one of them had alone.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.kernels import rows_of
from graphsoft.kernels.contraction import (
    Groups,
    Partners,
    best_of_groups,
    best_partners,
    join_groups,
    mutual_pairs,
    pairs_by_partner,
    remaining_groups,
)
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["Merging", "partners_along"]

# A round merges this fraction of the pairs of groups that are each other's best partners. A greedy matching
# has about 1.5 times as many pairs, so this is a tenth of a matching. Over the benchmark sets 0.03 to 0.1 of
# a matching gave the same quality, 0.2 and more a lower one.
MERGED_FRACTION = 0.15
# If fewer of the groups than this are in such pairs (all leaves of a star want its hub), groups that want the
# same partner are paired instead. Otherwise such a graph would lose one node a round.
FEW_PAIRS = 0.01


class Merging:
    """Groups of nodes while they merge; each is called by its lowest node.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
    degrees : ndarray of shape (n,)

    Attributes
    ----------
    alive : ndarray of int
        The groups, in rising order.
    leaders : ndarray of shape (n,)
        The group of every node.

    Examples
    --------
    >>> weights = sp.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> merging = Merging(weights, np.array([2.0, 3.0, 1.0]))
    >>> merging.merge_best(max_merges=1), merging.leaders.tolist()
    (1, [0, 0, 2])
    """

    def __init__(self, adjacency: sp.csr_array, degrees: Array) -> None:
        count, kind = adjacency.shape[0], adjacency.indices.dtype
        self._rows = rows_of(adjacency)
        self.alive = np.arange(count, dtype=kind)
        self.leaders = self.alive.copy()
        entries = np.diff(adjacency.indptr).astype(np.int64)
        following = np.full(count, -1, dtype=kind)
        self._groups = Groups(self.leaders, following, self.alive.copy(), degrees.copy(), entries)
        self._partners = partners_along(adjacency, degrees)
        self._merged = np.zeros(count, dtype=np.bool_)

    def merge_best(self, max_merges: int) -> int:
        """Merge the best pairs, at most `max_merges` of them; returns how many merged."""
        low, high = self._best_pairs(max_merges)
        if len(low):
            join_groups(low, high, self._groups)
            self._merged[low] = self._merged[high] = True
            alive, outdated = np.empty_like(self.alive), np.empty_like(self.alive)
            kept, found = remaining_groups(
                self.alive, self.leaders, self._partners.best, self._merged, alive, outdated
            )
            self.alive = alive[:kept]
            self._merged[low] = self._merged[high] = False
            self._find_partners(outdated[:found])
        return len(low)

    def numbered(self) -> tuple[Array, int]:
        """Give the groups numbers: that of every node's group, and how many groups there are."""
        number = np.empty_like(self.leaders)
        number[self.alive] = np.arange(len(self.alive), dtype=number.dtype)
        return number[self.leaders], len(self.alive)

    def _best_pairs(self, max_merges: int) -> tuple[Array, Array]:
        """Choose the pairs of groups of largest score: the lower group of each pair, and the higher."""
        best = self._partners.best
        low, scores = np.empty_like(self.alive), np.empty(len(self.alive))
        possible = mutual_pairs(self.alive, self._partners, low, scores)
        with_partner = np.count_nonzero(best[self.alive] >= 0)
        if possible < FEW_PAIRS * with_partner:
            order = self.alive[np.argsort(-self._partners.scores[self.alive], kind="stable")]
            lower, higher = np.empty_like(low), np.empty_like(low)
            paired = pairs_by_partner(order, best, lower, higher)
            if paired > possible:
                wanted = min(max_merges, math.ceil(MERGED_FRACTION * paired))
                return lower[:wanted], higher[:wanted]
            if possible == 0:  # scores so alike that by rounding partners go round in circles
                pair = order[:1], best[order[:1]]
                return np.minimum(*pair), np.maximum(*pair)
        wanted = min(max_merges, math.ceil(MERGED_FRACTION * possible))
        low = low[_places_of_largest(scores[:possible], wanted)]
        return low, best[low]

    def _find_partners(self, groups: Array) -> None:
        """Find the best partners of these groups again."""
        entries = self._groups.entries[groups]
        loads = np.concatenate(([0], np.cumsum(entries)))

        def piece(start: int, stop: int) -> None:
            max_entries = int(entries[start:stop].max())
            with np.errstate(over="ignore"):  # without the compiler, NumPy warns of hashes that wrap around
                best_of_groups(self._rows, self._groups, groups, max_entries, start, stop, self._partners)

        for _ in map_pieces(piece, pieces_by_load(loads, LOAD)):
            pass


def _places_of_largest(scores: Array, wanted: int) -> Array:
    """Find the places of the largest scores; of equal ones the first.

    Examples
    --------
    >>> _places_of_largest(np.array([1.0, 3.0, 1.0, 2.0]), 3).tolist()
    [1, 3, 0]
    """
    if not 0 < wanted < len(scores):
        return np.arange(min(wanted, len(scores)))
    places = np.flatnonzero(scores >= np.partition(scores, -wanted)[-wanted])
    return places[np.argsort(-scores[places], kind="stable")[:wanted]]


def partners_along(edges: sp.csr_array, degrees: Array) -> Partners:
    """Find for every node the neighbor of largest ``w / (d d)``, -1 for none; and how large that is.

    Examples
    --------
    >>> partners_along(sp.csr_array([[0.0, 2.0], [2.0, 0.0]]), np.array([2.0, 4.0]))
    Partners(best=array([1, 0], dtype=int32), scores=array([0.25, 0.25]))
    """
    found = Partners(np.empty(len(degrees), dtype=edges.indices.dtype), np.empty(len(degrees)))

    def piece(start: int, stop: int) -> None:
        best_partners(rows_of(edges), degrees, start, stop, found)

    for _ in map_pieces(piece, pieces_by_load(edges.indptr, LOAD)):
        pass
    return found
