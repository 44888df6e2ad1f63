"""Dense, slow, obvious copies of learning from few labels; imports nothing from the package.

A of shape (n, n) is the symmetric adjacency of a walk. y holds the class of each point, 0 to k - 1, or -1.
"""

import numpy as np


def together(A):
    """Whether two points are in the same connected component."""
    reach = np.eye(len(A)) + A > 0
    for _ in A:
        reach = reach @ reach
    return reach


def starts(W, y):
    """Y: in each component of W, the labeled points of a class have equal entries in its column, of sum 1."""
    Y, near = np.zeros((len(y), max(y) + 1)), together(W)
    for i, c in enumerate(y):
        if c != -1:
            Y[i, c] = 1 / sum(near[i, j] and other == c for j, other in enumerate(y))
    return Y


def visits(A, Y, stop):
    """How often walks visit each point, divided by its degree: the solution of (D - a A) F = Y."""
    d = A.sum(axis=1)
    F, on = np.zeros_like(Y), d > 0
    F[on] = np.linalg.solve((np.diag(d) - (1 - stop) * A)[np.ix_(on, on)], Y[on])
    return F


def visits_step_by_step(A, Y, stop):
    """The same, following the walk step by step until it has almost certainly stopped."""
    d = A.sum(axis=1)
    on = d > 0
    step = A[np.ix_(on, on)] / d[on, None]
    at, total = Y[on], np.zeros_like(Y[on])
    left = 1.0
    while left > 1e-17:
        total += left * at
        at = step.T @ at  # from j to i
        left *= 1 - stop
    F = np.zeros_like(Y)
    F[on] = total / d[on, None]
    return F


def reached(A, y):
    """Points that walks from labeled points reach."""
    found = np.array([c != -1 for c in y]) & (A.sum(axis=1) > 0)
    for _ in range(len(A)):
        found = found | (A[found] > 0).any(axis=0)
    return found


def probabilities(W, y, stop, A=None):
    """Shares of the classes in visits, or their frequencies where no walk comes; labels are kept."""
    A = W if A is None else A
    F, come = visits(A, starts(W, y), stop), reached(A, y)
    frequencies = np.array([list(y).count(c) for c in range(max(y) + 1)]) / sum(c != -1 for c in y)
    P = np.zeros_like(F)
    for i, c in enumerate(y):
        if c != -1:
            P[i, c] = 1
        else:
            P[i] = F[i] / F[i].sum() if come[i] else frequencies
    return P
