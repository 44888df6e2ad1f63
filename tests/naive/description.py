"""Dense, slow, obvious copies of what describes clusters and points; imports nothing from the package.

W of shape (n, n) is a symmetric graph, S (n, m) and T (n, p) are memberships, X (n, d) features.
"""

import math

import numpy as np


def margin(row):
    ordered = sorted(row, reverse=True)
    return ordered[0] - (ordered[1] if len(ordered) > 1 else 0.0)


def torn(S, a, b, count):
    """Rows with the largest min(s_ia, s_ib), without those where it is 0."""
    ranked = sorted(range(len(S)), key=lambda i: (-min(S[i, a], S[i, b]), i))
    return [i for i in ranked if min(S[i, a], S[i, b]) > 0][:count]


def ratio(above, below):
    return above / below if below > 0 else math.nan


def leaving(W, s):
    """1 - (s^T W s) / (s^T d)."""
    n = len(W)
    inside = sum(s[i] * W[i, j] * s[j] for i in range(n) for j in range(n))
    return 1 - ratio(inside, sum(s[i] * W[i].sum() for i in range(n)))


def cohesion(W, s):
    share = ratio(s @ W.sum(axis=1), W.sum())
    return ratio(1 - leaving(W, s) - share, 1 - share) if share < 1 - 1e-9 else math.nan


def certainty(S, q):
    largest = [max(row) for row in S if np.argmax(row) == q]
    return sum(largest) / len(largest) if largest else math.nan


def centrality(W, s):
    """s_i sum_j w_ij s_j for every point."""
    return np.array([s[i] * sum(W[i, j] * s[j] for j in range(len(W))) for i in range(len(W))])


def chance(W, one, other):
    """How often a step along an edge leads from one cluster to another."""
    n = len(W)
    steps = sum(one[i] * W[i, j] * other[j] for i in range(n) for j in range(n))
    return ratio(steps, one @ W.sum(axis=1))


# features


def mean_difference(x, s):
    """The mean in the cluster minus that of the rest, divided by the standard deviation."""
    if s.sum() == 0 or (1 - s).sum() < 1e-9 * len(s) or x.std() <= 1e-9 * np.abs(x).max():
        return 0.0
    return ((s * x).sum() / s.sum() - ((1 - s) * x).sum() / (1 - s).sum()) / x.std()


def rate_ratio(X, S, q, word):
    """How much more often a word occurs in a cluster than in the rest, in standard errors; at least 0."""
    X, s = X / X[X > 0].mean(), S[:, q]
    inside, total = s @ X[:, word], X[:, word].sum()
    one, other = inside + 0.01 * total, total - inside + 0.01 * total
    words, all_words = (s @ X).sum(), X.sum()
    rates = (one / (words + 0.01 * all_words)) / (other / (all_words - words + 0.01 * all_words))
    return max(0.0, math.log(rates)) / math.sqrt(1 / one + 1 / other)


def class_tf_idf(X, S, q, word):
    """The part of the cluster's words, times the logarithm of 1 plus words per cluster over uses of it."""
    words = S[:, q] @ X
    return words[word] / words.sum() * math.log(1 + X.sum() / S.shape[1] / X[:, word].sum())


# two levels


def flow(S, above, degrees):
    """For each cluster, where a walk is that goes to one of its points, and on to a cluster above."""
    found = np.zeros((S.shape[1], above.shape[1]))
    for q in range(S.shape[1]):
        mass = sum(S[i, q] * degrees[i] for i in range(len(S)))
        for i in range(len(S)):
            if mass > 0:
                found[q] += S[i, q] * degrees[i] / mass * above[i]
    return found


# two clusterings


def common(s, t):
    return sum(min(a, b) for a, b in zip(s, t, strict=True))


def overlap(s, t):
    below = sum(max(a, b) for a, b in zip(s, t, strict=True))
    return common(s, t) / below if below > 0 else 0.0


def company(S, T, i):
    """The expected overlap of the cluster of i in S with that in T, both drawn by its memberships."""
    pairs = [(q, p) for q in range(S.shape[1]) for p in range(T.shape[1])]
    return sum(S[i, q] * T[i, p] * overlap(S[:, q], T[:, p]) for q, p in pairs)
