"""Slow, dense copies of what is done with directed and with bipartite graphs; nothing from the package."""

import numpy as np


def visits(A, teleport):
    """How often the walk is at each node: its linear equations, solved; all together the weight of A."""
    s, n = A.sum(axis=1), len(A)
    landing = s / s.sum()
    P = np.array([A[i] / s[i] if s[i] > 0 else landing for i in range(n)])
    T = (1 - teleport) * P + teleport * np.outer(np.ones(n), landing)
    # pi T = pi and sum pi = 1; one equation too many, solved by least squares
    equations = np.vstack([T.T - np.eye(n), np.ones(n)])
    pi = np.linalg.lstsq(equations, np.append(np.zeros(n), 1.0), rcond=None)[0]
    return pi * s.sum()


def flow(A, teleport):
    """How often the walk is seen on each edge, in either direction."""
    s, pi = A.sum(axis=1), visits(A, teleport)
    F = np.array([pi[i] * A[i] / s[i] if s[i] > 0 else 0 * A[i] for i in range(len(A))])
    return (F + F.T) / 2


def aspect_step(A, p, R, C):
    """One step of the aspect model's expectation maximization.

    p(q) of shape (m,), R with p(row | q) of shape (r, m), C with p(column | q) of shape (c, m).
    """
    joint = p * R[:, None, :] * C[None, :, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        given = np.nan_to_num(joint / joint.sum(axis=2, keepdims=True))
    counts = A[:, :, None] * given
    mass = counts.sum(axis=(0, 1))
    return mass / mass.sum(), counts.sum(axis=1) / mass, counts.sum(axis=0) / mass


def aspect_log_likelihood(A, p, R, C):
    """Sum of A log p(row, column)."""
    model = np.einsum("q,iq,jq->ij", p, R, C)
    return float((A[A > 0] * np.log(model[A > 0])).sum())


def aspect_of(memberships, degrees, rows):
    """The aspect model of memberships of a bipartite graph's nodes: p(q), p(row | q), p(column | q)."""
    B = degrees[:, None] * memberships
    R, C = B[:rows], B[rows:]
    return R.sum(axis=0) / R.sum(), R / R.sum(axis=0), C / C.sum(axis=0)
