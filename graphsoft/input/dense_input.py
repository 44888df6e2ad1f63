"""Checks of tables of numbers from outside: arrays, data frames, nested lists.

Each check returns an array of floats or raises an :class:`~graphsoft.errors.InputError`. The caller's buffers
are only read.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown, warn
from graphsoft.input.containers import names_of_columns, unwrapped
from graphsoft.input.large_numbers import EXACT, Origin, first_rounded, moved, origin_of, rounding_error
from graphsoft.input.mapped import allocate, is_mapped
from graphsoft.parallel import row_blocks

__all__ = [
    "REAL_KINDS",
    "USUAL_LABELS",
    "dense_features",
    "dense_matrix",
    "frame_columns",
    "holds_integers",
    "refuse_no_numbers",
    "warn_of_columns",
]

REAL_KINDS = "biuf"

TEXTS = "turn texts into a table first, for example with scikit-learn's TfidfVectorizer"
EDGES = "if the rows are edges, pass graphsoft.edge_graph(X)"
FILES = "read a file first, for example with graphsoft.datasets.read(path).data"

USUAL_LABELS = frozenset({"label", "labels", "class", "classes", "target"})
MIN_COUNTING = 8  # fewer values may rise by 1 from row to row by chance


def dense_matrix(data: Any, argument: str = "X", *, rounded: bool = False) -> Array:
    """Check a matrix of real numbers given as an array, a data frame, nested lists, ...

    Parameters
    ----------
    data : array_like of shape (n, d)
        Any real dtype, memory order and container.
    argument : str
        The name to use in errors.
    rounded : bool
        Round whole numbers beyond 2**53, as is right for weights, of which only the ratios matter. Without it
        they are refused if float64 does not hold them.

    Returns
    -------
    ndarray of shape (n, d)
        C-contiguous and finite: float32 where that holds every value of the given dtype, else float64. It is
        `data` itself where nothing had to change, so it must not be written to.

    Examples
    --------
    >>> dense_matrix([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    if rounded:
        return _as_floats(_table(data, argument), argument, frame_columns(data))
    return dense_features(data, argument)[0]


def dense_features(
    data: Any, argument: str = "X", *, may_move: bool = False, origin: Origin | None = None
) -> tuple[Array, Origin | None]:
    """Check features of points, and let no two of them become one by rounding.

    Parameters
    ----------
    data : array_like of shape (n, d)
        As for :func:`dense_matrix`.
    argument : str
        The name to use in errors.
    may_move : bool
        Whether numbers may be subtracted from the columns, as leaves Euclidean distances as they are.
    origin : tuple of d numbers, optional
        What was subtracted from other points, which these are to be compared with.

    Returns
    -------
    ndarray of shape (n, d)
        As from :func:`dense_matrix`; float64 if something was subtracted.
    tuple of d numbers, or None
        What was subtracted.

    Examples
    --------
    >>> values, origin = dense_features([[2**60], [2**60 + 1]], may_move=True)
    >>> values.tolist(), dense_features([[2**60 + 5]], origin=origin)[0].tolist()
    ([[0.0], [1.0]], [[5.0]])
    """
    table, columns = _table(data, argument), frame_columns(data)
    values = _as_floats(table, argument, columns)
    place = None
    if origin is None:
        place = first_rounded(table)
        if place is not None and may_move:
            origin = origin_of(table)
    if origin is not None and len(origin) == values.shape[1]:  # where not, the caller says so
        values, place = moved(table, origin)
    if place is not None:
        raise rounding_error(table[place], _place(place, columns), argument)
    return values, origin


def _table(data: Any, argument: str) -> Array:
    """Read a table with at least one row and one column, of any real dtype or of objects that are numbers."""
    array = _as_array(data, argument)
    if array.ndim != 2:
        problem = f"has {array.ndim} dimension{'s' * (array.ndim != 1)}, shape {array.shape}"
        shape = "X.reshape(len(X), -1)" if array.ndim else "X.reshape(1, -1)"
        remedy = f"pass a table with one row for each point, such as {shape}"
        if hasattr(data, "iloc"):
            remedy = "pass a data frame: for one row frame.iloc[[0]], for one column frame[['name']]"
        elif array.ndim == 1:
            remedy += ", or X.reshape(1, -1) for one"
        raise InputError(argument, problem, remedy)
    if array.shape[0] == 0:
        raise InputError(argument, f"got 0 samples, shape {array.shape}", "pass at least one row")
    if array.shape[1] == 0:
        raise InputError(argument, f"got 0 features, shape {array.shape}", "pass at least one column")
    if array.dtype.kind == "O":
        refuse_no_numbers(array, argument, frame_columns(data))
    return array


def _as_floats(array: Array, argument: str, columns: tuple[str, ...] | None) -> Array:
    """Convert a table to finite float32 or float64."""
    single = np.can_cast(array.dtype, np.float32)
    kind = np.dtype(np.float32 if single else np.float64)
    try:
        with np.errstate(over="ignore"):
            result = _rows_as(array, kind)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(
            argument, f"cannot be read as float64 ({error})", "rescale or drop such values"
        ) from error
    _check_finite(array, result, argument, columns)
    return result


def _rows_as(array: Array, kind: np.dtype[Any]) -> Array:
    """Convert a table, if necessary, to one that is contiguous row by row."""
    fitting = array.dtype == kind and array.flags.c_contiguous and array.flags.aligned
    if fitting or not is_mapped(array):
        return np.require(array, dtype=kind, requirements=["C", "A"])
    result = allocate(array, array.shape, kind)
    for start, stop in row_blocks(array):
        result[start:stop] = array[start:stop]
    return result


def _as_array(data: Any, argument: str) -> Array:
    """Turn `data` into an array whose dtype can hold real numbers."""
    _refuse_objects(data, argument)
    if isinstance(data, np.ma.MaskedArray):
        hidden = np.argwhere(np.ma.getmaskarray(data))
        if len(hidden):
            raise InputError(
                argument,
                f"{len(hidden)} cells are masked, the first at {_place(hidden[0])}",
                "fill or drop the masked cells",
            )
        data = data.data
    data = unwrapped(data, argument)
    try:
        array = _without_rounding(data, np.asarray(data.to_numpy() if hasattr(data, "to_numpy") else data))
    except MemoryError:
        raise
    except Exception as error:  # an object of the caller's own may raise anything
        raise InputError(
            argument,
            f"cannot be read as an array ({error})",
            "pass a table of numbers, all rows equally long",
        ) from error
    if array.dtype.kind not in REAL_KINDS + "O":
        names = {
            "c": "complex numbers",
            "M": "dates",
            "m": "time spans",
            "U": "text",
            "S": "bytes",
            "V": "records",
        }
        remedy = "convert it to real numbers first"
        if array.dtype.kind == "U":
            remedy = TEXTS if array.ndim else FILES
            if array.ndim == 2 and array.shape[1] in (2, 3):
                remedy = f"{EDGES}; {TEXTS}"
        problem = f"holds {names.get(array.dtype.kind, 'no numbers')} (dtype {array.dtype})"
        raise InputError(argument, problem, remedy)
    if array.dtype.kind == "O" and array.ndim == 0:
        kinds = "pass an array, a data frame, a SciPy sparse matrix, or a graph of networkx or igraph"
        remedy = FILES if isinstance(data, os.PathLike) else kinds
        raise InputError(argument, f"got an object of type {type(data).__name__}", remedy)
    if array.dtype.kind == "O" and array.ndim == 1 and any(isinstance(each, str) for each in array[:99]):
        raise InputError(argument, "holds text", TEXTS)
    return array


def holds_integers(data: Any) -> bool:
    """Tell whether a table is of a type of whole numbers.

    Examples
    --------
    >>> holds_integers([[1, 2]]), holds_integers([[1.0, 2.0]])
    (True, False)
    """
    return _as_array(data, "X").dtype.kind in "iu"


def _refuse_objects(data: Any, argument: str) -> None:
    """Refuse objects that hold points or graphs, but are neither, with a word on what to take of them."""
    if hasattr(data, "obsm") and hasattr(data, "obsp"):
        remedy = (
            "call graphsoft.tl.hierarchy(adata, levels), or pass its graph, adata.obsp['connectivities'], "
            "or its points, such as adata.obsm['X_pca']"
        )
        raise InputError(argument, "is an AnnData", remedy)
    if type(data).__module__.partition(".")[0] == "graphsoft":
        remedy = (
            "pass points or a graph, such as the .data of a file or the .graph of a hierarchy, "
            "or of h.sample(10_000) if it is on disk"
        )
        raise InputError(argument, f"is a {type(data).__name__}", remedy)


def _without_rounding(data: Any, array: Array) -> Array:
    """Read whole numbers as objects where NumPy has rounded them, as beside floats in lists and frames."""
    if isinstance(data, np.ndarray) or array.dtype != np.float64 or array.ndim != 2 or array.size == 0:
        return array
    if not any((np.abs(array[start:stop]) >= EXACT).any() for start, stop in row_blocks(array)):
        return array
    if not hasattr(data, "to_numpy"):
        return np.asarray(data, dtype=object)
    if all(str(dtype).lower().startswith("float") for dtype in getattr(data, "dtypes", ())):
        return array
    return np.asarray(data.to_numpy(dtype=object))


def refuse_no_numbers(array: Array, argument: str, columns: tuple[str, ...] | None = None) -> None:
    """Refuse an object array unless every element is a real number.

    Examples
    --------
    >>> refuse_no_numbers(np.array([1, 2.5, True], dtype=object), "X")
    """
    for place, value in np.ndenumerate(array):
        if not isinstance(value, (numbers.Real, np.bool_)) and not hasattr(value, "as_integer_ratio"):
            remedy = "convert or drop it first"
            if isinstance(value, (list, tuple, np.ndarray)):
                remedy = "pass the lists of that column as one array, such as np.stack(X[name].to_list())"
            elif array.ndim == 2 and array.shape[1] in (2, 3) and isinstance(value, str):
                remedy = f"{EDGES}; or {remedy}"
            problem = f"holds {shown(value)}, which is not a real number, at {_place(place, columns)}"
            raise InputError(argument, problem, remedy)


def _check_finite(given: Array, result: Array, argument: str, columns: tuple[str, ...] | None) -> None:
    """Refuse NaN and infinite numbers, and numbers that become infinite as float64."""
    if given.dtype.kind not in "fO":
        return
    count, first = 0, None
    for start, stop in row_blocks(result):
        finite = np.isfinite(result[start:stop])
        if not finite.all():
            bad = np.argwhere(~finite)
            count += len(bad)
            first = first or (start + int(bad[0, 0]), int(bad[0, 1]))
    if first is not None:
        raise InputError(
            argument,
            f"{count} entries are NaN or infinite, the first is {given[first]!s} at {_place(first, columns)}",
            "drop or fill those rows",
        )


def frame_columns(data: Any) -> tuple[str, ...] | None:
    """List the column names of a table that has some, such as a data frame; None for anything else.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_columns(pd.DataFrame({"height": [1.0], "width": [2.0]})), frame_columns([[1.0, 2.0]])
    (('height', 'width'), None)
    """
    columns = names_of_columns(data)
    if columns is None or not all(isinstance(name, (str, int)) for name in columns):
        return None
    return tuple(str(name) for name in columns)


def warn_of_columns(columns: Sequence[str], values: Array) -> None:
    """Warn of columns that are probably not features: those of classes, and those that count the rows.

    Examples
    --------
    >>> warn_of_columns(["height"], np.array([[1.0], [2.0], [4.0]]))
    """
    for name in columns:
        if name.casefold() in USUAL_LABELS:
            warn(f"column {name!r} is used as a feature; if it is the classes, name it as labels, or drop it")
    if len(values) < MIN_COUNTING:
        return
    rows = np.arange(len(values))
    counting = [
        name
        for name, column in zip(columns, values.T, strict=True)
        if column[1] - column[0] == 1.0 and (column == column[0] + rows).all()
    ]
    if counting:
        named = ", ".join(map(repr, counting[:3])) + ", ..." * (len(counting) > 3)
        warn(f"column {named} counts the rows and is used as a feature; drop it if it only numbers them")


def _place(place: Any, columns: tuple[str, ...] | None = None) -> str:
    """Put a row and a column into words."""
    if len(place) != 2:
        return f"index {tuple(int(index) for index in place)}"
    row, column = int(place[0]), int(place[1])
    name = f" ({columns[column]!r})" if columns is not None and column < len(columns) else ""
    return f"row {row}, column {column}{name}"
