"""Dense, slow, obvious copies of completely positive factorization; imports nothing from the package.

K (n, n) are symmetric affinities, F their normalized form, and W (n, n) the weights of pairs (0: left out).
G (n, k) is the factor. A tensor is a dict {tuple of distinct points, sorted: affinity}.
"""

import itertools
import math

import numpy as np

# Normalization


def step(K):
    """D^-1/2 K D^-1/2."""
    d = K.sum(axis=1)
    F = np.zeros_like(K)
    for i, j in np.argwhere(K != 0):
        F[i, j] = K[i, j] / math.sqrt(d[i]) / math.sqrt(d[j])
    return F


def doubly_stochastic(K, steps):
    for _ in range(steps):
        K = step(K)
    return K


def additive(K, beta):
    """Equation 10 as printed."""
    n = len(K)
    one = np.ones((n, n))
    total = K.sum()
    return K + (beta / n * np.eye(n) + total / n**2 * np.eye(n) - K / n) @ one - one @ K / n


def smallest_beta(K):
    return -len(K) * additive(K, 0.0).min()


# Pairs


def energy(F, G, W):
    """1/2 sum_ij w_ij (F - G G^T)_ij^2."""
    return 0.5 * float(np.sum(W * (F - G @ G.T) ** 2))


def all_pairs(n):
    return 1.0 - np.eye(n)


def updated(F, G, W, s, r):
    """Equation 7, with negative terms in the divisor; equation 6 is the same with W = 1 off the diagonal."""
    n, k = G.shape
    above = sum(W[s, i] * G[i, r] * max(F[s, i], 0) for i in range(n))
    below = sum(W[s, i] * G[i, r] * max(-F[s, i], 0) for i in range(n))
    below += sum(G[s, j] * W[s, i] * G[i, j] * G[i, r] for j in range(k) for i in range(n))
    return G[s, r] * above / below if G[s, r] > 0 and below > 0 else G[s, r]


def updates(F, G, W):
    """The factor after every single update of a row-major scan, with the energy."""
    G = G.copy()
    for s, r in np.ndindex(G.shape):
        G[s, r] = updated(F, G, W, s, r)
        yield G.copy(), energy(F, G, W)


# Tuples


def model(G, points):
    return sum(math.prod(G[i, r] for i in points) for r in range(G.shape[1]))


def counted(tensor, n, order, known_only):
    """The unordered tuples that count."""
    return list(tensor) if known_only else list(itertools.combinations(range(n), order))


def tuple_energy(tensor, G, order, known_only):
    """Half the squared error, summed over ordered tuples."""
    tuples = counted(tensor, len(G), order, known_only)
    return 0.5 * math.factorial(order) * sum((tensor.get(t, 0.0) - model(G, t)) ** 2 for t in tuples)


def tuple_updates(tensor, G, order, known_only):
    G = G.copy()
    tuples = counted(tensor, len(G), order, known_only)
    for s, r in np.ndindex(G.shape):
        above = below = 0.0
        for t in tuples:
            if s in t:
                product = math.prod(G[i, r] for i in t if i != s)
                above += tensor.get(t, 0.0) * product
                below += model(G, t) * product
        if G[s, r] > 0 and below > 0:
            G[s, r] *= above / below
        yield G.copy(), tuple_energy(tensor, G, order, known_only)
