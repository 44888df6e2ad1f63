"""Rows of npy files, and of other files with the bytes of one array: read by seeks, never mapped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.datasets.archives import npy_header
from graphsoft.distributed.row_pieces import (
    DAMAGED,
    NEAR,
    PIECE,
    Read,
    State,
    check_numbers,
    file_state,
    file_traits,
    open_bytes,
    read_exactly,
)
from graphsoft.errors import InputError

__all__ = ["NpyRows", "npy_rows"]


@dataclass(frozen=True)
class NpyRows:
    """An array of two dimensions in a file.

    Attributes
    ----------
    path : str
    state : tuple of int
        Of the file when it was looked at.
    length, width : int
    dtype : str
    offset : int
        Where its bytes begin.
    by_column : bool
        Whether it is stored column after column (Fortran order).
    """

    path: str
    state: State
    length: int
    width: int
    dtype: str
    offset: int
    by_column: bool = False

    sparse = False
    columns = None

    @property
    def size(self) -> int:
        """How many bytes the file has at least."""
        return self.offset + self.length * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return self.width * np.dtype(self.dtype).itemsize

    @contextmanager
    def opened(self) -> Iterator[Read]:
        """Open it, to read rows in pieces of some megabytes."""
        with open_bytes(self.path, self.state) as file:
            yield partial(self._pieces, file)

    def _pieces(self, file: IO[bytes], start: int, stop: int) -> Iterator[Array]:
        step = max(1, PIECE // self._row_bytes)
        for begin in range(start, stop, step):
            rows = min(step, stop - begin)
            if not self.by_column:
                values = np.empty((rows, self.width), dtype=self.dtype)
                file.seek(self.offset + begin * self._row_bytes)
                read_exactly(file, values, self.path)
                yield values
                continue
            values = np.empty((self.width, rows), dtype=self.dtype)
            for column in range(self.width):
                file.seek(self.offset + (column * self.length + begin) * values.itemsize)
                read_exactly(file, values[column], self.path)
            yield values.T

    def together(self, rows: Array) -> Array:
        """Give rows that are best read in one go the same number."""
        return rows // max(1, NEAR // self._row_bytes)

    def traits(self) -> list[Any]:
        """Tell what the file is known by."""
        return [*file_traits(self.path), self.dtype, self.offset, self.by_column]


def npy_rows(path: str) -> NpyRows:
    """Read the header of an npy file, and compare it with the length of the file."""
    with open_bytes(path) as file:
        try:
            shape, by_column, dtype = npy_header(file)
        except ValueError as error:
            reason = " ".join(str(error).split())[:100]
            raise InputError("X", f"{path!r} is no npy file ({reason})", DAMAGED) from None
        offset, state = file.tell(), file_state(path, handle=file.fileno())
    check_numbers(path, shape, dtype)
    if any(type(length) is not int or length < 0 for length in shape):
        raise InputError("X", f"{path!r} has the shape {shape}", DAMAGED)
    found = NpyRows(path, state, shape[0], shape[1], dtype.str, offset, by_column)
    if state[0] < found.size:
        problem = f"{path!r} has {state[0]} bytes, {found.size - state[0]} fewer than its header tells"
        raise InputError("X", problem, DAMAGED)
    return found
