"""Data that are given in memory, or by Dask, in files of the run's directory, where workers can read them.

Rows are checked before they are written. A file appears whole or not at all, and holds a digest of its rows.
By these digests the data are known again, so that the same call writes nothing twice.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.files import ArrayFile, Unreadable, open_arrays, value_in_sections, write_arrays
from graphsoft.distributed.row_pieces import PIECE, Read, checked_floats, checked_rows, floats_for
from graphsoft.errors import InputError, Unreachable
from graphsoft.input.dense_input import REAL_KINDS, dense_matrix, frame_columns
from graphsoft.input.mapped import is_plain
from graphsoft.input.sparse_input import sparse_matrix
from graphsoft.parallel import blocks
from graphsoft.storage.atomic import write_atomic

__all__ = [
    "ABOUT",
    "GivenRows",
    "checked_table",
    "digest_of",
    "known_of",
    "note",
    "refuse_other_data",
    "rows_of",
    "write_rows",
    "written",
]

FILE = 1 << 26  # bytes of rows in one file
ABOUT = "about.json"
AGAIN = "call again with the same data, and it is written again; all workers must reach this directory"


@dataclass(frozen=True)
class GivenRows:
    """Rows in a file of a run's directory.

    Attributes
    ----------
    path : str
    length, width : int
    dtype : str
    sparse : bool
    digest : str
        Of all rows.
    columns : tuple of str or None
    """

    path: str
    length: int
    width: int
    dtype: str
    sparse: bool
    digest: str
    columns: tuple[str, ...] | None = None

    @contextmanager
    def opened(self) -> Iterator[Read]:
        """Open it, to read the sections that hold some rows."""
        try:
            with open_arrays(Path(self.path)) as file:
                yield partial(self._pieces, file, file.cut("features/counts" if self.sparse else "features"))
        except Unreadable as error:
            raise Unreachable("X", str(error), AGAIN) from None

    def _pieces(self, file: ArrayFile, cut: Array, start: int, stop: int) -> Iterator[Any]:
        section = int(np.searchsorted(cut, start, side="right")) - 1
        while cut[section] < stop:
            begin = int(cut[section])
            yield file.value("features", section)[max(start - begin, 0) : stop - begin]
            section += 1

    def together(self, rows: Array) -> Array:
        """Give rows that are best read in one go the same number."""
        return rows // _step(PIECE, 128 if self.sparse else self.width * np.dtype(self.dtype).itemsize)

    def traits(self) -> list[Any]:
        """Tell what the file is known by."""
        return [self.digest]


def written(X: Any, directory: Path) -> list[GivenRows]:
    """Write data in memory to files, but for those that an earlier call wrote.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix
    directory : Path

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = written([[1, 2], [3, 4]], Path(folder))
    ...     with files[0].opened() as read:
    ...         next(read(1, 2)).tolist()
    [[3.0, 4.0]]
    """
    table, columns = _table(X), None if sp.issparse(X) else frame_columns(X)
    spans = blocks(table.shape[0], _step(FILE, _row_bytes(table)))
    digests = [digest_of(_checked(table, *span)) for span in spans]
    known = known_of(directory)
    if known.get("digests", digests) != digests:
        raise refuse_other_data(directory)
    note(directory, digests=digests)
    files = []
    for number, (span, digest) in enumerate(zip(spans, digests, strict=True)):
        path = directory / f"{number}.arrays"
        found = rows_of(path, columns, whole=True)
        if found is None or found.digest != digest:
            found = write_rows(path, _checked(table, *span), columns)
        files.append(found)
    return files


def known_of(directory: Path) -> dict[str, Any]:
    """Read what is known of the data of an earlier call; nothing if there was none, or if it is damaged."""
    try:
        content = json.loads((directory / ABOUT).read_bytes())
        known = dict(content["known"])
        sound = content["check"] == _check(known)
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return {}
    return known if sound else {}


def _check(known: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(known).encode())


def note(directory: Path, **known: Any) -> None:
    """Write down what is known of the data."""
    if known_of(directory) == known:
        return
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"check": _check(known), "known": known}).encode()
    write_atomic(directory / ABOUT, lambda file: file.write(text))


def refuse_other_data(directory: Path) -> InputError:
    """Make the error for a directory where a hierarchy of other data was begun."""
    problem = f"{str(directory.parent)!r} is of a hierarchy of other data"
    return InputError("directory", problem, "name another one, or delete it")


def write_rows(path: Path, values: Any, columns: tuple[str, ...] | None = None) -> GivenRows:
    """Write checked rows, in sections of some megabytes."""
    digest, sparse = digest_of(values), sp.issparse(values)
    row_bytes = _row_bytes(values)
    ptr = np.append(np.arange(0, values.shape[0], _step(PIECE, row_bytes)), values.shape[0])
    arrays, cuts = value_in_sections("features", values, ptr)
    facts = {"length": values.shape[0], "width": values.shape[1], "dtype": values.dtype.str, "digest": digest}
    text = np.frombuffer(json.dumps(facts | {"sparse": sparse}).encode(), dtype=np.uint8)
    write_arrays(path, arrays | {"facts": text}, cuts)
    return GivenRows(str(path), **facts, sparse=sparse, columns=columns)


def rows_of(path: Path, columns: tuple[str, ...] | None, *, whole: bool = False) -> GivenRows | None:
    """See the rows that `write_rows` wrote; None if the file is not there, or is damaged.

    Parameters
    ----------
    path : Path
    columns : tuple of str or None
    whole : bool
        Read all of it to see whether it is damaged.
    """
    try:
        with open_arrays(path) as file:
            facts = json.loads(file.array("facts").tobytes())
            if whole:
                file.check()
    except Unreadable:
        return None
    return GivenRows(str(path), **facts, columns=columns)


def checked_table(data: Any) -> Any:
    """Check rows of any kind, which may be none."""
    if len(getattr(data, "shape", ())) == 2 and data.shape[0] == 0:
        return sp.csr_array(data.shape) if sp.issparse(data) else np.empty(data.shape)
    table = _table(data)
    return _checked(table, 0, table.shape[0])


def _table(X: Any) -> Any:
    """Turn data into a table that can be checked block by block."""
    if sp.issparse(X):
        return sparse_matrix(X)
    plain = is_plain(X) and X.ndim == 2 and 0 not in X.shape
    if plain and X.dtype.kind in REAL_KINDS and X.dtype.itemsize <= 8:
        return X
    return dense_matrix(X)


def _checked(table: Any, start: int, stop: int) -> Any:
    part, rows = table[start:stop], np.arange(start, stop)
    if sp.issparse(table):
        return checked_rows(part, rows)
    out = np.empty(part.shape, dtype=floats_for(part.dtype))
    checked_floats(part, out, rows)
    return out


def _row_bytes(table: Any) -> int:
    if sp.issparse(table):
        return 12 * (int(table.nnz) // max(1, int(table.shape[0])) + 1)
    return int(table.shape[1]) * int(table.dtype.itemsize)


def _step(size: int, row_bytes: int) -> int:
    """Choose how many rows have so many bytes."""
    return max(1, size // max(1, row_bytes))


def digest_of(values: Any) -> str:
    """Compute a digest of all rows."""
    digest = hashlib.blake2b(repr((values.shape, values.dtype.str)).encode(), digest_size=16)
    parts = (values.indptr, values.indices, values.data) if sp.issparse(values) else (values,)
    for part in parts:
        digest.update(part.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
