"""Labels on disk: the likeliest cluster of every point, in the order of the input."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.result.stored_rows import StoredRows, by_chunk
from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = ["StoredLabels"]


class StoredLabels(StoredRows):
    """The likeliest cluster of every point on a level, int32, which stay on disk.

    ``labels[5]``, ``labels[10:20]`` and ``labels[[7, 3]]`` read the chunks that they need. ``np.asarray``
    reads all of them, which takes 4 bytes a point.

    Attributes
    ----------
    files : StoredFiles
    level : int
    """

    dtype = np.dtype(np.int32)
    ndim = 1

    @property
    def shape(self) -> tuple[int]:
        """The number of points."""
        return (len(self),)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._slice(index)
        found = self._at(self.numbers(index))
        return found[0] if isinstance(index, int | np.integer) else found

    def __iter__(self) -> Iterator[np.int32]:
        return (label for _, labels in self.blocks() for label in labels)

    def blocks(self) -> Iterator[tuple[range, Array]]:
        """Iterate over the chunks: which rows they have, and their labels."""
        for chunk in self.files.plan.chunks:
            yield range(*self.files.plan.chunk(chunk)), self.chunk(chunk)

    def chunk(self, number: int) -> Array:
        """Read the labels of a chunk of rows."""
        return self.files.labels(number, self.level)

    def to_dask(self) -> Any:
        """Make a Dask array with a block for each chunk, read when it is needed.

        Workers must see the directory.

        Returns
        -------
        dask.array.Array of shape (n,)
        """
        return self._chunks_as_dask((), np.empty(0, dtype=np.int32))

    def __eq__(self, other: object) -> Any:
        """Compare every label, as an array does: ``labels == 3`` is a mask of the points of cluster 3."""
        return np.asarray(self) == other

    def __ne__(self, other: object) -> Any:
        return np.asarray(self) != other

    # as arrays have none
    __hash__ = None  # type: ignore[assignment]

    def to_npy(self, path: PathLike) -> None:
        """Write a file that ``np.load`` reads, whole or not at all."""

        def write(file: IO[bytes]) -> None:
            header = {"descr": "<i4", "fortran_order": False, "shape": self.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for _, labels in self.blocks():
                file.write(np.ascontiguousarray(labels, dtype="<i4").data)

        write_atomic(path, write)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("labels on disk cannot be an array without a copy")
        found = self._slice(slice(None))
        return found if dtype is None else found.astype(dtype, copy=False)

    def _slice(self, index: slice) -> Array:
        rows = range(*index.indices(len(self)))
        return self._rising(rows) if rows.step > 0 else self._rising(rows[::-1])[::-1].copy()

    def _rising(self, rows: range) -> Array:
        found, done = np.empty(len(rows), dtype=np.int32), 0
        while done < len(rows):
            chunk = rows[done] // self.files.plan.chunk_rows
            start = self.files.plan.chunk(chunk)[0]
            some = self.chunk(chunk)[rows[done] - start : rows.stop - start : rows.step]
            found[done : done + len(some)] = some
            done += len(some)
        return found

    def _at(self, rows: Array) -> Array:
        found = np.empty(len(rows), dtype=np.int32)
        for chunk, some in by_chunk(rows, self.files.plan.chunk_rows):
            start = self.files.plan.chunk(chunk)[0]
            found[some] = self.chunk(chunk)[rows[some] - start]
        return found
