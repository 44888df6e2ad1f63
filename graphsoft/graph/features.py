"""Points with features, checked, before they are joined to a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import scipy.sparse as sp

from graphsoft.errors import InputError
from graphsoft.graph.graph import Graph
from graphsoft.graph.networks import is_network
from graphsoft.input.dense_input import dense_features, frame_columns
from graphsoft.input.large_numbers import LARGER_UNIT, Origin
from graphsoft.input.names import checked_names, frame_index, rows_by_name
from graphsoft.input.sparse_input import sparse_matrix

__all__ = ["Features", "FeaturesLeftOut", "checked_features", "features_beside", "named"]

SPARSE_METRICS = ("euclidean", "cosine")
# Under these metrics distances stay the same when a number is subtracted from a whole column.
MOVABLE = ("euclidean", "manhattan", "chebyshev", "hamming")


@dataclass(frozen=True, eq=False)
class Features:
    """Checked features of points.

    Attributes
    ----------
    values : ndarray or csr_array of shape (n, d)
        Finite, float32 or float64. It may be the caller's own array, so it must not be written to.
    metric : str
        How the distance between two rows is measured.
    notes : tuple of str
        What was assumed about the input.
    columns : tuple of str or None
        The names of the features, if a data frame has them.
    neighbors : object or None
        The caller's own search for neighbors, fitted to the distinct points, in place of graphsoft's.
    fitted : int or None
        How many distinct points that search knows, if others came in later.
    origin : tuple of d numbers, or None
        What was subtracted from each column, exactly, because it holds whole numbers beyond 2**53 that
        float64 would round. The same is subtracted from new points.
    names : sequence of n, or None
        The names of the points, if a data frame or the caller has them.
    beside : bool
        Whether they came beside a graph that was not made of them.
    """

    values: Any
    metric: str = "euclidean"
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    neighbors: Any = None
    fitted: int | None = None
    origin: Origin | None = None
    names: Sequence[Any] | None = None
    beside: bool = False

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def unmoved(self) -> Any:
        """The values, for methods whose result depends on where 0 is."""
        if self.origin is None:
            return self.values
        problem = "holds numbers beyond 2**53 that must be moved, but this method depends on where 0 is"
        raise InputError("X", problem, LARGER_UNIT)


def named(given: Features | Graph, names: Any) -> Features | Graph:
    """Give the points the caller's names, if there are any."""
    if names is None:
        return given
    checked = checked_names(names, len(given))
    return replace(given, names=checked) if isinstance(given, Features) else replace(given, nodes=checked)


def features_beside(given: Features | Graph, X: Any, metric: str) -> Features | None:
    """Check features of the nodes of a graph, which was not made of them; None if there are none.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> pair = Graph(csr_array([[0.0, 1.0], [1.0, 0.0]]), range(2))
    >>> features_beside(pair, [[1.0], [2.0]], "euclidean").beside
    True
    """
    if X is None:
        return None
    if isinstance(given, Features):
        raise InputError("features", "are given twice, since X holds features too", "pass a graph as X")
    X = rows_by_name(X, given.nodes, "features")
    try:
        found = checked_features(X, metric)
    except InputError as error:
        argument = "features" if error.argument == "X" else error.argument
        raise InputError(argument, error.problem, error.remedy) from None
    if len(found) != len(given):
        problem = f"has {len(found)} rows for {len(given)} points"
        raise InputError("features", problem, "give one for each")
    return replace(found, beside=True)


@dataclass(frozen=True)
class FeaturesLeftOut:
    """Stands for the features of points in a hierarchy that was saved without them.

    Attributes
    ----------
    columns : tuple of str or None
        The names of the features, if a data frame had them.
    """

    columns: tuple[str, ...] | None = None


def checked_features(X: Any, metric: str, neighbors: Any = None) -> Features:
    """Check points given as a table or as a sparse matrix.

    Examples
    --------
    >>> checked_features([[1, 2], [3, 4]], "manhattan").values
    array([[1., 2.],
           [3., 4.]])
    """
    if isinstance(X, Graph) or is_network(X):
        raise InputError("X", "is a graph, not a table of points", "pass it to graphsoft.as_graph")
    if not sp.issparse(X):
        columns, may_move = frame_columns(X), neighbors is None and metric in MOVABLE
        values, origin = dense_features(X, may_move=may_move)
        moved = 0 if origin is None else sum(number != 0 for number in origin)
        notes = (f"{moved} columns moved near 0, because float64 would round their numbers",) if moved else ()
        return Features(values, metric, notes, columns, neighbors, origin=origin, names=frame_index(X))
    if metric not in SPARSE_METRICS:
        raise InputError(
            "metric",
            f"got {metric!r}, but X is sparse",
            f"use one of {', '.join(map(repr, SPARSE_METRICS))}, or pass X.toarray()",
        )
    return Features(sparse_matrix(X), metric, neighbors=neighbors)
