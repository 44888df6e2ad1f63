"""Sweeps of expectation maximization over sparse memberships, on threads.

A wide sweep looks at every cluster that the neighbors of a node hold; narrow ones keep to the clusters that
it holds itself, and only concern nodes that hold several.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.graph.graph import Graph
from graphsoft.kernels import Rows, rows_of
from graphsoft.kernels.factorize import at_borders, gains, largest_outside, reweight, sweep
from graphsoft.kernels.groups import hold_groups, lift_gains, lift_to_groups, merge_clusters
from graphsoft.linalg.csr import inverse_or_zero, joined
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = [
    "ENTRY_SHARE",
    "Fit",
    "Model",
    "assess",
    "floor_of",
    "gains_at_borders",
    "gains_of",
    "held_in_groups",
    "lifted",
    "merged_clusters",
    "regrouped",
    "reweighted",
    "swept",
    "torn",
    "widened",
    "with_shares",
]

Result = TypeVar("Result")

# A cluster enters a node's support with at most this share; sweeps raise or drop it.
ENTRY_SHARE = 0.05
# At most so many clusters enter at once, those of largest gain: on a coarse scale of many clusters a node
# would gain by a hundred. Over the benchmark sets more are worth no more.
MAX_ENTERING = 16
# Narrow sweeps multiply by about this power of the gains; near an optimum any below 2 converges. Over the
# benchmark sets three such sweeps get as far as six by the gains as they are, and 1.7 to 1.9 do alike.
OVER = 1.8
# Between sweeps, shares that fell to 0 are taken out if no more than this part of them is left.
WORTH_KEEPING = 0.75
# An edge whose ends share no cluster counts as if the model gave it this part of what chance would give.
UNEXPLAINED = 1e-3


@dataclass(frozen=True)
class Fit:
    """How well memberships explain a graph.

    Attributes
    ----------
    log_likelihood : float
        ``sum_ij w_ij log (B L^-1 B^T)_ij``.
    gap : float
        The largest gain above one of a cluster that a node does not hold: 0 at an optimum.
    """

    log_likelihood: float
    gap: float


@dataclass(frozen=True, eq=False)
class Model:
    """What sweeps look at: the edges of the first nodes, and the memberships of all.

    Attributes
    ----------
    adjacency : csr_array of shape (rows, n)
    degrees : ndarray of shape (rows,)
    memberships : csr_array of shape (n, m)
    inverse_mass : ndarray of shape (m,)
        One over the mass of each cluster, 0 for a dead one.
    floor : float
        What stands for the model at an edge whose ends share no cluster.
    """

    adjacency: sp.csr_array
    degrees: Array
    memberships: sp.csr_array
    inverse_mass: Array
    floor: float

    @classmethod
    def of(cls, graph: Graph, memberships: sp.csr_array) -> Model:
        """Look at a whole graph."""
        inverse_mass = inverse_or_zero(np.asarray(memberships.T @ graph.degrees))
        return cls(graph.adjacency, graph.degrees, memberships, inverse_mass, floor_of(graph))

    @cached_property
    def single(self) -> Array:
        """The cluster of every node that holds just one, -1 for the others."""
        ptr = self.memberships.indptr
        alone = np.flatnonzero(np.diff(ptr) == 1)
        single = np.full(len(ptr) - 1, -1, dtype=np.int32)
        single[alone] = self.memberships.indices[ptr[alone]]
        return single

    def gains(self, rows: Array, each: Callable[[int, int, Rows], Result]) -> tuple[list[Result], float]:
        """Find gains piece by piece: what `each` makes of those of ``rows[start:stop]``, and the likelihood.

        Of gains, clusters that a node holds come first in its row, then those it could take in.
        """
        edges, held, likelihood = self.adjacency, self.memberships, np.empty(len(rows))
        single = self.single

        def piece(start: int, stop: int) -> Result:
            ptr = np.zeros(stop - start + 1, dtype=np.int64)
            clusters, gain = gains(
                *rows_of(edges), self.degrees, rows, *rows_of(held), single, self.inverse_mass, self.floor,
                start, stop, ptr, likelihood[start:stop],
            )  # fmt: skip
            return each(start, stop, Rows(ptr, clusters, gain))

        return list(map_pieces(piece, _pieces(edges, rows))), float(likelihood.sum())

    def swept(self, rows: Array, min_share: float) -> Array:
        """Multiply the shares of these rows by their gains; what falls below `min_share` becomes 0."""
        edges, held, single = self.adjacency, self.memberships, self.single
        shares: Array = held.data.copy()

        def piece(start: int, stop: int) -> None:
            sweep(
                *rows_of(edges), self.degrees, rows, *rows_of(held), single, self.inverse_mass, self.floor,
                OVER, min_share, start, stop, shares,
            )  # fmt: skip

        for _ in map_pieces(piece, _pieces(edges, rows)):
            pass
        return shares


def floor_of(graph: Graph) -> float:
    """Compute what stands for the model at an edge whose ends share no cluster."""
    total = float(graph.degrees.sum())
    return UNEXPLAINED / total if total > 0 else 1.0


def assess(graph: Graph, memberships: sp.csr_array) -> Fit:
    """Compute log-likelihood and optimality gap of any memberships."""

    def largest(start: int, stop: int, found: Rows) -> float:
        ptr, _, gain = found
        return float(largest_outside(memberships.indptr[start : stop + 1], ptr, gain))

    gaps, log_likelihood = _everywhere(graph, memberships, largest)
    # weights may be so far apart that a gain is beyond float64
    return Fit(log_likelihood, min(max(gaps) - 1.0, float(np.finfo(np.float64).max)))


def widened(graph: Graph, memberships: sp.csr_array, min_share: float) -> tuple[sp.csr_array, float]:
    """Take a step on the clusters that nodes or their neighbors hold; also the log-likelihood before it."""

    def step(start: int, stop: int, found: Rows) -> Rows:
        return _reweighted_rows(memberships, found, ENTRY_SHARE, min_share, start, stop)

    parts, log_likelihood = _everywhere(graph, memberships, step)
    return joined(parts, memberships.shape[1]), log_likelihood


def swept(
    graph: Graph, memberships: sp.csr_array, sweeps: int, min_share: float, tick: Callable[[], None]
) -> Array:
    """Take steps on the clusters that nodes hold: the new shares, 0 where one fell below `min_share`.

    A node that holds one cluster has nothing to weigh. `tick` is called after each sweep.
    """
    result, kept = np.zeros(memberships.nnz), np.arange(memberships.nnz, dtype=memberships.indices.dtype)
    for _ in range(sweeps):
        shares = Model.of(graph, memberships).swept(torn(memberships), min_share)
        memberships = with_shares(memberships, shares)
        if np.count_nonzero(shares) < WORTH_KEEPING * len(shares):
            kept, memberships = kept[shares > 0.0], memberships.copy()
            memberships.eliminate_zeros()
        tick()
    result[kept] = memberships.data
    return result


def merged_clusters(memberships: sp.csr_array, groups: sp.csr_array) -> sp.csr_array:
    """Compute ``memberships @ groups`` for groups with one entry of 1 a row.

    Examples
    --------
    >>> halves = sp.csr_array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    >>> merged_clusters(halves, sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])).toarray()
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    group, count = groups.indices, groups.shape[1]

    def piece(start: int, stop: int) -> Rows:
        room = int(memberships.indptr[stop] - memberships.indptr[start])
        ptr = np.zeros(stop - start + 1, dtype=np.int64)
        clusters, shares = np.empty(room, dtype=np.int32), np.empty(room)
        filled = merge_clusters(*rows_of(memberships), group, count, start, stop, ptr, clusters, shares)
        return Rows(ptr, clusters[:filled].copy(), shares[:filled].copy())

    return joined(list(map_pieces(piece, pieces_by_load(memberships.indptr, LOAD))), count)


def held_in_groups(memberships: sp.csr_array, before: sp.csr_array, groups: sp.csr_array) -> sp.csr_array:
    """Scale shares so that each group has what it had before, for groups with one entry of 1 a row.

    What a group that was not held has gained is dropped; one that lost all the clusters it had keeps them.

    Examples
    --------
    >>> halves = sp.csr_array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    >>> stepped = sp.csr_array([[0.3, 0.6, 0.1], [0.5, 0.25, 0.25]])
    >>> held_in_groups(stepped, halves, sp.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).toarray()
    array([[0.25, 0.5 , 0.25],
           [0.  , 0.  , 1.  ]])
    """
    group, count = groups.indices, groups.shape[1]

    def piece(start: int, stop: int) -> Rows:
        room = sum(int(each.indptr[stop] - each.indptr[start]) for each in (memberships, before))
        ptr = np.zeros(stop - start + 1, dtype=np.int64)
        clusters, shares = np.empty(room, dtype=np.int32), np.empty(room)
        filled = hold_groups(
            *rows_of(memberships), *rows_of(before), group, count, start, stop, ptr, clusters, shares
        )
        return Rows(ptr, clusters[:filled].copy(), shares[:filled].copy())

    return joined(list(map_pieces(piece, pieces_by_load(memberships.indptr, LOAD))), memberships.shape[1])


def with_shares(memberships: sp.csr_array, shares: Array) -> sp.csr_array:
    """Put other shares in the places of those that are stored."""
    return sp.csr_array((shares, memberships.indices, memberships.indptr), shape=memberships.shape)


def gains_of(model: Model, rows: Array) -> sp.csr_array:
    """Compute the gains of some nodes as a matrix."""
    parts, _ = model.gains(rows, lambda start, stop, found: found)
    return joined(parts, model.memberships.shape[1])


def gains_at_borders(
    graph: Graph, memberships: sp.csr_array, min_share: float
) -> tuple[Array, sp.csr_array, float]:
    """Find the nodes that hold several clusters or would gain by another: those, and the log-likelihood.

    Their gains are those of the clusters held, first, and of those that would enter with `min_share` or more.
    """
    bar = 1.0 + min_share / ENTRY_SHARE

    def several(start: int, stop: int, found: Rows) -> tuple[Array, Rows]:
        ptr, clusters, gain = found
        rows, kept_ptr = np.empty(stop - start, dtype=np.int64), np.zeros(stop - start + 1, dtype=np.int64)
        kept = at_borders(memberships.indptr[start : stop + 1], ptr, clusters, gain, bar, rows, kept_ptr)
        kept_ptr, filled = kept_ptr[: kept + 1], kept_ptr[kept]
        return start + rows[:kept], Rows(kept_ptr, clusters[:filled].copy(), gain[:filled].copy())

    parts, log_likelihood = _everywhere(graph, memberships, several)
    rows = np.concatenate([part[0] for part in parts])
    return rows, joined([part[1] for part in parts], memberships.shape[1]), log_likelihood


def _everywhere(
    graph: Graph, memberships: sp.csr_array, each: Callable[[int, int, Rows], Result]
) -> tuple[list[Result], float]:
    """Find the gains of all nodes, see `Model.gains`, and the log-likelihood."""
    parts, likelihood = Model.of(graph, memberships).gains(np.arange(len(graph)), each)
    return parts, likelihood + 2.0 * graph.degree_logs


def torn(memberships: sp.csr_array) -> Array:
    """Find the nodes that hold more than one cluster."""
    return np.flatnonzero(np.diff(memberships.indptr) > 1)


def lifted(candidates: sp.csr_array, upper: sp.csr_array, parents: sp.csr_array) -> sp.csr_array:
    """Give candidate clusters the mean gain of their parents."""
    gain = np.empty(candidates.nnz)

    def piece(start: int, stop: int) -> None:
        lift_gains(
            candidates.indptr, candidates.indices, *rows_of(upper),
            *rows_of(parents), parents.shape[1], start, stop, gain,
        )  # fmt: skip

    for _ in map_pieces(piece, pieces_by_load(candidates.indptr, LOAD)):
        pass
    return with_shares(candidates, gain)


def regrouped(
    graph: Graph, memberships: sp.csr_array, rows: Array, upper: sp.csr_array, group: Array, min_share: float
) -> sp.csr_array:
    """Take a step with the gains of groups, which `upper` has for the nodes in `rows`: their new rows.

    Of each group that a node does not hold and would gain by, the neighbors' cluster of largest gain enters.
    """
    held = memberships[rows]

    def step(start: int, stop: int, found: Rows) -> Rows:
        ptr = np.zeros(stop - start + 1, dtype=np.int64)
        clusters, gain = np.empty_like(found[1]), np.empty_like(found[2])
        filled = lift_to_groups(
            held.indptr[start : stop + 1], *found, group, upper.indptr[start : stop + 1], upper.indices,
            upper.data, upper.shape[1], ptr, clusters, gain,
        )  # fmt: skip
        return _reweighted_rows(
            held, Rows(ptr, clusters[:filled], gain[:filled]), ENTRY_SHARE, min_share, start, stop
        )

    parts, _ = Model.of(graph, memberships).gains(rows, step)
    return joined(parts, memberships.shape[1])


def reweighted(
    memberships: sp.csr_array, gain: sp.csr_array, min_share: float, entry_share: float = ENTRY_SHARE
) -> sp.csr_array:
    """Multiply shares by gains; clusters enter with at most `entry_share`, none stays below `min_share`."""

    def piece(start: int, stop: int) -> Rows:
        found = Rows(gain.indptr[start : stop + 1].astype(np.int64), gain.indices, gain.data)
        return _reweighted_rows(memberships, found, entry_share, min_share, start, stop)

    return joined(list(map_pieces(piece, pieces_by_load(gain.indptr, LOAD))), memberships.shape[1])


def _reweighted_rows(
    memberships: sp.csr_array, found: Rows, entry_share: float, min_share: float, start: int, stop: int
) -> Rows:
    gain_ptr, gain_clusters, gain = found
    room, held = int(gain_ptr[-1] - gain_ptr[0]), memberships.indptr[start : stop + 1]
    ptr = np.zeros(stop - start + 1, dtype=np.int64)
    clusters, shares = np.empty(room, dtype=np.int32), np.empty(room)
    filled = reweight(
        held, memberships.data, gain_ptr, gain_clusters, gain, entry_share, MAX_ENTERING, min_share,
        ptr, clusters, shares,
    )  # fmt: skip
    return Rows(ptr, clusters[:filled].copy(), shares[:filled].copy())


def _pieces(edges: sp.csr_array, rows: Array) -> list[tuple[int, int]]:
    """Cut a list of rows into pieces with about as many edges."""
    loads = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(np.diff(edges.indptr)[rows], out=loads[1:])
    return pieces_by_load(loads, LOAD)
