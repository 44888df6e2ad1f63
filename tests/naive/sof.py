"""Slow, dense, obvious copies of soft-cluster factorization; imports nothing from the package.

P (n, n) are the probabilities of pairs, W (n, k) memberships.
"""

import math

import numpy as np


def relative_distances(X, n):
    """Distances over the geometric mean of both points' distances to their n-th neighbors."""
    count = len(X)
    d = [[math.dist(X[i], X[j]) for j in range(count)] for i in range(count)]
    s = [sorted(row)[min(n, count - 1)] for row in d]
    return np.array([[d[i][j] / math.sqrt(s[i] * s[j]) for j in range(count)] for i in range(count)])


def divided(P):
    """P_ij over the roots of the sums of both rows."""
    # one root after the other: the product of two sums could be too small for a float
    root = [math.sqrt(d) for d in P.sum(axis=1)]
    F = np.zeros_like(P)
    for i, j in np.argwhere(P != 0):
        F[i, j] = P[i, j] / root[i] / root[j]
    return F


def divided_by_loops(W):
    n = len(W)
    root = [math.sqrt(W[i, i]) for i in range(n)]
    return np.array([[min(1.0, W[i, j] / root[i] / root[j]) for j in range(n)] for i in range(n)])


def squares(P, W, alpha=1.0):
    """Eq. 3."""
    n = len(P)
    return sum((P[i, j] - alpha * W[i] @ W[j]) ** 2 for i in range(n) for j in range(n))


def best_alpha(P, W):
    M = W @ W.T
    return (P * M).sum() / (M * M).sum()


def penalized(P, W, penalty, unit, alpha=1.0):
    """Eq. 4, with one penalty for both constraints, and the squares in some unit."""
    hinge = -sum(min(0.0, w) for w in W.ravel())
    rows = sum((sum(row) - 1.0) ** 2 for row in W)
    return squares(P, W, alpha) / unit + penalty * (hinge + rows)


def gradient(P, W, penalty, unit, alpha=1.0):
    """Eqs. 5 to 7."""
    n, k = W.shape
    ones = np.ones((n, k))
    fit = 4 * alpha * (alpha * W @ W.T - P) @ W / unit
    return fit - penalty * (W < 0) * ones + 2 * penalty * (W @ np.ones((k, k)) - ones)


def proper(W):
    clipped = np.array([[max(w, 0.0) for w in row] for row in W])
    return np.array(
        [row / row.sum() if row.sum() > 0 else np.full(len(row), 1 / len(row)) for row in clipped]
    )


def nearest_proper(row):
    """The nearest row of memberships."""
    falling = np.sort(row)[::-1]
    held = max(q for q in range(len(row)) if falling[q] > (falling[: q + 1].sum() - 1) / (q + 1))
    return np.maximum(row - (falling[: held + 1].sum() - 1) / (held + 1), 0.0)


def descended(P, W, steps, fitted):
    """Projected gradient steps, each halved until it lowers the squares."""
    alpha = best_alpha(P, W) if fitted else 1.0
    value, length = squares(P, W, alpha), 1.0
    for _ in range(steps):
        slope = 4 * alpha * (alpha * W @ W.T - P) @ W
        while length > 1e-12:
            new = np.array([nearest_proper(row) for row in W - length * slope])
            new_alpha = best_alpha(P, new) if fitted else 1.0
            if squares(P, new, new_alpha) < value:
                W, alpha, value, length = new, new_alpha, squares(P, new, new_alpha), 2 * length
                break
            length /= 2
    return W, value
