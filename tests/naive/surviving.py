"""Slow, obvious copies of relation factorization with a penalty; imports nothing from the package.

W (n, n) are the weights as shares of the whole, and `lam` the masses of the clusters. The columns of H (n, m)
are degrees times memberships over the masses, so they sum to one.
"""

import math

import numpy as np


def regularized(W, H, lam, penalty):
    """sum w log (w / (H L H^T)) + penalty sum log lambda, weights and masses as shares of the whole."""
    M = H @ np.diag(lam) @ H.T
    return (
        sum(W[i, j] * math.log(W[i, j] / M[i, j]) for i, j in np.argwhere(W > 0))
        + penalty * np.log(lam).sum()
    )


def step(W, H, lam, penalty):
    """One step of expectation maximization, entry by entry: expected weights minus the penalty."""
    n, m = H.shape
    M = H @ np.diag(lam) @ H.T
    expected = np.zeros((n, m))
    for i, j in np.argwhere(W > 0):
        for p in range(m):
            expected[i, p] += W[i, j] * H[i, p] * lam[p] * H[j, p] / M[i, j]
    mass = expected.sum(axis=0)
    left = np.maximum(0.0, mass - penalty)
    return expected / mass, left / left.sum()
