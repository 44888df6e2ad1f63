"""Readers: one function that turns a file into something to cluster. Nothing is ever unpickled."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import math
import os
import zipfile
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, load_npz

from graphsoft.errors import InputError, warn
from graphsoft.input.dense_input import USUAL_LABELS, warn_of_columns

__all__ = ["Dataset", "read"]


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """What a file held.

    Attributes
    ----------
    data : ndarray of shape (n, d), sparse array, or networkx graph
        What to give to ``graphsoft.hierarchy``.
    labels : ndarray of shape (n,) or None
        Known classes, where they were asked for.
    names : tuple or None
        Names of the points, where the file has them.
    affinity : {"auto", "features", "precomputed"}
        How ``graphsoft.hierarchy`` should take `data`.
    """

    data: Any
    labels: NDArray[Any] | None = None
    names: tuple[Any, ...] | None = None
    affinity: Literal["auto", "features", "precomputed"] = "auto"

    def __len__(self) -> int:
        return len(self.data) if not hasattr(self.data, "shape") else int(self.data.shape[0])

    def __repr__(self) -> str:
        shape = getattr(self.data, "shape", None)
        if shape is None:
            inside = f"{len(self)} nodes, {self.data.number_of_edges()} edges"
        elif self.affinity == "precomputed":
            inside = f"{len(self)} nodes, {self.data.nnz} stored weights"
        else:
            inside = f"{len(self)} x {shape[1]}"
        if self.labels is not None:
            inside += f", {len(np.unique(self.labels))} classes"
        return f"Dataset({inside})"


def read(path: str | os.PathLike[str], labels: str | None = None, directed: bool = False) -> Dataset:
    r"""Read a table, a matrix or a graph; the ending of the name says which.

    - ``.csv``, ``.tsv``: one row a point, columns separated by comma, semicolon or tab; the header may be
      missing. A first column called ``id``, ``name``, ``index``, ``..._id`` or nothing names the points.
    - ``.npy``: an array (n, d).
    - ``.npz``: an array ``X``, or the only array there, or a sparse matrix, either as
      ``scipy.sparse.save_npz`` writes it or as ``data``, ``indices``, ``indptr``, ``shape``.
    - ``.mtx``: Matrix Market.
    - ``.edges``, ``.edgelist``, ``.txt``: ``u v`` on each line, or ``u v weight`` on each; ``#`` begins a
      comment. The direction does not matter unless the graph is `directed`, and an edge may be written more
      than once if its weight is the same each time.
    - ``.graphml``: GraphML, where edges may have a ``weight``.

    All but npy and npz may be compressed, with ``.gz`` after the ending.

    Parameters
    ----------
    path : path-like
    labels : str, optional
        Where the known classes are: a column of a table (its number, from 0, where there is no header), an
        array of an npz file, an attribute of GraphML's nodes.
    directed : bool
        Keep the directions of a list of edges, for :func:`graphsoft.directed_graph`. All other files have
        them anyway.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If the file is not what its ending says; the message names the line, or the column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "points.csv")
    ...     _ = path.write_text("x,y,kind\n0,1,a\n2,3,b\n", encoding="utf-8")
    ...     dataset = read(path, labels="kind")
    >>> dataset
    Dataset(2 x 2, 2 classes)
    >>> dataset.labels.tolist()
    ['a', 'b']
    """
    path = Path(path)
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    reader = _READERS.get(ending)
    if reader is None or (ending in (".npy", ".npz") and path.suffix.lower() == ".gz"):
        raise InputError("path", f"{path.name!r} ends in {ending!r}", f"use one of {', '.join(_READERS)}")
    if not path.is_file():
        problem = f"{str(path)!r} is no file" if path.exists() else f"there is no file {str(path)!r}"
        raise InputError("path", problem, "check the name")
    try:
        return _read_edges(path, labels, directed) if reader is _read_edges else reader(path, labels)
    except InputError:
        raise
    except _DAMAGED as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        problem = f"{path.name!r} cannot be read as {ending[1:]}: {reason}"
        raise InputError("path", problem, "check that the file is whole and its ending right") from error


# what the parsers raise on a file that is not what it should be
_DAMAGED: tuple[type[Exception], ...] = (ValueError, TypeError, KeyError, AttributeError)
_DAMAGED += (OverflowError, EOFError)
_DAMAGED += (csv.Error, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile)


def _open_text(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def _no_labels(path: Path, labels: str | None) -> None:
    if labels is not None:
        raise InputError("labels", f"{path.suffix} files hold no labels", "leave labels out")


# ---------------------------------------------------------------------------------------------- tables

_MISSING = frozenset({"", "?", "na", "n/a", "nan", "null", "none"})


@dataclass(frozen=True)
class _Layout:
    """Which column of a table is what."""

    titles: list[str]
    has_header: bool
    features: list[int]
    label: int | None
    name: int | None


def _read_table(path: Path, labels: str | None) -> Dataset:
    with _open_text(path) as file:
        line = file.readline()
        reader = csv.reader(chain([line], file), delimiter=max(",;\t", key=line.count), skipinitialspace=True)
        rows = ((reader.line_num, row) for row in reader if row)
        begin = list(islice(rows, 2))
        if not begin:
            raise InputError("path", f"{path.name!r} is empty", "give at least one row of numbers")
        layout = _lay_out([[field.strip() for field in row] for _, row in begin], labels)
        values, known, names = _parse_rows(chain(begin[layout.has_header :], rows), layout)
    if not len(values):
        raise InputError("path", f"{path.name!r} holds no points", "give at least one row of numbers")
    if len(set(names)) < len(names):
        warn(f"column {layout.titles[0]!r} is taken as names of the points, and some are the same")
    data = np.frombuffer(values, dtype=np.float64).reshape(-1, len(layout.features))
    if layout.has_header:
        warn_of_columns([layout.titles[column] for column in layout.features], data)
    return Dataset(
        data=data,
        labels=None if layout.label is None else _as_labels(known),
        names=None if layout.name is None else tuple(names),
        affinity="features",
    )


def _lay_out(begin: list[list[str]], labels: str | None) -> _Layout:
    """Decide from the first two rows whether there is a header, and what each column is for."""
    first, second = begin[0], begin[1] if len(begin) > 1 else []
    asked_for = labels is not None and labels in first and not _is_number(labels)
    has_header = asked_for or _is_header(first, second)
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
        raise InputError(
            "path", f"the columns are {titles}, none of them a feature", "add columns of numbers"
        )
    return _Layout(titles, has_header, features, label, name)


def _is_name(title: str) -> bool:
    """Tell the usual titles of a column of names."""
    of_class = title.removesuffix("_id") in {*USUAL_LABELS, "cluster"}
    return title in ("", "id", "name", "index") or (title.endswith("_id") and not of_class)


def _is_header(first: list[str], second: list[str]) -> bool:
    """Tell a header by text above a number, by having no number at all, or by being numbered by pandas."""
    text_above_number = any(
        not _is_number(above) and above.casefold() not in _MISSING and _is_number(below)
        for above, below in zip(first, second, strict=False)
    )
    no_number = not any(_is_number(field) for field in first)
    # DataFrame.to_csv numbers the columns that have no names; 0,1 or 0,1,2 alone could well be a point
    numbered = first[1:] if first[0] == "" else first
    by_pandas = (first[0] == "" or len(first) > 3) and numbered == [str(k) for k in range(len(numbered))]
    return text_above_number or no_number or by_pandas


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in field  # float() reads 1_0 as ten


def _parse_rows(
    rows: Iterable[tuple[int, list[str]]], layout: _Layout
) -> tuple[array[float], list[str], list[str]]:
    values, known, names = array("d"), [], []
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
        if "_" in "".join(row) and not all(_is_number(row[column]) for column in layout.features):
            raise _bad_field(row, layout, line)
        values.extend(numbers)
        if layout.label is not None:
            known.append(row[layout.label].strip())
        if layout.name is not None:
            names.append(row[layout.name].strip())
    return values, known, names


def _bad_field(row: list[str], layout: _Layout, line: int) -> InputError:
    """Say which field of the row is no finite number."""
    column = next(c for c in layout.features if not _is_number(row[c]) or not math.isfinite(float(row[c])))
    field, title = row[column].strip(), layout.titles[column]
    if field.casefold() in _MISSING:
        problem = f"column {title!r} has a gap ({field!r}) on line {line}"
        return InputError("path", problem, "fill the gaps, or leave out the row or the column")
    kind = "a number that is not finite" if _is_number(field) else "text"
    problem = f"column {title!r} holds {kind} ({field[:40]!r} on line {line})"
    return InputError("path", problem, "name it as labels if it is the known classes, else leave it out")


def _as_labels(known: Sequence[Any]) -> NDArray[Any]:
    """Return integers where every label is written as one, else text."""
    text = np.array([str(label) for label in known])
    try:
        numbers = text.astype(np.int64)
    except (ValueError, OverflowError):
        return text
    return numbers if (numbers.astype(text.dtype) == text).all() else text


# ---------------------------------------------------------------------------------------------- arrays


def _read_npy(path: Path, labels: str | None) -> Dataset:
    _no_labels(path, labels)
    # a memory map: a header that promises more than the file holds is found out before anything is allocated
    return Dataset(np.load(path, mmap_mode="r", allow_pickle=False))


# of the parts of a sparse matrix those that count; SciPy would cut off what is behind a decimal point
_WHOLE = frozenset({"indices", "indptr", "row", "col", "offsets", "shape"})


def _read_npz(path: Path, labels: str | None) -> Dataset:
    # opened here, because numpy leaves the file open if it turns out to be no archive
    with open(path, "rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it is no archive of arrays")
        stored = list(archive.files)
        if labels is not None and labels not in stored:
            raise InputError("labels", f"there is no array {labels!r}", f"choose one of {', '.join(stored)}")
        known = None if labels is None else np.array(archive[labels])
        candidates = [name for name in stored if name != labels]
        for name in _WHOLE.intersection(candidates):
            if "data" in candidates and archive[name].dtype.kind not in "iu":
                raise ValueError(f"{name} has dtype {archive[name].dtype}, not whole numbers")
        if "format" in candidates:
            file.seek(0)
            data = load_npz(file)
        elif {"data", "indices", "indptr", "shape"} <= set(candidates):
            parts = tuple(archive[name] for name in ("data", "indices", "indptr"))
            data = csr_array(parts, shape=tuple(archive["shape"].tolist()))
        elif "X" in candidates or len(candidates) == 1:
            data = archive["X" if "X" in candidates else candidates[0]]
        else:
            held = ", ".join(stored) or "no arrays"
            raise InputError("path", f"{path.name!r} holds {held}", "call the data X")
    if known is not None and known.shape != data.shape[:1]:
        problem = f"array {labels!r} has shape {known.shape}, the data {data.shape}"
        raise InputError("labels", problem, "give one label for each point")
    return Dataset(data, known)


def _read_mtx(path: Path, labels: str | None) -> Dataset:
    from scipy.io import mmread

    _no_labels(path, labels)
    matrix = mmread(path)
    return Dataset(matrix if isinstance(matrix, np.ndarray) else csr_array(matrix))


# ---------------------------------------------------------------------------------------------- graphs


def _read_edges(path: Path, labels: str | None, directed: bool = False) -> Dataset:
    _no_labels(path, labels)
    numbers: dict[str, int] = {}
    edges: dict[tuple[int, int], tuple[float, int]] = {}
    fields_before = 0
    with _open_text(path) as file:
        for line, text in enumerate(file, start=1):
            fields = text.partition("#")[0].split()
            if not fields:
                continue
            if len(fields) not in (2, 3) or fields_before not in (0, len(fields)):
                problem = f"line {line} has {len(fields)} fields"
                raise InputError("path", problem, "write 'u v' on every line, or 'u v weight' on every line")
            fields_before = len(fields)
            weight = _parse_weight(fields[2], line) if len(fields) == 3 else 1.0
            u, v = (numbers.setdefault(name, len(numbers)) for name in fields[:2])
            edge = (u, v) if directed else (min(u, v), max(u, v))
            known, where = edges.setdefault(edge, (weight, line))
            if known != weight:
                problem = (
                    f"edge {fields[0]} {fields[1]} weighs {known} on line {where} and {weight} on line {line}"
                )
                raise InputError(
                    "path", problem, "write each edge with one weight; sum or average them before"
                )
    if not edges:
        raise InputError("path", f"{path.name!r} holds no edges", "write 'u v' or 'u v weight' on each line")
    matrix = _adjacency(edges, len(numbers), directed)
    return Dataset(matrix, names=tuple(numbers), affinity="precomputed")


def _parse_weight(field: str, line: int) -> float:
    weight = float(field) if _is_number(field) else math.nan
    if not 0 <= weight < math.inf:
        problem = f"the weight on line {line} is {field[:40]!r}"
        raise InputError("path", problem, "give finite numbers of at least 0")
    return weight


def _adjacency(edges: dict[tuple[int, int], tuple[float, int]], count: int, directed: bool) -> csr_array:
    """Return the adjacency, with each edge stored both ways if it has no direction, and a self-loop once."""
    ends = np.array(list(edges), dtype=np.int64)
    weights = np.array([weight for weight, _ in edges.values()])
    twice = np.zeros(len(ends), dtype=bool) if directed else ends[:, 0] != ends[:, 1]
    rows = np.concatenate([ends[:, 0], ends[twice, 1]])
    columns = np.concatenate([ends[:, 1], ends[twice, 0]])
    data = np.concatenate([weights, weights[twice]])
    return csr_array(coo_array((data, (rows, columns)), shape=(count, count)))


def _read_graphml(path: Path, labels: str | None) -> Dataset:
    import networkx as nx

    raw = path.read_bytes()
    if path.suffix.lower() == ".gz":
        raw = gzip.decompress(raw)
    _refuse_doctype(raw)
    try:
        graph = nx.read_graphml(io.BytesIO(raw))
    except (nx.NetworkXException, SyntaxError, AttributeError) as error:  # XML's ParseError is a SyntaxError
        raise ValueError(str(error)) from error
    known = None
    if labels is not None:
        found = dict(graph.nodes(data=labels))
        without = [node for node, label in found.items() if label is None]
        if without:
            attributes = sorted({name for _, attributes in graph.nodes(data=True) for name in attributes})
            problem = f"node {without[0]!r} and {len(without) - 1} others have no attribute {labels!r}"
            raise InputError("labels", problem, f"choose one of {attributes}")
        known = _as_labels(list(found.values()))
    return Dataset(graph, known, tuple(graph.nodes), affinity="precomputed")


def _refuse_doctype(raw: bytes) -> None:
    """Stop at a document type declaration: only there can entities be, which swell or read other files."""
    from xml.parsers import expat

    def refuse(*_: object) -> None:
        problem = "the GraphML holds a document type declaration"
        raise InputError("path", problem, "take it out: entities are refused for safety")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from error


_READERS: dict[str, Callable[[Path, str | None], Dataset]] = {
    ".csv": _read_table,
    ".tsv": _read_table,
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".mtx": _read_mtx,
    ".edges": _read_edges,
    ".edgelist": _read_edges,
    ".txt": _read_edges,
    ".graphml": _read_graphml,
}
