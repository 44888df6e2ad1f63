"""Rows of new points: whether they fit the old ones, and how they become rows of probabilities."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError, shown, warn
from graphsoft.input.dense_input import dense_features, dense_matrix, frame_columns
from graphsoft.input.large_numbers import Origin
from graphsoft.input.sparse_input import sparse_matrix

__all__ = [
    "check_width",
    "checked_rows",
    "empty_rows",
    "normalized",
    "refuse_columns",
    "refuse_negative",
    "refuse_other_columns",
    "row_count",
    "scaled",
    "warn_of_empty",
]


def checked_rows(
    X: Any, columns: Sequence[int], sparse: bool, meaning: str, origin: Origin | None = None
) -> Any:
    """Check rows in the same way as the input of a hierarchy, and that they are as wide as the old ones.

    Unlike that input, they may be none at all. Dense rows become sparse where the old ones are sparse, and
    the other way round.

    Parameters
    ----------
    X : array_like, data frame or sparse matrix of shape (q, d)
    columns : sequence of int
        Every d that is allowed.
    sparse : bool
        Whether the old rows are sparse.
    meaning : {"features", "nodes"}
        What the columns stand for.
    origin : tuple of d numbers, optional
        What was subtracted from the columns of the old rows, as in `Features`.

    Examples
    --------
    >>> checked_rows([[1, 2]], [2], False, "features")
    array([[1., 2.]])
    """
    rows = "weights to the nodes" if meaning == "nodes" else meaning
    if hasattr(X, "adjacency") or hasattr(X, "nodes"):
        raise InputError("X", "is a graph, not a table", f"pass one row of {rows} for each new point")
    if meaning == "nodes" and _are_names(X):
        remedy = f"pass rows of weights to the {columns[0]} nodes; h.point(name) shows a node that is there"
        raise InputError("X", f"got {shown(X)}, which are names", remedy)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and isinstance(shape[0], numbers.Integral) and shape[0] == 0:
        values: Any = sp.csr_array(shape) if sparse else np.zeros(shape)
    elif sp.issparse(X):
        values = sparse_matrix(X, rounded=meaning == "nodes")
        values = values if sparse else dense_features(values.toarray(), origin=origin)[0]
    elif meaning == "nodes":
        values = sp.csr_array(dense_matrix(X, rounded=True).astype(np.float64))
    else:
        values = dense_features(X, origin=origin)[0]
        values = sp.csr_array(values.astype(np.float64)) if sparse else values
    check_width(values.shape[1], columns, meaning)
    return values


def check_width(width: int, columns: Sequence[int], meaning: str) -> None:
    """Refuse rows that are not as wide as the old ones.

    Examples
    --------
    >>> check_width(2, [2], "features")
    """
    if width in columns:
        return
    wanted = " or ".join(map(str, columns))
    problem = f"has {width} columns, where the hierarchy has {wanted} {meaning}"
    remedy = f"pass rows of the same {wanted} {meaning}, in the same order"
    if meaning == "nodes":
        remedy = f"pass rows of weights to the {wanted} nodes, or make the hierarchy of features instead"
    raise InputError("X", problem, remedy)


def _are_names(X: Any) -> bool:
    """Tell whether these are names of nodes rather than rows of weights."""
    if isinstance(X, Iterable) and getattr(X, "ndim", 1) == 1 and not isinstance(X, str):
        X = next(iter(X), None)
    return isinstance(X, str)


def row_count(X: Any) -> int:
    """Count the rows of something that has not been checked yet; 0 where it has none.

    Examples
    --------
    >>> row_count([[1, 2], [3, 4]]), row_count(np.array(1))
    (2, 0)
    """
    shape = getattr(X, "shape", None)
    if shape is None and hasattr(X, "__len__"):
        return len(X)
    return int(shape[0]) if shape else 0


def scaled(rows: Any, scaling: Sequence[tuple[float, float]]) -> Any:
    """Scale checked rows of new points as the old ones were: what is subtracted, and what it is divided by.

    Examples
    --------
    >>> scaled(np.array([[4.0, 7.5]]), [(2.0, 1.0), (7.0, 0.25)])
    array([[2., 2.]])
    """
    if not scaling or rows.shape[0] == 0:
        return rows
    if len(scaling) != rows.shape[1]:
        problem = f"scales {len(scaling)} columns, but the points have {rows.shape[1]}"
        raise InputError("h", problem, "make the hierarchy again")
    means, deviations = np.array(scaling).T
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return dense_matrix((rows.astype(np.float64) - means) / deviations)


def refuse_other_columns(X: Any, known: tuple[str, ...] | None) -> None:
    """Refuse a data frame with other columns, or with the same in another order.

    Examples
    --------
    >>> refuse_other_columns([[1.0, 2.0]], ("width", "height"))
    """
    refuse_columns(frame_columns(X), known, "pass frame[list(h.features.columns)]")


def refuse_columns(given: tuple[str, ...] | None, known: tuple[str, ...] | None, remedy: str) -> None:
    """Refuse other names of columns, or the same in another order; a table without names is trusted.

    Examples
    --------
    >>> refuse_columns(None, ("width", "height"), "take these")
    """
    if given is None or known is None or given == known:
        return
    if sorted(given) == sorted(known):
        problem = "has the columns of the hierarchy in another order"
    else:
        other = next(name for name in (*given, *known) if (name in given) != (name in known))
        problem = f"has other columns than the hierarchy, such as {shown(other)}"
    raise InputError("X", problem, remedy)


def refuse_negative(rows: sp.csr_array) -> None:
    """Refuse weights below 0.

    Examples
    --------
    >>> refuse_negative(sp.csr_array([[1.0, 0.0]]))
    """
    negative = np.flatnonzero(rows.data < 0)
    if len(negative):
        row = int(np.searchsorted(rows.indptr, negative[0], side="right")) - 1
        where = f"row {row}, column {rows.indices[negative[0]]}"
        problem = f"{len(negative)} weights are negative, the first is {rows.data[negative[0]]:g} at {where}"
        raise InputError("X", problem, "pass weights of at least 0")


def normalized(rows: sp.csr_array) -> sp.csr_array:
    """Divide every row by its sum, however large or small the sum is; empty rows stay empty.

    Examples
    --------
    >>> normalized(sp.csr_array([[1e308, 1e308], [0.0, 0.0]])).toarray()
    array([[0.5, 0.5],
           [0. , 0. ]])
    """
    counts, data = np.diff(rows.indptr), rows.data
    filled = np.flatnonzero(counts)
    if len(filled):
        starts = rows.indptr[filled]
        # first by the largest entry, since a sum of huge ones would overflow
        data = data / np.repeat(np.maximum.reduceat(data, starts), counts[filled])
        data = data / np.repeat(np.add.reduceat(data, starts), counts[filled])
    return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def empty_rows(step: sp.csr_array) -> int:
    """Count the rows without entries.

    Examples
    --------
    >>> empty_rows(sp.csr_array([[1.0], [0.0]]))
    1
    """
    return int(np.count_nonzero(np.diff(step.indptr) == 0))


def warn_of_empty(empty: int) -> None:
    """Warn if so many new points have no neighbors.

    Examples
    --------
    >>> warn_of_empty(0)
    """
    if empty:
        warn(
            f"{empty} rows of X have no neighbors: they join the clusters of old points without "
            "neighbors, or the heaviest cluster if there are no such points"
        )
