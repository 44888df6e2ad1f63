"""An ordinary hierarchy of some of the points of one on disk; `sampled` is `StoredHierarchy.sample`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.engine.cluster_graph import cluster_graph
from graphsoft.errors import InputError
from graphsoft.fitting.report import edge_count
from graphsoft.graph.features import Features
from graphsoft.graph.graph import symmetric_graph
from graphsoft.graph.joining import joined_to_nearest
from graphsoft.input.checks import DEFAULT_SEED, generator
from graphsoft.linalg.memberships import frozen, frozen_rows
from graphsoft.result.hierarchy import Hierarchy
from graphsoft.result.level import Level
from graphsoft.result.stored_files import LOST, StoredFiles
from graphsoft.result.stored_rows import nodes_of

if TYPE_CHECKING:
    from graphsoft.result.stored import StoredHierarchy

__all__ = ["sampled"]


def sampled(h: StoredHierarchy, count: int, rng: Any) -> Hierarchy:
    """Make a hierarchy of `count` points; see `StoredHierarchy.sample`."""
    total = h.plan.rows
    rows = _drawn(total, count, generator("rng", rng) or np.random.default_rng(DEFAULT_SEED))
    part, place = nodes_of(h.files, rows)
    features: Features | None = None
    if h.plan.kind == "points":
        values = _features_of(h.files, part, place)
        columns = h.summary.columns
        features = Features(values, h.plan.metric, columns=columns, names=tuple(rows.tolist()))
        wanted = max(1, min(h.plan.n_neighbors, len(rows) - 1))
        graph = joined_to_nearest(features, wanted, h.plan.weights, "union", None, None)
    else:
        graph = symmetric_graph(_edges_among(h.files, part, place), tuple(rows.tolist()), [])
    levels = []
    for level in h:
        shares = frozen_rows(level.memberships.of_nodes(part, place))
        among = cluster_graph(shares, graph.degrees).adjacency
        mass = frozen(np.asarray(shares.T @ graph.degrees))
        levels.append(Level(shares, level.parents, mass, among, graph.degrees, level.report))
    note = f"a sample of {len(rows):,} of {total:,} points"
    report = replace(
        h.report, nodes=len(graph), edges=edge_count(graph), components=int(graph.components.max()) + 1,
        notes=(*h.report.notes, note) if count < total else h.report.notes,
    )  # fmt: skip
    return Hierarchy(tuple(levels), graph, report, h.settings, features, h.cluster_names)


def _drawn(total: int, count: int, random: np.random.Generator) -> Array:
    """Draw `count` of so many rows, or take all; never an array of all rows if few are wanted.

    Examples
    --------
    >>> len(_drawn(10**15, 20, np.random.default_rng(0))), _drawn(2, 20, np.random.default_rng(0)).tolist()
    (20, [0, 1])
    """
    return np.arange(total) if count >= total else np.sort(random.choice(total, count, replace=False))


def _features_of(files: StoredFiles, part: Array, place: Array) -> Any:
    """Read the features of nodes, in their order."""
    order = np.argsort(part, kind="stable")
    pieces = [_rows_of(files, each, place[order][part[order] == each]) for each in np.unique(part).tolist()]
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    if files.plan.sparse:
        return sp.vstack(pieces, format="csr")[back]
    return np.ascontiguousarray(np.concatenate(pieces)[back])


def _rows_of(files: StoredFiles, part: int, place: Array) -> Any:
    features = files.features(part)
    if place.max() >= features.shape[0]:
        problem = f"{str(files.file('points', part))!r} has no node {place.max()}"
        raise InputError("directory", problem, LOST)
    return features[place]


def _edges_among(files: StoredFiles, part: Array, place: Array) -> sp.csr_array:
    """Read the edges among nodes of a graph; each of them stands for one row."""
    count = len(part)
    lines, columns, weights = [], [], []
    for each in np.unique(part).tolist():
        some = np.flatnonzero(part == each)
        edges, halo_part, halo_place = files.edges(each)
        own = np.full(edges.shape[0], -1, dtype=np.int64)
        own[place[some]] = some
        # the number in the sample of each column: own nodes, and then the halo
        numbers = np.append(own, _numbers_of(halo_part, halo_place, part, place))
        taken = edges[place[some]].tocoo()
        inside = numbers[taken.coords[1]] >= 0
        lines.append(some[taken.coords[0][inside]])
        columns.append(numbers[taken.coords[1][inside]])
        weights.append(taken.data[inside].astype(np.float64))
    parts = (np.concatenate(weights), (np.concatenate(lines), np.concatenate(columns)))
    return sp.csr_array(parts, shape=(count, count))


def _numbers_of(halo_part: Array, halo_place: Array, part: Array, place: Array) -> Array:
    """Find which node of the sample each node of a halo is, or -1."""
    width = int(max(place.max(initial=0), halo_place.max(initial=0))) + 1
    keys, wanted = part * width + place, halo_part.astype(np.int64) * width + halo_place
    order = np.argsort(keys)
    at = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    return np.where(keys[order][at] == wanted, order[at], -1)
