"""Merging of nodes round by round, on a graph that stays as it is.

A contracted graph is made only when the nodes have halved. In between a group is a list of nodes, and its
best partner is found by going through their rows. That is seldom needed: where neither a group nor its best
partner has merged, the partner stays the best, for no two of its neighbours can be better together than the
better one of them alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.kernels import parts_of, unsigned
from graphsoft.kernels.contraction import best_of_groups, best_partners, match, match_siblings, merge
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = ["Merging", "partners_along"]

Array = np.ndarray[Any, np.dtype[Any]]

# A round merges so many pairs for each two groups that are each other's best partners. It is a tenth of the
# pairs in a matching, which has about 1.5 times as many; over the benchmark sets 0.03 to 0.1 of a matching
# gave the same quality, 0.2 and more a lower one.
SHARE = 0.15
# Where so few of the groups are that (the leaves of a star all want its hub), siblings are paired: groups
# that want the same partner. Otherwise such a graph would shrink by one node a round.
FEW_PAIRS = 0.01
# So many times the wanted pairs are looked at, the best first; more are if that is too few.
AHEAD = 4


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
    >>> merging.round(most=1), merging.leaders.tolist()
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

    def round(self, most: int) -> int:
        """Merge the best pairs, at most `most` of them; returns how many merged."""
        partners, pair = self._partners, match
        wants = partners[self.alive]
        mine, theirs = self.alive[wants >= 0], wants[wants >= 0]
        possible = int(np.count_nonzero(partners[theirs] == mine)) // 2
        if possible < FEW_PAIRS * len(mine):
            pair = match_siblings
            possible = int((np.bincount(theirs) // 2).sum())
        wanted = min(most, int(np.ceil(SHARE * possible)))
        if wanted == 0:
            return 0
        leaders = self._best_pairs(pair, wanted)
        led = leaders[self.alive]
        joining = self.alive[led != self.alive]
        merge(joining, leaders, self.leaders, self._next, self._last, self._degrees, self._entries)
        self._changed[:] = False
        self._changed[joining] = self._changed[leaders[joining]] = True
        self.alive = self.alive[led == self.alive]
        wants = partners[self.alive]
        self._look(self.alive[self._changed[self.alive] | ((wants >= 0) & self._changed[wants])])
        return len(joining)

    def numbered(self) -> tuple[Array, int]:
        """Give numbers to the groups: that of every node, and how many there are."""
        number = np.empty_like(self.leaders)
        number[self.alive] = np.arange(len(self.alive), dtype=number.dtype)
        return number[self.leaders], len(self.alive)

    def _best_pairs(self, pair: Any, wanted: int) -> Array:
        """Pair groups, those of largest score first: the leader of each."""
        scores, ahead = self._scores[self.alive], AHEAD * wanted
        while True:
            first = self.alive
            if ahead < len(first):
                # all as good as the last of them, so that no chance decides among equals
                first = first[scores >= np.partition(scores, -ahead)[-ahead]]
            order = first[np.argsort(-self._scores[first], kind="stable")]
            leaders = np.arange(len(self.leaders), dtype=self.leaders.dtype)
            if pair(self._partners, order, wanted, leaders) == wanted or len(first) == len(self.alive):
                return leaders
            ahead *= AHEAD

    def _look(self, groups: Array) -> None:
        """Find the best partner of these groups anew."""
        given, entries = self._adjacency, self._entries[groups]
        loads = np.concatenate(([0], np.cumsum(entries)))

        def piece(start: int, stop: int) -> None:
            longest = int(entries[start:stop].max())
            best_of_groups(
                *parts_of(given), unsigned(self.leaders), self._next, self._degrees, longest,
                groups, start, stop, self._partners, self._scores,
            )  # fmt: skip

        for _ in map_pieces(piece, pieces_by_load(loads, LOAD)):
            pass


def partners_along(edges: sp.csr_array, degrees: Array) -> tuple[Array, Array]:
    """Find for every node the neighbour of largest ``w / (d d)``, -1 for none; and how large that is.

    Examples
    --------
    >>> partners_along(sp.csr_array([[0.0, 2.0], [2.0, 0.0]]), np.array([2.0, 4.0]))
    (array([1, 0], dtype=int32), array([0.25, 0.25]))
    """
    partners, scores = np.empty(len(degrees), dtype=edges.indices.dtype), np.empty(len(degrees))

    def piece(start: int, stop: int) -> None:
        best_partners(*parts_of(edges), degrees, start, stop, partners, scores)

    for _ in map_pieces(piece, pieces_by_load(edges.indptr, LOAD)):
        pass
    return partners, scores
