"""Features prepared for the methods that look at rows instead of edges."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.blas import one_thread
from graphsoft.errors import InputError
from graphsoft.linalg.memberships import one_cluster_each
from graphsoft.methods.interface import Clustering
from graphsoft.neighbors.points import Points, first_copies

__all__ = ["dense", "dense_rows", "few_distinct", "fit_quietly", "non_negative", "shifted", "sklearn_seed"]

# The most cells of sparse features that are made dense if a method needs that: half a gigabyte.
MAX_CELLS = 1 << 26


def shifted(values: Any) -> Any:
    """Shift every column to start at 0, and multiply all by a power of two so that the largest is below 1.

    So squares neither overflow nor lose digits if values are extreme, or far from 0 and close to each other.
    Distances keep their proportions. Sparse rows are scaled only. The result is a new float64 array.

    Examples
    --------
    >>> shifted(np.array([[5.0, 1.0], [7.0, 1.0]])).tolist()
    [[0.0, 0.0], [0.5, 0.0]]
    """
    if sp.issparse(values):
        return _below_one(values.astype(np.float64))
    halved = np.multiply(values, 0.5, dtype=np.float64)  # so that no difference overflows
    halved -= halved.min(axis=0)
    return _below_one(halved)


def non_negative(values: Any) -> Any:
    """Shift the columns with negative values to start at 0, and scale all as `shifted` does.

    Examples
    --------
    >>> non_negative(np.array([[1.0, -1.0], [2.0, 1.0]])).tolist()
    [[0.25, 0.0], [0.5, 0.5]]
    """
    if sp.issparse(values):
        if values.nnz and values.data.min() < 0:
            problem = "is sparse and has entries below 0, and this method would have to make it dense"
            raise InputError("X", problem, "pass a dense array, or use another method")
        return _below_one(values.astype(np.float64))
    halved = np.multiply(values, 0.5, dtype=np.float64)
    halved -= np.minimum(halved.min(axis=0), 0.0)
    return _below_one(halved)


def dense(rows: Any) -> Array:
    """Make a dense float64 array of rows that may be sparse.

    Examples
    --------
    >>> dense(sp.csr_array([[0.0, 2.0]])).tolist()
    [[0.0, 2.0]]
    """
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)


def dense_rows(values: Any, method: str) -> Array:
    """Make dense rows, shifted as in `shifted`; refuse sparse ones that would take too much memory.

    Examples
    --------
    >>> dense_rows(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]), "Ward linkage").tolist()
    [[0.0, 0.5], [0.25, 0.0]]
    """
    if sp.issparse(values):
        rows, columns = values.shape
        if rows * columns > MAX_CELLS:
            problem = f"is sparse, and {method} would make its {rows} x {columns} cells dense"
            raise InputError("X", problem, f"use at most {MAX_CELLS} cells, or a method for graphs")
        values = values.toarray()
    return np.asarray(shifted(values))


def few_distinct(values: Any, metric: str, count: int) -> Clustering | None:
    """Cluster points with at most `count` distinct rows: each row gets a cluster. None if there are more.

    Examples
    --------
    >>> few_distinct(np.array([[1.0], [2.0], [1.0]]), "euclidean", 2).labels.tolist()
    [0, 1, 0]
    """
    heads, labels = np.unique(first_copies(Points.of(values, metric)), return_inverse=True)
    if len(heads) > count:
        return None
    return Clustering(
        one_cluster_each(labels, count), (), f"one cluster for each of {len(heads)} different rows"
    )


def sklearn_seed(random: np.random.Generator) -> int:
    """Draw a seed for scikit-learn, which does not take a Generator.

    Examples
    --------
    >>> sklearn_seed(np.random.default_rng(0))
    1826701615
    """
    return int(random.integers(2**31))


def fit_quietly(model: Any, rows: Any, **start: Any) -> Any:
    """Fit a model of scikit-learn on one thread, without its warning that it did not converge.

    The status of the result says so instead. Returns the fitted model, or the transformed rows if a start is
    given.

    Examples
    --------
    >>> from sklearn.decomposition import TruncatedSVD
    >>> fit_quietly(TruncatedSVD(1), np.eye(2)).components_.shape
    (1, 2)
    """
    from sklearn.exceptions import ConvergenceWarning

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit_transform(rows, **start) if start else model.fit(rows)


def _below_one(values: Any) -> Any:
    """Multiply float64 rows by a power of two, in place."""
    data = values.data if sp.issparse(values) else values
    exponent = int(np.frexp(np.abs(data).max(initial=0.0))[1])
    np.ldexp(data, -exponent, out=data)
    return values
