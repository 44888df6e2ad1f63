"""The reader of Parquet, by pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.datasets.asked import Asked, needed
from graphsoft.datasets.columns import lay_out
from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.text import as_labels
from graphsoft.errors import InputError
from graphsoft.input.dense_input import REAL_KINDS, warn_of_columns
from graphsoft.input.large_numbers import EXACT

__all__ = ["read_parquet"]


def read_parquet(path: Path, asked: Asked) -> Dataset:
    """Read a table with one row for each point; only the columns that are needed are read."""
    file = needed("pyarrow.parquet", "frames").ParquetFile(path)
    schema = file.schema_arrow
    titles = list(schema.names)
    if not titles:
        raise InputError("path", f"{path.name!r} has no columns", "add columns of numbers")
    # pandas writes its index as a column, and says which one it is
    index = [name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if name in titles]
    layout = lay_out(titles, asked, titles.index(index[0]) if len(index) == 1 else None)
    others = [column for column in (layout.label, layout.name) if column is not None]
    table = file.read(columns=[titles[column] for column in {*layout.features, *others}])
    if not table.num_rows:
        raise InputError("path", f"{path.name!r} holds no points", "give at least one row of numbers")
    data = _stacked([_numbers(table, title) for title in layout.feature_titles], table.num_rows)
    warn_of_columns(layout.feature_titles, data)
    return Dataset(
        data=data,
        labels=None if layout.label is None else as_labels(_column(table, titles[layout.label]).to_pylist()),
        names=None if layout.name is None else tuple(table.column(titles[layout.name]).to_pylist()),
        affinity="features",
        notes=layout.notes,
        columns=layout.feature_titles,
    )


def _numbers(table: Any, title: str) -> Array:
    values: Array = np.asarray(_column(table, title).to_numpy())
    if values.dtype.kind not in REAL_KINDS:
        problem = f"column {title!r} holds {table.schema.field(title).type}, not numbers"
        raise InputError("path", problem, "name it as labels if it is the known classes, else drop it")
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
