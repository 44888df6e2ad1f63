"""Rows go to the partitions of their nearest cells, and are lent to those of the next cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.cell_search import Cells
from graphsoft.distributed.files import ArrayFile, rows_in_sections
from graphsoft.distributed.plan import Plan, check_distinct
from graphsoft.distributed.point_memory import check_largest
from graphsoft.distributed.run import Run
from graphsoft.distributed.sources import Source
from graphsoft.distributed.summing import summed
from graphsoft.distributed.tasks import Where
from graphsoft.errors import warn
from graphsoft.neighbors.points import Points, first_copies

__all__ = ["Routed", "route", "routed_rows"]


def route(run: Run, source: Source, plan: Plan) -> Array:
    """Sort the rows of every chunk by partition: stage "route-rows".

    Returns how many rows each partition gets, not counting copies in a chunk. If one gets so many, with those
    lent to it, that a process has no room for them, the run ends here.
    """
    records = run.stage(
        "route-rows", route_rows, plan.chunks, source=source, metric=plan.metric,
        chunk_rows=plan.chunk_rows, partitions=plan.partitions, lends=plan.lends,
    )  # fmt: skip
    empty = sum(int(record["without_direction"]) for record in records)
    if empty:
        warn(f"{empty} rows have no direction (all zero or constant) and stay without edges")
    counts = summed(run, "route-rows", len(plan.chunks), ["own", "lent"])
    own: Array = counts["own"]
    routed, seen = int(own.sum()), int((own + counts["lent"]).max())
    check_distinct(plan, routed)
    check_largest(plan, seen, sum(int(record["bytes"]) for record in records) / routed)
    return own


def route_rows(
    where: Where, source: Source, metric: str, chunk_rows: int, partitions: int, lends: int
) -> dict[str, Any]:
    """Sort the rows of a chunk by (partition, row), and those lent by (partition they are lent to, row).

    Of identical rows only the first is routed; of the others it is written down which one that is.
    """
    start = where.part * chunk_rows
    values = source.rows(start, min(start + chunk_rows, source.n))
    points = Points.of(values, metric)
    heads, place = np.unique(first_copies(points), return_inverse=True)
    if len(heads) < len(points):
        values = values[heads]
    dead = np.flatnonzero(points.factors[heads] == 0)  # they have no neighbors anywhere, so each partition
    del points  # takes some of them
    if partitions == 1:
        parts = np.zeros((len(heads), 1), dtype=np.int32)
    else:
        parts = Cells.read(where, metric).partitions_of(values, lends)
    rows = start + heads
    parts[dead, 0], parts[dead, 1:] = rows[dead] * partitions // source.n, -1
    own = np.argsort(parts[:, 0], kind="stable")
    own_counts = np.bincount(parts[:, 0], minlength=partitions)
    places, ranks = np.nonzero(parts[:, 1:] >= 0)
    to = parts[places, 1 + ranks]
    lent, lent_counts = places[np.lexsort((places, to))], np.bincount(to, minlength=partitions)
    arrays, cuts = _copies(parts[place, 0], start, heads[place], partitions)
    arrays |= {"own": own_counts, "lent": lent_counts}
    for name, some, counts in (("", own, own_counts), ("lent-", lent, lent_counts)):
        ptr = np.append(0, np.cumsum(counts))
        numbers = {f"{name}rows": rows[some]} | ({"lent-owners": parts[lent, 0]} if name else {})
        part = values if partitions == 1 and not name else values[some]
        made, cut = _features(f"{name}features", part, ptr)
        arrays, cuts = arrays | numbers | made, cuts | dict.fromkeys(numbers, ptr) | cut
    where.write(arrays, cuts)
    size = values.data.nbytes + values.indices.nbytes if source.sparse else values.nbytes
    return {"without_direction": len(dead), "bytes": size}


def _copies(
    part: Array, start: int, first: Array, partitions: int
) -> tuple[dict[str, Array], dict[str, Array]]:
    """List the rows of a chunk that equal an earlier one, by partition, and that earlier one."""
    copies = np.flatnonzero(first != np.arange(len(first)))
    copies = copies[np.argsort(part[copies], kind="stable")]
    arrays = {"copies": start + copies, "copies-of": start + first[copies]}
    return arrays, dict.fromkeys(arrays, np.searchsorted(part[copies], np.arange(partitions + 1)))


def _features(name: str, values: Any, ptr: Array) -> tuple[dict[str, Array], dict[str, Array]]:
    return rows_in_sections(name, values, ptr) if sp.issparse(values) else ({name: values}, {name: ptr})


@dataclass(frozen=True, eq=False)
class Routed:
    """Rows that came to a partition, from all chunks, and of each chunk no two that are identical.

    Attributes
    ----------
    rows : int64 ndarray of shape (n,)
        Their numbers, rising.
    owners : int32 ndarray of shape (n,)
        The partition that each belongs to.
    values : ndarray or csr_array of shape (n, d)
    copies, first : int64 ndarray
        The other rows of the partition, and for each the identical one among `rows`; none of them if only the
        partition's own rows are read.
    """

    rows: Array
    owners: Array
    values: Any
    copies: Array
    first: Array


def routed_rows(
    where: Where, chunks: int, sparse: bool, lent: bool = True, only: Array | None = None
) -> Routed:
    """Read the rows of this task's partition, and those lent to it, in order.

    Parameters
    ----------
    where : Where
    chunks : int
    sparse : bool
    lent : bool
        Whether to read those that are lent, too.
    only : ndarray, optional
        Rising numbers of rows; no others are kept.
    """
    numbers, owners = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    copies, first = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    orders, entries = [], 0
    for chunk in range(chunks):
        with where.open("route-rows", chunk) as file:
            rows, owned = _numbers(file, where.part, lent)
            order = np.argsort(rows, kind="stable")
            if only is not None:
                order = order[_among(rows[order], only)]
            if lent:
                copies.append(file.section("copies", where.part))
                first.append(file.section("copies-of", where.part))
            if sparse:
                entries += int(_counts(file, where.part, lent)[order].sum())
        numbers.append(rows[order])
        owners.append(owned[order])
        orders.append(order)
    fill = _filled_sparse if sparse else _filled
    rows, owned = np.concatenate(numbers), np.concatenate(owners)
    values = fill(where, orders, lent, len(rows), entries)
    return Routed(rows, owned, values, np.concatenate(copies), np.concatenate(first))


def _numbers(file: ArrayFile, part: int, lent: bool) -> tuple[Array, Array]:
    """Read the numbers of a partition's rows in a chunk, those lent to it last, and their owners."""
    rows = file.section("rows", part)
    owners = np.full(len(rows), part, dtype=np.int32)
    if not lent:
        return rows, owners
    others = file.section("lent-rows", part), file.section("lent-owners", part)
    return np.concatenate([rows, others[0]]), np.concatenate([owners, others[1]])


def _counts(file: ArrayFile, part: int, lent: bool) -> Array:
    names = ("features", "lent-features") if lent else ("features",)
    return np.concatenate([file.section(f"{name}/counts", part) for name in names])


def _among(rows: Array, only: Array) -> Array:
    """Tell which of the rows are among some; both rise."""
    return np.asarray(np.append(only, -1)[np.searchsorted(only, rows)] == rows)


def _filled(where: Where, orders: list[Array], lent: bool, count: int, _: int) -> Array:
    """Read dense features into one array, in which row `orders[chunk][i]` of a chunk comes i-th of it."""
    values, at = np.empty((0, 0)), 0
    for chunk, order in enumerate(orders):
        with where.open("route-rows", chunk) as file:
            parts = [file.section("features", where.part)]
            parts += [file.section("lent-features", where.part)] if lent else []
        if chunk == 0:
            values = np.empty((count, parts[0].shape[1]), dtype=parts[0].dtype)
        place = np.full(sum(len(part) for part in parts), -1)
        place[order] = np.arange(at, at + len(order))
        for part in parts:
            to, place = place[: len(part)], place[len(part) :]
            values[to[to >= 0]] = part[to >= 0]
        at += len(order)
    return values


def _filled_sparse(where: Where, orders: list[Array], lent: bool, count: int, entries: int) -> sp.csr_array:
    """Read sparse features, as `_filled` does."""
    kind = np.int32 if entries < 2**31 else np.int64
    ptr, at, filled, width = np.zeros(count + 1, dtype=kind), 0, 0, 0
    columns, values = np.empty(entries, dtype=kind), np.empty(0)
    for chunk, order in enumerate(orders):
        with where.open("route-rows", chunk) as file:
            parts = [file.rows("features", where.part)]
            parts += [file.rows("lent-features", where.part)] if lent else []
        if chunk == 0:
            width, values = parts[0].shape[1], np.empty(entries, dtype=parts[0].dtype)
        part = sp.csr_array(sp.vstack(parts, format="csr"))[order]
        ptr[at + 1 : at + 1 + len(order)] = filled + np.cumsum(np.diff(part.indptr))
        columns[filled : filled + part.nnz], values[filled : filled + part.nnz] = part.indices, part.data
        at, filled = at + len(order), filled + part.nnz
    return sp.csr_array((values, columns, ptr), shape=(count, width))
