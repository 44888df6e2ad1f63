"""Slow, obvious copies of the Baum-Eagon method; imports nothing from the package.

W (n, n) is a symmetric graph, loops included; S (n, k) memberships, the transpose of the paper's Y.
"""

import itertools
from collections import Counter

import numpy as np


def objective(W, S, alpha):
    """Eq. 3."""
    n = len(W)
    return sum((W[i, j] - alpha * S[i] @ S[j]) ** 2 for i in range(n) for j in range(n))


def best_alpha(W, S):
    """Eq. 8."""
    n = len(W)
    model = [[S[i] @ S[j] for j in range(n)] for i in range(n)]
    return sum(W[i, j] * model[i][j] for i in range(n) for j in range(n)) / np.square(model).sum()


def unexplained(W, S):
    """The share of the squares of W that the best multiple of S S^T does not explain."""
    return objective(W, S, best_alpha(W, S)) / (W**2).sum()


def to_maximize(W, S, alpha):
    """Eq. 6, with all sums written out."""
    Y, E = S.T, np.ones((S.shape[1], S.shape[1]))
    squares = ((Y.T @ E @ Y) ** 2).sum() - ((Y.T @ Y) ** 2).sum()
    return 2 * np.trace(W @ Y.T @ Y) + alpha * squares


def polynomial(W, k, alpha, constant=1.0):
    """Eq. 6 as coefficients of monomials, which are sorted tuples of variables (i, q).

    `constant` is how much of ``||Y^T E Y||^2`` is added.
    """
    n = len(W)
    terms = Counter()
    for i, j in itertools.product(range(n), repeat=2):
        for q in range(k):
            terms[tuple(sorted([(i, q), (j, q)]))] += 2 * W[i, j]
        for q, r in itertools.product(range(k), repeat=2):
            terms[tuple(sorted([(i, q), (j, q), (i, r), (j, r)]))] -= alpha
        for q, r, s, t in itertools.product(range(k), repeat=4):
            terms[tuple(sorted([(i, q), (i, r), (j, s), (j, t)]))] += constant * alpha
    return terms


def value(terms, S):
    return sum(factor * np.prod([S[at] for at in monomial]) for monomial, factor in terms.items())


def derivative(terms, S):
    result = np.zeros_like(S)
    for monomial, factor in terms.items():
        for place, at in enumerate(monomial):
            rest = monomial[:place] + monomial[place + 1 :]
            result[at] += factor * np.prod([S[other] for other in rest])
    return result


def step_of_theorem(terms, S):
    """Eq. 5, for any polynomial."""
    grown = S * derivative(terms, S)
    return grown / grown.sum(axis=1, keepdims=True)


def step(W, S, alpha):
    """Eq. 7 as printed."""
    n = len(W)
    Y = S.T
    pull = Y @ (W - alpha * Y.T @ Y)
    new = np.zeros_like(Y)
    for i in range(n):
        for r in range(len(Y)):
            new[r, i] = Y[r, i] * (alpha * n + pull[r, i]) / (alpha * n + Y[:, i] @ pull[:, i])
    return new.T


def run(W, S, sweeps):
    """Eqs. 7 and 8 in turn: the memberships, and the unexplained share before and after each sweep."""
    trace = [unexplained(W, S)]
    for _ in range(sweeps):
        S = step(W, S, best_alpha(W, S))
        trace.append(unexplained(W, S))
    return S, trace
