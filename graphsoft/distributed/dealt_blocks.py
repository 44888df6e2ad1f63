"""Blocks of a graph that was dealt: their own nodes, the halo, and what they send to other blocks.

Nodes have new numbers, partition by partition: those of partition p begin at ``starts[p]``. Rows of a block
come either from the block of consecutive nodes that it is, or in sections from all blocks whose nodes moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.growing import distinct, ends_of
from graphsoft.distributed.tasks import Where

__all__ = ["built_block", "listed_rows"]


def listed_rows(where: Where, starts: Array, moved: int) -> None:
    """Write which rows of the input a partition has; each is a node."""
    if moved:
        rows = np.concatenate([rows for (rows,) in _sections(where, moved, "rows")])
    else:
        rows = np.arange(starts[where.part], starts[where.part + 1], dtype=np.int64)
    where.write({"rows": rows, "node": np.arange(len(rows), dtype=np.int32)})


def built_block(where: Where, starts: Array, moved: int, kind: type) -> dict[str, Any]:
    """Write the block of a partition.

    Parameters
    ----------
    where : Where
    starts : ndarray of shape (P + 1,)
        The new number of the first node of each partition.
    moved : int
        From how many blocks its rows come, 0 if they are a block already.
    kind : type
        Of the weights.
    """
    start, stop = int(starts[where.part]), int(starts[where.part + 1])
    matrix, degrees = _rows_of_partition(where, moved, int(starts[-1]))
    weights, columns, ptr = matrix.data.astype(kind), matrix.indices, matrix.indptr
    del matrix
    outside = (columns < start) | (columns >= stop)
    sent, cut = _sent(columns, ptr, outside, starts)
    halo, places = ends_of(columns[outside])
    crossing = len(places)
    columns -= start
    columns[outside] = places + (stop - start)
    del outside, places
    halo_part = np.searchsorted(starts, halo, side="right") - 1
    where.write(
        {
            "ptr": ptr.astype(np.int64),
            "columns": columns.astype(np.int32, copy=False),
            "weights": weights,
            "degrees": degrees,
            "copies": np.ones(stop - start, dtype=np.int32),
            "halo_part": halo_part.astype(np.int32),
            "halo_place": (halo - starts[halo_part]).astype(np.int32),
            "sent": sent,
        },
        {"sent": cut},
    )
    some_degrees = degrees[degrees > 0]
    return {
        "nodes": stop - start,
        "rows": stop - start,
        "entries": len(columns),
        "crossing": crossing,
        "halo": len(halo),
        "weight": degrees.sum(),
        "degree_logs": (some_degrees * np.log(some_degrees)).sum(),
        "alone": np.count_nonzero(np.diff(ptr) == 0),
    }


def _rows_of_partition(where: Where, moved: int, nodes: int) -> tuple[sp.csr_array, Array]:
    """Read the rows of a partition, with new numbers as columns, rising in each row; and the degrees."""
    if moved:
        ptr = np.concatenate([[0], *(counts for (counts,) in _sections(where, moved, "counts"))])
        ptr = np.cumsum(ptr, dtype=np.int64)
        columns, weights = np.empty(ptr[-1], dtype=np.int32), np.empty(ptr[-1])
        degrees, entries, rows = np.empty(len(ptr) - 1), 0, 0
        for some, theirs, sums in _sections(where, moved, "columns", "weights", "degrees"):
            columns[entries : entries + len(some)], weights[entries : entries + len(some)] = some, theirs
            degrees[rows : rows + len(sums)] = sums
            entries, rows = entries + len(some), rows + len(sums)
    else:
        with where.open("sort-edges", where.part) as file:
            ptr, columns, weights, degrees = (file.array(k) for k in ("ptr", "columns", "weights", "degrees"))
    matrix = sp.csr_array((weights, columns, ptr), shape=(len(degrees), nodes))
    if moved:
        matrix.sort_indices()
    return matrix, degrees


def _sections(where: Where, moved: int, *names: str) -> Iterator[list[Array]]:
    """Read what each block has for a partition."""
    for block in range(moved):
        with where.open("move-edges", block) as file:
            yield [file.section(name, where.part) for name in names]


def _sent(columns: Array, ptr: Array, outside: Array, starts: Array) -> tuple[Array, Array]:
    """List the own nodes that each other partition sees: as edges go both ways, those with an edge to it."""
    nodes = max(1, len(ptr) - 1)
    rows = np.repeat(np.arange(len(ptr) - 1, dtype=np.int32), np.diff(ptr))[outside]
    keys = np.searchsorted(starts, columns[outside], side="right") - 1
    keys *= nodes
    keys += rows
    keys = distinct(keys)
    cut = np.searchsorted(keys, np.arange(len(starts)) * nodes)
    return (keys % nodes).astype(np.int32), cut
