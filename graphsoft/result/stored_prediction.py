"""Memberships of new points in a hierarchy on disk: neighbors are sought partition by partition.

A new point looks into the partitions of its nearest cells, as many as saw each old point in the run. What it
finds there is merged by distance, and from then on all is as :mod:`graphsoft.result.prediction` says. Each
step is a function of some rows and perhaps one partition, which does not depend on other rows. Here they are
called for rows in memory, in :mod:`graphsoft.result.stored_placing` by the tasks of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.errors import InputError
from graphsoft.input.dense_input import frame_columns
from graphsoft.linalg.memberships import frozen_rows
from graphsoft.neighbors.nearest import PRODUCT_REACH, SearchGraph, nearest_among
from graphsoft.neighbors.points import Points, RowLookup
from graphsoft.neighbors.weights import ScaledLists, weights_of_others
from graphsoft.result.new_rows import checked_rows, normalized, refuse_columns, scaled, warn_of_empty
from graphsoft.result.reference_points import search_entries
from graphsoft.result.stored_files import StoredFiles

__all__ = [
    "Found", "OldPoints", "Shares", "Step", "fitting", "followed", "joined", "predicted",
    "refuse_unpredictable", "visited",
]  # fmt: skip

Shares = tuple[Array, Array, Array]
"""Parts of memberships: rows, clusters, and shares."""

NO_SHARES: Shares = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)


def predicted(files: StoredFiles, X: Any, progress: Progress | None) -> sp.csr_array:
    """Compute the memberships of new points on the finest level, a csr_array of shape (q, m)."""
    refuse_unpredictable(files)
    refuse_columns(frame_columns(X), files.summary.columns, "pass frame[list(h.summary.columns)]")
    rows = fitting(files, X)
    count = rows.shape[0]
    if count == 0:
        return sp.csr_array((0, files.plan.levels[0]))
    found, done = Found.none(count, min(files.plan.n_neighbors, files.plan.rows)), 0
    visits = visited(files, rows)
    for part in np.unique(visits[visits >= 0]).tolist():
        asking = np.flatnonzero((visits == part).any(axis=1))
        found.merge(asking, part, OldPoints.of(files, part).near(rows[asking]))
        done += len(asking)
        if progress is not None:
            progress("neighbors", done, int(np.count_nonzero(visits >= 0)))
    step = Step.to(files, found)
    warn_of_empty(count - len(np.unique(step.row)))
    return joined(files, count, (followed(files, part, each) for part, each in step.by_partition()))


def refuse_unpredictable(files: StoredFiles) -> None:
    """Refuse new points where the hierarchy does not know how to join them."""
    if files.plan.kind != "points":
        problem = "is of no use: the hierarchy on disk is of a graph, whose nodes have no features"
        remedy = "average the rows of h[level].memberships that belong to the neighbors of a new node"
        raise InputError("X", problem, remedy)
    if files.plan.weights == "jaccard":
        problem = "new points cannot be weighted by shared neighbors, since lists of neighbors are not kept"
        raise InputError("X", problem, "make the hierarchy with weights='local-scaling'")


def fitting(files: StoredFiles, X: Any) -> Any:
    """Check rows of new points, and make them as the old ones are."""
    rows = checked_rows(X, [files.plan.features], files.plan.sparse, "features")
    return scaled(rows, files.summary.report.scaling)


def visited(files: StoredFiles, rows: Any) -> Array:
    """List the partitions that each row looks into, -1 where there are fewer."""
    return files.cells.partitions_of(rows, files.plan.lends)


@dataclass(frozen=True, eq=False)
class OldPoints:
    """The points of one partition, among which new ones look for neighbors.

    Attributes
    ----------
    points : Points of shape (n, d)
    known : RowLookup
        Finds new rows that equal old ones.
    paths : SearchGraph or None
        The graph inside the partition, if it has too many points to look at them all.
    scales, first : ndarray of shape (n,)
        The local scale of each point, and its first row.
    wanted : int
        So many neighbors are sought.
    """

    points: Points
    known: RowLookup
    paths: SearchGraph | None
    scales: Array
    first: Array
    wanted: int

    @classmethod
    def of(cls, files: StoredFiles, part: int) -> OldPoints:
        """Read them."""
        points = Points.of(files.features(part), files.plan.metric)
        paths, wanted = _paths(files, part, points), min(files.plan.n_neighbors, files.plan.rows)
        return cls(points, RowLookup.of(points), paths, files.scales(part), files.first_rows(part), wanted)

    def near(self, rows: Any) -> dict[str, Array]:
        """Find the neighbors of some rows.

        Returns
        -------
        dict of ndarray
            ``place, first, distance, scale`` of shape (q, k), by rising distance, where -1 and infinity stand
            for no neighbor; and ``copy``, the place of the old point that equals a row, or -1. Such rows have
            no neighbors.
        """
        count, there = rows.shape[0], min(self.wanted, len(self.points))
        place, first = (np.full((count, self.wanted), -1, dtype=np.int64) for _ in range(2))
        distance, scale = (np.full((count, self.wanted), np.inf) for _ in range(2))
        copy = np.full(count, -1, dtype=np.int64)
        if there:
            others = self.points.alongside(rows)
            copy = self.known.find(others)
            asking = np.flatnonzero(copy < 0)
            part = others.take(asking)
            place[asking, :there], distance[asking, :there] = nearest_among(
                self.points, part, there, self.paths
            )
            some = place >= 0
            first[some], scale[some] = self.first[place[some]], self.scales[place[some]]
        return {"place": place, "first": first, "distance": distance, "scale": scale, "copy": copy}


def _paths(files: StoredFiles, part: int, points: Points) -> SearchGraph | None:
    count, features = points.values.shape
    if not points.sparse and count * (features + 64) <= PRODUCT_REACH:
        return None
    inside = files.edges(part)[0][:, :count]
    return SearchGraph(inside.indptr, inside.indices, search_entries(files.memberships(part, 0)))


@dataclass(frozen=True, eq=False)
class Found:
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
    def none(cls, count: int, wanted: int) -> Found:
        """Begin with nothing."""
        shape = (count, wanted)
        part, place, first = (np.full(shape, -1, dtype=np.int64) for _ in range(3))
        copies = (np.full(count, -1, dtype=np.int64) for _ in range(2))
        return cls(part, place, first, np.full(shape, np.inf), np.full(shape, np.inf), *copies)

    def merge(self, rows: Array, part: int, near: Mapping[str, Array]) -> None:
        """Keep the nearest of those that these rows have and of new ones; ties by the first row of a node."""
        same = near["copy"] >= 0
        self.copy_part[rows[same]], self.copy_place[rows[same]] = part, near["copy"][same]
        new = {name: near[name] for name in ("place", "first", "distance", "scale")}
        new["part"] = np.where(near["place"] >= 0, part, -1)
        both = {name: np.hstack([getattr(self, name)[rows], values]) for name, values in new.items()}
        order = np.lexsort((both["first"], both["distance"]), axis=1)[:, : self.part.shape[1]]
        for name, values in both.items():
            getattr(self, name)[rows] = np.take_along_axis(values, order, axis=1)


@dataclass(frozen=True, eq=False)
class Step:
    """Steps from new points to old nodes: the rows, partitions and places, and chances, by partition."""

    row: Array
    part: Array
    place: Array
    chance: Array

    @classmethod
    def to(cls, files: StoredFiles, found: Found) -> Step:
        """Take the step to the neighbors, with the weights that edges to them would have."""
        part, place, weights = found.part.copy(), found.place.copy(), _weights(files, found)
        copies = found.copy_part >= 0
        part[copies, 0], place[copies, 0] = found.copy_part[copies], found.copy_place[copies]
        weights[copies] = 0.0
        weights[copies, 0] = 1.0
        rows, ranks = np.nonzero(weights > 0)
        ptr = np.searchsorted(rows, np.arange(len(weights) + 1))
        step = sp.csr_array((weights[rows, ranks], ranks, ptr), shape=weights.shape)
        part, place = part[rows, ranks], place[rows, ranks]
        order = np.argsort(part, kind="stable")
        return cls(rows[order], part[order], place[order], normalized(step).data[order])

    def by_partition(self) -> Iterable[tuple[int, Step]]:
        """Cut them by partition."""
        ptr = np.searchsorted(self.part, np.arange(self.part.max(initial=-1) + 2))
        for part in np.unique(self.part).tolist():
            some = slice(ptr[part], ptr[part + 1])
            yield part, Step(self.row[some], self.part[some], self.place[some], self.chance[some])


def _weights(files: StoredFiles, found: Found) -> Array:
    """Compute the weights of the edges that new points would have, by the rule of the run."""
    there = found.part >= 0
    indices = np.where(there, np.arange(there.size).reshape(there.shape), -1)
    scales = found.scale.ravel()
    farthest = np.max(found.distance, axis=1, initial=0.0, where=there)
    least = files.summary.least_scale
    if least is not None and (farthest[there.any(axis=1)] == 0).any():
        scales = np.append(scales, least)
    typical = files.typical_scale() if files.plan.weights == "gaussian" else 1.0
    lists = ScaledLists(np.zeros((0, 0), dtype=np.int64), scales, typical)
    return weights_of_others(indices, found.distance, files.plan.weights, lists)


def followed(files: StoredFiles, part: int, step: Step) -> Shares:
    """Continue steps into one partition to the finest clusters; rows rise."""
    if not len(step.row):
        return NO_SHARES
    rows, line = np.unique(step.row, return_inverse=True)
    nodes, which = np.unique(step.place, return_inverse=True)
    steps = sp.csr_array((step.chance, (line, which)), shape=(len(rows), len(nodes)))
    shares = (steps @ files.memberships(part, 0, nodes)).tocoo()
    return rows[shares.coords[0]], shares.coords[1], shares.data


def joined(files: StoredFiles, count: int, parts: Iterable[Shares]) -> sp.csr_array:
    """Add up the shares of some rows, by partition; rows without any go where such points are."""
    listed = [NO_SHARES, *parts]
    rows, columns, values = (np.concatenate(each) for each in zip(*listed, strict=True))
    empty = np.flatnonzero(np.bincount(rows, minlength=count) == 0)
    if len(empty):
        fallback = _fallback(files).tocoo()
        rows = np.append(rows, np.repeat(empty, fallback.nnz))
        columns = np.append(columns, np.tile(fallback.coords[1], len(empty)))
        values = np.append(values, np.tile(fallback.data, len(empty)))
    found = sp.coo_array((values, (rows, columns)), shape=(count, files.plan.levels[0])).tocsr()
    return frozen_rows(found)


def _fallback(files: StoredFiles) -> sp.csr_array:
    """Choose the memberships of points without neighbors: those of the first node without edges, if any."""
    if files.summary.bare is not None:
        part, place = files.summary.bare
        return files.memberships(part, 0, np.array([place]))
    heaviest = int(np.argmax(files.summary.levels[0].mass))
    return sp.csr_array(([1.0], [heaviest], [0, 1]), shape=(1, files.plan.levels[0]))
