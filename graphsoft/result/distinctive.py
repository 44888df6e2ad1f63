"""Features that set clusters apart from the other points: columns of a table, or words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError, shown
from graphsoft.input.dense_input import dense_matrix
from graphsoft.input.sparse_input import sparse_matrix
from graphsoft.parallel import blocks
from graphsoft.result.tables import aligned, shortened

__all__ = ["DIFFERENCES", "RATES", "Distinctive", "Scores", "column_names", "distinctive", "table_of"]

Scores = tuple[tuple[Any, float], ...]

# Word counts are smoothed: a cluster, and the rest, get this part of all occurrences in addition.
SMOOTHING = 0.01
# Numbers of a table that are read at once. At least as many rows as clusters are read, though.
NUMBERS_AT_ONCE = 1 << 20
# A cluster is compared with the rest only if that is a larger part of the points: less is rounding.
MIN_REST = 1e-9
# The standard deviation of a constant column, scaled to at most 1, is below this: it is rounding only.
# Of sparse columns it is computed from squares, which round off more.
MIN_DEVIATION, MIN_SPARSE_DEVIATION = 1e-12, 1e-7
# Scores below this are rounding.
MIN_SCORE = 1e-9

RATES, DIFFERENCES = "how much more often, in standard errors", "difference of means, in standard deviations"


@dataclass(frozen=True, repr=False)
class Distinctive(Sequence[Scores]):
    """For each cluster of a level, the features that set it apart, the most distinctive first.

    Attributes
    ----------
    ids : tuple of str
        Ids of the clusters.
    scores : tuple of tuples of (name, float)
    meaning : str
        What a score measures.
    """

    ids: tuple[str, ...]
    scores: tuple[Scores, ...]
    meaning: str

    @overload
    def __getitem__(self, index: int) -> Scores: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Scores, ...]: ...
    def __getitem__(self, index: int | slice) -> Scores | tuple[Scores, ...]:
        return self.scores[index]

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Distinctive({len(self)} clusters; {self.meaning})"

    def __str__(self) -> str:
        rows = [["cluster", self.meaning]]
        for id, scores in zip(self.ids, self.scores, strict=True):
            rows.append([id, ", ".join(f"{name} {score:+.1f}" for name, score in scores)])
        return "\n".join(shortened(aligned(rows, left=rows[0])))


def distinctive(
    values: Any, memberships: sp.csr_array, count: int, names: Sequence[Any]
) -> tuple[tuple[Scores, ...], str]:
    """Rank the features that set each cluster apart from all other points. Torn points count in part.

    A sparse table without negative entries is taken to hold words. They are ranked by how much more often
    they occur in the cluster than in the rest: the logarithm of the ratio of the two rates, divided by its
    standard error. Each rate is smoothed by a hundredth of all occurrences, and the mean entry counts as one
    word. Only words that are more frequent in the cluster are listed.

    Other features are ranked by the difference of the two means, divided by the standard deviation over all
    points. Features of a sparse table are left out where no point of the cluster has them.

    Returns
    -------
    tuple of tuples of (name, float), str
        At most `count` features for each cluster, and what their scores measure.

    Examples
    --------
    >>> hard = sp.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> scores, _ = distinctive(np.array([[0.0, 5.0], [0.0, 5.0], [3.0, 5.0]]), hard, 5, ["x", "y"])
    >>> [[(name, round(score, 2)) for name, score in each] for each in scores]
    [[('x', -2.12)], [('x', 2.12)]]
    """
    if not sp.issparse(values):
        return _top_scores(_mean_differences(values, memberships), count, names), DIFFERENCES
    if (values.data < 0).any():
        return _top_scores(_sparse_differences(values, memberships), count, names), DIFFERENCES
    return _top_scores(_rate_ratios(values, memberships), count, names), RATES


def table_of(X: Any, points: int) -> Any:
    """Check a table that has one row for each of `points` points."""
    values = sparse_matrix(X) if sp.issparse(X) else dense_matrix(X)
    if values.shape[0] != points:
        raise InputError("X", f"has {values.shape[0]} rows for {points} points", "give one for each point")
    return values


def column_names(names: Any, count: int) -> Sequence[Any]:
    """Check the names of `count` features. If they are None, features are called by their numbers.

    Examples
    --------
    >>> column_names(["a", "b"], 2), column_names(None, 2)
    (['a', 'b'], range(0, 2))
    """
    if names is None:
        return range(count)
    single = not isinstance(names, Iterable) or getattr(names, "ndim", 1) == 0
    if single or isinstance(names, str | bytes | Set):
        raise InputError("names", f"got {shown(names)}", f"give a list of {count} names")
    listed: list[Any] = names.tolist() if hasattr(names, "tolist") else list(names)
    if len(listed) != count:
        raise InputError("names", f"got {len(listed)} names for {count} features", "give one for each")
    return listed


def _mean_differences(values: Array, memberships: sp.csr_array) -> Array:
    """Compute ``(mean in q - mean of the rest) / deviation``, float64 of shape (m, d)."""
    points, features = values.shape
    clusters = memberships.shape[1]
    cuts = blocks(points, max(clusters, NUMBERS_AT_ONCE // features, 1))
    largest = np.max([np.abs(values[slice(*cut)]).max(axis=0) for cut in cuts], axis=0)
    exponents = np.frexp(largest.astype(np.float64))[1]  # so that no square overflows or vanishes

    def part(cut: tuple[int, int]) -> Array:
        return np.asarray(np.ldexp(values[slice(*cut)].astype(np.float64), -exponents))

    mean = sum((part(cut).sum(axis=0) for cut in cuts), np.zeros(features)) / points
    squares, sums = np.zeros(features), np.zeros((clusters, features))
    for cut in cuts:
        centered = part(cut) - mean
        squares += (centered**2).sum(axis=0)
        sums += memberships[slice(*cut)].T @ centered
    deviation: Array = np.sqrt(squares / points)
    deviation[deviation < MIN_DEVIATION] = np.inf
    return np.asarray(sums * _per_point(memberships)[:, None] / deviation)


def _per_point(memberships: sp.csr_array) -> Array:
    """Compute ``1/size + 1/(n - size)``, which turns sums of centered values into differences of means."""
    points = memberships.shape[0]
    sizes = np.asarray(memberships.sum(axis=0)).ravel()
    usual = (sizes > 0) & (points - sizes > MIN_REST * points)
    inverse: Array = np.divide(points, sizes * (points - sizes), out=np.zeros(len(sizes)), where=usual)
    return inverse


def _sparse_differences(values: sp.csr_array, memberships: sp.csr_array) -> sp.csr_array:
    """Compute the same as `_mean_differences`, but only where a point of the cluster has the feature."""
    points = values.shape[0]
    largest = np.asarray(abs(values).max(axis=0).toarray(), dtype=np.float64).ravel()
    exponents = np.frexp(largest)[1]
    scaled = sp.csr_array(
        (np.ldexp(values.data, -exponents[values.indices]), values.indices, values.indptr),
        shape=values.shape,
    )
    mean = np.asarray(scaled.sum(axis=0)).ravel() / points
    squares = np.asarray(scaled.power(2).sum(axis=0)).ravel() / points
    deviation = np.sqrt(np.maximum(squares - mean**2, 0.0))
    deviation[deviation < MIN_SPARSE_DEVIATION] = np.inf
    sums = sp.csr_array(memberships.T @ scaled)
    rows = np.repeat(np.arange(sums.shape[0]), np.diff(sums.indptr))
    sizes = np.asarray(memberships.sum(axis=0)).ravel()
    around = sums.data - sizes[rows] * mean[sums.indices]
    scores = around * _per_point(memberships)[rows] / deviation[sums.indices]
    return sp.csr_array((scores, sums.indices, sums.indptr), shape=sums.shape)


def _rate_ratios(values: sp.csr_array, memberships: sp.csr_array) -> sp.csr_array:
    """Compute by how many standard errors the log rate of a word is higher in a cluster than in the rest."""
    held = sp.csr_array(memberships.T @ _with_mean_one(values))
    rows = np.repeat(np.arange(held.shape[0]), np.diff(held.indptr))
    words = np.asarray(held.sum(axis=0)).ravel()
    within = np.bincount(rows, held.data, held.shape[0])[rows]
    everything = words.sum()
    total = words[held.indices]
    one = held.data + SMOOTHING * total
    other = np.maximum(total - held.data, 0.0) + SMOOTHING * total
    outside = np.maximum(everything - within, 0.0) + SMOOTHING * everything
    ratio = np.log(one / other) - np.log((within + SMOOTHING * everything) / outside)
    scores = np.maximum(ratio, 0.0) / np.sqrt(1.0 / one + 1.0 / other)
    return sp.csr_array((scores, held.indices, held.indptr), shape=held.shape)


def _with_mean_one(values: sp.csr_array) -> sp.csr_array:
    """Divide by the mean entry, so that the unit does not matter where entries are not counts."""
    if not values.nnz:
        return values
    data = values.data / values.data.max()
    return sp.csr_array((data / data.mean(), values.indices, values.indptr), shape=values.shape)


def _top_scores(scores: Any, count: int, names: Sequence[Any]) -> tuple[Scores, ...]:
    """List for every row the names and values of its scores with the largest absolute values."""
    listed = []
    for cluster in range(scores.shape[0]):
        if sp.issparse(scores):
            span = slice(scores.indptr[cluster], scores.indptr[cluster + 1])
            columns, row = scores.indices[span], scores.data[span]
        else:
            columns, row = np.arange(scores.shape[1]), scores[cluster]
        best = np.lexsort((columns, -np.abs(row)))[:count]
        best = best[np.abs(row[best]) > MIN_SCORE]
        listed.append(tuple((names[columns[place]], float(row[place])) for place in best))
    return tuple(listed)
