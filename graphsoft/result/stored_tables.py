"""Tables of a hierarchy on disk, of its points chunk by chunk; methods of what holds them, which `h` is."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, TypeGuard

import numpy as np

from graphsoft.errors import InputError, imported
from graphsoft.formats.frames import as_frame, columns_to_csv, columns_to_parquet, write_columns
from graphsoft.input.checks import choice
from graphsoft.result.exporting import CLUSTERS, POINTS, Names, tree_columns
from graphsoft.storage.atomic import PathLike, write_atomic

if TYPE_CHECKING:
    from graphsoft.result.stored import StoredHierarchy
    from graphsoft.result.stored_points import StoredPoints

__all__ = ["to_csv", "to_frame", "to_parquet"]


def to_frame(h: StoredHierarchy, of: str = POINTS, *, library: str = "pandas", names: Names = None) -> Any:
    """Make a data frame with a row for each cluster.

    Parameters
    ----------
    of : {"clusters"}
        A frame of all points may not fit into memory: :meth:`to_parquet` writes one.
    library : {"pandas", "polars", "pyarrow"}
        Whose data frame, or table.
    names : mapping of str to str, optional
        Names of some or all clusters, by id.

    Returns
    -------
    data frame
        ``id, name, level, number, parent, probability, size, mass, share, height``, as
        :meth:`graphsoft.Hierarchy.to_frame` has them. What describes points or edges is left out.
    """
    if choice("of", of, (POINTS, CLUSTERS)) == POINTS:
        problem = "a frame of all points may not fit into memory"
        raise InputError("of", problem, "use of='clusters', or write the points: h.to_parquet(path)")
    return as_frame(tree_columns(h, names), library)


def to_csv(
    h: StoredHierarchy | StoredPoints, path: PathLike, of: str = POINTS, *, names: Names = None
) -> None:
    """Write a CSV file with a line for each point, in the order of the input, or for each cluster.

    Of points its columns are ``point``, the number of the row, and for each level l ``level_l``, the
    likeliest cluster, ``probability_l``, the membership in it, and ``entropy_l`` in nats. A level of which a
    cluster has a name has a column ``name_l`` too. Of clusters its columns are those of
    :meth:`StoredHierarchy.to_frame`.

    Parameters
    ----------
    path : path-like
    of : {"points", "clusters"}
        New points have a table of points only.
    names : mapping of str to str, optional
        Names of some or all clusters, by id.
    """
    if _are_clusters(h, of):
        columns_to_csv(tree_columns(h, names), path)
        return

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        for number, columns in enumerate(_chunks(h, names)):
            write_columns(columns, text, header=not number)
        text.detach()

    write_atomic(path, write)


def to_parquet(
    h: StoredHierarchy | StoredPoints, path: PathLike, of: str = POINTS, *, names: Names = None
) -> None:
    """Write the columns of :meth:`to_csv` as one Parquet file; it needs pyarrow.

    Parameters
    ----------
    path : path-like
    of, names
        See :meth:`to_csv`.
    """
    if _are_clusters(h, of):
        columns_to_parquet(tree_columns(h, names), path)
        return
    pyarrow, parquet = (
        imported(module, "to_parquet", "pyarrow") for module in ("pyarrow", "pyarrow.parquet")
    )

    def write(file: IO[bytes]) -> None:
        writer = None
        for columns in _chunks(h, names):
            table = pyarrow.table(columns)
            if writer is None:
                writer = parquet.ParquetWriter(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()

    write_atomic(path, write)


def _are_clusters(h: StoredHierarchy | StoredPoints, of: str) -> TypeGuard[StoredHierarchy]:
    """Tell whether the table is of clusters, which new points do not have."""
    if choice("of", of, (POINTS, CLUSTERS)) == POINTS:
        return False
    if not hasattr(h, "tree"):
        raise InputError("of", "new points have no table of clusters", "write that of the hierarchy")
    return True


def _chunks(h: StoredHierarchy | StoredPoints, given: Names) -> Iterator[dict[str, Any]]:
    """Make the columns of one chunk of rows after another."""
    called = h.cluster_names if given is None else h.name_clusters(given).cluster_names
    named = []
    for at, count in enumerate(h.plan.levels):
        ids = [f"{at}-{cluster}" for cluster in range(count)]
        known = not called.keys().isdisjoint(ids)
        named.append([called.get(id, id) for id in ids] if known else None)
    for chunk in h.plan.chunks:
        columns: dict[str, Any] = {"point": np.arange(*h.plan.chunk(chunk))}
        for at, names in enumerate(named):
            labels = columns[f"level_{at}"] = h.files.labels(chunk, at)
            if names is not None:
                columns[f"name_{at}"] = [names[label] for label in labels.tolist()]
            columns[f"probability_{at}"] = h.files.probability(chunk, at)
            columns[f"entropy_{at}"] = h.files.entropy(chunk, at)
        yield columns
