"""Columns of results as data frames of pandas, polars or pyarrow, as CSV and as Parquet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from typing import IO, Any, TextIO

import numpy as np

from graphsoft.errors import imported
from graphsoft.formats.naming import plain_name, refuse
from graphsoft.input.checks import choice
from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = ["LIBRARIES", "as_frame", "columns_to_csv", "columns_to_parquet", "write_columns"]

LIBRARIES = ("pandas", "polars", "pyarrow")
# A text that a spreadsheet would run as a formula, or one that looks as if a quote had been put before it.
_FORMULA = re.compile(r"'*[=+\-@\t\r\0]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")  # half of a character
TEXT_FILE = "a file of text"

Columns = Mapping[str, Sequence[Any]]


def as_frame(columns: Columns, library: str = "pandas") -> Any:
    """Make a data frame of columns.

    Parameters
    ----------
    columns : mapping of str to sequence
        All of the same length.
    library : {"pandas", "polars", "pyarrow"}
        Whose frame, or table. In polars and pyarrow a column of names is of one type: whole numbers, or text.

    Examples
    --------
    >>> as_frame({"point": ["a", "b"], "level_0": [1, 0]})
      point  level_0
    0     a        1
    1     b        0
    """
    choice("library", library, LIBRARIES)
    module = imported(library, f"library={library!r}", library)
    if library == "pandas":
        return module.DataFrame(dict(columns))
    known = {name: _of_one_type(values) for name, values in columns.items()}
    return module.DataFrame(known) if library == "polars" else module.table(known)


def columns_to_parquet(columns: Columns, path: PathLike) -> None:
    """Write columns as a Parquet file; names of points are whole numbers, or texts.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pandas as pd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "points.parquet")
    ...     columns_to_parquet({"point": ["=a", "b"]}, path)
    ...     pd.read_parquet(path)["point"].tolist()
    ['=a', 'b']
    """
    parquet = imported("pyarrow.parquet", "Parquet", "'graphsoft[frames]'")
    table = as_frame(columns, "pyarrow")
    write_atomic(path, lambda file: parquet.write_table(table, file))


def columns_to_csv(columns: Columns, path: PathLike) -> None:
    """Write columns as a CSV file in UTF-8, with a header and all texts in quotes.

    A text that a spreadsheet would run as a formula, because it begins with ``= + - @``, a tab, a carriage
    return or a NUL, gets a ``'`` before it, unless it is a number. So does a text that begins like this after
    one or more ``'``. Drop one ``'`` before each of these, and the texts are as they were. A text with half
    of a surrogate pair is refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "points.csv")
    ...     columns_to_csv({"point": ["a", "=b", "-1"], "level_0": [1, 0, 0]}, path)
    ...     print(path.read_text(encoding="utf-8"))
    "point","level_0"
    "a",1
    "'=b",0
    "-1",0
    <BLANKLINE>
    """

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        write_columns(columns, text)
        text.detach()

    write_atomic(path, write)


def write_columns(columns: Columns, file: TextIO, header: bool = True) -> None:
    """Write what `columns_to_csv` does to a text file that is open; rows may follow without a header."""
    # all text is quoted, because before Python 3.13 a lone carriage return would end the row otherwise
    table = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    if header:
        table.writerow(columns)
    table.writerows(zip(*map(_cells, columns.values()), strict=True))


def _cells(values: Sequence[Any]) -> list[Any]:
    known = values.tolist() if isinstance(values, np.ndarray) else values
    return [value if isinstance(value, float) else _harmless(plain_name(value)) for value in known]


def _harmless(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    refuse([value], _SURROGATE, TEXT_FILE)
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


def _of_one_type(values: Sequence[Any]) -> Any:
    """Return numbers as they are; names as whole numbers, lists, or else as texts."""
    if isinstance(values, np.ndarray) or all(isinstance(value, (float, list)) for value in values):
        return values
    known = [plain_name(value) for value in values]
    if all(type(value) is int and abs(value) < 2**63 for value in known):  # True is no number here
        return known
    texts = [str(value) for value in known]
    refuse(texts, _SURROGATE, TEXT_FILE)
    return texts
