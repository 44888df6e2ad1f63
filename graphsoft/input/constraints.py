"""What is known besides the data: pairs of points that belong together or apart, and some labels."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown, warn
from graphsoft.input.names import by_name
from graphsoft.linalg.indexing import taken

__all__ = [
    "LABELS",
    "is_missing",
    "kept_pairs",
    "labeled",
    "listed_labels",
    "listed_pairs",
    "matrix_of_pairs",
    "objects_of",
]

# All pairs of labeled points are stored, so twice as many take four times the memory.
MAX_LABELS = 2000
LABELS = "give {point: label}, or one label for each point, with -1, None or NaN where it is unknown"
# How missing labels are spelled after NumPy has made texts of all labels.
WRITTEN_MISSING = {"", "-1", "nan", "NaN", "None", "<NA>"}
PAIRS = "give pairs of points, such as [(0, 5), (7, 2)]"


def matrix_of_pairs(
    nodes: Sequence[Any], must_link: Any = None, cannot_link: Any = None, known: Any = None
) -> sp.csr_array | None:
    """Write known pairs as a symmetric matrix: 1 for together, -1 for apart, nothing where unknown.

    Parameters
    ----------
    nodes : sequence of n
        The names of the points, such as `Graph.nodes`. Pairs and labels use these names.
    must_link, cannot_link : iterable of pairs, optional
        Points that belong to one cluster, and points that do not.
    known : mapping or sequence, optional
        Labels of some points: ``{point: label}``, or one label for each point, with -1, None or NaN where it
        is unknown. Each pair of these points becomes known as together or apart.

    Returns
    -------
    csr_array of shape (n, n), or None if nothing is known

    Examples
    --------
    >>> matrix_of_pairs(["a", "b", "c"], must_link=[("a", "b")], cannot_link=[("b", "c")]).toarray()
    array([[ 0.,  1.,  0.],
           [ 1.,  0., -1.],
           [ 0., -1.,  0.]])
    >>> matrix_of_pairs(range(3), known=[4, -1, 5]).toarray()[0].tolist()
    [0.0, 0.0, -1.0]
    """
    number = _row_numbers(nodes)
    together = _pairs("must_link", must_link, number, len(nodes))
    apart = _pairs("cannot_link", cannot_link, number, len(nodes))
    points, labels = _numbered(known, nodes)
    first, second = np.triu_indices(len(points), k=1)
    same = labels[first] == labels[second]
    ends = np.column_stack([points[first], points[second]])
    alike, unlike = _matrix(ends[same], len(nodes)), _matrix(ends[~same], len(nodes))
    positive, negative = _matrix(together, len(nodes)), _matrix(apart, len(nodes))
    _refuse_both("must_link", positive, unlike, "known puts apart", nodes)
    _refuse_both("cannot_link", negative, alike, "known puts together", nodes)
    _refuse_both("cannot_link", negative, positive, "must_link puts together", nodes)
    pairs = (positive.maximum(alike) - negative.maximum(unlike)).tocsr()
    return pairs if pairs.nnz else None


def listed_pairs(argument: str, pairs: Any) -> tuple[tuple[Any, ...], ...]:
    """List pairs of points, which an iterator may give only once.

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
    """List the points whose label is known, each with its label, from `known` of `matrix_of_pairs`.

    Examples
    --------
    >>> listed_labels(range(3), [4, -1, 5])
    ((0, 4), (2, 5))
    """
    if known is None:
        return ()
    if isinstance(known, Mapping):
        return tuple(known.items())
    rows, labels = labeled("known", known, nodes)
    return tuple(zip((nodes[row] for row in rows.tolist()), labels, strict=True))


def labeled(argument: str, labels: Any, nodes: Sequence[Any]) -> tuple[Array, list[Any]]:
    """Find the rows of the points whose label is known, in rising order, and these labels.

    Examples
    --------
    >>> rows, labels = labeled("known", ["b", None, "a", -1], range(4))
    >>> rows.tolist(), labels
    ([0, 2], ['b', 'a'])
    """
    if isinstance(labels, Mapping):
        return _of_some(argument, labels, nodes)
    named = by_name(labels, nodes)
    if isinstance(named, Mapping):
        known = {name: label for name, label in named.items() if not _is_unknown(label)}
        return _of_some(argument, known, nodes)
    return _of_all(argument, labels, nodes)


def kept_pairs(pairs: sp.csr_array, labels: Array) -> tuple[int, int]:
    """Count the known pairs that the labels agree with, and all known pairs.

    Examples
    --------
    >>> kept_pairs(matrix_of_pairs(range(3), [(0, 1)], [(1, 2)]), np.array([0, 0, 0]))
    (1, 2)
    """
    listed = sp.triu(pairs).tocoo()
    one, two = (taken(labels, ends) for ends in listed.coords)
    return int(np.count_nonzero((one == two) == (listed.data > 0))), int(listed.nnz)


def _refuse_both(argument: str, pairs: Any, others: Any, words: str, nodes: Sequence[Any]) -> None:
    """Refuse pairs that are known both as together and as apart."""
    both = pairs.multiply(others).tocoo()
    if both.nnz:
        one, two = nodes[int(both.row[0])], nodes[int(both.col[0])]
        problem = f"holds {shown(one)} and {shown(two)}, which {words}"
        raise InputError(argument, problem, "leave such pairs out of one of the two")


def _matrix(pairs: Array, count: int) -> sp.csr_array:
    narrow = np.int32 if max(count, 2 * len(pairs)) <= np.iinfo(np.int32).max else np.int64
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).astype(narrow).T
    matrix = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(count, count)).tocsr()
    matrix.data[:] = 1.0  # a pair that is given twice has 2
    return matrix


def _pairs(argument: str, pairs: Any, number: Mapping[Any, int] | None, count: int) -> Array:
    """Check pairs of points, and return their rows."""
    listed = listed_pairs(argument, pairs)
    rows = np.empty((len(listed), 2), dtype=np.int64)
    for place, pair in enumerate(listed):
        if len(pair) != 2:
            raise InputError(argument, f"holds {shown(pair)}", PAIRS)
        rows[place] = [row_of(argument, name, number, count) for name in pair]
        if rows[place, 0] == rows[place, 1]:
            raise InputError(argument, f"joins {shown(pair[0])} to itself", "leave such pairs out")
    return rows


def row_of(argument: str, name: Any, number: Mapping[Any, int] | None, count: int) -> int:
    """Find the row of a point by its name.

    `number` holds the row of every name; None if the names are the rows.

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
    names = f"rows 0 to {count - 1}" if number is None else "the names of the graph's nodes"
    raise InputError(argument, f"names no point: {shown(name)}", f"use {names}")


def _row_numbers(nodes: Sequence[Any]) -> dict[Any, int] | None:
    """Look up the row of each name; None if row numbers are the names."""
    try:
        return None if isinstance(nodes, range) else {name: row for row, name in enumerate(nodes)}
    except TypeError as error:  # in a graph made by hand
        raise InputError("X", f"has a name that cannot be hashed ({error})", "use other names") from error


def _of_some(argument: str, labels: Mapping[Any, Any], nodes: Sequence[Any]) -> tuple[Array, list[Any]]:
    """Read labels of named points."""
    number = _row_numbers(nodes)
    rows = np.array([row_of(argument, name, number, len(nodes)) for name in labels], dtype=np.int64)
    missing = [name for name, label in labels.items() if is_missing(label)]
    if missing:
        raise InputError(argument, f"has no label for {shown(missing[0])}", "leave such points out")
    values, order = list(labels.values()), np.argsort(rows, kind="stable")
    return rows[order], [values[place] for place in order]


def _of_all(argument: str, labels: Any, nodes: Sequence[Any]) -> tuple[Array, list[Any]]:
    """Read a sequence with one label for each point."""
    try:
        fits = not isinstance(labels, str | bytes | Set) and len(labels) == len(nodes)
    except TypeError:  # a single number or an iterator has no length
        fits = False
    if not fits:
        raise InputError(argument, f"got {shown(labels)} for {len(nodes)} points", LABELS)
    if isinstance(labels, np.ndarray) and labels.ndim != 1:
        raise InputError(argument, f"got shape {labels.shape} for {len(nodes)} points", LABELS)
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "iuf" and not np.ma.isMaskedArray(labels):
        rows = np.flatnonzero(~np.isnan(labels) & (labels != -1))
        return rows, labels[rows].tolist()
    try:
        values = list(objects_of(labels))
    except TypeError:
        raise InputError(argument, f"got {shown(labels)} for {len(nodes)} points", LABELS) from None
    rows = np.array([row for row, label in enumerate(values) if not _is_unknown(label)], dtype=np.int64)
    known = [values[row] for row in rows]
    odd = sorted({label for label in known if isinstance(label, str) and label in WRITTEN_MISSING})
    if odd:
        warn(f"{argument}: the text {odd[0]!r} is taken as a label; use None for an unknown label")
    return rows, known


def objects_of(labels: Any) -> Any:
    """Take the values out of arrays and columns: whole numbers stay whole, and masked ones become None.

    Examples
    --------
    >>> objects_of(np.ma.array([1, 2], mask=[False, True]))
    [1, None]
    """
    for method in ("tolist", "to_list", "to_pylist"):  # of NumPy and pandas; of polars; of pyarrow
        if hasattr(labels, method):
            return getattr(labels, method)()
    return labels


def _is_unknown(label: Any) -> bool:
    return is_missing(label) or (isinstance(label, numbers.Real) and label == -1)


def is_missing(label: Any) -> bool:
    """Recognize None, NaN, and the missing values of pandas and NumPy, which equal nothing.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("nan")
    (True, True, False)
    """
    if label is None or label is np.ma.masked or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, numbers.Number) and bool(label != label)  # noqa: PLR0124


def _numbered(known: Any, nodes: Sequence[Any]) -> tuple[Array, Array]:
    """Read labels of some points as their rows and numbers for their labels."""
    if known is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    points, labels = labeled("known", known, nodes)
    if len(points) > MAX_LABELS:
        problem = f"labels {len(points)} points, and all pairs of them are stored"
        raise InputError("known", problem, f"give at most {MAX_LABELS}")
    distinct: dict[Any, int] = {}
    try:
        numbered = [distinct.setdefault(label, len(distinct)) for label in labels]
    except TypeError:  # a label is not hashable
        raise InputError("known", f"got {shown(known)}", LABELS) from None
    return points, np.array(numbered, dtype=np.int64)
