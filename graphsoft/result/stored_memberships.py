"""Memberships on disk: read by partition, by row, or as a Dask array."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, imported
from graphsoft.result.stored_rows import StoredRows, nodes_of, numbered
from graphsoft.storage.atomic import PathLike
from graphsoft.storage.folders import check_new_folder, write_new_folder

__all__ = ["StoredMemberships"]

ROWS_WRITTEN = 1 << 20  # in one group of rows of a Parquet file


class StoredMemberships(StoredRows):
    """Memberships of n points in the m clusters of a level, which stay on disk.

    They are read a part at a time. A part is what one partition holds: points that are near each other.

    Attributes
    ----------
    files : StoredFiles
    level : int
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Points and clusters."""
        return len(self), self.clusters

    @property
    def parts(self) -> range:
        """The numbers of the parts."""
        return self.files.plan.parts

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, in {len(self.parts)} parts)"

    def __getitem__(self, index: Any) -> sp.csr_array:
        """Read the memberships of some rows, as ``memberships[5]``, ``[10:20]``, ``[[7, 3]]`` or ``[mask]``.

        The result is always a csr_array, with the rows in the order in which they are given.
        """
        return self.of_nodes(*nodes_of(self.files, self.numbers(index)))

    def part(self, part: int) -> sp.csr_array:
        """Read the memberships of a part; `row_numbers` says which rows these are."""
        return self._block(self._part(part))[1]

    def row_numbers(self, part: int) -> Array:
        """Read which rows are in a part, int64, rising."""
        return self.files.rows(self._part(part))[0]

    def blocks(self) -> Iterator[tuple[Array, sp.csr_array]]:
        """Iterate over the parts: the numbers of their rows, and their memberships."""
        return (self._block(part) for part in self.parts)

    def to_dask(self) -> Any:
        """Make a Dask array with a block for each chunk of rows, in the order of the input.

        Blocks are sparse: ``csr_array`` objects of shape (rows, m), read when they are needed.
        Workers must see the directory. Dask cannot reduce or multiply sparse blocks: ``sum``, ``mean``,
        ``argmax`` and ``@`` fail. They work on dense ones, of 8 bytes for each row and cluster::

            dense = array.map_blocks(lambda block: block.toarray(), meta=np.zeros((0, 0)))

        The rows of a chunk are in many parts. If rows are in random order, nearly all of what is stored is
        read for each chunk. To read all memberships, take `to_parquet` or `blocks`: they read each part once.

        Returns
        -------
        dask.array.Array of shape (n, m)
        """
        meta = sp.csr_array((0, self.shape[1]), dtype=np.float64)
        return self._chunks_as_dask(self.shape[1:], meta)

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
        remedy = "take blocks(), memberships[ids], to_dask() or to_parquet(path)"
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

    def _read(self, chunk: int) -> sp.csr_array:
        return self.of_nodes(*self.files.homes(chunk))

    def _block(self, part: int) -> tuple[Array, sp.csr_array]:
        rows, node = self.files.rows(part)
        return rows, self.files.memberships(part, self.level, node)

    def _part(self, part: Any) -> int:
        return numbered("part", part, len(self.parts))
