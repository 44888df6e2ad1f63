"""Loops of the completely positive factorization, of affinities among pairs or among more points.

``factor`` (n, k) has a row for each point. The energy is ``1/2 sum (F - model)^2`` over ordered tuples of
distinct points, where the model of a tuple is ``sum_r prod_i g_ir`` over its points i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphsoft.aliases import Array
from graphsoft.kernels import kernel

__all__ = ["Sums", "Tuples", "agreements", "sweep", "sweep_stored", "symmetric_sums"]

# A sum from which a row was subtracted is computed again if less than this share of it is left. Errors grow
# from one degree to the next, so for sums up to degree m the share is the m-th root of this.
MIN_LEFT = 1e-3


class Tuples(NamedTuple):
    """Tuples of points, each listed at all of its points; ``ptr`` says where those of a point begin.

    ``others`` (entries, order - 1) are the other points of the tuple. For pairs these are the column indices
    of a sparse matrix, in one column.
    """

    ptr: Array
    others: Array
    affinities: Array


class Sums(NamedTuple):
    """Sums over all points that stay up to date while single rows of the factor change.

    ``polynomials`` (order, k, k) are those of `symmetric_sums`, and ``highest`` (order, k) the highest
    ``polynomials[m, r, r]`` since column r was last computed. ``totals`` (2, k) are the column sums of the
    factor, plain and weighted by `mu`.
    """

    polynomials: Array
    highest: Array
    totals: Array


@kernel
def _pull(tuples: Tuples, factor: Array, s: int, product: Array, pull: Array) -> None:
    """Add up what raises the entries of row `s`, ``pull[0, r] = sum F_sU prod_{i in U} g_ir``.

    Negative affinities are added up separately, without their sign, in ``pull[1]``.
    """
    others = tuples.others
    for r in range(factor.shape[1]):
        pull[0, r], pull[1, r] = 0.0, 0.0
    for at in range(tuples.ptr[s], tuples.ptr[s + 1]):
        for r in range(factor.shape[1]):
            product[r] = abs(tuples.affinities[at])
        for m in range(others.shape[1]):
            i = others[at, m]
            for r in range(factor.shape[1]):
                product[r] *= factor[i, r]
        sign = 1 if tuples.affinities[at] < 0 else 0
        for r in range(factor.shape[1]):
            pull[sign, r] += product[r]


@kernel
def agreements(tuples: Tuples, factor: Array, start: int, stop: int, result: Array) -> None:
    """Add up affinity times model over the entries of the rows ``start:stop``, in ``result[row, 0]``.

    Negative affinities are added up separately, without their sign, in ``result[row, 1]``, and the squares of
    the model in ``result[row, 2]``.
    """
    others = tuples.others
    for s in range(start, stop):
        result[s, :] = 0.0
        for at in range(tuples.ptr[s], tuples.ptr[s + 1]):
            model = 0.0
            for r in range(factor.shape[1]):
                product = factor[s, r]
                for m in range(others.shape[1]):
                    product *= factor[others[at, m], r]
                model += product
            sign = 1 if tuples.affinities[at] < 0 else 0
            result[s, sign] += abs(tuples.affinities[at]) * model
            result[s, 2] += model**2


@kernel
def _add(row: Array, polynomials: Array) -> None:
    """Add one point to elementary symmetric polynomials."""
    for m in range(polynomials.shape[0] - 1, 0, -1):
        for j in range(row.shape[0]):
            for r in range(row.shape[0]):
                polynomials[m, j, r] += row[j] * row[r] * polynomials[m - 1, j, r]


@kernel
def symmetric_sums(factor: Array, start: int, stop: int, polynomials: Array) -> None:
    """Add the points ``start:stop`` to sums of products over sets of distinct points.

    ``polynomials[m, j, r]`` is the elementary symmetric polynomial of degree m of the ``a_i = g_ij g_ir``.
    Without any points it is 1 for m = 0, and 0 for the others. ``polynomials[1]`` is ``G^T G``.
    """
    for i in range(start, stop):
        _add(factor[i], polynomials)


@kernel
def _subtract(factor: Array, s: int, mu: Array, sums: Sums) -> None:
    """Subtract point `s` from the sums.

    A subtraction leaves rounding errors as large as those of the sum before it. If little is left of a
    column's sum of any degree, next to the highest since it was computed, the column is computed again. That
    is rare: few points can hold almost all of a column.
    """
    polynomials, highest = sums.polynomials, sums.highest
    count, top = factor.shape[1], polynomials.shape[0] - 1
    row, min_left = factor[s], MIN_LEFT ** (1.0 / top)
    for m in range(1, top + 1):
        for j in range(count):
            for r in range(count):
                less = polynomials[m, j, r] - row[j] * row[r] * polynomials[m - 1, j, r]
                polynomials[m, j, r] = max(less, 0.0)
    for r in range(count):
        if mu.shape[0]:
            sums.totals[0, r] -= row[r]
            sums.totals[1, r] -= mu[s] * row[r]
        for m in range(1, top + 1):
            if polynomials[m, r, r] < min_left * highest[m, r]:
                _compute_again(factor, s, r, mu, sums)
                break


@kernel
def _compute_again(factor: Array, s: int, r: int, mu: Array, sums: Sums) -> None:
    """Compute all sums that concern the column `r`, over all points but `s`."""
    polynomials, totals = sums.polynomials, sums.totals
    points, count = factor.shape
    top = polynomials.shape[0] - 1
    for m in range(1, top + 1):  # element by element: slices take the compiler seconds
        for j in range(count):
            polynomials[m, j, r] = 0.0
    totals[0, r], totals[1, r] = 0.0, 0.0
    for i in range(points):
        if i == s:
            continue
        for m in range(top, 0, -1):
            for j in range(count):
                polynomials[m, j, r] += factor[i, j] * factor[i, r] * polynomials[m - 1, j, r]
        if mu.shape[0]:
            totals[0, r] += factor[i, r]
            totals[1, r] += mu[i] * factor[i, r]
    for m in range(1, top + 1):
        sums.highest[m, r] = polynomials[m, r, r]
        for j in range(count):
            polynomials[m, r, j] = polynomials[m, j, r]


@kernel
def sweep(tuples: Tuples, mu: Array, factor: Array, sums: Sums, start: int, stop: int, falls: Array) -> None:
    """Update the rows ``start:stop``, entry by entry, where tuples that are not stored count as zeros.

    An entry is multiplied by its pull and divided by what the model gives. A negative pull is added to the
    divisor instead. Either way the step is at most the inverse second derivative, so the energy falls.

    Parameters
    ----------
    mu : ndarray of shape (n,) or (0,)
        For pairs: the affinities are those stored plus ``mu_i + mu_j``.
    sums : Sums
        Of the factor as it is now; kept up to date.
    falls : ndarray of shape (n,)
        By how much the energy falls, up to the factor order! / 2.
    """
    polynomials, highest, totals = sums.polynomials, sums.highest, sums.totals
    count, top = factor.shape[1], polynomials.shape[0] - 1
    product, pull = np.empty(count), np.empty((2, count))
    for s in range(start, stop):
        row = factor[s]
        _pull(tuples, factor, s, product, pull)
        _subtract(factor, s, mu, sums)
        if mu.shape[0]:  # together with mu no affinity is negative, so nothing is added to the divisor
            for r in range(count):
                plus = mu[s] * totals[0, r] + totals[1, r]
                pull[0, r], pull[1, r] = max(pull[0, r] - pull[1, r] + plus, 0.0), 0.0
        falls[s] = 0.0
        for r in range(count):
            model = pull[1, r]
            for j in range(count):
                model += row[j] * polynomials[top, j, r]
            if row[r] > 0 and model > 0:
                ratio, old = pull[0, r] / model, row[r]
                row[r] = old * ratio
                falls[s] += old * (ratio - 1.0) ** 2 * (2.0 * model - old * polynomials[top, r, r])
        _add(row, polynomials)
        for r in range(count):
            for m in range(1, top + 1):
                highest[m, r] = max(highest[m, r], polynomials[m, r, r])
            if mu.shape[0]:
                totals[0, r] += row[r]
                totals[1, r] += mu[s] * row[r]


@kernel
def sweep_stored(tuples: Tuples, factor: Array, start: int, stop: int, falls: Array) -> None:
    """Update the rows ``start:stop`` like `sweep`, where tuples that are not stored are unknown."""
    ptr, others, affinities = tuples.ptr, tuples.others, tuples.affinities
    count, longest = factor.shape[1], 0
    for s in range(start, stop):
        longest = max(longest, ptr[s + 1] - ptr[s])
    products, model = np.empty((longest, count)), np.empty(longest)
    for s in range(start, stop):
        row, first = factor[s], ptr[s]
        stored = ptr[s + 1] - first
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
                # a negative affinity is added to the divisor, so that entries stay positive
                pull += max(affinities[first + at], 0.0) * products[at, r]
                modeled += (model[at] - min(affinities[first + at], 0.0)) * products[at, r]
                square += products[at, r] ** 2
            if row[r] > 0 and modeled > 0:
                ratio, old = pull / modeled, row[r]
                row[r] = old * ratio
                falls[s] += old * (ratio - 1.0) ** 2 * (2.0 * modeled - old * square)
                for at in range(stored):
                    model[at] += (row[r] - old) * products[at, r]
