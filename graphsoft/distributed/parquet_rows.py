"""Rows of Parquet files, of which only the needed columns and groups of rows are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.distributed.row_pieces import (
    DAMAGED,
    PIECE,
    Read,
    State,
    file_state,
    file_traits,
    floats_for,
    open_bytes,
)
from graphsoft.errors import InputError, imported
from graphsoft.input.large_numbers import LARGER_UNIT, first_rounded

__all__ = ["ParquetRows", "parquet_rows"]

FEWEST = 256  # rows in a batch, because each column of it takes time of its own
NUMBERS = "leave it out: say so by rows_in_files(path, drop=[...]), or --drop A,B"
GAPS = "fill the gaps, or leave out the rows or the column"


@dataclass(frozen=True)
class ParquetRows:
    """The chosen columns of a Parquet file: of numbers, or one column with a list of numbers in each row.

    Attributes
    ----------
    path : str
    state : tuple of int
        Of the file when it was looked at.
    groups : tuple of int
        How many rows each group of rows has.
    width : int
    dtype : str
    titles : tuple of str
        The columns that are read.
    listed : bool
        Whether the only column holds lists, each with a number for every feature.
    """

    path: str
    state: State
    groups: tuple[int, ...]
    width: int
    dtype: str
    titles: tuple[str, ...]
    listed: bool = False

    sparse = False

    @property
    def length(self) -> int:
        """How many rows it has."""
        return sum(self.groups)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the features."""
        return None if self.listed else self.titles

    @contextmanager
    def opened(self) -> Iterator[Read]:
        """Open it, to read the groups that hold some rows, a batch at a time."""
        with open_bytes(self.path, self.state) as file:
            yield partial(self._pieces, _opened(self.path, file))

    def _pieces(self, opened: Any, start: int, stop: int) -> Iterator[Array]:
        ends = np.cumsum(self.groups)
        first, last = (int(np.searchsorted(ends, row, side="right")) for row in (start, stop - 1))
        row = int(ends[first]) - self.groups[first]
        step = max(FEWEST, 4 * PIECE // (self.width * 8))
        groups, titles = range(first, last + 1), list(self.titles)
        for batch in opened.iter_batches(
            batch_size=step, row_groups=groups, columns=titles, use_threads=False
        ):
            begin, end = max(start - row, 0), min(stop - row, len(batch))
            if begin < end:
                yield self._numbers(batch.slice(begin, end - begin), row + begin)
            row += len(batch)
            if row >= stop:
                return

    def together(self, rows: Array) -> Array:
        """Give rows that are best read in one go the same number."""
        return np.searchsorted(np.cumsum(self.groups), rows, side="right")

    def traits(self) -> list[Any]:
        """Tell what the file is known by."""
        return [*file_traits(self.path), *self.titles]

    def _numbers(self, batch: Any, row: int) -> Array:
        """Put columns side by side, as floats that hold each of them."""
        result = np.empty((len(batch), self.width), dtype=self.dtype)
        for number, title in enumerate(self.titles):
            column = batch.column(title)
            self._refuse_gaps(column, title, row)
            if self.listed:
                return self._of_lists(column, title, row)
            values = column.to_numpy(zero_copy_only=False)
            place = first_rounded(values[:, None])
            if place is not None:
                where = f"in row {row + place[0]} of column {title!r}"
                problem = (
                    f"{self.path!r} holds {values[place[0]]} {where}, beyond 2**53: float64 would round it"
                )
                raise InputError("X", problem, LARGER_UNIT)
            result[:, number] = values
        return result

    def _of_lists(self, column: Any, title: str, row: int) -> Array:
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != self.width)
        if len(wrong):
            problem = f"{self.path!r} has a list of {lengths[wrong[0]]} numbers in row {row + wrong[0]}"
            remedy = f"give {self.width} numbers in each row, as in its first one"
            raise InputError("X", f"{problem} of column {title!r}", remedy)
        flat = column.flatten()
        if flat.null_count:
            entry = int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0])
            where = f"in row {row + entry // self.width} of column {title!r}"
            raise InputError("X", f"{self.path!r} has a gap {where}", GAPS)
        return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(-1, self.width)

    def _refuse_gaps(self, column: Any, title: str, row: int) -> None:
        if column.null_count:
            first = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            problem = f"{self.path!r} has a gap in row {row + first} of column {title!r}"
            raise InputError("X", problem, GAPS)


def parquet_rows(path: str, columns: Sequence[str] | None, drop: Sequence[str] = ()) -> ParquetRows:
    """Read the header of a Parquet file, and choose its columns: those named, or all but those in `drop`."""
    with open_bytes(path) as file:
        opened, state = _opened(path, file), file_state(path, handle=file.fileno())
        schema = opened.schema_arrow
        titles = _chosen(path, schema, columns, drop)
        types = [schema.field(title).type for title in titles]
        groups = tuple(opened.metadata.row_group(k).num_rows for k in range(opened.num_row_groups))
        if min(groups, default=0) < 0 or sum(groups) != opened.metadata.num_rows:
            raise InputError("X", f"{path!r} does not tell how many rows it has", DAMAGED)
        if len(titles) == 1 and _is_list(types[0]):
            kind = _number_type(path, titles[0], types[0].value_type)
            width = _list_width(opened, types[0], titles[0])
            if width == 0 and sum(groups):
                raise InputError("X", f"{path!r} has no numbers in column {titles[0]!r}", "give some")
            return ParquetRows(path, state, groups, width, kind.str, titles, True)
        kinds = [_number_type(path, title, kind) for title, kind in zip(titles, types, strict=True)]
    return ParquetRows(path, state, groups, len(titles), floats_for(*kinds).str, titles)


def _opened(path: str, file: Any) -> Any:
    parquet = imported("pyarrow.parquet", "Parquet", "'graphsoft[frames]'")
    try:
        return parquet.ParquetFile(file, buffer_size=PIECE)
    except ValueError as error:  # which those of Arrow are
        reason = " ".join(str(error).split())[:100]
        raise InputError("X", f"{path!r} is no Parquet file ({reason})", DAMAGED) from None


def _chosen(path: str, schema: Any, columns: Sequence[str] | None, drop: Sequence[str]) -> tuple[str, ...]:
    titles = list(schema.names)
    if len(set(titles)) < len(titles):
        raise InputError("X", f"{path!r} has two columns of the same name", "give each another name")
    for argument, named in (("columns", columns or ()), ("drop", drop)):
        for title in named:
            if title not in titles:
                held = ", ".join(map(repr, titles[:10])) + ", ..." * (len(titles) > 10)
                raise InputError(argument, f"{path!r} has no column {title!r}", f"choose some of {held}")
    if columns is None:
        # pandas writes its index as a column, and says which one it is
        index = [name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if name in titles]
        columns = [title for title in titles if title not in index and title not in drop]
    if not columns:
        raise InputError("X", f"{path!r} has no columns", "give at least one feature")
    return tuple(columns)


def _is_list(kind: Any) -> bool:
    types = imported("pyarrow.types", "Parquet", "'graphsoft[frames]'")
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _number_type(path: str, title: str, kind: Any) -> np.dtype[Any]:
    types = imported("pyarrow.types", "Parquet", "'graphsoft[frames]'")
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise InputError("X", f"{path!r} holds {kind} in column {title!r}, not numbers", NUMBERS)
    found: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
    return found


def _list_width(opened: Any, kind: Any, title: str) -> int:
    """Tell how long the lists are; where the type does not say it, the first one does."""
    if imported("pyarrow.types", "Parquet", "'graphsoft[frames]'").is_fixed_size_list(kind):
        return int(kind.list_size)
    for batch in opened.iter_batches(batch_size=1, columns=[title], use_threads=False):
        return len(batch.column(0)[0].as_py() or ())
    return 0
