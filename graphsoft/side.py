"""What a user knows besides the data: pairs that belong together, pairs that do not, some labels."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.errors import InputError, shown

__all__ = [
    "is_missing",
    "kept_pairs",
    "listed_labels",
    "listed_pairs",
    "refuse_missing",
    "row_of",
    "side_information",
]

Array = np.ndarray[Any, np.dtype[Any]]

# All pairs of labelled points are stored, so that twice as many take four times the memory.
MOST_LABELS = 2000
PAIRS = "give pairs of points, as [(0, 5), (7, 2)]"


def side_information(
    nodes: Sequence[Any], must_link: Any = None, cannot_link: Any = None, known: Any = None
) -> sp.csr_array | None:
    """Write what is known of pairs as a symmetric matrix: 1 together, -1 apart, nothing where unknown.

    Parameters
    ----------
    nodes : sequence of n
        The names of the points, as `Graph.nodes`; pairs are given by them.
    must_link, cannot_link : iterable of pairs, optional
        Points that belong to one cluster, and points that do not.
    known : mapping or sequence of int, optional
        Labels of some points: ``{point: label}``, or one for each point, -1 where it is unknown. All pairs
        of these points become pairs of one kind or the other.

    Returns
    -------
    csr_array of shape (n, n), or None if nothing is known

    Examples
    --------
    >>> side_information(["a", "b", "c"], must_link=[("a", "b")], cannot_link=[("b", "c")]).toarray()
    array([[ 0.,  1.,  0.],
           [ 1.,  0., -1.],
           [ 0., -1.,  0.]])
    >>> side_information(range(3), known=[4, -1, 5]).toarray()[0].tolist()
    [0.0, 0.0, -1.0]
    """
    number = None if isinstance(nodes, range) else {name: row for row, name in enumerate(nodes)}
    together = _pairs("must_link", must_link, number, len(nodes))
    apart = _pairs("cannot_link", cannot_link, number, len(nodes))
    points, labels = _labels(known, number, len(nodes))
    first, second = np.triu_indices(len(points), k=1)
    same = labels[first] == labels[second]
    labelled = np.column_stack([points[first], points[second]])
    alike, unlike = _matrix(labelled[same], len(nodes)), _matrix(labelled[~same], len(nodes))
    positive, negative = _matrix(together, len(nodes)), _matrix(apart, len(nodes))
    _refuse_both("must_link", positive, unlike, "known puts apart", nodes)
    _refuse_both("cannot_link", negative, alike, "known puts together", nodes)
    _refuse_both("cannot_link", negative, positive, "must_link puts together", nodes)
    side = (positive.maximum(alike) - negative.maximum(unlike)).tocsr()
    return side if side.nnz else None


def listed_pairs(argument: str, pairs: Any) -> tuple[tuple[Any, ...], ...]:
    """List pairs of points, which may come from an iterator.

    Examples
    --------
    >>> listed_pairs("must_link", zip([0, 1], [5, 7]))
    ((0, 5), (1, 7))
    """
    try:
        return () if pairs is None else tuple(tuple(pair) for pair in pairs)
    except (TypeError, ValueError):
        raise InputError(argument, f"got {shown(pairs)}", PAIRS) from None


def listed_labels(nodes: Sequence[Any], known: Any) -> tuple[tuple[Any, Any], ...]:
    """List the points whose label is known, each with its label, of what `side_information` accepts.

    Examples
    --------
    >>> listed_labels(range(3), [4, -1, 5])
    ((0, 4), (2, 5))
    """
    if known is None:
        return ()
    if isinstance(known, Mapping):
        return tuple(known.items())
    labels = _unmasked(known)
    return tuple((nodes[row], labels[row].item()) for row in np.flatnonzero(labels != -1).tolist())


def kept_pairs(side: sp.csr_array, labels: Array) -> str:
    """Say how many of the known pairs came out as they are known.

    Examples
    --------
    >>> kept_pairs(side_information(range(3), [(0, 1)], [(1, 2)]), np.array([0, 0, 0]))
    '1 of 2 known pairs kept'
    """
    pairs = sp.triu(side).tocoo()
    one, two = (labels[ends] for ends in pairs.coords)
    right = np.count_nonzero((one == two) == (pairs.data > 0))
    return f"{right} of {pairs.nnz} known pairs kept"


def _refuse_both(argument: str, pairs: Any, others: Any, words: str, nodes: Sequence[Any]) -> None:
    """Refuse pairs that are known to be together and to be apart."""
    both = pairs.multiply(others).tocoo()
    if both.nnz:
        one, two = nodes[int(both.row[0])], nodes[int(both.col[0])]
        problem = f"holds {shown(one)} and {shown(two)}, which {words}"
        raise InputError(argument, problem, "leave such pairs out of one of the two")


def _matrix(pairs: Array, count: int) -> sp.csr_array:
    narrow = np.int32 if max(count, 2 * len(pairs)) <= np.iinfo(np.int32).max else np.int64
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).astype(narrow).T
    matrix = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(count, count)).tocsr()
    matrix.data[:] = 1.0  # a pair may be given twice
    return matrix


def _pairs(argument: str, pairs: Any, number: Mapping[Any, int] | None, count: int) -> Array:
    """Check pairs of points, and return their rows."""
    listed = listed_pairs(argument, pairs)
    rows = np.empty((len(listed), 2), dtype=np.int64)
    for at, pair in enumerate(listed):
        if len(pair) != 2:
            raise InputError(argument, f"holds {shown(pair)}", PAIRS)
        rows[at] = [row_of(argument, name, number, count) for name in pair]
        if rows[at, 0] == rows[at, 1]:
            raise InputError(argument, f"joins {shown(pair[0])} to itself", "leave such pairs out")
    return rows


def row_of(argument: str, name: Any, number: Mapping[Any, int] | None, count: int) -> int:
    """Find the row of a point by its name; `number` has the rows of all names, None where names are rows.

    Examples
    --------
    >>> row_of("known", "b", {"a": 0, "b": 1}, 2)
    1
    """
    try:
        if number is not None:
            return number[name]
        whole = isinstance(name, int | np.integer) and not isinstance(name, bool)
        if whole and 0 <= name < count:
            return int(name)
    except (KeyError, TypeError):
        pass
    what = f"rows 0 to {count - 1}" if number is None else "the names of the graph's nodes"
    raise InputError(argument, f"names no point: {shown(name)}", f"use {what}")


def refuse_missing(argument: str, labels: Mapping[Any, Any]) -> None:
    """Refuse labels that are not there.

    Examples
    --------
    >>> refuse_missing("known", {0: "a", 1: "b"})
    """
    missing = [name for name, label in labels.items() if is_missing(label)]
    if missing:
        raise InputError(argument, f"has no label for {shown(missing[0])}", "leave such points out")


def is_missing(label: Any) -> bool:
    """Tell None, NaN, and the missing values of pandas, which nothing can be compared with.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing(0)
    (True, True, False)
    """
    nan = isinstance(label, numbers.Real) and label != label  # noqa: PLR0124
    return nan or label is None or type(label).__name__ in ("NAType", "NaTType")


def _unmasked(labels: Any) -> Array:
    """Make an array of labels, -1 where whole numbers are masked."""
    if isinstance(labels, np.ma.MaskedArray) and labels.dtype.kind in "iu":
        return np.where(np.ma.getmaskarray(labels), -1, labels.data.astype(np.int64))
    return np.asarray(labels)


def _labels(known: Any, number: Mapping[Any, int] | None, count: int) -> tuple[Array, Array]:
    """Check labels of some points: their rows, and their labels as numbers."""
    if known is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    remedy = "give {point: label}, or a whole number for each point, -1 where it is unknown"
    if isinstance(known, Mapping):
        points = np.array([row_of("known", name, number, count) for name in known], dtype=np.int64)
        refuse_missing("known", known)
        distinct: dict[Any, int] = {}
        try:
            numbers = [distinct.setdefault(label, len(distinct)) for label in known.values()]
        except TypeError:  # a label that is no hashable value
            raise InputError("known", f"got {shown(known)}", remedy) from None
        labels = np.array(numbers, dtype=np.int64)
    else:
        try:
            values = _unmasked(known)
        except ValueError:  # rows of several lengths
            raise InputError("known", f"got {shown(known)}", remedy) from None
        if values.shape != (count,) or values.dtype.kind not in "iu":
            raise InputError("known", f"got {shown(known)} for {count} points", remedy)
        points = np.flatnonzero(values != -1)
        labels = values[points].astype(np.int64)
    if len(points) > MOST_LABELS:
        problem = f"labels {len(points)} points, and all pairs of them are stored"
        raise InputError("known", problem, f"give at most {MOST_LABELS}")
    return points, labels
