"""A probe of the cells: which part of the true neighbors of some rows the partitions can find."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.cell_search import Cells, seen_rows
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.run import Run
from graphsoft.distributed.sources import Source
from graphsoft.distributed.tasks import Where
from graphsoft.neighbors.nearest import nearest_among
from graphsoft.neighbors.points import Points, RowLookup

__all__ = ["MOST_LENDS", "PROBES", "found_by_lending"]

MOST_LENDS = 8  # a row is lent to the partitions of at most so many further cells
PROBES = 500
NAMES = ("distances", "hashes", "cells")  # of the nearest rows
Lists = tuple[Array, Array, Array]


def found_by_lending(run: Run, source: Source, plan: Plan) -> Array:
    """Find the part of the true neighbors that can be found with 1, 2, ..., MOST_LENDS further cells."""
    run.stage(
        "compare-probes", compare_probes, plan.chunks, source=source, metric=plan.metric,
        chunk_rows=plan.chunk_rows, n_neighbors=plan.n_neighbors,
    )  # fmt: skip
    record = run.stage(
        "probe", probe, [0], chunks=len(plan.chunks), metric=plan.metric, n_neighbors=plan.n_neighbors
    )[0]
    run.forget("compare-probes")
    return record["found"]


def _probes(where: Where) -> Any:
    with where.open("gather-probes", 0) as file:
        return file.value("probes")


def compare_probes(where: Where, source: Source, metric: str, chunk_rows: int, n_neighbors: int) -> None:
    """Find the nearest distinct rows of a chunk for every probe, and the cells that are nearest to these."""
    start = where.part * chunk_rows
    values = source.rows(start, min(start + chunk_rows, source.n))
    points, cells = Points.of(values, metric), Cells.read(where, metric)
    lookup = RowLookup.of(points)
    first = np.sort(lookup.order[np.flatnonzero(np.diff(lookup.hashes, prepend=~lookup.hashes[:1]))])
    distinct = points if len(first) == len(points) else points.take(first)
    others = distinct.alongside(_probes(where))
    count = min(n_neighbors + 1, len(distinct))
    near, distances = nearest_among(distinct, others, count)
    itself = RowLookup.of(distinct).find(others)
    distances[(near == itself[:, None]) | (near < 0)] = np.inf
    used, place = np.unique(near[near >= 0], return_inverse=True)
    of_rows = np.empty(len(points), dtype=np.uint64)
    of_rows[lookup.order] = lookup.hashes
    hashes = np.zeros(near.shape, dtype=np.uint64)
    hashes[near >= 0] = of_rows[first[used]][place]
    closest = np.zeros((*near.shape, 1 + MOST_LENDS), dtype=np.int32)
    closest[near >= 0] = _closest(cells, values[first[used]])[place]
    where.write({"distances": distances, "hashes": hashes, "cells": closest})


def _closest(cells: Cells, values: Any) -> Array:
    """Find the cells nearest to rows; if there are fewer than asked for, the last is listed again."""
    near = cells.nearest(seen_rows(values, cells.metric), 1 + MOST_LENDS)
    return np.pad(near, ((0, 0), (0, 1 + MOST_LENDS - near.shape[1])), mode="edge")


def probe(where: Where, chunks: int, metric: str, n_neighbors: int) -> dict[str, Any]:
    """Keep the nearest of all chunks, and count how many of them some partition sees beside the probe."""
    cells, rows = Cells.read(where, metric), _probes(where)
    count = rows.shape[0]
    best = (
        np.zeros((count, 0)),
        np.zeros((count, 0), np.uint64),
        np.zeros((count, 0, 1 + MOST_LENDS), np.int32),
    )
    for chunk in range(chunks):
        with where.open("compare-probes", chunk) as file:
            best = _nearest_of(best, tuple(file.array(name) for name in NAMES), n_neighbors)
    distances, _, near = best
    own = _closest(cells, rows)
    found = []
    for lends in range(1, 1 + MOST_LENDS):
        of_probe = cells.partition[own[:, None, : 1 + lends, None]]
        of_neighbor = cells.partition[near[:, :, None, : 1 + lends]]
        met = (of_probe == of_neighbor).any(axis=(2, 3))
        found.append(met[np.isfinite(distances)].mean() if np.isfinite(distances).any() else 1.0)
    return {"found": np.array(found)}


def _nearest_of(one: Lists, two: tuple[Array, ...], count: int) -> Lists:
    """Keep the nearest of two lists, each row once, whichever chunk it came from."""
    distances, hashes, cells = (np.concatenate(pair, axis=1) for pair in zip(one, two, strict=True))
    order = np.lexsort((distances, hashes), axis=1)
    sorted_hashes = np.take_along_axis(hashes, order, axis=1)
    repeated = np.zeros(distances.shape, dtype=np.bool_)
    np.put_along_axis(repeated, order[:, 1:], sorted_hashes[:, 1:] == sorted_hashes[:, :-1], axis=1)
    distances[repeated] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")[:, :count]
    nearest = np.take_along_axis(cells, order[:, :, None], axis=1)
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(hashes, order, axis=1), nearest
