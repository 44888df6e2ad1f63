"""The reader of Parquet, by pyarrow."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.datasets.asked import Asked
from graphsoft.datasets.columns import TEXT_COLUMN, lay_out
from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.text import as_labels
from graphsoft.errors import InputError, imported
from graphsoft.input.dense_input import REAL_KINDS, warn_of_columns
from graphsoft.input.large_numbers import EXACT

__all__ = ["read_parquet"]


def read_parquet(path: Path, asked: Asked) -> Dataset:
    """Read a table with one row for each point; only the columns that are needed are read."""
    parquet = imported("pyarrow.parquet", "Parquet", "'graphsoft[frames]'")
    schema = parquet.ParquetFile(path).schema_arrow
    titles = list(schema.names)
    if not titles:
        raise InputError("path", f"{path.name!r} has no columns", "add columns of numbers")
    # pandas writes its index as a column, and says which one it is
    index = [name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if name in titles]
    layout = lay_out(titles, asked, titles.index(index[0]) if len(index) == 1 else None)
    others = [titles[column] for column in (layout.label, layout.name) if column is not None]
    for title in layout.feature_titles:
        _refuse_other_types(schema.field(title))
    # a text that comes often is stored once, and stays so in memory
    file = parquet.ParquetFile(path, read_dictionary=others)
    wanted = {*layout.feature_titles, *others}
    asked.limit.check(_bytes_of(file.metadata, wanted))
    table = file.read(columns=[title for title in titles if title in wanted])
    if not table.num_rows:
        raise InputError("path", f"{path.name!r} holds no points", "give at least one row of numbers")
    data = _stacked([_numbers(table, title) for title in layout.feature_titles], table.num_rows)
    warn_of_columns(layout.feature_titles, data)
    return Dataset(
        data=data,
        labels=None
        if layout.label is None
        else as_labels(_listed(_column(table, titles[layout.label])), asked.limit),
        names=None if layout.name is None else tuple(_listed(table.column(titles[layout.name]))),
        affinity="features",
        notes=layout.notes,
        columns=layout.feature_titles,
    )


def _bytes_of(metadata: Any, wanted: Collection[str]) -> int:
    """Count the bytes of some columns: as they are stored without compression, and as numbers in memory."""
    stored = 0
    for group in range(metadata.num_row_groups):
        columns = map(metadata.row_group(group).column, range(metadata.num_columns))
        stored += sum(
            each.total_uncompressed_size for each in columns if each.path_in_schema.split(".")[0] in wanted
        )
    return max(stored, 8 * len(wanted) * int(metadata.num_rows))


def _refuse_other_types(field: Any) -> None:
    """Refuse a feature that is no number, by what the file says of its type."""
    kind = getattr(field.type, "value_type", field.type)  # that of a dictionary's values
    try:
        real = np.dtype(kind.to_pandas_dtype()).kind in REAL_KINDS
    except NotImplementedError:
        real = False
    if not real or field.type.num_fields > 0:
        raise InputError("path", f"column {field.name!r} holds {field.type}, not numbers", TEXT_COLUMN)


def _listed(column: Any) -> list[Any]:
    """List the values of a column; texts that are stored once are objects once."""
    if not hasattr(column.type, "value_type"):
        values: list[Any] = column.to_pylist()
        return values
    found: list[Any] = []
    for chunk in column.chunks:
        words = chunk.dictionary.to_pylist()
        found += [None if number is None else words[number] for number in chunk.indices.to_pylist()]
    return found


def _numbers(table: Any, title: str) -> Array:
    values: Array = np.asarray(_column(table, title).to_numpy())
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        problem = f"column {title!r} holds {values[bad[0]]} in row {bad[0]}"
        raise InputError("path", problem, "fill the gaps, or leave out the row or the column")
    return values


def _column(table: Any, title: str) -> Any:
    column = table.column(title)
    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        problem = f"column {title!r} has a gap in row {row}"
        raise InputError("path", problem, "fill the gaps, or leave out the row or the column")
    return column


def _stacked(columns: list[Array], rows: int) -> Array:
    """Put columns side by side: floats, or objects if there are whole numbers that float64 would round."""
    large = any(
        values.dtype.kind in "iu" and (int(values.max()) > EXACT or int(values.min()) < -EXACT)
        for values in columns
    )
    if large:
        return np.array([values.tolist() for values in columns], dtype=object).T
    return np.column_stack([np.empty((rows, 0)), *columns]).astype(np.float64)
