"""Readers of arrays and matrices: npy, npz and Matrix Market."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from graphsoft.aliases import Array
from graphsoft.datasets.archives import array_in, arrays_of
from graphsoft.datasets.asked import Asked
from graphsoft.datasets.byte_limit import ByteLimit
from graphsoft.datasets.dataset import Dataset
from graphsoft.errors import InputError
from graphsoft.input.sparse_input import matrix_of_parts

__all__ = ["read_mtx", "read_npy", "read_npz"]

NPY = b"\x93NUMPY"
# Names of arrays that make a matrix without a format one in CSR.
CSR = frozenset({"data", "indices", "indptr", "shape"})
# An entry of Matrix Market in memory: row, column and value, as they are read and once more in order.
ENTRY_BYTES = 2 * (8 + 8 + 8)
NUMBER_BYTES = {"pattern": 8, "complex": 16}


def read_npy(path: Path, asked: Asked) -> Dataset:
    """Read an array."""
    with open(path, "rb") as file:  # NumPy would leave a file open that is something else
        if file.read(len(NPY)) != NPY:
            raise ValueError("it is no array")
    # mapped into memory, so that a header that promises more than the file holds allocates nothing
    return Dataset(np.lib.format.open_memmap(path, mode="r"))


def read_npz(path: Path, asked: Asked) -> Dataset:
    """Read an archive of arrays, which may be the parts of a sparse matrix."""
    labels = asked.labels
    with open(path, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("it is no archive of arrays")
        with zipfile.ZipFile(file) as archive:
            stored = arrays_of(archive, asked.limit)
            if labels is not None and labels not in stored:
                raise InputError(
                    "labels", f"there is no array {labels!r}", f"choose one of {', '.join(stored)}"
                )
            known = None if labels is None else array_in(archive, stored[labels])
            candidates = {name: entry for name, entry in stored.items() if name != labels}
            if "format" in candidates or candidates.keys() >= CSR:
                parts = {name: array_in(archive, entry) for name, entry in candidates.items()}
                data: Any = _matrix(parts, asked.limit)
            elif "X" in candidates or len(candidates) == 1:
                data = array_in(archive, candidates.get("X", next(iter(candidates.values()))))
            else:
                held = ", ".join(stored) or "no arrays"
                raise InputError("path", f"{path.name!r} holds {held}", "call the data X")
    if known is not None and known.shape != data.shape[:1]:
        problem = f"array {labels!r} has shape {known.shape}, the data {data.shape}"
        raise InputError("labels", problem, "give one label for each point")
    return Dataset(data, known)


def _matrix(parts: Mapping[str, Array], limit: ByteLimit) -> csr_array:
    """Make a matrix of its parts, which may say anything."""
    format = parts["format"].item() if "format" in parts else "csr"
    shape = tuple(parts["shape"].tolist())
    arrays = {name: values for name, values in parts.items() if name not in ("format", "shape")}
    if "coords" in arrays:  # how SciPy saves coordinates in any number of dimensions
        arrays["row"], arrays["col"] = arrays["coords"]
    if isinstance(shape[0], int):
        limit.check(8 * shape[0])  # a pointer for each row
    found = SimpleNamespace(
        format=format.decode("ascii") if isinstance(format, bytes) else format, shape=shape, **arrays
    )
    return matrix_of_parts(found, "path")


def read_mtx(path: Path, asked: Asked) -> Dataset:
    """Read a matrix in the format of Matrix Market."""
    from scipy.io import mminfo, mmread

    with asked.limit.opened(path) as file:
        rows, columns, entries, form, kind, _ = mminfo(file)
    bytes_each = NUMBER_BYTES.get(kind, 8)
    # SciPy makes room for what the header says before it reads on
    asked.limit.check(rows * columns * bytes_each if form == "array" else ENTRY_BYTES * entries + 8 * rows)
    with asked.limit.opened(path) as file:
        matrix = mmread(file)
    return Dataset(matrix if isinstance(matrix, np.ndarray) else csr_array(matrix))
