"""Files of rows, listed in a file of the run's directory.

Every task is told its source. Thousands of files, or names of features, would be sent thousands of times;
the path of their list is short.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.given import GivenRows
from graphsoft.distributed.npy_rows import NpyRows
from graphsoft.distributed.parquet_rows import ParquetRows
from graphsoft.distributed.row_files import RowsInFiles
from graphsoft.distributed.row_pieces import REACHED
from graphsoft.distributed.store_rows import StoreRows
from graphsoft.errors import Unreachable
from graphsoft.storage.atomic import write_atomic

__all__ = ["NotedSource", "noted"]

KINDS: dict[str, Any] = {kind.__name__: kind for kind in (NpyRows, ParquetRows, StoreRows, GivenRows)}


@dataclass(frozen=True)
class NotedSource:
    """Rows in files that are listed in another file; see `RowsInFiles`.

    Attributes
    ----------
    path : str
        The list.
    n, d : int
    sparse : bool
    dtype : dtype
    """

    path: str
    n: int
    d: int
    sparse: bool
    dtype: np.dtype[Any]

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the features."""
        return _read(self.path).columns

    def rows(self, start: int, stop: int) -> Any:
        """Read the rows ``start:stop``."""
        return _read(self.path).rows(start, stop)

    def sampled(self, rows: Array) -> Any:
        """Read the given rows, which rise."""
        return _read(self.path).sampled(rows)

    def identity(self) -> dict[str, Any]:
        """Tell what the data are known by."""
        return _read(self.path).identity()


def noted(found: RowsInFiles, directory: Path) -> NotedSource:
    """List files in a file of a directory.

    Examples
    --------
    >>> import tempfile
    >>> from graphsoft.distributed.npy_rows import npy_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder, "a.npy"), np.eye(2))
    ...     noted(RowsInFiles((npy_rows(f"{folder}/a.npy"),), "npy"), Path(folder)).rows(0, 1).tolist()
    [[1.0, 0.0]]
    """
    listed: tuple[Any, ...] = found.files
    files = [{field.name: getattr(file, field.name) for field in fields(file)} for file in listed]
    first = dict(files[0])
    # what a file has in common with the first one, such as the names of columns, is written once
    own = [{name: value for name, value in file.items() if value != first[name]} for file in files]
    content = {"format": found.format, "kind": type(listed[0]).__name__, "first": first, "files": own}
    text = json.dumps(content).encode()
    path = directory / _name(text)
    if not (path.exists() and _name(path.read_bytes()) == path.name):
        directory.mkdir(parents=True, exist_ok=True)
        write_atomic(path, lambda file: file.write(text))
    return NotedSource(str(path), found.n, found.d, found.sparse, found.dtype)


def _name(text: bytes) -> str:
    """Name a list after all that it says, so that a damaged one is noticed."""
    return f"source-{hashlib.blake2b(text, digest_size=8).hexdigest()}.json"


@lru_cache(maxsize=4)
def _read(path: str) -> RowsInFiles:
    try:
        text = Path(path).read_bytes()
    except FileNotFoundError:
        raise Unreachable("directory", f"there is no file {path!r}", REACHED) from None
    if _name(text) != Path(path).name:
        raise Unreachable("directory", f"{path!r} is damaged", "call again, and it is written again")
    content = json.loads(text)
    kind, first = KINDS[content["kind"]], _tuples(content["first"])
    return RowsInFiles(tuple(kind(**first | _tuples(own)) for own in content["files"]), content["format"])


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
