"""Memberships on disk: read by partition, by row, or as a Dask array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.distributed.summary import SUMMARY, read_summary
from graphsoft.errors import InputError, imported, shown
from graphsoft.result.stored_files import StoredFiles
from graphsoft.storage.atomic import PathLike
from graphsoft.storage.folders import check_new_folder, write_new_folder

__all__ = ["StoredMemberships", "stored_files"]

ROWS_WRITTEN = 1 << 20  # in one group of rows of a Parquet file


@dataclass(frozen=True, eq=False, repr=False)
class StoredMemberships:
    """Memberships of n points in the m clusters of a level, which stay on disk.

    They are read a part at a time. A part is what one partition holds: points that are near each other.

    Attributes
    ----------
    files : StoredFiles
    level : int
    """

    files: StoredFiles
    level: int

    @property
    def shape(self) -> tuple[int, int]:
        """Points and clusters."""
        return self.files.plan.rows, self.files.plan.levels[self.level]

    @property
    def parts(self) -> range:
        """The numbers of the parts."""
        return self.files.plan.parts

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        points, clusters = self.shape
        return f"StoredMemberships({points} points in {clusters} clusters, in {len(self.parts)} parts)"

    def __getitem__(self, index: Any) -> sp.csr_array:
        """Read the memberships of some rows, as ``memberships[5]``, ``[10:20]`` or ``[[7, 3]]``.

        The result is always a csr_array, with the rows in the order in which they are given.
        """
        return self.of_nodes(*nodes_of(self.files, numbers_of(index, len(self), "memberships")))

    def part(self, part: int) -> sp.csr_array:
        """Read the memberships of a part; `row_numbers` says which rows these are."""
        return self._block(self._part(part))[1]

    def row_numbers(self, part: int) -> Array:
        """Read which rows are in a part, int64, rising."""
        return self.files.rows(self._part(part))[0]

    def blocks(self) -> Iterator[tuple[Array, sp.csr_array]]:
        """Iterate over the parts: the numbers of their rows, and their memberships."""
        return (self._block(part) for part in self.parts)

    def chunk(self, number: int) -> sp.csr_array:
        """Read the memberships of a chunk: the rows from ``number * chunk_rows`` on."""
        return self.of_nodes(*self.files.homes(number))

    def to_dask(self) -> Any:
        """Make a Dask array with a block for each chunk of rows, in the order of the input.

        Blocks are sparse: ``csr_array`` objects of shape (rows, m), read when they are needed.
        Workers must see the directory. This makes them dense::

            array.map_blocks(lambda block: block.toarray(), meta=np.zeros((0, 0)))

        Returns
        -------
        dask.array.Array of shape (n, m)
        """
        meta = sp.csr_array((0, self.shape[1]), dtype=np.float64)
        return array_of_chunks(self.files, _read_chunk, self.level, self.shape[1:], meta)

    def to_parquet(self, path: PathLike) -> None:
        """Write a folder of Parquet files, one for each part, with columns ``row, cluster, probability``.

        Parameters
        ----------
        path : path-like
            Of a folder that is not there yet. It appears when all files are written.
        """
        pyarrow, parquet = (
            imported(module, "to_parquet", "pyarrow") for module in ("pyarrow", "pyarrow.parquet")
        )
        check_new_folder(path)
        schema = pyarrow.schema(
            [("row", pyarrow.int64()), ("cluster", pyarrow.int32()), ("probability", pyarrow.float64())]
        )

        def write(folder: Path) -> None:
            for part, (rows, shares) in enumerate(self.blocks()):
                name = folder / f"part-{part:05}.parquet"
                with parquet.ParquetWriter(name, schema) as writer:
                    for start in range(0, len(rows), ROWS_WRITTEN):
                        some = shares[start : start + ROWS_WRITTEN]
                        numbers = np.repeat(rows[start : start + ROWS_WRITTEN], np.diff(some.indptr))
                        columns = [numbers, some.indices.astype(np.int32), some.data]
                        writer.write_table(pyarrow.table(columns, schema=schema))

        write_new_folder(path, write)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        remedy = "take blocks(), rows(ids), to_dask() or to_parquet(path)"
        raise InputError("memberships", "are on disk, and may not fit into memory", remedy)

    def of_nodes(self, part: Array, place: Array) -> sp.csr_array:
        """Read the memberships of nodes, each known by its partition and its place there."""
        if not len(part):
            return sp.csr_array((0, self.shape[1]))
        order = np.argsort(part, kind="stable")
        parts, starts = np.unique(part[order], return_index=True)
        pieces = [
            self.files.memberships(int(each), self.level, place[some])
            for each, some in zip(parts, np.split(order, starts[1:]), strict=True)
        ]
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        return sp.vstack(pieces, format="csr")[back]

    def _block(self, part: int) -> tuple[Array, sp.csr_array]:
        rows, node = self.files.rows(part)
        return rows, self.files.memberships(part, self.level, node)

    def _part(self, part: Any) -> int:
        count = len(self.parts)
        if not isinstance(part, int | np.integer) or isinstance(part, bool):
            remedy = "give the number of a part, or take rows by memberships[ids]"
            raise InputError("part", f"got {shown(part)}", remedy)
        if not -count <= part < count:
            raise IndexError(f"there is no part {part}: there are {count}")
        return int(part) % count


def numbers_of(index: Any, count: int, argument: str) -> Array:
    """List the rows that somebody asks for by a number, a slice or a list; negative ones count from the end.

    Examples
    --------
    >>> [numbers_of(index, 4, "labels").tolist() for index in (-1, slice(1, 3), [2, 0])]
    [[3], [1, 2], [2, 0]]
    """
    if isinstance(index, slice):
        return np.arange(*index.indices(count))
    numbers = np.asarray([index] if isinstance(index, int | np.integer) else index)
    if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
        remedy = "give the number of a row, a slice, or a list of numbers"
        raise InputError(argument, f"got {shown(index)}", remedy)
    numbers = numbers.astype(np.int64)
    if numbers.size and not -count <= numbers.min() <= numbers.max() < count:
        raise IndexError(f"there are rows from 0 to {count - 1} only")
    return numbers % max(1, count)


def nodes_of(files: StoredFiles, rows: Array) -> tuple[Array, Array]:
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


def array_of_chunks(files: StoredFiles, read: Any, level: int, width: tuple[int, ...], meta: Any) -> Any:
    """Make a Dask array of which each block is a chunk, read by ``read(directory, level, chunk)``."""
    arrays, dask = (imported(module, "to_dask", "'graphsoft[dask]'") for module in ("dask.array", "dask"))
    directory, plan = str(files.directory), files.plan
    blocks = []
    for chunk in plan.chunks:
        start, stop = plan.chunk(chunk)
        task = dask.delayed(read, pure=False)(directory, level, chunk)
        blocks.append(arrays.from_delayed(task, (stop - start, *width), meta=meta))
    return arrays.concatenate(blocks)


def _read_chunk(directory: str, level: int, chunk: int) -> sp.csr_array:
    return StoredMemberships(stored_files(directory), level).chunk(chunk)


def stored_files(directory: str) -> StoredFiles:
    """Open the files of a result; the summary is read once for all blocks."""
    written = Path(directory, SUMMARY)
    return _stored_files(directory, written.stat().st_mtime_ns if written.exists() else 0)


@lru_cache(maxsize=4)
def _stored_files(directory: str, _: int) -> StoredFiles:
    return StoredFiles(Path(directory), read_summary(Path(directory)))
