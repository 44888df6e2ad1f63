"""New points in a hierarchy on disk; these functions are methods of `StoredHierarchy`, which `h` is."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, overload

import scipy.sparse as sp

from graphsoft.aliases import Array, Progress
from graphsoft.distributed.row_files import RowsInFiles
from graphsoft.distributed.sources import lists_paths
from graphsoft.errors import InputError, shown
from graphsoft.input.checks import callback
from graphsoft.linalg.memberships import frozen_rows, likeliest
from graphsoft.progress import watches_progress
from graphsoft.result.stored_labels import StoredLabels
from graphsoft.result.stored_memberships import StoredMemberships
from graphsoft.result.stored_placing import place
from graphsoft.result.stored_points import StoredPoints
from graphsoft.result.stored_prediction import predicted

if TYPE_CHECKING:
    from graphsoft.result.stored import StoredHierarchy

__all__ = ["predict", "predict_proba", "transform"]


@overload
def predict_proba(
    h: StoredHierarchy,
    X: Any,
    level: int = -1,
    *,
    directory: None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> sp.csr_array: ...
@overload
def predict_proba(
    h: StoredHierarchy,
    X: Any,
    level: int = -1,
    *,
    directory: str | PathLike[str],
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> StoredMemberships: ...
@watches_progress("neighbors")
def predict_proba(
    h: StoredHierarchy,
    X: Any,
    level: int = -1,
    *,
    directory: str | PathLike[str] | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> sp.csr_array | StoredMemberships:
    """Compute memberships of new points: one step of the walk to old points, then to their clusters.

    A new point looks for its neighbors in the partitions of the cells that are nearest to it, as many as
    saw each point in the run. Partitions are read one after another, each of them once.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix of shape (q, d)
        The same features as in the run. With a `directory` also what is larger than memory: files and
        folders as :func:`graphsoft.rows_in_files` takes them, and Dask arrays.
    level : int
        Negative numbers count from the top.
    directory : path-like, optional
        Work in stages, whose files are in this directory, and leave the memberships there, on all levels.
        The same call goes on where it stopped, or opens what is there. The answers are the same.
    client, max_memory
        Who does the work and how much memory a process may take, as in :func:`graphsoft.hierarchy`.
    progress : True or callable, optional
        True draws a bar. A function is called as ``progress(stage, done, total)``.

    Returns
    -------
    csr_array of shape (q, m), or StoredMemberships if there is a `directory`
        ``p(cluster | new point)``; rows sum to one. A row that equals an old point's has that point's
        memberships to the last bit.
    """
    at = h._level(level)
    found = _new_points(h, X, directory, client, max_memory, progress)
    return found[at].memberships if isinstance(found, StoredPoints) else _above(h, found, at)


@overload
def predict(
    h: StoredHierarchy,
    X: Any,
    level: int = -1,
    *,
    directory: None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> Array: ...
@overload
def predict(
    h: StoredHierarchy,
    X: Any,
    level: int = -1,
    *,
    directory: str | PathLike[str],
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> StoredLabels: ...
@watches_progress("neighbors")
def predict(
    h: StoredHierarchy,
    X: Any,
    level: int = -1,
    *,
    directory: str | PathLike[str] | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> Array | StoredLabels:
    """Find the likeliest cluster of new points, int32 of shape (q,); see :meth:`predict_proba`."""
    at = h._level(level)
    found = _new_points(h, X, directory, client, max_memory, progress)
    return found[at].labels if isinstance(found, StoredPoints) else likeliest(_above(h, found, at))


@overload
def transform(
    h: StoredHierarchy,
    X: Any,
    *,
    directory: None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> sp.csr_array: ...
@overload
def transform(
    h: StoredHierarchy,
    X: Any,
    *,
    directory: str | PathLike[str],
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> StoredPoints: ...
@watches_progress("neighbors")
def transform(
    h: StoredHierarchy,
    X: Any,
    *,
    directory: str | PathLike[str] | None = None,
    client: Any = None,
    max_memory: int | str | None = None,
    progress: Progress | bool | None = None,
) -> sp.csr_array | StoredPoints:
    """Write the probabilities of new points on all levels side by side; see :meth:`predict_proba`.

    With a `directory` the levels stay apart: the result has them as the hierarchy has its own.
    """
    found = _new_points(h, X, directory, client, max_memory, progress)
    if isinstance(found, StoredPoints):
        return found
    beside = [_above(h, found, level) for level in range(len(h))]
    return frozen_rows(sp.hstack(beside, format="csr"))


def _new_points(
    h: StoredHierarchy,
    X: Any,
    directory: Any,
    client: Any,
    max_memory: Any,
    progress: Any,
) -> sp.csr_array | StoredPoints:
    """Compute memberships of new points on the finest level, or on all levels in a directory."""
    told = callback("progress", progress)
    if directory is not None:
        names = dict(h.cluster_names)
        return StoredPoints.open(place(h.files, names, X, directory, client, max_memory, told))
    for argument, value in (("client", client), ("max_memory", max_memory)):
        if value is not None:
            problem = "has no meaning without directory="
            raise InputError(argument, problem, "name a directory, or leave it out")
    if isinstance(X, RowsInFiles | str | PathLike) or lists_paths(X):
        problem = f"is needed for new points in files, such as {shown(X)}"
        raise InputError("directory", problem, "name one for the answers, such as directory='predicted'")
    return predicted(h.files, X, told)


def _above(h: StoredHierarchy, finest: sp.csr_array, level: int) -> sp.csr_array:
    return frozen_rows(h.files.above(finest, level))
