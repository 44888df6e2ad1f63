"""Features made ready for the methods that look at rows, not at edges."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.interface import Clustering
from graphsoft.neighbors.points import Points, first_copies
from graphsoft.parallel import one_thread

__all__ = ["dense_rows", "few_different", "fit", "moved", "non_negative", "seed"]

# Sparse features with so many cells in all are made dense where a method needs that: half a gigabyte.
MAX_CELLS = 1 << 26


def moved(values: Any) -> Any:
    """Move every column to start at 0, and multiply all by a power of two so that the largest is below 1.

    What is far from 0 and hardly differs, or extreme, then has squares like any other; distances keep their
    proportions. Sparse rows are not moved. Always float64, and never the caller's array.

    Examples
    --------
    >>> moved(np.array([[5.0, 1.0], [7.0, 1.0]])).tolist()
    [[0.0, 0.0], [0.5, 0.0]]
    """
    if sp.issparse(values):
        return _below_one(values.astype(np.float64))
    halved = np.multiply(values, 0.5, dtype=np.float64)  # so that no difference overflows
    halved -= halved.min(axis=0)
    return _below_one(halved)


def non_negative(values: Any) -> Any:
    """Move the columns that fall below 0 to start there, and multiply all as `moved` does.

    Examples
    --------
    >>> non_negative(np.array([[1.0, -1.0], [2.0, 1.0]])).tolist()
    [[0.25, 0.0], [0.5, 0.5]]
    """
    if sp.issparse(values):
        if values.nnz and values.data.min() < 0:
            problem = "is sparse and has entries below 0, for which this method would fill it"
            raise InputError("X", problem, "pass it dense, or use another method")
        return _below_one(values.astype(np.float64))
    halved = np.multiply(values, 0.5, dtype=np.float64)
    halved -= np.minimum(halved.min(axis=0), 0.0)
    return _below_one(halved)


def dense_rows(values: Any, method: str) -> Array:
    """Move the rows, dense; sparse ones only as long as that is small.

    Examples
    --------
    >>> dense_rows(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]), "Ward linkage").tolist()
    [[0.0, 0.5], [0.25, 0.0]]
    """
    if sp.issparse(values):
        rows, columns = values.shape
        if rows * columns > MAX_CELLS:
            problem = f"is sparse, and {method} would fill its {rows} x {columns} cells"
            raise InputError("X", problem, f"use at most {MAX_CELLS} cells, or a method for graphs")
        values = values.toarray()
    return np.asarray(moved(values))


def few_different(values: Any, metric: str, count: int) -> Clustering | None:
    """Cluster points of which no more than `count` are different: there is nothing to search then.

    Examples
    --------
    >>> few_different(np.array([[1.0], [2.0], [1.0]]), "euclidean", 2).labels.tolist()
    [0, 1, 0]
    """
    heads, labels = np.unique(first_copies(Points.of(values, metric)), return_inverse=True)
    if len(heads) > count:
        return None
    return Clustering(
        one_cluster_each(labels, count), (), f"one cluster for each of {len(heads)} different rows"
    )


def seed(random: np.random.Generator) -> int:
    """Draw a seed for scikit-learn, which knows no Generator.

    Examples
    --------
    >>> seed(np.random.default_rng(0))
    1826701615
    """
    return int(random.integers(2**31))


def fit(model: Any, rows: Any, **start: Any) -> Any:
    """Let a model of scikit-learn fit and tell its coordinates of the rows, on one thread and in silence.

    What it warns of goes into a status instead.

    Examples
    --------
    >>> from sklearn.decomposition import TruncatedSVD
    >>> fit(TruncatedSVD(1), np.eye(2)).components_.shape
    (1, 2)
    """
    from sklearn.exceptions import ConvergenceWarning

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_transform(rows, **start) if start else model.fit(rows)


def _below_one(values: Any) -> Any:
    """Multiply fresh float64 rows by a power of two, in place."""
    data = values.data if sp.issparse(values) else values
    exponent = int(np.frexp(np.abs(data).max(initial=0.0))[1])
    np.ldexp(data, -exponent, out=data)
    return values
