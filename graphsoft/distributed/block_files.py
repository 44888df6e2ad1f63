"""Files of the stage "graph": the edges of a partition, its halo, and what it sends to others."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.files import ArrayFile
from graphsoft.distributed.tasks import Where
from graphsoft.kernels import Rows
from graphsoft.linalg.csr import index_type

__all__ = ["edges_of", "read_edges", "write_block"]


def write_block(
    where: Where, edges: Rows, degrees: Array, copies: Array, halo: tuple[Array, Array],
    sent: tuple[Array, Array], **more: Array,
) -> dict[str, Any]:  # fmt: skip
    """Write a block; returns its record.

    Parameters
    ----------
    where : Where
    edges : Rows
        Columns are the nodes of the block, and then those of the halo.
    degrees, copies : ndarray
        Of the nodes; copies are the rows of the input that each stands for.
    halo : tuple of ndarray
        Partition and place of each node of the halo, rising.
    sent : tuple of ndarray
        The nodes that each other partition has in its halo, and where those for each begin.
    **more : ndarray
        What else the file has.
    """
    ptr, columns, weights = edges
    arrays = more | {
        "ptr": ptr, "columns": columns, "weights": weights, "degrees": degrees, "copies": copies,
        "halo_part": halo[0], "halo_place": halo[1], "sent": sent[0],
    }  # fmt: skip
    where.write(arrays, {"sent": sent[1]})
    positive = degrees[degrees > 0]
    return {
        "nodes": len(degrees), "entries": len(columns), "halo": len(halo[0]),
        "crossing": np.count_nonzero(columns >= len(degrees)), "weight": degrees.sum(),
        "degree_logs": (positive * np.log(positive)).sum(),
    }  # fmt: skip


def read_edges(file: ArrayFile) -> sp.csr_array:
    """Read the edges of a block."""
    ptr, columns, weights = (file.array(name) for name in ("ptr", "columns", "weights"))
    return edges_of(ptr, columns, weights, file.shape("halo_part")[0])


def edges_of(ptr: Array, columns: Array, weights: Array, halo: int) -> sp.csr_array:
    """Make a matrix of what a file has; columns are the nodes of the block, and then those of the halo."""
    nodes = len(ptr) - 1
    ptr = ptr.astype(index_type(int(ptr[-1])), copy=False)
    return sp.csr_array((weights, columns, ptr), shape=(nodes, nodes + halo))
