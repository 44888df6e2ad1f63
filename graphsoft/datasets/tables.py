"""The reader of tables in text files, csv and tsv."""

from __future__ import annotations

import csv
import difflib
import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.headers import ROWS_COMPARED, Verdict, judge_first_line
from graphsoft.datasets.text import GAPS, as_labels, is_number, open_text
from graphsoft.errors import InputError, shown, warn
from graphsoft.input.dense_input import USUAL_LABELS, warn_of_columns
from graphsoft.input.large_numbers import EXACT

__all__ = ["read_table"]


@dataclass(frozen=True)
class _Layout:
    """Which column of a table is what."""

    titles: list[str]
    has_header: bool
    features: list[int]
    label: int | None
    name: int | None


def read_table(path: Path, labels: str | None, header: bool | None = None) -> Dataset:
    """Read a table with one row for each point."""
    with open_text(path) as file:
        line = file.readline()
        reader = csv.reader(chain([line], file), delimiter=max(",;\t", key=line.count), skipinitialspace=True)
        rows = ((reader.line_num, row) for row in reader if row)
        begin = list(islice(rows, 1 + ROWS_COMPARED))
        if not begin:
            raise InputError("path", f"{path.name!r} is empty", "give at least one row of numbers")
        stripped = [[field.strip() for field in row] for _, row in begin]
        verdict = _verdict(stripped, labels, header)
        layout = _lay_out(stripped[0], verdict.is_header, labels)
        values, large, known, names = _parse_rows(chain(begin[layout.has_header :], rows), layout)
    if not len(values):
        raise InputError("path", f"{path.name!r} holds no points", "give at least one row of numbers")
    if not verdict.sure:
        _warn_of_doubt(stripped[0], begin[0][0], verdict)
    if len(set(names)) < len(names):
        warn(f"column {layout.titles[0]!r} was taken as names of the points, and some of them are the same")
    data = _as_table(values, large, len(layout.features))
    if layout.has_header:
        warn_of_columns([layout.titles[column] for column in layout.features], data)
    return Dataset(
        data=data,
        labels=None if layout.label is None else as_labels(known),
        names=None if layout.name is None else tuple(names),
        affinity="features",
        notes=_notes(layout, begin[0][0]),
    )


def _verdict(begin: list[list[str]], labels: str | None, header: bool | None) -> Verdict:
    """Decide whether the first line is a header. It is if `labels` is one of its titles."""
    if header is not None:
        return Verdict(bool(header), True)
    first = begin[0]
    if labels in first and labels not in map(str, range(len(first))):
        return Verdict(True, True)
    return judge_first_line(first, begin[1:])


def _warn_of_doubt(first: Sequence[str], line: int, verdict: Verdict) -> None:
    taken, other = ("a header", "a point") if verdict.is_header else ("a point", "a header")
    warn(
        f"line {line} ({shown(', '.join(first))[1:-1]}) was taken as {taken}, but may be {other}; "
        "say header=True (--header) if it is a header, header=False (--no-header) if it is a point"
    )


def _notes(layout: _Layout, line: int) -> tuple[str, ...]:
    """Say what was assumed about the file."""
    taken = "the header" if layout.has_header else "a point: there is no header"
    notes = [f"line {line} was taken as {taken}"]
    if layout.name is not None:
        notes.append(f"column {layout.titles[layout.name]!r} was taken as names of the points")
    return tuple(notes)


def _lay_out(first: list[str], has_header: bool, labels: str | None) -> _Layout:
    """Decide what each column is for."""
    titles = first if has_header else [str(column) for column in range(len(first))]
    label = None
    if labels is not None:
        if labels not in titles:
            close = difflib.get_close_matches(labels, titles, n=3) or titles[:8]
            choice = ", ".join(repr(title) for title in close)
            raise InputError("labels", f"there is no column {labels!r}", f"choose a column, such as {choice}")
        label = titles.index(labels)
    name = 0 if has_header and label != 0 and _is_name(titles[0].casefold()) else None
    features = [column for column in range(len(titles)) if column not in (label, name)]
    if not features:
        problem = f"the columns are {titles}, none of them a feature"
        raise InputError("path", problem, "add columns of numbers")
    return _Layout(titles, has_header, features, label, name)


def _is_name(title: str) -> bool:
    """Tell the usual titles of a column of names."""
    of_class = title.removesuffix("_id") in {*USUAL_LABELS, "cluster"}
    return title in ("", "id", "name", "index") or (title.endswith("_id") and not of_class)


def _parse_rows(
    rows: Iterable[tuple[int, list[str]]], layout: _Layout
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
        if max(numbers) >= EXACT or min(numbers) <= -EXACT:
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


def _as_table(values: array[float], large: dict[int, int], columns: int) -> NDArray[Any]:
    """Make an array of floats, or of objects if there are whole numbers that float64 would round."""
    data: NDArray[Any] = np.frombuffer(values, dtype=np.float64)
    if large:
        data = data.astype(object)
        for at, whole in large.items():
            data[at] = whole
    return data.reshape(-1, columns)


def _bad_field(row: list[str], layout: _Layout, line: int) -> InputError:
    """Make the error for a row in which some field is not a finite number."""
    column = next(c for c in layout.features if not is_number(row[c]) or not math.isfinite(float(row[c])))
    field, title = row[column].strip(), layout.titles[column]
    if field.casefold() in GAPS:
        problem = f"column {title!r} has a gap ({field!r}) on line {line}"
        return InputError("path", problem, "fill the gaps, or leave out the row or the column")
    kind = "a number that is not finite" if is_number(field) else "text"
    problem = f"column {title!r} holds {kind} ({field[:40]!r} on line {line})"
    return InputError("path", problem, "name it as labels if it is the known classes, else leave it out")
