"""Readers of arrays and matrices: npy, npz and Matrix Market."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, load_npz

from graphsoft.datasets.asked import Asked
from graphsoft.datasets.dataset import Dataset
from graphsoft.errors import InputError

__all__ = ["read_mtx", "read_npy", "read_npz"]

NPY = b"\x93NUMPY"
# Parts of a sparse matrix that must be whole numbers: SciPy would cut off what is behind a decimal point.
WHOLE = frozenset({"indices", "indptr", "row", "col", "offsets", "shape"})


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
    # opened here, because NumPy would leave a file open that is no archive
    with open(path, "rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it is no archive of arrays")
        stored = list(archive.files)
        if labels is not None and labels not in stored:
            raise InputError("labels", f"there is no array {labels!r}", f"choose one of {', '.join(stored)}")
        known = None if labels is None else np.array(archive[labels])
        candidates = [name for name in stored if name != labels]
        for name in WHOLE.intersection(candidates):
            if "data" in candidates and archive[name].dtype.kind not in "iu":
                raise ValueError(f"{name} has dtype {archive[name].dtype}, not whole numbers")
        if "format" in candidates:
            file.seek(0)
            data = load_npz(file)
        elif {"data", "indices", "indptr", "shape"} <= set(candidates):
            parts = tuple(archive[name] for name in ("data", "indices", "indptr"))
            data = csr_array(parts, shape=tuple(archive["shape"].tolist()))
        elif "X" in candidates or len(candidates) == 1:
            data = archive["X" if "X" in candidates else candidates[0]]
        else:
            held = ", ".join(stored) or "no arrays"
            raise InputError("path", f"{path.name!r} holds {held}", "call the data X")
    if known is not None and known.shape != data.shape[:1]:
        problem = f"array {labels!r} has shape {known.shape}, the data {data.shape}"
        raise InputError("labels", problem, "give one label for each point")
    return Dataset(data, known)


def read_mtx(path: Path, asked: Asked) -> Dataset:
    """Read a matrix in the format of Matrix Market."""
    from scipy.io import mmread

    matrix = mmread(path)
    return Dataset(matrix if isinstance(matrix, np.ndarray) else csr_array(matrix))
