"""The explorer's page of a hierarchy on disk; `explore` is a method of `StoredHierarchy`, which `h` is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.explorer.given import checked_given
from graphsoft.explorer.page import Explorer
from graphsoft.input.checks import integer
from graphsoft.result.exploring import Whole, page_of
from graphsoft.storage.atomic import PathLike, check_target

if TYPE_CHECKING:
    from graphsoft.result.stored import StoredHierarchy

__all__ = ["explore"]


def explore(
    h: StoredHierarchy,
    path: PathLike | None = None,
    *,
    names: Any = None,
    texts: Any = None,
    images: Any = None,
    labels: Any = None,
    coordinates: Any = None,
    features: Any = None,
    title: str | None = None,
    max_points: int = 20_000,
) -> Explorer | None:
    """Write one HTML page that shows the whole tree, and a sample of the points.

    Sizes, masses and cluster graphs in it are those of all points; all else is that of the sample.

    Parameters
    ----------
    path : path-like, optional
        The file to write. Without it the page is returned, and a notebook shows it in a frame.
    names, texts, images, labels, coordinates
        What you know of the points, as :meth:`graphsoft.Hierarchy.explore` takes it: sequences or arrays
        with an entry for each of the n points, of which only those of the sample are looked at, or mappings
        from the numbers of rows.
    features : sequence of d names, optional
        What the features are called.
    title : str, optional
    max_points : int
        So many points are in the page.

    Returns
    -------
    Explorer or None
        None if there is a `path`.
    """
    if path is not None:
        check_target(path)
    total = h.plan.rows
    max_points = integer("max_points", max_points, 2)
    given = {"names": names, "texts": texts, "images": images, "labels": labels, "coordinates": coordinates}
    for argument, values in given.items():
        _check_length(argument, values, total)
    sample = h.sample(max_points)
    rows = np.array(sample.nodes, dtype=np.int64)
    chosen = {argument: _of_rows(values, rows) for argument, values in given.items()}
    limits = [f"{len(rows):,} of {total:,} points are shown; sizes, masses and cluster graphs are of all"]
    whole = Whole(
        total, h.report.edges, h.report.components, rows, h.levels, limits if len(rows) < total else ()
    )
    known = checked_given(sample.nodes, **chosen, title=title)
    page = page_of(sample, known, features, None, len(rows), whole)
    if path is None:
        return page
    page.save(path)
    return None


def _check_length(argument: str, values: Any, total: int) -> None:
    if values is None or isinstance(values, Mapping):
        return
    if not hasattr(values, "__getitem__") or not hasattr(values, "__len__"):
        remedy = "give a sequence with an entry for each point, or a mapping from the numbers of rows"
        raise InputError(argument, f"got {shown(values)}", remedy)
    if len(values) != total:
        raise InputError(argument, f"has {len(values)} entries for {total} points", "give one for each")


def _of_rows(values: Any, rows: Array) -> Any:
    """Take what is known of some rows.

    Examples
    --------
    >>> _of_rows(["a", "b", "c"], np.array([0, 2]))
    ['a', 'c']
    """
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {row: values[row] for row in rows.tolist() if row in values}
    if sp.issparse(values) or isinstance(values, np.ndarray):
        return values[rows]
    if isinstance(values, Sequence):
        return [values[row] for row in rows.tolist()]
    taken = getattr(values, "iloc", values)  # of a data frame's column the position counts, not the index
    return [taken[row] for row in rows.tolist()]
