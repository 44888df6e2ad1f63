"""New points that may be larger than memory, put into the clusters of a hierarchy on disk by tasks.

The steps are those of :mod:`graphsoft.result.stored_prediction`. Rows of a chunk are sorted by the partitions
that they look into. What comes to a partition is cut into visits: of a few chunks, and no more rows than a
chunk has. So a task reads one partition, or one chunk, and all tasks together read the hierarchy as often as
there are rows enough to fill its partitions again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.distributed.directories import faults_of, refuse_folder_of
from graphsoft.distributed.executors import executor_of
from graphsoft.distributed.files import Unreadable, rows_in_sections, value_in_sections
from graphsoft.distributed.finishing import check_result
from graphsoft.distributed.pieces import pieces_of
from graphsoft.distributed.plan import Plan, earlier, mark_of, settled
from graphsoft.distributed.planning import chunk_rows_of, memory_as_before, row_bytes_of
from graphsoft.distributed.point_memory import bytes_needed
from graphsoft.distributed.run import Run
from graphsoft.distributed.sources import Source, source_of
from graphsoft.distributed.summary import (
    PREDICTIONS,
    SUMMARY,
    Summary,
    is_finished,
    restore_plan,
    write_summary,
)
from graphsoft.distributed.tasks import Record, Where
from graphsoft.errors import InputError
from graphsoft.fitting.memory import memory_text
from graphsoft.input.checks import folder_named
from graphsoft.linalg.memberships import likeliest
from graphsoft.result.new_rows import check_width, refuse_columns, warn_of_empty
from graphsoft.result.stored_files import StoredFiles, opened
from graphsoft.result.stored_prediction import (
    Found,
    OldPoints,
    Step,
    fitting,
    followed,
    refuse_unpredictable,
    summed,
    visited,
)

__all__ = ["place"]

# Bytes of a neighbor while those of several partitions are merged.
OF_NEIGHBOR = 100
NEAR = ("place", "first", "distance", "scale", "copy")
STEP = ("row", "place", "chance")
SHARE = ("row", "cluster", "share")


def place(
    files: StoredFiles,
    cluster_names: dict[str, str],
    X: Any,
    directory: Any,
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | None = None,
) -> Path:
    """Put new points into the clusters of a hierarchy, or go on where an earlier call stopped.

    Returns
    -------
    Path
        The directory, which holds their memberships and labels.
    """
    refuse_unpredictable(files)
    folder = folder_named("directory", directory)
    refuse_folder_of(X, folder, directory)
    if (folder / SUMMARY).exists():
        remedy = "give another directory for the new points"
        raise InputError("directory", f"{str(directory)!r} holds a hierarchy", remedy)
    for looking in (True, False):
        with faults_of(folder), Run(folder, executor_of(client), progress) as run:
            source = source_of(X, folder, client)
            _check_fit(files, source)
            restore_plan(folder, PREDICTIONS)
            plan = settled(folder, _plan(files, source, folder, client, max_memory))
            run.bind(mark_of(plan))
            try:
                if looking and is_finished(folder, plan):
                    check_result(run, plan)
                else:
                    _place(run, plan, files, cluster_names, source)
                break
            except Unreadable:
                if not looking:
                    raise
    return folder


def _check_fit(files: StoredFiles, source: Source) -> None:
    check_width(source.d, [files.plan.features], "features")
    refuse_columns(source.columns, files.summary.columns)


def _plan(
    files: StoredFiles, source: Source, folder: Path, client: Any, max_memory: int | str | None
) -> Plan:
    """Make the plan; the memory is as in an earlier call if there was one."""
    memory, old = memory_as_before(earlier(folder) or {}, max_memory, client), files.plan
    row = max(row_bytes_of(source), 0 if old.sparse else source.dtype.itemsize * source.d)
    need = bytes_needed(replace(old, max_memory=memory), row)["find-neighbors"]
    if need > memory:
        has = f"and a process may take {memory_text(memory)}"
        problem = f"a partition of the hierarchy needs {memory_text(need)}, {has}"
        raise InputError("max_memory", problem, f"allow at least {memory_text(need)}")
    visits = min(1 + max(0, old.lends), old.partitions)  # of a row, each of which has a copy of it
    chunk_rows = chunk_rows_of(row * (1 + visits) // 2 + OF_NEIGHBOR * visits * old.n_neighbors, memory)
    return replace(
        old, kind="predictions", rows=source.n, partitions=-(-source.n // chunk_rows), chunk_rows=chunk_rows,
        max_memory=memory, identity=source.identity(), asked={"hierarchy": asdict(old)},
    )  # fmt: skip


def _place(run: Run, plan: Plan, files: StoredFiles, cluster_names: dict[str, str], source: Source) -> None:
    """Go through all stages; those that are done already take no time."""
    chunks, model = plan.chunks, str(files.directory)
    run.expect(
        {"route-rows": len(chunks), "cut-visits": 1, "find-neighbors": files.plan.partitions}
        | {"take-steps": len(chunks), "follow-steps": files.plan.partitions, "memberships": len(chunks)}
    )
    known: dict[str, Any] = {"model": model, "plan": plan}
    records = run.stage("route-rows", route_rows, chunks, source=source, **known)
    cut = _visits(records, plan.chunk_rows)
    run.stage("cut-visits", cut_visits, [0], here=True, visits=cut)
    visits = range(len(cut["part"]))
    run.stage("find-neighbors", find_neighbors, visits, model=model)
    run.stage("take-steps", take_steps, chunks, **known)
    run.forget("route-rows")
    run.forget("find-neighbors")
    run.stage("follow-steps", follow_steps, visits, **known)
    records = run.stage("memberships", write_memberships, chunks, **known)
    run.forget_but(["memberships"])
    warn_of_empty(sum(int(record["empty"]) for record in records))
    check_result(run, plan)
    sizes = [
        np.sum([record[f"sizes-{level}"] for record in records], axis=0) for level in range(len(plan.levels))
    ]
    old = files.summary
    levels = tuple(replace(level, sizes=size) for level, size in zip(old.levels, sizes, strict=True))
    found = Summary(plan, levels, old.report, old.settings, old.columns, cluster_names)
    write_summary(run.directory, found)


def route_rows(where: Where, *, source: Source, model: str, plan: Plan) -> dict[str, Any]:
    """Sort the rows of a chunk by the partitions that they look into."""
    files = _opened(model)
    rows = fitting(files, source.rows(*plan.chunk(where.part)))
    visits = visited(files, rows)
    row, rank = np.nonzero(visits >= 0)
    part = visits[row, rank]
    order = np.argsort(part, kind="stable")
    counts = np.bincount(part, minlength=files.plan.partitions)
    ptr = np.append(0, np.cumsum(counts))
    values = rows[row[order]]
    arrays, cuts = value_in_sections("features", values, ptr)
    where.write({"rows": row[order], **arrays}, {"rows": ptr, **cuts})
    return {"counts": counts}


def _visits(records: Sequence[Record], most: int) -> dict[str, Array]:
    """Cut what comes to each partition into visits: of chunks ``start:stop``, and at most so many rows.

    Examples
    --------
    >>> records = [{"counts": np.array(counts)} for counts in ([3, 0], [2, 0], [4, 1])]
    >>> {name: cut.tolist() for name, cut in _visits(records, 5).items()}
    {'part': [0, 0, 1], 'start': [0, 2, 0], 'stop': [2, 3, 3]}
    """
    found: list[tuple[int, int, int]] = []
    counts = np.array([record["counts"] for record in records])
    for part in np.flatnonzero(counts.any(axis=0)).tolist():
        start, sum_of = 0, 0
        for chunk, count in enumerate(counts[:, part].tolist()):
            if sum_of and sum_of + count > most:
                found.append((part, start, chunk))
                start, sum_of = chunk, 0
            sum_of += count
        found.append((part, start, len(records)))
    return dict(zip(("part", "start", "stop"), np.array(found).T, strict=True))


def cut_visits(where: Where, *, visits: dict[str, Array]) -> None:
    """Write down the visits, which many tasks look up."""
    where.write(visits)


def find_neighbors(where: Where, *, model: str) -> None:
    """Find the neighbors, in one partition, of all rows of a visit."""
    part, chunks = _visit(where)
    files = _opened(model)
    old, found, rows = OldPoints.of(files, part), [], []
    for chunk in chunks:
        with where.open("route-rows", chunk) as file:
            rows.append(file.section("rows", part))
            found.append(old.near(file.value("features", part)))
    ptr = np.append(0, np.cumsum([len(each) for each in rows]))
    arrays = {name: np.concatenate([each[name] for each in found]) for name in NEAR}
    where.write(arrays | {"rows": np.concatenate(rows)}, dict.fromkeys((*NEAR, "rows"), ptr))


def take_steps(where: Where, *, model: str, plan: Plan) -> None:
    """Merge what the rows of a chunk have found, and take the steps to the nearest, sorted by partition."""
    files = _opened(model)
    start, stop = plan.chunk(where.part)
    found = Found.none(stop - start, min(files.plan.n_neighbors, files.plan.rows))
    for visit, part, first in _visits_of(where):
        with where.open("find-neighbors", visit) as file:
            near = {name: file.section(name, where.part - first) for name in NEAR}
            found.merge(file.section("rows", where.part - first), part, near)
    step = Step.to(files, found)
    ptr = np.searchsorted(step.part, np.arange(files.plan.partitions + 1))
    where.write({name: getattr(step, name) for name in STEP}, dict.fromkeys(STEP, ptr))


def follow_steps(where: Where, *, model: str, plan: Plan) -> None:
    """Continue the steps into one partition to the clusters, for all chunks of a visit."""
    part, chunks = _visit(where)
    steps = []
    for chunk in chunks:
        with where.open("take-steps", chunk) as file:
            row, at, chance = (file.section(name, part) for name in STEP)
        steps.append((row + plan.chunk(chunk)[0], at, chance))
    rows, at, chances = (np.concatenate(each) for each in zip(*steps, strict=True))
    row, cluster, share = followed(_opened(model), part, Step(rows, np.full(len(rows), part), at, chances))
    ends = [plan.chunk(chunk)[0] for chunk in chunks]
    ptr = np.append(np.searchsorted(row, ends), len(row))
    arrays = dict(zip(SHARE, (row, cluster, share), strict=True))
    where.write(arrays, dict.fromkeys(SHARE, ptr))


def write_memberships(where: Where, *, model: str, plan: Plan) -> dict[str, Any]:
    """Add up what the rows of a chunk have of the clusters, and write memberships and labels as they stay."""
    files = _opened(model)
    start, stop = plan.chunk(where.part)
    shares, reached = [], np.zeros(stop - start, dtype=np.bool_)
    for visit, _, first in _visits_of(where):
        with where.open("follow-steps", visit) as file:
            row, cluster, share = (file.section(name, where.part - first) for name in SHARE)
        shares.append((row - start, cluster, share))
        reached[row - start] = True
    finest = summed(files, stop - start, shares)
    arrays, cuts = rows_in_sections("memberships", finest, pieces_of(stop - start))
    sizes = {}
    for level, clusters in enumerate(plan.levels):
        arrays[f"labels-{level}"] = labels = likeliest(files.above(finest, level))
        sizes[f"sizes-{level}"] = np.bincount(labels, minlength=clusters)
    where.write(arrays, cuts)
    return {"empty": np.count_nonzero(~reached), **sizes}


def _opened(model: str) -> StoredFiles:
    files = opened(model)
    if not isinstance(files, StoredFiles):
        raise InputError("directory", f"{model!r} holds no hierarchy any more", "name it where it is")
    return files


def _visit(where: Where) -> tuple[int, range]:
    """Look up the partition and the chunks of a visit."""
    with where.open("cut-visits", 0) as file:
        part, start, stop = (int(file.array(name)[where.part]) for name in ("part", "start", "stop"))
    return part, range(start, stop)


def _visits_of(where: Where) -> list[tuple[int, int, int]]:
    """List the visits that have this chunk: their number, their partition, their first chunk."""
    with where.open("cut-visits", 0) as file:
        part, start, stop = (file.array(name) for name in ("part", "start", "stop"))
    those = np.flatnonzero((start <= where.part) & (where.part < stop))
    return [(visit, int(part[visit]), int(start[visit])) for visit in those.tolist()]
