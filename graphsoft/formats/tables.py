"""Tables with a row for each point: memberships as npz, labels and entropies as csv."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, save_npz

from graphsoft.formats.frames import columns_to_csv, write_columns
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


def labels_to_csv(
    nodes: Iterable[object], labels: Sequence[ArrayLike], entropies: Sequence[ArrayLike], path: PathLike
) -> None:
    """Write one row for each point: its name, and its likeliest cluster and entropy on every level.

    The columns are ``name, level_0, level_1, ..., entropy_0, entropy_1, ...``. Cluster 17 of level 0 is the
    tree's node ``"0-17"``. A name that a spreadsheet would run as a formula gets a ``'`` before it, see
    :func:`graphsoft.formats.frames.columns_to_csv`.

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
    columns_to_csv(_columns(nodes, labels, entropies), path)


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
    write_columns(_columns(nodes, labels, entropies), file)


def _columns(
    nodes: Iterable[object], labels: Sequence[ArrayLike], entropies: Sequence[ArrayLike]
) -> dict[str, Any]:
    columns: dict[str, Any] = {"name": [str(name) for name in nodes]}
    columns |= {f"level_{level}": np.asarray(each) for level, each in enumerate(labels)}
    columns |= {f"entropy_{level}": np.asarray(each) for level, each in enumerate(entropies)}
    return columns
