"""How much each feature sets a cluster apart, by one of three statistics.

- ``"rates"``, for counts of words: the logarithm of the ratio of two rates, in the cluster and in the rest,
  divided by its standard error. Each rate is smoothed by a hundredth of all occurrences, and the mean entry
  counts as one word. Words that are not more frequent in the cluster score 0.
- ``"c-tf-idf"``, for the same: the part of the cluster's words, times ``log(1 + A / f)``, where f is how
  often the word comes in all clusters, and A how many words a cluster has on average.
- ``"difference"``, for measurements: the difference of the two means, in the cluster and in the rest, divided
  by the standard deviation over all points.

Torn points count in part. What a table holds decides, never how it is stored: a sparse and a dense one have
the same scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphsoft.aliases import Array
from graphsoft.errors import InputError
from graphsoft.input.checks import choice
from graphsoft.parallel import blocks

__all__ = ["C_TF_IDF", "DIFFERENCE", "MEANINGS", "best_features", "statistic_for"]

AUTO, RATES, C_TF_IDF, DIFFERENCE = "auto", "rates", "c-tf-idf", "difference"
MEANINGS = {
    RATES: "how much more often, in standard errors",
    C_TF_IDF: "c-TF-IDF",
    DIFFERENCE: "difference of means, in standard deviations",
}

# Word counts are smoothed: a cluster, and the rest, get this part of all occurrences in addition.
SMOOTHING = 0.01
# Numbers of a dense table that are read at once. At least as many rows as clusters are read, though.
NUMBERS_AT_ONCE = 1 << 20
# A cluster is compared with the rest only if that is a larger part of the points: less is rounding.
MIN_REST = 1e-9
# The standard deviation of a constant column, scaled to at most 1, is below this: it is rounding only.
# Of sparse columns it is computed from squares, which round off more.
MIN_DEVIATION, MIN_SPARSE_DEVIATION = 1e-12, 1e-7
# Scores below this are rounding.
MIN_SCORE = 1e-9

Best = list[tuple[int, float]]


def statistic_for(values: Any, asked: str) -> str:
    """Check the statistic that is asked for. ``"auto"`` is rates if most entries are 0 and none is negative.

    Examples
    --------
    >>> statistic_for(np.array([[0, 0, 7], [1, 0, 0]]), "auto"), statistic_for(np.array([[1.5, 2.5]]), "auto")
    ('rates', 'difference')
    """
    choice("statistic", asked, (AUTO, *MEANINGS))
    if asked == DIFFERENCE:
        return asked
    filled = 0
    for _, part in _parts(values, 1):
        if (part.data < 0).any():
            if asked == AUTO:
                return DIFFERENCE
            raise InputError("statistic", f"got {asked!r}, but X has negative entries", f"use {DIFFERENCE!r}")
        filled += int(np.count_nonzero(part.data))
    mostly_zero = 2 * filled < values.shape[0] * values.shape[1]
    return asked if asked != AUTO else RATES if mostly_zero else DIFFERENCE


def best_features(values: Any, memberships: sp.csr_array, statistic: str, count: int) -> list[Best]:
    """List for every cluster the features with the largest absolute scores: column and score.

    Examples
    --------
    >>> hard = sp.csr_array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> found = best_features(np.array([[0.0, 5.0], [0.0, 5.0], [3.0, 5.0]]), hard, "difference", 5)
    >>> [[(column, round(score, 2)) for column, score in each] for each in found]
    [[(0, -2.12)], [(0, 2.12)]]
    """
    if statistic == DIFFERENCE:
        differences = _sparse_differences if sp.issparse(values) else _dense_differences
        columns = np.arange(values.shape[1])
        return [_best(columns, scores, count) for scores in differences(values, memberships)]
    held = _occurrences(values, memberships)
    scores = _rate_ratios(held) if statistic == RATES else _class_tf_idf(held)
    spans = [slice(*span) for span in zip(held.indptr[:-1], held.indptr[1:], strict=True)]
    return [_best(held.indices[span], scores[span], count) for span in spans]


def _best(columns: Array, scores: Array, count: int) -> Best:
    """List the columns with the largest absolute scores; of equal ones first those above 0."""
    sizes = np.abs(scores).astype(np.float32)  # between two clusters many are equal but for rounding
    least = np.partition(sizes, -count)[-count] if len(sizes) > count else 0.0
    some = np.flatnonzero((sizes >= least) & (sizes > MIN_SCORE))
    best = some[np.lexsort((columns[some], scores[some] < 0, -sizes[some]))[:count]]
    return list(zip(columns[best].tolist(), scores[best].tolist(), strict=True))


def _parts(values: Any, clusters: int) -> Iterator[tuple[slice, sp.csr_array]]:
    """Iterate over a table in sparse blocks of rows; a sparse table is one block."""
    if sp.issparse(values):
        yield slice(None), values
        return
    for cut in blocks(values.shape[0], max(clusters, NUMBERS_AT_ONCE // values.shape[1], 1)):
        yield slice(*cut), sp.csr_array(values[slice(*cut)])


def _occurrences(values: Any, memberships: sp.csr_array) -> sp.csr_array:
    """Compute how often a cluster has a word. The mean entry counts as one, so the unit does not matter."""
    clusters = memberships.shape[1]
    held, total, entries = sp.csr_array((clusters, values.shape[1])), 0.0, 0
    largest = max((float(part.data.max(initial=0.0)) for _, part in _parts(values, clusters)), default=0.0)
    for rows, part in _parts(values, clusters):
        scaled = part.astype(np.float64) / (largest or 1.0)
        held = held + memberships[rows].T @ scaled
        total, entries = total + float(scaled.data.sum()), entries + int(np.count_nonzero(scaled.data))
    held = sp.csr_array(held * (entries / total if total > 0 else 1.0))
    held.eliminate_zeros()
    return held


def _rate_ratios(held: sp.csr_array) -> Array:
    """Compute by how many standard errors the log rate of a word is higher in a cluster than in the rest."""
    words, within, everything = _sums(held)
    total = words[held.indices]
    one = held.data + SMOOTHING * total
    other = np.maximum(total - held.data, 0.0) + SMOOTHING * total
    outside = np.maximum(everything - within, 0.0) + SMOOTHING * everything
    ratio = np.log(one / other) - np.log((within + SMOOTHING * everything) / outside)
    scores: Array = np.maximum(ratio, 0.0) / np.sqrt(1.0 / one + 1.0 / other)
    return scores


def _class_tf_idf(held: sp.csr_array) -> Array:
    """Compute the part of a word in a cluster, times how rare it is in all clusters."""
    words, within, everything = _sums(held)
    scores: Array = held.data / within * np.log1p(everything / held.shape[0] / words[held.indices])
    return scores


def _sums(held: sp.csr_array) -> tuple[Array, Array, float]:
    """Sum occurrences by word, by cluster for each entry, and all."""
    words = np.asarray(held.sum(axis=0)).ravel()
    within = np.repeat(np.asarray(held.sum(axis=1)).ravel(), np.diff(held.indptr))
    return words, within, float(words.sum())


def _dense_differences(values: Array, memberships: sp.csr_array) -> Iterator[Array]:
    """Compute ``(mean in q - mean of the rest) / deviation`` of every column, cluster by cluster."""
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
    for row, per_point in zip(sums, _per_point(memberships), strict=True):
        yield row * per_point / deviation


def _sparse_differences(values: sp.csr_array, memberships: sp.csr_array) -> Iterator[Array]:
    """Compute the same of a sparse table, which is never made dense as a whole."""
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
    sizes = np.asarray(memberships.sum(axis=0)).ravel()
    for cluster, per_point in enumerate(_per_point(memberships)):
        row = -sizes[cluster] * mean
        span = slice(sums.indptr[cluster], sums.indptr[cluster + 1])
        row[sums.indices[span]] += sums.data[span]
        yield row * per_point / deviation


def _per_point(memberships: sp.csr_array) -> Array:
    """Compute ``1/size + 1/(n - size)``, which turns sums of centered values into differences of means."""
    points = memberships.shape[0]
    sizes = np.asarray(memberships.sum(axis=0)).ravel()
    usual = (sizes > 0) & (points - sizes > MIN_REST * points)
    inverse: Array = np.divide(points, sizes * (points - sizes), out=np.zeros(len(sizes)), where=usual)
    return inverse
