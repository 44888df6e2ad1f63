"""The public reader: the ending of a file's name says how it is read."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from graphsoft.datasets.arrays import read_mtx, read_npy, read_npz
from graphsoft.datasets.asked import Asked
from graphsoft.datasets.byte_limit import byte_limit_for
from graphsoft.datasets.dataset import Dataset
from graphsoft.datasets.graphs import read_edges, read_graphml
from graphsoft.datasets.h5ad import read_h5ad
from graphsoft.datasets.parquet import read_parquet
from graphsoft.datasets.tables import read_table
from graphsoft.errors import InputError
from graphsoft.storage.container import UNSOUND_ARCHIVE

__all__ = ["has_columns", "read"]

Reader = Callable[[Path, Asked], Dataset]
TABLE = frozenset({"labels", "header", "columns", "drop"})
LABELS: frozenset[str] = frozenset({"labels"})
# How files of each ending are read, and what they may be asked for.
READERS: dict[str, tuple[Reader, frozenset[str]]] = {
    ".csv": (read_table, TABLE),
    ".tsv": (read_table, TABLE),
    ".parquet": (read_parquet, TABLE - {"header"}),
    ".npy": (read_npy, frozenset()),
    ".npz": (read_npz, LABELS),
    ".h5ad": (read_h5ad, LABELS | {"columns", "drop", "obsm", "obsp"}),
    ".mtx": (read_mtx, frozenset()),
    ".edges": (read_edges, frozenset()),
    ".edgelist": (read_edges, frozenset()),
    ".txt": (read_edges, frozenset()),
    ".graphml": (read_graphml, LABELS),
}
PLAIN = (".npy", ".npz", ".parquet", ".h5ad")  # these are never compressed as a whole
# What the parsers raise on a file that is damaged, or is something else than its ending says.
DAMAGED: tuple[type[Exception], ...] = (*UNSOUND_ARCHIVE, csv.Error)


def read(
    path: str | os.PathLike[str],
    labels: str | None = None,
    directed: bool = False,
    header: bool | None = None,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] | None = None,
    obsm: str | None = None,
    obsp: str | None = None,
    max_bytes: int | str | None = None,
) -> Dataset:
    r"""Read a table, a matrix or a graph; the ending of the name says which.

    - ``.csv``, ``.tsv``: one row a point, columns separated by comma, semicolon or tab. There may be a
      header. A first column called ``id``, ``name``, ``index``, ``..._id`` or nothing names the points.
      Whole numbers beyond 2**53 keep all their digits.
    - ``.parquet``: a table as above; needs ``pip install 'graphsoft[frames]'``.
    - ``.npy``: an array (n, d).
    - ``.npz``: an array ``X``, or the only array there, or a sparse matrix, either as
      ``scipy.sparse.save_npz`` writes it or as ``data``, ``indices``, ``indptr``, ``shape``.
    - ``.h5ad``: X of an AnnData, or what `obsm` or `obsp` says; needs ``pip install 'graphsoft[anndata]'``.
    - ``.mtx``: Matrix Market.
    - ``.edges``, ``.edgelist``, ``.txt``: ``u v`` on each line, or ``u v weight`` on each; ``#`` begins a
      comment. The direction does not matter unless the graph is `directed`. An edge may be written more than
      once if its weight is the same each time.
    - ``.graphml``: GraphML, where edges may have a ``weight``.

    All but npy, npz, parquet and h5ad may be compressed, with ``.gz`` after the ending. A file that holds
    much more than its size lets expect is refused, see `max_bytes`.

    Parameters
    ----------
    path : path-like
    labels : str, optional
        Where the known classes are: a column of a table (its number, from 0, if there is no header) or of
        obs, an array of an npz file, an attribute of GraphML's nodes.
    directed : bool
        Keep the directions of a list of edges, for :func:`graphsoft.directed_graph`. All other files have
        them anyway.
    header : bool, optional
        Whether the first line of a table holds the titles of its columns. Without it the line is compared
        with the rows below. Numbers are taken as titles if they are all different and clearly of another
        kind, such as years above measurements. In doubt there is a warning. `Dataset.notes` say what the
        line was taken as.
    columns, drop : sequence of str, optional
        The columns of a table that are features, in this order; or those that are not. With
        ``columns=[]`` only names and labels are read.
    obsm, obsp : str, optional
        The part of an AnnData to read: a table such as ``"X_pca"``, or a graph such as ``"connectivities"``.
    max_bytes : int or str, optional
        How many bytes the content may have: text after it was decompressed, or arrays as their headers
        describe them, such as ``"4GB"``. By default it is 100 times the size of the file, or 256 MiB if that
        is more, but never more than the memory that is available. An npy file is not read but mapped into
        memory, and holds what its size says.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        If the file is not what its ending says; the message names the line, or the column.
    ImportError
        If a package is missing that reads such files.

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
    ending = _ending(path)
    reader, known = READERS.get(ending, (None, LABELS))
    if path.is_dir():
        raise InputError("path", f"{str(path)!r} is no file, but a folder", "name one file")
    if not ending and not path.exists():
        remedy = f"check the name, and use one of {', '.join(READERS)}"
        raise InputError("path", f"there is no file {str(path)!r}", remedy)
    if reader is None or (ending in PLAIN and path.suffix.lower() == ".gz"):
        raise InputError("path", f"{path.name!r} ends in {ending!r}", f"use one of {', '.join(READERS)}")
    asked = Asked(labels, directed, header, columns, drop, obsm, obsp)
    asked.refuse(ending, known)
    if not path.is_file():
        problem = f"{str(path)!r} is no file" if path.exists() else f"there is no file {str(path)!r}"
        raise InputError("path", problem, "check the name")
    asked = replace(asked, limit=byte_limit_for(path, max_bytes))
    try:
        return reader(path, asked)
    except InputError:
        raise
    except DAMAGED as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the system, not of a parser
            raise
        reason = str(error).partition("\n")[0] or type(error).__name__
        problem = f"{path.name!r} cannot be read as {ending[1:]}: {reason}"
        encoded = isinstance(error, UnicodeDecodeError)
        remedy = "save it in UTF-8" if encoded else "check that the file is whole and its ending right"
        raise InputError("path", problem, remedy) from error


def has_columns(path: str | os.PathLike[str]) -> bool:
    """Tell by its name whether a file has columns to choose from.

    Examples
    --------
    >>> has_columns("a.csv.gz"), has_columns("a.npy")
    (True, False)
    """
    return "columns" in READERS.get(_ending(Path(path)), (None, LABELS))[1]


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix
