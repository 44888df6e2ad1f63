"""Rows of matrices in HDF5 files and zarr stores, as AnnData writes them: dense, or sparse by rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.row_pieces import (
    DAMAGED,
    NEAR,
    PIECE,
    Read,
    State,
    check_numbers,
    file_state,
    file_traits,
)
from graphsoft.errors import InputError, imported

__all__ = ["StoreRows", "is_zarr", "store_rows"]

INSTALL = "'graphsoft[anndata]'"
ENTRIES = PIECE // 8  # of a sparse matrix, that are held beside the rows that are made of them


@dataclass(frozen=True)
class StoreRows:
    """A matrix in an HDF5 file or a zarr store.

    Attributes
    ----------
    path : str
    state : tuple of int
        Of the file, or of the folder of the store, when it was looked at.
    part : str
        Where the matrix is in it; empty for a store that is one array.
    length, width : int
    dtype : str
    sparse : bool
    unit : int
        So many rows are compressed together.
    columns : tuple of str or None
    """

    path: str
    state: State
    part: str
    length: int
    width: int
    dtype: str
    sparse: bool
    unit: int
    columns: tuple[str, ...] | None = None

    @contextmanager
    def opened(self) -> Iterator[Read]:
        """Open it, to read rows in blocks that end where compressed chunks end."""
        file_state(self.path, self.state)
        with _opened(self.path) as root:
            matrix = root[self.part] if self.part else root
            yield partial(self._sparse if self.sparse else self._dense, matrix)

    def _dense(self, matrix: Any, start: int, stop: int) -> Iterator[Array]:
        row_bytes = self.width * np.dtype(self.dtype).itemsize
        step = max(1, PIECE // (row_bytes * self.unit)) * self.unit
        for begin in range(start - start % step, stop, step):
            yield np.asarray(matrix[max(begin, start) : min(begin + step, stop)])

    def _sparse(self, group: Any, start: int, stop: int) -> Iterator[sp.csr_array]:
        ptr = np.asarray(group["indptr"][start : stop + 1]).astype(np.int64)
        stored = group["data"].shape[0]
        if len(ptr) != stop - start + 1 or (np.diff(ptr) < 0).any() or ptr[0] < 0 or ptr[-1] > stored:
            problem = f"{self.path!r} holds a malformed sparse matrix {self.part!r}"
            raise InputError("X", f"{problem}: its indptr does not fit", DAMAGED)
        row = 0
        while row < stop - start:
            end = max(row + 1, int(np.searchsorted(ptr, ptr[row] + ENTRIES, side="right")) - 1)
            end = min(end, stop - start)
            first, last = int(ptr[row]), int(ptr[end])
            values, columns = (np.asarray(group[name][first:last]) for name in ("data", "indices"))
            if len(columns) and (columns.min() < 0 or columns.max() >= self.width):
                problem = f"{self.path!r} holds a malformed sparse matrix {self.part!r}"
                raise InputError("X", f"{problem}: columns beyond {self.width - 1}", DAMAGED)
            shape = (end - row, self.width)
            yield sp.csr_array((values, columns, ptr[row : end + 1] - first), shape=shape)
            row = end

    def together(self, rows: Array) -> Array:
        """Give rows that are best read in one go the same number."""
        return rows // self.unit

    def traits(self) -> list[Any]:
        """Tell what the file is known by."""
        return [*file_traits(self.path), self.part]


def is_zarr(path: str) -> bool:
    """Tell whether a folder is a zarr store, of version 2 or 3.

    Examples
    --------
    >>> is_zarr("/")
    False
    """
    return any(os.path.isfile(os.path.join(path, name)) for name in ("zarr.json", ".zarray", ".zgroup"))


def store_rows(path: str, part: str | None) -> StoreRows:
    """Read what a store says of one of its matrices."""
    state = file_state(path)
    with _opened(path) as root:
        whole = hasattr(root, "shape")
        if whole and part is not None:
            raise InputError("part", f"got {part!r}, but {path!r} is one array", "leave it out")
        part = "" if whole else "X" if part is None else part
        node = root if whole else _found(path, root, part)
        form = _form(node)
        if form not in ("array", "csr_matrix"):
            held = "is stored by columns" if form == "csc_matrix" else f"is a {form or 'group'}"
            remedy = "store it by rows: .tocsr()" if form == "csc_matrix" else "choose a matrix"
            raise InputError("X", f"{part!r} of {path!r} {held}", remedy)
        sparse = form == "csr_matrix"
        shape = tuple(map(int, _attribute(node, "shape") if sparse else node.shape))
        values = node["data"] if sparse else node
        check_numbers(path, shape, values.dtype)
        unit = _sparse_unit(path, node, shape) if sparse else _dense_unit(node)
        columns = (
            _names(path, root, shape[1]) if part in ("X", "raw/X") or part.startswith("layers/") else None
        )
        kind = np.dtype(values.dtype).str
        return StoreRows(path, state, part, shape[0], shape[1], kind, sparse, max(1, int(unit)), columns)


def _found(path: str, root: Any, part: str) -> Any:
    if part.startswith("obsp"):
        raise InputError("part", f"{part!r} is a graph, not a table of points", "choose X or one of obsm")
    if part not in root:
        held = [name for name in ("X",) if name in root]
        held += [f"{group}/{name}" for group in ("obsm", "layers") if group in root for name in root[group]]
        choice = ", ".join(map(repr, held or root)) or "another file"
        raise InputError("part", f"{path!r} has no {part!r}", f"choose one of {choice}")
    return root[part]


def _form(node: Any) -> str | None:
    """Tell what AnnData calls this kind of element."""
    if hasattr(node, "shape"):
        return "array"
    named = _attribute(node, "encoding-type")
    if named is None:  # as anndata wrote until 0.7
        old = _attribute(node, "h5sparse_format")
        named = None if old is None else f"{old.decode() if isinstance(old, bytes) else old}_matrix"
    return None if named is None else str(named)


def _attribute(node: Any, name: str) -> Any:
    if name == "shape" and name not in node.attrs:
        name = "h5sparse_shape"
    return node.attrs.get(name)


def _dense_unit(node: Any) -> int:
    row_bytes = node.shape[1] * node.dtype.itemsize
    return int((getattr(node, "chunks", None) or (NEAR // row_bytes,))[0])


def _sparse_unit(path: str, node: Any, shape: tuple[int, ...]) -> int:
    lengths = {name: int(node[name].shape[0]) for name in ("data", "indices", "indptr")}
    if lengths["indptr"] != shape[0] + 1 or lengths["data"] != lengths["indices"]:
        problem = f"{path!r} holds a malformed sparse matrix of shape {shape}: {lengths}"
        raise InputError("X", problem, DAMAGED)
    chunk = (getattr(node["data"], "chunks", None) or (4096,))[0]
    return int(chunk * shape[0] // max(1, lengths["data"]))


def _names(path: str, root: Any, width: int) -> tuple[str, ...] | None:
    if "var" not in root:
        return None
    read_elem = imported("anndata.io", "h5ad", INSTALL).read_elem
    names = tuple(map(str, read_elem(root["var"]).index))
    if len(names) != width:
        raise InputError("X", f"{path!r} names {len(names)} variables, but has {width} columns", DAMAGED)
    return names


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    if os.path.isdir(path):
        zarr = imported("zarr", "zarr", "zarr")
        yield zarr.open(path, mode="r")
        return
    # without a lock, because shared file systems often have none, and readers need none
    with imported("h5py", "h5ad", INSTALL).File(path, "r", locking=False) as file:
        yield file
