"""Rows on disk: what labels and memberships have in common, which are read by row or as a Dask array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, imported, shown
from graphsoft.result.stored_files import FilesOfShares, opened

__all__ = ["StoredRows", "by_chunk", "nodes_of", "numbered"]


@dataclass(frozen=True, eq=False, repr=False)
class StoredRows(ABC):
    """Something with a row for each point, on a level with m clusters, that stays on disk.

    Attributes
    ----------
    files : FilesOfShares
    level : int
    """

    files: FilesOfShares
    level: int

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return self.files.plan.levels[self.level]

    def __len__(self) -> int:
        return self.files.plan.rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} points in {self.clusters} clusters)"

    def chunk(self, number: int) -> Any:
        """Read a chunk: the rows from ``number * chunk_rows`` on; negative numbers count from the end."""
        return self._read(numbered("chunk", number, len(self.files.plan.chunks)))

    @abstractmethod
    def _read(self, chunk: int) -> Any:
        """Read a chunk that is there."""

    def numbers(self, index: Any) -> Array:
        """List the rows that a number, a slice, a list or a mask asks for; -1 is the last row."""
        count = len(self)
        if isinstance(index, slice):
            return np.arange(*index.indices(count))
        remedy = "give the number of a row, a slice, a list of numbers, or a mask of all rows"
        if isinstance(index, tuple | bool | np.bool_):  # as NumPy has it, a tuple is a row and a column
            raise InputError("rows", f"got {shown(index)}", remedy)
        numbers = np.asarray([index] if isinstance(index, int | np.integer) else index)
        if numbers.dtype == np.bool_ and numbers.size:
            if numbers.shape != (count,):
                size = " x ".join(map(str, numbers.shape))
                raise InputError("rows", f"got a mask of {size} entries, and there are {count} rows", remedy)
            return np.flatnonzero(numbers)
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
            raise InputError("rows", f"got {shown(index)}", remedy)
        numbers = numbers.astype(np.int64)
        if numbers.size and not -count <= numbers.min() <= numbers.max() < count:
            raise IndexError(f"there are rows from 0 to {count - 1} only")
        return numbers % max(1, count)

    def _chunks_as_dask(self, width: tuple[int, ...], meta: Any) -> Any:
        """Make a Dask array of which each block is a chunk, read where it is needed."""
        arrays, dask = (imported(module, "to_dask", "'graphsoft[dask]'") for module in ("dask.array", "dask"))
        directory, plan = str(self.files.directory), self.files.plan
        blocks = []
        for chunk in plan.chunks:
            start, stop = plan.chunk(chunk)
            task = dask.delayed(_read_chunk, pure=False)(type(self), directory, self.level, chunk)
            blocks.append(arrays.from_delayed(task, (stop - start, *width), meta=meta))
        return arrays.concatenate(blocks)


def numbered(what: str, number: Any, count: int) -> int:
    """Return the number of a part or of a chunk; negative ones count from the end.

    Examples
    --------
    >>> numbered("chunk", -1, 4)
    3
    """
    if not isinstance(number, int | np.integer) or isinstance(number, bool):
        remedy = f"give the number of a {what}, or take rows by their numbers in brackets"
        raise InputError(what, f"got {shown(number)}", remedy)
    if not -count <= number < count:
        raise IndexError(f"there is no {what} {number}: there are {count}, from 0 to {count - 1}")
    return int(number) % count


def _read_chunk(kind: type[StoredRows], directory: str, level: int, chunk: int) -> Any:
    return kind(opened(directory), level).chunk(chunk)


def nodes_of(files: FilesOfShares, rows: Array) -> tuple[Array, Array]:
    """Find the partition of rows, and their nodes in it."""
    part, place = (np.empty(len(rows), dtype=np.int64) for _ in range(2))
    for chunk, some in by_chunk(rows, files.plan.chunk_rows):
        parts, places = files.homes(chunk)
        at = rows[some] - files.plan.chunk(chunk)[0]
        part[some], place[some] = parts[at], places[at]
    return part, place


def by_chunk(rows: Array, chunk_rows: int) -> Iterable[tuple[int, Array]]:
    """Group rows by their chunk: its number, and the positions of its rows.

    Examples
    --------
    >>> [(chunk, some.tolist()) for chunk, some in by_chunk(np.array([5, 0, 4]), 4)]
    [(0, [1]), (1, [0, 2])]
    """
    chunks = rows // chunk_rows
    order = np.argsort(chunks, kind="stable")
    found, starts = np.unique(chunks[order], return_index=True)
    return zip(found.tolist(), np.split(order, starts[1:]), strict=len(found) > 0)
