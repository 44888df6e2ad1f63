"""Whatever `hierarchy` takes as rows with features, seen as one `Source`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from graphsoft.aliases import Array
from graphsoft.deadline import NEVER, Deadline
from graphsoft.distributed.given import written
from graphsoft.distributed.given_by_dask import is_of_dask, written_by_dask
from graphsoft.distributed.noted_source import noted
from graphsoft.distributed.npy_rows import NpyRows
from graphsoft.distributed.row_files import RowsInFiles, rows_in_files
from graphsoft.distributed.row_pieces import file_state, stacked
from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.graph.networks import is_network
from graphsoft.input.mapped import is_mapped, is_plain

__all__ = ["GIVEN", "Source", "chosen_rows", "lists_paths", "source_of"]

GIVEN = "given"  # the folder in a run's directory for what it needs to read the data
# Gaps of fewer rows than this are read through rather than skipped.
NEAR = 64


@runtime_checkable
class Source(Protocol):
    """Points with features, of which any rows can be read, in any process. It is picklable and small."""

    @property
    def n(self) -> int:
        """The number of rows."""
        ...

    @property
    def d(self) -> int:
        """The number of features."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether rows come as a ``csr_array``."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the features."""
        ...

    def rows(self, start: int, stop: int) -> Any:
        """Read the rows ``start:stop``, checked: finite, contiguous and not rounded."""
        ...

    def identity(self) -> dict[str, Any]:
        """Tell what the data are known by: plain values, which change if the data do."""
        ...


def source_of(
    X: Any, directory: str | os.PathLike[str], client: Any = None, deadline: Deadline = NEVER
) -> Source:
    """See data of any kind as a source.

    Parameters
    ----------
    X : Source, path, list of paths, array_like, data frame, sparse matrix, memmap, or dask array or frame
        Files are read where they are, and the file of a memmap too. What is in memory, and what Dask
        computes, is written to the directory once.
    directory : path-like
        Of the run.
    client : distributed.Client, optional
        What computes the blocks of a Dask array.
    deadline : Deadline
        When it is over, `RunStopped` is raised after the next block of a Dask array.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = source_of([[1, 2], [3, 4], [5, 6]], folder)
    ...     source.n, source.dtype, source.rows(1, 3).tolist()
    (3, dtype('float64'), [[3.0, 4.0], [5.0, 6.0]])
    """
    folder = Path(os.path.abspath(directory), GIVEN)
    _refuse(X)
    if isinstance(X, Source) and not isinstance(X, RowsInFiles):
        return X
    return noted(_found(X, folder, client, deadline), folder)


def _found(X: Any, folder: Path, client: Any, deadline: Deadline) -> RowsInFiles:
    if isinstance(X, RowsInFiles):
        return X
    empty = isinstance(X, (list, tuple)) and not X
    if isinstance(X, (str, os.PathLike)) or lists_paths(X) or empty:
        return rows_in_files(X)
    mapped = _mapped(X)
    if mapped is not None:
        return RowsInFiles((mapped,), "memmap")
    files = written_by_dask(X, folder, client, deadline) if is_of_dask(X) else written(X, folder)
    return RowsInFiles(tuple(files), "given")


def chosen_rows(source: Source, rows: Array) -> Any:
    """Read the given rows, in memory for little more than these.

    Parameters
    ----------
    source : Source
    rows : int64 ndarray
        Rising.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = source_of([[1, 2], [3, 4], [5, 6]], folder)
    ...     chosen_rows(source, np.array([0, 2])).tolist()
    [[1.0, 2.0], [5.0, 6.0]]
    """
    if hasattr(source, "sampled"):
        return source.sampled(rows)
    parts = []
    for run in np.split(rows, np.flatnonzero(np.diff(rows // NEAR)) + 1) if len(rows) else ():
        parts.append(source.rows(int(run[0]), int(run[-1]) + 1)[run - run[0]])
    if source.sparse:
        return stacked(parts, source.d)
    return np.concatenate([np.empty((0, source.d), dtype=source.dtype), *parts])


def lists_paths(X: Any) -> bool:
    """Tell whether something is a list of paths.

    Examples
    --------
    >>> lists_paths(["a.npy", "b.npy"]), lists_paths([[1, 2], [3, 4]]), lists_paths([])
    (True, False, False)
    """
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and all(isinstance(each, (str, os.PathLike)) for each in X)
    )


def _refuse(X: Any) -> None:
    """Refuse what is no table, and what would be read into memory as a whole."""
    if isinstance(X, Graph) or is_network(X):
        remedy = "write its edges to files, and pass graphsoft.partitioned_graph(folder)"
        raise InputError("X", "is a graph in memory, not a table of points", remedy)
    library = type(X).__module__.partition(".")[0]
    if library in ("dask", "distributed") and not is_of_dask(X):
        raise InputError("X", f"is a {type(X).__name__} of Dask", "pass a Dask array with known columns")
    if library in ("h5py", "zarr"):
        remedy = "pass the path, or graphsoft.rows_in_files(path, part=...)"
        raise InputError("X", f"is an open {type(X).__name__} of {library}", remedy)
    if hasattr(X, "dims") and getattr(X, "chunks", None):
        raise InputError("X", "is an array of xarray in chunks", "pass the Dask array X.data")


def _mapped(X: Any) -> NpyRows | None:
    """Find the bytes of a mapped array in its file; None if it has no such place, and has to be copied."""
    if not is_plain(X) or X.ndim != 2 or 0 in X.shape or not is_mapped(X):
        return None
    if not X.flags.c_contiguous or X.dtype.kind not in "biuf" or X.dtype.itemsize > 8:
        return None
    whole: Any = X
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    name = getattr(whole, "filename", None)
    if name is None or whole.mode not in ("r", "r+", "w+"):  # no name, or changes that only this process sees
        return None
    if whole.mode != "r":
        whole.flush()
    offset = whole.offset + X.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    path = os.path.abspath(name)
    if not os.path.isfile(path) or os.path.getsize(path) < offset + X.nbytes:
        return None
    found = NpyRows(path, file_state(path), X.shape[0], X.shape[1], X.dtype.str, offset)
    # another file may have taken the name since
    with found.opened() as read:
        same = [next(read(row, row + 1)).tobytes() == X[row].tobytes() for row in (0, len(X) - 1)]
    return found if all(same) else None
