"""Sparse and dense matrix products and rearrangements that scipy does not offer, or does with more memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.kernels import Rows, products, rows_of
from graphsoft.linalg.indexing import taken
from graphsoft.parallel import map_blocks, map_pieces, pieces_with_columns

__all__ = [
    "gram",
    "index_type",
    "inverse_or_zero",
    "joined",
    "pointers",
    "submatrix",
    "times",
    "weighted_sums",
    "without_diagonal",
]

GRAM_ROWS = 1 << 13  # rows that `gram` multiplies at a time


def inverse_or_zero(values: Array) -> Array:
    """Compute ``1 / values``, with 0 where a value is 0."""
    return np.divide(1.0, values, out=np.zeros(len(values)), where=values > 0)


def index_type(entries: int) -> type[np.signedinteger[Any]]:
    """Choose the type of pointers, and of columns that SciPy shall not copy: it makes both alike.

    Examples
    --------
    >>> index_type(2**31 - 1).__name__, index_type(2**31).__name__
    ('int32', 'int64')
    """
    return np.int32 if entries <= np.iinfo(np.int32).max else np.int64


def pointers(counts: Array) -> Array:
    """Tell where the entries of each row begin, and where the last end; rows have so many of them.

    Examples
    --------
    >>> pointers(np.array([2, 0, 1]))
    array([0, 2, 2, 3], dtype=int32)
    """
    ptr = np.zeros(len(counts) + 1, dtype=index_type(int(counts.sum(dtype=np.int64))))
    np.cumsum(counts, out=ptr[1:])
    return ptr


def joined(parts: list[Rows], columns: int) -> sp.csr_array:
    """Stack pieces of CSR rows, each with pointers from 0; the list is empty afterwards."""
    counts = np.concatenate([np.diff(part[0]) for part in parts]) if parts else np.zeros(0, dtype=np.int64)
    ptr = pointers(counts)
    indices, data = np.empty(ptr[-1], dtype=np.int32), np.empty(ptr[-1])
    at = 0
    parts.reverse()
    while parts:  # frees each piece once it is copied
        _, some, values = parts.pop()
        indices[at : at + len(some)], data[at : at + len(some)] = some, values
        at += len(some)
    return sp.csr_array((data, indices, ptr), shape=(len(counts), columns))


def submatrix(matrix: sp.csr_array, rows: Array) -> sp.csr_array:
    """Keep only these rows and columns, given in rising order.

    Makes one copy if no entries are lost, where SciPy makes two.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> weights = sp.csr_array([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]])
    >>> submatrix(weights, np.array([0, 2])).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    kept = matrix[rows]
    place = np.full(matrix.shape[1], -1, dtype=kept.indices.dtype)
    place[rows] = np.arange(len(rows), dtype=place.dtype)
    data, columns, indptr = kept.data, taken(place, kept.indices), kept.indptr
    del kept
    inside = columns >= 0
    if not inside.all():
        before = np.zeros(len(inside) + 1, dtype=indptr.dtype)
        np.cumsum(inside, out=before[1:])
        indptr = before[indptr]
        del before
        data = data[inside]
        columns = columns[inside]
    return sp.csr_array((data, columns, indptr), shape=(len(rows), len(rows)))


def without_diagonal(matrix: sp.csr_array) -> sp.csr_array:
    """Leave out the diagonal; a matrix without one is returned as it is.

    Examples
    --------
    >>> without_diagonal(sp.csr_array([[1.0, 2.0], [2.0, 0.0]])).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    rows = np.repeat(np.arange(matrix.shape[0], dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    off = rows != matrix.indices
    if off.all():
        return matrix
    indptr = np.concatenate(([0], np.cumsum(np.bincount(rows[off], minlength=matrix.shape[0]))))
    parts = matrix.data[off], matrix.indices[off], indptr.astype(matrix.indptr.dtype)
    return sp.csr_array(parts, shape=matrix.shape)


def times(matrix: sp.csr_array, dense: Array) -> Array:
    """Multiply a sparse matrix by a dense one, with the same bits on any number of threads.

    Examples
    --------
    >>> times(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[6., 8.],
           [1., 2.]])
    """
    if matrix.shape[1] != len(dense):  # which the compiled loop would not notice
        raise ValueError(f"{matrix.shape[1]} columns cannot be multiplied with {len(dense)} rows")
    dense = np.ascontiguousarray(dense)
    result = np.empty((matrix.shape[0], dense.shape[1]), dtype=np.result_type(matrix.data, dense))

    def piece(start: int, stop: int) -> None:
        products.times_dense(rows_of(matrix), dense, start, stop, result)

    for _ in map_pieces(piece, pieces_with_columns(matrix.indptr, dense.shape[1])):
        pass
    return result


def gram(dense: Array) -> Array:
    """Compute ``S^T S``, with the same bits on any number of threads; BLAS does not promise that.

    Examples
    --------
    >>> gram(np.array([[1.0, 2.0], [0.0, 1.0]]))
    array([[1., 2.],
           [2., 5.]])
    """
    count = dense.shape[1]

    def piece(start: int, stop: int) -> Array:
        part = np.empty((count, count))
        products.gram(dense, start, stop, part)
        return part

    return sum(map_blocks(piece, len(dense), GRAM_ROWS), np.zeros((count, count)))


def weighted_sums(weights: Array, dense: Array) -> Array:
    """Compute ``w^T S``, with the same bits on any number of threads; BLAS does not promise that.

    Examples
    --------
    >>> weighted_sums(np.array([2.0, 3.0]), np.array([[1.0, 0.0], [1.0, 1.0]]))
    array([5., 3.])
    """
    return np.asarray(np.einsum("i,iq->q", weights, dense))
