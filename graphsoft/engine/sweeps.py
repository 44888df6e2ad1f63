"""Sweeps of expectation maximization over memberships, on threads.

A wide sweep looks at every cluster that a node or its neighbors hold. A narrow sweep keeps to the clusters
that the node holds itself, and only concerns nodes that hold several.

They look at what a block sees of a graph, which may be all of it, and return the rows of its own nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.engine.blocks import Block, Seen
from graphsoft.kernels import Rows, read_only, rows_of
from graphsoft.kernels.factorize import (
    DenseModel,
    EdgeModel,
    at_borders,
    dense_sweep,
    gains,
    largest_outside,
    reweight,
    sweep,
)
from graphsoft.kernels.groups import gains_of_parents, lift_to_groups, merge_clusters, restore_groups
from graphsoft.linalg.csr import inverse_or_zero, joined
from graphsoft.linalg.indexing import taken
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load, pieces_with_columns

__all__ = [
    "ENTRY_SHARE",
    "border_gains",
    "dense_step",
    "gain_matrix",
    "groups_restored",
    "in_several_clusters",
    "log_likelihood_and_gap",
    "merged_clusters",
    "narrow_sweep",
    "parent_gains",
    "reweighted",
    "reweighted_by_groups",
    "wide_sweep",
    "with_shares",
]

Result = TypeVar("Result")

# A cluster that a node did not hold enters with at most this share; later sweeps raise or drop it.
ENTRY_SHARE = 0.05
# At most this many clusters enter at once, those of largest gain. On a coarse scale with many clusters a node
# would gain by a hundred of them. Over the benchmark sets, larger values gave no better clusters.
MAX_ENTERING = 16
# Narrow sweeps multiply by about this power of the gains. Near an optimum any power below 2 converges. Over
# the benchmark sets, three such sweeps get as far as six plain ones, and 1.7 to 1.9 are equally good.
OVERRELAXATION = 1.8


# What sweeps look at


def model_of(seen: Seen) -> EdgeModel:
    """Put memberships beside the edges that they are to explain."""
    ptr = seen.memberships.indptr
    alone = np.flatnonzero(np.diff(ptr) == 1)
    single = np.full(len(ptr) - 1, -1, dtype=np.int32)
    single[alone] = taken(seen.memberships.indices, ptr[alone])
    edges, degrees = rows_of(seen.block.edges), read_only(seen.block.degrees)
    return EdgeModel(
        edges, degrees, rows_of(seen.memberships), single, inverse_or_zero(seen.mass), seen.floor
    )


def in_several_clusters(memberships: sp.csr_array) -> Array:
    """Find the nodes that hold more than one cluster."""
    return np.flatnonzero(np.diff(memberships.indptr) > 1)


def with_shares(memberships: sp.csr_array, shares: Array) -> sp.csr_array:
    """Make a matrix with the same clusters in each row, but with these shares."""
    return sp.csr_array((shares, memberships.indices, memberships.indptr), shape=memberships.shape)


# Sweeps over all nodes of a block


def log_likelihood_and_gap(seen: Seen) -> tuple[float, float]:
    """Compute the log-likelihood, and the largest gain of a cluster that a node does not hold, minus one.

    As all log-likelihoods here, it is without the part that depends on the degrees alone.
    """

    def largest(start: int, stop: int, found: Rows) -> float:
        return float(largest_outside(rows_of(seen.memberships, start, stop).ptr, found))

    largest_gains, log_likelihood = _gains_everywhere(seen, largest)
    # weights may be so far apart that a gain is beyond float64
    return log_likelihood, min(max(largest_gains, default=1.0) - 1.0, float(np.finfo(np.float64).max))


def wide_sweep(seen: Seen, min_share: float) -> tuple[sp.csr_array, float]:
    """Take a wide sweep; also returns the log-likelihood before it. No share stays below `min_share`."""

    def step(start: int, stop: int, found: Rows) -> Rows:
        return _reweighted_rows(rows_of(seen.memberships, start, stop), found, min_share, ENTRY_SHARE)

    parts, log_likelihood = _gains_everywhere(seen, step)
    return joined(parts, seen.memberships.shape[1]), log_likelihood


def narrow_sweep(seen: Seen, min_share: float) -> sp.csr_array:
    """Take a narrow sweep. Shares up to `min_share` are dropped; a node that holds one cluster keeps it."""
    own, model = seen.own, model_of(seen)
    nodes, shares = in_several_clusters(own), own.data.copy()

    def piece(start: int, stop: int) -> None:
        sweep(model, nodes, OVERRELAXATION, min_share, start, stop, shares)

    for _ in map_pieces(piece, _pieces(model, nodes)):
        pass
    swept = with_shares(own, shares)
    if not shares.all():
        swept = swept.copy()  # indices are shared with the memberships before
        swept.eliminate_zeros()
    return swept


def dense_step(block: Block, shares: Array, inverse_mass: Array, floor: float, stepped: Array) -> float:
    """Take a step from dense memberships (n, m), written to `stepped`.

    Returns the log-likelihood before it, but for the part that depends on the degrees alone.
    """
    edges, inverse_degrees = rows_of(block.edges), inverse_or_zero(block.degrees)
    model = DenseModel(edges, inverse_degrees, read_only(shares), inverse_mass, floor)
    likelihood = np.empty(len(block))

    def piece(start: int, stop: int) -> None:
        dense_sweep(model, start, stop, stepped, likelihood[start:stop])

    for _ in map_pieces(piece, pieces_with_columns(block.edges.indptr, shares.shape[1])):
        pass
    return float(likelihood.sum())


# Gains


def gain_matrix(seen: Seen) -> sp.csr_array:
    """Compute the gains of all clusters that the nodes or their neighbors hold."""
    parts, _ = _gains_everywhere(seen, lambda start, stop, found: found)
    return joined(parts, seen.memberships.shape[1])


def border_gains(seen: Seen, min_share: float) -> tuple[Array, sp.csr_array, float]:
    """Find the nodes that hold several clusters or would gain by another.

    Returns these nodes, their gains, and the log-likelihood. Only those gains are kept that belong to
    clusters held, which come first, or to clusters that would enter with `min_share` or more.
    """
    bar = 1.0 + min_share / ENTRY_SHARE

    def several(start: int, stop: int, found: Rows) -> tuple[Array, Rows]:
        rows, ptr = np.empty(stop - start, dtype=np.int64), np.zeros(stop - start + 1, dtype=np.int64)
        kept = at_borders(rows_of(seen.memberships, start, stop).ptr, found, bar, rows, ptr)
        return start + rows[:kept], _cut(found._replace(ptr=ptr[: kept + 1]), ptr[kept])

    parts, log_likelihood = _gains_everywhere(seen, several)
    nodes = np.concatenate([np.empty(0, dtype=np.int64), *(part[0] for part in parts)])
    return nodes, joined([part[1] for part in parts], seen.memberships.shape[1]), log_likelihood


def parent_gains(candidates: sp.csr_array, upper: sp.csr_array, parents: sp.csr_array) -> sp.csr_array:
    """Give each cluster stored in `candidates` the mean gain of its parents, which `upper` has."""
    gain = np.empty(candidates.nnz)

    def piece(start: int, stop: int) -> None:
        some, above = rows_of(candidates, start, stop), rows_of(upper, start, stop)
        gains_of_parents(some, above, rows_of(parents), parents.shape[1], gain)

    for _ in map_pieces(piece, pieces_by_load(candidates.indptr, LOAD)):
        pass
    return with_shares(candidates, gain)


def _gains_everywhere(seen: Seen, each: Callable[[int, int, Rows], Result]) -> tuple[list[Result], float]:
    """Find the gains of all nodes of the block, as `_gains` does, and the log-likelihood."""
    return _gains(model_of(seen), np.arange(len(seen.block)), each)


def _gains(
    model: EdgeModel, nodes: Array, each: Callable[[int, int, Rows], Result]
) -> tuple[list[Result], float]:
    """Find gains piece by piece: a list of what `each` makes of those of ``nodes[start:stop]``.

    In a row of gains the clusters that the node holds come first. Also returns the log-likelihood of the
    edges, but for the part that depends on the degrees alone.
    """
    likelihood = np.empty(len(nodes))

    def piece(start: int, stop: int) -> Result:
        return each(start, stop, Rows(*gains(model, nodes, start, stop, likelihood[start:stop])))

    return list(map_pieces(piece, _pieces(model, nodes))), float(likelihood.sum())


def _pieces(model: EdgeModel, nodes: Array) -> list[tuple[int, int]]:
    """Cut a list of nodes into pieces with about as many edges."""
    loads = np.zeros(len(nodes) + 1, dtype=np.int64)
    np.cumsum(np.diff(model.edges.ptr)[nodes], out=loads[1:])
    return pieces_by_load(loads, LOAD)


# New shares


def reweighted(
    memberships: sp.csr_array, gain: sp.csr_array, min_share: float, entry_share: float = ENTRY_SHARE
) -> sp.csr_array:
    """Multiply shares by gains; clusters enter with at most `entry_share`, none stays below `min_share`.

    In each row of `gain` the clusters of the same row of `memberships` come first.
    """

    def piece(start: int, stop: int) -> Rows:
        # of the types that `gains` returns, so that `reweight` is compiled once
        found = Rows(gain.indptr[start : stop + 1].astype(np.int64), gain.indices, gain.data)
        return _reweighted_rows(rows_of(memberships, start, stop), found, min_share, entry_share)

    return joined(list(map_pieces(piece, pieces_by_load(gain.indptr, LOAD))), memberships.shape[1])


def reweighted_by_groups(
    seen: Seen, nodes: Array, upper: sp.csr_array, group: Array, min_share: float
) -> sp.csr_array:
    """Multiply the shares of some nodes by the gains of groups, which `upper` has for these nodes.

    Of each group that a node does not hold and would gain by, one cluster enters: the one of largest gain
    among those that its neighbors hold.
    """
    held = seen.memberships[nodes]

    def step(start: int, stop: int, found: Rows) -> Rows:
        some = rows_of(held, start, stop)
        out = _empty(stop - start, found.entries)
        filled = lift_to_groups(some.ptr, found, rows_of(upper, start, stop), group, upper.shape[1], out)
        return _reweighted_rows(some, _cut(out, filled), min_share, ENTRY_SHARE)

    parts, _ = _gains(model_of(seen), nodes, step)
    return joined(parts, seen.memberships.shape[1])


def _reweighted_rows(held: Rows, found: Rows, min_share: float, entry_share: float) -> Rows:
    out = _empty(len(held.ptr) - 1, found.entries)
    return _cut(out, reweight(held, found, entry_share, MAX_ENTERING, min_share, out))


def _empty(rows: int, room: int) -> Rows:
    """Make rows for a kernel to fill, with at most so many entries."""
    return Rows(np.zeros(rows + 1, dtype=np.int64), np.empty(room, dtype=np.int32), np.empty(room))


def _cut(out: Rows, filled: int) -> Rows:
    """Keep only the entries that a kernel has filled, and only their memory."""
    return Rows(out.ptr, out.columns[:filled].copy(), out.values[:filled].copy())


# Groups of clusters


def merged_clusters(memberships: sp.csr_array, groups: sp.csr_array) -> sp.csr_array:
    """Compute ``memberships @ groups`` for groups with one entry of 1 in each row.

    Examples
    --------
    >>> halves = sp.csr_array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    >>> merged_clusters(halves, sp.csr_array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])).toarray()
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    group, count = read_only(groups.indices), groups.shape[1]

    def piece(start: int, stop: int) -> Rows:
        some = rows_of(memberships, start, stop)
        out = _empty(stop - start, some.entries)
        return _cut(out, merge_clusters(some, group, count, out))

    return joined(list(map_pieces(piece, pieces_by_load(memberships.indptr, LOAD))), count)


def groups_restored(memberships: sp.csr_array, before: sp.csr_array, groups: sp.csr_array) -> sp.csr_array:
    """Scale shares so that each group has what it had before, for groups with one entry of 1 in each row.

    What a group that was not held has gained is dropped. A group that lost all the clusters it had gets them
    back.

    Examples
    --------
    >>> halves = sp.csr_array([[0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    >>> stepped = sp.csr_array([[0.3, 0.6, 0.1], [0.5, 0.25, 0.25]])
    >>> groups_restored(stepped, halves, sp.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).toarray()
    array([[0.25, 0.5 , 0.25],
           [0.  , 0.  , 1.  ]])
    """
    group, count = read_only(groups.indices), groups.shape[1]

    def piece(start: int, stop: int) -> Rows:
        some, old = rows_of(memberships, start, stop), rows_of(before, start, stop)
        out = _empty(stop - start, some.entries + old.entries)
        return _cut(out, restore_groups(some, old, group, count, out))

    return joined(list(map_pieces(piece, pieces_by_load(memberships.indptr, LOAD))), memberships.shape[1])
