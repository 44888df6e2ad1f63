"""Edge weights as users pass them: made symmetric to the last bit, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, warn
from graphsoft.input.mapped import is_plain
from graphsoft.input.sparse_input import canonical, narrow
from graphsoft.kernels import rows_of
from graphsoft.kernels.adjacency import mirror_sum
from graphsoft.linalg.indexing import put
from graphsoft.parallel import LOAD, map_pieces, pieces_by_load

__all__ = [
    "asymmetry",
    "check_square",
    "is_clean",
    "neighbor_lists",
    "refuse_asymmetric",
    "warn_of_distances",
    "weight_matrix",
]

TOLERANCE = 1e-8  # how far the two directions of an edge may differ, relative to the larger
BLOCK = 1 << 20  # entries
MODEST = 64  # weights stay as they are if the largest is within 2**±MODEST
# Within these bounds the inverses of weights, and sums of their squares, are finite.
SMALLEST, LARGEST = float(np.finfo(np.float64).tiny), 2.0**256
# The relative score in `warn_of_distances` is 0.3 to 0.9 for distances between points in clusters, below 0
# for similarities, and up to 0.2 for noise.
LIKE_DISTANCES = 0.25


def weight_matrix(
    matrix: sp.csr_array, argument: str, names: Sequence[Any] | None = None
) -> tuple[sp.csr_array, list[str]]:
    """Bring checked edge weights into canonical form.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        Finite float64 entries with valid indices, possibly unsorted or repeated. It is not changed.
    argument : str
        The name to use in errors.
    names : sequence of n, optional
        The nodes, for errors.

    Returns
    -------
    csr_array of shape (n, n)
        Positive entries, possibly asymmetric. If weights are very large or very small, all are multiplied by
        one power of two.
    list of str
        What was done.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> weight_matrix(sp.csr_array([[0.0, 2.0], [2.0, 0.0]]), "X")[0].toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    notes = []
    data = matrix.data
    smallest, largest = _sizes(data)
    if largest > 0:
        exponent = int(np.frexp(largest)[1]) - 1
        if exponent - int(np.frexp(smallest)[1]) > 1021:
            raise InputError(
                argument,
                f"has weights between {smallest:g} and {largest:g}, too far apart for float64",
                "rescale the weights or drop the negligible ones",
            )
        # the smallest must not be subnormal, or else its inverse could overflow
        if abs(exponent) > MODEST or smallest < np.finfo(np.float64).tiny:
            data = np.ldexp(data, -exponent)
            notes.append(f"weights multiplied by 2**{-exponent}")
    result = canonical(narrow(sp.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)))
    negative = np.flatnonzero(result.data < 0)
    if len(negative):
        row = int(np.searchsorted(result.indptr, negative[0], side="right")) - 1
        column = int(result.indices[negative[0]])
        raise InputError(
            argument,
            f"{len(negative)} weights are negative, the first is {_entry(matrix, row, column):g} at "
            f"{_edge(row, column, names)}",
            "pass weights of at least 0"
            + ", or affinity='features' if the rows are points" * (argument == "X" and names is None),
        )
    return result, notes


def is_clean(matrix: Any) -> bool:
    """Tell whether a matrix is as the door leaves it, so that compiled loops may follow its indices.

    It is a square csr_array with valid, sorted columns, finite positive weights and exact symmetry. Weights
    may be somewhat larger than the door leaves them, as long as no sum of their squares can overflow.

    Examples
    --------
    >>> is_clean(sp.csr_array([[0.0, 2.0], [2.0, 0.0]])), is_clean(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]))
    (True, False)
    """
    if not _is_framed(matrix):
        return False
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    count = len(indptr) - 1

    def piece(start: int, stop: int) -> bool:
        first, last = indptr[start], indptr[stop]
        columns, weights = indices[first:last], data[first:last]
        if not len(columns):
            return True
        with np.errstate(invalid="ignore"):  # a comparison with NaN is false, so NaN is not modest
            modest = weights.min() >= SMALLEST and weights.max() <= LARGEST
        begins = indptr[start + 1 : stop]
        begins = begins[(begins > first) & (begins < last)] - first
        falls = columns[1:] <= columns[:-1]
        put(falls, begins - 1, False)
        return bool(modest and columns.min() >= 0 and columns.max() < count and not falls.any())

    if not all(map_pieces(piece, pieces_by_load(indptr, LOAD))) or not _is_mirrored(matrix):
        return False
    matrix.has_canonical_format = True
    return True


def _is_framed(matrix: Any) -> bool:
    """Tell whether a matrix is a square csr_array of plain arrays, with pointers that rise to their end."""
    if type(matrix) is not sp.csr_array:
        return False
    data, indices, indptr = parts = matrix.data, matrix.indices, matrix.indptr
    if not all(is_plain(part) and part.ndim == 1 for part in parts):
        return False
    if not all(part.flags.c_contiguous and part.flags.aligned for part in parts):
        return False
    count, shape = len(indptr) - 1, matrix.shape
    kind = np.int32 if max(count, len(data)) <= np.iinfo(np.int32).max else np.int64
    if data.dtype != np.float64 or indices.dtype != kind or indptr.dtype != kind:
        return False
    if count < 1 or shape != (count, count) or not all(type(length) is int for length in shape):
        return False
    ends = indptr[0] == 0 and indptr[-1] == len(indices) == len(data)
    return bool(ends and (indptr[1:] >= indptr[:-1]).all())


def _sizes(data: Array) -> tuple[float, float]:
    """Find the smallest and the largest absolute value other than zero, or infinity and 0 if all are zero."""
    smallest, largest = np.inf, 0.0
    for start in range(0, len(data), BLOCK):  # in blocks, because each step makes a copy
        sizes = np.abs(data[start : start + BLOCK])
        sizes = sizes[sizes > 0]
        smallest = min(smallest, float(sizes.min(initial=np.inf)))
        largest = max(largest, float(sizes.max(initial=0.0)))
    return smallest, largest


def _entry(matrix: sp.csr_array, row: int, column: int) -> float:
    """Look up an entry of the caller's matrix."""
    part = slice(matrix.indptr[row], matrix.indptr[row + 1])
    return float(matrix.data[part][matrix.indices[part] == column].sum())


def _edge(row: int, column: int, names: Sequence[Any] | None) -> str:
    return f"({row}, {column})" if names is None else f"({names[row]!r}, {names[column]!r})"


def asymmetry(matrix: sp.csr_array) -> tuple[sp.csr_array, tuple[int, int] | None]:
    """Compare a canonical matrix with its transpose.

    Returns
    -------
    csr_array of shape (n, n)
        The matrix, exactly symmetric, if all pairs agree up to `TOLERANCE`.
    pair of int or None
        Row and column of the pair that differs most, or None if all agree.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> asymmetry(sp.csr_array([[0.0, 2.0], [1.0, 0.0]]))[1]
    (0, 1)
    """
    if _is_mirrored(matrix):
        return matrix, None
    turned = matrix.T.tocsr()
    gaps = abs(matrix - turned).tocsr()
    pattern = sp.csr_array((np.ones(gaps.nnz), gaps.indices, gaps.indptr), shape=gaps.shape)
    bad = gaps.data > TOLERANCE * pattern.multiply(matrix.maximum(turned)).tocsr().data
    if not bad.any():
        return ((matrix + turned) / 2).tocsr(), None
    worst = int(np.argmax(np.where(bad, gaps.data, -1.0)))
    return matrix, (int(np.searchsorted(gaps.indptr, worst, side="right")) - 1, int(gaps.indices[worst]))


def _is_mirrored(matrix: sp.csr_array) -> bool:
    """Tell whether a matrix equals its transpose, by a sum of hashes over its entries.

    Looking up the mirror image of every entry would take twenty times as long on a large graph. If a matrix
    is not symmetric, this misses it with a probability of 2**-64.
    """
    edges = rows_of(matrix)
    edges = edges._replace(values=edges.values.view(np.uint64))

    def piece(start: int, stop: int) -> int:
        with np.errstate(over="ignore"):  # without the compiler NumPy would warn that hashes wrap
            return int(mirror_sum(edges, start, stop))

    return sum(map_pieces(piece, pieces_by_load(matrix.indptr, LOAD))) % 2**64 == 0


def refuse_asymmetric(
    matrix: sp.csr_array,
    pair: tuple[int, int],
    argument: str,
    names: Sequence[Any] | None = None,
) -> InputError:
    """Make the error for an edge whose two directions have different weights."""
    row, column = pair
    there, back = _entry(matrix, row, column), _entry(matrix, column, row)
    remedy = (
        "pass graphsoft.directed_graph(A) if edges have directions, A.maximum(A.T), A.minimum(A.T) or "
        "(A + A.T) / 2 if not, or affinity='features' if rows are points; distances to nearest neighbors "
        "need equally many entries in each row, by rising distance"
    )
    named = (
        "follow the directions with graphsoft.directed_graph(graph) or --directed, "
        "or pass graph.to_undirected()"
    )
    return InputError(
        argument,
        f"is not symmetric: the weight of {_edge(row, column, names)} is {there:.10g}, that of "
        f"{_edge(column, row, names)} is {back:.10g}",
        remedy if names is None else named,
    )


def neighbor_lists(matrix: sp.csr_array) -> tuple[Array, Array] | None:
    """Read distances to nearest neighbors, such as scikit-learn's ``KNeighborsTransformer`` makes.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        With its entries in the order in which they are stored.

    Returns
    -------
    indices, distances : ndarrays of shape (n, k), or None
        Neighbors by rising distance. None unless every row stores the same number of entries, none of them
        negative, with no column twice, and 0 or nothing on the diagonal. The entries of every row must also
        rise, or every row must store its diagonal, so that similarities are not mistaken for distances.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> neighbor_lists(sp.csr_array(([1.0, 1.0, 2.0], [1, 0, 1], [0, 1, 2, 3]), shape=(3, 3)))[0].tolist()
    [[1], [0], [1]]
    """
    count = matrix.shape[0]
    lengths = np.diff(matrix.indptr)
    if lengths[0] == 0 or (lengths != lengths[0]).any() or (matrix.data < 0).any():
        return None
    columns = matrix.indices.reshape(count, lengths[0]).astype(np.int64)
    distances = matrix.data.reshape(count, lengths[0])
    own = columns == np.arange(count)[:, None]
    ordered = np.sort(columns, axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any() or distances[own].any():
        return None
    if not own.any(axis=1).all() and (distances[:, 1:] < distances[:, :-1]).any():
        return None
    kept = lengths[0] - int(own.any())
    apart = np.where(own, np.inf, distances)
    order = np.lexsort((columns, apart), axis=1)[:, :kept]
    return np.take_along_axis(columns, order, axis=1), np.take_along_axis(apart, order, axis=1)


def check_square(matrix: sp.csr_array, argument: str = "X") -> None:
    """Refuse a graph that is not square."""
    if matrix.shape[0] != matrix.shape[1]:
        raise InputError(
            argument,
            f"is a graph of shape {matrix.shape}, which is not square",
            "pass one row and one column for each node, or affinity='features'",
        )


def warn_of_distances(matrix: sp.csr_array) -> None:
    """Warn if weights between nearly all points look like distances.

    Take three points. Of their distances the two largest are usually close to each other, because a point
    that is far from one of two neighbors is far from the other. Of their similarities, the two smallest are.

    Examples
    --------
    >>> warn_of_distances(sp.csr_array(np.ones((30, 30)) - np.eye(30)))
    """
    count = matrix.shape[0]
    if count < 20 or matrix.nnz < 0.9 * count * (count - 1) or matrix.nnz > count * count:
        return
    if matrix.diagonal().max() > 1e-6 * matrix.data.max():
        return
    rows, steps = np.arange(count), range(1, 4)
    apart = [np.asarray(matrix[rows, (rows + step) % count], dtype=np.float64) for step in range(7)]
    sides = [[apart[one], np.roll(apart[two], -one), apart[one + two]] for one in steps for two in steps]
    smallest, middle, largest = np.sort(np.stack(sides), axis=1).transpose(1, 0, 2)
    score = (middle - smallest - (largest - middle)).sum()
    if score > LIKE_DISTANCES * (largest - smallest).sum():
        warn(
            "X looks like distances between all points, but is taken as weights, where larger is nearer; "
            "pass features, or weights such as np.exp(-((X / X.mean()) ** 2))"
        )
