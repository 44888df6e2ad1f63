"""Tables with a row for each point: memberships as npz, labels and entropies as csv."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import IO, TextIO

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, save_npz

from graphsoft.storage.atomic import PathLike, write_atomic

__all__ = ["labels_to_csv", "memberships_to_npz", "write_labels"]


def memberships_to_npz(memberships: csr_array, path: PathLike) -> None:
    """Write one level's memberships so that ``scipy.sparse.load_npz`` reads them.

    Parameters
    ----------
    memberships : csr_array of shape (n, m)
    path : path-like
        Should end in ``.npz``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from scipy.sparse import csr_array, load_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "memberships.npz")
    ...     memberships_to_npz(csr_array([[0.5, 0.5], [0.0, 1.0]]), path)
    ...     load_npz(path).toarray()
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    write_atomic(path, lambda file: save_npz(file, memberships))


# How a formula begins, as spreadsheets see it. Names that already have a ' before it get one more, so that
# different names stay different.
_FORMULA = re.compile(r"'*[=+\-@\t\r\0]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)


def labels_to_csv(
    nodes: Iterable[object], labels: Sequence[ArrayLike], entropies: Sequence[ArrayLike], path: PathLike
) -> None:
    """Write one row for each point: its name, and its likeliest cluster and entropy on every level.

    The columns are ``name, level_0, level_1, ..., entropy_0, entropy_1, ...``. Cluster 17 of level 0 is the
    tree's node ``"0-17"``. A name that a spreadsheet would run as a formula gets a ``'`` before it,
    and so does one that begins like that after one or more ``'``.

    Parameters
    ----------
    nodes : iterable of n names
        In the order of the points.
    labels : sequence of array-like of int, shape (n,)
        For every level, finest first.
    entropies : sequence of array-like of float, shape (n,)
        For every level, in nats.
    path : path-like

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels.csv")
    ...     labels_to_csv(["a", "=b"], [[1, 0]], [[0.0, 0.25]], path)
    ...     print(path.read_text(encoding="utf-8"))
    "name","level_0","entropy_0"
    "a",1,0.0
    "'=b",0,0.25
    <BLANKLINE>
    """

    def write(file: IO[bytes]) -> None:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        write_labels(nodes, labels, entropies, text)
        text.detach()

    write_atomic(path, write)


def write_labels(
    nodes: Iterable[object], labels: Sequence[ArrayLike], entropies: Sequence[ArrayLike], file: TextIO
) -> None:
    """Write what `labels_to_csv` does to a text file that is open.

    Examples
    --------
    >>> import sys
    >>> write_labels(["a"], [[1]], [[0.0]], sys.stdout)
    "name","level_0","entropy_0"
    "a",1,0.0
    """
    columns = [np.asarray(column).tolist() for column in [*labels, *entropies]]
    header = [f"level_{level}" for level in range(len(labels))]
    header += [f"entropy_{level}" for level in range(len(entropies))]
    # all text is quoted, because before Python 3.13 a lone carriage return would end the row otherwise
    table = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    table.writerow(["name", *header])
    table.writerows([_harmless(name), *row] for name, *row in zip(nodes, *columns, strict=True))


def _harmless(name: object) -> str:
    text = str(name)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text
