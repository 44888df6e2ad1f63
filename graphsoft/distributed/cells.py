"""Cells are chosen from a sample of the rows, and dealt to partitions so that each is a region of space."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.cell_search import SEED, Cells, directed, seen_rows, width_seen
from graphsoft.distributed.files import rows_in_sections
from graphsoft.distributed.plan import Plan
from graphsoft.distributed.probing import MOST_LENDS, PROBES, found_by_lending
from graphsoft.distributed.row_pieces import stacked
from graphsoft.distributed.run import Run
from graphsoft.distributed.sources import Source, chosen_rows
from graphsoft.distributed.tasks import Where
from graphsoft.errors import InputError, warn
from graphsoft.graph.features import SPARSE_METRICS
from graphsoft.methods.parts.rows import shifted
from graphsoft.neighbors.points import NORMS, Points, first_copies
from graphsoft.parallel import one_thread

__all__ = ["choose_cells", "lends_needed", "sample_size"]

CELLS_EACH, FEWER_EACH, MANY_CELLS = 16, 4, 1024  # in a partition; fewer where there would be many cells
MOST_LINKED = 1 << 12  # cells whose distances from each other are in memory
LISTS_EACH = 4  # a cell holds about so many times the neighbors of a row, or it would cut most lists
ROWS_EACH, MIN_SAMPLE = 32, 20_000  # of the sample, for each cell and in all
SWEEPS, ROUNDS = 12, 4
FULL = 0.25  # a cell with more than this part of a partition's rows is split
# Of the true neighbors that can be found. Those that are missing are replaced by others further away, which
# joins islands that are none.
ENOUGH = 0.99


def check_metric(metric: str, sparse: bool, partitions: int) -> None:
    """Refuse a metric that is not for such rows, or not for several partitions."""
    if sparse and metric not in SPARSE_METRICS:
        remedy = f"use one of {', '.join(map(repr, SPARSE_METRICS))}, or store dense rows"
        raise InputError("metric", f"got {metric!r}, but the rows are sparse", remedy)
    if metric not in NORMS and partitions > 1:
        problem = f"got {metric!r}, under which rows cannot be dealt to {partitions} partitions"
        raise InputError("metric", problem, f"use one of {', '.join(map(repr, NORMS))}, or one partition")


def choose_cells(run: Run, source: Source, plan: Plan) -> None:
    """Choose cells, and deal them to the partitions: stage "cells"; and rows to probe them with.

    Cells are found by their Euclidean distances, which say enough about neighbors under the metrics of
    `NORMS`. Under the others, which compare numbers relatively or one by one, only one partition is possible.
    """
    if plan.partitions == 1:
        run.stage("cells", one_cell, [0], width=width_seen(plan.features))
        return
    check_metric(plan.metric, plan.sparse, plan.partitions)
    run.stage(
        "sample-rows", sample_rows, plan.chunks, source=source, metric=plan.metric,
        chunk_rows=plan.chunk_rows, size=sample_size(plan),
    )  # fmt: skip
    chunks, partitions = len(plan.chunks), plan.partitions
    run.stage("cells", make_cells, [0], chunks=chunks, partitions=partitions, cells=_wanted_cells(plan))
    run.stage("gather-probes", gather_probes, [0], chunks=chunks, sparse=plan.sparse)
    run.forget("sample-rows")


def lends_needed(run: Run, source: Source, plan: Plan) -> tuple[int, float]:
    """Find how many further partitions must see each row, so that nearly all neighbors can be found.

    The true neighbors of some rows are found by one pass over all rows. From their cells it follows which of
    them the partitions can find.

    Returns
    -------
    lends : int
    recall : float
        The part of the true neighbors that can be found.
    """
    choose_cells(run, source, plan)
    if plan.partitions == 1:
        return 0, 1.0
    recall = found_by_lending(run, source, plan)
    run.forget("gather-probes")
    enough = np.flatnonzero(recall >= ENOUGH)
    lends = int(enough[0]) + 1 if len(enough) else MOST_LENDS
    if not len(enough):
        warn(
            f"partitions: only {recall[-1]:.0%} of the nearest neighbors can be found, even if each row is "
            f"seen by the partitions of {MOST_LENDS} further cells; fewer partitions, with a larger "
            f"max_memory, find more"
        )
    return lends, float(recall[lends - 1])


def _wanted_cells(plan: Plan) -> int:
    few = max(MANY_CELLS, FEWER_EACH * plan.partitions)
    large = max(plan.partitions, plan.rows // (LISTS_EACH * plan.n_neighbors))
    return min(CELLS_EACH * plan.partitions, few, large)


def sample_size(plan: Plan) -> int:
    """Count the rows of the sample, which take at most about a fifth of the memory of a process."""
    wanted = max(MIN_SAMPLE, ROWS_EACH * _wanted_cells(plan))
    room = plan.max_memory // (5 * 32 * width_seen(plan.features))  # rows, distinct, shifted, and products
    return int(min(plan.rows, wanted, max(room, 4 * _wanted_cells(plan))))


def one_cell(where: Where, width: int) -> None:
    """Make the only cell of a single partition."""
    where.write({"centroids": np.zeros((1, width)), "partition": np.zeros(1, dtype=np.int32)})


def sample_rows(where: Where, source: Source, metric: str, chunk_rows: int, size: int) -> None:
    """Take the rows of a chunk that are in the sample, as they are seen; those that are probes, as they are.

    Rows without a direction are left out, because they may go anywhere. Which rows are in the sample depends
    on their number only.
    """
    sample = _sample(source.n, size)
    probes = sample[:: max(1, size // PROBES)][:PROBES]
    start = where.part * chunk_rows
    numbers = sample[(sample >= start) & (sample < start + chunk_rows)]
    values = chosen_rows(source, numbers)
    of_probes = values[np.isin(numbers, probes)]
    features = rows_in_sections("probes", of_probes)[0] if source.sparse else {"probes": of_probes}
    where.write({"seen": seen_rows(values[directed(values, metric)], metric)} | features)


def _sample(rows: int, size: int) -> Array:
    return np.sort(np.random.default_rng(SEED).choice(rows, size, replace=False, shuffle=False))


def gather_probes(where: Where, chunks: int, sparse: bool) -> None:
    """Put the probes of all chunks together."""
    kept = []
    for chunk in range(chunks):
        with where.open("sample-rows", chunk) as file:
            kept.append(file.rows("probes") if sparse else file.array("probes"))
    if sparse:
        where.write(rows_in_sections("probes", stacked(kept, kept[0].shape[1]))[0])
    else:
        where.write({"probes": np.concatenate([each for each in kept if len(each)])})


def make_cells(where: Where, chunks: int, partitions: int, cells: int) -> dict[str, Any]:
    """Find centroids in the sample, put neighbors together, and cut them into runs of equal load.

    The record tells how many others each row is lent to for each number of further cells.
    """
    seen = []
    for chunk in range(chunks):
        with where.open("sample-rows", chunk) as file:
            seen.append(file.array("seen"))
    rows = np.concatenate(seen)
    if not len(rows):  # none of them has a direction
        rows = np.zeros((1, rows.shape[1]))
    rows = rows[np.unique(first_copies(Points.of(rows)))]  # copies take next to no room in a partition
    found = _centroids(rows, cells, FULL * len(rows) / partitions)
    found = found[_near_together(found)]
    single = Cells(found, np.arange(len(found)), "euclidean")
    near = single.nearest(rows, 1 + MOST_LENDS)
    load = np.bincount(near[:, 0], minlength=len(found))
    chosen = Cells(found, _runs(load, partitions), "euclidean")
    where.write({"centroids": chosen.centroids, "partition": chosen.partition})
    lent = np.cumsum((chosen.each_once(near)[:, 1:] >= 0).mean(axis=0))
    return {"lent": lent}


def _centroids(rows: Array, cells: int, full: float) -> Array:
    """Find centroids of distinct rows; cells that are too full are split, and then looked at again."""
    if len(rows) <= cells:
        return rows
    found = _in_steps(rows, cells)
    for _ in range(ROUNDS):
        home = _nearest(rows, found)
        load = np.bincount(home, minlength=len(found))
        split = np.flatnonzero((load > full) & (load > 1))
        if not len(split):
            break
        kept = [found[(load > 0) & ~np.isin(np.arange(len(found)), split)]]
        for cell in split:
            pieces = min(int(load[cell]), 1 + int(np.ceil(load[cell] / full)))
            kept.append(_by_k_means(rows[home == cell], pieces))
        found = np.concatenate(kept)
    return found


def _nearest(rows: Array, centroids: Array) -> Array:
    return Cells(centroids, np.arange(len(centroids)), "euclidean").nearest(rows, 1)[:, 0]


def _in_steps(rows: Array, cells: int) -> Array:
    """Find many cells inside of fewer ones: the time of k-means is that of rows times cells."""
    if cells <= MANY_CELLS:
        return _by_k_means(rows, cells)
    home = _nearest(rows, _by_k_means(rows, round(cells**0.5)))
    load = np.bincount(home)
    shares = np.minimum(load, np.maximum(1, np.rint(cells * load / len(rows)).astype(np.int64)))
    return np.concatenate(
        [_by_k_means(rows[home == cell], int(shares[cell])) for cell in np.flatnonzero(load)]
    )


def _by_k_means(rows: Array, cells: int) -> Array:
    """Compute the means of the clusters that k-means finds."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    model = KMeans(cells, n_init=1, max_iter=SWEEPS, random_state=0)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit(shifted(rows)).labels_
    order = np.argsort(labels, kind="stable")
    ptr = np.append(np.flatnonzero(np.diff(labels[order], prepend=-1)), len(order))
    means = [
        (rows[part] / len(part)).sum(axis=0)  # no sum can overflow
        for part in (order[start:stop] for start, stop in pairwise(ptr))
    ]
    return np.array(means)


def _near_together(centroids: Array) -> Array:
    """Order centroids so that those that are near each other come one after another."""
    if len(centroids) <= MOST_LINKED:
        return _linked(centroids)
    fewer = _by_k_means(centroids, round(len(centroids) ** 0.5))
    near = _nearest(centroids, fewer[_linked(fewer)])
    members = [np.flatnonzero(near == each) for each in range(len(fewer))]
    return np.concatenate([some[_linked(centroids[some])] for some in members])


def _linked(centroids: Array) -> Array:
    """Order centroids by a tree of all of them."""
    if len(centroids) < 3:
        return np.arange(len(centroids))
    from scipy.cluster.hierarchy import leaves_list, linkage

    return np.asarray(leaves_list(linkage(shifted(centroids), "ward")))


def _runs(load: Array, partitions: int) -> Array:
    """Cut a row of cells into runs of about equal load.

    Examples
    --------
    >>> _runs(np.array([1.0, 1.0, 2.0, 1.0]), 2).tolist()
    [0, 0, 1, 1]
    """
    middle = np.cumsum(load) - load / 2
    runs = np.floor(middle * (partitions / load.sum()))
    return np.asarray(np.minimum(runs, partitions - 1), dtype=np.int32)
