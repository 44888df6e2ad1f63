"""Memberships of new points in a hierarchy on disk: neighbors are sought partition by partition.

A new point looks into the partitions of its nearest cells, as many as saw each old point in the run. What it
finds there is merged by distance, and from then on all is as :mod:`graphsoft.result.prediction` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError
from graphsoft.linalg.memberships import frozen_rows
from graphsoft.neighbors.nearest import PRODUCT_REACH, SearchGraph, nearest_among
from graphsoft.neighbors.points import Points, RowLookup
from graphsoft.neighbors.weights import ScaledLists, weights_of_others
from graphsoft.result.new_rows import checked_rows, normalized, refuse_other_columns, scaled, warn_of_empty
from graphsoft.result.reference_points import search_entries
from graphsoft.result.stored_files import StoredFiles

__all__ = ["predicted"]


@dataclass(frozen=True, eq=False)
class _Found:
    """The nearest nodes of q new points that were found so far, k for each, by rising distance.

    Nodes are known by partition and place; -1 where there is none. A point that equals an old one has it as
    `copy_part` and `copy_place`.
    """

    part: Array
    place: Array
    first: Array
    distance: Array
    scale: Array
    copy_part: Array
    copy_place: Array

    @classmethod
    def none(cls, count: int, wanted: int) -> _Found:
        shape = (count, wanted)
        part, place, first = (np.full(shape, -1, dtype=np.int64) for _ in range(3))
        copies = (np.full(count, -1, dtype=np.int64) for _ in range(2))
        return cls(part, place, first, np.full(shape, np.inf), np.full(shape, np.inf), *copies)

    def merge(self, rows: Array, **new: Array) -> None:
        """Keep the nearest of those that these rows have and of new ones; ties by the first row of a node."""
        both = {name: np.hstack([getattr(self, name)[rows], values]) for name, values in new.items()}
        order = np.lexsort((both["first"], both["distance"]), axis=1)[:, : self.part.shape[1]]
        for name, values in both.items():
            getattr(self, name)[rows] = np.take_along_axis(values, order, axis=1)


def predicted(
    files: StoredFiles, X: Any, levels: Sequence[int], progress: Progress | None
) -> list[sp.csr_array]:
    """Compute memberships of new points on some levels, each a csr_array of shape (q, m)."""
    rows = _checked(files, X)
    count = rows.shape[0]
    if count == 0:
        return [sp.csr_array((0, files.plan.levels[level])) for level in levels]
    visits = files.cells.partitions_of(rows, files.plan.lends)
    found, done = _Found.none(count, min(files.plan.n_neighbors, files.plan.rows)), 0
    for part in np.unique(visits[visits >= 0]).tolist():
        asking = np.flatnonzero((visits == part).any(axis=1))
        _look_into(files, part, rows, asking, found)
        done += int(np.count_nonzero(visits == part))
        if progress is not None:
            progress("neighbors", done, int(np.count_nonzero(visits >= 0)))
    step = _step(files, found)
    return [_memberships(files, step, level) for level in levels]


def _checked(files: StoredFiles, X: Any) -> Any:
    plan, report = files.plan, files.summary.report
    if plan.kind != "points":
        problem = "is of no use: the hierarchy on disk is of a graph, whose nodes have no features"
        remedy = "average the rows that h[level].memberships.rows gives of the neighbors of a new node"
        raise InputError("X", problem, remedy)
    if plan.weights == "jaccard":
        problem = "new points cannot be weighted by shared neighbors, since lists of neighbors are not kept"
        raise InputError("X", problem, "make the hierarchy with weights='local-scaling'")
    refuse_other_columns(X, files.summary.columns)
    return scaled(checked_rows(X, [plan.features], plan.sparse, "features"), report.scaling)


def _look_into(files: StoredFiles, part: int, rows: Any, asking: Array, found: _Found) -> None:
    """Look for the neighbors of some rows in one partition."""
    features = files.features(part)
    if features.shape[0] == 0:
        return
    points = Points.of(features, files.plan.metric)
    others = points.alongside(rows[asking])
    copies = RowLookup.of(points).find(others)
    same = copies >= 0
    found.copy_part[asking[same]], found.copy_place[asking[same]] = part, copies[same]
    asking, others = asking[~same], others.take(np.flatnonzero(~same))
    if not len(asking):
        return
    wanted = min(found.part.shape[1], len(points))
    near, distance = nearest_among(points, others, wanted, _paths(files, part, points))
    there = near >= 0
    scales, first = files.scales(part), files.first_rows(part)
    found.merge(
        asking,
        part=np.where(there, part, -1),
        place=near,
        first=np.where(there, first[near], -1),
        distance=distance,
        scale=np.where(there, scales[near], np.inf),
    )


def _paths(files: StoredFiles, part: int, points: Points) -> SearchGraph | None:
    """Read the graph inside a partition, if it has too many points to look at them all."""
    count, features = points.values.shape
    if not points.sparse and count * (features + 64) <= PRODUCT_REACH:
        return None
    inside = files.edges(part)[0][:, :count]
    return SearchGraph(inside.indptr, inside.indices, search_entries(files.memberships(part, 0)))


@dataclass(frozen=True, eq=False)
class _Step:
    """The step from q new points to old nodes: the points, partitions and places, and chances."""

    count: int
    row: Array
    part: Array
    place: Array
    chance: Array


def _step(files: StoredFiles, found: _Found) -> _Step:
    """Take the step to the neighbors, with the weights that edges to them would have."""
    part, place, weights = found.part.copy(), found.place.copy(), _weights(files, found)
    copies = found.copy_part >= 0
    part[copies, 0], place[copies, 0] = found.copy_part[copies], found.copy_place[copies]
    weights[copies] = 0.0
    weights[copies, 0] = 1.0
    rows, ranks = np.nonzero(weights > 0)
    ptr = np.searchsorted(rows, np.arange(len(weights) + 1))
    step = sp.csr_array((weights[rows, ranks], ranks, ptr), shape=weights.shape)
    warn_of_empty(step)
    return _Step(len(weights), rows, part[rows, ranks], place[rows, ranks], normalized(step).data)


def _memberships(files: StoredFiles, step: _Step, level: int) -> sp.csr_array:
    """Continue the walk from old nodes to their clusters, one partition after another."""
    entries = [(np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))]
    for part in np.unique(step.part).tolist():
        here = step.part == part
        nodes, which = np.unique(step.place[here], return_inverse=True)
        ends = (step.chance[here], (step.row[here], which))
        steps = sp.csr_array(ends, shape=(step.count, len(nodes)))
        shares = (steps @ files.memberships(part, level, nodes)).tocoo()
        entries.append((shares.data, *shares.coords))
    empty = np.flatnonzero(np.bincount(step.row, minlength=step.count) == 0)
    if len(empty):
        fallback = _fallback(files, level).tocoo()
        columns = np.tile(fallback.coords[1], len(empty))
        entries.append((np.tile(fallback.data, len(empty)), np.repeat(empty, fallback.nnz), columns))
    values, rows, columns = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    shape = (step.count, files.plan.levels[level])
    return frozen_rows(sp.coo_array((values, (rows, columns)), shape=shape).tocsr())


def _weights(files: StoredFiles, found: _Found) -> Array:
    """Compute the weights of the edges that new points would have, by the rule of the run."""
    there = found.part >= 0
    indices = np.where(there, np.arange(there.size).reshape(there.shape), -1)
    scales = found.scale.ravel()
    farthest = np.max(found.distance, axis=1, initial=0.0, where=there)
    if (farthest[there.any(axis=1)] == 0).any():
        scales = np.append(scales, min(files.scales(part).min(initial=np.inf) for part in files.plan.parts))
    typical = files.typical_scale() if files.plan.weights == "gaussian" else 1.0
    lists = ScaledLists(np.zeros((0, 0), dtype=np.int64), scales, typical)
    return weights_of_others(indices, found.distance, files.plan.weights, lists)


def _fallback(files: StoredFiles, level: int) -> sp.csr_array:
    """Choose the memberships of points without neighbors: those of the first node without edges, if any."""
    alone: list[tuple[int, int, int]] = []
    for part in files.plan.parts:
        places = np.flatnonzero(np.diff(files.edges(part)[0].indptr) == 0)
        if len(places):
            first = files.first_rows(part)[places]
            alone.append((int(first.min()), part, int(places[first.argmin()])))
    if alone:
        _, part, place = min(alone)
        return files.memberships(part, level, np.array([place]))
    heaviest = int(np.argmax(files.summary.levels[0].mass))
    found = sp.csr_array(([1.0], [heaviest], [0, 1]), shape=(1, files.plan.levels[0]))
    for below in files.summary.levels[:level]:
        found = (found @ below.parents).tocsr()
    return found
