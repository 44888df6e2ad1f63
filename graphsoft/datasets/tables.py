"""The reader of tables in text files, csv and tsv."""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsoft.datasets.asked import Asked
from graphsoft.datasets.columns import TEXT_COLUMN, Layout, lay_out
from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.headers import ROWS_COMPARED, Verdict, judge_first_line
from graphsoft.datasets.text import GAPS, as_labels, is_number, open_text
from graphsoft.errors import InputError, shown, warn
from graphsoft.input.dense_input import warn_of_columns
from graphsoft.input.large_numbers import EXACT

__all__ = ["read_table"]

DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


def read_table(path: Path, asked: Asked) -> Dataset:
    """Read a table with one row for each point."""
    with open_text(path, asked.limit) as file:
        line = file.readline()
        reader = csv.reader(chain([line], file), delimiter=max(",;\t", key=line.count), skipinitialspace=True)
        rows = ((reader.line_num, row) for row in reader if row)
        begin = list(islice(rows, 1 + ROWS_COMPARED))
        if not begin:
            raise InputError("path", f"{path.name!r} is empty", "give at least one row of numbers")
        stripped = [[field.strip() for field in row] for _, row in begin]
        verdict = _verdict(stripped, asked)
        layout = _laid_out(stripped[0], verdict.is_header, asked)
        values, large, known, names = _parse_rows(chain(begin[verdict.is_header :], rows), layout)
    if not (values or known or names):
        raise InputError("path", f"{path.name!r} holds no points", "give at least one row of numbers")
    if not verdict.sure:
        _warn_of_doubt(stripped[0], begin[0][0], verdict)
    if len(set(names)) < len(names):
        warn(f"column {layout.titles[0]!r} was taken as names of the points, and some of them are the same")
    count = len(known) or len(names) or len(values) // len(layout.features)
    data = _as_table(values, large, (count, len(layout.features)))
    if verdict.is_header:
        warn_of_columns(layout.feature_titles, data)
    taken = "the header" if verdict.is_header else "a point: there is no header"
    return Dataset(
        data=data,
        labels=None if layout.label is None else as_labels(known, asked.limit),
        names=None if layout.name is None else tuple(names),
        affinity="features",
        notes=(f"line {begin[0][0]} was taken as {taken}", *layout.notes),
        columns=layout.feature_titles,
    )


def _verdict(begin: list[list[str]], asked: Asked) -> Verdict:
    """Decide whether the first line is a header. It is if a column is asked for by a title that it holds."""
    if asked.header is not None:
        return Verdict(bool(asked.header), True)
    first = begin[0]
    titles = {asked.labels, *(asked.columns or ()), *(asked.drop or ())} - set(map(str, range(len(first))))
    if titles.intersection(first):
        return Verdict(True, True)
    return judge_first_line(first, begin[1:])


def _laid_out(first: list[str], is_header: bool, asked: Asked) -> Layout:
    """Decide what each column is for; without a header they are called by their numbers."""
    return lay_out(first if is_header else [str(column) for column in range(len(first))], asked)


def _warn_of_doubt(first: Sequence[str], line: int, verdict: Verdict) -> None:
    taken, other = ("a header", "a point") if verdict.is_header else ("a point", "a header")
    warn(
        f"line {line} ({shown(', '.join(first))[1:-1]}) was taken as {taken}, but may be {other}; "
        "say header=True (--header) if it is a header, header=False (--no-header) if it is a point"
    )


def _parse_rows(
    rows: Iterable[tuple[int, list[str]]], layout: Layout
) -> tuple[array[float], dict[int, int], list[str], list[str]]:
    """Read the features, the whole numbers among them that float64 rounds, the classes and the names."""
    values, large, known, names = array("d"), dict[int, int](), list[str](), list[str]()
    for line, row in rows:
        if len(row) != len(layout.titles):
            problem = f"line {line} has {len(row)} fields, the first has {len(layout.titles)}"
            raise InputError("path", problem, "give every row the same columns")
        try:
            numbers = [float(row[column]) for column in layout.features]
        except ValueError:
            raise _bad_field(row, layout, line) from None
        if not math.isfinite(sum(numbers)) and not all(map(math.isfinite, numbers)):
            raise _bad_field(row, layout, line)
        if "_" in "".join(row) and not all(is_number(row[column]) for column in layout.features):
            raise _bad_field(row, layout, line)
        if numbers and (max(numbers) >= EXACT or min(numbers) <= -EXACT):
            exact = enumerate((_whole(row[column]) for column in layout.features), start=len(values))
            large.update((at, whole) for at, whole in exact if whole is not None)
        values.extend(numbers)
        if layout.label is not None:
            known.append(row[layout.label].strip())
        if layout.name is not None:
            names.append(row[layout.name].strip())
    return values, large, known, names


def _whole(field: str) -> int | None:
    """Read a whole number that float64 would round; None for any other.

    Examples
    --------
    >>> _whole("9007199254740993"), _whole("9007199254740992"), _whole("9007199254740993.0")
    (9007199254740993, None, None)
    """
    digits = field.strip()
    if not digits.lstrip("+-").isdecimal():  # floats of more than 2**53 are seldom written with all digits
        return None
    return int(digits) if int(digits) != float(digits) else None


def _as_table(values: array[float], large: dict[int, int], shape: tuple[int, int]) -> NDArray[Any]:
    """Make an array of floats, or of objects if there are whole numbers that float64 would round."""
    data: NDArray[Any] = np.frombuffer(values, dtype=np.float64)
    if large:
        data = data.astype(object)
        for at, whole in large.items():
            data[at] = whole
    return data.reshape(shape)


def _bad_field(row: list[str], layout: Layout, line: int) -> InputError:
    """Make the error for a row in which some field is not a finite number."""
    column = next(c for c in layout.features if not is_number(row[c]) or not math.isfinite(float(row[c])))
    field, title = row[column].strip(), layout.titles[column]
    if field.casefold() in GAPS:
        problem = f"column {title!r} has a gap ({field!r}) on line {line}"
        return InputError("path", problem, "fill the gaps, or leave out the row or the column")
    where = f"({field[:40]!r} on line {line})"
    if is_number(field):
        return InputError("path", f"column {title!r} holds a number that is not finite {where}", TEXT_COLUMN)
    if DECIMAL_COMMA.fullmatch(field):
        problem = f"column {title!r} holds a decimal comma {where}"
        return InputError("path", problem, "write numbers with a decimal point")
    others = [layout.titles[c] for c in layout.features if c > column and _is_text(row[c])]
    also = f", and so do {', '.join(map(repr, others))}" if others else ""
    return InputError("path", f"column {title!r} holds text {where}{also}", TEXT_COLUMN)


def _is_text(field: str) -> bool:
    field = field.strip()
    return not (is_number(field) or DECIMAL_COMMA.fullmatch(field) or field.casefold() in GAPS)
