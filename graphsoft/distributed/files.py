"""Arrays in files: each appears whole or not at all, and what is read of it is checked.

A file begins with the mark of what it belongs to, and with a header in JSON that says where each array lies.
An array may be cut into sections along its first axis. A table says where each section begins and ends, and
has its checksum; so to read a section takes one row of the table, however many others there are. Arrays
without sections have their checksums in the header.
"""

from __future__ import annotations

import errno
import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.linalg.csr import pointers
from graphsoft.storage.atomic import write_whole

__all__ = [
    "MARK_BYTES",
    "UNMARKED",
    "ArrayFile",
    "Traffic",
    "Unreadable",
    "open_arrays",
    "rows_in_sections",
    "value_in_sections",
    "write_arrays",
]

MARK_BYTES = 16
UNMARKED = bytes(MARK_BYTES)
"""The mark of files that belong to no plan."""

_MAGIC = b"gsparts2"
_BEGIN = struct.Struct(f"<8s{MARK_BYTES}sQI")  # magic, mark, length of the header, checksum of the header
_KINDS = "biuf"
_TABLE = "/sections"  # of an array: where each section begins and ends, and its checksum
_ROW, _ROW_BYTES = "<i8", 24
# What a damaged disk says, and a network file system of a file that was replaced while it was open.
_LOST = {errno.EIO, getattr(errno, "ESTALE", errno.EIO)}


@dataclass
class Traffic:
    """Counts the bytes that were read from files of arrays, and written to them."""

    read: int = 0
    written: int = 0


class Unreadable(Exception):
    """A file is not there, or not as it was written; the task that wrote it has to be done again."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)  # both, so that it can be pickled
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path!r} {self.problem}"


def write_arrays(
    path: Path,
    arrays: Mapping[str, Array],
    cuts: Mapping[str, Array] | None = None,
    mark: bytes = UNMARKED,
) -> int:
    """Write arrays to a file, whole or not at all; returns its length in bytes.

    Parameters
    ----------
    path : Path
        Its directory is made if it is not there.
    arrays : mapping of str to ndarray
        Numbers or booleans.
    cuts : mapping of str to ndarray, optional
        For arrays that are read section by section: where the sections begin, and where the last one ends.
    mark : bytes
        Of what the file belongs to; only who knows it can read the file.
    """
    cuts = cuts or {}
    stored: dict[str, Array] = {}
    for name, given in arrays.items():
        values = np.ascontiguousarray(given).reshape(np.shape(given))
        if values.dtype.kind not in _KINDS:
            raise TypeError(f"arrays of {values.dtype} cannot be stored")
        stored[name] = values.astype(values.dtype.newbyteorder("<"), copy=False)
        if name in cuts:
            ptr = np.asarray(cuts[name], dtype=np.int64)
            if ptr[0] != 0 or ptr[-1] != len(stored[name]):
                raise ValueError(f"the sections of {name!r} are not all of it")
            checks = [zlib.crc32(_bytes(stored[name][a:b])) for a, b in pairwise(ptr.tolist())]
            table = np.array([ptr[:-1], ptr[1:], checks], dtype=np.int64).T
            stored[name + _TABLE] = np.ascontiguousarray(table)
    header: dict[str, Any] = {}
    offset = 0
    for name, values in stored.items():
        check = None if name in cuts else zlib.crc32(_bytes(values))
        header[name] = [values.dtype.str, values.shape, offset, check]
        offset += values.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()

    def write(file: IO[bytes]) -> None:
        file.write(_BEGIN.pack(_MAGIC, mark, len(text), zlib.crc32(text)) + text)
        for values in stored.values():
            file.write(_bytes(values))

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write)  # `Run` deletes what killed processes have left, once for all files
    return _BEGIN.size + len(text) + offset


def _bytes(values: Array) -> memoryview:
    return values.reshape(-1).view(np.uint8).data


class ArrayFile:
    """An open file of arrays; see `open_arrays`."""

    def __init__(self, file: IO[bytes], path: Path, traffic: Traffic, mark: bytes) -> None:
        self._file, self._path, self._traffic = file, str(path), traffic
        with _losses(self._path):
            self._size = size = os.fstat(file.fileno()).st_size
        if size < _BEGIN.size:
            raise self._unreadable("is not a file of arrays")
        magic, found, length, check = _BEGIN.unpack(bytes(self._read("u1", (_BEGIN.size,), 0)))
        if magic != _MAGIC:
            raise self._unreadable("is not a file of arrays")
        if found != mark:
            raise self._unreadable("is of another run")
        if _BEGIN.size + length > size:  # a damaged length may be more than there is memory
            raise self._unreadable("has a damaged header")
        text = bytes(self._read("u1", (length,), _BEGIN.size))
        if zlib.crc32(text) != check:
            raise self._unreadable("has a damaged header")
        self._header = self._checked(text)
        self._start = _BEGIN.size + length

    def _checked(self, text: bytes) -> dict[str, Any]:
        """Read a header, whose checksum is no proof: somebody may have written it by hand."""
        try:
            header = dict(json.loads(text))
            for dtype, shape, offset, check in header.values():
                numbers = (*shape, offset, check or 0)
                if not all(type(number) is int and number >= 0 for number in numbers):
                    raise ValueError("no places of arrays")
                if not isinstance(dtype, str) or np.dtype(dtype).kind not in _KINDS:
                    raise ValueError("no types of arrays")
        except (ValueError, TypeError, RecursionError):
            raise self._unreadable("has a damaged header") from None
        return header

    def __contains__(self, name: str) -> bool:
        return name in self._header

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._header if not name.endswith(_TABLE))

    def shape(self, name: str) -> tuple[int, ...]:
        """Tell the shape of an array without reading it."""
        return tuple(self._place(name)[1])

    def array(self, name: str) -> Array:
        """Read a whole array."""
        dtype, shape, offset, check = self._place(name)
        values = self._read(dtype, tuple(shape), self._start + offset)
        if self.has_sections(name):
            for start, stop, expected in self._table(name).tolist():
                self._compare(name, values[start:stop], expected)
        else:
            self._compare(name, values, check)
        return values

    def check(self) -> None:
        """Read all of it, section by section."""
        for name in self:
            if not self.has_sections(name):
                self.array(name)
                continue
            for section in range(len(self._table(name))):
                self.section(name, section)

    def has_sections(self, name: str) -> bool:
        """Tell whether an array is cut into sections."""
        return name + _TABLE in self._header

    def cut(self, name: str) -> Array:
        """Tell where the sections of an array begin, and where the last one ends."""
        table = self._table(name)
        return np.append(table[:, 0], table[-1:, 1] if len(table) else 0)

    def section(self, name: str, section: int) -> Array:
        """Read one section of an array."""
        dtype, shape, offset, _ = self._place(name)
        sections, begin = self._table_of(name)
        if not 0 <= section < sections:
            raise self._unreadable(f"has no section {section} of {name!r}")
        start, stop, check = self._read(_ROW, (3,), self._start + begin + section * _ROW_BYTES).tolist()
        if not 0 <= start <= stop <= shape[0]:
            raise self._unreadable(f"is damaged in {name!r}")
        row_bytes = prod(shape[1:]) * np.dtype(dtype).itemsize
        values = self._read(dtype, (stop - start, *shape[1:]), self._start + offset + start * row_bytes)
        self._compare(name, values, check)
        return values

    def rows(self, name: str, section: int | None = None) -> sp.csr_array:
        """Read a sparse matrix that `rows_in_sections` made into arrays, or one section of its rows."""
        read = self.array if section is None else lambda each: self.section(each, section)
        counts, columns, values = (read(f"{name}/{part}") for part in ("counts", "columns", "values"))
        width = int(self.array(f"{name}/width")[0])
        return sp.csr_array((values, columns, pointers(counts)), shape=(len(counts), width))

    def value(self, name: str, section: int | None = None) -> Any:
        """Read an array or a sparse matrix, as `value_in_sections` wrote it, or one section of it."""
        if name not in self:
            return self.rows(name, section)
        return self.array(name) if section is None else self.section(name, section)

    def _place(self, name: str) -> list[Any]:
        """Find an array; a file of another task may not have it."""
        if name not in self._header:
            raise self._unreadable(f"has no {name!r}")
        found: list[Any] = self._header[name]
        return found

    def _table(self, name: str) -> Array:
        """Read the table of all sections of an array."""
        self._table_of(name)
        return self.array(name + _TABLE)

    def _table_of(self, name: str) -> tuple[int, int]:
        """Tell how long this table is, and where it begins."""
        dtype, shape, offset, _ = self._place(name + _TABLE)
        if dtype != _ROW or len(shape) != 2 or shape[1] != 3 or not self._place(name)[1]:
            raise self._unreadable("has a damaged header")
        return shape[0], offset

    def _compare(self, name: str, values: Array, check: int | None) -> None:
        if zlib.crc32(_bytes(values)) != check:
            raise self._unreadable(f"is damaged in {name!r}")

    def _read(self, dtype: str, shape: tuple[int, ...], offset: int) -> Array:
        """Read numbers into memory; mapped pages would count as memory of the process."""
        if offset + prod(shape) * np.dtype(dtype).itemsize > self._size:
            raise self._unreadable("ends too early")
        values = np.empty(shape, dtype=dtype)
        view, filled = _bytes(values), 0
        with _losses(self._path):
            self._file.seek(offset)
            while filled < len(view):
                read = self._file.readinto(view[filled:])  # type: ignore[attr-defined]
                if not read:
                    raise self._unreadable("ends too early")
                filled += read
        self._traffic.read += filled
        return values

    def _unreadable(self, problem: str) -> Unreadable:
        return Unreadable(self._path, problem)


@contextmanager
def _losses(path: str) -> Iterator[None]:
    """Make `Unreadable` of what the system says of a file that is lost."""
    try:
        yield
    except FileNotFoundError:
        raise Unreadable(path, "is not there") from None
    except OSError as error:
        if error.errno not in _LOST:
            raise
        raise Unreadable(path, f"cannot be read: {error.strerror}") from None


@contextmanager
def open_arrays(path: Path, traffic: Traffic | None = None, mark: bytes = UNMARKED) -> Iterator[ArrayFile]:
    """Open a file of arrays, which must have this mark; what is read of it is counted.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers")
    ...     _ = write_arrays(path, {"a": np.arange(5)}, {"a": np.array([0, 2, 5])})
    ...     with open_arrays(path) as file:
    ...         file.section("a", 1).tolist()
    [2, 3, 4]
    """
    with _losses(str(path)):
        file = path.open("rb", buffering=0)
    with file:
        yield ArrayFile(file, path, traffic or Traffic(), mark)


def rows_in_sections(
    name: str, matrix: sp.csr_array, ptr: Array | None = None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Make arrays of a sparse matrix, and their cuts: section k has the rows ``ptr[k]:ptr[k + 1]``.

    Examples
    --------
    >>> import tempfile
    >>> arrays, cuts = rows_in_sections("m", sp.csr_array(np.eye(3)), np.array([0, 1, 3]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "matrix")
    ...     _ = write_arrays(path, arrays, cuts)
    ...     with open_arrays(path) as file:
    ...         file.rows("m", 1).toarray()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    counts = np.diff(matrix.indptr).astype(np.int32)
    arrays = {
        f"{name}/counts": counts, f"{name}/columns": matrix.indices, f"{name}/values": matrix.data,
        f"{name}/width": np.array([matrix.shape[1]]),
    }  # fmt: skip
    if ptr is None:
        return arrays, {}
    entries = np.asarray(matrix.indptr)[ptr]
    return arrays, {f"{name}/counts": ptr, f"{name}/columns": entries, f"{name}/values": entries}


def value_in_sections(
    name: str, values: Any, ptr: Array | None = None
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Make arrays of an array or a sparse matrix, and their cuts, as `rows_in_sections` does.

    Examples
    --------
    >>> arrays, cuts = value_in_sections("m", np.eye(3), np.array([0, 1, 3]))
    >>> list(arrays), list(cuts)
    (['m'], ['m'])
    """
    if sp.issparse(values):
        return rows_in_sections(name, values, ptr)
    return {name: values}, {} if ptr is None else {name: ptr}
