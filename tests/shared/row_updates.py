"""Completely positive factorization row by row: the compiled loops against slow updates."""

import math

import numpy as np

from graphsoft.kernels.completely_positive import Sums, sweep, sweep_stored, symmetric_sums


def by_rows(target, G, known_only):
    """The factor after each row, as the compiled loops update it, and by how much the energy fell."""
    G, order = G.copy(), target.order
    polynomials = np.zeros((order, G.shape[1], G.shape[1]))
    polynomials[0] = 1
    symmetric_sums(G, 0, len(G), polynomials)
    mu = target.mu if len(target.mu) else np.zeros(len(G))
    totals = np.array([G.sum(axis=0), mu @ G])
    sums = Sums(polynomials, polynomials.diagonal(axis1=1, axis2=2).copy(), totals)
    for s in range(len(G)):
        falls = np.zeros(len(G))
        if known_only:
            sweep_stored(target.tuples, G, s, s + 1, falls)
        else:
            sweep(target.tuples, target.mu, G, sums, s, s + 1, falls)
        yield G.copy(), 0.5 * math.factorial(order) * falls.sum()


def compare(steps, rows, energy, scale):
    """Compare updates row by row with the slow updates entry by entry."""
    steps, rows = list(steps), list(rows)
    k = rows[0][0].shape[1]
    energies = np.array([energy, *(value for _, value in steps)])
    assert (np.diff(energies) <= 1e-12 * (scale + energies[:-1])).all()  # at every single update
    for s, (G, fall) in enumerate(rows):
        slow, after = steps[(s + 1) * k - 1]
        np.testing.assert_allclose(G, slow, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(fall, energies[s * k] - after, atol=1e-9 * (scale + energy))
        assert fall >= 0
