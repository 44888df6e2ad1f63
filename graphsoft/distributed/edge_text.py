"""Edges in text: csv, tsv, and lists with blanks between the fields."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import IO

import numpy as np

from graphsoft.aliases import Array
from graphsoft.datasets.text import is_number
from graphsoft.distributed.edge_parts import NUMBERED, EdgeFile, Edges, checked, chosen_titles, refused
from graphsoft.errors import shown

__all__ = ["looked_at_text", "read_text"]

# Bytes that are read at a time, some 100,000 lines; and more than any line has.
BYTES = 1 << 21
LONGEST_LINE = 1 << 16
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLANKS = ""  # stands for any number of blanks and tabs
BLANK_LINE = re.compile(r"^ +(?=\r?$)", re.MULTILINE)
FIELDS = "write 'u v' or 'u v weight', the same on every line"


def looked_at_text(file: EdgeFile, columns: Sequence[str] | None) -> EdgeFile:
    """Look at the first lines: the delimiter, a header if there is one, and where the fields are."""
    with open(file.path, "rb") as opened:
        raw = opened.read(LONGEST_LINE)
    begin = len(BYTE_ORDER_MARK) if raw.startswith(BYTE_ORDER_MARK) else 0
    lines = raw[begin:].split(b"\n")
    whole = lines[:-1] if len(raw) == LONGEST_LINE else lines
    delimiter: str | None = None
    for line in whole:
        text = line.decode("latin-1").strip("\r\n")
        if not text.partition("#")[0].strip():
            begin += len(line) + 1
            continue
        delimiter = _delimiter(file, text)
        fields = _split(file, text, delimiter)
        header = not any(is_number(field) for field in fields)
        if columns is not None and not header:
            raise refused(file, "has no header", "leave out columns=, or write a header")
        wanted = chosen_titles(file, fields, columns)
        begin += (len(line) + 1) * header
        layout = (delimiter, len(fields), wanted)
        end, each = max(begin, file.size), _bytes_each(raw[begin:])
        return replace(file, layout=layout, begin=begin, end=end, each=each, weighted=len(wanted) == 3)
    if len(raw) == LONGEST_LINE:
        raise refused(file, f"has no edge in its first {LONGEST_LINE} bytes", FIELDS)
    return replace(file, layout=(BLANKS, 2, (0, 1)), begin=file.size, end=file.size)


def read_text(file: EdgeFile, start: int, stop: int, nodes: int | None) -> Iterator[Edges]:
    """Read the lines that begin at the bytes `start` to `stop`."""
    with open(file.path, "rb") as opened:
        at = start
        if start > file.begin:
            opened.seek(start - 1)
            at = start - 1 + len(_line(file, opened))
        opened.seek(at)
        while at < stop:
            raw = opened.read(min(BYTES, stop - at))
            if not raw:
                break
            if not raw.endswith(b"\n"):
                raw += _line(file, opened)
            edges = _parsed(file, raw, at)
            if edges is not None:
                yield checked(file, edges, nodes)
            at += len(raw)


def _line(file: EdgeFile, opened: IO[bytes]) -> bytes:
    """Read up to the end of a line."""
    rest = opened.readline(LONGEST_LINE)
    if len(rest) == LONGEST_LINE:
        raise refused(file, f"has a line of more than {LONGEST_LINE} bytes", FIELDS)
    return rest


def _delimiter(file: EdgeFile, line: str) -> str:
    if file.kind == "edges":
        return BLANKS
    return max(",;\t", key=line.count)


def _split(file: EdgeFile, line: str, delimiter: str) -> list[str]:
    if delimiter == BLANKS:
        return line.partition("#")[0].split()
    try:
        return [field.strip() for field in next(csv.reader([line], delimiter=delimiter))]
    except csv.Error:  # lines that end as on old computers, or a field of endless length
        raise refused(file, "has lines that are no fields of a table", FIELDS) from None


def _bytes_each(sample: bytes) -> float:
    """Estimate the bytes of a line."""
    return max(4.0, len(sample) / max(1, sample.count(b"\n")))


def _parsed(file: EdgeFile, raw: bytes, at: int) -> Edges | None:
    """Parse whole lines that begin at byte `at`; None if they hold no edges."""
    delimiter, count, wanted = file.layout
    if not raw.strip():
        return None
    text = BLANK_LINE.sub("", raw.decode("latin-1"))
    if delimiter != BLANKS:
        _refuse_broken_lines(file, text, at)
    some = len(wanted) < count  # where all fields are read, lines with more of them are found
    only_comments = "#" in text and not any(line.partition("#")[0].strip() for line in text.split("\n"))
    if only_comments:
        return None
    try:
        table = np.loadtxt(
            io.StringIO(text), delimiter=delimiter or None, ndmin=2, quotechar='"',
            usecols=wanted if some else None,
        )  # fmt: skip
        if table.shape[1] != (len(wanted) if some else count):
            raise ValueError("another number of fields")
    except ValueError as error:
        raise _bad_line(file, text, at, error) from None
    if not some:
        table = table[:, list(wanted)]

    def place(row: int) -> str:
        lines = (k for k, line in enumerate(text.split("\n")) if line.partition("#")[0].strip())
        return f"line {_line_number(file, at) + next(k for j, k in enumerate(lines) if j == row)}"

    weight: Array | None = table[:, 2] if len(wanted) == 3 else None
    return Edges(table[:, 0], table[:, 1], weight, place)


def _refuse_broken_lines(file: EdgeFile, text: str, at: int) -> None:
    """Refuse line breaks within quotes, because text is cut at any of them."""
    for number, line in enumerate(text.split("\n") if '"' in text else []):
        if line.partition("#")[0].count('"') % 2:
            problem = f"has a quotation mark without a second one on line {_line_number(file, at) + number}"
            raise refused(file, problem, "write every edge on one line")


def _line_number(file: EdgeFile, at: int) -> int:
    """Tell the number of the line that begins at a byte; only for errors, as it reads all before."""
    count = 1
    with open(file.path, "rb") as opened:
        while at > 0:
            raw = opened.read(min(BYTES, at))
            if not raw:
                break
            count += raw.count(b"\n")
            at -= len(raw)
    return count


def _bad_line(file: EdgeFile, text: str, at: int, error: ValueError) -> Exception:
    """Find the line that cannot be parsed."""
    delimiter, count, wanted = file.layout
    for number, line in enumerate(text.split("\n"), start=_line_number(file, at)):
        fields = _split(file, line.partition("#")[0].strip(), delimiter)
        if fields in ([], [""]):
            continue
        if len(fields) != count:
            return refused(file, f"has {len(fields)} fields on line {number}, and {count} before", FIELDS)
        for field, what in zip(
            (fields[column] for column in wanted), ("node", "node", "weight"), strict=False
        ):
            if not is_number(field):
                problem = f"has {shown(field)} as a {what} on line {number}"
                return refused(file, problem, NUMBERED if what == "node" else "give finite weights above 0")
    return refused(file, f"cannot be read as edges: {shown(str(error))}", FIELDS)
