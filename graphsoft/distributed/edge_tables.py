"""Edges in Parquet, read by row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.edge_parts import (
    CHUNK,
    NAMES,
    NUMBERED,
    EdgeFile,
    Edges,
    checked,
    chosen_titles,
    of_disk,
    refused,
)
from graphsoft.errors import InputError, imported

__all__ = ["looked_at_table", "read_table", "refuse_edges"]

# How columns of nodes are called by those who name them.
ENDS = (*NAMES, ("from", "to"), ("u", "v"))


def looked_at_table(file: EdgeFile, columns: Sequence[str] | None) -> EdgeFile:
    """Look at the footer: which columns there are, and how large numbers get."""
    with _opened(file) as table:
        schema = table.schema_arrow
        wanted = chosen_titles(file, schema.names, columns)
        for column, what in zip(wanted, ("node", "node", "weight"), strict=False):
            kind = str(schema.field(column).type)
            if not kind.startswith(
                ("int", "uint") if what == "node" else ("int", "uint", "float", "double", "half")
            ):
                problem = f"has {kind} in column {schema.names[column]!r}, not numbers of nodes"
                if what == "weight":
                    raise refused(
                        file, problem.replace("numbers of nodes", "weights"), "give numbers above 0"
                    )
                raise refused(file, problem, NUMBERED)
        names = tuple(schema.names[column] for column in wanted)
        rows = table.metadata.num_rows
        highest = _highest(table.metadata, wanted[:2], len(schema.names))
    return replace(file, layout=names, end=rows, weighted=len(names) == 3, highest=highest)


def refuse_edges(path: str, titles: Sequence[str]) -> None:
    """Refuse rows that are edges: two whole numbers called as ends of edges are, and perhaps a weight."""
    ends = {title.strip().casefold() for title in titles} - {"weight"}
    if len(ends) != 2 or not any(ends == set(pair) for pair in ENDS):
        return
    try:
        looked_at_table(of_disk(Path(path), "parquet"), None)
    except InputError:  # they are no numbers of nodes
        return
    problem = f"{path!r} has columns of edges only: {', '.join(titles)}"
    remedy = "pass graphsoft.partitioned_graph(path), or name them as features: rows_in_files(path, columns="
    raise InputError("X", problem, f"{remedy}{list(titles)})")


def _opened(file: EdgeFile) -> Any:
    """Open a file; whatever it holds instead of Parquet is refused."""
    parquet = imported("pyarrow.parquet", "Parquet", "'graphsoft[frames]'")
    try:
        return parquet.ParquetFile(file.path, pre_buffer=False)
    except (ValueError, OSError) as error:
        raise refused(file, f"is no file of Parquet: {str(error)[:80]}", "write it again") from None


def _highest(metadata: Any, wanted: Sequence[int], columns: int) -> int | None:
    """Find the highest node by the statistics of all row groups; None if they are not there."""
    highest = -1
    if metadata.num_columns != columns:  # columns within columns
        return None
    for group in range(metadata.num_row_groups):
        for column in wanted:
            found = metadata.row_group(group).column(column).statistics
            if metadata.row_group(group).num_rows and (found is None or not found.has_min_max):
                return None
            if found is not None and found.has_min_max:
                highest = max(highest, int(found.max))
    return highest


def read_table(file: EdgeFile, start: int, stop: int, nodes: int | None) -> Iterator[Edges]:
    """Read the rows `start` to `stop`, a row group at a time, and of that some rows at a time."""
    names = [str(name) for name in file.layout]
    with _opened(file) as table:
        row = 0
        for group in range(table.metadata.num_row_groups):
            first, row = row, row + table.metadata.row_group(group).num_rows
            if row <= start or first >= stop:
                continue
            for begin, batch in _batches(file, table, group, names, first):
                low, high = max(start - begin, 0), min(stop - begin, len(batch))
                if low < high:
                    part = batch.slice(low, high - low)
                    yield checked(file, _edges(file, part, begin + low), nodes)


def _batches(file: EdgeFile, table: Any, group: int, names: list[str], row: int) -> Iterator[tuple[int, Any]]:
    try:
        for batch in table.iter_batches(CHUNK, row_groups=[group], columns=names, use_threads=False):
            yield row, batch.select(names)
            row += len(batch)
    except (ValueError, OSError) as error:
        raise refused(file, f"is damaged near row {row}: {str(error)[:80]}", "write it again") from None


def _edges(file: EdgeFile, batch: Any, row: int) -> Edges:
    columns: list[Array] = []
    for column in batch.columns:
        if column.null_count:
            at = column.is_null().to_pylist().index(True)
            raise refused(file, f"has a gap in row {row + at}", "leave out such rows")
        columns.append(np.asarray(column.to_numpy(zero_copy_only=False)))
    weight = columns[2] if len(columns) == 3 else None
    return Edges(columns[0], columns[1], weight, lambda at: f"row {row + at}")
