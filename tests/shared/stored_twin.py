"""An in-memory hierarchy as a run beyond memory would have left it: the same content in a directory."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from graphsoft.distributed.cell_search import seen_rows
from graphsoft.distributed.files import rows_in_sections
from graphsoft.distributed.finishing import columns_of
from graphsoft.distributed.plan import Plan, mark_of
from graphsoft.distributed.summary import LevelSummary, Summary, write_summary
from graphsoft.distributed.tasks import Where
from graphsoft.result.steps import steps_between
from graphsoft.result.stored import StoredHierarchy


def stored_twin(h, directory, partitions=3, chunk_rows=10, *, lends=None, sections=0, steps=True, seed=0):
    """Write a hierarchy into a directory, and open it.

    Rows go to partitions by the nearest of a few rows taken as centers of cells; nodes of a graph by chance.
    With `lends` left out, every partition is looked into for new points.
    """
    n, random = len(h.graph), np.random.default_rng(seed)
    sites = np.arange(n) if h.graph.duplicates is None else h.graph.duplicates.astype(np.int64)
    first = np.unique(sites, return_index=True)[1]
    features = None if h.features is None else h.features.values
    plan = Plan(
        "graph" if features is None else "points", n, 0 if features is None else features.shape[1],
        sp.issparse(features), partitions, chunk_rows, n if lends is None else lends,
        h.settings.n_neighbors, h.settings.metric, h.settings.weights,
        tuple(len(level.mass) for level in h), 10**9, 1000, {"made": "by a test"},
    )  # fmt: skip
    to = Where(str(directory), "", 0, mark_of(plan))
    if features is None:
        home = random.integers(0, partitions, len(first))
    else:
        seen = seen_rows(features, h.settings.metric)
        centers = seen[random.choice(n, min(n, 2 * partitions), replace=False)]
        cell = ((seen[first][:, None] - centers[None]) ** 2).sum(axis=2).argmin(axis=1)
        partition = np.sort(np.arange(len(centers)) % partitions)
        home = partition[cell]
        _write(to, "cells", 0, {"centroids": centers, "partition": partition.astype(np.int32)})
    place = np.empty(len(first), dtype=np.int64)
    for part in range(partitions):
        place[home == part] = np.arange(np.count_nonzero(home == part))
    _write_rows(to, partitions, sites, home, place)
    _write_memberships(to, partitions, h[0].memberships[first], home, sections)
    typical = 1.0 if features is None else h._reference.lists.typical
    _write_graph(to, partitions, h.graph.adjacency, sites, home, place, typical)
    if features is not None:
        _write_points(to, partitions, h, features[first], first, home)
    for chunk, start in enumerate(range(0, n, chunk_rows)):
        some = slice(start, min(n, start + chunk_rows))
        where = {"part": home[sites[some]].astype(np.int32), "place": place[sites[some]].astype(np.int32)}
        for at, level in enumerate(h):
            where |= columns_of(level.memberships[some], at)
        _write(to, "homes", chunk, where)
    levels = tuple(
        LevelSummary(
            level.parents, level.mass, np.bincount(level.labels, minlength=len(level.mass)), level.graph
        )
        for level in h
    )
    between = steps_between(h.graph, h[0].memberships) if steps else None
    columns = None if h.features is None else h.features.columns
    bare, least = None, None
    if features is not None:
        lonely = [site for site in range(len(first)) if not h.graph.adjacency[[first[site]]].nnz]
        site = min(lonely, key=lambda each: first[each], default=None)
        bare = None if site is None else (int(home[site]), int(place[site]))
        least = float(h._reference.lists.scales.min())
    summary = Summary(plan, levels, h.report, h.settings, columns, h.cluster_names, between, bare, least)
    write_summary(directory, summary)
    return StoredHierarchy.open(directory)


def _write(to, stage, part, arrays, cuts=None):
    replace(to, stage=stage, part=part).write(arrays, cuts)


def _write_rows(to, partitions, sites, home, place):
    for part in range(partitions):
        rows = np.flatnonzero(home[sites] == part)
        _write(to, "rows", part, {"rows": rows, "node": place[sites[rows]].astype(np.int32)})


def _write_memberships(to, partitions, memberships, home, sections):
    for part in range(partitions):
        own = memberships[home == part]
        ptr = np.append(np.arange(0, own.shape[0], sections), own.shape[0]) if sections else None
        _write(to, "memberships", part, *rows_in_sections("memberships", own, ptr))


def _write_graph(to, partitions, adjacency, sites, home, place, typical):
    spread = sp.csr_array((np.ones(len(sites)), (np.arange(len(sites)), sites)))
    nodes = (spread.T @ adjacency @ spread).tocsr()
    for part in range(partitions):
        own = np.flatnonzero(home == part)
        edges = nodes[own].tocoo()
        lines, ends = edges.coords
        outside = np.unique(ends[home[ends] != part])
        outside = outside[np.lexsort((place[outside], home[outside]))]
        numbers = np.empty(len(home), dtype=np.int64)
        numbers[own], numbers[outside] = np.arange(len(own)), len(own) + np.arange(len(outside))
        order = np.lexsort((place[ends], home[ends], lines))
        arrays = {
            "typical": np.array(typical),
            "ptr": np.searchsorted(lines[order], np.arange(len(own) + 1)),
            "columns": numbers[ends[order]].astype(np.int32),
            "weights": edges.data[order],
            "degrees": np.asarray(nodes[own].sum(axis=1)).ravel(),
            "halo_part": home[outside].astype(np.int32),
            "halo_place": place[outside].astype(np.int32),
        }
        _write(to, "graph", part, arrays)


def _write_points(to, partitions, h, features, first, home):
    scales = h._reference.lists.scales
    for part in range(partitions):
        own = np.flatnonzero(home == part)
        arrays = {"scale": scales[own], "first": first[own]}
        if sp.issparse(features):
            arrays |= rows_in_sections("features", features[own])[0]
        else:
            arrays["features"] = features[own]
        _write(to, "points", part, arrays)
