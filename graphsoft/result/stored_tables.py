"""Tables of all points of a hierarchy on disk, chunk by chunk; methods of what holds them, which `h` is."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from graphsoft.errors import imported
from graphsoft.formats.frames import write_columns
from graphsoft.storage.atomic import PathLike, write_atomic

if TYPE_CHECKING:
    from graphsoft.result.stored import StoredHierarchy
    from graphsoft.result.stored_points import StoredPoints

__all__ = ["to_csv", "to_parquet"]


def to_csv(h: StoredHierarchy | StoredPoints, path: PathLike) -> None:
    """Write a CSV file with a line for each point, in the order of the input.

    Its columns are ``point``, the number of the row, and ``level_0``, ``level_1`` and so on, the likeliest
    cluster of each level. A level of which a cluster has a name has a column ``name_0`` and so on too.

    Parameters
    ----------
    path : path-like
    """

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        for number, columns in enumerate(_chunks(h)):
            write_columns(columns, text, header=not number)
        text.detach()

    write_atomic(path, write)


def to_parquet(h: StoredHierarchy | StoredPoints, path: PathLike) -> None:
    """Write the columns of :meth:`to_csv` as one Parquet file; it needs pyarrow.

    Parameters
    ----------
    path : path-like
    """
    pyarrow, parquet = (
        imported(module, "to_parquet", "pyarrow") for module in ("pyarrow", "pyarrow.parquet")
    )

    def write(file: IO[bytes]) -> None:
        writer = None
        for columns in _chunks(h):
            table = pyarrow.table(columns)
            if writer is None:
                writer = parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    write_atomic(path, write)


def _chunks(h: StoredHierarchy | StoredPoints) -> Iterator[dict[str, Any]]:
    """Make the columns of one chunk of rows after another."""
    named = []
    for at, count in enumerate(h.plan.levels):
        ids = [f"{at}-{cluster}" for cluster in range(count)]
        known = not h.cluster_names.keys().isdisjoint(ids)
        named.append([h.cluster_names.get(id, id) for id in ids] if known else None)
    for chunk in h.plan.chunks:
        columns: dict[str, Any] = {"point": np.arange(*h.plan.chunk(chunk))}
        for at, names in enumerate(named):
            labels = columns[f"level_{at}"] = h.files.labels(chunk, at)
            if names is not None:
                columns[f"name_{at}"] = [names[label] for label in labels.tolist()]
        yield columns
