"""Columns on disk, in the order of the input: the likeliest cluster of every point, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, ClassVar

import numpy as np

from graphsoft.aliases import Array
from graphsoft.result.stored_rows import StoredRows, by_chunk
from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = ["StoredColumn", "StoredEntropy", "StoredLabels", "StoredProbability"]


class StoredColumn(StoredRows):
    """A number for every point, on a level, which stay on disk.

    ``column[5]``, ``column[10:20]``, ``column[[7, 3]]`` and ``column[mask]`` read the chunks that they need.
    Comparisons and ``np.asarray`` read all of them, which takes 4 bytes a point.

    Attributes
    ----------
    files : FilesOfShares
    level : int
    """

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float32)
    ndim: ClassVar[int] = 1

    @property
    def shape(self) -> tuple[int]:
        """The number of points."""
        return (len(self),)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        found = self._at(self.numbers(index))
        return found[0] if isinstance(index, int | np.integer) else found

    def __iter__(self) -> Iterator[Any]:
        return (value for _, values in self.blocks() for value in values)

    def blocks(self) -> Iterator[tuple[range, Array]]:
        """Iterate over the chunks: which rows they have, and their numbers."""
        for chunk in self.files.plan.chunks:
            yield range(*self.files.plan.chunk(chunk)), self.chunk(chunk)

    def to_dask(self) -> Any:
        """Make a Dask array with a block for each chunk, read when it is needed.

        Workers must see the directory.

        Returns
        -------
        dask.array.Array of shape (n,)
        """
        return self._chunks_as_dask((), np.empty(0, dtype=self.dtype))

    def __eq__(self, other: object) -> Any:
        """Compare every number, as an array does: ``labels == 3`` is a mask of the points of cluster 3."""
        return np.asarray(self) == other

    def __ne__(self, other: object) -> Any:
        return np.asarray(self) != other

    def __lt__(self, other: Any) -> Any:
        return np.asarray(self) < other

    def __le__(self, other: Any) -> Any:
        return np.asarray(self) <= other

    def __gt__(self, other: Any) -> Any:
        return np.asarray(self) > other

    def __ge__(self, other: Any) -> Any:
        return np.asarray(self) >= other

    # as arrays have none
    __hash__ = None  # type: ignore[assignment]

    def to_npy(self, path: PathLike) -> None:
        """Write a file that ``np.load`` reads, whole or not at all."""

        def write(file: IO[bytes]) -> None:
            little = self.dtype.newbyteorder("<")
            header = {"descr": little.str, "fortran_order": False, "shape": self.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for _, values in self.blocks():
                file.write(np.ascontiguousarray(values, dtype=little).data)

        write_atomic(path, write)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("what is on disk cannot be an array without a copy")
        found = self._slice(slice(None))
        return found if dtype is None else found.astype(dtype, copy=False)

    def _slice(self, index: slice) -> Array:
        rows = range(*index.indices(len(self)))
        return self._rising(rows) if rows.step > 0 else self._rising(rows[::-1])[::-1].copy()

    def _rising(self, rows: range) -> Array:
        found, done = np.empty(len(rows), dtype=self.dtype), 0
        while done < len(rows):
            chunk = rows[done] // self.files.plan.chunk_rows
            start = self.files.plan.chunk(chunk)[0]
            some = self.chunk(chunk)[rows[done] - start : rows.stop - start : rows.step]
            found[done : done + len(some)] = some
            done += len(some)
        return found

    def _at(self, rows: Array) -> Array:
        found = np.empty(len(rows), dtype=self.dtype)
        for chunk, some in by_chunk(rows, self.files.plan.chunk_rows):
            start = self.files.plan.chunk(chunk)[0]
            found[some] = self.chunk(chunk)[rows[some] - start]
        return found


class StoredLabels(StoredColumn):
    """The likeliest cluster of every point on a level, int32."""

    dtype = np.dtype(np.int32)

    def _read(self, chunk: int) -> Array:
        return self.files.labels(chunk, self.level)


class StoredProbability(StoredColumn):
    """The membership of every point in its likeliest cluster, float32."""

    def _read(self, chunk: int) -> Array:
        return self.files.probability(chunk, self.level)


class StoredEntropy(StoredColumn):
    """How torn every point is between the clusters of a level, in nats, float32."""

    def _read(self, chunk: int) -> Array:
        return self.files.entropy(chunk, self.level)
