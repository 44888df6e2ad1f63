"""Blocks of a graph that was dealt: their own nodes, the halo, and what they send to other blocks.

Nodes have new numbers, partition by partition: those of partition p begin at ``starts[p]``. Rows of a block
come either from the block of consecutive nodes that it is, or in sections from all blocks whose nodes moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.block_files import write_block
from graphsoft.distributed.growing import distinct, ends_of
from graphsoft.distributed.tasks import Where, sections_for
from graphsoft.kernels import Rows
from graphsoft.linalg.csr import pointers

__all__ = ["built_block", "listed_rows"]


def listed_rows(where: Where, movers: Array | None, starts: Array) -> None:
    """Write which rows of the input a partition has; each is a node."""
    if movers is None:
        rows = np.arange(starts[where.part], starts[where.part + 1], dtype=np.int64)
    else:
        rows = np.concatenate(sections_for(where, "move-edges", movers, rows=np.int64)["rows"])
    where.write({"rows": rows, "node": np.arange(len(rows), dtype=np.int32)})


def built_block(where: Where, movers: Array | None, starts: Array, kind: type) -> dict[str, Any]:
    """Write the block of a partition.

    Parameters
    ----------
    where : Where
    movers : ndarray or None
        From which blocks its rows come; None if they are a block already.
    starts : ndarray of shape (P + 1,)
        The new number of the first node of each partition.
    kind : type
        Of the weights.
    """
    start, stop = int(starts[where.part]), int(starts[where.part + 1])
    matrix, degrees = _rows_of_partition(where, movers, int(starts[-1]))
    weights, columns, ptr = matrix.data.astype(kind), matrix.indices, matrix.indptr
    del matrix
    outside = (columns < start) | (columns >= stop)
    sent = _sent(columns, ptr, outside, starts)
    halo, places = ends_of(columns[outside])
    columns -= start
    columns[outside] = places + (stop - start)
    del outside, places
    halo_part = np.searchsorted(starts, halo, side="right") - 1
    halo_place = (halo - starts[halo_part]).astype(np.int32)
    edges = Rows(ptr.astype(np.int64), columns.astype(np.int32, copy=False), weights)
    copies = np.ones(stop - start, dtype=np.int32)
    return write_block(where, edges, degrees, copies, (halo_part.astype(np.int32), halo_place), sent)


def _rows_of_partition(where: Where, movers: Array | None, nodes: int) -> tuple[sp.csr_array, Array]:
    """Read the rows of a partition, with new numbers as columns, rising in each row; and the degrees."""
    if movers is None:
        with where.open("sort-edges", where.part) as file:
            ptr, columns, weights, degrees = (file.array(k) for k in ("ptr", "columns", "weights", "degrees"))
    else:
        read = sections_for(
            where, "move-edges", movers,
            columns=np.int32, weights=np.float64, degrees=np.float64, counts=np.int32,
        )  # fmt: skip
        columns, weights, degrees, counts = (np.concatenate(read.pop(name)) for name in list(read))
        ptr = pointers(counts)
    matrix = sp.csr_array((weights, columns, ptr), shape=(len(degrees), nodes))
    if movers is not None:
        matrix.sort_indices()
    return matrix, degrees


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
