"""New points that may be larger than memory, put into the clusters of a hierarchy on disk by tasks.

The steps are those of :mod:`graphsoft.result.stored_prediction`. Rows of a chunk are sorted by the partitions
that they look into. What comes to a partition is cut into visits: of a few chunks, and no more rows than a
chunk has. So a task reads one partition, or one chunk, and all tasks together read the hierarchy as often as
there are rows enough to fill its partitions again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Array, Progress
from graphsoft.distributed.calls import carry_out
from graphsoft.distributed.directories import refuse_folder_of
from graphsoft.distributed.executors import executor_of
from graphsoft.distributed.files import rows_in_sections, value_in_sections
from graphsoft.distributed.finishing import check_result, columns_of
from graphsoft.distributed.pieces import pieces_of
from graphsoft.distributed.plan import Plan, earlier
from graphsoft.distributed.planning import chunk_rows_of, memory_as_before, row_bytes_of
from graphsoft.distributed.point_memory import bytes_needed
from graphsoft.distributed.run import Run
from graphsoft.distributed.sources import Source, source_of
from graphsoft.distributed.summary import PREDICTIONS, Summary, write_summary
from graphsoft.distributed.summing import summed
from graphsoft.distributed.tasks import Where
from graphsoft.errors import InputError, Unreachable
from graphsoft.fitting.memory import memory_text
from graphsoft.input.checks import folder_named
from graphsoft.result.new_rows import check_width, refuse_columns, warn_of_empty
from graphsoft.result.stored_files import StoredFiles, opened
from graphsoft.result.stored_prediction import (
    Found,
    OldPoints,
    Step,
    fitting,
    followed,
    joined,
    refuse_unpredictable,
    visited,
)
from graphsoft.version import installed_version

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
    opened(str(files.directory))  # which must still be there
    refuse_unpredictable(files)
    folder = folder_named("directory", directory)
    refuse_folder_of(X, folder, directory)

    def begin() -> Run:
        return Run(folder, executor_of(client), progress)

    def planned() -> tuple[Source, Plan]:
        source = source_of(X, folder, client)
        _check_fit(files, source)
        return source, _plan(files, source, folder, client, max_memory)

    def work(run: Run, plan: Plan, source: Source) -> None:
        _place(run, plan, files, cluster_names, source)

    carry_out(folder, PREDICTIONS, begin, planned, work)
    return folder


def _check_fit(files: StoredFiles, source: Source) -> None:
    check_width(source.d, [files.plan.features], "features")
    remedy = (
        "take h.summary.columns in their order: frame[list(h.summary.columns)], or of Parquet files "
        "rows_in_files(path, columns=h.summary.columns)"
    )
    refuse_columns(source.columns, files.summary.columns, remedy)


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
        version=installed_version(),
    )  # fmt: skip


def _place(run: Run, plan: Plan, files: StoredFiles, cluster_names: dict[str, str], source: Source) -> None:
    """Go through all stages; those that are done already take no time."""
    chunks, model = plan.chunks, str(files.directory)
    run.expect(
        {"route-rows": len(chunks), "cut-visits": 1, "find-neighbors": files.plan.partitions}
        | {"take-steps": len(chunks), "follow-steps": files.plan.partitions, "memberships": len(chunks)}
        | {"memberships-summed": 1}
    )
    known: dict[str, Any] = {"model": model, "plan": plan}
    run.stage("route-rows", route_rows, chunks, source=source, **known)
    (cut,) = run.stage("cut-visits", cut_visits, [0], chunks=chunks, most=plan.chunk_rows)
    visits = range(int(cut["visits"]))
    run.stage("find-neighbors", find_neighbors, visits, model=model)
    run.stage("take-steps", take_steps, chunks, **known)
    run.forget("route-rows")
    run.forget("find-neighbors")
    run.stage("follow-steps", follow_steps, visits, **known)
    records = run.stage("memberships", write_memberships, chunks, **known)
    warn_of_empty(sum(int(record["empty"]) for record in records))
    names = [f"sizes-{level}" for level in range(len(plan.levels))]
    sizes = summed(run, "memberships", len(chunks), names)
    run.forget_but(["memberships"])
    check_result(run, plan)
    old = files.summary
    levels = tuple(replace(level, sizes=sizes[name]) for level, name in zip(old.levels, names, strict=True))
    found = Summary(plan, levels, old.report, old.settings, old.columns, cluster_names)
    write_summary(run.directory, found)


def route_rows(where: Where, *, source: Source, model: str, plan: Plan) -> None:
    """Sort the rows of a chunk by the partitions that they look into."""
    given = source.rows(*plan.chunk(where.part))
    with _read(model) as files:
        rows = fitting(files, given)
        visits = visited(files, rows)
    row, rank = np.nonzero(visits >= 0)
    part = visits[row, rank]
    order = np.argsort(part, kind="stable")
    ptr = np.append(0, np.cumsum(np.bincount(part, minlength=files.plan.partitions)))
    values = rows[row[order]]
    arrays, cuts = value_in_sections("features", values, ptr)
    where.write({"rows": row[order], **arrays}, {"rows": ptr, **cuts})


def cut_visits(where: Where, *, chunks: range, most: int) -> dict[str, Any]:
    """Write down the visits, which many tasks look up; returns how many they are."""

    def counts() -> Iterator[Array]:
        for chunk in chunks:
            with where.open("route-rows", chunk) as file:
                yield np.diff(file.cut("rows"))

    visits = _visits(counts(), most)
    where.write(visits)
    return {"visits": len(visits["part"])}


def _visits(counts: Iterable[Array], most: int) -> dict[str, Array]:
    """Cut what comes to each partition into visits: of chunks ``start:stop``, and at most so many rows.

    Parameters
    ----------
    counts : iterable of ndarray
        Of each chunk: how many of its rows come to each partition.
    most : int

    Examples
    --------
    >>> {name: cut.tolist() for name, cut in _visits(np.array([[3, 0], [2, 0], [4, 1]]), 5).items()}
    {'part': [0, 0, 1], 'start': [0, 2, 0], 'stop': [2, 3, 3]}
    """
    found: list[Array] = []
    start = held = np.zeros(0, dtype=np.int64)
    chunk = 0
    for chunk, coming in enumerate(counts, 1):
        if chunk == 1:
            start, held = np.zeros_like(coming), np.zeros_like(coming)
        full = np.flatnonzero((held > 0) & (held + coming > most))
        found.append(np.array([full, start[full], np.full(len(full), chunk - 1)]))
        start[full], held[full] = chunk - 1, 0
        held += coming
    last = np.flatnonzero(held)
    found.append(np.array([last, start[last], np.full(len(last), chunk)]))
    cut = np.concatenate(found, axis=1)
    return dict(zip(("part", "start", "stop"), cut[:, np.lexsort(cut[1::-1])], strict=True))


def find_neighbors(where: Where, *, model: str) -> None:
    """Find the neighbors, in one partition, of all rows of a visit."""
    part, chunks = _visit(where)
    with _read(model) as files:
        old = OldPoints.of(files, part)
    found, rows = [], []
    for chunk in chunks:
        with where.open("route-rows", chunk) as file:
            rows.append(file.section("rows", part))
            found.append(old.near(file.value("features", part)))
    ptr = np.append(0, np.cumsum([len(each) for each in rows]))
    arrays = {name: np.concatenate([each[name] for each in found]) for name in NEAR}
    where.write(arrays | {"rows": np.concatenate(rows)}, dict.fromkeys((*NEAR, "rows"), ptr))


def take_steps(where: Where, *, model: str, plan: Plan) -> None:
    """Merge what the rows of a chunk have found, and take the steps to the nearest, sorted by partition."""
    start, stop = plan.chunk(where.part)
    with _read(model) as files:
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
    with _read(model) as files:
        row, cluster, share = followed(files, part, Step(rows, np.full(len(rows), part), at, chances))
    ends = [plan.chunk(chunk)[0] for chunk in chunks]
    ptr = np.append(np.searchsorted(row, ends), len(row))
    arrays = dict(zip(SHARE, (row, cluster, share), strict=True))
    where.write(arrays, dict.fromkeys(SHARE, ptr))


def write_memberships(where: Where, *, model: str, plan: Plan) -> dict[str, Any]:
    """Add up what the rows of a chunk have of the clusters, and write memberships and `columns_of` them."""
    start, stop = plan.chunk(where.part)
    shares, reached = [], np.zeros(stop - start, dtype=np.bool_)
    for visit, _, first in _visits_of(where):
        with where.open("follow-steps", visit) as file:
            row, cluster, share = (file.section(name, where.part - first) for name in SHARE)
        shares.append((row - start, cluster, share))
        reached[row - start] = True
    with _read(model) as files:
        finest = joined(files, stop - start, shares)
    arrays, cuts = rows_in_sections("memberships", finest, pieces_of(stop - start))
    for level, clusters in enumerate(plan.levels):
        columns = columns_of(files.above(finest, level), level)
        arrays[f"sizes-{level}"] = np.bincount(columns[f"labels-{level}"], minlength=clusters)
        arrays |= columns
    where.write(arrays, cuts)
    return {"empty": np.count_nonzero(~reached)}


@contextmanager
def _read(model: str) -> Iterator[StoredFiles]:
    """Open the files of the hierarchy; what is wrong with them is nothing that is wrong with new points."""
    try:
        files = opened(model)
        if not isinstance(files, StoredFiles):
            raise InputError("directory", f"{model!r} holds no hierarchy any more", "name it where it is")
        yield files
    except InputError as error:
        if error.argument == "X":
            raise
        raise Unreachable(error.argument, error.problem, error.remedy) from error


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
