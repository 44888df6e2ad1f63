"""Rows go to the partitions of their nearest cells, and are lent to those of the next cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.cell_search import Cells
from graphsoft.distributed.files import ArrayFile, value_in_sections
from graphsoft.distributed.plan import Plan, check_distinct
from graphsoft.distributed.point_memory import check_largest
from graphsoft.distributed.run import Run
from graphsoft.distributed.sources import Source
from graphsoft.distributed.summing import summed
from graphsoft.distributed.tasks import Where
from graphsoft.errors import warn
from graphsoft.linalg.csr import index_type, pointers
from graphsoft.neighbors.points import Points, first_copies

__all__ = ["Routed", "Sizes", "route", "routed_rows"]


class Sizes(NamedTuple):
    """What comes to each partition, not counting copies in a chunk.

    Attributes
    ----------
    own, seen : int64 ndarray of shape (P, 2)
        How many rows, and how many entries of sparse rows: of its own, and with those lent to it.
    """

    own: Array
    seen: Array


def route(run: Run, source: Source, plan: Plan) -> Sizes:
    """Sort the rows of every chunk by partition: stage "route-rows".

    If a partition gets so many, with those lent to it, that a process has no room for them, the run ends
    here.
    """
    records = run.stage(
        "route-rows", route_rows, plan.chunks, source=source, metric=plan.metric,
        chunk_rows=plan.chunk_rows, partitions=plan.partitions, lends=plan.lends,
    )  # fmt: skip
    empty = sum(int(record["without_direction"]) for record in records)
    if empty:
        warn(f"{empty} rows have no direction (all zero or constant) and stay without edges")
    counts = summed(run, "route-rows", len(plan.chunks), ["own", "lent"])
    sizes = Sizes(counts["own"], counts["own"] + counts["lent"])
    routed = int(sizes.own[:, 0].sum())
    check_distinct(plan, routed)
    row_bytes = sum(int(record["bytes"]) for record in records) / routed
    check_largest(plan, int(sizes.seen[:, 0].max()), row_bytes)
    return sizes


def route_rows(
    where: Where, source: Source, metric: str, chunk_rows: int, partitions: int, lends: int
) -> dict[str, Any]:
    """Sort the rows of a chunk by (partition, row), and those lent by (partition they are lent to, row).

    Only the first of identical rows is routed; the others are listed with its number.
    """
    start = where.part * chunk_rows
    values = source.rows(start, min(start + chunk_rows, source.n))
    points = Points.of(values, metric)
    heads, place = np.unique(first_copies(points), return_inverse=True)
    if len(heads) < len(points):
        values = values[heads]
    # they have no neighbors anywhere, so each partition takes some of them
    dead = np.flatnonzero(points.factors[heads] == 0)
    del points
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
    entries = np.diff(values.indptr) if source.sparse else np.zeros(len(heads), dtype=np.int64)
    for name, some, counts in (("", own, own_counts), ("lent-", lent, lent_counts)):
        ptr = np.append(0, np.cumsum(counts))
        before = np.append(0, np.cumsum(entries[some], dtype=np.int64))[ptr]
        arrays["lent" if name else "own"] = np.stack([counts, np.diff(before)], axis=1)
        numbers = {f"{name}rows": rows[some]} | ({"lent-owners": parts[lent, 0]} if name else {})
        part = values if partitions == 1 and not name else values[some]
        made, cut = value_in_sections(f"{name}features", part, ptr)
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


@dataclass(frozen=True, eq=False)
class Routed:
    """Rows that came to a partition, from all chunks, and of each chunk no two that are identical.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n, d)
    rows : int64 ndarray of shape (n,)
        Their numbers, rising.
    owners : int32 ndarray of shape (n,)
        The partition that each belongs to.
    copies, first : int64 ndarray
        The other rows of the partition, and for each the identical one among `rows`; none of them if only the
        partition's own rows are read.
    """

    values: Any
    rows: Array
    owners: Array
    copies: Array
    first: Array


def routed_rows(
    where: Where, chunks: int, sparse: bool, size: Sequence[int], lent: bool = True, only: Array | None = None
) -> Routed:
    """Read the rows of this task's partition, and those lent to it, in order.

    Parameters
    ----------
    where : Where
    chunks : int
    sparse : bool
    size : sequence of int
        How many rows there are at most, and how many entries if they are sparse.
    lent : bool
        Whether to read those that are lent, too.
    only : ndarray, optional
        Rising numbers of rows; no others are kept.
    """
    numbers, owners = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
    copies, first = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    values: _SparseRows | _DenseRows = _SparseRows(*size) if sparse else _DenseRows(*size)
    for chunk in range(chunks):
        with where.open("route-rows", chunk) as file:
            rows, owned = _numbers(file, where.part, lent)
            names = ("features", "lent-features") if lent else ("features",)
            parts = [file.value(name, where.part) for name in names]
            if lent:
                copies.append(file.section("copies", where.part))
                first.append(file.section("copies-of", where.part))
        order = np.argsort(rows, kind="stable")
        if only is not None:
            order = order[_among(rows[order], only)]
        numbers.append(rows[order])
        owners.append(owned[order])
        values.add(parts, order)
    lists = (np.concatenate(each) for each in (numbers, owners, copies, first))
    return Routed(values.whole(), *lists)


def _numbers(file: ArrayFile, part: int, lent: bool) -> tuple[Array, Array]:
    """Read the numbers of a partition's rows in a chunk, those lent to it last, and their owners."""
    rows = file.section("rows", part)
    owners = np.full(len(rows), part, dtype=np.int32)
    if not lent:
        return rows, owners
    others = file.section("lent-rows", part), file.section("lent-owners", part)
    return np.concatenate([rows, others[0]]), np.concatenate([owners, others[1]])


def _among(rows: Array, only: Array) -> Array:
    """Tell which of the rows are among some; both rise."""
    return np.asarray(np.append(only, -1)[np.searchsorted(only, rows)] == rows)


class _DenseRows:
    """Dense rows that are collected in one array, with room for so many."""

    def __init__(self, rows: int, _: int) -> None:
        self._values, self._room, self._rows = np.empty((0, 0)), rows, 0

    def add(self, parts: list[Array], order: Array) -> None:
        """Add rows: of all parts, one after the other, those in this order."""
        if not self._values.size:
            self._values = np.empty((self._room, parts[0].shape[1]), dtype=parts[0].dtype)
        place = np.full(sum(len(part) for part in parts), -1)
        place[order] = np.arange(self._rows, self._rows + len(order))
        for part in parts:
            to, place = place[: len(part)], place[len(part) :]
            self._values[to[to >= 0]] = part[to >= 0]
        self._rows += len(order)

    def whole(self) -> Array:
        """Return what was added."""
        return self._values[: self._rows]


class _SparseRows:
    """Sparse rows that are collected in one matrix, with room for so many rows and entries."""

    def __init__(self, rows: int, entries: int) -> None:
        self._counts, self._columns = np.empty(rows, dtype=np.int32), np.empty(entries, index_type(entries))
        self._values, self._width, self._rows, self._entries = np.empty(0), 0, 0, 0

    def add(self, parts: list[sp.csr_array], order: Array) -> None:
        """Add rows, as `_DenseRows` does."""
        if not self._values.size:
            self._width = parts[0].shape[1]
            self._values = np.empty(len(self._columns), dtype=parts[0].dtype)
        added = sp.csr_array(sp.vstack(parts, format="csr"))[order]
        rows, entries = self._rows + len(order), self._entries + added.nnz
        self._counts[self._rows : rows] = np.diff(added.indptr)
        self._columns[self._entries : entries] = added.indices
        self._values[self._entries : entries] = added.data
        self._rows, self._entries = rows, entries

    def whole(self) -> sp.csr_array:
        """Return what was added."""
        values, columns = self._values[: self._entries], self._columns[: self._entries]
        shape = self._rows, self._width
        return sp.csr_array((values, columns, pointers(self._counts[: self._rows])), shape=shape)
