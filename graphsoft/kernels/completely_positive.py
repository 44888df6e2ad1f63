"""Loops of the completely positive factorization, of affinities among pairs or among more points.

A node's neighbors are lists of the ``order - 1`` other points of each of its tuples; for pairs these are the
column indices of a sparse matrix, one in each list. ``factor`` (n, k) holds a row for each point, ``others``
(entries, order - 1) the lists, and ``energy`` stands for ``1/2 sum (F - model)^2`` over ordered tuples of
distinct points.
"""

from __future__ import annotations

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["agreements", "sweep", "sweep_stored", "symmetric_sums"]

# A sum from which a row was subtracted is computed again if less than this share of it is left. Errors grow
# from one degree to the next, so for sums up to degree m the share is the m-th root of this.
MIN_LEFT = 1e-3


@kernel
def _pull(
    indptr: Array, others: Array, affinities: Array, factor: Array, s: int, product: Array, pull: Array
) -> None:
    """Add up what raises the entries of row `s`, ``pull[0, r] = sum F_sU prod_{i in U} g_ir``.

    Negative affinities are added up apart, without their sign, into ``pull[1]``.
    """
    pull[:] = 0.0
    for at in range(indptr[s], indptr[s + 1]):
        product[:] = abs(affinities[at])
        for m in range(others.shape[1]):
            i = others[at, m]
            for r in range(factor.shape[1]):
                product[r] *= factor[i, r]
        side = 1 if affinities[at] < 0 else 0
        for r in range(factor.shape[1]):
            pull[side, r] += product[r]


@kernel
def agreements(
    indptr: Array, others: Array, affinities: Array, factor: Array, start: int, stop: int, result: Array
) -> None:
    """Add up affinity times model over the entries of the rows ``start:stop``, into ``result[row, 0]``.

    Entries below zero are added up apart, without their sign, into ``result[row, 1]``; the squares of the
    model go into ``result[row, 2]``.
    """
    count = factor.shape[1]
    for s in range(start, stop):
        result[s, :] = 0.0
        for at in range(indptr[s], indptr[s + 1]):
            model = 0.0
            for r in range(count):
                product = factor[s, r]
                for m in range(others.shape[1]):
                    product *= factor[others[at, m], r]
                model += product
            side = 1 if affinities[at] < 0 else 0
            result[s, side] += abs(affinities[at]) * model
            result[s, 2] += model**2


@kernel
def _put(row: Array, sums: Array) -> None:
    """Let elementary symmetric polynomials count one more point."""
    for m in range(sums.shape[0] - 1, 0, -1):
        for j in range(row.shape[0]):
            for r in range(row.shape[0]):
                sums[m, j, r] += row[j] * row[r] * sums[m - 1, j, r]


@kernel
def symmetric_sums(factor: Array, start: int, stop: int, sums: Array) -> None:
    """Add the rows ``start:stop`` to sums of products over sets of distinct points.

    ``sums[m, j, r]`` is the elementary symmetric polynomial of degree m of the ``a_i = g_ij g_ir``; of no
    points it is 1 for m = 0, and 0 else. ``sums[1]`` is ``G^T G``.
    """
    for i in range(start, stop):
        _put(factor[i], sums)


@kernel
def _take(factor: Array, s: int, mu: Array, totals: Array, sums: Array, highest: Array) -> None:
    """Subtract point `s` from the sums.

    A subtraction leaves rounding errors as large as those of the sum before it. If little is left of a
    column's sum of any degree, next to the highest since it was computed, the column is computed again. That
    is rare: few points can hold almost all of a column.
    """
    count, top = factor.shape[1], sums.shape[0] - 1
    row, min_left = factor[s], MIN_LEFT ** (1.0 / top)
    for m in range(1, top + 1):
        for j in range(count):
            for r in range(count):
                sums[m, j, r] = max(sums[m, j, r] - row[j] * row[r] * sums[m - 1, j, r], 0.0)
    for r in range(count):
        if mu.shape[0]:
            totals[0, r] -= row[r]
            totals[1, r] -= mu[s] * row[r]
        for m in range(1, top + 1):
            if sums[m, r, r] < min_left * highest[m, r]:
                _add_again(factor, s, r, mu, totals, sums)
                highest[:, r] = sums[:, r, r]
                break


@kernel
def _add_again(factor: Array, s: int, r: int, mu: Array, totals: Array, sums: Array) -> None:
    """Add up what concerns the column `r`, over all points but `s`."""
    points, count = factor.shape
    top = sums.shape[0] - 1
    for m in range(1, top + 1):
        sums[m, :, r] = 0.0
    totals[:, r] = 0.0
    for i in range(points):
        if i == s:
            continue
        for m in range(top, 0, -1):
            for j in range(count):
                sums[m, j, r] += factor[i, j] * factor[i, r] * sums[m - 1, j, r]
        if mu.shape[0]:
            totals[0, r] += factor[i, r]
            totals[1, r] += mu[i] * factor[i, r]
    for m in range(1, top + 1):
        for j in range(count):
            sums[m, r, j] = sums[m, j, r]


@kernel
def sweep(
    indptr: Array,
    others: Array,
    affinities: Array,
    mu: Array,
    factor: Array,
    totals: Array,
    sums: Array,
    highest: Array,
    start: int,
    stop: int,
    falls: Array,
) -> None:
    """Update the rows ``start:stop``, entry by entry, where tuples that are not stored count as zeros.

    An entry is multiplied by what pulls at it and divided by what the model gives; what pulls with a negative
    sign goes into the divisor. Either way the step is at most the inverse second derivative, so the energy
    falls.

    Parameters
    ----------
    mu : ndarray of shape (n,) or (0,)
        For pairs: the affinities are those stored plus ``mu_i + mu_j``.
    totals : ndarray of shape (2, k)
        Column sums of the factor, plain and weighted by `mu`; kept up to date.
    sums : ndarray of shape (order, k, k)
        As of `symmetric_sums`; kept up to date.
    highest : ndarray of shape (order, k)
        The highest ``sums[m, r, r]`` since column r was last computed; kept up to date.
    falls : ndarray of shape (n,)
        By how much the energy falls, up to the factor order! / 2.
    """
    count, top = factor.shape[1], sums.shape[0] - 1
    product, pull = np.empty(count), np.empty((2, count))
    for s in range(start, stop):
        row = factor[s]
        _pull(indptr, others, affinities, factor, s, product, pull)
        _take(factor, s, mu, totals, sums, highest)
        if mu.shape[0]:  # all affinities are at least 0 together with mu, so nothing is added up apart
            for r in range(count):
                plus = mu[s] * totals[0, r] + totals[1, r]
                pull[0, r], pull[1, r] = max(pull[0, r] - pull[1, r] + plus, 0.0), 0.0
        falls[s] = 0.0
        for r in range(count):
            model = pull[1, r]
            for j in range(count):
                model += row[j] * sums[top, j, r]
            if row[r] > 0 and model > 0:
                ratio, old = pull[0, r] / model, row[r]
                row[r] = old * ratio
                falls[s] += old * (ratio - 1.0) ** 2 * (2.0 * model - old * sums[top, r, r])
        _put(row, sums)
        for r in range(count):
            for m in range(1, top + 1):
                highest[m, r] = max(highest[m, r], sums[m, r, r])
            if mu.shape[0]:
                totals[0, r] += row[r]
                totals[1, r] += mu[s] * row[r]


@kernel
def sweep_stored(
    indptr: Array, others: Array, affinities: Array, factor: Array, start: int, stop: int, falls: Array
) -> None:
    """Update the rows ``start:stop`` as `sweep` does, where tuples that are not stored are unknown."""
    count, longest = factor.shape[1], 0
    for s in range(start, stop):
        longest = max(longest, indptr[s + 1] - indptr[s])
    products, model = np.empty((longest, count)), np.empty(longest)
    for s in range(start, stop):
        row, first = factor[s], indptr[s]
        stored = indptr[s + 1] - first
        for at in range(stored):
            model[at] = 0.0
            for r in range(count):
                product = 1.0
                for m in range(others.shape[1]):
                    product *= factor[others[first + at, m], r]
                products[at, r] = product
                model[at] += row[r] * product
        falls[s] = 0.0
        for r in range(count):
            pull, modeled, square = 0.0, 0.0, 0.0
            for at in range(stored):
                # what is below zero goes into the divisor, so that entries stay positive
                pull += max(affinities[first + at], 0.0) * products[at, r]
                modeled += (model[at] - min(affinities[first + at], 0.0)) * products[at, r]
                square += products[at, r] ** 2
            if row[r] > 0 and modeled > 0:
                ratio, old = pull / modeled, row[r]
                row[r] = old * ratio
                falls[s] += old * (ratio - 1.0) ** 2 * (2.0 * modeled - old * square)
                for at in range(stored):
                    model[at] += (row[r] - old) * products[at, r]
