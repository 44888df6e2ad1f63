"""The public reader: the ending of a file's name says how it is read."""

from __future__ import annotations

import csv
import gzip
import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from graphsoft.datasets.arrays import read_mtx, read_npy, read_npz
from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.graphs import read_edges, read_graphml
from graphsoft.datasets.tables import read_table
from graphsoft.errors import InputError, shown

__all__ = ["read"]

READERS: dict[str, Callable[[Path, str | None], Dataset]] = {
    ".csv": read_table,
    ".tsv": read_table,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mtx": read_mtx,
    ".edges": read_edges,
    ".edgelist": read_edges,
    ".txt": read_edges,
    ".graphml": read_graphml,
}
# What the parsers raise on a file that is damaged, or is something else than its ending says.
DAMAGED: tuple[type[Exception], ...] = (
    ValueError, TypeError, KeyError, AttributeError, OverflowError, EOFError,
    csv.Error, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile,
)  # fmt: skip


def read(
    path: str | os.PathLike[str],
    labels: str | None = None,
    directed: bool = False,
    header: bool | None = None,
) -> Dataset:
    r"""Read a table, a matrix or a graph; the ending of the name says which.

    - ``.csv``, ``.tsv``: one row a point, columns separated by comma, semicolon or tab. There may be a
      header. A first column called ``id``, ``name``, ``index``, ``..._id`` or nothing names the points.
      Whole numbers beyond 2**53 keep all their digits.
    - ``.npy``: an array (n, d).
    - ``.npz``: an array ``X``, or the only array there, or a sparse matrix, either as
      ``scipy.sparse.save_npz`` writes it or as ``data``, ``indices``, ``indptr``, ``shape``.
    - ``.mtx``: Matrix Market.
    - ``.edges``, ``.edgelist``, ``.txt``: ``u v`` on each line, or ``u v weight`` on each; ``#`` begins a
      comment. The direction does not matter unless the graph is `directed`. An edge may be written more than
      once if its weight is the same each time.
    - ``.graphml``: GraphML, where edges may have a ``weight``.

    All but npy and npz may be compressed, with ``.gz`` after the ending.

    Parameters
    ----------
    path : path-like
    labels : str, optional
        Where the known classes are: a column of a table (its number, from 0, if there is no header), an
        array of an npz file, an attribute of GraphML's nodes.
    directed : bool
        Keep the directions of a list of edges, for :func:`graphsoft.directed_graph`. All other files have
        them anyway.
    header : bool, optional
        Whether the first line of a table holds the titles of its columns. Without it the line is compared
        with the rows below. Numbers are taken as titles if they are all different and clearly of another
        kind, such as years above measurements. In doubt there is a warning. `Dataset.notes` say what the
        line was taken as.

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
    >>> dataset.labels.tolist(), dataset.notes
    (['a', 'b'], ('line 1 was taken as the header',))
    """
    path = Path(path)
    ending = Path(path.name.lower().removesuffix(".gz")).suffix
    reader = READERS.get(ending)
    if reader is None or (ending in (".npy", ".npz") and path.suffix.lower() == ".gz"):
        raise InputError("path", f"{path.name!r} ends in {ending!r}", f"use one of {', '.join(READERS)}")
    if header is not None and not isinstance(header, bool | np.bool_):
        raise InputError("header", f"got {shown(header)}", "use True, False or None")
    if header is not None and reader is not read_table:
        raise InputError("header", f"{ending} files have no header", "leave it out")
    if not path.is_file():
        problem = f"{str(path)!r} is no file" if path.exists() else f"there is no file {str(path)!r}"
        raise InputError("path", problem, "check the name")
    try:
        if reader is read_table:
            return read_table(path, labels, header)
        return read_edges(path, labels, directed) if reader is read_edges else reader(path, labels)
    except InputError:
        raise
    except DAMAGED as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        problem = f"{path.name!r} cannot be read as {ending[1:]}: {reason}"
        raise InputError("path", problem, "check that the file is whole and its ending right") from error
