"""Points with features, checked, before they are joined to a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from graphsoft.errors import InputError
from graphsoft.graph.adjacency import is_networkx
from graphsoft.graph.graph import Graph
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.sparse_input import sparse_matrix

__all__ = ["Features", "checked_table"]

SPARSE_METRICS = ("euclidean", "cosine")


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
    """

    values: Any
    metric: str = "euclidean"
    notes: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    neighbors: Any = None
    fitted: int | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])


def checked_table(X: Any, metric: str) -> Any:
    """Check points given as a table or as a sparse matrix.

    Examples
    --------
    >>> checked_table([[1, 2], [3, 4]], "manhattan")
    array([[1., 2.],
           [3., 4.]])
    """
    if isinstance(X, Graph) or is_networkx(X):
        raise InputError("X", "is a graph, not a table of points", "pass it to graphsoft.as_graph")
    if not sp.issparse(X):
        return dense_matrix(X)
    if metric not in SPARSE_METRICS:
        raise InputError(
            "metric",
            f"got {metric!r}, but X is sparse",
            f"use one of {', '.join(map(repr, SPARSE_METRICS))}, or pass X.toarray()",
        )
    return sparse_matrix(X)
