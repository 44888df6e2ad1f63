"""Merging of nodes round by round, on a graph that stays as it is.

A contracted graph is made only when a quarter of the nodes is left. In between a group is a list of nodes,
and its best partner is found by going through their rows. That is seldom needed: where neither a group nor
its best partner has merged, the partner stays the best, for no two of its neighbors can be better together
than the better one of them alone.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.kernels import rows_of, unsigned
from graphsoft.kernels.contraction import affected, best_of_groups, best_partners, merge, mutual, siblings
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["Merging", "partners_along"]

# A round merges so many pairs for each two groups that are each other's best partners. It is a tenth of the
# pairs in a matching, which has about 1.5 times as many; over the benchmark sets 0.03 to 0.1 of a matching
# gave the same quality, 0.2 and more a lower one.
SHARE = 0.15
# Where so few of the groups are that (the leaves of a star all want its hub), siblings are paired: groups
# that want the same partner. Otherwise such a graph would shrink by one node a round.
FEW_PAIRS = 0.01


class Merging:
    """Groups of nodes in the making, each called by its lowest node.

    Parameters
    ----------
    adjacency : csr_array of shape (n, n)
    degrees : ndarray of shape (n,)

    Attributes
    ----------
    alive : ndarray of int
        The groups, rising.
    leaders : ndarray of shape (n,)
        The group of every node.

    Examples
    --------
    >>> weights = sp.csr_array([[0.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> merging = Merging(weights, np.array([2.0, 3.0, 1.0]))
    >>> merging.round(max_merges=1), merging.leaders.tolist()
    (1, [0, 0, 2])
    """

    def __init__(self, adjacency: sp.csr_array, degrees: Array) -> None:
        count, kind = adjacency.shape[0], adjacency.indices.dtype
        self._adjacency = adjacency
        self.alive = np.arange(count, dtype=kind)
        self.leaders = self.alive.copy()
        self._next = np.full(count, -1, dtype=kind)
        self._last = self.alive.copy()
        self._degrees = degrees.copy()
        self._entries = np.diff(adjacency.indptr).astype(np.int64)
        self._partners, self._scores = partners_along(adjacency, degrees)
        self._changed = np.zeros(count, dtype=np.bool_)

    def round(self, max_merges: int) -> int:
        """Merge the best pairs, at most `max_merges` of them; returns how many merged."""
        low, high = self._best_pairs(max_merges)
        if len(low):
            merge(low, high, self.leaders, self._next, self._last, self._degrees, self._entries)
            self._changed[low] = self._changed[high] = True
            alive, groups = np.empty_like(self.alive), np.empty_like(self.alive)
            kept, found = affected(self.alive, self.leaders, self._partners, self._changed, alive, groups)
            self.alive = alive[:kept]
            self._changed[low] = self._changed[high] = False
            self._look(groups[:found])
        return len(low)

    def numbered(self) -> tuple[Array, int]:
        """Give numbers to the groups: that of every node, and how many there are."""
        number = np.empty_like(self.leaders)
        number[self.alive] = np.arange(len(self.alive), dtype=number.dtype)
        return number[self.leaders], len(self.alive)

    def _best_pairs(self, max_merges: int) -> tuple[Array, Array]:
        """Choose pairs of groups, those of largest score: the lower of each two, and the higher."""
        low, scores = np.empty_like(self.alive), np.empty(len(self.alive))
        possible = mutual(self.alive, self._partners, self._scores, low, scores)
        wanting = np.count_nonzero(self._partners[self.alive] >= 0)
        if possible < FEW_PAIRS * wanting:
            order = self.alive[np.argsort(-self._scores[self.alive], kind="stable")]
            lower, higher = np.empty_like(low), np.empty_like(low)
            paired = siblings(order, self._partners, lower, higher)
            if paired > possible:
                wanted = min(max_merges, math.ceil(SHARE * paired))
                return lower[:wanted], higher[:wanted]
            if possible == 0:  # scores so alike that by rounding partners go round in circles
                best = order[:1], self._partners[order[:1]]
                return np.minimum(*best), np.maximum(*best)
        low = low[_largest(scores[:possible], min(max_merges, math.ceil(SHARE * possible)))]
        return low, self._partners[low]

    def _look(self, groups: Array) -> None:
        """Find the best partner of these groups anew."""
        given, entries = self._adjacency, self._entries[groups]
        loads = np.concatenate(([0], np.cumsum(entries)))

        def piece(start: int, stop: int) -> None:
            longest = int(entries[start:stop].max())
            with np.errstate(over="ignore"):  # NumPy minds that hashes wrap, where nothing is compiled
                best_of_groups(
                    *rows_of(given), unsigned(self.leaders), self._next, self._degrees, longest,
                    groups, start, stop, self._partners, self._scores,
                )  # fmt: skip

        for _ in map_pieces(piece, pieces_by_load(loads, LOAD)):
            pass


def _largest(scores: Array, wanted: int) -> Array:
    """Find the places of the largest scores; among equals the first, so that no chance decides.

    Examples
    --------
    >>> _largest(np.array([1.0, 3.0, 1.0, 2.0]), 3).tolist()
    [1, 3, 0]
    """
    if not 0 < wanted < len(scores):
        return np.arange(min(wanted, len(scores)))
    places = np.flatnonzero(scores >= np.partition(scores, -wanted)[-wanted])
    return places[np.argsort(-scores[places], kind="stable")[:wanted]]


def partners_along(edges: sp.csr_array, degrees: Array) -> tuple[Array, Array]:
    """Find for every node the neighbor of largest ``w / (d d)``, -1 for none; and how large that is.

    Examples
    --------
    >>> partners_along(sp.csr_array([[0.0, 2.0], [2.0, 0.0]]), np.array([2.0, 4.0]))
    (array([1, 0], dtype=int32), array([0.25, 0.25]))
    """
    partners, scores = np.empty(len(degrees), dtype=edges.indices.dtype), np.empty(len(degrees))

    def piece(start: int, stop: int) -> None:
        best_partners(*rows_of(edges), degrees, start, stop, partners, scores)

    for _ in map_pieces(piece, pieces_by_load(edges.indptr, LOAD)):
        pass
    return partners, scores
