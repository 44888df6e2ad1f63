"""The public function `rows_in_files`: points with features in one file or in many, seen as one table."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.edge_tables import refuse_edges
from graphsoft.distributed.locking import LOCK, was_held
from graphsoft.distributed.npy_rows import npy_rows
from graphsoft.distributed.parquet_rows import parquet_rows
from graphsoft.distributed.row_pieces import (
    DAMAGED,
    REACHED,
    RowFile,
    checked_floats,
    checked_rows,
    floats_for,
    stacked,
)
from graphsoft.distributed.store_rows import is_zarr, store_rows
from graphsoft.errors import InputError, shown
from graphsoft.input.dense_input import warn_of_columns
from graphsoft.storage.atomic import PathLike

__all__ = ["RowsInFiles", "rows_in_files"]

FORMATS = {
    ".npy": "npy", ".parquet": "parquet", ".pq": "parquet", ".h5ad": "h5ad", ".h5": "h5ad", ".hdf5": "h5ad",
    ".zarr": "zarr",
}  # fmt: skip

PASSED = (InputError, ImportError, MemoryError)


def rows_in_files(
    path: PathLike | Sequence[PathLike],
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    part: str | None = None,
) -> RowsInFiles:
    """See the rows of files as one table, of which nothing is read but headers.

    Parameters
    ----------
    path : path-like, or sequence of path-like
        A file with one row for each point: npy, parquet, h5ad, or a zarr store. A folder of such files of one
        format: they are taken in the order of their names, ``part-2`` before ``part-10``; files whose names
        begin with a dot or an underscore are left out, and so are directories of runs. A list of files is
        taken as it is. Where a cluster reads them, all workers must find them under the same path.
    columns : sequence of str, optional
        The columns of parquet files to take. By default all but the index that pandas wrote; then all must
        hold numbers. A single column may hold lists of numbers, equally long in all rows.
    drop : sequence of str, optional
        In place of `columns`, the columns of parquet files to leave out.
    part : str, optional
        Which matrix of an h5ad file or of a zarr store of AnnData: ``"X"``, which is the default,
        ``"obsm/X_pca"``, or ``"layers/counts"``.

    Returns
    -------
    RowsInFiles
        ``n`` rows with ``d`` features; ``rows(start, stop)`` reads some of them. Pass it to
        :func:`graphsoft.hierarchy` with ``directory=``.

    Raises
    ------
    InputError
        If files are missing, are of several formats, or do not fit together.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for number in (1, 2, 10):
    ...         np.save(pathlib.Path(folder, f"part-{number}.npy"), np.full((2, 3), number, dtype=np.float32))
    ...     found = rows_in_files(folder)
    ...     found, found.rows(3, 5).tolist()
    (RowsInFiles(6 rows x 3 features of float32 in 3 npy files), [[2.0, 2.0, 2.0], [10.0, 10.0, 10.0]])
    """
    paths = _listed(path)
    formats = [_format(each) for each in paths]
    for each, form in zip(paths, formats, strict=True):
        if form != formats[0]:
            problem = f"{each!r} is a {form} file, but {paths[0]!r} is a {formats[0]} file"
            raise InputError("X", problem, "give files of one format")
    form = formats[0]
    for name, titles in (("columns", columns), ("drop", drop)):
        if titles is not None and form != "parquet":
            raise InputError(name, f"has no meaning for {form} files", "leave it out")
    if columns is not None and drop is not None:
        raise InputError("drop", "is given together with columns", "give one of the two")
    if part is not None and form not in ("h5ad", "zarr"):
        raise InputError("part", f"has no meaning for {form} files", "leave it out")
    chosen = None if columns is None else _names("columns", columns)
    left_out = [] if drop is None else _names("drop", drop)
    files: list[RowFile] = []
    for each in paths:
        files.append(_opened(each, form, chosen, left_out, part, files))
    found = RowsInFiles(tuple(files), form)
    if form == "parquet" and found.columns is not None and columns is None:
        refuse_edges(files[0].path, found.columns)
        warn_of_columns(found.columns, np.empty((0, found.d)))
    return found


@dataclass(frozen=True, repr=False)
class RowsInFiles:
    """Points with features in files, seen as one table; see `rows_in_files`.

    Attributes
    ----------
    files : tuple
        In the order of their rows.
    format : str
        What they are called.
    n : int
        The number of rows.
    d : int
        The number of features.
    sparse : bool
        Whether rows come as a ``csr_array``.
    dtype : dtype
        float32 where it holds every value that may be in the files, else float64.
    columns : tuple of str or None
        The names of the features.
    """

    files: tuple[RowFile, ...]
    format: str
    n: int = field(init=False)
    d: int = field(init=False)
    sparse: bool = field(init=False)
    dtype: np.dtype[Any] = field(init=False)
    columns: tuple[str, ...] | None = field(init=False)

    def __post_init__(self) -> None:
        filled = [file for file in self.files if file.length]
        if not filled:
            raise InputError(
                "X", f"{self.files[0].path!r} and all other files have no rows", "give at least one"
            )
        first = filled[0]
        for file in filled:
            if file.width != first.width:
                problem = f"{file.path!r} has {file.width} columns, but {first.path!r} has {first.width}"
                raise InputError("X", problem, "give files with the same columns")
            if file.columns != first.columns:
                problem = f"{file.path!r} names other columns than {first.path!r}"
                raise InputError("X", problem, "give files with the same columns")
            if file.sparse != first.sparse:
                problem = f"only one of {file.path!r} and {first.path!r} is sparse"
                raise InputError("X", problem, "store all in the same way")
        known = {
            "n": sum(file.length for file in filled), "d": first.width, "sparse": first.sparse,
            "columns": first.columns,
            "dtype": np.dtype(float) if first.sparse else floats_for(*{file.dtype for file in filled}),
        }  # fmt: skip
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        files = f"{len(self.files)} {self.format} file{'s' * (len(self.files) > 1)}"
        sparse = "sparse " if self.sparse else ""
        return f"RowsInFiles({self.n} rows x {self.d} {sparse}features of {self.dtype} in {files})"

    def rows(self, start: int, stop: int) -> Any:
        """Read the rows ``start:stop``.

        Returns
        -------
        ndarray or csr_array of shape (stop - start, d)
            Finite. Sparse rows have their columns in order, no column twice, and no zeros.
        """
        if not 0 <= start <= stop <= self.n:
            raise IndexError(f"rows {start}:{stop} of {self.n}")
        return self._gathered([(start, stop)])

    def sampled(self, rows: Array) -> Any:
        """Read the given rows, which rise; those that are near each other are read together."""
        rows, ends = np.asarray(rows, dtype=np.int64), self._ends()
        if len(rows) and not (rows[0] >= 0 and rows[-1] < self.n):
            raise IndexError(f"rows {rows[0]} to {rows[-1]} of {self.n}")
        spans: list[tuple[int, int]] = []
        places = np.searchsorted(ends, rows, side="right")
        for number in np.unique(places).tolist():
            file, among = self.files[number], rows[places == number]
            keys = file.together(among - (ends[number] - file.length))
            runs = np.split(among, np.flatnonzero(np.diff(keys)) + 1)
            spans += [(int(run[0]), int(run[-1]) + 1) for run in runs]
        return self._gathered(spans, rows)

    def identity(self) -> dict[str, Any]:
        """Tell what the data are known by, without reading all of them.

        Returns
        -------
        dict
            Plain values. The digest is of name, size, time of the last change and a few bytes of each file.
        """
        traits = json.dumps([[file.length, *file.traits()] for file in self.files])
        digest = hashlib.blake2b(traits.encode(), digest_size=16).hexdigest()
        known = {"format": self.format, "n": self.n, "d": self.d, "dtype": str(self.dtype)}
        return known | {"files": len(self.files), "digest": digest}

    def _ends(self) -> Array:
        return np.cumsum([file.length for file in self.files])

    def _gathered(self, spans: list[tuple[int, int]], chosen: Array | None = None) -> Any:
        """Read spans of rows piece by piece, and keep all of them, or the chosen ones."""
        count = sum(stop - start for start, stop in spans) if chosen is None else len(chosen)
        out = None if self.sparse else np.empty((count, self.d), dtype=self.dtype)
        kept: list[Any] = []
        filled = 0
        for file, row, place, piece in self._pieces(spans):
            within = np.arange(piece.shape[0])
            if chosen is not None:
                within = chosen[slice(*np.searchsorted(chosen, [place, place + len(within)]))] - place
            taken = piece if chosen is None else piece[within]
            if out is None:
                kept.append(checked_rows(taken, within + row, file.path))
            else:
                checked_floats(taken, out[filled : filled + len(within)], within + row, file.path)
            filled += len(within)
        return stacked(kept, self.d) if out is None else out

    def _pieces(self, spans: list[tuple[int, int]]) -> Iterator[tuple[RowFile, int, int, Any]]:
        """Yield pieces, each with its file, and with its first row in the file and in the table."""
        ends = self._ends()
        for number, within in self._by_file(spans, ends).items():
            file = self.files[number]
            begin = int(ends[number]) - file.length
            try:
                with file.opened() as read:
                    for first, last in within:
                        row = first
                        for piece in read(first, last):
                            yield file, row, begin + row, piece
                            row += piece.shape[0]
                        if row != last:
                            raise InputError("X", f"{file.path!r} ends too early", DAMAGED)
            except PASSED:
                raise
            except Exception as error:
                raise _damaged(file.path, error) from error

    def _by_file(self, spans: list[tuple[int, int]], ends: Array) -> dict[int, list[tuple[int, int]]]:
        """Cut spans of rows where files end; the rows are counted from the begin of each file."""
        result: dict[int, list[tuple[int, int]]] = {}
        for start, stop in spans:
            row, number = start, int(np.searchsorted(ends, start, side="right"))
            while row < stop:
                begin, end = int(ends[number]) - self.files[number].length, min(stop, int(ends[number]))
                if row < end:
                    result.setdefault(number, []).append((row - begin, end - begin))
                row, number = end, number + 1
        return result


def _damaged(path: str, error: Exception) -> Exception:
    """Name the file that a library cannot read; it may raise anything where a file is damaged."""
    if isinstance(error, OSError) and error.errno is not None:
        return OSError(*error.args)  # of the system, which may succeed later
    reason = " ".join(str(error).split())[:100]
    # the words of HDF5 for a file that a program, perhaps this one, holds open in another way
    held = "locking flag" in reason or "already open" in reason
    remedy = "close it where it is open, in this program or another one" if held else DAMAGED
    return InputError("X", f"{path!r} cannot be read ({type(error).__name__}: {reason})", remedy)


def _listed(path: Any) -> list[str]:
    """List the absolute paths of the files that are meant."""
    if isinstance(path, (str, os.PathLike)):
        whole = _absolute(path)
        if not os.path.exists(whole):
            if set("*?[") & set(whole):
                problem = f"there is no file {whole!r}, and patterns are not read"
                raise InputError("X", problem, "give the folder, or a list: sorted(glob.glob(pattern))")
            raise InputError("X", f"there is no file or folder {whole!r}", REACHED)
        return _files_in(whole) if os.path.isdir(whole) and not is_zarr(whole) else [whole]
    if isinstance(path, (list, tuple)) and not path:
        raise InputError("X", "the list of files is empty", "name at least one")
    if not isinstance(path, (list, tuple)):
        raise InputError("path", f"got {shown(path)}", "give a file, a folder, or a list of files")
    paths = [_absolute(each) for each in path]
    for each in paths:
        if not os.path.exists(each):
            raise InputError("X", f"there is no file {each!r}", REACHED)
        if os.path.isdir(each) and not is_zarr(each):
            raise InputError("X", f"{each!r} is a folder in a list of files", "list the files in it")
    return paths


def _absolute(path: Any) -> str:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path) or "\0" in os.fsdecode(path):
        raise InputError("path", f"got {shown(path)}", "give a file, a folder, or a list of files")
    return os.path.abspath(os.fsdecode(path))


def _files_in(folder: str) -> list[str]:
    # Spark and Dask put files beside the parts whose names begin with an underscore
    names = sorted(
        (name for name in os.listdir(folder) if name[:1] not in "._" and name != LOCK), key=_natural
    )
    # the directory of the run itself may be here, where it is found when the run goes on
    paths = [path for name in names if not was_held(path := os.path.join(folder, name))]
    if not paths:
        raise InputError("X", f"there are no files in {folder!r}", "give a folder of npy or parquet files")
    for path in paths:
        if os.path.isdir(path) and not is_zarr(path):
            raise InputError("X", f"there is a folder {path!r} among the files", "give a list of the files")
    return paths


def _natural(name: str) -> tuple[list[tuple[int, str]], str]:
    """Make a key by which part-2 comes before part-10."""
    pieces = re.split("([0-9]+)", name)
    return [(int(piece), "") if k % 2 else (0, piece) for k, piece in enumerate(pieces)], name


def _format(path: str) -> str:
    if os.path.isdir(path):
        return "zarr"
    if not os.path.exists(path):
        raise InputError("X", f"there is no file {path!r}: it is a link that leads nowhere", REACHED)
    if not os.path.isfile(path):  # to open it may wait for ever
        problem = f"{path!r} is a pipe, a socket or a device, of which no part can be read alone"
        raise InputError("X", problem, "write its rows to a file")
    form = FORMATS.get(Path(path).suffix.lower())
    if form is None or form == "zarr":
        known = "npy, parquet, h5ad, or zarr stores; for edges pass graphsoft.partitioned_graph(path)"
        raise InputError("X", f"{path!r} is of no format that can be read in parts", f"give {known}")
    return form


def _names(argument: str, columns: Any) -> list[str]:
    named = [columns] if isinstance(columns, str) else list(columns) if np.iterable(columns) else []
    if not named or not all(isinstance(name, str) for name in named) or len(set(named)) < len(named):
        raise InputError(argument, f"got {shown(columns)}", "give the names of columns, each once")
    return named


def _opened(
    path: str, form: str, columns: list[str] | None, drop: list[str], part: str | None, before: list[RowFile]
) -> RowFile:
    """Read the header of a file."""
    try:
        if form == "npy":
            return npy_rows(path)
        if form == "parquet":
            found = parquet_rows(path, columns, drop)
            if before and sorted(found.titles) == sorted(before[0].titles):  # type: ignore[attr-defined]
                return parquet_rows(path, before[0].titles)  # type: ignore[attr-defined]
            return found
        stored = store_rows(path, part)
        same = before and stored.columns == before[0].columns
        return replace(stored, columns=before[0].columns) if same else stored  # the names are in memory once
    except PASSED:
        raise
    except Exception as error:
        raise _damaged(path, error) from error
