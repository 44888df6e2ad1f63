"""Rows come from a file piece by piece, and every piece is checked as the same table in memory would be."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import IO, Any, Protocol

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, Unreachable
from graphsoft.input.large_numbers import LARGER_UNIT, first_rounded
from graphsoft.input.sparse_input import narrow, sparse_matrix

__all__ = [
    "DAMAGED",
    "NEAR",
    "PIECE",
    "REACHED",
    "Read",
    "RowFile",
    "State",
    "check_numbers",
    "checked_floats",
    "checked_rows",
    "file_state",
    "file_traits",
    "floats_for",
    "open_bytes",
    "read_exactly",
    "stacked",
]

SAMPLE = 4096  # bytes at the begin, in the middle and at the end of a file that go into its digest
PIECE = 1 << 22  # bytes of a file that are held beside the rows that are made of them
DAMAGED = "write the file again"
NEAR = 1 << 16  # bytes that cost as much to read as to leave out
CHANGED = "put it back as it was, or begin anew with it in another directory"
REACHED = "check the name, under which this process and all workers must find it"
FINITE = "drop or fill those rows"


Read = Callable[[int, int], Iterator[Any]]
"""Called as ``read(start, stop)``, for rows that are there."""

State = tuple[int, int]
"""Size, and time of the last change in nanoseconds, by which a file is known to be what was looked at."""


class RowFile(Protocol):
    """One file with rows of features; picklable, and nothing is open between two calls."""

    @property
    def path(self) -> str:
        """Its absolute path."""
        ...

    @property
    def length(self) -> int:
        """How many rows it has."""
        ...

    @property
    def width(self) -> int:
        """How many columns it has."""
        ...

    @property
    def dtype(self) -> str:
        """The type of the numbers in its pieces."""
        ...

    @property
    def sparse(self) -> bool:
        """Whether its pieces are sparse."""
        ...

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns."""
        ...

    def opened(self) -> AbstractContextManager[Read]:
        """Open it, to read rows as they are stored, in pieces of any lengths."""
        ...

    def together(self, rows: Array) -> Array:
        """Give rows that are best read in one go the same number."""
        ...

    def traits(self) -> list[Any]:
        """Tell what the file is known by, without reading all of it."""
        ...


def check_numbers(path: str, shape: Any, dtype: Any) -> None:
    """Refuse what cannot be a table of real numbers, by its header."""
    if len(shape) != 2:
        problem = f"{path!r} holds an array of shape {tuple(shape)}"
        raise InputError("X", problem, "give a table with one row for each point")
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf":
        held = {
            "O": "Python objects, which are not read",
            "c": "complex numbers",
            "V": "records",
            "U": "text",
        }
        problem = f"{path!r} holds {held.get(dtype.kind, 'no numbers')} (dtype {dtype})"
        raise InputError("X", problem, "store real numbers, such as float32")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise InputError("X", f"{path!r} holds numbers of dtype {dtype}", "store them as float64")
    if shape[1] == 0:
        raise InputError("X", f"{path!r} has no columns", "give at least one feature")


def floats_for(*dtypes: Any) -> np.dtype[Any]:
    """Choose float32 where it holds every value of the given types, else float64.

    Examples
    --------
    >>> floats_for("f2", "i2"), floats_for("f4", "i4")
    (dtype('float32'), dtype('float64'))
    """
    single = all(np.can_cast(np.dtype(dtype), np.float32) for dtype in dtypes)
    return np.dtype(np.float32 if single else np.float64)


def checked_floats(given: Array, out: Array, rows: Array, path: str | None = None) -> None:
    """Write rows into `out` as floats, and refuse numbers that are not finite or would be rounded.

    Parameters
    ----------
    given : ndarray of shape (n, d)
    out : float ndarray of shape (n, d)
    rows : ndarray of n ints
        Where the rows stand in their file, or in X.
    path : str, optional
        The file that errors name.

    Examples
    --------
    >>> checked_floats(np.array([[1.0], [np.nan]]), np.empty((2, 1)), np.array([10, 11]), "2.npy")
    Traceback (most recent call last):
    graphsoft.errors.InputError: X: '2.npy' holds nan in row 11, column 0. Remedy: drop or fill those rows.
    """
    where = "" if path is None else f"{path!r} "
    place = first_rounded(given) if len(given) else None
    if place is not None:
        number = f"{given[place]!s} in row {rows[place[0]]}, column {place[1]}"
        raise InputError("X", f"{where}holds {number}, beyond 2**53: float64 would round it", LARGER_UNIT)
    out[...] = given
    if given.dtype.kind != "f":
        return
    finite = np.isfinite(out)
    if finite.all():
        return
    bad = np.argwhere(~finite)
    number = f"{given[tuple(bad[0])]!s} in row {rows[bad[0, 0]]}, column {bad[0, 1]}"
    raise InputError("X", f"{where}holds {number}{_further(rows[np.unique(bad[:, 0])[1:]])}", FINITE)


def checked_rows(given: sp.csr_array, rows: Array, path: str | None = None) -> sp.csr_array:
    """Check rows of a sparse matrix as `sparse_matrix` does, but name their file and their numbers in it."""
    if not given.shape[0]:
        return sp.csr_array(given.shape)
    where = "" if path is None else f"{path!r} "
    if given.data.dtype.kind == "f" and not np.isfinite(given.data).all():
        entries = np.flatnonzero(~np.isfinite(given.data))
        bad = rows[np.searchsorted(given.indptr, entries, side="right") - 1]
        number = f"{given.data[entries[0]]!s} in row {bad[0]}, column {given.indices[entries[0]]}"
        raise InputError("X", f"{where}holds {number}{_further(np.unique(bad)[1:])}", FINITE)
    try:
        return sparse_matrix(given)
    except InputError as error:
        problem = f"{where}{error.problem}, in rows {rows[0]} to {rows[-1]}"
        raise InputError("X", problem, error.remedy) from None


def _further(rows: Array) -> str:
    """Name further rows with the same fault."""
    if not len(rows):
        return ""
    named = ", ".join(map(str, rows[:3].tolist())) + ", ..." * (len(rows) > 3)
    return f", and such numbers in row{'s' * (len(rows) > 1)} {named} too"


def stacked(pieces: list[sp.csr_array], width: int) -> sp.csr_array:
    """Put the rows of sparse matrices below each other.

    Examples
    --------
    >>> stacked([sp.csr_array([[0.0, 1.0]]), sp.csr_array([[2.0, 0.0]])], 2).toarray().tolist()
    [[0.0, 1.0], [2.0, 0.0]]
    """
    if len(pieces) == 1:
        return pieces[0]
    counts = [np.diff(piece.indptr) for piece in pieces]
    ptr = np.zeros(sum(map(len, counts)) + 1, dtype=np.int64)
    np.cumsum(np.concatenate([np.zeros(0, dtype=np.int64), *counts]), out=ptr[1:])
    values = np.concatenate([np.zeros(0), *(piece.data for piece in pieces)])
    columns = np.concatenate([np.zeros(0, dtype=np.int32), *(piece.indices for piece in pieces)])
    return narrow(sp.csr_array((values, columns, ptr), shape=(len(ptr) - 1, width)))


@contextmanager
def open_bytes(path: str, state: State | None = None) -> Iterator[IO[bytes]]:
    """Open a file, which must be in this state."""
    with _reached(path):
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    with open(handle, "rb", buffering=0) as file:
        file_state(path, state, file.fileno())
        yield file


def file_state(path: str, expected: State | None = None, handle: int | None = None) -> State:
    """Tell the state of a file, which may be open, or of a folder; refuse another one than is expected."""
    with _reached(path):
        found = os.stat(path if handle is None else handle)
    state = found.st_size, found.st_mtime_ns
    if expected not in (None, state):
        raise Unreachable("X", f"{path!r} has changed since it was looked at", CHANGED)
    return state


@contextmanager
def _reached(path: str) -> Iterator[None]:
    """Say that a file is not there, or not for this process."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise Unreachable("X", f"there is no file {path!r}", REACHED) from None
    except PermissionError as error:
        raise Unreachable("X", f"{path!r} cannot be opened ({error.strerror})", REACHED) from None


def read_exactly(file: IO[bytes], values: Array, path: str) -> None:
    """Fill an array from where the file stands; mapped pages would count as memory of the process."""
    view, filled = values.reshape(-1).view(np.uint8).data, 0
    while filled < len(view):
        read = file.readinto(view[filled:])  # type: ignore[attr-defined]
        if not read:
            raise Unreachable("X", f"{path!r} ends too early", CHANGED)
        filled += read


def file_traits(path: str) -> list[Any]:
    """Tell name, size, time of the last change, and a digest of a few bytes of a file or a zarr store."""
    digest, size, changed = hashlib.blake2b(digest_size=8), 0, 0
    for each in sorted(_all_files(path)):
        state = os.stat(each)
        if not stat.S_ISREG(state.st_mode):  # to read it may wait for ever
            raise InputError("X", f"{each!r} is no ordinary file", DAMAGED)
        size, changed = size + state.st_size, max(changed, state.st_mtime_ns)
        if each != path and not os.path.basename(each).startswith((".z", "zarr")):
            digest.update(f"{os.path.relpath(each, path)} {state.st_size}".encode())
            continue
        with open(each, "rb", buffering=0) as file:
            for offset in sorted({0, max(0, state.st_size // 2), max(0, state.st_size - SAMPLE)}):
                file.seek(offset)
                digest.update(file.read(SAMPLE))
    return [os.path.basename(path), size, changed, digest.hexdigest()]


def _all_files(path: str) -> Iterator[str]:
    if not os.path.isdir(path):
        yield path
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)
